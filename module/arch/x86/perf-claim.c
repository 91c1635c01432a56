// SPDX-License-Identifier: GPL-2.0
/*
 * Claim the counters from perf where the kernel's reservation of registers does not help.
 *
 * From 6.11 on perf accesses the counters of version 6 through addresses that
 * reserve_perfctr_nmi() does not know.  And while the NMI watchdog runs, perf has reserved
 * all registers for it.  So this works as on arm64.  While the module is loaded, five
 * functions of perf's PMU point to ours, which call perf's own functions unless the
 * counters are reserved.  A hybrid processor has a struct pmu for each kind of CPU, all
 * with the same functions.
 *
 * A reservation interrupts no CPU.  It sets a flag, which keeps perf from scheduling
 * events, also pinned ones.  Then it looks for events that are scheduled on any CPU, and
 * fails if there is one.  A CPU that schedules an event at this very moment may be missed.
 * So each CPU looks once more when its counters are claimed.  perf schedules events with
 * interrupts disabled, so none can come between.
 *
 * perf's interrupt handler runs while there are events, also if none is scheduled.  It
 * stops all counters, and starts them again unless perf has disabled its PMU.  So the PMU
 * is disabled while the CPU is claimed.  The functions that enable and disable it, which
 * perf calls whenever it schedules events, then do nothing.
 *
 * Without a register that stops all counters, perf's handler stops none.  To disable the PMU
 * would stop the watchdog's counter by its event select.  So the PMU stays enabled there, and
 * perf can also stop and start that counter, if it has throttled the event.
 *
 * The watchdog's event stays on its counter, which the module does not use: see `kept` of
 * struct perfctr_x86_pmu.  perf's interrupt handler, which the kernel calls before ours,
 * serves it.  Ours then undoes the stop of the other counters.  If perf takes the event off
 * while the CPU is claimed, or it begins then, the filter keeps it off until perf-admit.c lets it
 * begin.  The release reschedules all events that have waited.
 */
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <asm/mmu.h>

#include "../../compat/exec-lock.h"
#include "../../compat/perf-mapped.h"
#include "../../compat/pmu.h"
#include "../../compat/pmu-context.h"
#include "../common/find-pmu.h"
#include "../common/perf-wait.h"
#include "../common/users.h"
#include "x86.h"

/* The PMUs found so far.  A PMU is added before any CPU that it drives can be claimed. */
#define MAX_PMUS	4

static struct pmu *pmus[MAX_PMUS];
static unsigned int nr_pmus;

/* perf's own functions, besides the filter. */
static void (*their_enable)(struct pmu *pmu);
static void (*their_disable)(struct pmu *pmu);
static int (*their_add)(struct perf_event *event, int flags);
static void (*their_del)(struct perf_event *event, int flags);

/* True while the counters are reserved, on all CPUs but the forbidden ones. */
static bool is_reserved;

/* True if this CPU is claimed.  Written on that CPU. */
static DEFINE_PER_CPU(bool, is_claimed);

/* ---- replacements of perf's functions --------------------------------------- */

/* These run with interrupts disabled. */

/* See compat/pmu.h. */
static bool perfctr_perf_may_begin(void)
{
	unsigned int cpu = smp_processor_id();

	smp_rmb();	/* pairs with step_in(): this must find perf's own function */
	if (!READ_ONCE(is_reserved) || cpumask_test_cpu(cpu, &perfctr_forbid_cpus))
		return true;
	if (perfctr_x86_admits())
		return true;
	/* Pairs with the release: it finds this CPU, or this finds that it has happened. */
	perfctr_perf_turned_away();
	if (!READ_ONCE(is_reserved))
		return true;
	if (!perfctr_x86_admit_ask())
		perfctr_perf_refused(NULL);
	return false;
}

static bool belongs_to_perf(void)
{
	smp_rmb();	/* pairs with step_in(), as above */
	return !this_cpu_read(is_claimed);
}

