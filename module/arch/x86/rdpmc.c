// SPDX-License-Identifier: GPL-2.0
/*
 * User-mode RDPMC by process, and the processes that could see what the counters of
 * others hold.
 *
 * CR4.PCE follows mm->context.perf_rdpmc_allowed: the kernel updates it when it switches
 * to an mm from a different one.  We raise that count for an mm while a state of one of
 * its threads is mapped and counts.  Such a state has a share of the hardware.  So the
 * hardware is released when all rights have been withdrawn, and the release has no other
 * process to visit.  cr4-pce.c passes a change on to the CPUs that have the mm loaded, as
 * perf does for its mappings.
 *
 * An administrator can forbid RDPMC: the "rdpmc" attribute of the cpu PMU in sysfs is 0.
 * Then the next switch from a different mm clears the bit, and the page reports that.
 */
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/workqueue.h>
#include <asm/mmu_context.h>

#include "../../compat/dirty-counters.h"
#include "../../compat/workqueue.h"
#include "../common/users.h"
#include "regs.h"
#include "rdpmc.h"
#include "x86.h"

union perfctr_x86_watch perfctr_x86_watch __read_mostly;
bool perfctr_x86_rdpmc_always __read_mostly;

static void stop_free_counters(struct irq_work *work);
static struct irq_work stop_free = { .func = stop_free_counters };

/* ---- rdpmc=2 --------------------------------------------------------------- */

/*
 * The number of withdrawals of the right that have begun, and whose CPUs have not been
 * asked yet.  Such a CPU may still have CR4.PCE set for the mm.
 */
static atomic_t withdrawals;

static void set_always(bool always)
{
	/* CPUs may write these two at the same time: the next one that looks sees to it. */
	if (always == READ_ONCE(perfctr_x86_rdpmc_always) &&
	    (!perfctr_isolate || always == READ_ONCE(perfctr_x86_watch.always)))
		return;
	WRITE_ONCE(perfctr_x86_rdpmc_always, always);
	if (!perfctr_isolate)
		return;
	WRITE_ONCE(perfctr_x86_watch.always, always);
	if (always)
		irq_work_queue(&stop_free);
}

/* True if CR4.PCE of this CPU may be late.  Context: preemption disabled. */
static bool is_late_here(void)
{
	return atomic_read(&withdrawals) || perfctr_x86_pce_is_late();
}

/*
 * Infer from CR4.PCE that rdpmc=2 is in force.  This can be wrong: perf withdraws its own
 * right from an mm before it interrupts the CPUs.  A resume in between finds CR4.PCE set, as
 * nothing tells how long perf takes.  That happens only where the counters are claimed, with
 * version 6 and beside the NMI watchdog: perf may have events meanwhile.
 *
 * The error clears counters more often than needed.  So no withdrawal may depend on it:
 * see perfctr_own_changed().  The next one corrects it: see perfctr_x86_deny_always().
 */
void perfctr_x86_infer_always(void)
{
	if (!is_late_here())
		set_always(true);
}

/*
 * Note that rdpmc=2 is not in force: the kernel has switched this CPU to an mm, and CR4.PCE is
 * clear.
 */
void perfctr_x86_deny_always(void)
{
	set_always(false);
}

/* Find out whether rdpmc=2 is in force: then RDPMC works for an mm that is not allowed it. */
static void look_for_always(void)
{
	preempt_disable();
	if (!perfctr_x86_rdpmc_allowed(current->mm) && !is_late_here())
		set_always(perfctr_user_rdpmc());
	preempt_enable();
}

/* ---- what earlier threads left -------------------------------------------- */

/*
 * With isolation, each suspend clears its counters while another process could look at
 * them: see perfctr_x86_watched().  Counts that earlier suspends left must be cleared
 * before a new process can look.  That interrupts the CPUs on which counters were loaded since
 * they were last cleared.
 *
 * A user can map and unmap a page in a loop, or start processes that do so.  So other
 * CPUs are interrupted a few times only.  After that the level stays at the highest, at
 * which all suspends clear, until no process has unmapped its last page for a second.
 */
#define MAX_INTERRUPTIONS	4

static atomic_t nr_mms;

