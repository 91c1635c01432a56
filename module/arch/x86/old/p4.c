// SPDX-License-Identifier: GPL-2.0
/*
 * Pentium 4 and the Xeons of its time, on 32- and 64-bit kernels.
 *
 * There are 18 counters.  A counter has a CCCR, which starts and stops it, and selects one of
 * a few ESCRs, which selects the event and the modes.  Counters share ESCRs.  No register
 * stops all counters.  p4-control.c checks that a control's counters fit together.
 *
 * With isolation, a suspend writes 0 to the CCCRs of the thread's counters, and a resume writes
 * their values.  Without isolation, a-mode counters keep running.  ESCRs are written if the
 * CPU holds another control, while the counters are stopped.
 *
 * A counter is written only while its CCCR is 0, or the write may change it by more than its
 * value (erratum N15 of the Pentium 4's specification update, O8 of the Xeon's).
 *
 * The interrupt is requested for as long as the overflow bit of a CCCR is set.  Writing 0 to
 * the CCCR clears the bit, and that must come before LVTPC is unmasked.
 *
 * The two threads of a core share all this.  The module counts on the first one only, and the
 * CPUs of the others are forbidden.  Counters count the first thread's events by the T0 bits
 * of an ESCR.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <asm/nmi.h>

#include "regs.h"
#include "rdpmc.h"
#include "x86.h"
#include "p4.h"

#define COUNTER_MASK	0xffffffffffULL		/* 40 bits */
#define SIGN		BIT_ULL(31)		/* of the 32 bits that are used */

DEFINE_PER_CPU_ALIGNED(struct p4_cpu, perfctr_x86_p4_cpu);

/* ---- registers ---------------------------------------------------------- */

static void write_cccr(struct p4_cpu *cpu, unsigned int i, u32 value)
{
	if (cpu->cccr[i] == value)
		return;
	WRITE_ONCE(cpu->cccr[i], value);
	perfctr_wrmsr(P4_MSR_CCCR0 + i, value);
}

/* Context: CCCR 0. */
static void write_counter(u32 map, u64 value)
{
	perfctr_wrmsr(P4_MSR_COUNTER0 + p4_counter(map), value & COUNTER_MASK);
}

static u64 read_counter(u32 map)
{
	return perfctr_rdpmc(p4_counter(map));
}

static u32 read_low(u32 map)
{
	return (u32)perfctr_rdpmc(p4_counter(map) | P4_FAST);
}

static void stop_counters(struct p4_cpu *cpu, const struct perfctr_cpu_state *state)
{
	unsigned int i;

	for (i = 0; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++)
		write_cccr(cpu, p4_counter(state->page->ctr[i].map), 0);
}

/*
 * Return the CCCR of a state's counter while it runs.  A cascaded counter that has started
 * counts from the first instruction after each resume.
 *
 * Overflows are forced only if one event is left, as the control asks for.  If the service has
 * made the period longer, each event would interrupt, and that interrupt would find no
 * overflow.
 */
static u32 cccr_of(struct perfctr_cpu_state *state, unsigned int i)
{
	u32 cccr = (u32)state->control.ctr[i].evntsel;

	if (i < state->control.nractrs)
		return *perfctr_ishift(state, i) ? cccr | P4_CCCR_ENABLE : cccr;
	if (~state->page->ctr[i].start & COUNTER_MASK)
		cccr &= ~P4_CCCR_FORCE_OVF;
	return cccr | P4_CCCR_PMI;
}

static void start_counters(struct p4_cpu *cpu, struct perfctr_cpu_state *state)
{
	unsigned int i;

	for (i = 0; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++)
		write_cccr(cpu, p4_counter(state->page->ctr[i].map), cccr_of(state, i));
}

/*
 * Load what the state's counters select.  They are stopped first: without isolation they may
 * run for other threads.
 */
static noinline void load_control(struct p4_cpu *cpu, const struct perfctr_cpu_state *state)
{
	const struct perfctr_cpu_control *control = &state->control;
	unsigned int i;

	stop_counters(cpu, state);
	for (i = 0; i < perfctr_nrctrs(control); i++) {
		const struct vperfctr_ctr *ctr = &control->ctr[i];
		unsigned int escr = perfctr_p4_escr(p4_counter(ctr->map), ctr->evntsel);

		if (cpu->escr[escr] == (u32)ctr->aux)
			continue;
		cpu->escr[escr] = (u32)ctr->aux;
		perfctr_wrmsr(P4_MSR_ESCR0 + escr, ctr->aux);
	}
	for (i = 0; i < 2; i++) {
		if (cpu->global[i] == (u32)control->global[i])
			continue;
		cpu->global[i] = (u32)control->global[i];
		perfctr_wrmsr(P4_MSR_GLOBAL0 + i, control->global[i]);
	}
	cpu->id = state->id;
}