static void divert_enable(struct pmu *pmu)
{
	if (belongs_to_perf())
		their_enable(pmu);
	perfctr_x86_admit_end();
}

static void divert_disable(struct pmu *pmu)
{
	perfctr_x86_admit_begin();
	if (belongs_to_perf())
		their_disable(pmu);
}

static int divert_add(struct perf_event *event, int flags)
{
	return perfctr_x86_admit_refuses(event) ? -EAGAIN : their_add(event, flags);
}

/* The watchdog is stopped, or an event that is pinned to this CPU takes it off. */
static void divert_del(struct perf_event *event, int flags)
{
	int idx = event->hw.idx;

	their_del(event, flags);
	if (!belongs_to_perf())
		perfctr_x86_pmc_unkept(idx);
}

/* ---- processes that may RDPMC by a mapping of perf's ----------------------------- */

/*
 * A process that has mapped an event of its own may RDPMC, also while the event waits.  The
 * values that threads leave in the counters must be cleared then, as for a process with a mapped
 * page of ours.  These two may sleep; current has locked its mm, or ends.
 */
static void (*their_event_mapped)(struct perf_event *event, struct mm_struct *mm);
static void (*their_event_unmapped)(struct perf_event *event, struct mm_struct *mm);

/* The threads in these two. */
static atomic_t nr_mapping = ATOMIC_INIT(0);

static bool watches_maps;

/* Held by these two; for writing to count older mappings, of which none begins or ends then. */
static DECLARE_RWSEM(maps_sem);
static bool counted_maps;		/* these have been counted */

static bool gives_rdpmc(const struct perf_event *event)
{
	return event->hw.flags & PERFCTR_EVENT_USER_READ;
}

/*
 * Let perf map an event.  Each mapping that gives RDPMC counts as a process with a page, so clear
 * the counters before perf gives the right.
 */
static void divert_event_mapped(struct perf_event *event, struct mm_struct *mm)
{
	atomic_inc(&nr_mapping);
	smp_rmb();	/* pairs with watch_maps_of() */
	down_read(&maps_sem);
	if (counted_maps && gives_rdpmc(event))
		perfctr_mm_added();
	their_event_mapped(event, mm);
	up_read(&maps_sem);
	atomic_dec(&nr_mapping);
}

static void divert_event_unmapped(struct perf_event *event, struct mm_struct *mm)
{
	atomic_inc(&nr_mapping);
	smp_rmb();	/* pairs with watch_maps_of() */
	down_read(&maps_sem);
	their_event_unmapped(event, mm);
	if (counted_maps && gives_rdpmc(event)) {
		/* A fork has copied the mapping, and the probe has taken the right for it. */
		if (atomic_read(&mm->context.perf_rdpmc_allowed) < 0)
			perfctr_x86_forgotten();
		perfctr_mm_removed();
	}
	up_read(&maps_sem);
	atomic_dec(&nr_mapping);
}

/* The result of rights_of() for a process that has left its mm, and may be ending its mappings. */
#define ENDS		INT_MAX

/* Return the number of rights that a process has by mappings, or ENDS. */
static int rights_of(struct task_struct *process)
{
	struct task_struct *thread;
	int nr = 0;

	if (process->flags & PF_KTHREAD)
		return 0;
	for_each_thread(process, thread) {
		bool found;

		task_lock(thread);
		found = thread->mm;
		if (found)
			nr = atomic_read(&thread->mm->context.perf_rdpmc_allowed);
		task_unlock(thread);
		if (found)
			break;
		/*
		 * The thread that leaves the mm as the last one ends the mappings.  It need not be
		 * the first thread, which may have ended long before.
		 */
		if (!READ_ONCE(thread->exit_state))
			nr = ENDS;
	}
	return nr;
}

/*
 * Count the rights by mappings that there are.  The module has given no right yet.
 *
 * Context: maps_sem is held for writing.
 * Return: false if a process ends an mm, whose mappings are not known.
 */
