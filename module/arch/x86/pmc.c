// SPDX-License-Identifier: GPL-2.0
/*
 * The registers of counters as nearly all x86 processors have them: an event
 * select for each general counter, perhaps fixed counters with a register of
 * their own, perhaps one that starts and stops all of them.  The driver's probe
 * says what there is (perfctr_x86_pmu).
 *
 * MSR writes are what a context switch must not pay for.  Each CPU remembers
 * what its registers hold, and the identity of the control that they were
 * loaded for: resuming that control again writes no event select.  With
 * isolation, one write to the global control register stops all counters when
 * their owner leaves and one starts them when it returns; without, counters are
 * left running and the differences taken.  Where there is no such register,
 * isolation clears and reloads each event select.
 *
 * i-mode counters always stop with their owner, and go on, on whatever CPU, from
 * the value that they had: it is in the page's `start` meanwhile.  It is written
 * unless the counter still holds it.
 */
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/percpu.h>

#include "regs.h"
#include "rdpmc.h"
#include "x86.h"
#include "pmc.h"

struct perfctr_x86_pmu perfctr_x86_pmu __ro_after_init;

DEFINE_PER_CPU_ALIGNED(struct pmc_cpu, perfctr_x86_pmc_cpu);

/* ---- registers ---------------------------------------------------------- */

static void write_global_ctrl(struct pmc_cpu *cpu, u64 value)
{
	if (cpu->global_ctrl == value)
		return;
	WRITE_ONCE(cpu->global_ctrl, value);
	perfctr_wrmsr(pmu->global_ctrl, value);
}

/* Was there anything to write? */
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

/* All general counters get their event selects again, and those in i-mode their values. */
static noinline void restart(struct pmc_cpu *cpu, const struct perfctr_cpu_state *state)
{
	const struct perfctr_cpu_control *control = &state->control;
	unsigned int i;

	write_global_ctrl(cpu, 0);
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
 * Load a control into registers that hold another one, writing what differs.
 *
 * If nothing does, and both use the same counters, they are the same to the
 * registers, and one identity is enough, the older one: so all threads that count
 * the same come to have the same.  (i-mode, by its INT and PMI bits, differs.)
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
		restart(cpu, state);
	if (!wrote && cpu->id && cpu->loaded == control->regs.global_ctrl && !control->nrictrs)
		state->id = min(state->id, cpu->id);
	cpu->id = state->id;
	cpu->loaded = control->regs.global_ctrl;
}

static noinline void clear_evntsels(struct pmc_cpu *cpu, const struct perfctr_cpu_state *state)
{
	const struct vperfctr_page *page = state->page;
	unsigned int i;

	for (i = 0; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++)
		write_evntsel(cpu, page->ctr[i].map, 0);
	cpu->id = 0;	/* they are to be loaded again */
}

/* Make the counters stand still, for nobody else to be counted by them. */
static __always_inline void stop_counters(struct pmc_cpu *cpu,
					  const struct perfctr_cpu_state *state)
{
	if (likely(pmu->global_ctrl))
		write_global_ctrl(cpu, 0);
	else
		clear_evntsels(cpu, state);
}

/* ---- i-mode ------------------------------------------------------------- */

static bool has_ictrs(const struct perfctr_cpu_state *state)
{
	return state->cstatus & VPERFCTR_CSTATUS_ICTRS;
}

/* From here on an NMI leaves the counters to us. */
static void disarm(struct pmc_cpu *cpu)
{
	WRITE_ONCE(cpu->armed, NULL);
	barrier();
}

static __always_inline bool has_overflowed(u32 map, u64 now)
{
	return !(now & sign_of(map));
}

/* Has one in i-mode?  PRE: there are some. */
static __always_inline bool find_overflow(const struct perfctr_cpu_state *state)
{
	const struct vperfctr_page_ctr *ctr = state->page->ctr, *end = ctr;

	end += VPERFCTR_CSTATUS_NRCTRS(state->cstatus);
	ctr += VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	do {
		if (has_overflowed(ctr->map, perfctr_rdpmc(ctr->map)))
			return true;
	} while (++ctr < end);
	return false;
}

/* The counters stand; what IA32_PERF_GLOBAL_STATUS has of their overflow is known. */
static __always_inline void clear_status(const struct perfctr_cpu_state *state)
{
	if (pmu->global_ctrl)
		perfctr_wrmsr(pmu->global_clear, state->control.regs.global_ctrl);
}

