// SPDX-License-Identifier: GPL-2.0
/*
 * The reservation of the hardware.  Each state whose control has counters holds a
 * share.  Members of a family count by their root's, unless they have been opened.  The
 * first share reserves the counters, and the last one releases them.
 *
 * Sets of CPUs have shares, too.  Threads and sets exclude each other: the counters of a set
 * stay loaded on its CPUs, and a context switch of a counted thread would change them.
 */
#include <linux/bitops.h>
#include <linux/cache.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#include "compat/workqueue.h"
#include "cpus.h"
#include "family.h"
#include "overflow.h"
#include "page.h"
#include "reservation.h"
#include "state.h"

static DEFINE_MUTEX(hardware_mutex);	/* held for the first share and the last one */
static refcount_t hardware_users ____cacheline_aligned_in_smp = REFCOUNT_INIT(0);
static unsigned int hardware_sets;	/* of CPUs, under hardware_mutex; 0 while there are users */

/* ---- the first share and the last one ------------------------------------ */

/* The probe of context switches stays that long after the last share. */
#define UNWATCH_DELAY	(10 * HZ)

static void unwatch_if_unused(struct work_struct *work)
{
	mutex_lock(&hardware_mutex);
	if (!refcount_read(&hardware_users))
		vperfctr_unwatch_switches();
	mutex_unlock(&hardware_mutex);
}

static DECLARE_DELAYED_WORK(unwatch_work, unwatch_if_unused);

static void unwatch_later(void)
{
	if (perfctr_remembers)
		mod_delayed_work(system_dfl_wq, &unwatch_work, UNWATCH_DELAY);
}

/* Reserve the counters for threads.  Context: hardware_mutex is held. */
static int reserve_for_threads(void)
{
	int err;

	if (hardware_sets)
		return -EBUSY;
	/* First: a refusal must not patch a tracepoint.  No state counts before the return. */
	err = perfctr_cpu_reserve();
	if (err)
		return err;
	err = vperfctr_watch_switches();
	if (err)
		perfctr_cpu_release();
	return err;
}

/* Context: as above; no state has a share. */
static void release_for_threads(void)
{
	perfctr_cpu_release();
	unwatch_later();
}

/* Context: no states exist. */
void vperfctr_hardware_exit(void)
{
	cancel_delayed_work_sync(&unwatch_work);
	vperfctr_unwatch_switches();
}

/*
 * Refuse early what vperfctr_get_hardware() will refuse because CPUs are counted.
 *
 * Return: 0 or -EBUSY; either may be outdated at once.
 */
int vperfctr_may_get_hardware(void)
{
	return READ_ONCE(hardware_sets) ? -EBUSY : 0;
}

/* ---- shares --------------------------------------------------------------- */

/*
 * Give the state a share, if it has none.
 *
 * Context: may sleep; the caller holds st->lock.
 * Return: 0, or an error of perfctr_cpu_reserve(), -EBUSY if CPUs are counted, or -ENOMEM.
 */
int vperfctr_get_hardware(struct vperfctr_state *st)
{
	int err = 0;

	if (test_bit(STATE_HARDWARE, &st->bits))
		return 0;
	if (!refcount_inc_not_zero(&hardware_users)) {
		mutex_lock(&hardware_mutex);
		if (!refcount_inc_not_zero(&hardware_users)) {
			err = reserve_for_threads();
			if (!err) {
				refcount_set(&hardware_users, 1);
				vperfctr_report_holder();
			}
		}
		mutex_unlock(&hardware_mutex);
	}
	if (!err) {
		vperfctr_hold(st);
		vperfctr_allow_reads(st, true);
		set_bit(STATE_HARDWARE, &st->bits);
	}
	return err;
}

/*
 * Give a state that gets a descriptor a share of its own.  A member of a family counts by
 * its root's share.  But its mapping would give user-mode reads, and these must end before
 * the share that they depend on.
 *
 * Context: may sleep.
 * Return: 0, or -EINTR.
 */