static bool count_older_maps(unsigned int *sum)
{
	struct task_struct *process;
	bool known = true;
	int nr;

	*sum = 0;
	rcu_read_lock();
	for_each_process(process) {
		nr = rights_of(process);
		/*
		 * An exec has the new mm before it ends the mappings of the old one, and holds
		 * this lock meanwhile.  Where rights_of() finds the new mm, it has the lock.
		 */
		if (nr == ENDS || perfctr_exec_locked(process))
			known = false;
		else if (nr >= 0)
			*sum += nr;
		else
			perfctr_x86_forgotten();	/* for ever: see rdpmc.c */
	}
	rcu_read_unlock();
	return known;
}

bool perfctr_x86_perf_any_rights(void)
{
	struct task_struct *process;
	bool any = false;
	int nr;

	rcu_read_lock();
	for_each_process(process) {
		nr = rights_of(process);
		any = nr && nr != ENDS;
		if (any)
			break;
	}
	rcu_read_unlock();
	return any;
}

bool perfctr_x86_perf_watches_maps(void)
{
	return watches_maps;
}

static void watch_maps_of(struct pmu *pmu)
{
	smp_wmb();	/* pairs with divert_event_mapped() */
	WRITE_ONCE(pmu->event_mapped, divert_event_mapped);
	WRITE_ONCE(pmu->event_unmapped, divert_event_unmapped);
}

#define MAX_LOOKS	20

/*
 * Begin to count mappings as they are made and end, with those that there are.  The mappings of a
 * process that is ending, or in an exec, would be subtracted without having been added: wait for
 * that.  If there is always one, let all suspends clear from here on.
 */
static void count_maps(void)
{
	unsigned int looks, sum;
	bool known;

	for (looks = 1; !counted_maps; looks++) {
		down_write(&maps_sem);
		known = count_older_maps(&sum);
		if (!known && looks == MAX_LOOKS)
			perfctr_x86_forgotten();
		if (known || looks == MAX_LOOKS) {
			perfctr_x86_mms_added(sum);
			counted_maps = true;
		}
		up_write(&maps_sem);
		if (!counted_maps)
			msleep(20);
	}
}

void perfctr_x86_perf_watch_maps(void)
{
	unsigned int i;

	watches_maps = true;
	for (i = 0; i < nr_pmus; i++)
		watch_maps_of(pmus[i]);
	/*
	 * A thread that has read perf's own function before does not sleep before that has given
	 * the right, or taken it.
	 */
	synchronize_rcu_tasks();
	count_maps();
}

static void unwatch_maps(void)
{
	unsigned int i;

	if (!watches_maps)
		return;
	watches_maps = false;
	for (i = 0; i < nr_pmus; i++) {
		WRITE_ONCE(pmus[i]->event_unmapped, their_event_unmapped);
		WRITE_ONCE(pmus[i]->event_mapped, their_event_mapped);
	}
	/*
	 * A thread that has read the pointer does not sleep before it is counted, and not
	 * after it is not counted any more.
	 */
	synchronize_rcu_tasks();
	while (atomic_read(&nr_mapping))
		msleep(20);
	synchronize_rcu_tasks();
}

/* ---- diverting ----------------------------------------------------------------- */

static void step_in(struct pmu *pmu)
{
	smp_wmb();	/* pairs with belongs_to_perf() and others */
	perfctr_filter_step_in(pmu);
	WRITE_ONCE(pmu->pmu_enable, divert_enable);
	WRITE_ONCE(pmu->pmu_disable, divert_disable);
	WRITE_ONCE(pmu->add, divert_add);
	WRITE_ONCE(pmu->del, divert_del);
	if (watches_maps)
		watch_maps_of(pmu);
}

