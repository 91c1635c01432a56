/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the x86 low-level drivers. */
#ifndef VPERFCTR_X86_H
#define VPERFCTR_X86_H

#include "../common/common.h"

/*
 * What a driver must supply.  The three hot operations are called through
 * static calls; drivers.c sees to that and to CPU hotplug.
 */
struct perfctr_x86_driver {
	/* Is this the processor?  Fills in perfctr_cpu_info.  -ENODEV: no. */
	int (*probe)(void);

	/* How do kinds of CPUs differ?  NULL: the driver knows one kind only. */
	perfctr_probe_kind *probe_kind;

	int (*check_control)(struct perfctr_cpu_control *control);
	struct perfctr_cpu_ops ops;

	/*
	 * Take the counters from perf_event and other users of the kernel's
	 * register reservation, and give them back.  NULL: nothing to take.
	 */
	int (*reserve)(void);
	void (*release)(void);

	/*
	 * In an NMI: has an i-mode counter of what is running here overflowed?
	 * If so its counters are stopped, and it is for the caller to see to; or
	 * somebody on this CPU is about to look: -EBUSY.  NULL: no overflow.
	 */
	struct perfctr_cpu_state *(*overflow)(void);

	/*
	 * In an NMI that found nothing: has a counter overflowed that nobody's is who is
	 * running here?  Then it does not count any more.
	 */
	bool (*end_stray)(void);

	/*
	 * On the CPU itself, with interrupts disabled:
	 * start: save what is to be given back, stop and clear everything; -EIO:
	 *	the registers are not what they should be, and are given back
	 * stop: clear everything, give back what was saved
	 * forget: the registers were lost, start over
	 * scrub: between start and stop, clear all counters, to the harm of
	 *	nobody's counts; otherwise do nothing
	 */
	int (*cpu_start)(void);
	void (*cpu_stop)(void);
	void (*cpu_forget)(void);
	void (*cpu_scrub)(void);
};

extern const struct perfctr_x86_driver perfctr_x86_amd;
extern const struct perfctr_x86_driver perfctr_x86_generic;
extern const struct perfctr_x86_driver perfctr_x86_intel;

/*
 * pmc.c: what most drivers have in common, for those whose probe describes their
 * registers.  General counters are an event select and a counter each, at
 * regular distances.  Which of them there are may depend on the kind of CPU:
 * pmc_mask and fixed_mask of its struct vperfctr_info say so.
 */
struct perfctr_x86_pmu {
	/* Of event selects: bits that users may set; and is this one refused besides? */
	u64 allowed;
	bool (*refuses)(const struct vperfctr_info *kind, u64 evntsel);

	/*
	 * To be done ahead of any change of an event select, while the counters stand;
	 * what general counters and their event selects hold is lost.  NULL: nothing.
	 */
	void (*restart)(void);

	/*
	 * Those that may be counted only while no hyper-thread sibling is online: of
	 * their event, the bits of this mask are that.  No mask: none.
	 */
	u8 alone_mask;
	u8 alone_event;

	/* MSRs; 0: there is none */
	u32 evntsel0;
	u32 pmc0;			/* by which the kernel knows it */
	u32 write_pmc0;			/* by which it is best written */
	u32 step;			/* to the next one, of all three */
	u32 fixed0;
	u32 fixed_ctrl;
	u32 global_ctrl;		/* also the bits of regs.global_ctrl */
	u32 global_status;		/* of overflows; one bit for each counter, too */
	u32 global_clear;		/* likewise */
	unsigned int nr_extra;		/* of perfctr_x86_extra_msrs */
	/* Event select that every general counter takes; used if arch_events has it. */
	u32 instructions;

	/* The top bits of general and of fixed counters. */
	u64 sign[2];
};

/*
 * No processor has more that RDPMC can read and whose event selects are where one
 * would expect them.
 */
#define PERFCTR_X86_MAX_PMC	10
#define PERFCTR_X86_MAX_FIXED	16

/* Event selects, from the P6 and the K7 on. */
#define PERFCTR_X86_EVNTSEL_USR	BIT_ULL(16)
#define PERFCTR_X86_EVNTSEL_OS	BIT_ULL(17)
#define PERFCTR_X86_EVNTSEL_INT	BIT_ULL(20)
#define PERFCTR_X86_EVNTSEL_EN	BIT_ULL(22)

/* Event, unit mask, USR, OS, E, EN, INV, CMASK: not PC, INT, and bit 21. */
#define PERFCTR_X86_EVNTSEL_P6	0xffc7ffffULL

extern struct perfctr_x86_pmu perfctr_x86_pmu;

int perfctr_x86_pmc_check_control(struct perfctr_cpu_control *control);
perfctr_cpu_op perfctr_x86_pmc_suspend;
perfctr_cpu_op perfctr_x86_pmc_resume;
perfctr_cpu_op perfctr_x86_pmc_sample;
perfctr_cpu_take_op perfctr_x86_pmc_take_overflow;
perfctr_cpu_op perfctr_x86_pmc_restart;
perfctr_cpu_op perfctr_x86_pmc_iresume;
struct perfctr_cpu_state *perfctr_x86_pmc_overflow(void);
bool perfctr_x86_pmc_end_stray(void);
int perfctr_x86_pmc_reserve(void);
void perfctr_x86_pmc_release(void);
int perfctr_x86_pmc_cpu_start(void);
void perfctr_x86_pmc_cpu_stop(void);
void perfctr_x86_pmc_cpu_forget(void);
void perfctr_x86_pmc_cpu_scrub(void);

