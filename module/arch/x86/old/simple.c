// SPDX-License-Identifier: GPL-2.0
/*
 * Suspend, resume and sample for drivers of old processors, and the overflows of those
 * with an interrupt.  These processors are slow and few: short code matters more here
 * than a short path.  So each resume loads the values of i-mode counters, and an overflow
 * is handled by a suspend and a resume.
 *
 * A CPU remembers the image of its control registers: see simple.h.  With isolation, or an
 * i-mode counter, each suspend stops the counters.
 *
 * Counters that nothing can stop are never loaded.  They count for every thread, and only
 * differences are used.  With isolation, user mode may not read them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/smp.h>

#include "regs.h"
#include "rdpmc.h"
#include "simple.h"

/* The bits of VPERFCTR_CSTATUS_NRCTRS(): one test also finds a control without counters. */
#define READY		0xff
/* None of them: the next resume must mark its CPU. */
#define PREPARED	BIT(16)

#define MAX_COUNTERS	2

/* perfctr_pass_time() executes more instructions than this, and takes more cycles. */
#define MIN_EVENTS	100

/* perf loads no value of which one event is left: see pmc-control.c. */
#define MIN_PERIOD	2

struct perfctr_x86_simple perfctr_x86_simple __ro_after_init;

static const struct perfctr_x86_simple *const simple = &perfctr_x86_simple;

DEFINE_PER_CPU_ALIGNED(struct perfctr_x86_simple_cpu, perfctr_x86_simple_cpu);

/* ---- registers ------------------------------------------------------------ */

static bool can_stop(void)
{
	return simple->keep != ~0ULL;
}

static void write_image(struct perfctr_x86_simple_cpu *cpu, u64 image)
{
	u64 old = cpu->image;

	if (image == old)
		return;
	WRITE_ONCE(cpu->image, image);
	simple->write(image, old);
}

static void stop_counters(struct perfctr_x86_simple_cpu *cpu)
{
	write_image(cpu, cpu->image & simple->keep);
}

static u64 read_counter(u32 map)
{
	u64 value = 0;

	if (likely(!simple->no_rdpmc))
		return perfctr_rdpmc(map);
	perfctr_rdmsr_safe(simple->pmc0 + map, &value);
	return value;
}

static u64 counter_mask(void)
{
	return simple->sign * 2 - 1;
}

/* The value is zero, or at most max_period below an overflow: others may not fit. */
static void write_counter(u32 map, u64 value)
{
	perfctr_wrmsr(simple->pmc0 + map, value & counter_mask());
}

static bool exists(u32 map)
{
	return perfctr_cpu_info.pmc_mask & BIT_ULL(map);
}

static void clear_counters(void)
{
	u32 map;

	for (map = 0; can_stop() && map < MAX_COUNTERS; map++) {
		if (exists(map))
			write_counter(map, 0);
	}
}

/* ---- i-mode --------------------------------------------------------------- */

static bool has_ictrs(const struct perfctr_cpu_state *state)
{
	return state->cstatus & VPERFCTR_CSTATUS_ICTRS;
}

/* Keep the NMI handler from stopping the counters, from here on. */
static void disarm(struct perfctr_x86_simple_cpu *cpu)
{
	WRITE_ONCE(cpu->armed, NULL);
	barrier();
}

static bool has_overflowed(u64 now)
{
	return !(now & simple->sign);
}

static bool any_ictr_overflowed(const struct perfctr_cpu_state *state)
{
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);

	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		if (has_overflowed(read_counter(state->page->ctr[i].map)))
			return true;
	}
	return false;
}

static void stop_overflowed(struct perfctr_x86_simple_cpu *cpu)
{
	disarm(cpu);
	stop_counters(cpu);
}

/*
 * Let the NMI handler stop the counters.  The NMI of an earlier overflow may have arrived
 * already, and had no effect.  So look for overflows, and report one here.
 *
 * Return: false if there was one; then the counters must not be started.
 */
static bool arm(struct perfctr_x86_simple_cpu *cpu, struct perfctr_cpu_state *state)
{
	WRITE_ONCE(cpu->armed, state);
	barrier();
	if (likely(!any_ictr_overflowed(state)))
		return true;
	stop_overflowed(cpu);
	perfctr_overflowed(state, NULL);
	return false;
}

