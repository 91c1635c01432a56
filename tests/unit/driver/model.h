/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of the registers of Intel's architectural performance monitoring,
 * versions 1 to 5, from the SDM and not from the driver.
 *
 * What raises an exception on hardware fails the test: a register that is not
 * there, a reserved bit, RDPMC of an absent counter.  Where processors differ
 * the model is as strict as the strictest.
 */
#ifndef MODEL_H
#define MODEL_H

#include <check.h>
#include <linux/vperfctr.h>

#include "fake-kernel.h"

/* Like ck_assert_msg(), but quick enough for the inside of a register. */
#define require(cond, ...)				\
do {							\
	if (!(cond)) {					\
		if (*model_context)			\
			printf("# %s\n", model_context); \
		fflush(stdout);				\
		ck_abort_msg(__VA_ARGS__);		\
	}						\
} while (0)

extern char model_context[128];	/* for tests to say what they are doing */

#define MODEL_MAX_PMCS	10	/* IA32_PERFEVTSEL0 to 9 */
#define MODEL_MAX_FIXED	16	/* fields in IA32_FIXED_CTR_CTRL */

/* evntsel bits, SDM volume 3, "Architectural Performance Monitoring" */
#define SEL_USR		BIT_ULL(16)
#define SEL_OS		BIT_ULL(17)
#define SEL_PC		BIT_ULL(19)
#define SEL_INT		BIT_ULL(20)
#define SEL_ANY		BIT_ULL(21)
#define SEL_EN		BIT_ULL(22)

/* Architectural events, as in evntsel. */
#define EV_INSTRUCTIONS	0x00c0
#define EV_CYCLES	0x003c
#define EV_REF_CYCLES	0x013c

/* IA32_FIXED_CTR_CTRL, one field */
#define FIX_OS		0x1
#define FIX_USR		0x2
#define FIX_ANY		0x4
#define FIX_PMI		0x8

#define GLOBAL_FIXED(i)	BIT_ULL(32 + (i))

/* An event of which the other half is in a register of its own. */
struct model_extra {
	u16 event;
	u8 reg;				/* 1A6H, 1A7H, 3F7H */
	bool shared;			/* with the hyper-thread sibling */
	u64 valid;
};

#define MODEL_NR_EXTRA	3

struct model_config {
	unsigned int version;
	unsigned int nr_pmcs;		/* as CPUID says; no more than 10 are there */
	u32 pmc_mask;			/* leaf 23H, with fixed_mask; 0: no such leaf */
	u32 core_type;			/* EAX of leaf 1AH */
	u32 signature;			/* EAX of leaf 1: family, model */
	const struct model_extra *extra; /* of that model; event 0 is after the last */
	u32 no_extra;			/* registers, as bits, that a hypervisor does not have */
	unsigned int pmc_width;
	unsigned int nr_fixed;		/* contiguous ones */
	unsigned int fixed_width;
	u32 fixed_mask;			/* version 5: all of them */
	unsigned int nr_events;		/* bits of EBX that mean something */
	u32 events_absent;		/* EBX */
	bool no_any_thread;
	bool no_apic;
	bool no_capabilities;		/* no IA32_PERF_CAPABILITIES */
	bool no_full_write;		/* it says that there is no IA32_A_PMCx */
	bool no_masking;		/* LVTPC stays as it is when its interrupt is delivered */
	bool slow;			/* it is masked when the NMI comes, not when it is due */

	/* Lies: counters are bits as in GLOBAL_CTRL. */
	u64 dead;			/* they do not count */
	u64 stuck;			/* they keep what they hold when written */
	u64 unreadable;			/* RDPMC of them faults */
	u32 read_only;			/* WRMSR of this register faults; 0: of none */
	bool ignores_extra;		/* what is written to extra registers is not there */

	bool one_at_a_time;		/* with more counters enabled, the lowest does not count */
	bool force_abort;		/* microcode uses counter 3 */
};

/* Registers by what WRMSRs of them are counted as. */
enum model_reg {
	REG_PMC, REG_EVNTSEL, REG_FIXED_CTR, REG_FIXED_CTRL, REG_GLOBAL_CTRL, REG_STATUS, REG_OVF_CTRL,
	REG_FULL_PMC, REG_CAPABILITIES, REG_EXTRA,
	NR_REGS
};

