// SPDX-License-Identifier: GPL-2.0
/*
 * The performance monitor of POWER8, 9 and 10, described in the Power ISA, Book III, "Performance
 * Monitor Facility".  There are four counters of events, PMC1 to PMC4.  PMC5 counts
 * instructions and PMC6 cycles.  All have 32 bits.
 *
 * MMCR0 starts and stops all counters together, and says whether user mode may read them.
 * MMCR1 has the events.  MMCR2 has, for each counter, the modes in which it does not count.
 * Each CPU knows what these registers hold, and the identity of the control that they were
 * loaded for.  Resuming that control again writes MMCR0 only.
 *
 * With isolation, suspend stops all counters and clears those used.  So resume knows their
 * start values, and no thread can see the counts of another.  Without isolation they keep
 * running, and the sums are made of differences.
 *
 * While a state with i-mode counters runs, a counter whose top bit is set raises an interrupt,
 * and the hardware stops all counters then.  The kernel disables most interrupts by software,
 * but not this one: it is an NMI to code that has disabled them.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "../../compat/nmi.h"
#include "counters.h"
#include "powerpc.h"
#include "regs.h"

/* evntsel: the selector of MMCR1, and two bits as in MMCR2. */
#define EVENT_SELECTOR		GENMASK_ULL(7, 0)
#define EVENT_NOT_USER		BIT_ULL(62)	/* do not count in user mode */
#define EVENT_NOT_KERNEL	BIT_ULL(63)	/* do not count in kernel mode */
#define EVENT_MODES		(EVENT_NOT_USER | EVENT_NOT_KERNEL)

/* MMCR0.  PMCC: group A, with all counters, can be read in user mode, or not. */
#define MMCR0_NO_READS		0x00040000ULL
#define MMCR0_READS		0ULL
#define MMCR0_COUNTING		((u64)MMCR0_C56RUN)	/* PMC5 and 6 also without the run latch */
#define MMCR0_STOPPED		((u64)MMCR0_FC | MMCR0_COUNTING)
/*
 * PMC1CE and PMCjCE: a counter whose top bit is set stops all of them, and interrupts.  The
 * condition is its value: a write that starts the counters again raises it again.
 */
#define MMCR0_NEGATIVE		0xc000ULL
#define MMCR0_INTERRUPT		((u64)MMCR0_PMXE | MMCR0_FCECE | MMCR0_NEGATIVE)

/* MMCR2, for PMC1: the other counters' bits follow to the right. */
#define MMCR2_S			BIT_ULL(63)	/* freeze in kernel mode below a hypervisor */
#define MMCR2_P0		BIT_ULL(62)	/* freeze in user mode, the same */
#define MMCR2_P1		BIT_ULL(61)	/* freeze in user mode of a hypervisor */
#define MMCR2_H			BIT_ULL(57)	/* freeze in hypervisor mode */
#define MMCR2_ALL		(MMCR2_S | MMCR2_P0 | MMCR2_P1 | MMCR2_H)
#define MMCR2_SHIFT		9

/* MMCR1: the selector of PMC1, and those of PMC2 to 4 to its right. */
#define MMCR1_SHIFT(n)		(24 - 8 * (n))

#define NR_EVENT_PMCS		4

/* The counters by their fixed numbers. */
#define FIXED_INSNS		0		/* PMC5 */
#define FIXED_CYCLES		1		/* PMC6 */

/* The bits of VPERFCTR_CSTATUS_NRCTRS(): one test also finds a control without counters. */
#define PMU_READY		0xff

static const struct {
	u32 version;
	const char *name;
} processors[] = {
	{ PVR_POWER8E, "IBM POWER8E" },
	{ PVR_POWER8NVL, "IBM POWER8NVL" },
	{ PVR_POWER8, "IBM POWER8" },
	{ PVR_POWER9, "IBM POWER9" },
	{ PVR_POWER10, "IBM POWER10" },
};

static struct {
	u32 version;
	u64 freeze_kernel;		/* the bit of MMCR2 of the mode in which this kernel runs */
} pmu __ro_after_init;

/* The contents of a CPU's registers. */
struct pmu_cpu {
	u64 id;				/* of the loaded control; 0: none */
	u64 mmcr0;
	struct mm_struct *reader;	/* PMCC is open, or is being opened, to it */
	struct perfctr_cpu_state *armed; /* the running state whose overflow an interrupt reports */
	bool idle;			/* the running state's counters have not been started */
	u32 ready;			/* PMU_READY while the counters are claimed, else 0 */
	u64 saved_mmcr0;
	u64 saved_mmcr1;
	u64 saved_mmcr2;
};

