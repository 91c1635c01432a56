/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the x86 low-level drivers. */
#ifndef VPERFCTR_X86_H
#define VPERFCTR_X86_H

#include "../common/driver.h"

struct perf_event;
struct pmu;

extern const struct perfctr_driver perfctr_x86_amd;
extern const struct perfctr_driver perfctr_x86_amd_v2;
extern const struct perfctr_driver perfctr_x86_amd_v1;
extern const struct perfctr_driver perfctr_x86_intel;
extern const struct perfctr_driver perfctr_x86_intel_v6;
extern const struct perfctr_driver perfctr_x86_p6;
extern const struct perfctr_driver perfctr_x86_p5;
extern const struct perfctr_driver perfctr_x86_c3;
extern const struct perfctr_driver perfctr_x86_p4;

/*
 * pmc.c: counters as most processors have them.  The probe of the driver describes
 * the registers.  A general counter is an event select and a counter, at regular
 * distances.  Which counters exist may depend on the kind of CPU: see pmc_mask and
 * fixed_mask of its struct vperfctr_info.
 */
struct perfctr_x86_pmu {
	/* First what some switches read, in one cache line. */

	/*
	 * Called before an event select changes, with the counters stopped.  Clobbers
	 * the general counters and their event selects.  NULL: not needed.
	 */
	void (*restart)(void);

	/*
	 * Counters that others keep, as bits of global_ctrl: the NMI watchdog's.  No kind's
	 * masks have them.  All values written to global_ctrl do, so they keep counting.  If
	 * nothing uses such a counter, its own register does not enable it.  Without global_ctrl,
	 * it keeps counting as nothing writes its own register.
	 */
	union {
		u64 kept;
		struct {
			u32 kept_low;
			u32 kept_high;
		};
	};

	/* MSRs; 0: the processor has none */
	u32 global_ctrl;		/* also the bits of regs.global_ctrl */
	u32 global_clear;		/* clears overflows, by the same bits */
	u32 global_status;		/* overflows, by the same bits */
	u32 evntsel0;
	u32 pmc0;			/* the address that the kernel reserves */
	u32 write_pmc0;			/* the address that writes most bits */
	u32 step;			/* from one counter to the next, for these three MSRs */
	u32 fixed0;
	u32 fixed_ctrl;
	unsigned int nr_extra;		/* registers of perfctr_x86_extra_msrs */
	u32 debugctl;
	u32 pebs_enable;		/* may be absent all the same */

	/* The top bit of general counters, and that of fixed counters. */
	u64 sign[2];

	/* The bits of an event select that users may set. */
	u64 allowed;

	/*
	 * True if this event select must be refused although its bits are allowed.  It need be
	 * asked only if doubtful has perfctr_x86_doubt() of the event: a call costs more than the
	 * rest of the check.
	 */
	bool (*refuses)(const struct vperfctr_info *kind, u64 evntsel);
	u64 doubtful;

	/*
	 * Events that may be counted only while no hyper-thread sibling is online:
	 * those with (event & alone_mask) == alone_event.  Mask 0: no event.
	 */
	u8 alone_mask;
	u8 alone_event;

	/* Event and unit mask that no i-mode counter can count; 0: none. */
	u16 no_imode_event;
	/* See min_period of struct vperfctr_info. */
	u32 min_period;

	u32 metrics;			/* PERF_METRICS of some kind, or 0 */
	bool has_cfg;			/* counters have CFG_B and CFG_C, or some of them */
	/* Some event selects need a second register, or are refused: see intel-extra.c. */
	bool has_extra_events;
	/* Unmasking LVTPC raises another interrupt until the counter is reloaded. */
	bool unmasks_late;
	/* "Instructions" on every general counter; valid if arch_events has the event. */
	u32 instructions;
};

/* One bit, by the last six bits of the event. */
static inline u64 perfctr_x86_doubt(u64 evntsel)
{
	return 1ULL << (evntsel % 64);
}

/*
 * In the global status: PERF_METRICS has overflowed.  No counter of ours has this bit, and the
 * interrupt may be requested as long as it is set.
 */
#define PERFCTR_X86_STATUS_METRICS	BIT_ULL(48)

/* The most that RDPMC can read, with contiguous event selects, on any processor. */
#define PERFCTR_X86_MAX_PMC	10

/* The control register has four bits for each; the bits from 32 on have other meanings. */
#define PERFCTR_X86_MAX_FIXED	8

