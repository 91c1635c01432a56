/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of the registers of Intel's architectural performance monitoring,
 * versions 1 to 6, written from the SDM, not from the driver; and of AMD's counters, from
 * the AMD64 Architecture Programmer's Manual, volume 2, and the BKDG and PPRs; and of older
 * processors: see enum model_old.
 *
 * Accesses that raise an exception on hardware fail the test: to an absent register,
 * with a reserved bit set, or RDPMC of an absent counter.  Where processors differ,
 * the model is as strict as the strictest.
 */
#ifndef MODEL_H
#define MODEL_H

#include <check.h>
#include <linux/vperfctr.h>

#include "fake-kernel.h"

/*
 * With each check that holds, libcheck writes its place to a file, which the parent
 * parses.  That tells where a test was when it crashed or hung.  A random schedule makes
 * thousands of checks, so only some are written.  A check that fails always tells its place.
 */
extern unsigned int model_marks;
#define _mark_point(file, line)	(model_marks++ % 64 ? (void)0 : (_mark_point)(file, line))

/* Like ck_assert_msg(), but fast enough for each register access. */
#define require(cond, ...)				\
do {							\
	if (!(cond)) {					\
		if (*model_context)			\
			printf("# %s\n", model_context); \
		fflush(stdout);				\
		ck_abort_msg(__VA_ARGS__);		\
	}						\
} while (0)

extern char model_context[128];	/* describes the test's present step; printed on failure */

#define MODEL_MAX_PMCS	10	/* IA32_PERFEVTSEL0 to 9 */
#define MODEL_ALL_PMCS	18	/* the Pentium 4's */
#define MODEL_MAX_FIXED	8	/* fields in the lower half of IA32_FIXED_CTR_CTRL */

/* evntsel bits, SDM volume 3, "Architectural Performance Monitoring" */
#define SEL_USR		BIT_ULL(16)
#define SEL_OS		BIT_ULL(17)
#define SEL_PC		BIT_ULL(19)
#define SEL_INT		BIT_ULL(20)
#define SEL_ANY		BIT_ULL(21)
#define SEL_EN		BIT_ULL(22)
#define SEL_EVENT_HIGH	(0xfULL << 32)	/* AMD's family 10h and later */

/* Architectural events, as in evntsel. */
#define EV_INSTRUCTIONS	0x00c0
#define EV_CYCLES	0x003c
#define EV_REF_CYCLES	0x013c
#define EV_PREC_DIST	0x01c0	/* not architectural: INST_RETIRED.PREC_DIST */

/* IA32_FIXED_CTR_CTRL, one field */
#define FIX_OS		0x1
#define FIX_USR		0x2
#define FIX_ANY		0x4
#define FIX_PMI		0x8

/*
 * Its upper half enables no counter.  PEBS of the counter is adaptive (SDM volume 3, "Adaptive
 * PEBS"; Linux: ICL_FIXED_0_ADAPTIVE), or user mode may not RDPMC it (CPUID.23H.0:EBX[2]; Linux:
 * INTEL_FIXED_0_RDPMC_USER_DISABLE).  perf sets the second for each event without a task, as
 * the NMI watchdog's is.  Up to 2025 it never clears the first.
 */
#define FIX_ADAPTIVE(i)	BIT_ULL(32 + 4 * (i))
#define FIX_NO_RDPMC(i)	BIT_ULL(33 + 4 * (i))

#define GLOBAL_FIXED(i)	BIT_ULL(32 + (i))

/* IA32_PERF_GLOBAL_STATUS: bits of no counter */
#define STATUS_METRICS	BIT_ULL(48)	/* PERF_METRICS has overflowed; in GLOBAL_CTRL: let it count */
#define STATUS_ARCH_PEBS BIT_ULL(54)	/* version 6: records of architectural PEBS are waiting */
#define STATUS_TOPA	BIT_ULL(55)	/* Intel PT's: its driver clears it */
#define STATUS_LBR_FRZ	BIT_ULL(58)	/* from version 4 on */
#define STATUS_CTR_FRZ	BIT_ULL(59)	/* likewise: while it is set, no counter counts */
#define STATUS_DS	BIT_ULL(62)
#define STATUS_COND	BIT_ULL(63)