/*
 * Serialises changes of the level.  Held over the interrupts that clear counters, which
 * processes that map their first page at the same time must wait for.
 */
static DEFINE_MUTEX(level_mutex);

/* The level is the highest, and all that was left before has been cleared. */
static bool settled;

/* How often other CPUs were interrupted since the level last fell. */
static unsigned int interruptions;

static void lower_level(struct work_struct *work);
static DECLARE_DELAYED_WORK(lower_work, lower_level);

/* When a process last unmapped its last page, in jiffies. */
static unsigned long last_removal;

static void set_level(unsigned int level)
{
	if (level != perfctr_x86_watch.watchers)
		WRITE_ONCE(perfctr_x86_watch.watchers, level);
}

/*
 * Let the level fall a second from now.  A change of a timer at each unmapping would cost
 * more than all the rest.  So a timer that runs stays, and the work looks at the time.
 */
static void lower_later(void)
{
	WRITE_ONCE(last_removal, jiffies);
	/*
	 * The work is not pending any more when it starts, and then executes a full barrier.
	 * So it sees this time, or is queued here.
	 */
	smp_mb();
	if (!delayed_work_pending(&lower_work))
		queue_delayed_work(system_dfl_wq, &lower_work, HZ);
}

/*
 * Let suspends clear counters from here on, and clear what earlier ones left.  A process
 * that has lost the right to RDPMC, but not on all CPUs yet, can look, too.
 */
static void raise_level(void)
{
	bool several = atomic_read(&nr_mms) > 1 || !perfctr_x86_pce_idle() ||
		       interruptions >= MAX_INTERRUPTIONS;

	set_level(several ? 2 : max_t(unsigned int, 1, perfctr_x86_watch.watchers));
	/*
	 * Pairs with perfctr_x86_mark_holder() in a resume, before the next suspend there: a
	 * CPU without a mark sees the new level.
	 */
	smp_mb();
	if (perfctr_x86_scrub())
		interruptions++;
	if (!several)
		return;
	/* Pairs with perfctr_mm_added(), which then need not wait. */
	smp_store_release(&settled, true);
	lower_later();
}

/* Lower the level once a second without an unmapping has passed. */
static void lower_level(struct work_struct *work)
{
	unsigned long due = READ_ONCE(last_removal) + HZ, now = jiffies;

	if (time_before(now, due)) {
		queue_delayed_work(system_dfl_wq, &lower_work, due - now);
		return;
	}
	mutex_lock(&level_mutex);
	if (!perfctr_x86_pce_idle()) {
		queue_delayed_work(system_dfl_wq, &lower_work, HZ);
	} else {
		/* Pairs with perfctr_mm_added(): it sees this, or its count is seen here. */
		smp_store_mb(settled, false);
		set_level(min_t(unsigned int, perfctr_x86_watch.watchers, atomic_read(&nr_mms)));
		/* Pairs with perfctr_mm_added(): the level comes first. */
		smp_store_release(&settled, perfctr_x86_watch.watchers > 1);
		interruptions = 0;
	}
	mutex_unlock(&level_mutex);
}

/* Context: mmap(), so current->mm is the mm. */
void perfctr_mm_added(void)
{
	look_for_always();
	if (!perfctr_isolate)
		return;
	atomic_inc(&nr_mms);
	smp_mb__after_atomic();	/* pairs with smp_store_mb() in lower_level() */
	/* Pairs with the releases: what was left before has been cleared. */
	if (smp_load_acquire(&settled))
		return;
	mutex_lock(&level_mutex);
	if (!settled)
		raise_level();
	mutex_unlock(&level_mutex);
}

/* ---- what runs for no thread ----------------------------------------------- */

/*
 * Stop on all CPUs the counters that run for no thread.  They were left running while no process
 * could look, and it has turned out that processes can.
 */
static void stop_free_work(struct work_struct *work)
{
	mutex_lock(&level_mutex);
	smp_mb();	/* as in raise_level() */
	perfctr_x86_scrub();
	mutex_unlock(&level_mutex);
}

static DECLARE_DELAYED_WORK(stop_free_later, stop_free_work);

/*
 * Stop such counters a moment later: where they are claimed, a process can cause the error of
 * perfctr_x86_infer_always() over and over.
 */