int vperfctr_share_hardware(struct vperfctr_state *st)
{
	if (!READ_ONCE(st->root) || test_bit(STATE_HARDWARE, &st->bits))
		return 0;
	if (mutex_lock_killable(&st->lock))
		return -EINTR;
	/* This call cannot fail while the root has a share. */
	if (st->root && perfctr_nrctrs(&st->cpu_state.control))
		vperfctr_get_hardware(st);
	smp_mb();	/* the share, or the end of the owner, is visible to the other side */
	if (!READ_ONCE(st->owner))
		vperfctr_release_unused(st);
	mutex_unlock(&st->lock);
	return 0;
}

/*
 * Release the state's share, if it has one.  When this returns the state has none, even
 * if another thread released it.  So a close that races with the worker, which finishes
 * the owner's exit, waits for the worker.
 *
 * Context: may sleep; the state's counters have stopped for good.
 */
void vperfctr_release_hardware(struct vperfctr_state *st)
{
	if (!test_bit(STATE_HARDWARE, &st->bits))
		return;
	if (test_and_set_bit(STATE_RELEASING, &st->bits)) {
		wait_on_bit(&st->bits, STATE_RELEASING, TASK_UNINTERRUPTIBLE);
		return;
	}
	if (test_bit(STATE_HARDWARE, &st->bits)) {
		vperfctr_allow_reads(st, false);
		vperfctr_unhold(st);
		/* Acquires the mutex only for the last share. */
		if (refcount_dec_and_mutex_lock(&hardware_users, &hardware_mutex)) {
			release_for_threads();
			mutex_unlock(&hardware_mutex);
		}
		smp_mb__before_atomic();	/* the release must be visible first */
		clear_bit(STATE_HARDWARE, &st->bits);
	}
	clear_and_wake_up_bit(STATE_RELEASING, &st->bits);
}

/*
 * Release the share of a root that has neither a thread nor members: they all count by
 * this share.  The owner's end, and the end of the last member, come here after they
 * have changed the family.
 *
 * Context: may sleep.
 */
void vperfctr_release_unused(struct vperfctr_state *st)
{
	if (vperfctr_family_is_over(st))
		vperfctr_release_hardware(st);
}

/*
 * Give a set of CPUs a share.
 *
 * @ihandler: the handler of overflows while there are sets, the same for all
 *
 * Context: may sleep.
 * Return: 0, or an error of perfctr_cpu_reserve(), or -EBUSY if threads have shares.
 */
int vperfctr_get_cpu_hardware(struct vperfctr_cpus_holder *holder, perfctr_ihandler *ihandler)
{
	int err = 0;

	mutex_lock(&hardware_mutex);
	if (refcount_read(&hardware_users))
		err = -EBUSY;
	else if (!hardware_sets)
		err = perfctr_cpu_reserve();
	/* No state of a thread can overflow while there are sets, nor the other way round. */
	if (!err && !hardware_sets) {
		perfctr_cpu_set_ihandler(ihandler);
		vperfctr_report_holder();
	}
	if (!err) {
		WRITE_ONCE(hardware_sets, hardware_sets + 1);
		vperfctr_hold_cpus(holder);
	}
	mutex_unlock(&hardware_mutex);
	return err;
}

/*
 * Release the hardware for a set of CPUs; the last one gives the counters back.
 *
 * Context: may sleep; the counters of the set have stopped.
 */
void vperfctr_release_cpu_hardware(struct vperfctr_cpus_holder *holder)
{
	vperfctr_unhold_cpus(holder);
	mutex_lock(&hardware_mutex);
	WRITE_ONCE(hardware_sets, hardware_sets - 1);
	if (!hardware_sets) {
		perfctr_cpu_set_ihandler(vperfctr_handle_overflow);
		perfctr_cpu_release();
	}
	mutex_unlock(&hardware_mutex);
}
