// SPDX-License-Identifier: GPL-2.0
/*
 * The events of perf's that wait while counters are reserved, where a filter keeps them off:
 * let them start after the release.
 *
 * perf never tries an event of a CPU again that the filter has refused: neither the watchdog
 * nor those of `perf stat -a`.  Events of threads are tried when their thread is switched in.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/perf_event.h>
#include <linux/smp.h>

#include "../../compat/workqueue.h"
#include "perf-wait.h"

/* The CPUs on which the filter has refused events since these were last rescheduled. */
static struct cpumask turned_away;

/* Rescheduling interrupts CPUs: a program that releases the counters in a loop must not. */
#define RESCHEDULE_JIFFIES	(HZ / 20 + 1)

/* When the worker last rescheduled events. */
static u64 rescheduled;

void perfctr_perf_turned_away(void)
{
	unsigned int cpu = smp_processor_id();

	if (!cpumask_test_cpu(cpu, &turned_away))
		cpumask_set_cpu(cpu, &turned_away);
	smp_mb__after_atomic();	/* the release finds this CPU, or the caller finds the release */
}

struct perf_event *perfctr_perf_open_pinned(unsigned int cpu, u64 period,
					    perf_overflow_handler_t handler)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_period = period,
		.pinned = 1,
		.exclude_guest = IS_ENABLED(CONFIG_PERF_GUEST_MEDIATED_PMU),	/* see find-pmu.h */
	};

	return perf_event_create_kernel_counter(&attr, cpu, NULL, handler, NULL);
}

int perfctr_perf_reschedule_cpu(unsigned int cpu, perf_overflow_handler_t handler)
{
	struct perf_event *event = perfctr_perf_open_pinned(cpu, 0, handler);

	if (IS_ERR(event))
		return PTR_ERR(event);
	perf_event_release_kernel(event);
	return 0;
}

/*
 * The counters are not reserved while this runs: see perfctr_perf_settle().  The next release tries
 * again what has failed.  A CPU that is offline has no events.
 */
static void reschedule_events(struct work_struct *work)
{
	unsigned int cpu;
	int err;

	for_each_cpu(cpu, &turned_away) {
		cpumask_clear_cpu(cpu, &turned_away);
		err = perfctr_perf_reschedule_cpu(cpu, NULL);
		if (err && err != -ENODEV)
			cpumask_set_cpu(cpu, &turned_away);
	}
	rescheduled = get_jiffies_64();
}

static DECLARE_DELAYED_WORK(reschedule_work, reschedule_events);

/*
 * Stop the worker.  Its event would make perf look busy to a reservation.  Perf takes other events
 * off a CPU to schedule it, and the reservation would then keep those off.  The next release starts
 * the worker again.  A caller whose reservations fail in a loop would so put the worker off for
 * ever: after as long as the worker waits, this lets it run, and waits for it.  The caller itself
 * need not have the right to an event of a CPU.
 */
void perfctr_perf_settle(void)
{
	if (cancel_delayed_work_sync(&reschedule_work) &&
	    time_after64(get_jiffies_64(), rescheduled + RESCHEDULE_JIFFIES)) {
		queue_delayed_work(system_dfl_wq, &reschedule_work, 0);
		flush_delayed_work(&reschedule_work);
	}
}

void perfctr_perf_reschedule(void)
{
	if (!cpumask_empty(&turned_away))
		queue_delayed_work(system_dfl_wq, &reschedule_work, RESCHEDULE_JIFFIES);
}

void perfctr_perf_wait_end(void)
{
	flush_delayed_work(&reschedule_work);
}
