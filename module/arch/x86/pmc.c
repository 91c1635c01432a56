// SPDX-License-Identifier: GPL-2.0
/*
 * Suspend, resume and sample of counters as nearly all x86 processors have them, and
 * their overflows.  There is an event select for each general counter.  There may be
 * fixed counters, with a control register of their own, and a register that starts
 * and stops all counters.  The driver's probe describes them: see perfctr_x86_pmu.
 *
 * A context switch must not pay for MSR writes.  So each CPU remembers what its
 * registers hold, and the identity of the control that they were loaded for.
 * Resuming the same control again writes no event select.
 *
 * Counters keep running when their owner leaves, and their differences are added up.  With
 * isolation this is so only while no process can see them: see must_stop().  Else one write
 * to the global control register stops all counters when their owner leaves, and one starts
 * them when it returns.  Processors without this register clear and reload each event select
 * instead.
 *
 * i-mode counters always stop with their owner.  The page's `start` keeps the value,
 * and the next resume, on any CPU, loads it unless the counter still holds it.
 */
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/percpu.h>

#include "regs.h"
#include "rdpmc.h"
#include "x86.h"
#include "pmc.h"

/* A switch that stops counters, or changes GLOBAL_CTRL, reads its first line only. */
struct perfctr_x86_pmu perfctr_x86_pmu __ro_after_init ____cacheline_aligned;

DEFINE_PER_CPU_ALIGNED(struct pmc_cpu, perfctr_x86_pmc_cpu);

/* ---- registers ---------------------------------------------------------- */

static void write_global_ctrl(struct pmc_cpu *cpu, u64 value)
{
	if (cpu->global_ctrl == value)
		return;
	WRITE_ONCE(cpu->global_ctrl, value);
	perfctr_wrmsr(pmu->global_ctrl, value);
}

/*
 * Stop all counters but those that are kept.  Both halves of the value are loaded, so that
 * this takes as many instructions as writing zero.
 */
static __always_inline void stop_global_ctrl(struct pmc_cpu *cpu)
{
	u64 kept = pmu->kept;

	if (cpu->global_ctrl == kept)
		return;
	WRITE_ONCE(cpu->global_ctrl, kept);
	perfctr_wrmsr_halves(pmu->global_ctrl, kept, pmu->kept_high);
}

/* Write an event select if it differs.  Return: true if it did. */
static bool write_evntsel(struct pmc_cpu *cpu, unsigned int i, u64 value)
{
	if (cpu->evntsel[i] == value)
		return false;
	WRITE_ONCE(cpu->evntsel[i], value);
	perfctr_wrmsr(evntsel_msr(i), value);
	return true;
}

static noinline bool write_extra(struct pmc_cpu *cpu, const struct perfctr_cpu_regs *regs)
{
	bool wrote = false;
	unsigned int i;

	for (i = 0; i < pmu->nr_extra; i++) {
		if (!(regs->extra_used & BIT(i)) || cpu->extra[i] == regs->extra[i])
			continue;
		cpu->extra[i] = regs->extra[i];
		perfctr_wrmsr_safe(perfctr_x86_extra_msrs[i], regs->extra[i]);
		wrote = true;
	}
	return wrote;
}

/*
 * Run the driver's workaround, which clobbers the general counters.  Then reload their
 * event selects, and the values of those in i-mode.
 */
static noinline void reload_after_workaround(struct pmc_cpu *cpu,
					     const struct perfctr_cpu_state *state)
{
	const struct perfctr_cpu_control *control = &state->control;
	unsigned int i;

	stop_global_ctrl(cpu);
	pmu->restart();
	for (i = 0; i < PERFCTR_X86_MAX_PMC; i++) {
		if (cpu->evntsel[i])
			perfctr_wrmsr(evntsel_msr(i), cpu->evntsel[i]);
	}
	for (i = control->nractrs; i < perfctr_nrctrs(control); i++) {
		if (!is_fixed(control->ctr[i].map))
			write_counter(control->ctr[i].map, state->page->ctr[i].start);
	}
}

/*
 * Load a control into registers that hold another one.  Writes only what differs.
 *
 * If nothing differs and both use the same counters, the state gets the older of the
 * two identities.  So all threads that count the same end up with one identity.  (A
 * loaded i-mode control differs by its INT and PMI bits.)
 */
static void write_control(struct pmc_cpu *cpu, struct perfctr_cpu_state *state)
{
	const struct perfctr_cpu_control *control = &state->control;
	unsigned int i, nrctrs = perfctr_nrctrs(control);
	bool wrote = false, selects = false;
	u64 fixed;

	if (unlikely(control->regs.extra_used))
		wrote = write_extra(cpu, &control->regs);
	for (i = 0; i < nrctrs; i++) {
		const struct vperfctr_ctr *ctr = &control->ctr[i];
		u64 intr = i < control->nractrs ? 0 : PERFCTR_X86_EVNTSEL_INT;

		if (!is_fixed(ctr->map))
			selects |= write_evntsel(cpu, ctr->map, ctr->evntsel | intr);
	}
	wrote |= selects;
	fixed = (cpu->fixed_ctrl & ~control->regs.fixed_used) | control->regs.fixed_ctrl;
	if (fixed != cpu->fixed_ctrl) {
		WRITE_ONCE(cpu->fixed_ctrl, fixed);
		perfctr_wrmsr(pmu->fixed_ctrl, fixed);
		wrote = true;
	}
	if (unlikely(selects && pmu->restart))
		reload_after_workaround(cpu, state);
	if (!wrote && cpu->id && cpu->loaded == control->regs.global_ctrl && !control->nrictrs)
		state->id = min(state->id, cpu->id);
	cpu->id = state->id;
	WRITE_ONCE(cpu->loaded, control->regs.global_ctrl);	/* not 0: it has counters */
}