/* An armed state is the running one, and has i-mode counters. */
struct perfctr_cpu_state *perfctr_x86_simple_overflow(void)
{
	struct perfctr_x86_simple_cpu *cpu = this_cpu_ptr(&perfctr_x86_simple_cpu);
	struct perfctr_cpu_state *state = READ_ONCE(cpu->armed);

	if (state) {
		if (!any_ictr_overflowed(state))
			return NULL;
		stop_overflowed(cpu);
		return state;
	}
	state = READ_ONCE(cpu->running);
	if (!state || !has_ictrs(state) || !any_ictr_overflowed(state))
		return NULL;
	return ERR_PTR(-EBUSY);
}

u32 perfctr_x86_simple_updates(void)
{
	const struct perfctr_x86_simple_cpu *cpu = this_cpu_ptr(&perfctr_x86_simple_cpu);
	const struct perfctr_cpu_state *state = READ_ONCE(cpu->running);

	return state ? READ_ONCE(state->page->samplecount) : 0;
}

/* Load i-mode counters, which are stopped. */
static void load_ictrs(const struct perfctr_cpu_state *state)
{
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);

	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++)
		write_counter(state->page->ctr[i].map, state->page->ctr[i].start);
}

/*
 * Add what a counter has counted to its sum.  The NMI of an i-mode counter's overflow may
 * arrive after the overflow was handled.
 */
static void add_count(const struct vperfctr_page *page, struct vperfctr_page_ctr *ctr, bool imode)
{
	u64 now = read_counter(ctr->map);

	if (imode && has_overflowed(now) && !has_overflowed(ctr->start))
		perfctr_x86_pmi_expect();
	ctr->sum += (now - ctr->start) & page->mask;
	ctr->start = now;
}

/* ---- suspend, resume, sample ---------------------------------------------- */

/* Clear the state's counters, as another process could see what they hold. */
static void clear_used(const struct perfctr_cpu_state *state)
{
	unsigned int i;

	for (i = 0; can_stop() && i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++)
		write_counter(state->page->ctr[i].map, 0);
}

void perfctr_x86_simple_suspend(struct perfctr_cpu_state *state)
{
	struct perfctr_x86_simple_cpu *cpu = this_cpu_ptr(&perfctr_x86_simple_cpu);
	unsigned int i, nractrs = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	struct vperfctr_page *page = state->page;

	if (!VPERFCTR_CSTATUS_NRCTRS(state->cstatus)) {
		perfctr_generic_suspend(state);
		return;
	}
	if (has_ictrs(state))
		disarm(cpu);
	if (perfctr_isolate || has_ictrs(state))
		stop_counters(cpu);
	perfctr_page_begin(page);
	if (state->cstatus & VPERFCTR_CSTATUS_TSC)
		page->tsc_sum += perfctr_rdtsc() - page->tsc_start;
	for (i = 0; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		add_count(page, &page->ctr[i], i >= nractrs);
		if (i < nractrs)
			page->ctr[i].start = 0;	/* the old value shows counts of other threads */
	}
	perfctr_page_end(page);
	WRITE_ONCE(cpu->running, NULL);
	if (perfctr_isolate && perfctr_x86_watched())
		clear_used(state);
}

/*
 * Mark this prepared CPU as one that holds counters.  Return: false if this CPU has failed: an
 * NMI may have halted it, and cleared `ready`.
 */
static bool begin_holding(struct perfctr_x86_simple_cpu *cpu)
{
	WRITE_ONCE(cpu->ready, READY);
	if (perfctr_x86_mark_holder())
		return true;
	WRITE_ONCE(cpu->ready, 0);
	return false;
}

/* Do what may_use_counters() of pmc.c does.  Return: true if the counters must be resumed. */
static noinline bool may_use_counters(struct perfctr_x86_simple_cpu *cpu,
				      struct perfctr_cpu_state *state)
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