static DEFINE_PER_CPU(struct pmu_cpu, pmu_cpu);

static __always_inline unsigned int pmc_of(u32 map)
{
	return map & VPERFCTR_FIXED ? NR_EVENT_PMCS + (map & 1) : map;
}

static __always_inline u32 read_counter(u32 map)
{
	return perfctr_read_pmc(pmc_of(map));
}

static __always_inline void write_counter(u32 map, u32 value)
{
	perfctr_write_pmc(pmc_of(map), value);
}

/* ---- detection ---------------------------------------------------------- */

static int power8_probe(void)
{
	struct vperfctr_info *info = &perfctr_cpu_info;
	unsigned int i;

	pmu.version = perfctr_processor();
	for (i = 0; i < ARRAY_SIZE(processors); i++) {
		if (processors[i].version == pmu.version)
			break;
	}
	if (i == ARRAY_SIZE(processors))
		return -ENODEV;
	pmu.freeze_kernel = perfctr_is_hypervisor() ? MMCR2_H : MMCR2_S;

	info->cpu_type = VPERFCTR_CPU_POWER8;
	info->features = VPERFCTR_FEATURE_RDPMC | VPERFCTR_FEATURE_RDTSC | VPERFCTR_FEATURE_CPUS |
			 (perfctr_isolate ? VPERFCTR_FEATURE_ISOLATE : 0);
	info->nrkinds = 1;
	info->tsc_khz = perfctr_tsc_khz();
	info->arch_events = VPERFCTR_EVENT_CYCLES | VPERFCTR_EVENT_INSTRUCTIONS;
	info->nrctrs = PERFCTR_NR_PMCS;
	info->pmc_width = 32;
	info->fixed_width = 32;
	/* The handler touches the memory of a ring. */
	if (perfctr_nmis_may_fault()) {
		info->features |= VPERFCTR_FEATURE_PCINT;
		info->max_period = BIT_ULL(31) - 1;
		info->min_period = 1;
	}
	info->pmc_mask = BIT_ULL(NR_EVENT_PMCS) - 1;
	info->fixed_mask = BIT_ULL(FIXED_INSNS) | BIT_ULL(FIXED_CYCLES);
	strscpy(info->cpu_name, processors[i].name, sizeof(info->cpu_name));
	perfctr_cpu_sampling_ns = perfctr_sampling_ns(32);
	return 0;
}

/* True if a control that was checked against the probed CPU can run on this CPU. */
static bool power8_is_alike(void)
{
	return perfctr_processor() == pmu.version;
}

/* ---- control ------------------------------------------------------------ */

/* Return the bits of MMCR2 for PMC1, for modes that are not counted. */
static u64 modes_of(u64 evntsel)
{
	/* Never count the other privileged mode: it is a hypervisor's, or a guest's. */
	u64 modes = (MMCR2_S | MMCR2_H) & ~pmu.freeze_kernel;

	if (evntsel & EVENT_NOT_KERNEL)
		modes |= pmu.freeze_kernel;
	if (evntsel & EVENT_NOT_USER)
		modes |= MMCR2_P0 | MMCR2_P1;
	return modes;
}

static int check_counter(struct vperfctr_ctr *ctr)
{
	u64 event = ctr->evntsel & ~EVENT_MODES;

	if ((ctr->evntsel & EVENT_MODES) == EVENT_MODES)
		return -EINVAL;
	if (ctr->map & VPERFCTR_FIXED)
		return (ctr->map & ~VPERFCTR_FIXED) > FIXED_CYCLES || event ? -EINVAL : 0;
	if (ctr->map >= NR_EVENT_PMCS)
		return -EINVAL;
	ctr->map = array_index_nospec(ctr->map, NR_EVENT_PMCS);
	/* Selector 0 counts nothing. */
	return !event || (event & ~EVENT_SELECTOR) ? -EINVAL : 0;
}