/* There is an overflow to be taken. */
static __always_inline void stop_overflowed(struct pmc_cpu *cpu,
					    const struct perfctr_cpu_state *state)
{
	disarm(cpu);
	stop_counters(cpu, state);
	clear_status(state);
	cpu->cleared = true;
}

/*
 * Let an NMI stop the counters.  What overflowed while that was not allowed may
 * have had its NMI, in vain; it is seen here, and the counters are not to start.
 */
static bool arm(struct pmc_cpu *cpu, struct perfctr_cpu_state *state)
{
	WRITE_ONCE(cpu->armed, state);
	barrier();
	if (likely(!find_overflow(state)))
		return true;
	stop_overflowed(cpu, state);
	perfctr_overflowed(state, NULL);
	return false;
}

struct perfctr_cpu_state *perfctr_x86_pmc_overflow(void)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	struct perfctr_cpu_state *running = READ_ONCE(cpu->running);

	if (!running || !has_ictrs(running) || !find_overflow(running))
		return NULL;
	if (!READ_ONCE(cpu->armed))
		return ERR_PTR(-EBUSY);
	/* Ahead of the unmasking of LVTPC. */
	stop_overflowed(cpu, running);
	return running;
}

/* Counters whose overflow makes an interrupt, as bits of the global registers. */
static u64 find_interrupting(const struct pmc_cpu *cpu)
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
	return bits;
}

/*
 * Others set all of the global control register, whosever it is: KVM, as the first
 * virtual machine begins on AMD's PerfMonV2 or the last one ends, and BPF programs that
 * take a snapshot of branches.  Then what a thread left here that is off its CPU goes
 * on, and may overflow, until the next resume puts that right: it takes no counter for
 * what it was left at.
 */
bool perfctr_x86_pmc_end_stray(void)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	u64 mine = READ_ONCE(cpu->global_ctrl), status;

	if (!pmu->global_ctrl || !READ_ONCE(cpu->ready) ||
	    perfctr_rdmsr_safe(pmu->global_status, &status))
		return false;
	status &= find_interrupting(cpu) & ~mine;
	if (!status)
		return false;
	perfctr_wrmsr(pmu->global_ctrl, mine);
	perfctr_x86_pmi_expect();	/* another's, which this ends as well */
	perfctr_wrmsr(pmu->global_clear, status);
	return true;
}

/* The part of suspend that i-mode counters need more: they stand already. */
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
			/* Not before this resume, perhaps on another CPU? */
			here |= !has_overflowed(ctr->map, ctr->start);
		}
		ctr->sum += (now - ctr->start) & page->mask;
		ctr->start = now;
	}
	if (here)
		perfctr_x86_pmi_expect();
	if (overflow && !cpu->cleared)
		clear_status(state);
	cpu->cleared = false;
}

static bool is_at_start(const struct vperfctr_page_ctr *ctr)
{
	return !((perfctr_rdpmc(ctr->map) ^ ctr->start) & counter_mask(ctr->map));
}

/* Is all of it there, in counters that nobody has touched? */
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
 * Likewise for resume, ahead of everything else: the counters must stand while
 * they are loaded, and what others left in them, running or in their status, is
 * not to be taken for ours.  Whether they stand is not only for us to know: see
 * perfctr_x86_pmc_end_stray().  True if one has overflowed already: then there is
 * nothing to start.
 */