static noinline void clear_evntsels(struct pmc_cpu *cpu, const struct perfctr_cpu_state *state)
{
	const struct vperfctr_page *page = state->page;
	unsigned int i;

	for (i = 0; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++)
		write_evntsel(cpu, page->ctr[i].map, 0);
	cpu->id = 0;	/* the next resume reloads them */
}

/* Stop the counters, so that they do not count for another thread. */
static __always_inline void stop_counters(struct pmc_cpu *cpu,
					  const struct perfctr_cpu_state *state)
{
	if (likely(pmu->global_ctrl))
		stop_global_ctrl(cpu);
	else
		clear_evntsels(cpu, state);
}

/* ---- i-mode ------------------------------------------------------------- */

static bool has_ictrs(const struct perfctr_cpu_state *state)
{
	return state->cstatus & VPERFCTR_CSTATUS_ICTRS;
}

/* Keep the NMI handler from stopping the counters, from here on. */
static void disarm(struct pmc_cpu *cpu)
{
	WRITE_ONCE(cpu->armed, NULL);
	barrier();
}

static __always_inline bool has_overflowed(u32 map, u64 now)
{
	return !(now & sign_of(map));
}

/*
 * True if there is only one counter, as nearly always in i-mode.  The path of an overflow
 * is inline for it, without loops and indexes, and calls functions for more.
 */
static __always_inline bool has_one_counter(u32 cstatus)
{
	return likely(VPERFCTR_CSTATUS_NRCTRS(cstatus) == 1);
}

static __always_inline bool has_ictr_overflowed(const struct vperfctr_page *page, unsigned int i)
{
	u32 map = page->ctr[i].map;

	return has_overflowed(map, perfctr_rdpmc(map));
}

static noinline bool any_of_many_overflowed(const struct perfctr_cpu_state *state)
{
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);

	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		if (has_ictr_overflowed(state->page, i))
			return true;
	}
	return false;
}

/* True if an i-mode counter of the state has overflowed.  It has at least one. */
static __always_inline bool any_ictr_overflowed(const struct perfctr_cpu_state *state)
{
	return has_one_counter(state->cstatus) ? has_ictr_overflowed(state->page, 0) :
						 any_of_many_overflowed(state);
}

/*
 * Clear the overflow bits in IA32_PERF_GLOBAL_STATUS.  The counters are stopped, and
 * their overflows are known.
 */
static __always_inline void clear_overflow_status(const struct perfctr_cpu_state *state)
{
	if (pmu->global_ctrl)
		perfctr_wrmsr(pmu->global_clear, state->control.regs.global_ctrl);
}

/* Stop the counters, one of which has overflowed, before the overflow is handled. */
static __always_inline void stop_overflowed(struct pmc_cpu *cpu,
					    const struct perfctr_cpu_state *state)
{
	disarm(cpu);
	cpu->cleared = true;
	if (likely(pmu->global_ctrl)) {
		stop_global_ctrl(cpu);
		perfctr_wrmsr(pmu->global_clear, state->control.regs.global_ctrl);
	} else {
		clear_evntsels(cpu, state);
	}
}

/*
 * Let the NMI handler stop the counters.  The NMI of an earlier overflow may have arrived
 * already, and had no effect.  So look for overflows, and report one here.
 *
 * Return: false if there was one; then the counters must not be started.
 */
static bool arm(struct pmc_cpu *cpu, struct perfctr_cpu_state *state)
{
	WRITE_ONCE(cpu->armed, state);
	barrier();
	if (likely(!any_ictr_overflowed(state)))
		return true;
	stop_overflowed(cpu, state);
	perfctr_overflowed(state, NULL);
	return false;
}

/* An armed state is the running one, and has i-mode counters. */
struct perfctr_cpu_state *perfctr_x86_pmc_overflow(void)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	struct perfctr_cpu_state *state = READ_ONCE(cpu->armed);

	if (likely(state)) {
		if (!any_ictr_overflowed(state))
			return NULL;
		/* Stop them here: afterwards the caller unmasks LVTPC. */
		stop_overflowed(cpu, state);
		return state;
	}
	state = READ_ONCE(cpu->running);
	if (!state || !has_ictrs(state) || !any_ictr_overflowed(state))
		return NULL;
	/* Else LVTPC would raise the same interrupt again, before anything clears this. */
	clear_overflow_status(state);
	return ERR_PTR(-EBUSY);
}

u32 perfctr_x86_pmc_updates(void)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	const struct perfctr_cpu_state *state = READ_ONCE(cpu->running);

	return state ? READ_ONCE(state->page->samplecount) : 0;
}

