// SPDX-License-Identifier: GPL-2.0
/*
 * Find out what perf uses the counters for, to say who has them.  This looks at perf's own
 * events and their number, so it holds on processors whose counters are reserved, too.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>

#include "../../compat/pmu-context.h"
#include "driver.h"
#include "find-pmu.h"
#include "guests.h"

/* One for each kind of CPU.  They stay registered as long as the kernel runs. */
#define MAX_PMUS	4

static struct pmu *pmus[MAX_PMUS];
static unsigned int nr_pmus;

static void learn_pmu(unsigned int cpu)
{
	struct pmu *pmu = perfctr_find_pmu(cpu);
	unsigned int i;

	if (IS_ERR_OR_NULL(pmu) || nr_pmus == MAX_PMUS)
		return;
	for (i = 0; i < nr_pmus; i++) {
		if (pmus[i] == pmu)
			return;
	}
	pmus[nr_pmus++] = pmu;
}

void perfctr_perf_uses_init(void)
{
	unsigned int cpu;

	cpus_read_lock();
	for_each_online_cpu(cpu) {
		learn_pmu(cpu);
		if (perfctr_cpu_info.nrkinds < 2)
			break;
	}
	cpus_read_unlock();
}

/* True if a counter is left to the watchdog.  @idx is the number that perf gives it on x86. */
static bool is_kept(int idx)
{
	u64 kept = perfctr_cpu_info.watchdog_pmc | perfctr_cpu_info.watchdog_fixed << 32;

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
		if (event->pmu != pmu || !event->attr.pinned || !perfctr_is_watchdog(event))
			continue;
		if (READ_ONCE(event->state) == PERF_EVENT_STATE_INACTIVE)
			uses |= PERFCTR_PERF_WAITS;
		else if (READ_ONCE(event->state) == PERF_EVENT_STATE_ACTIVE)
			uses |= is_kept(READ_ONCE(event->hw.idx)) ? PERFCTR_PERF_KEPT :
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