/* ---- i-mode ------------------------------------------------------------- */

static bool has_ictrs(const struct perfctr_cpu_state *state)
{
	return state->cstatus & VPERFCTR_CSTATUS_ICTRS;
}

static bool has_overflowed(u64 now)
{
	return !(now & SIGN);
}

/* Keep the NMI handler from stopping the counters, from here on. */
static void disarm(struct p4_cpu *cpu)
{
	WRITE_ONCE(cpu->armed, NULL);
	barrier();
}

static bool any_ictr_overflowed(const struct perfctr_cpu_state *state)
{
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);

	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		if (has_overflowed(read_low(state->page->ctr[i].map)))
			return true;
	}
	return false;
}

/*
 * Let the NMI handler stop the counters.  The NMI of an earlier overflow may have arrived
 * already, and had no effect.  So look for overflows, and report one here.
 */
static void arm(struct p4_cpu *cpu, struct perfctr_cpu_state *state)
{
	WRITE_ONCE(cpu->armed, state);
	barrier();
	if (likely(!any_ictr_overflowed(state)))
		return;
	disarm(cpu);
	stop_counters(cpu, state);
	perfctr_overflowed(state, NULL);
}

/*
 * Stop the i-mode counters that have overflowed, so that they request no interrupt.  The
 * interrupted code may be about to write a CCCR that it has cached already.  So the cache
 * keeps the values, and that code stops the counters when it finds the overflow.
 */
static void clear_overflows(const struct perfctr_cpu_state *state)
{
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);

	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		u32 map = state->page->ctr[i].map;

		if (has_overflowed(read_low(map)))
			perfctr_wrmsr(P4_MSR_CCCR0 + p4_counter(map), 0);
	}
}

/* An armed state is the running one, and has i-mode counters. */
static struct perfctr_cpu_state *p4_overflow(void)
{
	struct p4_cpu *cpu = this_cpu_ptr(&perfctr_x86_p4_cpu);
	struct perfctr_cpu_state *state = READ_ONCE(cpu->armed);

	if (state) {
		if (!any_ictr_overflowed(state))
			return NULL;
		disarm(cpu);
		stop_counters(cpu, state);
		return state;
	}
	state = READ_ONCE(cpu->running);
	if (!state || !has_ictrs(state) || !any_ictr_overflowed(state))
		return NULL;
	clear_overflows(state);
	return ERR_PTR(-EBUSY);
}

static u32 p4_updates(void)
{
	struct p4_cpu *cpu = this_cpu_ptr(&perfctr_x86_p4_cpu);
	const struct perfctr_cpu_state *state = READ_ONCE(cpu->running);

	return state ? READ_ONCE(state->page->samplecount) : 0;
}

/*
 * Copy what is known of cascaded counters between a joint state and its parts, which come and go.
 * Its a-mode counters are those of the parts, in their order.
 */
static noinline void copy_cascades(struct perfctr_cpu_state *state, bool to_parts)
{
	struct perfctr_cpu_state *const *part;
	unsigned int i, p, n, actr = 0;

	n = perfctr_find_the_parts ? perfctr_find_the_parts(state, &part) : 0;
	for (p = 0; p < n; p++) {
		for (i = 0; i < VPERFCTR_CSTATUS_NRACTRS(part[p]->cstatus); i++, actr++) {
			if (to_parts)
				*perfctr_ishift(part[p], i) = *perfctr_ishift(state, actr);
			else
				*perfctr_ishift(state, actr) = *perfctr_ishift(part[p], i);
		}
	}
}

/*
 * Record the cascaded counters that the processor has started: it does not do it again.  In
 * a state, these are a-mode counters, for which perfctr_ishift() has no other use.
 */
static noinline void note_cascades(struct perfctr_cpu_state *state, u32 overflowed)
{
	unsigned int i;

	for (i = 0; i < state->control.nractrs; i++) {
		const struct vperfctr_ctr *ctr = &state->control.ctr[i];

		if ((state->control.regs.extra_used & BIT(i)) &&
		    (perfctr_p4_initiators(p4_counter(ctr->map), ctr->evntsel) & overflowed))
			*perfctr_ishift(state, i) = 1;
	}
	copy_cascades(state, true);
}

