// SPDX-License-Identifier: GPL-2.0
/*
 * The reservation of the hardware.  Each state whose control has counters holds a
 * share, and members of a family count by their root's.  The first share reserves the
 * counters, and the last one releases them.
 */
#include <linux/bitops.h>
#include <linux/cache.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/wait_bit.h>

#include "state.h"

static DEFINE_MUTEX(hardware_mutex);	/* held for the first share and the last one */
static refcount_t hardware_users ____cacheline_aligned_in_smp = REFCOUNT_INIT(0);

/*
 * Give the state a share, if it has none.
 *
 * Context: may sleep; the caller holds st->lock.
 * Return: 0, or an error of perfctr_cpu_reserve().
 */
int vperfctr_get_hardware(struct vperfctr_state *st)
{
	int err = 0;

	if (test_bit(STATE_HARDWARE, &st->bits))
		return 0;
	if (!refcount_inc_not_zero(&hardware_users)) {
		mutex_lock(&hardware_mutex);
		if (!refcount_inc_not_zero(&hardware_users)) {
			err = perfctr_cpu_reserve();
			if (!err)
				refcount_set(&hardware_users, 1);
		}
		mutex_unlock(&hardware_mutex);
	}
	if (!err)
		set_bit(STATE_HARDWARE, &st->bits);
	return err;
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
		/* Acquires the mutex only for the last share. */
		if (refcount_dec_and_mutex_lock(&hardware_users, &hardware_mutex)) {
			perfctr_cpu_release();
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