/* IA32_DEBUGCTL */
#define DEBUGCTL_LBR	BIT_ULL(0)
#define DEBUGCTL_FREEZE	BIT_ULL(12)	/* FREEZE_PERFMON_ON_PMI, from version 2 on */

/*
 * IA32_PMC_GPi_CFG_C, IA32_PMC_FXi_CFG_C of version 6.  SDM volume 3, "Architectural PEBS" and
 * "Auto Counter Reload": a counter with CFG_PEBS writes a record at an overflow.  A counter is
 * set to the value of CFG_RELOAD, sign-extended, after its own record, and when one of those
 * counters overflows whose bits are set in its CFG_B.
 */
#define CFG_PEBS	BIT_ULL(63)
#define CFG_RELOAD	0xffffffffULL

/*
 * PERF_METRICS of processors with fixed counter 3, which counts slots: it divides these among
 * eight fields.  SDM volume 3, "Performance Metrics": it counts if fixed counter 3 does and its bit
 * in GLOBAL_CTRL is set.  Software starts both from zero, and writes fixed counter 3 first.  A
 * field that overflows, here if fixed counter 3 does or if the two were not started together,
 * sets STATUS_METRICS, and raises the interrupt.  User mode that may RDPMC counters may read it.
 */

/* An event that needs a value in an extra register.  valid 0: in one that nothing writes. */
struct model_extra {
	u16 event;
	u8 reg;				/* 1A6H, 1A7H, 3F7H */
	bool shared;			/* with the hyper-thread sibling */
	u64 valid;
};

#define MODEL_NR_EXTRA	3

/*
 * AMD's generations of registers: those of the K7 at their old addresses, those of family
 * 15h on, and with global control and status.
 */
enum model_amd { MODEL_INTEL, MODEL_AMD_K7, MODEL_AMD_CORE, MODEL_AMD_V2 };

/*
 * Processors that are older than architectural performance monitoring; their version is 0.
 *
 * P6: SDM volume 3, "Performance Monitoring (P6 Family Processor)".  The enable bit of select 0
 *	is that of both counters, and reserved in select 1.
 * P5, P5MMX, MII: Pentium Processor Family Developer's Manual, "Performance Monitoring": CESR
 *	has a half for each counter; it must stop before its event changes.  Without MMX there is
 *	no RDPMC.  Cyrix has more bits of counters and events.
 * WinChip: IDT's data sheets: CESR has events only, and both counters always count.  The TSC is
 *	made of them: here RDTSC is not allowed.
 * C3: counter 1 only, which always counts.
 */
enum model_old { MODEL_ARCH, MODEL_P6, MODEL_P5, MODEL_P5MMX, MODEL_MII, MODEL_WINCHIP, MODEL_C3 };

struct model_config {
	unsigned int version;
	enum model_old old;
	bool uses_tsc;			/* the kernel does, on a WinChip */
	bool unavailable;		/* IA32_MISC_ENABLE says that there are no counters */
	unsigned int nr_pmcs;		/* as CPUID reports; at most 10 exist */
	u32 pmc_mask;			/* leaf 23H, with fixed_mask; 0: no such leaf */
	u32 core_type;			/* EAX of leaf 1AH */
	u32 signature;			/* EAX of leaf 1: family, model */
	const struct model_extra *extra; /* of that model; event 0 ends the table */
	enum model_amd amd;		/* version 2 if these have a global control, else 1 */
	bool p4;			/* a Pentium 4: see model-p4.h */
	bool p4_threads;		/* CPUs 0 and 1 are one core, and so are 2 and 3 */
	unsigned int p4_cores;		/* of a package; CPUID reports it in leaf 4; 0: no such leaf */
	bool ignores_writes;		/* as the K7's registers that KVM has without a PMU */
	u32 no_extra;			/* bit mask of registers that a hypervisor lacks */
	unsigned int pmc_width;
	unsigned int nr_fixed;		/* contiguous ones */
	unsigned int fixed_width;
	u32 fixed_mask;			/* version 5: all fixed counters */
	unsigned int nr_events;		/* number of valid bits in EBX */
	u32 events_absent;		/* EBX */
	bool no_any_thread;
	bool metrics;			/* there is PERF_METRICS, if there is fixed counter 3 */
	u32 no_cfg;			/* version 6: counters without CFG_B and CFG_C, of either type */
	bool hides_fixed;		/* CPUID does not report the fixed counters */
	bool no_apic;
	bool no_capabilities;		/* no IA32_PERF_CAPABILITIES */
	bool no_full_write;		/* IA32_PERF_CAPABILITIES reports no IA32_A_PMCx */
	bool no_masking;		/* delivery of the interrupt does not mask LVTPC */
	bool freezes;			/* firmware has set FREEZE_PERFMON_ON_PMI */
	bool slow;			/* LVTPC is masked at the NMI, not at the overflow */
	bool level;			/* unmasking LVTPC raises the interrupt of an old overflow */
	bool early;			/* unmasking raises it if the counter has not been written since */
	u64 shortest;			/* the interrupt of shorter periods repeats for ever */