static void stop_free_counters(struct irq_work *work)
{
	queue_delayed_work(system_dfl_wq, &stop_free_later, HZ / 10);
}

/*
 * A fork copies perf's right to RDPMC.  The probe takes it from the child.  But if the child has
 * got a mapping of perf's, too, by madvise(), the number of its rights is -1 when it ends that,
 * and RDPMC works for ever.  Where the counters are reserved, perf has no event then: so all
 * processes are looked at when they are reserved, if such a fork was seen, or may have come
 * before the module was loaded.  Where they are claimed, the end of that mapping is seen.
 */
static bool suspicious = true;

static void look_for_forgotten(void)
{
	if (!perfctr_isolate || perfctr_x86_perf_watches_maps() ||
	    (!READ_ONCE(suspicious) && !READ_ONCE(perfctr_x86_watch.forgotten)))
		return;
	WRITE_ONCE(suspicious, false);
	WRITE_ONCE(perfctr_x86_watch.forgotten, perfctr_x86_perf_any_rights());
}

void perfctr_x86_forgotten(void)
{
	if (!perfctr_isolate)
		return;
	WRITE_ONCE(perfctr_x86_watch.forgotten, true);
	irq_work_queue(&stop_free);
}

void perfctr_x86_mms_added(unsigned int nr)
{
	if (!perfctr_isolate || !nr)
		return;
	atomic_add(nr, &nr_mms);
	mutex_lock(&level_mutex);
	raise_level();
	mutex_unlock(&level_mutex);
}

void perfctr_mm_removed(void)
{
	if (!perfctr_isolate)
		return;
	atomic_dec(&nr_mms);
	lower_later();
}

/* ---- the right to RDPMC ---------------------------------------------------- */

static void end_withdrawal(void)
{
	smp_mb__before_atomic();	/* the CPUs have been asked: see is_late_here() */
	atomic_dec(&withdrawals);
	perfctr_x86_pce_wake();
}

bool perfctr_x86_is_withdrawing(void)
{
	return atomic_read(&withdrawals);
}

bool perfctr_own_changed(struct perfctr_user *user)
{
	atomic_t *allowed = &user->mm->context.perf_rdpmc_allowed;
	int left;

	if (user->own) {
		atomic_inc(allowed);
		return true;
	}
	atomic_inc(&withdrawals);
	/* Under rdpmc=2, too: that is inferred, and may be wrong. */
	left = atomic_dec_return(allowed);
	if (!left)
		return true;
	if (left < 0)
		perfctr_x86_forgotten();
	end_withdrawal();
	return false;
}

/*
 * Pass a change of the right on to the CPUs.  An mm without users needs that no more: its CPUs
 * leave it for another mm.
 */
void perfctr_own_followup(struct mm_struct *mm, bool allowed)
{
	if (atomic_read(&mm->mm_users))
		perfctr_x86_pce_follow(mm);
	if (!allowed)
		end_withdrawal();
}

void perfctr_x86_rdpmc_begin(void)
{
	look_for_forgotten();
	/*
	 * Before 5.14 a switch to an mm that may RDPMC does not clear what perf has left on
	 * that CPU.
	 */
	if (!PERFCTR_CLEARS_DIRTY)
		perfctr_prepare_all();
}

void perfctr_x86_rdpmc_end(void)
{
	perfctr_x86_pce_wait();
}

void perfctr_x86_rdpmc_exit(void)
{
	cancel_delayed_work_sync(&lower_work);
	irq_work_sync(&stop_free);
	cancel_delayed_work_sync(&stop_free_later);
}

/*
 * Withdraw the permission to RDPMC that fork has copied with the rest of the mm.  The
 * child has no mapping that entitles it: fork copies none of perf's, and ours are dead in
 * the child (see page-map.c).  Without this, the child could RDPMC until it ends.
 */
void perfctr_cpu_user_fork(struct mm_struct *mm)
{
	if (!atomic_read(&mm->context.perf_rdpmc_allowed))
		return;
	atomic_set(&mm->context.perf_rdpmc_allowed, 0);
	/* While the counters are reserved, perf has no event that the child could have mapped. */
	if (!READ_ONCE(perfctr_reserved))
		WRITE_ONCE(suspicious, true);
}