/* Event selects, from the P6 and the K7 on. */
#define PERFCTR_X86_EVNTSEL_USR	BIT_ULL(16)
#define PERFCTR_X86_EVNTSEL_OS	BIT_ULL(17)
#define PERFCTR_X86_EVNTSEL_INT	BIT_ULL(20)
#define PERFCTR_X86_EVNTSEL_EN	BIT_ULL(22)

/* Event, unit mask, USR, OS, E, EN, INV, CMASK; without PC, INT and bit 21. */
#define PERFCTR_X86_EVNTSEL_P6	0xffc7ffffULL

extern struct perfctr_x86_pmu perfctr_x86_pmu;

int perfctr_x86_pmc_check_control(struct perfctr_cpu_control *control);
perfctr_cpu_op perfctr_x86_pmc_suspend;
perfctr_cpu_op perfctr_x86_pmc_resume;
perfctr_cpu_op perfctr_x86_pmc_sample;
perfctr_cpu_take_op perfctr_x86_pmc_take_overflow;
perfctr_cpu_op perfctr_x86_pmc_restart;
perfctr_cpu_hold_op perfctr_x86_pmc_hold_overflow;
perfctr_cpu_op perfctr_x86_pmc_iresume;
perfctr_cpu_parts_op perfctr_x86_pmc_resume_parts;
perfctr_cpu_parts_op perfctr_x86_pmc_suspend_parts;
perfctr_cpu_parts_op perfctr_x86_pmc_sample_parts;
struct perfctr_cpu_state *perfctr_x86_pmc_overflow(void);
bool perfctr_x86_pmc_end_stray(bool all);
void perfctr_x86_pmc_repair(void);
void perfctr_x86_pmc_precede(void);
u32 perfctr_x86_pmc_updates(void);
int perfctr_x86_pmc_reserve(void);
void perfctr_x86_report_busy(void);	/* in the log: the counters cannot be taken */
void perfctr_x86_pmc_release(void);
int perfctr_x86_pmc_cpu_start(bool test);
void perfctr_x86_pmc_cpu_stop(void);
void perfctr_x86_pmc_cpu_forget(void);
void perfctr_x86_pmc_cpu_halt(void);
void perfctr_x86_pmc_cpu_quiet(void);
void perfctr_x86_pmc_cpu_scrub(void);

/*
 * True if no counter of this CPU is enabled, or only those that some firmware leaves enabled.
 *
 * Context: interrupts disabled.
 */
bool perfctr_x86_pmc_is_idle(void);

/*
 * perf has taken its event off this counter, a bit of the global registers, while the CPU is
 * claimed.
 *
 * Context: interrupts disabled.
 */
void perfctr_x86_pmc_unkept(int bit);

/* pmc.c: suspend and resume in a virtual machine, and what they must be told: see cpu.h. */
void perfctr_x86_pmc_suspend_remembering(struct perfctr_cpu_state *state);
void perfctr_x86_pmc_resume_remembering(struct perfctr_cpu_state *state);
void perfctr_x86_pmc_switching(bool on);
void perfctr_x86_pmc_user_ran(void);

/* The operations of a driver that leaves them to pmc.c. */
#define PERFCTR_X86_PMC_OPS					\
	.check_control	= perfctr_x86_pmc_check_control,	\
	.ops = {						\
		.suspend	= perfctr_x86_pmc_suspend,	\
		.resume		= perfctr_x86_pmc_resume,	\
		.sample		= perfctr_x86_pmc_sample,	\
		.take_overflow	= perfctr_x86_pmc_take_overflow, \
		.restart	= perfctr_x86_pmc_restart,	\
		.hold_overflow	= perfctr_x86_pmc_hold_overflow, \
		.iresume	= perfctr_x86_pmc_iresume,	\
		.resume_parts	= perfctr_x86_pmc_resume_parts,	\
		.suspend_parts	= perfctr_x86_pmc_suspend_parts, \
		.sample_parts	= perfctr_x86_pmc_sample_parts,	\
	},							\
	.overflow	= perfctr_x86_pmc_overflow,		\
	.end_stray	= perfctr_x86_pmc_end_stray,		\
	.updates	= perfctr_x86_pmc_updates,		\
	.cpu_forget	= perfctr_x86_pmc_cpu_forget,		\
	.cpu_halt	= perfctr_x86_pmc_cpu_halt,		\
	.cpu_quiet	= perfctr_x86_pmc_cpu_quiet,		\
	.cpu_scrub	= perfctr_x86_pmc_cpu_scrub

