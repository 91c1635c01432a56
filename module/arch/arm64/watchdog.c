// SPDX-License-Identifier: GPL-2.0
/*
 * The NMI watchdog keeps its counter.  On kernels with pseudo-NMIs, from 6.5 on, it is an event of
 * perf's, of cycles, that is pinned to each CPU.
 *
 * If it runs when the module is loaded, or with keep_watchdog, perf keeps the counter that it has,
 * as with perf_counters=1: see shared.c.  But without that parameter all other events of perf's
 * wait while counters are reserved, as where there is no watchdog.
 *
 * perf asks the filter once for all events that are pinned to a CPU, and gives up a pinned event
 * that `add` refuses.  So the filter lets pass only while the watchdog's event waits, as when it is
 * switched on, and no other one that is pinned: `add` then refuses those that are not pinned.  With
 * another one that is pinned, both wait.
 *
 * perf may also ask for other events, and not try the watchdog's: at the switch of a thread, for
 * example.  So a worker looks each second at the CPUs where it waits, until it has begun.  If it
 * waits alone, the worker lets perf schedule the events of that CPU by an event that it opens, the
 * trigger, which `add` refuses.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <asm/cpufeature.h>

#include "../../compat/task-context.h"
#include "../../compat/workqueue.h"
#include "../common/watchdog-waits.h"
#include "arm64.h"
#include "shared.h"

static bool keeps_watchdog;

/* CPUs on which the watchdog waits, or has waited when the filter was asked. */
static struct cpumask waiting;

static struct irq_work wait_irq;	/* starts the worker: the scheduler asks the filter */

static void look_again(struct work_struct *work);
static DECLARE_DELAYED_WORK(look_work, look_again);

static void start_look(struct irq_work *irq)
{
	queue_delayed_work(system_dfl_wq, &look_work, 0);
}

/* ---- what the drivers ask ----------------------------------------------------------- */

static bool runs_here(const struct pmu *pmu)
{
	const struct perf_event_context *context =
		perfctr_perf_context(pmu, smp_processor_id());
	struct perf_event *event;
	bool found = false;

	if (!context)
		return false;
	rcu_read_lock();
	list_for_each_entry_rcu(event, &context->event_list, event_entry)
		found |= event->pmu == pmu && event->attr.pinned && perfctr_is_watchdog(event) &&
			 READ_ONCE(event->state) == PERF_EVENT_STATE_ACTIVE;
	rcu_read_unlock();
	return found;
}

/* A kernel that masks interrupts by their priority has pseudo-NMIs, which the watchdog needs. */
void perfctr_arm64_find_watchdog(void)
{
	const struct pmu *pmu = perfctr_arm64_pmu(smp_processor_id());

	init_irq_work(&wait_irq, start_look);
	cpumask_clear(&waiting);
	keeps_watchdog = pmu && !perfctr_perf_counters &&
			 (runs_here(pmu) ||
			  (perfctr_must_keep_watchdog() && system_uses_irq_prio_masking()));
}

bool perfctr_arm64_keeps_watchdog(void)
{
	return keeps_watchdog;
}

/* ---- called by the replacements of the driver's functions ----------------------------- */

/* True if an event that is pinned to this thread waits. */
static bool thread_waits_pinned(const struct pmu *pmu)
{
	const struct perf_event_context *context;
	const struct perf_event *event;
	bool waits = false;

	rcu_read_lock();
	context = perfctr_perf_task_context(current);
	if (context) {
		list_for_each_entry_rcu(event, &context->event_list, event_entry)
			waits |= waits_pinned(event, pmu);
	}
	rcu_read_unlock();
	return waits;
}

static void start_looking(unsigned int cpu)
{
	if (cpumask_test_cpu(cpu, &waiting))
		return;
	cpumask_set_cpu(cpu, &waiting);
	irq_work_queue(&wait_irq);
}

/*
 * While an event is scheduled, it is the watchdog's, or was here before the reservation, and perf
 * asks again when it has gone.  Else perf need not try the watchdog's now, even if it waits alone:
 * the worker looks whether it has begun.
 */
bool perfctr_arm64_watchdog_may_begin(const struct pmu *pmu)
{
	unsigned int cpu = smp_processor_id();
	enum waiter waiter;

	if (perfctr_perf_nr_active(pmu, cpu))
		return false;
	waiter = waiter_of(pmu, cpu);
	if (waiter == NO_WATCHDOG)
		return false;
	start_looking(cpu);
	return waiter == WATCHDOG_ALONE && !thread_waits_pinned(pmu);
}

/* The watchdog of a CPU that was never online begins before this module knows the CPU. */
void perfctr_arm64_watchdog_cpu_known(unsigned int cpu)
{
	if (keeps_watchdog && READ_ONCE(perfctr_perf_waits))
		start_looking(cpu);
}

bool perfctr_arm64_is_trigger(const struct perf_event *event)
{
	return event->overflow_handler == ignore_overflow;
}

/* ---- the worker --------------------------------------------------------------------- */

static void report_waiting(unsigned int cpu)
{
	static DEFINE_RATELIMIT_STATE(limit, 600 * HZ, 1);

	if (__ratelimit(&limit))
		pr_info("the NMI watchdog of CPU %u waits until perf's other event that is pinned to this CPU or its thread, or the counting, ends\n",
			cpu);
}

/*
 * After a release, perf's events are scheduled by others, unless the next reservation is earlier:
 * see perf-wait.c.  Return: true if the watchdog of this CPU still waits.
 */
static bool still_waits(unsigned int cpu)
{
	const struct pmu *pmu = perfctr_arm64_pmu(cpu);
	enum waiter waiter = pmu && cpu_online(cpu) ? waiter_of(pmu, cpu) : NO_WATCHDOG;
	int err;

	if (waiter == WATCHDOG_AND_OTHERS && READ_ONCE(perfctr_perf_waits))
		report_waiting(cpu);
	if (waiter != WATCHDOG_ALONE || !READ_ONCE(perfctr_perf_waits))
		return waiter != NO_WATCHDOG;
	err = perfctr_perf_reschedule_cpu(cpu, ignore_overflow);
	if (waiter_of(pmu, cpu) == NO_WATCHDOG)
		return false;
	/* Else the thread that runs there has an event that is pinned, and waits. */
	if (!err)
		report_waiting(cpu);
	return true;
}

static void look_again(struct work_struct *work)
{
	bool again = false;
	unsigned int cpu;

	for_each_cpu(cpu, &waiting) {
		cpumask_clear_cpu(cpu, &waiting);
		smp_mb__after_atomic();	/* the filter asks again if it finds the watchdog later */
		if (!still_waits(cpu))
			continue;
		cpumask_set_cpu(cpu, &waiting);
		again = true;
	}
	if (again)
		queue_delayed_work(system_dfl_wq, &look_work, HZ);
}

/* While the trigger is opened, perf would look idle to a reservation. */
void perfctr_arm64_watchdog_settle(void)
{
	cancel_delayed_work_sync(&look_work);
	if (!cpumask_empty(&waiting))
		queue_delayed_work(system_dfl_wq, &look_work, HZ);
}

/* No filter starts the worker any more. */
void perfctr_arm64_watchdog_end(void)
{
	irq_work_sync(&wait_irq);
	cancel_delayed_work_sync(&look_work);
}