/* The counters whose overflow raises an interrupt, as bits of the global registers. */
static u64 interrupting_counters(const struct pmc_cpu *cpu)
{
	u64 bits = 0;
	unsigned int i;

	for (i = 0; i < PERFCTR_X86_MAX_PMC; i++) {
		if (READ_ONCE(cpu->evntsel[i]) & PERFCTR_X86_EVNTSEL_INT)
			bits |= BIT_ULL(i);
	}
	for (i = 0; i < PERFCTR_X86_MAX_FIXED; i++) {
		if (READ_ONCE(cpu->fixed_ctrl) & FIXED_FIELD(i, FIXED_PMI))
			bits |= BIT_ULL(32 + i);
	}
	return bits & ~pmu->kept;
}

/*
 * Undo what perf's handler has done to the global control, if this NMI is for Intel PT or
 * BTS: it leaves all counters stopped or, if perf has counted on this CPU before, all
 * enabled.  The code that this NMI interrupts may be about to write the same value.
 */
static void repair_global_ctrl(u64 mine)
{
	u64 now;

	/* The workaround enables counters for a moment, and must not be disturbed. */
	if (!pmu->restart && !perfctr_rdmsr_safe(pmu->global_ctrl, &now) && now != mine)
		perfctr_wrmsr(pmu->global_ctrl, mine);
}

/*
 * Write the global control back after perf's handler.  The counters may have been stopped before
 * this NMI.  Then nothing else writes this register, and a counter that is kept would stand still.
 */
void perfctr_x86_pmc_repair(void)
{
	const struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);

	/* Without this register, perf's handler stops nothing. */
	if (pmu->global_ctrl && READ_ONCE(cpu->ready))
		repair_global_ctrl(READ_ONCE(cpu->global_ctrl));
}

/*
 * Do what perf's handler does first, and clear the status of our overflows, which it would
 * take for its own.  Nothing but perf's counter runs between the two, so no overflow comes in
 * between.  Our handler starts the counters again, and finds overflows by the values.
 */
void perfctr_x86_pmc_precede(void)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	u64 status;

	if (!READ_ONCE(cpu->ready))
		return;
	perfctr_wrmsr(pmu->global_ctrl, pmu->kept);
	if (perfctr_rdmsr_safe(pmu->global_status, &status))
		return;
	status &= perfctr_cpu_info.pmc_mask;
	cpu->preceded = status;
	if (status)
		perfctr_wrmsr(pmu->global_clear, status);
}

/*
 * Stop counters that other code has started, if one has overflowed.
 *
 * Clear the status bits of these overflows, or of @all.  The caller then looks for
 * overflows of the running state again: it finds them by the counters' values.
 *
 * Other code sets the whole global control register without reserving it: KVM, as the
 * first virtual machine starts on AMD's PerfMonV2 or the last one ends, and BPF programs
 * that record a snapshot of branches.  The counters of a thread that was switched out
 * then run without it, and may overflow.  The next resume corrects this: it does not rely
 * on the value that a counter was left at.
 */
bool perfctr_x86_pmc_end_stray(bool all)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	u64 mine = READ_ONCE(cpu->global_ctrl), status;

	if (!pmu->global_ctrl || !READ_ONCE(cpu->ready))
		return false;
	repair_global_ctrl(mine);
	if (perfctr_rdmsr_safe(pmu->global_status, &status))
		return false;
	/* They have also let PERF_METRICS count, beside a fixed counter 3 that is ours. */
	if (status & PERFCTR_X86_STATUS_METRICS)
		perfctr_wrmsr_safe(pmu->global_clear, status & PERFCTR_X86_STATUS_METRICS);
	status |= cpu->preceded;
	status &= interrupting_counters(cpu) & (all ? -1ULL : ~mine);
	if (!status)
		return false;
	if (status & ~mine) {
		perfctr_wrmsr(pmu->global_ctrl, mine);
		/* The NMI of a second overflow, which is also cleared here. */
		perfctr_x86_pmi_expect();
	}
	perfctr_wrmsr(pmu->global_clear, status);
	return status & ~mine;
}

/* Update i-mode counters at suspend.  They are already stopped. */
static void suspend_ictrs(struct pmc_cpu *cpu, const struct perfctr_cpu_state *state)
{
	struct vperfctr_page *page = state->page;
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	bool overflow = false, here = false;

	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];
		u64 now = perfctr_rdpmc(ctr->map);

		if (has_overflowed(ctr->map, now)) {
			overflow = true;
			/* False if it overflowed before this resume, perhaps on another CPU. */
			here |= !has_overflowed(ctr->map, ctr->start);
		}
		ctr->sum += (now - ctr->start) & page->mask;
		ctr->start = now;
	}
	if (here)
		perfctr_x86_pmi_expect();
	if (overflow && !cpu->cleared)
		clear_overflow_status(state);
	cpu->cleared = false;
}

static __always_inline bool is_at_start(const struct vperfctr_page_ctr *ctr)
{
	return !((perfctr_rdpmc(ctr->map) ^ ctr->start) & counter_mask(ctr->map));
}

