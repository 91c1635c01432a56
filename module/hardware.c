// SPDX-License-Identifier: GPL-2.0
/*
 * The reservation of the hardware.  Each state whose control has counters holds a
 * share; the first share reserves the counters, and the last one releases them.
 */
#include <linux/bitops.h>
#include <linux/mutex.h>
#include <linux/refcount.h>

#include "state.h"

static DEFINE_MUTEX(hardware_mutex);	/* held to take the first share, and to release any */
static refcount_t hardware_users = REFCOUNT_INIT(0);

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
 * Give a new state a share.
 *
 * Context: the caller keeps another state from releasing its share.
 */
void vperfctr_share_hardware(struct vperfctr_state *st)
{
	refcount_inc(&hardware_users);
	set_bit(STATE_HARDWARE, &st->bits);
}

/*
 * Release the state's share, if it has one.  When this returns the state has none, even
 * if another thread released it.  The bit is cleared last.  So a close that races with
 * the worker, which finishes the owner's exit, finds it set and waits for the worker.
 *
 * Context: may sleep; the state's counters have stopped for good.
 */
void vperfctr_release_hardware(struct vperfctr_state *st)
{
	if (!test_bit(STATE_HARDWARE, &st->bits))
		return;
	mutex_lock(&hardware_mutex);
	if (test_bit(STATE_HARDWARE, &st->bits)) {
		if (refcount_dec_and_test(&hardware_users))
			perfctr_cpu_release();
		smp_mb__before_atomic();	/* the release must be visible first */
		clear_bit(STATE_HARDWARE, &st->bits);
	}
	mutex_unlock(&hardware_mutex);
}