void perfctr_x86_perf_step_out(void)
{
	while (nr_pmus) {
		struct pmu *pmu = pmus[--nr_pmus];

		WRITE_ONCE(pmu->del, their_del);
		WRITE_ONCE(pmu->add, their_add);
		WRITE_ONCE(pmu->pmu_disable, their_disable);
		WRITE_ONCE(pmu->pmu_enable, their_enable);
		perfctr_filter_step_out(pmu);
	}
	/* The replacements run with interrupts disabled: none does any more after this. */
	synchronize_rcu();
}

/* Begin, which has cpus_read_lock(), must not wait for the worker. */
void perfctr_x86_perf_end(void)
{
	perfctr_x86_admit_settle();
	perfctr_perf_wait_end();
	unwatch_maps();
	perfctr_x86_perf_step_out();
}

/* ---- finding the PMUs ------------------------------------------------------- */

static bool is_known(const struct pmu *pmu)
{
	unsigned int i;

	for (i = 0; i < nr_pmus; i++) {
		if (pmus[i] == pmu)
			return true;
	}
	return false;
}

int perfctr_x86_perf_find(unsigned int cpu)
{
	struct pmu *pmu = perfctr_find_pmu(cpu);

	/* If lockdown forbids the event, or memory is short, there may be a PMU. */
	if (IS_ERR(pmu))
		return PTR_ERR(pmu);
	if (!pmu || is_known(pmu))
		return 0;
	if (!nr_pmus) {
		their_enable = pmu->pmu_enable;
		their_disable = pmu->pmu_disable;
		their_add = pmu->add;
		their_del = pmu->del;
		their_event_mapped = pmu->event_mapped;
		their_event_unmapped = pmu->event_unmapped;
		perfctr_filter_save(pmu);
	} else if (nr_pmus == MAX_PMUS || pmu->pmu_enable != their_enable ||
		   pmu->pmu_disable != their_disable || pmu->add != their_add ||
		   pmu->del != their_del ||
		   pmu->event_mapped != their_event_mapped ||
		   pmu->event_unmapped != their_event_unmapped ||
		   !perfctr_filter_is_saved(pmu)) {
		return -EBUSY;
	}
	pmus[nr_pmus] = pmu;
	/* Pairs with is_busy(): the PMU comes before its number. */
	smp_store_release(&nr_pmus, nr_pmus + 1);
	step_in(pmu);
	return 0;
}

struct pmu *perfctr_x86_perf_pmu(unsigned int i)
{
	/* Pairs with perfctr_x86_perf_find(): the PMU comes before its number. */
	return i < smp_load_acquire(&nr_pmus) ? pmus[i] : NULL;
}

bool perfctr_x86_perf_is_reserved(void)
{
	return READ_ONCE(is_reserved);
}

/* ---- claiming and releasing ------------------------------------------------- */

/* The result of counters_of_perf() if perf has other events than the watchdog's. */
#define OTHER_EVENTS	(~0ULL)

/* Return the bit of an event's counter in the global registers. */
static u64 counter_of(const struct perf_event *event)
{
	int idx = READ_ONCE(event->hw.idx);

	return idx >= 0 && idx < 32 + PERFCTR_X86_MAX_FIXED ? BIT_ULL(idx) : OTHER_EVENTS;
}

/*
 * Return the counters that perf uses on a CPU: none, the watchdog's, or OTHER_EVENTS.  Exact
 * on that CPU.  An event that has just been taken off elsewhere is freed after a grace period.
 */
static u64 counters_of_perf(const struct pmu *pmu, unsigned int cpu)
{
	const struct list_head *pinned = perfctr_perf_pinned(pmu, cpu), *first;
	int nr = perfctr_perf_nr_active(pmu, cpu);
	u64 counters = OTHER_EVENTS;

	if (!nr)
		return 0;
	rcu_read_lock();
	first = READ_ONCE(pinned->next);
	if (nr == 1 && first != pinned) {
		struct perf_event *event = list_entry(first, struct perf_event, active_list);

		if (perfctr_is_watchdog(event))
			counters = counter_of(event);
	}
	rcu_read_unlock();
	return counters;
}