/* Update i-mode counters at suspend.  They are already stopped. */
static void suspend_ictrs(struct perfctr_cpu_state *state)
{
	struct vperfctr_page *page = state->page;
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	u32 overflowed = 0;
	bool here = false;

	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];
		u64 now = read_counter(ctr->map);

		if (has_overflowed(now)) {
			overflowed |= BIT(p4_counter(ctr->map));
			/* False if it overflowed before this resume, perhaps on another CPU. */
			here |= !has_overflowed(ctr->start);
		}
		ctr->sum += (now - ctr->start) & page->mask;
		ctr->start = now;
	}
	if (here)
		perfctr_x86_pmi_expect();
	if (unlikely(overflowed && state->control.regs.extra_used))
		note_cascades(state, overflowed);
}

/*
 * Load i-mode counters, which are stopped, as the first step of resume.
 *
 * Return: true if a counter has already overflowed; then none must be started.
 */
static bool load_ictrs(const struct perfctr_cpu_state *state)
{
	const struct vperfctr_page *page = state->page;
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	bool overflow = false;

	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		const struct vperfctr_page_ctr *ctr = &page->ctr[i];

		if ((read_counter(ctr->map) ^ ctr->start) & COUNTER_MASK)
			write_counter(ctr->map, ctr->start);
		overflow |= has_overflowed(ctr->start);
	}
	return overflow;
}

/* ---- suspend, resume, sample -------------------------------------------- */

/* Clear the state's counters, as another process could see what they hold. */
static void clear_used(const struct perfctr_cpu_state *state)
{
	unsigned int i;

	for (i = 0; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++)
		write_counter(state->page->ctr[i].map, 0);
}

static void p4_suspend(struct perfctr_cpu_state *state)
{
	struct p4_cpu *cpu = this_cpu_ptr(&perfctr_x86_p4_cpu);
	struct vperfctr_page *page = state->page;
	bool ictrs = has_ictrs(state);
	unsigned int i;

	if (!VPERFCTR_CSTATUS_NRCTRS(state->cstatus)) {
		perfctr_generic_suspend(state);
		return;
	}
	if (ictrs)
		disarm(cpu);
	if (perfctr_isolate || ictrs)
		stop_counters(cpu, state);
	perfctr_page_begin(page);
	if (state->cstatus & VPERFCTR_CSTATUS_TSC)
		page->tsc_sum += perfctr_rdtsc() - page->tsc_start;
	for (i = 0; i < VPERFCTR_CSTATUS_NRACTRS(state->cstatus); i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];

		ctr->sum += (read_low(ctr->map) - ctr->start) & page->mask;
		ctr->start = 0;	/* the old value shows counts of other threads */
	}
	if (ictrs)
		suspend_ictrs(state);
	perfctr_page_end(page);
	WRITE_ONCE(cpu->running, NULL);
	if (perfctr_isolate && unlikely(perfctr_x86_watched()))
		clear_used(state);
}

/*
 * Mark this prepared CPU as one that holds counters.
 *
 * Return: false if it has failed: an NMI may have halted it, and cleared `holds`.
 */
static bool begin_holding(struct p4_cpu *cpu)
{
	WRITE_ONCE(cpu->holds, true);
	if (perfctr_x86_mark_holder())
		return true;
	WRITE_ONCE(cpu->holds, false);
	return false;
}

/*
 * Resume a state without counters, or prepare this CPU for its first state with counters.
 * If the CPU cannot count, refuse the state.
 *
 * Return: true if the counters must be resumed.
 */
static noinline bool may_use_counters(struct p4_cpu *cpu, struct perfctr_cpu_state *state)
{
	if (!VPERFCTR_CSTATUS_NRCTRS(state->cstatus)) {
		perfctr_generic_resume(state);
		return false;
	}
	if (!perfctr_prepare_here() && begin_holding(cpu))
		return true;
	perfctr_refused(state);
	return false;
}

