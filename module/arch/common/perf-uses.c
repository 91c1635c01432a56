// SPDX-License-Identifier: GPL-2.0
/*
 * Find out what perf uses the counters for, to say who has them, and when they are refused to it.
 * This looks at perf's own events and their number, so it holds on processors whose counters are
 * reserved, too.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "../../compat/pmu-context.h"
#include "../../compat/task-context.h"
#include "../../compat/workqueue.h"
#include "driver.h"
#include "find-pmu.h"
#include "mediated-guests.h"

/*
 * One for each kind of CPU.  They stay registered as long as the kernel runs.  Changed as CPUs come
 * online, which cpus_read_lock() excludes.
 */
#define MAX_PMUS	4

static struct pmu *pmus[MAX_PMUS];
static unsigned int nr_pmus;

static enum cpuhp_state online_state;

/*
 * A CPU comes online, or is online when the module is loaded.  The driver has found its kind.
 * Where perf reserves the counters, it reveals no PMU while they are ours.
 */
static int learn_pmu(unsigned int cpu)
{
	struct pmu *pmu;
	unsigned int i;

	if (nr_pmus == MAX_PMUS || (nr_pmus && nr_pmus >= perfctr_cpu_info.nrkinds))
		return 0;
	pmu = perfctr_find_pmu(cpu);
	if (IS_ERR_OR_NULL(pmu))
		return 0;
	for (i = 0; i < nr_pmus; i++) {
		if (pmus[i] == pmu)
			return 0;
	}
	pmus[nr_pmus] = pmu;
	/* Pairs with waits_here(): the PMU comes before its number. */
	smp_store_release(&nr_pmus, nr_pmus + 1);
	return 0;
}

/* ---- refusals ---------------------------------------------------------------------- */

/* Seconds between two looks for a refused event, and between two reports. */
#define LOOK_SECONDS	1
#define REPORT_SECONDS	3600

static perfctr_refusal_report *report;
static struct irq_work refused_irq;	/* starts the work: the scheduler asks the filter */
static struct work_struct refused_work;

/* When to look next, and when the next report may come, in jiffies. */
static unsigned long next_look;
static unsigned long next_report;

/* True if that time is not reached, which is less than an hour away: jiffies wrap on 32 bits. */
static bool is_ahead(unsigned long time)
{
	return time_in_range_open(jiffies, time - REPORT_SECONDS * HZ, time);
}

static bool has_waiting(const struct pmu *pmu, const struct perf_event_context *context)
{
	const struct perf_event *event;

	if (!context)
		return false;
	list_for_each_entry_rcu(event, &context->event_list, event_entry) {
		if (event->pmu == pmu && READ_ONCE(event->state) == PERF_EVENT_STATE_INACTIVE)
			return true;
	}
	return false;
}

/* True if an event waits for a counter of this CPU: one of the CPU, or of this thread. */
static bool waits_here(void)
{
	/* Pairs with learn_pmu(). */
	unsigned int i, nr = smp_load_acquire(&nr_pmus);
	bool waits = false;

	rcu_read_lock();
	for (i = 0; i < nr && !waits; i++)
		waits = has_waiting(pmus[i], perfctr_perf_context(pmus[i], smp_processor_id())) ||
			has_waiting(pmus[i], perfctr_perf_task_context(current));
	rcu_read_unlock();
	return waits;
}

/* perf asks a filter also where no event waits. */
void perfctr_perf_refused(const struct perf_event *event)
{
	if (is_ahead(READ_ONCE(next_look)))
		return;
	WRITE_ONCE(next_look, jiffies + LOOK_SECONDS * HZ);
	if (event || waits_here())
		irq_work_queue(&refused_irq);
}

static void start_report(struct irq_work *irq)
{
	queue_work(system_dfl_wq, &refused_work);
}

/* Another CPU may have asked for this work, and have set the next look, during the last report. */
static void report_refusal(struct work_struct *work)
{
	if (is_ahead(next_report) || !report())
		return;
	next_report = jiffies + REPORT_SECONDS * HZ;
	WRITE_ONCE(next_look, next_report);
}