/* True if perf has an event on a CPU whose counter does not stay with it. */
static bool is_busy(unsigned int cpu)
{
	/* Pairs with perfctr_x86_perf_find(). */
	unsigned int i, nr = smp_load_acquire(&nr_pmus);

	for (i = 0; i < nr; i++) {
		if (counters_of_perf(pmus[i], cpu) & ~perfctr_x86_pmu.kept)
			return true;
	}
	return false;
}

static bool is_busy_anywhere(void)
{
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		if (!cpumask_test_cpu(cpu, &perfctr_forbid_cpus) && is_busy(cpu))
			return true;
	}
	return false;
}

/* Add the counter of this CPU's watchdog, beside which there may be other events. */
static void look_for_watchdog(void *found)
{
	u64 *counters = found;
	unsigned int i;

	for (i = 0; i < nr_pmus; i++) {
		const struct list_head *pinned = perfctr_perf_pinned(pmus[i], smp_processor_id());
		struct perf_event *event;

		list_for_each_entry(event, pinned, active_list) {
			if (perfctr_is_watchdog(event))
				*counters |= counter_of(event);
		}
	}
}

/* A period that has not ended when the event is closed. */
#define LONG_PERIOD		(U64_MAX >> 1)

/* Add the counter that the watchdog of a CPU will have: that of an event like its own. */
static void look_for_its_place(unsigned int cpu, u64 *counters)
{
	struct perf_event *event = perfctr_perf_open_pinned(cpu, LONG_PERIOD, NULL);

	if (IS_ERR(event))
		return;
	smp_call_function_single(cpu, look_for_watchdog, counters, 1);
	perf_event_release_kernel(event);
}

/*
 * Beside a watchdog that runs, an event like its own would get another counter.  Beside another
 * event that is pinned to a CPU it may, too, or get none: the watchdog could not begin later.
 */
u64 perfctr_x86_perf_watchdog(void)
{
	u64 counters = 0;
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		if (!cpumask_test_cpu(cpu, &perfctr_forbid_cpus))
			smp_call_function_single(cpu, look_for_watchdog, &counters, 1);
	}
	if (counters || !perfctr_must_keep_watchdog())
		return counters == OTHER_EVENTS ? 0 : counters;
	for_each_online_cpu(cpu) {
		if (!cpumask_test_cpu(cpu, &perfctr_forbid_cpus))
			look_for_its_place(cpu, &counters);
	}
	return perfctr_x86_can_admit(counters) ? counters : 0;
}

void perfctr_x86_perf_settle(void)
{
	perfctr_x86_admit_settle();
	perfctr_perf_settle();
}

int perfctr_x86_perf_reserve(void)
{
	/* An attempt that fails must not keep perf out, not even for a moment. */
	if (is_busy_anywhere())
		goto busy;
	/* Pairs with the count of perf's events, which follows the filter's look at this. */
	smp_store_mb(is_reserved, true);
	if (!is_busy_anywhere()) {
		perfctr_x86_admit_reserved();
		return 0;
	}
busy:
	perfctr_x86_perf_release();	/* also lets perf try again what was refused meanwhile */
	perfctr_x86_report_busy();
	return -EBUSY;
}

void perfctr_x86_perf_release(void)
{
	smp_store_mb(is_reserved, false);	/* pairs with perfctr_perf_may_begin() */
	perfctr_perf_reschedule();
}

/* True if perf's PMU is disabled while a CPU is claimed. */
static bool is_disabled_by_claim(void)
{
	return perfctr_x86_pmu.global_ctrl;
}

bool perfctr_x86_perf_claim(void)
{
	if (is_busy(smp_processor_id()))
		return false;
	if (nr_pmus && is_disabled_by_claim())
		their_disable(pmus[0]);
	this_cpu_write(is_claimed, true);
	return true;
}

void perfctr_x86_perf_unclaim(void)
{
	this_cpu_write(is_claimed, false);
	if (nr_pmus && is_disabled_by_claim())
		their_enable(pmus[0]);
}