/* All that a driver has to name in its table if it leaves these to pmc.c. */
#define PERFCTR_X86_PMC_OPS					\
	.check_control	= perfctr_x86_pmc_check_control,	\
	.ops = {						\
		.suspend	= perfctr_x86_pmc_suspend,	\
		.resume		= perfctr_x86_pmc_resume,	\
		.sample		= perfctr_x86_pmc_sample,	\
		.take_overflow	= perfctr_x86_pmc_take_overflow, \
		.restart	= perfctr_x86_pmc_restart,	\
		.iresume	= perfctr_x86_pmc_iresume,	\
	},							\
	.overflow	= perfctr_x86_pmc_overflow,		\
	.end_stray	= perfctr_x86_pmc_end_stray,		\
	.reserve	= perfctr_x86_pmc_reserve,		\
	.release	= perfctr_x86_pmc_release,		\
	.cpu_start	= perfctr_x86_pmc_cpu_start,		\
	.cpu_stop	= perfctr_x86_pmc_cpu_stop,		\
	.cpu_forget	= perfctr_x86_pmc_cpu_forget,		\
	.cpu_scrub	= perfctr_x86_pmc_cpu_scrub

/*
 * For the end of a probe, when the masks are known: fill in what else
 * perfctr_cpu_info has of the counters.  They are so wide, and so many bits of
 * them can be written, with the sign extended.  False: not everything is there
 * that the probe described.
 */
bool perfctr_x86_pmc_describe(unsigned int width, unsigned int fixed_width,
			      unsigned int write_width);

/* The same for another kind of CPU, of which the masks are known. */
bool perfctr_x86_pmc_describe_kind(struct vperfctr_info *info);

u64 perfctr_x86_low_bits(unsigned int n);

/* EAX of CPUID leaf 1AH: the type of a hybrid processor's core, with its model below. */
#define PERFCTR_INTEL_CORE_TYPE(eax)	((eax) >> 24)
#define PERFCTR_INTEL_ATOM		0x20
#define PERFCTR_INTEL_CORE		0x40

/*
 * intel-extra.c: events that need one more register, which general counters share.  Its value
 * is the counter's aux.
 */
extern const u32 perfctr_x86_extra_msrs[PERFCTR_X86_NR_EXTRA];

/*
 * On a CPU of that model and core type (EAX of leaf 1AH, or 0), for its kind.  Returns
 * how many registers there may be on any kind.
 */
unsigned int perfctr_intel_probe_extra(unsigned int model, u32 core_type);

/* -EINVAL, or what a counter needs is added to control->regs and control->alone. */
int perfctr_x86_check_extra(const struct vperfctr_ctr *ctr, struct perfctr_cpu_control *control,
			    const struct vperfctr_info *kind);

/* Need it be asked?  Most events are none of those that some processor has of this sort. */
static inline bool perfctr_x86_may_have_extra(const struct vperfctr_ctr *ctr)
{
	switch (ctr->evntsel & 0xff) {
	case 0x2a: case 0x2b: case 0xad: case 0xb7: case 0xbb: case 0xc2: case 0xc6:
		return true;
	}
	return ctr->aux;
}

/* Is this MSR there? */
bool perfctr_x86_readable(u32 msr);

/*
 * selftest.c: do the counters of this CPU, which are ours, do what they should?  -EIO: no.
 * They stand, and hold anything.  PRE: interrupts are disabled.
 */
int perfctr_x86_selftest(const struct vperfctr_info *kind);

/* drivers.c: run cpu_scrub on all CPUs if the hardware is reserved. */
void perfctr_x86_scrub(void);

/*
 * nmi.c: the interrupt of the counters.  Init and exit of the module; start and
 * stop on a CPU, with its registers, interrupts disabled.
 */
int perfctr_x86_pmi_init(const struct perfctr_x86_driver *driver);
void perfctr_x86_pmi_exit(void);
void perfctr_x86_pmi_start(void);
void perfctr_x86_pmi_stop(void);
void perfctr_x86_pmi_sleep(void);
void perfctr_x86_pmi_forget(void);

/* LVTPC was seen masked: nothing need be guessed. */
extern bool perfctr_x86_pmi_masks;

void perfctr_x86_pmi_expect_late(void);

/* An overflow is being taken: should its interrupt still come, it finds nothing. */
static inline void perfctr_x86_pmi_expect(void)
{
	if (!READ_ONCE(perfctr_x86_pmi_masks))
		perfctr_x86_pmi_expect_late();
}

/*
 * rdpmc.c: while the hardware is not ours nobody has RDPMC because of us: it
 * would show what perf counts.  Both may sleep; users are scrubbed for before.
 */
void perfctr_x86_users_allow(void);
void perfctr_x86_users_forbid(void);

/*
 * cr4-pce.c: perfctr_x86_rdpmc_allowed() has changed; have CR4.PCE follow on the CPUs where
 * the mm is loaded.
 * At once, or on kernels that let no module write CR4 when those CPUs have got round to
 * it, for which wait() waits, for all that was to be followed, but a moment only.  Both
 * may sleep; mm stays.  The callers serialise.
 *
 * suspect: on this CPU perf may have left counters that the kernel will clear.  Interrupts
 * are disabled.
 */
void perfctr_x86_pce_follow(struct mm_struct *mm);
void perfctr_x86_pce_wait(void);
void perfctr_x86_pce_suspect(void);
int perfctr_x86_pce_init(void);
void perfctr_x86_pce_exit(void);

#endif /* VPERFCTR_X86_H */
