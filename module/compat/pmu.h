/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 6.2: filter() of a PMU replaces filter_match().  It gets a CPU, not an event, and
 * returns true to refuse, not to accept.
 *
 * For arch/arm64/arm-pmu.c, arch/riscv/riscv-pmu.c and arch/x86/perf-claim.c: replace the
 * filter of a PMU.  If perfctr_perf_may_begin() returns true, the PMU's own filter decides;
 * riscv's has none.  If it returns false, no event may be scheduled on this CPU.  All PMUs
 * that are passed to this must have the same filter.
 */
#ifndef VPERFCTR_COMPAT_PMU_H
#define VPERFCTR_COMPAT_PMU_H

#include <linux/irqflags.h>
#include <linux/perf_event.h>

/* Its read barrier pairs with the write barrier between save and step_in. */
static bool perfctr_perf_may_begin(void);

#ifdef PERFCTR_HAVE_PMU_FILTER_MATCH
static int (*perfctr_their_filter)(struct perf_event *event);

/*
 * perf asks this filter also whether an event gets a record of a mapping, a name, a fork or an
 * exit.  It writes these in the thread concerned, with interrupts enabled, and schedules events
 * with interrupts disabled.  Records of a switch are written there, too, and are lost.
 */
static int perfctr_filter(struct perf_event *event)
{
	if (!perfctr_perf_may_begin() && irqs_disabled())
		return 0;
	return perfctr_their_filter ? perfctr_their_filter(event) : 1;
}

#define PERFCTR_FILTER	filter_match
#else
static bool (*perfctr_their_filter)(struct pmu *pmu, int cpu);

static bool perfctr_filter(struct pmu *pmu, int cpu)
{
	if (!perfctr_perf_may_begin())
		return true;
	return perfctr_their_filter && perfctr_their_filter(pmu, cpu);
}

#define PERFCTR_FILTER	filter
#endif

static inline void perfctr_filter_save(struct pmu *pmu)
{
	perfctr_their_filter = pmu->PERFCTR_FILTER;
}

static inline bool perfctr_filter_is_saved(const struct pmu *pmu)
{
	return perfctr_their_filter == pmu->PERFCTR_FILTER;
}

static inline void perfctr_filter_step_in(struct pmu *pmu)
{
	WRITE_ONCE(pmu->PERFCTR_FILTER, perfctr_filter);
}

static inline void perfctr_filter_step_out(struct pmu *pmu)
{
	WRITE_ONCE(pmu->PERFCTR_FILTER, perfctr_their_filter);
}

#endif /* VPERFCTR_COMPAT_PMU_H */
