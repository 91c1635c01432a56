/* SPDX-License-Identifier: GPL-2.0 */
/* Find the kernel's own driver of the counters. */
#ifndef VPERFCTR_FIND_PMU_H
#define VPERFCTR_FIND_PMU_H

#include <linux/err.h>
#include <linux/perf_event.h>

/*
 * Find perf's PMU of an online CPU: the one that accepts an event for the CPU's cycles.
 *
 * Context: May sleep; also in a hotplug callback.
 * Return: the PMU; NULL if there is none; or an error: then there may be one.  It is -ENOMEM, or
 * -EBUSY if the kernel does not reveal it, as when lockdown forbids the event.
 */
static inline struct pmu *perfctr_find_pmu(unsigned int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
		/* Beside virtual machines that have the counters, perf makes no other events. */
		.exclude_guest = IS_ENABLED(CONFIG_PERF_GUEST_MEDIATED_PMU),
	};
	struct perf_event *event = perf_event_create_kernel_counter(&attr, cpu, NULL, NULL, NULL);
	struct pmu *pmu;

	if (event == ERR_PTR(-ENOENT))
		return NULL;
	if (IS_ERR(event))
		return event == ERR_PTR(-ENOMEM) ? ERR_CAST(event) : ERR_PTR(-EBUSY);
	pmu = event->pmu;
	perf_event_release_kernel(event);
	return pmu;
}

#endif /* VPERFCTR_FIND_PMU_H */