static void p4_resume(struct perfctr_cpu_state *state)
{
	struct p4_cpu *cpu = this_cpu_ptr(&perfctr_x86_p4_cpu);
	struct vperfctr_page *page = state->page;
	bool ictrs = has_ictrs(state), overflow = false;
	u32 cstatus = state->cstatus | VPERFCTR_CSTATUS_RUNNING |
		      (perfctr_user_rdpmc() ? VPERFCTR_CSTATUS_RDPMC : 0);
	unsigned int i;

	if (unlikely(!VPERFCTR_CSTATUS_NRCTRS(cstatus) || !cpu->holds) &&
	    !may_use_counters(cpu, state))
		return;
	if (cstatus & VPERFCTR_CSTATUS_RDPMC)
		perfctr_x86_saw_rdpmc();
	if (cpu->id != state->id)
		load_control(cpu, state);
	if (ictrs)
		overflow = load_ictrs(state);
	/* The counters may overflow as soon as their CCCRs are written. */
	WRITE_ONCE(cpu->running, state);
	barrier();
	perfctr_page_begin(page);
	page->cstatus = cstatus;
	page->tsc_start = perfctr_rdtsc();
	for (i = 0; i < VPERFCTR_CSTATUS_NRACTRS(cstatus); i++)
		page->ctr[i].start = read_low(page->ctr[i].map);
	perfctr_page_end(page);
	if (unlikely(state->control.regs.extra_used))
		copy_cascades(state, false);
	if (likely(!overflow))
		start_counters(cpu, state);
	if (ictrs)
		arm(cpu, state);
}

static void p4_sample(struct perfctr_cpu_state *state)
{
	struct p4_cpu *cpu = this_cpu_ptr(&perfctr_x86_p4_cpu);
	struct vperfctr_page *page = state->page;
	unsigned int i, nractrs = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	bool ictrs = has_ictrs(state);
	u64 now = perfctr_rdtsc();

	if (ictrs)
		disarm(cpu);
	perfctr_page_begin(page);
	if (state->cstatus & VPERFCTR_CSTATUS_TSC)
		page->tsc_sum += now - page->tsc_start;
	page->tsc_start = now;
	for (i = 0; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];

		now = i < nractrs ? read_low(ctr->map) : read_counter(ctr->map);
		/*
		 * The NMI of this overflow may arrive after the overflow was handled.  The
		 * next suspend would not expect it, as `start` makes the overflow look older.
		 */
		if (i >= nractrs && has_overflowed(now) && !has_overflowed(ctr->start))
			perfctr_x86_pmi_expect();
		ctr->sum += (now - ctr->start) & page->mask;
		ctr->start = now;
	}
	perfctr_page_end(page);
	if (ictrs)
		arm(cpu, state);
}

/* ---- reservation -------------------------------------------------------- */

/*
 * perf reserves all counters at its first hardware event, and so did OProfile and the old NMI
 * watchdog.  The kernel's reservation does not know the CCCRs: it grants them to everyone.
 * So the owner of all counters owns the whole unit.
 */
static int p4_reserve(void)
{
	unsigned int i;

	for (i = 0; i < P4_NR_COUNTERS; i++) {
		if (!reserve_perfctr_nmi(P4_MSR_COUNTER0 + i))
			goto fail;
	}
	return 0;
fail:
	while (i--)
		release_perfctr_nmi(P4_MSR_COUNTER0 + i);
	return -EBUSY;
}

static void p4_release(void)
{
	unsigned int i;

	for (i = 0; i < P4_NR_COUNTERS; i++)
		release_perfctr_nmi(P4_MSR_COUNTER0 + i);
}

/* ---- on each CPU ------------------------------------------------------- */

/* Stop and clear everything, whatever the registers hold, also perf's replay tagging. */
static void clear_registers(struct p4_cpu *cpu)
{
	unsigned int i;

	for (i = 0; i < P4_NR_COUNTERS; i++)
		perfctr_wrmsr(P4_MSR_CCCR0 + i, 0);
	for (i = 0; i < P4_NR_COUNTERS; i++)
		write_counter(i, 0);
	for (i = 0; i < 2; i++)
		perfctr_wrmsr(P4_MSR_GLOBAL0 + i, 0);
	cpu->id = 0;
	WRITE_ONCE(cpu->armed, NULL);
	WRITE_ONCE(cpu->running, NULL);
	memset(cpu->cccr, 0, sizeof(cpu->cccr));
	memset(cpu->global, 0, sizeof(cpu->global));
}

/* Cache the values of the ESCRs, which count nothing while no CCCR is enabled. */
static void read_escrs(struct p4_cpu *cpu)
{
	unsigned int i;
	u64 value;

	for (i = 0; i < P4_NR_ESCRS; i++) {
		if (perfctr_rdmsr_safe(P4_MSR_ESCR0 + i, &value))
			value = 0;	/* the register does not exist */
		cpu->escr[i] = (u32)value;
	}
}