/* True if the registers hold the control, and its i-mode counters their values. */
static __always_inline bool are_loaded(const struct pmc_cpu *cpu,
				       const struct perfctr_cpu_state *state)
{
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);

	if (cpu->id != state->id)
		return false;
	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		if (!is_at_start(&state->page->ctr[i]))
			return false;
	}
	return true;
}

/*
 * Load i-mode counters, as the first step of resume.  They must be stopped meanwhile,
 * and an overflow bit that another thread left must not look like ours.  The cached
 * register does not prove that they are stopped: see perfctr_x86_pmc_end_stray().
 *
 * Return: true if a counter has already overflowed; then none must be started.
 */
static bool resume_ictrs(struct pmc_cpu *cpu, const struct perfctr_cpu_state *state)
{
	const struct vperfctr_page *page = state->page;
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	bool loaded = are_loaded(cpu, state);
	bool overflow = false;

	if (pmu->global_ctrl && !loaded) {
		WRITE_ONCE(cpu->global_ctrl, pmu->kept);
		perfctr_wrmsr_halves(pmu->global_ctrl, pmu->kept, pmu->kept_high);
		perfctr_wrmsr(pmu->global_clear, state->control.regs.global_ctrl);
	}
	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		const struct vperfctr_page_ctr *ctr = &page->ctr[i];

		if (!pmu->global_ctrl && !loaded)
			write_evntsel(cpu, ctr->map, 0);
		if (!loaded && !is_at_start(ctr))
			write_counter(ctr->map, ctr->start);
		overflow |= has_overflowed(ctr->map, ctr->start);
	}
	return overflow;
}

/* Start no counter of a state that has overflowed.  Its values are loaded nevertheless. */
static noinline void resume_overflowed(struct pmc_cpu *cpu,
				       const struct perfctr_cpu_state *state)
{
	if (!pmu->global_ctrl)
		clear_evntsels(cpu, state);	/* another thread's may be running */
	cpu->id = 0;	/* write_control() must not take `loaded` for what another control needs */
	WRITE_ONCE(cpu->loaded, cpu->loaded | state->control.regs.global_ctrl);
}

/* ---- suspend, resume, sample -------------------------------------------- */

/*
 * True if a state's counters must stop when its owner is switched out.
 *
 * The fast paths are those of states without PERFCTR_OTHER.  Slow paths are noinline tail
 * calls, so no registers are spilled.
 */
static __always_inline bool must_stop(const struct perfctr_cpu_state *state)
{
	return perfctr_x86_stops() | (state->special & PERFCTR_STOPS);
}

/* The same on the fast path, and true if the state is not for it. */
static __always_inline u32 must_stop_or_other(const struct perfctr_cpu_state *state)
{
	return perfctr_x86_stops() | state->special;
}

/* Clear the state's counters, as another process could see what they hold. */
static noinline void clear_used(const struct perfctr_cpu_state *state)
{
	unsigned int i;

	for (i = 0; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++)
		clear_counter(state->page->ctr[i].map);
}

/*
 * For a loop that ends when this is 0.  The compiler would compute its end instead, with more
 * instructions than that saves.
 */
static __always_inline u32 countdown(u32 n)
{
	OPTIMIZER_HIDE_VAR(n);
	return n;
}

/* Add what a-mode counters have counted, of which there is at least one. */
static __always_inline void suspend_actrs(struct vperfctr_page *page, u32 n)
{
	struct vperfctr_page_ctr *ctr = page->ctr;

	do {
		n = countdown(n);
		ctr->sum += (perfctr_rdpmc(ctr->map) - ctr->start) & page->mask;
		ctr->start = 0;	/* the old value shows counts of other threads */
		ctr++;
	} while (--n);
}

static __always_inline void resume_actrs(struct vperfctr_page *page, u32 n)
{
	struct vperfctr_page_ctr *ctr = page->ctr;

	do {
		n = countdown(n);
		ctr->start = perfctr_rdpmc(ctr->map);
		ctr++;
	} while (--n);
}

/*
 * Update the state.
 * @other: it may have no a-mode counters
 * @stopped: the counters are stopped, as a process may be able to look.  Else none is.
 */
static __always_inline void suspend(struct pmc_cpu *cpu, struct perfctr_cpu_state *state,
				    bool other, bool ictrs, bool stopped)
{
	struct vperfctr_page *page = state->page;
	u32 nractrs = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);

	perfctr_page_begin(page);
	/* Read it again: the local copy would need a register that RDTSC does not clobber. */
	if (likely(state->cstatus & VPERFCTR_CSTATUS_TSC))
		page->tsc_sum += perfctr_rdtsc() - page->tsc_start;
	if (!other || nractrs)
		suspend_actrs(page, nractrs);
	if (ictrs)
		suspend_ictrs(cpu, state);
	perfctr_page_end(page);
	WRITE_ONCE(cpu->running, NULL);
	if (stopped && unlikely(perfctr_x86_watched()))
		clear_used(state);
}

static noinline void suspend_other(struct perfctr_cpu_state *state)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	bool ictrs = has_ictrs(state), stops = must_stop(state);

	if (!VPERFCTR_CSTATUS_NRCTRS(state->cstatus)) {
		perfctr_generic_suspend(state);
		return;
	}
	if (ictrs)
		disarm(cpu);
	if (stops || ictrs)
		stop_counters(cpu, state);
	suspend(cpu, state, true, ictrs, stops);
}

