// SPDX-License-Identifier: GPL-2.0
/*
 * The reservation of the hardware.  Each state whose control has counters holds a
 * share; the first share reserves the counters, and the last one releases them.
 */
#include <linux/bitops.h>
#include <linux/mutex.h>
#include <linux/refcount.h>

#include "state.h"

/* States that have a control with counters hold a share each. */
static DEFINE_MUTEX(hardware_mutex);	/* for the first, and for whoever gives back */
static refcount_t hardware_users = REFCOUNT_INIT(0);

/* May sleep.  The caller holds st->lock. */
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

/* A share for a new state, while another one that keeps its own is looked at. */
void vperfctr_share_hardware(struct vperfctr_state *st)
{
	refcount_inc(&hardware_users);
	set_bit(STATE_HARDWARE, &st->bits);
}

/*
 * Give back the state's share, if it has one.  PRE: its counters are stopped for
 * good.  POST: it has none, whoever gave it back: the bit goes last, so that who
 * closes a state while a worker cleans up after its owner finds the share there
 * still, and waits.
 */
void vperfctr_release_hardware(struct vperfctr_state *st)
{
	if (!test_bit(STATE_HARDWARE, &st->bits))
		return;
	mutex_lock(&hardware_mutex);
	if (test_bit(STATE_HARDWARE, &st->bits)) {
		if (refcount_dec_and_test(&hardware_users))
			perfctr_cpu_release();
		smp_mb__before_atomic();	/* given back before it looks like it */
		clear_bit(STATE_HARDWARE, &st->bits);
	}
	mutex_unlock(&hardware_mutex);
}
