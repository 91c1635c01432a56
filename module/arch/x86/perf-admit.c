// SPDX-License-Identifier: GPL-2.0
/*
 * Let the NMI watchdog begin while its counter is kept and the others are ours.
 *
 * perf's filter refuses all events meanwhile, also the watchdog's when an administrator switches it
 * on, when a CPU comes online, or when perf has taken it off for an event that is pinned to the
 * CPU.  Its counter is free, but perf schedules no event on a CPU that is claimed.  So a worker
 * lends the CPU to perf for a moment:
 *
 *  - The worker is a kernel thread that is bound to the CPU.  While it runs no thread counts there,
 *    and perf has no events of the current task.
 *  - It opens an event that is pinned to the CPU, the trigger.  With interrupts disabled, perf
 *    disables its PMU, asks the filter once, schedules all events that are pinned to the CPU, then
 *    the others, and enables its PMU.
 *  - As perf disables the PMU, ours releases the CPU, as at the end of a reservation.  The filter
 *    lets pass until the watchdog's event has begun, and `add` refuses all others, the trigger
 *    as the last one.  When perf has enabled the PMU, the next thread with counters claims the
 *    CPU again, as if the watchdog had run before.
 *
 * perf gives up a pinned event that `add` refuses.  So nothing of this is done while another event
 * waits that is pinned to the CPU: the watchdog waits with it, and the worker looks each second.
 *
 * The kernel does not say which counter perf will choose.  With one event on the CPU, it is the
 * fixed counter or the first general one, where that has been kept.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "../../compat/pmu-context.h"
#include "../../compat/workqueue.h"
#include "../common/perf-wait.h"
#include "../common/watchdog-waits.h"
#include "x86.h"

static DEFINE_PER_CPU(struct admission {
	unsigned int cpu;
	struct irq_work irq;		/* starts the work: the scheduler may call the filter */
	struct work_struct work;
	struct task_struct *worker;	/* while it opens the trigger */
	bool open;			/* perf has the CPU; only the watchdog's event may begin */
}, admissions);

static bool can_admit __ro_after_init;

/* CPUs whose work is pending, or will be retried; and all that have had a work. */
static struct cpumask waiting, asked;

/* ---- what waits ----------------------------------------------------------------- */

static enum waiter waiter_on(unsigned int cpu)
{
	enum waiter waiter = NO_WATCHDOG;
	const struct pmu *pmu;
	unsigned int i;

	for (i = 0; waiter == NO_WATCHDOG && (pmu = perfctr_x86_perf_pmu(i)); i++)
		waiter = waiter_of(pmu, cpu);
	return waiter;
}

/* ---- called by the replacements of perf's functions ------------------------------ */

void perfctr_x86_admit_begin(void)
{
	struct admission *a = this_cpu_ptr(&admissions);

	if (READ_ONCE(a->worker) != current || a->open || !perfctr_x86_perf_is_reserved() ||
	    waiter_on(smp_processor_id()) != WATCHDOG_ALONE)
		return;
	perfctr_lend_here();
	WRITE_ONCE(a->open, true);
}

void perfctr_x86_admit_end(void)
{
	struct admission *a = this_cpu_ptr(&admissions);

	if (!a->open)
		return;
	WRITE_ONCE(a->open, false);
	perfctr_lent_here();
}

bool perfctr_x86_admits(void)
{
	return this_cpu_ptr(&admissions)->open && waiter_on(smp_processor_id()) == WATCHDOG_ALONE;
}

bool perfctr_x86_admit_refuses(struct perf_event *event)
{
	/* After a release, the filter has let others pass, and a pinned one would be given up. */
	return this_cpu_ptr(&admissions)->open && perfctr_x86_perf_is_reserved() &&
	       !(event->attr.pinned && perfctr_is_watchdog(event));
}

/*
 * True if an event is scheduled on the CPU.  Where that is not perf's, it can only be the
 * watchdog's.
 */
static bool has_events_on(unsigned int cpu)
{
	const struct pmu *pmu;
	unsigned int i;

	for (i = 0; (pmu = perfctr_x86_perf_pmu(i)); i++) {
		if (perfctr_perf_nr_active(pmu, cpu))
			return true;
	}
	return false;
}

/*
 * perf asks the filter several times at each switch to a thread whose events wait, and before 6.2
 * for each event.  So look for the watchdog among the events of the CPU, which may be a thousand,
 * only while it is off.
 */