/* True if all counters are zero, as we leave them.  perf does not clear its counters. */
static bool are_zero(void)
{
	unsigned int i;
	u64 now;

	for (i = 0; i < P4_NR_COUNTERS; i++) {
		if (perfctr_rdpmc_safe(i, &now) || now)
			return false;
	}
	return true;
}

/*
 * Warn if a counter is enabled.  perf disables its counters when it stops counting, so this
 * is firmware, a hypervisor, or a program that writes MSRs.  It may do so again.
 */
static void warn_of_others(void)
{
	unsigned int i;
	u64 cccr;

	for (i = 0; i < P4_NR_COUNTERS; i++) {
		if (!perfctr_rdmsr_safe(P4_MSR_CCCR0 + i, &cccr) && (cccr & P4_CCCR_ENABLE)) {
			pr_warn_once("CPU %u: counter %u was counting for firmware or another program (CCCR %#llx); counts may be wrong if that continues\n",
				     smp_processor_id(), i, cccr);
			return;
		}
	}
}

static int p4_cpu_start(bool test)
{
	struct p4_cpu *cpu = this_cpu_ptr(&perfctr_x86_p4_cpu);
	int err = 0;

	if (test)
		warn_of_others();
	if (!are_zero())
		perfctr_x86_pce_suspect();
	if (test)
		err = perfctr_p4_selftest();
	if (err)
		return err;
	clear_registers(cpu);
	read_escrs(cpu);
	WRITE_ONCE(cpu->prepared, true);
	return 0;
}

static void p4_cpu_stop(void)
{
	struct p4_cpu *cpu = this_cpu_ptr(&perfctr_x86_p4_cpu);

	WRITE_ONCE(cpu->prepared, false);
	WRITE_ONCE(cpu->holds, false);
	clear_registers(cpu);
	perfctr_x86_unmark_holder();
}

static void p4_cpu_forget(void)
{
	struct p4_cpu *cpu = this_cpu_ptr(&perfctr_x86_p4_cpu);

	clear_registers(cpu);
	read_escrs(cpu);
}

/* The interrupted code may be using these registers.  It starts no counter after this. */
static void p4_cpu_halt(void)
{
	struct p4_cpu *cpu = this_cpu_ptr(&perfctr_x86_p4_cpu);
	unsigned int i;

	WRITE_ONCE(cpu->holds, false);
	WRITE_ONCE(cpu->id, 0);
	WRITE_ONCE(cpu->armed, NULL);
	WRITE_ONCE(cpu->running, NULL);
	for (i = 0; i < P4_NR_COUNTERS; i++) {
		WRITE_ONCE(cpu->cccr[i], 0);
		perfctr_wrmsr(P4_MSR_CCCR0 + i, 0);
	}
}

static void p4_cpu_scrub(void)
{
	struct p4_cpu *cpu = this_cpu_ptr(&perfctr_x86_p4_cpu);
	struct perfctr_cpu_state *state = cpu->running;
	unsigned int i;

	if (!cpu->holds)
		return;
	/* The running state may count from a value that another thread left. */
	if (state)
		p4_suspend(state);
	for (i = 0; i < P4_NR_COUNTERS; i++) {
		write_cccr(cpu, i, 0);
		if (read_counter(i))
			write_counter(i, 0);
	}
	/* The next resume marks this CPU again. */
	WRITE_ONCE(cpu->holds, false);
	perfctr_x86_unmark_holder();
	if (!state)
		return;
	p4_resume(state);
	perfctr_tell_restarted(state);
}

const struct perfctr_driver perfctr_x86_p4 = {
	.probe		= perfctr_p4_probe,
	.check_control	= perfctr_p4_check_control,
	.ops = {
		.suspend	= p4_suspend,
		.resume		= p4_resume,
		.sample		= p4_sample,
	},
	.is_usable	= perfctr_p4_is_usable,
	.perf_reserves	= true,
	.reserve	= p4_reserve,
	.release	= p4_release,
	.overflow	= p4_overflow,
	.updates	= p4_updates,
	.cpu_start	= p4_cpu_start,
	.cpu_stop	= p4_cpu_stop,
	.cpu_forget	= p4_cpu_forget,
	.cpu_halt	= p4_cpu_halt,
	.cpu_quiet	= p4_cpu_halt,
	.cpu_scrub	= p4_cpu_scrub,
};