void perfctr_x86_pmc_suspend(struct perfctr_cpu_state *state)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);

	/* Twice, so that neither path tests again whether the counters are stopped. */
	if (!must_stop_or_other(state)) {
		suspend(cpu, state, false, false, false);
	} else if (likely(!(state->special & PERFCTR_OTHER))) {
		stop_global_ctrl(cpu);
		suspend(cpu, state, false, false, true);
	} else {
		suspend_other(state);
	}
}

static __always_inline void resume(struct pmc_cpu *cpu, struct perfctr_cpu_state *state,
				   u32 cstatus, bool other, bool tsc_runs)
{
	struct vperfctr_page *page = state->page;
	u32 nractrs = VPERFCTR_CSTATUS_NRACTRS(cstatus);

	WRITE_ONCE(cpu->running, state);
	perfctr_page_begin(page);
	page->cstatus = cstatus;
	if (!tsc_runs)
		page->tsc_start = perfctr_rdtsc();
	if (!other || nractrs)
		resume_actrs(page, nractrs);
	perfctr_page_end(page);
}

static __always_inline void start_counters(struct pmc_cpu *cpu,
					   const struct perfctr_cpu_state *state, u32 stops)
{
	u64 enable = state->control.regs.enable;

	/* Counters of other threads keep running if no process can see them. */
	if (stops)
		write_global_ctrl(cpu, enable);
	else
		write_global_ctrl(cpu, enable | cpu->global_ctrl);
}

/* The page's cstatus while the counters run. */
static __always_inline u32 running_cstatus(u32 cstatus)
{
	return cstatus | VPERFCTR_CSTATUS_RUNNING |
	       (perfctr_user_rdpmc() ? VPERFCTR_CSTATUS_RDPMC : 0);
}

/*
 * Mark this prepared CPU as one that holds counters.
 *
 * Return: false if it has failed: an NMI may have halted it, and cleared `ready`.
 */
static bool begin_holding(void)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);

	WRITE_ONCE(cpu->ready, PMC_READY);
	if (perfctr_x86_mark_holder())
		return true;
	WRITE_ONCE(cpu->ready, 0);
	return false;
}

/*
 * Resume a state without counters, or prepare this CPU for its first state with counters.
 * If the CPU cannot count, refuse the state, whose TSC may be running.
 *
 * Return: true if the counters must be resumed.
 */
static noinline bool may_use_counters(struct perfctr_cpu_state *state, bool tsc_runs)
{
	if (!VPERFCTR_CSTATUS_NRCTRS(state->cstatus)) {
		perfctr_generic_resume(state);
		return false;
	}
	if (!perfctr_prepare_here() && begin_holding())
		return true;
	if (tsc_runs)
		perfctr_generic_suspend(state);
	perfctr_refused(state);
	return false;
}

static noinline void resume_other(struct perfctr_cpu_state *state, bool tsc_runs)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	u32 cstatus = running_cstatus(state->cstatus);
	bool ictrs = has_ictrs(state);
	bool overflow = false;

	/* `ready` is 0 on a CPU that is not prepared. */
	if (unlikely(!(cstatus & cpu->ready)) && !may_use_counters(state, tsc_runs))
		return;
	if (cstatus & VPERFCTR_CSTATUS_RDPMC)
		perfctr_x86_saw_rdpmc();
	if (ictrs)
		overflow = resume_ictrs(cpu, state);
	/* Without a global control, counters run once written, and may overflow at once. */
	WRITE_ONCE(cpu->running, state);
	barrier();
	if (unlikely(overflow))
		resume_overflowed(cpu, state);
	else if (cpu->id != state->id)
		write_control(cpu, state);
	resume(cpu, state, cstatus, true, tsc_runs);
	if (ictrs && pmu->global_ctrl && !overflow)
		WRITE_ONCE(cpu->armed, state);	/* stopped since the load: no overflow */
	else if (ictrs && !arm(cpu, state))
		return;
	if (pmu->global_ctrl)
		start_counters(cpu, state, must_stop(state));
}

void perfctr_x86_pmc_resume(struct perfctr_cpu_state *state)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	u32 cstatus;

	if (unlikely(cpu->id != state->id || (state->special & PERFCTR_OTHER))) {
		resume_other(state, false);
		return;
	}
	cstatus = running_cstatus(state->cstatus);
	resume(cpu, state, cstatus, false, false);
	start_counters(cpu, state, must_stop_or_other(state));
	if (cstatus & VPERFCTR_CSTATUS_RDPMC)
		perfctr_x86_saw_rdpmc();
}

/* ---- in a virtual machine ------------------------------------------------ */

/*
 * There an RDPMC is an exit to the hypervisor.  So a resume takes the values that the last suspend
 * has read on this CPU, if only the kernel has executed since: the counters count user mode.
 * This holds only between two context switches, of which the callers tell, and not after a
 * switch from a thread that may have been in user mode.
 */
static DEFINE_PER_CPU(struct remembered {
	bool switching;			/* no thread executes user mode now */
	u64 id;				/* of the control whose counters these are; 0: none */
	u64 now[PERFCTR_X86_MAX_PMC + PERFCTR_X86_MAX_FIXED];
}, remembered);