void perfctr_x86_simple_resume(struct perfctr_cpu_state *state)
{
	struct perfctr_x86_simple_cpu *cpu = this_cpu_ptr(&perfctr_x86_simple_cpu);
	unsigned int i, nractrs = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	u32 cstatus = state->cstatus | VPERFCTR_CSTATUS_RUNNING;
	u64 image = state->control.regs.enable;
	struct vperfctr_page *page = state->page;

	/* `ready` is 0 on a CPU that is not prepared. */
	if (unlikely(!(cstatus & cpu->ready)) && !may_use_counters(cpu, state))
		return;
	if (perfctr_user_rdpmc()) {
		cstatus |= VPERFCTR_CSTATUS_RDPMC;
		perfctr_x86_saw_rdpmc();
	}
	/* Without isolation, counters of other threads may be running. */
	if (cpu->image != image || has_ictrs(state))
		stop_counters(cpu);
	if (has_ictrs(state))
		load_ictrs(state);
	if (!can_stop())
		write_image(cpu, image);
	WRITE_ONCE(cpu->running, state);
	perfctr_page_begin(page);
	page->cstatus = cstatus;
	page->tsc_start = perfctr_rdtsc();
	for (i = 0; i < nractrs; i++)
		page->ctr[i].start = read_counter(page->ctr[i].map);
	perfctr_page_end(page);
	/* The state may have overflowed before, on another CPU. */
	if (has_ictrs(state) && !arm(cpu, state))
		return;
	write_image(cpu, image);
}

void perfctr_x86_simple_sample(struct perfctr_cpu_state *state)
{
	struct perfctr_x86_simple_cpu *cpu = this_cpu_ptr(&perfctr_x86_simple_cpu);
	unsigned int i, nractrs = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	struct vperfctr_page *page = state->page;
	u64 now;

	if (has_ictrs(state))
		disarm(cpu);
	perfctr_page_begin(page);
	now = perfctr_rdtsc();
	if (state->cstatus & VPERFCTR_CSTATUS_TSC)
		page->tsc_sum += now - page->tsc_start;
	page->tsc_start = now;
	for (i = 0; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++)
		add_count(page, &page->ctr[i], i >= nractrs);
	perfctr_page_end(page);
	if (has_ictrs(state))
		arm(cpu, state);
}

/* ---- on each CPU ---------------------------------------------------------- */

/* Stop and clear everything, whatever the registers hold. */
static void clear_registers(struct perfctr_x86_simple_cpu *cpu)
{
	WRITE_ONCE(cpu->armed, NULL);
	WRITE_ONCE(cpu->running, NULL);
	WRITE_ONCE(cpu->image, simple->idle);
	simple->write(simple->idle, ~simple->idle);
	clear_counters();
}

/* True if a counter, which is stopped, keeps the value that it is set to. */
static bool counter_holds(u32 map, u64 value)
{
	u64 now = 0;

	if (perfctr_wrmsr_safe(simple->pmc0 + map, value & counter_mask()) ||
	    (simple->no_rdpmc ? perfctr_rdmsr_safe(simple->pmc0 + map, &now) :
				perfctr_rdpmc_safe(map, &now)))
		return false;
	return !((now ^ value) & counter_mask());
}

static int report_defect(u32 map, const char *what)
{
	pr_warn("CPU %u: counter %#x %s\n", smp_processor_id(), map, what);
	return -EIO;
}

/*
 * True if the counters keep values.  In a guest without a PMU, their registers read as 0 and
 * ignore writes.  Counters in use need no test, and are not disturbed.
 */
static bool keep_values(void)
{
	u32 map = fls64(perfctr_cpu_info.pmc_mask) - 1;
	bool keeps;
	u64 old;

	if (perfctr_rdmsr_safe(simple->pmc0 + map, &old))
		return false;
	if (!can_stop() || old)
		return true;
	keeps = counter_holds(map, 0xff);
	perfctr_wrmsr_safe(simple->pmc0 + map, old);
	return keeps;
}