/* Operations of a driver whose counters the kernel's reservation of registers knows. */
#define PERFCTR_X86_PMC_RESERVATION				\
	.perf_reserves	= true,					\
	.reserve	= perfctr_x86_pmc_reserve,		\
	.release	= perfctr_x86_pmc_release,		\
	.cpu_start	= perfctr_x86_pmc_cpu_start,		\
	.cpu_stop	= perfctr_x86_pmc_cpu_stop

/* Operations of a driver that claims the counters from perf: see perf-claim.c, pmc-claim.c. */
#define PERFCTR_X86_CLAIM					\
	.end		= perfctr_x86_perf_end,			\
	.tells_refusals	= true,					\
	.reserve	= perfctr_x86_perf_reserve,		\
	.release	= perfctr_x86_perf_release,		\
	.settle		= perfctr_x86_perf_settle,		\
	.cpu_start	= perfctr_x86_claim_start,		\
	.cpu_stop	= perfctr_x86_claim_stop,		\
	.repair		= perfctr_x86_pmc_repair,		\
	.shares_lvtpc	= true

int perfctr_x86_claim_start(bool test);
void perfctr_x86_claim_stop(void);

/*
 * pmc-claim.c: leave counters, as bits of the global registers, to the NMI watchdog.
 * leave_kept: take these out of a kind's masks.
 */
void perfctr_x86_keep(u64 kept);
void perfctr_x86_leave_kept(struct vperfctr_info *info);

/*
 * Fill in the rest of perfctr_cpu_info at the end of a probe, which has set the masks.
 * @width: bits of a general counter
 * @fixed_width: bits of a fixed counter
 * @write_width: bits of a general counter that a write sets; the rest is sign-extended
 *
 * Return: false if a register that the probe described does not exist.
 */
bool perfctr_x86_pmc_describe(unsigned int width, unsigned int fixed_width,
			      unsigned int write_width);

/*
 * Set nrctrs of a kind of CPU, whose masks are set.
 *
 * Context: A CPU of that kind.
 * Return: as for perfctr_x86_pmc_describe().
 */
bool perfctr_x86_pmc_describe_kind(struct vperfctr_info *info);

/* Return a mask of the n lowest bits. */
u64 perfctr_x86_low_bits(unsigned int n);

/*
 * intel.c: detect the processor.
 * @claims: the driver claims the counters from perf
 *
 * Return: 0, or -ENODEV.
 */
int perfctr_intel_probe(bool claims);
bool perfctr_intel_can_reserve(void);
perfctr_probe_kind perfctr_intel_probe_kind;

/*
 * perf-claim.c: claim the counters from perf where they cannot be reserved.
 *
 * find: find perf's PMU of an online CPU, and divert its functions; may sleep.  Return: 0,
 *	or an errno if the CPU's counters cannot be claimed.
 * step_out: undo all diversions; may sleep; before the first reservation.
 * end: the same at any time; may sleep, without cpus_read_lock().
 * watchdog: return the counters of the NMI watchdog on all online CPUs whose PMU was found,
 *	as bits of the global registers, and with keep_watchdog those that it will have; may
 *	sleep; with cpus_read_lock().
 *
 * watch_maps: look from here on for processes that may RDPMC by a mapping of perf's; may
 *	sleep.  No state counts yet.
 * watches_maps: true from then on.
 * any_rights: true if any process may RDPMC.
 *
 * reserve, release, settle: as in struct perfctr_driver.
 * claim, unclaim: of this CPU, while all are reserved; interrupts disabled.  claim fails
 *	if perf uses its counters.
 *
 * pmu: return one of the PMUs that have been found, or NULL if there are fewer.
 * is_reserved: true while the counters are reserved, or about to be; perf waits.
 */
int perfctr_x86_perf_find(unsigned int cpu);
u64 perfctr_x86_perf_watchdog(void);
void perfctr_x86_perf_step_out(void);
void perfctr_x86_perf_end(void);
void perfctr_x86_perf_watch_maps(void);
bool perfctr_x86_perf_watches_maps(void);
bool perfctr_x86_perf_any_rights(void);
int perfctr_x86_perf_reserve(void);
void perfctr_x86_perf_settle(void);
void perfctr_x86_perf_release(void);
bool perfctr_x86_perf_claim(void);
void perfctr_x86_perf_unclaim(void);
struct pmu *perfctr_x86_perf_pmu(unsigned int i);
bool perfctr_x86_perf_is_reserved(void);