void perfctr_x86_pmc_switching(bool on)
{
	this_cpu_ptr(&remembered)->switching = on;
}

void perfctr_x86_pmc_user_ran(void)
{
	this_cpu_ptr(&remembered)->id = 0;
}

static unsigned int slot_of(u32 map)
{
	return is_fixed(map) ? PERFCTR_X86_MAX_PMC + fixed_index(map) : map;
}

/*
 * True if the counters of a state run on when it is suspended, and count user mode only.  The
 * kernel clears what perf has left on a CPU as it allows user mode to read counters there, which
 * no register shows when it has ended.
 */
static bool can_remember(const struct perfctr_cpu_state *state)
{
	return !has_ictrs(state) && VPERFCTR_CSTATUS_NRACTRS(state->cstatus) &&
	       !state->control.kernel && !must_stop(state) && !perfctr_x86_pce_is_suspect();
}

void perfctr_x86_pmc_suspend_remembering(struct perfctr_cpu_state *state)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	struct remembered *r = this_cpu_ptr(&remembered);
	struct vperfctr_page *page = state->page;
	unsigned int i;

	r->id = 0;
	if (!r->switching || !can_remember(state)) {
		perfctr_x86_pmc_suspend(state);
		return;
	}
	perfctr_page_begin(page);
	if (state->cstatus & VPERFCTR_CSTATUS_TSC)
		page->tsc_sum += perfctr_rdtsc() - page->tsc_start;
	for (i = 0; i < VPERFCTR_CSTATUS_NRACTRS(state->cstatus); i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];
		u64 now = perfctr_rdpmc(ctr->map);

		ctr->sum += (now - ctr->start) & page->mask;
		ctr->start = 0;	/* the old value shows counts of other threads */
		r->now[slot_of(ctr->map)] = now;
	}
	perfctr_page_end(page);
	WRITE_ONCE(cpu->running, NULL);
	r->id = state->id;
}

void perfctr_x86_pmc_resume_remembering(struct perfctr_cpu_state *state)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	struct remembered *r = this_cpu_ptr(&remembered);
	u32 cstatus = running_cstatus(state->cstatus);
	struct vperfctr_page *page = state->page;
	u64 id = r->id;
	unsigned int i;

	/*
	 * The same identity means the same counters.  As a thread comes that may use RDPMC, the
	 * kernel may clear them.
	 */
	r->id = 0;
	if (!r->switching || !id || id != state->id || id != cpu->id || !can_remember(state) ||
	    (cstatus & VPERFCTR_CSTATUS_RDPMC)) {
		perfctr_x86_pmc_resume(state);
		return;
	}
	WRITE_ONCE(cpu->running, state);
	perfctr_page_begin(page);
	page->cstatus = cstatus;
	page->tsc_start = perfctr_rdtsc();
	for (i = 0; i < VPERFCTR_CSTATUS_NRACTRS(cstatus); i++)
		page->ctr[i].start = r->now[slot_of(page->ctr[i].map)];
	perfctr_page_end(page);
	if (pmu->global_ctrl)
		start_counters(cpu, state, must_stop(state));
}

static __always_inline void sample_tsc(struct vperfctr_page *page, u32 cstatus)
{
	u64 now = perfctr_rdtsc();

	if (likely(cstatus & VPERFCTR_CSTATUS_TSC))
		page->tsc_sum += now - page->tsc_start;
	page->tsc_start = now;
}

void perfctr_x86_pmc_sample(struct perfctr_cpu_state *state)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	struct vperfctr_page *page = state->page;
	unsigned int i, nrctrs = VPERFCTR_CSTATUS_NRCTRS(state->cstatus);
	unsigned int nractrs = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	bool ictrs = has_ictrs(state);
	u64 now;

	if (unlikely(ictrs))
		disarm(cpu);
	perfctr_page_begin(page);
	sample_tsc(page, state->cstatus);
	for (i = 0; i < nrctrs; i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];

		now = perfctr_rdpmc(ctr->map);
		/*
		 * The NMI of this overflow may arrive after the overflow was handled.  The
		 * next suspend would not expect it, as `start` makes the overflow look older.
		 */
		if (i >= nractrs && has_overflowed(ctr->map, now) &&
		    !has_overflowed(ctr->map, ctr->start))
			perfctr_x86_pmi_expect();
		ctr->sum += (now - ctr->start) & page->mask;
		ctr->start = now;
	}
	perfctr_page_end(page);
	if (unlikely(ictrs))
		arm(cpu, state);
}

/* ---- several states that count together ---------------------------------- */

/*
 * A context switch comes here.  It uses single words of struct pmc_cpu and does not compute this
 * CPU's address: the loops need all registers that a function need not save.
 */