	/* Defects that CPUID hides: counters are bits as in GLOBAL_CTRL. */
	u64 dead;			/* they do not count */
	u64 emulated;			/* general ones of these count what KVM emulates */
	u64 stuck;			/* they ignore writes */
	u64 unreadable;			/* RDPMC of them faults */
	u64 stuck_status;		/* these bits of GLOBAL_STATUS cannot be cleared */
	u32 read_only;			/* WRMSR of this register faults; 0: none */
	bool ignores_extra;		/* extra registers ignore writes */

	bool one_at_a_time;		/* with more counters enabled, the lowest does not count */
	bool force_abort;		/* microcode uses counter 3 */
};

/* The kinds of registers whose WRMSRs are counted separately. */
enum model_reg {
	REG_PMC, REG_EVNTSEL, REG_FIXED_CTR, REG_FIXED_CTRL, REG_GLOBAL_CTRL, REG_STATUS, REG_OVF_CTRL,
	REG_FULL_PMC, REG_CAPABILITIES, REG_EXTRA, REG_DEBUGCTL, REG_PEBS_ENABLE,
	REG_CFG_B, REG_CFG_C, REG_METRICS, REG_MISC_ENABLE, REG_CESR, REG_ESCR, REG_P4_GLOBAL,
	NR_REGS
};

struct model_cpu {
	u64 pmc[MODEL_ALL_PMCS];
	u64 evntsel[MODEL_ALL_PMCS];	/* Pentium 4: CCCRs */
	u64 fixed[MODEL_MAX_FIXED];
	u64 written, fixed_written;	/* bit masks of counters, which the simulation clears */
	u64 fixed_ctrl;
	u64 global_ctrl;
	u64 passed_zero;		/* counters that overflowed since they were written */
	u64 overflow;			/* IA32_PERF_GLOBAL_STATUS */
	u64 debugctl;
	u64 pebs_enable;
	u64 metrics;			/* PERF_METRICS */
	u64 cfg_b[MODEL_MAX_PMCS + MODEL_MAX_FIXED];	/* fixed counters follow the general ones */
	u64 cfg_c[MODEL_MAX_PMCS + MODEL_MAX_FIXED];
	u64 cesr;
	bool restarted;			/* see model_needs_restart() */
	u32 astray;			/* general counters programmed without a restart */
	u64 extra[MODEL_NR_EXTRA];
	u64 escr[0x42];
	u64 p4_global[2];
	u32 cascaded;			/* counters that others have started */
	u32 nmi_cccrs;			/* last written by an NMI handler */
	u32 lvtpc;
	bool pmi;			/* the NMI of LVTPC is pending */
	bool nmi_wrote;			/* GLOBAL_CTRL, last */
	u64 tsc;

	unsigned int wrmsrs[NR_REGS];
	unsigned int redundant;		/* writes of a control register's old value */
	unsigned int rdpmcs, rdtscs;
	unsigned int pmis;		/* interrupts raised */
	unsigned int lost_pmis;		/* interrupts lost because LVTPC was masked */
};

struct model {
	struct model_config config;
	struct model_config other;	/* of the CPUs in `others` */
	u32 others;
	u32 max_leaf;
	bool pv_guest;
	bool guest;			/* CPUID reports a hypervisor */
	bool exits;			/* which RDPMC exits to */
	u64 kept;			/* counters that others keep */
	bool new_perf;			/* perf uses the addresses of version 6 */
	bool hybrid;
	u32 absent_msr;			/* promised by CPUID, absent in the hypervisor; 0: none */
	bool user_rdpmc;		/* CR4.PCE */
	void (*on_read)(void);		/* called before each RDPMC and RDTSC */
	void (*on_access)(void);	/* called before each access except in NMIs; also LVTPC */
	struct model_cpu cpu[NR_CPUS];	/* the last: the simulation uses few of them */
};

