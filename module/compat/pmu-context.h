/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 6.15: a PMU has pointers to its contexts of each CPU.  Before, from 6.2 on, it has the
 * contexts themselves.  Before 6.2, perf_cpu_context is one for each PMU, but the PMUs of a hybrid
 * processor share one.
 */
#ifndef VPERFCTR_COMPAT_PMU_CONTEXT_H
#define VPERFCTR_COMPAT_PMU_CONTEXT_H

#include <linux/percpu.h>
#include <linux/perf_event.h>

#if defined(PERFCTR_HAVE_PMU_CONTEXT_POINTERS)
#define PERFCTR_PMU_CONTEXT(pmu, cpu)	(*per_cpu_ptr((pmu)->cpu_pmu_context, cpu))
#define PERFCTR_PINNED(context)		(&(context)->epc.pinned_active)
#define PERFCTR_EVENTS(context)		READ_ONCE((context)->epc.ctx)
#elif defined(PERFCTR_HAVE_PMU_CONTEXTS)
#define PERFCTR_PMU_CONTEXT(pmu, cpu)	per_cpu_ptr((pmu)->cpu_pmu_context, cpu)
#define PERFCTR_PINNED(context)		(&(context)->epc.pinned_active)
#define PERFCTR_EVENTS(context)		READ_ONCE((context)->epc.ctx)
#else
#define PERFCTR_PMU_CONTEXT(pmu, cpu)	per_cpu_ptr((pmu)->pmu_cpu_context, cpu)
#define PERFCTR_PINNED(context)		(&(context)->ctx.pinned_active)
#define PERFCTR_EVENTS(context)		(&(context)->ctx)
#endif

/*
 * True if the events of both PMUs that are scheduled on a CPU are counted together.  From 6.15 on,
 * an event may have lost its PMU, which is NULL then.
 */
static inline bool perfctr_perf_shares(const struct pmu *one, const struct pmu *other,
				       unsigned int cpu)
{
#if defined(PERFCTR_HAVE_PMU_CONTEXT_POINTERS) || defined(PERFCTR_HAVE_PMU_CONTEXTS)
	return one == other;
#else
	return PERFCTR_PMU_CONTEXT(one, cpu) == PERFCTR_PMU_CONTEXT(other, cpu);
#endif
}

/* Return the number of events that are scheduled on a CPU.  The PMU stays registered. */
static inline int perfctr_perf_nr_active(const struct pmu *pmu, unsigned int cpu)
{
	return READ_ONCE(PERFCTR_PMU_CONTEXT(pmu, cpu)->active_oncpu);
}

/* Return the list, by active_list, of the scheduled events that are pinned to a CPU. */
static inline const struct list_head *perfctr_perf_pinned(const struct pmu *pmu, unsigned int cpu)
{
	return PERFCTR_PINNED(PERFCTR_PMU_CONTEXT(pmu, cpu));
}

/*
 * Return the context of the events that have been opened for a CPU, or NULL if there is none.
 * Until 6.2 each PMU has one, since then all share it.
 */
static inline const struct perf_event_context *perfctr_perf_context(const struct pmu *pmu,
								    unsigned int cpu)
{
	return PERFCTR_EVENTS(PERFCTR_PMU_CONTEXT(pmu, cpu));
}

/*
 * True if the event is the NMI watchdog's: of the kernel, and for overflows.  It has no state but
 * the counter and the fields that enable it.  The caller has found it among the events that are
 * pinned to a CPU.
 */
static inline bool perfctr_is_watchdog(struct perf_event *event)
{
	const void *kernel = (void *)-1L;	/* TASK_TOMBSTONE in kernel/events/core.c */

	return READ_ONCE(event->owner) == kernel && is_sampling_event(event) &&
	       !event->attr.precise_ip && !event->attr.freq;
}

#endif /* VPERFCTR_COMPAT_PMU_CONTEXT_H */