static bool resume_ictrs(struct pmc_cpu *cpu, const struct perfctr_cpu_state *state)
{
	const struct vperfctr_page *page = state->page;
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	bool loaded = are_loaded(cpu, state);
	bool overflow = false;

	if (pmu->global_ctrl && !loaded) {
		WRITE_ONCE(cpu->global_ctrl, 0);
		perfctr_wrmsr(pmu->global_ctrl, 0);
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

/* ---- suspend, resume, sample -------------------------------------------- */

/*
 * What nearly all switches are of: a-mode counters only, that one register starts
 * and stops.  Everything else is out of line, and called last, in the place of
 * what it is not, so that no register need be saved for it.
 */
static __always_inline bool is_simple(u32 cstatus)
{
	return !(cstatus & VPERFCTR_CSTATUS_ICTRS) && VPERFCTR_CSTATUS_NRACTRS(cstatus) &&
	       pmu->global_ctrl;
}

/* Somebody could see what the counters hold. */
static noinline void clear_used(const struct perfctr_cpu_state *state)
{
	unsigned int i;

	for (i = 0; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++)
		clear_counter(state->page->ctr[i].map);
}

/* The counters stand, or may as well go on. */
static __always_inline void suspend(struct pmc_cpu *cpu, struct perfctr_cpu_state *state,
				    u32 cstatus, bool ictrs)
{
	struct vperfctr_page *page = state->page;
	unsigned int i, nractrs = VPERFCTR_CSTATUS_NRACTRS(cstatus);

	perfctr_page_begin(page);
	if (cstatus & VPERFCTR_CSTATUS_TSC)
		page->tsc_sum += perfctr_rdtsc() - page->tsc_start;
	for (i = 0; i < nractrs; i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];

		ctr->sum += (perfctr_rdpmc(ctr->map) - ctr->start) & page->mask;
		ctr->start = 0;	/* it tells what the counter held for others before */
	}
	if (ictrs)
		suspend_ictrs(cpu, state);
	perfctr_page_end(page);
	WRITE_ONCE(cpu->running, NULL);
	if (perfctr_isolate && unlikely(perfctr_x86_watched()))
		clear_used(state);
}

static noinline void suspend_other(struct perfctr_cpu_state *state)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	bool ictrs = has_ictrs(state);

	if (!VPERFCTR_CSTATUS_NRCTRS(state->cstatus)) {
		perfctr_generic_suspend(state);
		return;
	}
	if (ictrs)
		disarm(cpu);
	if (perfctr_isolate || ictrs)
		stop_counters(cpu, state);
	suspend(cpu, state, state->cstatus, ictrs);
}

void perfctr_x86_pmc_suspend(struct perfctr_cpu_state *state)
{
	u32 cstatus = state->cstatus;
	struct pmc_cpu *cpu;

	if (unlikely(!is_simple(cstatus))) {
		suspend_other(state);
		return;
	}
	cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	if (perfctr_isolate)
		write_global_ctrl(cpu, 0);
	suspend(cpu, state, cstatus, false);
}

static __always_inline void resume(struct pmc_cpu *cpu, struct perfctr_cpu_state *state,
				   u32 cstatus, bool tsc_runs)
{
	struct vperfctr_page *page = state->page;
	unsigned int i, nractrs = VPERFCTR_CSTATUS_NRACTRS(cstatus);

	WRITE_ONCE(cpu->running, state);
	perfctr_page_begin(page);
	page->cstatus = cstatus;
	if (!tsc_runs)
		page->tsc_start = perfctr_rdtsc();
	for (i = 0; i < nractrs; i++)
		page->ctr[i].start = perfctr_rdpmc(page->ctr[i].map);
	perfctr_page_end(page);
}

static __always_inline void start_counters(struct pmc_cpu *cpu,
					   const struct perfctr_cpu_state *state)
{
	u64 global_ctrl = state->control.regs.global_ctrl;

	/* Without isolation others' counters may as well go on. */
	if (!perfctr_isolate)
		global_ctrl |= cpu->global_ctrl;
	write_global_ctrl(cpu, global_ctrl);
}

/* What the page is to say while they run. */
static __always_inline u32 running_cstatus(u32 cstatus)
{
	return cstatus | VPERFCTR_CSTATUS_RUNNING |
	       (perfctr_user_rdpmc() ? VPERFCTR_CSTATUS_RDPMC : 0);
}

static noinline void resume_other(struct perfctr_cpu_state *state, bool tsc_runs)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	u32 cstatus = running_cstatus(state->cstatus);
	bool ictrs = has_ictrs(state);
	bool overflow = false;

	if (!VPERFCTR_CSTATUS_NRCTRS(cstatus)) {
		perfctr_generic_resume(state);
		return;
	}
	if (cstatus & VPERFCTR_CSTATUS_RDPMC)
		perfctr_x86_saw_rdpmc();
	if (ictrs)
		overflow = resume_ictrs(cpu, state);
	/* What no one register starts counts from here on, and may overflow at once. */
	WRITE_ONCE(cpu->running, state);
	barrier();
	if (overflow && !pmu->global_ctrl)
		clear_evntsels(cpu, state);	/* another's may have been left running */
	else if (!overflow && cpu->id != state->id)
		write_control(cpu, state);
	resume(cpu, state, cstatus, tsc_runs);
	if (ictrs && pmu->global_ctrl && !overflow)
		WRITE_ONCE(cpu->armed, state);	/* they have stood since they were loaded */
	else if (ictrs && !arm(cpu, state))
		return;
	if (pmu->global_ctrl)
		start_counters(cpu, state);
}