extern struct model model;

/* Reset the model, as a processor with this configuration. */
void model_init(const struct model_config *config);
void model_cpu_reset(unsigned int cpu);

/* True if CESR controls the counters. */
bool model_has_cesr(void);

/* True if nothing stops the counters, or selects a mode. */
bool model_never_stops(void);

/* True if the kernel uses the TSC. */
bool model_has_tsc(void);

/* The driver that must be chosen, VPERFCTR_CPU_*. */
u32 model_cpu_type(void);

/* Reset it as a hybrid processor: the CPUs in `others` have the configuration `other`. */
void model_init_hybrid(const struct model_config *config, const struct model_config *other,
		       u32 others);

/* The current CPU's configuration. */
const struct model_config *model_config(void);

/* Bits as in GLOBAL_CTRL: the counters that exist, and those enabled to count. */
u64 model_exists(void);
u64 model_counting(const struct model_cpu *cpu);
/* The event select of a general counter, with the bit that enables it. */
u64 model_select(const struct model_cpu *cpu, unsigned int i);
/* The counters whose overflow raises an interrupt. */
u64 model_interrupting(const struct model_cpu *cpu);
bool model_has_metrics(void);
u64 model_mask(u32 map);		/* of the counter's width */
u64 *model_counter(struct model_cpu *cpu, u32 map);

/* The execution of a thread. */
struct work {
	bool kernel;			/* mode */
	u64 instructions;
	u64 cycles;
};

/*
 * The events that a counter with that evntsel counts of work, while the extra register
 * holds aux.  The evntsel of a fixed counter is its field of FIXED_CTR_CTRL.
 */
u64 model_counts(u32 map, u64 evntsel, u64 aux, const struct work *work);

/* The extra register of the event on the current CPU's kind, or NULL. */
const struct model_extra *model_find_extra(u64 evntsel);
bool model_has_extra(const struct model_extra *extra);

/*
 * False for events that one counter of an AMD processor counts wrong, or that only one of the
 * two counters of a P6 has.  BKDG of family 10h,
 * "Performance Monitor Events": those of the northbridge, of which no two cores may count
 * one.  PPR of family 17h, "Large Increment per Cycle Events": those that need two counters.
 */
bool model_counts_right(u64 evntsel);
bool model_has_event_high(void);

/* Processors with events that need an extra register; the last one has none. */
struct model_processor {
	u32 signature;
	const struct model_extra *extra;
};

extern const struct model_processor model_processors[];
#define MODEL_PROCESSORS	20
#define MODEL_CORE2		0x6f6

/* Execute the work on the current CPU. */
void model_run(const struct work *work);

unsigned int model_wrmsrs(const struct model_cpu *cpu);	/* all */
void model_clear_statistics(void);

/* The bits that may be set in the register. */
u64 model_valid_bits(enum model_reg reg);

u64 model_rdpmc(u32 index);
int model_rdpmc_safe(u32 index, u64 *value);
u64 model_rdtsc(void);
int model_wrmsr_safe(u32 msr, u64 value);
void model_pass_time(void);
void model_wrmsr(u32 msr, u64 value);
int model_rdmsr_safe(u32 msr, u64 *value);
bool model_user_rdpmc(void);
/* True if an NMI is pending on the current CPU.  Clears it. */
bool model_take_pmi(void);
/*
 * True for Nehalem and Westmere: their counters count wrong unless three special values
 * are loaded into the event selects first.
 */
bool model_needs_restart(void);

/* The numbers of a counter's registers, by which the kernel reserves them. */
unsigned int model_pmc_number(u32 msr);
unsigned int model_evntsel_number(u32 msr);

bool model_has_lvtpc(void);
u32 model_read_lvtpc(void);
void model_write_lvtpc(u32 value);
void model_cpuid(u32 leaf, u32 subleaf, u32 *eax, u32 *ebx, u32 *ecx, u32 *edx);
bool model_is_pv_guest(void);
bool model_is_guest(void);
bool model_is_hybrid(void);

#endif /* MODEL_H */
