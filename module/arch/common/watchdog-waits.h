/* SPDX-License-Identifier: GPL-2.0 */
/* For x86 and arm64: find the NMI watchdog's event among those of perf's that wait on a CPU. */
#ifndef VPERFCTR_WATCHDOG_WAITS_H
#define VPERFCTR_WATCHDOG_WAITS_H

#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>

#include "../../compat/pmu-context.h"

enum waiter {
	NO_WATCHDOG,
	WATCHDOG_ALONE,			/* no other event that is pinned to the CPU waits */
	WATCHDOG_AND_OTHERS,
};

/* The trigger has this handler, by which it is known, and never overflows. */
static void ignore_overflow(struct perf_event *event, struct perf_sample_data *data,
			    struct pt_regs *regs)
{
}

/*
 * True if perf will try an event with those that are pinned, alone or in a group.  The leader of
 * the group may be an event of software, which has another PMU.
 */
static inline bool waits_pinned(const struct perf_event *event, const struct pmu *pmu)
{
	const struct perf_event *leader = READ_ONCE(event->group_leader);

	return event->pmu == pmu && leader->attr.pinned &&
	       READ_ONCE(event->state) == PERF_EVENT_STATE_INACTIVE &&
	       READ_ONCE(leader->state) == PERF_EVENT_STATE_INACTIVE;
}

/* Exact on that CPU with interrupts disabled. */
static inline enum waiter waiter_of(const struct pmu *pmu, unsigned int cpu)
{
	const struct perf_event_context *context = perfctr_perf_context(pmu, cpu);
	bool watchdog = false, others = false;
	struct perf_event *event;

	if (!context)
		return NO_WATCHDOG;
	rcu_read_lock();
	list_for_each_entry_rcu(event, &context->event_list, event_entry) {
		if (!waits_pinned(event, pmu) || event->overflow_handler == ignore_overflow)
			continue;
		if (event->attr.pinned && perfctr_is_watchdog(event))
			watchdog = true;
		else
			others = true;
	}
	rcu_read_unlock();
	if (!watchdog)
		return NO_WATCHDOG;
	return others ? WATCHDOG_AND_OTHERS : WATCHDOG_ALONE;
}

#endif /* VPERFCTR_WATCHDOG_WAITS_H */