void perfctr_x86_pmc_resume(struct perfctr_cpu_state *state)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	u32 cstatus = state->cstatus;

	if (unlikely(!is_simple(cstatus) || cpu->id != state->id)) {
		resume_other(state, false);
		return;
	}
	cstatus = running_cstatus(cstatus);
	resume(cpu, state, cstatus, false);
	start_counters(cpu, state);
	if (cstatus & VPERFCTR_CSTATUS_RDPMC)
		perfctr_x86_saw_rdpmc();
}

static __always_inline void sample_tsc(const struct perfctr_cpu_state *state)
{
	struct vperfctr_page *page = state->page;
	u64 now = perfctr_rdtsc();

	if (state->cstatus & VPERFCTR_CSTATUS_TSC)
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
	sample_tsc(state);
	for (i = 0; i < nrctrs; i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];

		now = perfctr_rdpmc(ctr->map);
		/*
		 * Its NMI is to come, perhaps after the overflow was taken, which would
		 * take it for one from before this sample.
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

/* ---- taking an overflow -------------------------------------------------- */

/*
 * What a suspend and a resume would do here can be done with less, if the
 * registers are the state's (it may have come from another CPU with an overflow
 * that nobody has taken) and one of them starts and stops all.  Who reported the
 * overflow has cleared its status.
 */
struct perfctr_overflow perfctr_x86_pmc_take_overflow(struct perfctr_cpu_state *state, bool hold,
						      unsigned int shift)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	struct vperfctr_page *page = state->page;
	struct perfctr_overflow overflow = { };
	u32 cstatus = state->cstatus;
	unsigned int i;

	if (unlikely(!pmu->global_ctrl || cpu->id != state->id))
		return perfctr_generic_take_overflow(state, hold, shift);

	disarm(cpu);
	write_global_ctrl(cpu, 0);
	perfctr_x86_pmi_expect();	/* before there is nothing to be found any more */
	perfctr_page_begin(page);
	sample_tsc(state);
	for (i = VPERFCTR_CSTATUS_NRACTRS(cstatus); i < VPERFCTR_CSTATUS_NRCTRS(cstatus); i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];
		u64 now = perfctr_rdpmc(ctr->map);

		ctr->sum += (now - ctr->start) & page->mask;
		ctr->start = now;
		if (!has_overflowed(ctr->map, now))
			continue;
		ctr->start = perfctr_reset_ictr(state, i, shift, &overflow);
		if (!hold)
			write_counter(ctr->map, ctr->start);
	}
	hold = hold && overflow.ctrs;
	cpu->cleared = false;	/* they are about to start, or have no status */
	for (i = 0; i < VPERFCTR_CSTATUS_NRACTRS(cstatus); i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];
		u64 now = perfctr_rdpmc(ctr->map);

		ctr->sum += (now - ctr->start) & page->mask;
		ctr->start = hold ? 0 : now;
	}
	perfctr_page_end(page);
	if (hold) {
		if (perfctr_isolate && unlikely(perfctr_x86_watched()))
			clear_used(state);
		state->cstatus &= VPERFCTR_CSTATUS_TSC;
	}
	return overflow;
}

void perfctr_x86_pmc_restart(struct perfctr_cpu_state *state)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	struct vperfctr_page *page = state->page;

	if (unlikely(cpu->running != state)) {
		perfctr_x86_pmc_resume(state);	/* it was suspended */
	} else if (has_ictrs(state)) {
		WRITE_ONCE(cpu->armed, state);	/* they have stood since they were loaded */
		start_counters(cpu, state);
	} else {
		WRITE_ONCE(cpu->running, NULL);
		perfctr_page_begin(page);
		page->cstatus = state->cstatus | VPERFCTR_CSTATUS_RUNNING;
		perfctr_page_end(page);
	}
}

void perfctr_x86_pmc_iresume(struct perfctr_cpu_state *state)
{
	state->cstatus = perfctr_make_cstatus(&state->control);
	resume_other(state, true);
}