bool perfctr_x86_simple_describe(unsigned int width, unsigned int period_width)
{
	struct vperfctr_info *info = &perfctr_cpu_info;
	bool user_reads = !perfctr_x86_simple.no_rdpmc && (can_stop() || !perfctr_isolate);

	perfctr_x86_simple.sign = BIT_ULL(width - 1);
	if (!keep_values())
		return false;
	perfctr_cpu_sampling_ns = perfctr_sampling_ns(width);
	info->nrctrs = hweight64(info->pmc_mask);
	info->pmc_width = width;
	info->nrkinds = 1;
	info->tsc_khz = perfctr_tsc_khz();
	info->features = VPERFCTR_FEATURE_CPUS |
			 (perfctr_has_tsc() ? VPERFCTR_FEATURE_RDTSC : 0) |
			 (user_reads ? VPERFCTR_FEATURE_RDPMC : 0) |
			 (perfctr_isolate ? VPERFCTR_FEATURE_ISOLATE : 0);
	if (period_width && perfctr_has_lvtpc()) {
		info->features |= VPERFCTR_FEATURE_PCINT;
		/* The top bit is set until the overflow, so it must be set in the start value. */
		info->max_period = BIT_ULL(min(width, period_width) - 1) - 1;
		info->min_period = MIN_PERIOD;
	}
	return true;
}

/* Try the counters, as selftest.c does: each must hold values, and all count together. */
static int try_counters(void)
{
	u64 before[MAX_COUNTERS], events;
	u32 map;

	simple->write(simple->idle, ~simple->idle);
	for (map = 0; can_stop() && map < MAX_COUNTERS; map++) {
		if (exists(map) && (!counter_holds(map, -2) || !counter_holds(map, 0)))
			return report_defect(map, "does not hold what it is set to");
	}
	simple->write(simple->trial, simple->idle);
	for (map = 0; map < MAX_COUNTERS; map++)
		before[map] = exists(map) ? read_counter(map) : 0;
	perfctr_pass_time();
	simple->write(simple->idle, simple->trial);
	for (map = 0; map < MAX_COUNTERS; map++) {
		if (!exists(map))
			continue;
		events = (read_counter(map) - before[map]) & counter_mask();
		if (events < MIN_EVENTS)
			return report_defect(map, "does not count");
	}
	return 0;
}

int perfctr_x86_simple_cpu_start(bool test)
{
	struct perfctr_x86_simple_cpu *cpu = this_cpu_ptr(&perfctr_x86_simple_cpu);
	int err = 0;
	u32 map;

	for (map = 0; can_stop() && map < MAX_COUNTERS; map++) {
		if (exists(map) && read_counter(map))
			perfctr_x86_pce_suspect();
	}
	if (test)
		err = try_counters();
	if (err)
		return err;
	clear_registers(cpu);
	WRITE_ONCE(cpu->ready, PREPARED);
	return 0;
}

void perfctr_x86_simple_cpu_stop(void)
{
	struct perfctr_x86_simple_cpu *cpu = this_cpu_ptr(&perfctr_x86_simple_cpu);

	WRITE_ONCE(cpu->ready, 0);
	clear_registers(cpu);
	perfctr_x86_unmark_holder();
}

void perfctr_x86_simple_cpu_forget(void)
{
	struct perfctr_x86_simple_cpu *cpu = this_cpu_ptr(&perfctr_x86_simple_cpu);

	clear_registers(cpu);
}

/* As perfctr_x86_pmc_cpu_scrub(). */
void perfctr_x86_simple_cpu_scrub(void)
{
	struct perfctr_x86_simple_cpu *cpu = this_cpu_ptr(&perfctr_x86_simple_cpu);
	struct perfctr_cpu_state *state = cpu->running;

	if (!cpu->ready)
		return;
	if (state)
		perfctr_x86_simple_suspend(state);
	clear_counters();
	WRITE_ONCE(cpu->ready, PREPARED);
	perfctr_x86_unmark_holder();
	if (!state)
		return;
	perfctr_x86_simple_resume(state);
	perfctr_tell_restarted(state);
}

/* The counters keep their values.  Context: Interrupts disabled, or NMI. */
void perfctr_x86_simple_cpu_halt(void)
{
	struct perfctr_x86_simple_cpu *cpu = this_cpu_ptr(&perfctr_x86_simple_cpu);

	WRITE_ONCE(cpu->ready, 0);
	disarm(cpu);
	WRITE_ONCE(cpu->image, simple->idle);
	simple->write(simple->idle, ~simple->idle);
}