struct model_cpu {
	u64 pmc[MODEL_MAX_PMCS];
	u64 evntsel[MODEL_MAX_PMCS];
	u64 fixed[MODEL_MAX_FIXED];
	u64 fixed_ctrl;
	u64 global_ctrl;
	u64 overflow;			/* IA32_PERF_GLOBAL_STATUS */
	bool restarted;			/* see model_needs_restart() */
	u32 astray;			/* general counters that were not, when programmed */
	u64 extra[MODEL_NR_EXTRA];
	u32 lvtpc;
	bool pmi;			/* the NMI that LVTPC makes is on its way */
	u64 tsc;

	unsigned int wrmsrs[NR_REGS];
	unsigned int redundant;		/* writes of what a control register holds */
	unsigned int rdpmcs;
	unsigned int pmis;		/* interrupts made, */
	unsigned int lost_pmis;		/* and not made because LVTPC was masked */
};

struct model {
	struct model_config config;
	struct model_config other;	/* of CPUs that are different, */
	u32 others;			/* which are these */
	u32 max_leaf;
	bool pv_guest;
	bool new_perf;			/* it uses the addresses of version 6 */
	bool hybrid;
	u32 absent_msr;			/* CPUID has it, the hypervisor has not; 0: none */
	bool user_rdpmc;		/* CR4.PCE */
	struct model_cpu cpu[NR_CPUS];
	void (*on_read)(void);		/* before each RDPMC and RDTSC */
	void (*on_access)(void);	/* before each access outside of NMIs, LVTPC's included */
};

extern struct model model;

/* A processor like this, after reset. */
void model_init(const struct model_config *config);
void model_cpu_reset(unsigned int cpu);

/* A hybrid one: the CPUs in `others` are like `other`. */
void model_init_hybrid(const struct model_config *config, const struct model_config *other,
		       u32 others);

/* The current CPU's. */
const struct model_config *model_config(void);

/* Bits as in GLOBAL_CTRL: what is there, and what would count something now. */
u64 model_exists(void);
u64 model_counting(const struct model_cpu *cpu);
u64 model_mask(u32 map);		/* of the counter's width */
u64 *model_counter(struct model_cpu *cpu, u32 map);

/* What a thread may do. */
struct work {
	bool kernel;			/* mode */
	u64 instructions;
	u64 cycles;
};

/*
 * What a counter with that evntsel (of a fixed one: the field) counts of work, if the
 * register that completes it holds aux.
 */
u64 model_counts(u32 map, u64 evntsel, u64 aux, const struct work *work);

/* What the current CPU's kind has for the event, or NULL. */
const struct model_extra *model_find_extra(u64 evntsel);
bool model_has_extra(const struct model_extra *extra);

/* Models that have such events; the last has none. */
struct model_processor {
	u32 signature;
	const struct model_extra *extra;
};

extern const struct model_processor model_processors[];
#define MODEL_PROCESSORS	12

/* Do the work on the current CPU. */
void model_run(const struct work *work);

unsigned int model_wrmsrs(const struct model_cpu *cpu);	/* all */
void model_clear_statistics(void);

/* Any image that the register can hold. */
u64 model_valid_bits(enum model_reg reg);

u64 model_rdpmc(u32 index);
int model_rdpmc_safe(u32 index, u64 *value);
u64 model_rdtsc(void);
int model_wrmsr_safe(u32 msr, u64 value);
void model_pass_time(void);
void model_wrmsr(u32 msr, u64 value);
int model_rdmsr_safe(u32 msr, u64 *value);
bool model_user_rdpmc(void);
bool model_take_pmi(void);	/* is there one for the current CPU?  No longer */
/* Nehalem and Westmere: three values in event selects first, or counters count wrong. */
bool model_needs_restart(void);

bool model_has_lvtpc(void);
u32 model_read_lvtpc(void);
void model_write_lvtpc(u32 value);
void model_cpuid(u32 leaf, u32 subleaf, u32 *eax, u32 *ebx, u32 *ecx, u32 *edx);
bool model_is_pv_guest(void);
bool model_is_hybrid(void);

#endif /* MODEL_H */