static int power8_check_control(struct perfctr_cpu_control *control)
{
	struct perfctr_cpu_regs *regs = &control->regs;
	unsigned int i, used = 0;

	if (control->global[0] || control->global[1] || control->kind)
		return -EINVAL;
	control->kernel = false;
	control->alone = false;
	control->mask = U32_MAX;
	regs->mmcr1 = 0;
	regs->mmcr2 = 0;
	for (i = 0; i < PERFCTR_NR_PMCS; i++)
		regs->mmcr2 |= MMCR2_ALL >> (i * MMCR2_SHIFT);
	for (i = 0; i < perfctr_nrctrs(control); i++) {
		struct vperfctr_ctr *ctr = &control->ctr[i];
		unsigned int n;

		if (ctr->aux || !perfctr_is_valid_ireset(ctr->ireset, i >= control->nractrs) ||
		    check_counter(ctr))
			return -EINVAL;
		n = pmc_of(ctr->map);
		if (used & BIT(n))
			return -EINVAL;
		used |= BIT(n);
		if (n < NR_EVENT_PMCS)
			regs->mmcr1 |= (ctr->evntsel & EVENT_SELECTOR) << MMCR1_SHIFT(n);
		regs->mmcr2 &= ~(MMCR2_ALL >> (n * MMCR2_SHIFT));
		regs->mmcr2 |= modes_of(ctr->evntsel) >> (n * MMCR2_SHIFT);
		control->kernel |= !(ctr->evntsel & EVENT_NOT_KERNEL);
	}
	return 0;
}

/* ---- registers ---------------------------------------------------------- */

static __always_inline void set_mmcr0(struct pmu_cpu *cpu, u64 mmcr0)
{
	if (cpu->mmcr0 == mmcr0)
		return;
	cpu->mmcr0 = mmcr0;
	perfctr_write_mmcr0(mmcr0);
	perfctr_sync();
}

/* As set_mmcr0(), but the hardware may have changed the register since. */
static void force_mmcr0(struct pmu_cpu *cpu, u64 mmcr0)
{
	cpu->mmcr0 = mmcr0;
	perfctr_write_mmcr0(mmcr0);
	perfctr_sync();
}

/* Load a control into registers that hold another one. */
static noinline void write_control(struct pmu_cpu *cpu, const struct perfctr_cpu_state *state)
{
	/* Without isolation they may run for another control. */
	set_mmcr0(cpu, MMCR0_STOPPED | MMCR0_NO_READS);
	perfctr_write_mmcr1(state->control.regs.mmcr1);
	perfctr_write_mmcr2(state->control.regs.mmcr2);
	perfctr_sync();
	cpu->id = state->id;
}

static void close_user(struct pmu_cpu *cpu)
{
	WRITE_ONCE(cpu->reader, NULL);
	set_mmcr0(cpu, cpu->mmcr0 | MMCR0_NO_READS);
}

/* ---- i-mode ------------------------------------------------------------- */

/*
 * Handle the interrupt.  It may have interrupted a change of MMCR0.  The write that follows
 * then enables it again, and the counter's top bit is still set: the hardware stops the
 * counters at once, and that interrupt finds nothing armed.  The suspend that follows the
 * report writes MMCR0 whatever it seems to hold.
 */
static void power8_overflow(struct pt_regs *regs)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);
	struct perfctr_cpu_state *armed = cpu->armed;

	if (!armed) {
		/* The overflow has been found already, or is of no state: end its cause. */
		perfctr_write_mmcr0(perfctr_read_mmcr0() & ~(u64)(MMCR0_PMXE | MMCR0_PMAO));
		return;
	}
	if (!have_overflowed(armed)) {
		/* The resume has not started them yet, or does it now. */
		perfctr_write_mmcr0(cpu->mmcr0);
		return;
	}
	WRITE_ONCE(cpu->armed, NULL);
	force_mmcr0(cpu, MMCR0_STOPPED | (cpu->mmcr0 & MMCR0_NO_READS));
	/* If only an a-mode counter has wrapped, the handler finds none, and starts it anew. */
	perfctr_overflowed(armed, regs);
}

/*
 * Resume a state with i-mode counters.  The a-mode counters start from zero, also without
 * isolation, and those of others are cleared: the interrupt is for a counter of any kind.
 *
 * @reads: the value of PMCC.
 */
static noinline void resume_with_ictrs(struct pmu_cpu *cpu, struct perfctr_cpu_state *state,
				       u32 cstatus, u64 reads)
{
	struct vperfctr_page *page = state->page;
	unsigned int n;

	force_mmcr0(cpu, MMCR0_STOPPED | reads);
	for (n = 0; n < PERFCTR_NR_PMCS; n++)
		perfctr_write_pmc(n, 0);
	cpu->idle = is_overflow_left(state);

	perfctr_page_begin(page);
	page->cstatus = cstatus;
	page->tsc_start = perfctr_rdtsc();
	if (!cpu->idle)
		load_ictrs(state);
	perfctr_page_end(page);

	/* Such an overflow is handled before the owner returns to user mode. */
	if (cpu->idle) {
		perfctr_overflowed(state, NULL);
		return;
	}
	WRITE_ONCE(cpu->armed, state);
	perfctr_sync();	/* the counters have been loaded */
	force_mmcr0(cpu, MMCR0_COUNTING | MMCR0_INTERRUPT | reads);
}