/*
 * perf-admit.c: let the NMI watchdog begin while the other counters are reserved.
 *
 * init: the watchdog keeps these counters.
 * settle: before a reservation, and before perf's functions are restored; may sleep.
 * reserved: the counters have been reserved.
 *
 * The others are called by the replacements of perf's functions, with interrupts disabled, while
 * perf schedules its events on this CPU:
 *
 * begin: perf is about to disable its PMU.  This may release the CPU.
 * admits: true if perf may begin to use a counter, as the watchdog waits for it alone.
 * refuses: true if this event must not be added.
 * end: perf has enabled its PMU.
 * ask: perf has been refused: let the watchdog begin soon, if it waits.  Return: true if this will
 *	succeed, as no other event that is pinned to the CPU waits, or if it is being done.
 */
void perfctr_x86_admit_init(u64 kept);
void perfctr_x86_admit_settle(void);
void perfctr_x86_admit_reserved(void);
void perfctr_x86_admit_begin(void);
bool perfctr_x86_admits(void);
bool perfctr_x86_admit_refuses(struct perf_event *event);
void perfctr_x86_admit_end(void);
bool perfctr_x86_admit_ask(void);

/* True if these are the counters of a watchdog that has no event of perf's beside it. */
bool perfctr_x86_can_admit(u64 kept);

/* EAX of CPUID leaf 1AH: the type of a hybrid processor's core, with its model below. */
#define PERFCTR_INTEL_CORE_TYPE(eax)	((eax) >> 24)
#define PERFCTR_INTEL_ATOM		0x20
#define PERFCTR_INTEL_CORE		0x40

/* amd.c: detect the processor.  Return: 0, or -ENODEV. */
int perfctr_amd_probe(void);

/* amd-quirks.c: for perfctr_x86_pmu.refuses. */
bool perfctr_amd_refuses(const struct vperfctr_info *kind, u64 evntsel);

extern unsigned int perfctr_amd_family;

/* The four high bits of an event, which event selects have from family 10h on. */
#define PERFCTR_AMD_EVENT_HIGH	(0xfULL << 32)

/*
 * intel-quirks.c
 *
 * pmc3_is_microcodes: true if microcode uses general counter 3.
 * @max_leaf: EAX of CPUID leaf 0
 *
 * set_quirks: fill in alone_mask, alone_event, restart, no_imode_event and min_period.
 * @model: of family 6; PERFCTR_INTEL_MODEL() of another one; PERFCTR_INTEL_NO_MODEL: another
 *	vendor
 * @version: of architectural performance monitoring
 */
#define PERFCTR_INTEL_NO_MODEL	(~0U)
#define PERFCTR_INTEL_MODEL(family, model)	((family) << 8 | (model))

bool perfctr_intel_pmc3_is_microcodes(u32 max_leaf);
void perfctr_intel_set_quirks(struct perfctr_x86_pmu *pmu, unsigned int model,
			      unsigned int version, u64 pmc_mask);

/*
 * intel-extra.c: events that need one more register, which the general counters share.
 * The aux field of the counter is its value.
 */
extern const u32 perfctr_x86_extra_msrs[PERFCTR_X86_NR_EXTRA];

/*
 * Find the extra events of this CPU's kind.
 * @model: as for perfctr_intel_set_quirks()
 * @core_type: EAX of CPUID leaf 1AH, or 0
 *
 * Return: an upper bound of the registers that any kind has.
 */
unsigned int perfctr_intel_probe_extra(unsigned int model, u32 core_type);

/*
 * Add what the extra event of a counter needs to control->regs and control->alone.
 *
 * Return: 0, or -EINVAL if this kind of CPU cannot count it.
 */
int perfctr_x86_check_extra(const struct vperfctr_ctr *ctr, struct perfctr_cpu_control *control,
			    const struct vperfctr_info *kind);

/* True if a processor may have this event as an extra event: a fast check. */
static inline bool perfctr_x86_may_have_extra(const struct vperfctr_ctr *ctr)
{
	switch (ctr->evntsel & 0xff) {
	case 0x0b: case 0x27: case 0x2a: case 0x2b: case 0x4f: case 0xad: case 0xb7: case 0xbb:
	case 0xc2: case 0xc6: case 0xcd: case 0xd0: case 0xd4: case 0xd6:
		return true;
	}
	return ctr->aux;
}

/* True if this MSR can be read. */
bool perfctr_x86_readable(u32 msr);

