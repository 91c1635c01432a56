/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 6.15: a PMU has pointers to its contexts of each CPU.  Before, from 6.2 on, it has the
 * contexts themselves.
 */
#ifndef VPERFCTR_COMPAT_PMU_CONTEXT_H
#define VPERFCTR_COMPAT_PMU_CONTEXT_H

#include <linux/percpu.h>
#include <linux/perf_event.h>

/* Return the number of events that are scheduled on a CPU.  The PMU stays registered. */
static inline int perfctr_perf_nr_active(const struct pmu *pmu, unsigned int cpu)
{
#ifdef PERFCTR_HAVE_PMU_CONTEXT_POINTERS
	return READ_ONCE((*per_cpu_ptr(pmu->cpu_pmu_context, cpu))->active_oncpu);
#else
	return READ_ONCE(per_cpu_ptr(pmu->cpu_pmu_context, cpu)->active_oncpu);
#endif
}

#endif /* VPERFCTR_COMPAT_PMU_CONTEXT_H */