/* Add to the sums of parts, which go on from `start` or will start again. */
static __always_inline void update_parts(struct perfctr_cpu_state *const *part, bool go_on)
{
	const struct perfctr_cpu_state *state = *part;
	u64 now, tsc = perfctr_rdtsc();

	do {
		struct vperfctr_page *page = state->page;
		struct vperfctr_page_ctr *ctr = page->ctr;
		u32 nractrs = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);

		perfctr_page_begin(page);
		if (state->cstatus & VPERFCTR_CSTATUS_TSC) {
			u64 ticks = tsc - page->tsc_start;

			/* One instruction adds this: the compiler would add the sum first. */
			OPTIMIZER_HIDE_VAR(ticks);
			page->tsc_sum += ticks;
		}
		if (go_on)
			page->tsc_start = tsc;
		do {
			nractrs = countdown(nractrs);
			now = perfctr_rdpmc(ctr->map);
			ctr->sum += (now - ctr->start) & page->mask;
			ctr->start = go_on ? now : 0;	/* see suspend_actrs() */
			ctr++;
		} while (--nractrs);
		perfctr_page_end(page);
		state = *++part;
	} while (state);
}

/* As a process may be able to look. */
static noinline void stop_parts(struct perfctr_cpu_state *joint,
				struct perfctr_cpu_state *const *part)
{
	stop_global_ctrl(this_cpu_ptr(&perfctr_x86_pmc_cpu));
	update_parts(part, false);
	this_cpu_write(perfctr_x86_pmc_cpu.running, NULL);
	if (unlikely(perfctr_x86_watched()))
		clear_used(joint);
}

void perfctr_x86_pmc_suspend_parts(struct perfctr_cpu_state *joint,
				   struct perfctr_cpu_state *const *part)
{
	if (must_stop_or_other(joint)) {
		stop_parts(joint, part);
		return;
	}
	update_parts(part, false);
	this_cpu_write(perfctr_x86_pmc_cpu.running, NULL);
}

void perfctr_x86_pmc_sample_parts(struct perfctr_cpu_state *joint,
				  struct perfctr_cpu_state *const *part)
{
	update_parts(part, true);
}

static __always_inline void resume_each(struct perfctr_cpu_state *joint,
					struct perfctr_cpu_state *const *part, u32 running)
{
	const struct perfctr_cpu_state *state = *part;
	u64 tsc;

	this_cpu_write(perfctr_x86_pmc_cpu.running, joint);
	tsc = perfctr_rdtsc();
	do {
		struct vperfctr_page *page = state->page;

		perfctr_page_begin(page);
		page->cstatus = state->cstatus | running;
		page->tsc_start = tsc;
		resume_actrs(page, VPERFCTR_CSTATUS_NRACTRS(state->cstatus));
		perfctr_page_end(page);
		state = *++part;
	} while (state);
}

/* Resume parts whose counters must be loaded before, or started after that. */
static noinline void start_parts(struct perfctr_cpu_state *joint,
				 struct perfctr_cpu_state *const *part)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	u32 running = running_cstatus(0);

	if (cpu->id != joint->id) {
		if (!(joint->cstatus & cpu->ready)) {
			perfctr_resume_parts_slowly();
			return;
		}
		write_control(cpu, joint);
	}
	resume_each(joint, part, running);
	start_counters(cpu, joint, must_stop_or_other(joint));
	if (running & VPERFCTR_CSTATUS_RDPMC)
		perfctr_x86_saw_rdpmc();
}

/* True if this CPU holds the control, and its counters run already, and may. */
static __always_inline bool has_run_on(const struct perfctr_cpu_state *joint)
{
	return this_cpu_read(perfctr_x86_pmc_cpu.id) == joint->id && !must_stop_or_other(joint) &&
	       !(joint->control.regs.enable & ~this_cpu_read(perfctr_x86_pmc_cpu.global_ctrl));
}

void perfctr_x86_pmc_resume_parts(struct perfctr_cpu_state *joint,
				  struct perfctr_cpu_state *const *part)
{
	u32 running;

	if (unlikely(!has_run_on(joint))) {
		start_parts(joint, part);
		return;
	}
	running = running_cstatus(0);
	resume_each(joint, part, running);
	if (running & VPERFCTR_CSTATUS_RDPMC)
		perfctr_x86_saw_rdpmc();
}

/* ---- handling an overflow ------------------------------------------------ */

/*
 * True if an overflow can be handled faster than by a suspend and a resume.  This needs a
 * global control, and registers that hold the state's control.  They do not if the state
 * came from another CPU with an overflow that was not handled there.
 */
static __always_inline bool is_fast(const struct pmc_cpu *cpu,
				    const struct perfctr_cpu_state *state)
{
	return likely(pmu->global_ctrl && cpu->id == state->id);
}

/* Stop the counters.  The overflow's status bit is already clear. */
static __always_inline void begin_overflow(struct pmc_cpu *cpu)
{
	disarm(cpu);
	stop_global_ctrl(cpu);
	perfctr_x86_pmi_expect();	/* before a reload removes the cause of its NMI */
	cpu->cleared = false;	/* the counters are about to start, or to be held */
}

/* Add what a counter has counted to its sum.  Return: its value. */
static __always_inline u64 add_count(const struct vperfctr_page *page,
				     struct vperfctr_page_ctr *ctr)
{
	u64 now = perfctr_rdpmc(ctr->map);

	ctr->sum += (now - ctr->start) & page->mask;
	ctr->start = now;
	return now;
}

