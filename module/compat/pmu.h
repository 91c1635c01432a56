/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 6.2: a PMU filters CPUs, not events, and says which it does not want, not which it
 * does.  Here whoever steps in leaves a CPU to the PMU's own filter if pass() says
 * so, and else lets nothing through.  All PMUs that it is done to have the same.
 */
#ifndef VPERFCTR_COMPAT_PMU_H
#define VPERFCTR_COMPAT_PMU_H

#include <linux/perf_event.h>

static bool (*perfctr_filter_pass)(void);

#ifdef PERFCTR_HAVE_PMU_FILTER_MATCH
static int (*perfctr_their_filter)(struct perf_event *event);

static int perfctr_filter(struct perf_event *event)
{
	return perfctr_filter_pass() ? perfctr_their_filter(event) : 0;
}

#define PERFCTR_FILTER	filter_match
#else
static bool (*perfctr_their_filter)(struct pmu *pmu, int cpu);

static bool perfctr_filter(struct pmu *pmu, int cpu)
{
	return perfctr_filter_pass() ? perfctr_their_filter(pmu, cpu) : true;
}

#define PERFCTR_FILTER	filter
#endif

static inline void perfctr_filter_step_in(struct pmu *pmu, bool (*pass)(void))
{
	perfctr_filter_pass = pass;
	perfctr_their_filter = pmu->PERFCTR_FILTER;
	smp_wmb();	/* pairs with pass() */
	WRITE_ONCE(pmu->PERFCTR_FILTER, perfctr_filter);
}

static inline void perfctr_filter_step_out(struct pmu *pmu)
{
	WRITE_ONCE(pmu->PERFCTR_FILTER, perfctr_their_filter);
}

#endif /* VPERFCTR_COMPAT_PMU_H */
