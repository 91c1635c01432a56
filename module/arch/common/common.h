/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the low-level drivers of all architectures. */
#ifndef VPERFCTR_COMMON_H
#define VPERFCTR_COMMON_H

#ifdef CONFIG_KCSAN
#include <linux/kcsan-checks.h>
#else
#define kcsan_nestable_atomic_begin() do { } while (0)
#define kcsan_nestable_atomic_end() do { } while (0)
#endif

#include "../../cpu.h"

/*
 * A driver's operations on a running state: see cpu.h.  Without a faster way, a driver
 * leaves the last four of a state NULL, which makes them a suspend and a resume.  Those of parts
 * are called only if its probe sets perfctr_has_parts_ops.
 */
struct perfctr_cpu_ops {
	perfctr_cpu_op *suspend;
	perfctr_cpu_op *resume;
	perfctr_cpu_op *sample;
	perfctr_cpu_take_op *take_overflow;
	perfctr_cpu_op *restart;
	perfctr_cpu_hold_op *hold_overflow;
	perfctr_cpu_op *iresume;
	perfctr_cpu_parts_op *resume_parts;
	perfctr_cpu_parts_op *suspend_parts;
	perfctr_cpu_parts_op *sample_parts;
};

/*
 * static-calls.c: install the operations of the driver whose probe succeeded.
 *
 * Return: 0, or -EINVAL if a module parameter is wrong.
 */
int perfctr_driver_init(const struct perfctr_cpu_ops *ops);

/*
 * kind.c: for processors with several kinds of CPUs.  The probe runs on a CPU, and changes
 * *info, a copy of perfctr_cpu_info, to describe the kind of that CPU.  It returns an
 * error if the kind differs too much for its counters to be used.  Then, if the kind was
 * not known, @new is called on this CPU with its number, before the number can be used.
 * It may be NULL.
 */
#define PERFCTR_MAX_KINDS	4

typedef int perfctr_probe_kind(struct vperfctr_info *info);
typedef void perfctr_new_kind(unsigned int kind);
void perfctr_init_kinds(perfctr_probe_kind *probe, perfctr_new_kind *new);

/*
 * Find the kind of a CPU that comes online.  Does nothing without perfctr_init_kinds().
 *
 * Context: That CPU, before user threads run on it.  One CPU at a time.
 */
void perfctr_learn_kind(unsigned int cpu);

/* Return the kind of this CPU, or NULL if its counters must not be used. */
const struct vperfctr_info *perfctr_kind_here(void);

/* static-calls.c: the CPUs that the module parameter names, and those a driver adds. */
extern struct cpumask perfctr_forbid_cpus;

/* Return perfctr_cpu_sampling_ns for counters of this width. */
u64 perfctr_sampling_ns(unsigned int width);

/*
 * perf-uses.c: this event of perf's is refused; NULL: perf's filter refuses those that wait.
 *
 * Context: preemption disabled, unless there is an event.
 */
struct perf_event;
void perfctr_perf_refused(const struct perf_event *event);

/* static-calls.c: the service's handlers; the first is NULL if there is no i-mode. */
extern perfctr_ihandler *perfctr_overflowed;
extern perfctr_refusal *perfctr_refused;

/* static-calls.c: the service's functions for joint states; NULL: there are none. */
extern perfctr_find_parts *perfctr_find_the_parts;
extern perfctr_slow_parts *perfctr_resume_parts_slowly;

/* static-calls.c: call the service's handlers of restarts.  Context: as for resume. */
void perfctr_tell_restarting(struct perfctr_cpu_state *state);
void perfctr_tell_restarted(struct perfctr_cpu_state *state);

/* static-calls.c: call the service's watcher.  Context: as for a perfctr_cpu_watcher. */
void perfctr_tell_watcher(enum perfctr_cpu_event event);

/* True if ireset is 0 in a-mode, or minus a period that can be loaded in i-mode. */
static inline bool perfctr_is_valid_ireset(s64 ireset, bool imode)
{
	return imode ? ireset < 0 && -(u64)ireset <= perfctr_cpu_info.max_period &&
		       -(u64)ireset >= perfctr_cpu_info.min_period : !ireset;
}

/* Return the top bit of a counter, by its map in a control. */
static inline u64 perfctr_sign(u32 map)
{
	return 1ULL << ((map & VPERFCTR_FIXED ? perfctr_cpu_info.fixed_width :
					       perfctr_cpu_info.pmc_width) - 1);
}

/* Return a control's cstatus, in the page's format, without the bits that resume sets. */
static inline u32 perfctr_make_cstatus(const struct perfctr_cpu_control *control)
{
	return perfctr_nrctrs(control) | control->nractrs << 8 |
	       (control->tsc_on ? VPERFCTR_CSTATUS_TSC : 0) |
	       (control->nrictrs ? VPERFCTR_CSTATUS_ICTRS : 0);
}

/*
 * Return what is special about a control.  In kernel mode it matters that counters start and stop
 * together.  Those that a sibling must not meet would run when it comes online.
 */
static inline u32 perfctr_special(const struct perfctr_cpu_control *control)
{
	bool stops = perfctr_isolate && (control->kernel || control->alone);
	bool other = control->nrictrs || !control->nractrs || !perfctr_has_parts_ops;

	return (stops ? PERFCTR_STOPS : 0) | (other ? PERFCTR_OTHER : 0);
}

/* Return the value from which an i-mode counter overflows after 2^shift periods. */
u64 perfctr_long_start(struct perfctr_cpu_state *state, unsigned int i, unsigned int shift);

/* Record the overflow of the i-th counter.  Return: the value that it restarts from. */
static __always_inline u64 perfctr_reset_ictr(struct perfctr_cpu_state *state, unsigned int i,
					      unsigned int shift,
					      struct perfctr_overflow *overflow)
{
	overflow->ctrs |= BIT(i);
	if (likely(!(*perfctr_ishift(state, i) | shift)))
		return state->control.ctr[i].ireset;
	overflow->skipped += BIT_ULL(*perfctr_ishift(state, i)) - 1;
	return perfctr_long_start(state, i, shift);
}

/*
 * The samplecount is odd while sums change.  The owner never reads it odd, as the kernel
 * makes the changes on the owner's CPU.  Readers on other CPUs may, and try again.  So
 * KCSAN must take all stores in between for marked ones, as those under a seqcount_t.
 */
static __always_inline void perfctr_page_begin(struct vperfctr_page *page)
{
	kcsan_nestable_atomic_begin();
	page->samplecount++;	/* one writer at a time, as for seqcount_t */
	smp_wmb();	/* odd before anything changes */
}

static __always_inline void perfctr_page_end(struct vperfctr_page *page)
{
	smp_wmb();	/* all changes before even again */
	page->samplecount++;
	kcsan_nestable_atomic_end();
}

#endif /* VPERFCTR_COMMON_H */