struct perfctr_overflow perfctr_x86_pmc_take_overflow(struct perfctr_cpu_state *state,
						      unsigned int shift)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	struct vperfctr_page *page = state->page;
	struct perfctr_overflow overflow = { };
	u32 cstatus = state->cstatus;
	unsigned int i;

	if (!is_fast(cpu, state))
		return perfctr_generic_take_overflow(state, shift);
	begin_overflow(cpu);
	perfctr_page_begin(page);
	sample_tsc(page, state->cstatus);
	for (i = VPERFCTR_CSTATUS_NRACTRS(cstatus); i < VPERFCTR_CSTATUS_NRCTRS(cstatus); i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];

		if (!has_overflowed(ctr->map, add_count(page, ctr)))
			continue;
		ctr->start = perfctr_reset_ictr(state, i, shift, &overflow);
		write_counter(ctr->map, ctr->start);
	}
	for (i = 0; i < VPERFCTR_CSTATUS_NRACTRS(cstatus); i++)
		add_count(page, &page->ctr[i]);
	perfctr_page_end(page);
	return overflow;
}

void perfctr_x86_pmc_restart(struct perfctr_cpu_state *state)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);

	if (unlikely(cpu->running != state)) {
		perfctr_x86_pmc_resume(state);	/* it was suspended */
		return;
	}
	WRITE_ONCE(cpu->armed, state);	/* stopped since the load: no overflow */
	write_global_ctrl(cpu, state->control.regs.enable);	/* no other counter runs, either */
}

/*
 * Update an i-mode counter that will be held.  If it has overflowed, load it now: then
 * IRESUME only has to start it, unless another thread has used it.
 *
 * Return: its bit if it has overflowed.
 */
static __always_inline u32 hold_ictr(const struct perfctr_cpu_state *state,
				     struct vperfctr_page *page, unsigned int i)
{
	struct vperfctr_page_ctr *ctr = &page->ctr[i];
	u64 ireset;

	if (!has_overflowed(ctr->map, add_count(page, ctr)))
		return 0;
	ireset = state->control.ctr[i].ireset;
	ctr->start = ireset;
	write_counter(ctr->map, ireset);
	return 1U << i;
}

/* Update a-mode counters: start values of those that do not run would show other counts. */
static void hold_actrs(struct vperfctr_page *page, u32 cstatus, bool hold)
{
	unsigned int i;

	for (i = 0; i < VPERFCTR_CSTATUS_NRACTRS(cstatus); i++) {
		add_count(page, &page->ctr[i]);
		if (hold)
			page->ctr[i].start = 0;
	}
}

static __always_inline u32 hold(struct perfctr_cpu_state *state, bool one_counter)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	struct vperfctr_page *page = state->page;
	u32 cstatus = state->cstatus, ctrs = 0;
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(cstatus);

	begin_overflow(cpu);
	perfctr_page_begin(page);
	sample_tsc(page, cstatus);
	if (one_counter) {
		ctrs = hold_ictr(state, page, 0);
	} else {
		for (; i < VPERFCTR_CSTATUS_NRCTRS(cstatus); i++)
			ctrs |= hold_ictr(state, page, i);
		hold_actrs(page, cstatus, ctrs);
	}
	if (unlikely(!ctrs)) {
		perfctr_page_end(page);
		perfctr_x86_pmc_restart(state);
		return 0;
	}
	WRITE_ONCE(cpu->running, NULL);
	if (perfctr_isolate && unlikely(perfctr_x86_watched()))
		clear_used(state);
	cstatus &= VPERFCTR_CSTATUS_TSC;
	state->cstatus = cstatus;
	page->cstatus = cstatus | VPERFCTR_CSTATUS_RUNNING;
	perfctr_page_end(page);
	return ctrs;
}

static noinline u32 hold_many(struct perfctr_cpu_state *state)
{
	return hold(state, false);
}

u32 perfctr_x86_pmc_hold_overflow(struct perfctr_cpu_state *state)
{
	if (!is_fast(this_cpu_ptr(&perfctr_x86_pmc_cpu), state))
		return perfctr_generic_hold_overflow(state);
	return has_one_counter(state->cstatus) ? hold(state, true) : hold_many(state);
}

/* True if the only counter still holds what hold_overflow has loaded. */
static __always_inline bool is_only_start_missing(const struct pmc_cpu *cpu,
						  const struct perfctr_cpu_state *state)
{
	return likely(pmu->global_ctrl && cpu->id == state->id &&
		      has_one_counter(state->control.cstatus) &&
		      is_at_start(&state->page->ctr[0]));
}

void perfctr_x86_pmc_iresume(struct perfctr_cpu_state *state)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	struct vperfctr_page *page = state->page;
	u32 cstatus = state->control.cstatus, running;

	state->cstatus = cstatus;
	if (!is_only_start_missing(cpu, state)) {
		resume_other(state, true);
		return;
	}
	running = running_cstatus(cstatus);
	if (running & VPERFCTR_CSTATUS_RDPMC)
		perfctr_x86_saw_rdpmc();
	WRITE_ONCE(cpu->running, state);
	perfctr_page_begin(page);
	page->cstatus = running;
	perfctr_page_end(page);
	WRITE_ONCE(cpu->armed, state);	/* stopped since the load: no overflow */
	write_global_ctrl(cpu, state->control.regs.enable);	/* no other counter runs, either */
}