bool perfctr_cpu_tells_refusals(void)
{
	return perfctr_driver->tells_refusals && !perfctr_perf_keeps && READ_ONCE(nr_pmus);
}

/* ---- begin and end ------------------------------------------------------------------ */

/* A failure is ignored: then nothing is known. */
void perfctr_perf_uses_init(perfctr_refusal_report *func)
{
	int state;

	report = func;
	init_irq_work(&refused_irq, start_report);
	INIT_WORK(&refused_work, report_refusal);
	next_look = jiffies;
	next_report = jiffies;

	state = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "vperfctr:perf", learn_pmu, NULL);
	if (state > 0)
		online_state = state;
}

void perfctr_perf_uses_exit(void)
{
	if (online_state)
		cpuhp_remove_state_nocalls(online_state);
	/* A filter that found the counters reserved may still be in perfctr_perf_refused(). */
	synchronize_rcu();
	irq_work_sync(&refused_irq);
	cancel_work_sync(&refused_work);
}

/* ---- uses ---------------------------------------------------------------------------- */

/* True if a counter is left to the watchdog, or to perf.  @idx is perf's number. */
static bool is_kept(unsigned int cpu, int idx)
{
	u64 kept = perfctr_cpu_info.watchdog_pmc | perfctr_cpu_info.watchdog_fixed << 32;

	if (perfctr_driver->is_kept)
		return perfctr_driver->is_kept(cpu, idx);
	return idx >= 0 && idx < 64 && kept & BIT_ULL(idx);
}

/*
 * Return what the watchdog has on a CPU, 0 if it is off there.  Its event may be among others that
 * are pinned to the CPU, in any order.  The list of those that are scheduled changes under a lock
 * of perf's, but that of all events is for RCU.
 */
static unsigned int watchdog_on_cpu(const struct pmu *pmu, unsigned int cpu)
{
	const struct perf_event_context *context = perfctr_perf_context(pmu, cpu);
	struct perf_event *event;
	unsigned int uses = 0;

	if (!context)
		return 0;
	rcu_read_lock();
	list_for_each_entry_rcu(event, &context->event_list, event_entry) {
		if (!perfctr_perf_shares(event->pmu, pmu, cpu) || !event->attr.pinned ||
		    !perfctr_is_watchdog(event))
			continue;
		if (READ_ONCE(event->state) == PERF_EVENT_STATE_INACTIVE)
			uses |= PERFCTR_PERF_WAITS;
		else if (READ_ONCE(event->state) == PERF_EVENT_STATE_ACTIVE)
			uses |= is_kept(cpu, READ_ONCE(event->hw.idx)) ? PERFCTR_PERF_KEPT :
									 PERFCTR_PERF_WATCHDOG;
	}
	rcu_read_unlock();
	return uses;
}

/* Return what the events of a CPU are.  They may begin and end meanwhile. */
static unsigned int uses_on_cpu(const struct pmu *pmu, unsigned int cpu)
{
	unsigned int uses = watchdog_on_cpu(pmu, cpu);
	int nr = perfctr_perf_nr_active(pmu, cpu);

	if (uses & (PERFCTR_PERF_KEPT | PERFCTR_PERF_WATCHDOG))
		nr--;
	return uses | (nr > 0 ? PERFCTR_PERF_EVENTS : 0);
}

unsigned int perfctr_perf_uses(void)
{
	unsigned int i, cpu, uses = nr_pmus ? PERFCTR_PERF_KNOWN : 0;

	cpus_read_lock();
	for (i = 0; i < nr_pmus; i++) {
		for_each_online_cpu(cpu)
			uses |= uses_on_cpu(pmus[i], cpu);
	}
	if (perfctr_driver->perf_reserves && !READ_ONCE(perfctr_reserved))
		uses |= PERFCTR_PERF_IDLE;
	if (perfctr_guests_refused())
		uses |= PERFCTR_PERF_GUEST;
	cpus_read_unlock();
	return uses;
}