/*
 * selftest.c: try the counters of this CPU.  They are stopped, and are clobbered.
 *
 * Context: Interrupts disabled, counters reserved.
 * Return: 0, or -EIO if they do not hold a value or do not count.
 */
int perfctr_x86_selftest(const struct vperfctr_info *kind);

/*
 * drivers.c: the CPUs whose counters hold something.
 *
 * mark: counters may be loaded on this CPU from now on, and its next scrub must clear them.
 *	Return: false if the CPU has failed.
 * unmark: they have been cleared.
 *
 * Context: On the CPU concerned, interrupts disabled.
 */
bool perfctr_x86_mark_holder(void);
void perfctr_x86_unmark_holder(void);

/*
 * Run cpu_scrub on the CPUs that were marked.  The others cost nothing.
 *
 * Return: true if another CPU was interrupted.
 */
bool perfctr_x86_scrub(void);

/*
 * nmi.c: the interrupt of the counters.
 *
 * init, exit: of the module.  Return: 0, or an errno.
 * start, stop: of this CPU, together with its registers.
 * sleep, forget: before and after this CPU has slept with the system.
 *
 * Context: Interrupts disabled, except init and exit, which may sleep.
 */
int perfctr_x86_pmi_init(void);
void perfctr_x86_pmi_exit(void);
void perfctr_x86_pmi_start(void);
void perfctr_x86_pmi_stop(void);
void perfctr_x86_pmi_sleep(void);
void perfctr_x86_pmi_forget(void);

/* True once LVTPC was found masked: an NMI of ours is always distinguishable. */
extern bool perfctr_x86_pmi_masks;

void perfctr_x86_pmi_expect_late(void);

/*
 * Prepare for the late interrupt of an overflow that is being handled.  The NMI handler
 * must claim that interrupt although it will find no overflow.
 */
static inline void perfctr_x86_pmi_expect(void)
{
	if (!READ_ONCE(perfctr_x86_pmi_masks))
		perfctr_x86_pmi_expect_late();
}

/*
 * rdpmc.c: user-mode RDPMC by the processes with mapped states that count.
 *
 * begin: the hardware was reserved, and no process has the right.
 * end: all rights have been withdrawn, and the hardware is about to be released.  RDPMC
 *	would show what perf counts.  So this waits for CPUs that have not followed.
 * exit: of the module.
 * mms_added: as many calls of perfctr_mm_added(), not by the processes concerned.
 *
 * Context: May sleep.
 */
void perfctr_x86_mms_added(unsigned int nr);
void perfctr_x86_rdpmc_begin(void);
void perfctr_x86_rdpmc_end(void);
void perfctr_x86_rdpmc_exit(void);

/*
 * A process may RDPMC, and perf and this module will not know it when its mappings end: all
 * suspends clear from here on.  May be called in an NMI.
 */
void perfctr_x86_forgotten(void);

/* True if a thread withdraws a process's right and has not asked all CPUs concerned. */
bool perfctr_x86_is_withdrawing(void);

/*
 * cr4-pce.c: make CR4.PCE follow perfctr_x86_rdpmc_allowed() of an mm.
 *
 * follow: update CR4.PCE on the CPUs that have the mm loaded.  On kernels that let no
 *	module write CR4, this only asks these CPUs to do it.
 * idle: true if all CPUs have done it.
 * wait: wait for that, and for threads that have withdrawn a right and still ask the CPUs
 *	concerned; but for a quarter of a second at most.
 * wake: no thread may withdraw a right any more: wait looks again.
 * is_late: true if this CPU may not have done it for the mm of current.
 * suspect: perf may have left counters on this CPU that the kernel will clear.  is_suspect: this is
 * so, and the kernel may do it at any time.
 *
 * Context: the mm must not be freed meanwhile.  follow: may sleep.  wait: may sleep.
 * wake: not in an NMI.  is_late: preemption disabled.  suspect: interrupts disabled.
 */
void perfctr_x86_pce_follow(struct mm_struct *mm);
bool perfctr_x86_pce_idle(void);
void perfctr_x86_pce_wait(void);
void perfctr_x86_pce_wake(void);
bool perfctr_x86_pce_is_late(void);
void perfctr_x86_pce_suspect(void);
bool perfctr_x86_pce_is_suspect(void);
int perfctr_x86_pce_init(void);
void perfctr_x86_pce_exit(void);

/* Begin and end to report virtual machines whose counters stand still: see kvm-report.c. */
void perfctr_x86_kvm_init(void);
void perfctr_x86_kvm_exit(void);

#endif /* VPERFCTR_X86_H */