/* ---- suspend, resume, sample -------------------------------------------- */

/* True if an overflow holds the counters of a state that shows none. */
static bool is_held(const struct perfctr_cpu_state *state)
{
	return VPERFCTR_CSTATUS_NRCTRS(state->unheld_cstatus);
}

/*
 * Let the owner of a held state read counters.  It may be between its look at the page,
 * which showed counters, and the read, which must not raise SIGILL.  It discards what it
 * reads, as the sample count has changed.
 */
static void open_held(void)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);

	if ((cpu->ready || !perfctr_powerpc_prepare_here()) &&
	    perfctr_may_read(&cpu->reader))
		set_mmcr0(cpu, (cpu->mmcr0 & ~MMCR0_NO_READS) | MMCR0_READS);
}

static noinline void suspend_without_counters(struct perfctr_cpu_state *state)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);

	if (cpu->reader)
		close_user(cpu);
	perfctr_generic_suspend(state);
}

static void power8_suspend(struct perfctr_cpu_state *state)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);
	struct vperfctr_page *page = state->page;
	unsigned int i, nrctrs = VPERFCTR_CSTATUS_NRCTRS(state->cstatus);

	if (!nrctrs) {
		suspend_without_counters(state);
		return;
	}
	WRITE_ONCE(cpu->reader, NULL);
	if (unlikely(has_ictrs(state))) {
		nrctrs = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
		WRITE_ONCE(cpu->armed, NULL);
		force_mmcr0(cpu, MMCR0_STOPPED | MMCR0_NO_READS);
	} else {
		set_mmcr0(cpu, MMCR0_NO_READS | (perfctr_isolate ? MMCR0_STOPPED : MMCR0_COUNTING));
	}

	perfctr_page_begin(page);
	if (state->cstatus & VPERFCTR_CSTATUS_TSC)
		page->tsc_sum += perfctr_rdtsc() - page->tsc_start;
	/* The counters of an idle state have been cleared. */
	for (i = 0; i < nrctrs; i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];

		ctr->sum += (u32)(read_counter(ctr->map) - ctr->start);
		ctr->start = 0;
		if (perfctr_isolate)
			write_counter(ctr->map, 0);
	}
	if (unlikely(has_ictrs(state)) && !cpu->idle)
		suspend_ictrs(state);
	cpu->idle = false;
	perfctr_page_end(page);
}

/*
 * Resume a state without counters, or claim this CPU for its first state with counters.
 * If that fails, refuse the state.
 *
 * Return: true if the counters must be resumed.
 */
static noinline bool may_use_counters(struct perfctr_cpu_state *state)
{
	if (!VPERFCTR_CSTATUS_NRCTRS(state->cstatus)) {
		if (is_held(state))
			open_held();
		perfctr_generic_resume(state);
		return false;
	}
	if (!perfctr_powerpc_prepare_here())
		return true;
	perfctr_refused(state);
	return false;
}

static void power8_resume(struct perfctr_cpu_state *state)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);
	struct vperfctr_page *page = state->page;
	unsigned int i, nrctrs = VPERFCTR_CSTATUS_NRCTRS(state->cstatus);
	u32 cstatus = state->cstatus | VPERFCTR_CSTATUS_RUNNING;
	u64 mmcr0 = MMCR0_COUNTING | MMCR0_NO_READS;

	/* The mask of a CPU that is not claimed has no bit. */
	if (unlikely(!(cstatus & cpu->ready)) && !may_use_counters(state))
		return;
	if (perfctr_may_read(&cpu->reader)) {
		cstatus |= VPERFCTR_CSTATUS_RDPMC;
		mmcr0 = MMCR0_COUNTING | MMCR0_READS;
	}
	if (cpu->id != state->id)
		write_control(cpu, state);
	if (unlikely(has_ictrs(state))) {
		resume_with_ictrs(cpu, state, cstatus, mmcr0 & MMCR0_NO_READS);
		return;
	}

	perfctr_page_begin(page);
	page->cstatus = cstatus;
	page->tsc_start = perfctr_rdtsc();
	/* With isolation, suspend has cleared the counters, and `start`. */
	if (!perfctr_isolate) {
		for (i = 0; i < nrctrs; i++)
			page->ctr[i].start = read_counter(page->ctr[i].map);
	}
	perfctr_page_end(page);
	set_mmcr0(cpu, mmcr0);
}