bool perfctr_x86_admit_ask(void)
{
	unsigned int cpu = smp_processor_id();
	enum waiter waiter = NO_WATCHDOG;

	/* The watchdog has begun, and perf tries the trigger. */
	if (READ_ONCE(this_cpu_ptr(&admissions)->worker) == current)
		return true;
	if (can_admit && !has_events_on(cpu))
		waiter = waiter_on(cpu);
	if (waiter == NO_WATCHDOG ||
	    (waiter == WATCHDOG_AND_OTHERS && cpumask_test_cpu(cpu, &waiting)))
		return false;
	cpumask_set_cpu(cpu, &waiting);
	cpumask_set_cpu(cpu, &asked);
	irq_work_queue(&this_cpu_ptr(&admissions)->irq);
	return waiter == WATCHDOG_ALONE;
}

/* ---- the worker ------------------------------------------------------------------ */

static void start_admission(struct irq_work *irq)
{
	struct admission *a = container_of(irq, struct admission, irq);

	schedule_work_on(a->cpu, &a->work);
}

static void start_all_waiting(void)
{
	unsigned int cpu;

	for_each_cpu(cpu, &waiting)
		schedule_work_on(cpu, &per_cpu_ptr(&admissions, cpu)->work);
}

static void retry_admissions(struct work_struct *work)
{
	start_all_waiting();
}

static DECLARE_DELAYED_WORK(retry_work, retry_admissions);

static void report_waiting(unsigned int cpu)
{
	static DEFINE_RATELIMIT_STATE(limit, 600 * HZ, 1);

	if (__ratelimit(&limit))
		pr_info("the NMI watchdog of CPU %u waits until perf's other event that is pinned to this CPU, or the counting, ends\n",
			cpu);
}

static void admit_watchdog(struct work_struct *work)
{
	struct admission *a = container_of(work, struct admission, work);
	unsigned int cpu = a->cpu;

	/* The next reservation starts this again. */
	if (!perfctr_x86_perf_is_reserved())
		return;
	if (!cpumask_test_cpu(cpu, cpu_online_mask)) {
		cpumask_clear_cpu(cpu, &waiting);
		return;
	}
	/* The watchdog of a CPU that comes online begins before workers are bound to the CPU. */
	if (raw_smp_processor_id() != cpu) {
		queue_delayed_work(system_dfl_wq, &retry_work, HZ);
		return;
	}
	cpumask_clear_cpu(cpu, &waiting);
	smp_mb__after_atomic();	/* the filter asks again if it finds the watchdog later than this */
	if (waiter_on(cpu) == WATCHDOG_ALONE) {
		WRITE_ONCE(a->worker, current);
		perfctr_perf_reschedule_cpu(cpu, ignore_overflow);
		WRITE_ONCE(a->worker, NULL);
	}
	if (waiter_on(cpu) == NO_WATCHDOG)
		return;
	if (waiter_on(cpu) == WATCHDOG_AND_OTHERS)
		report_waiting(cpu);
	cpumask_set_cpu(cpu, &waiting);
	queue_delayed_work(system_dfl_wq, &retry_work, HZ);
}

/* ---- begin and end ------------------------------------------------------------------ */

bool perfctr_x86_can_admit(u64 kept)
{
	return hweight64(kept) == 1 && (kept == 1 || kept >> 32);
}

void perfctr_x86_admit_init(u64 kept)
{
	unsigned int cpu;

	can_admit = perfctr_x86_can_admit(kept);
	for_each_possible_cpu(cpu) {
		struct admission *a = per_cpu_ptr(&admissions, cpu);

		a->cpu = cpu;
		init_irq_work(&a->irq, start_admission);
		INIT_WORK(&a->work, admit_watchdog);
	}
}

void perfctr_x86_admit_reserved(void)
{
	start_all_waiting();
}

/* Nothing starts a work any more, but those that run, and the retry. */
static void cancel_works(void)
{
	unsigned int cpu;

	cancel_delayed_work_sync(&retry_work);
	for_each_cpu(cpu, &asked) {
		struct admission *a = per_cpu_ptr(&admissions, cpu);

		irq_work_sync(&a->irq);
		/* One that has not begun may wait for a thread that is never switched out. */
		cancel_work_sync(&a->work);
	}
}

void perfctr_x86_admit_settle(void)
{
	cancel_works();
	/* A work that ran may have started the retry, and the retry others.  None does it again. */
	cancel_works();
}