/*
 * Let the a-mode counters start from zero again, before the top bit of one is set.  The time
 * base does not stop: its sum goes on from where it was.
 */
static noinline void sample_with_ictrs(struct perfctr_cpu_state *state)
{
	struct vperfctr_page *page = state->page;
	u64 sum = page->tsc_sum, start = page->tsc_start;

	if (this_cpu_ptr(&pmu_cpu)->idle) {
		perfctr_generic_sample(state);
		return;
	}
	power8_suspend(state);
	power8_resume(state);
	if (state->cstatus & VPERFCTR_CSTATUS_TSC) {
		perfctr_page_begin(page);
		page->tsc_sum = sum + page->tsc_start - start;
		perfctr_page_end(page);
	}
}

static void power8_sample(struct perfctr_cpu_state *state)
{
	if (unlikely(has_ictrs(state)))
		sample_with_ictrs(state);
	else
		sample_actrs(state);
}

/* ---- claiming and releasing a CPU --------------------------------------- */

/* Stop and clear all counters.  Nothing is known about the registers. */
static void clear_registers(struct pmu_cpu *cpu)
{
	unsigned int n;

	cpu->mmcr0 = MMCR0_STOPPED | MMCR0_NO_READS;
	perfctr_write_mmcr0(cpu->mmcr0);
	perfctr_sync();
	perfctr_write_mmcr1(0);
	perfctr_write_mmcr2(0);
	for (n = 0; n < PERFCTR_NR_PMCS; n++)
		perfctr_write_pmc(n, 0);
	perfctr_sync();
	cpu->id = 0;
	WRITE_ONCE(cpu->reader, NULL);
	WRITE_ONCE(cpu->armed, NULL);
	cpu->idle = false;
}

static void power8_cpu_start(void)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);

	perfctr_set_used(true);
	/* Without an interrupt that is pending: there is no event of perf's that it could be of. */
	cpu->saved_mmcr0 = perfctr_read_mmcr0() & ~(u64)MMCR0_PMAO;
	cpu->saved_mmcr1 = perfctr_read_mmcr1();
	cpu->saved_mmcr2 = perfctr_read_mmcr2();
	clear_registers(cpu);
	cpu->ready = PMU_READY;
}

static void power8_cpu_stop(void)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);

	cpu->ready = 0;
	clear_registers(cpu);
	perfctr_write_mmcr1(cpu->saved_mmcr1);
	perfctr_write_mmcr2(cpu->saved_mmcr2);
	/* perf has no event, so its counters were stopped. */
	perfctr_write_mmcr0(cpu->saved_mmcr0 | MMCR0_FC);
	perfctr_sync();
	perfctr_set_used(false);
}

static void power8_cpu_forget(void)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);

	if (cpu->ready)
		clear_registers(cpu);
}

static void power8_cpu_lose(unsigned int cpu)
{
	per_cpu_ptr(&pmu_cpu, cpu)->ready = 0;
}

static const struct mm_struct *power8_cpu_reader(unsigned int cpu)
{
	return READ_ONCE(per_cpu_ptr(&pmu_cpu, cpu)->reader);
}

/*
 * End user-mode reads here.  The process that runs here has unmapped its page, so it no
 * longer relies on the page's promise that reads work.
 */
static void power8_cpu_close_user(const struct mm_struct *mm)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);

	if (cpu->reader == mm)
		close_user(cpu);
}

const struct perfctr_powerpc_driver perfctr_powerpc_power8 = {
	.probe		= power8_probe,
	.check_control	= power8_check_control,
	.ops.suspend	= power8_suspend,
	.ops.resume	= power8_resume,
	.ops.sample	= power8_sample,
	.is_alike	= power8_is_alike,
	.cpu_start	= power8_cpu_start,
	.cpu_stop	= power8_cpu_stop,
	.cpu_forget	= power8_cpu_forget,
	.cpu_lose	= power8_cpu_lose,
	.overflow	= power8_overflow,
	.cpu_reader	= power8_cpu_reader,
	.cpu_close_user	= power8_cpu_close_user,
};
