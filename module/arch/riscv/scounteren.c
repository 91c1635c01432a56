// SPDX-License-Identifier: GPL-2.0
/*
 * Permission to read counters in user mode (scounteren): see own-reads.c.  A thread with
 * access, or with a page that shows start values, could see what the counters held for others,
 * as they keep running.  So with isolation, resume clears them while any process has mapped a
 * page.
 */
#include <linux/atomic.h>
#include <linux/mutex.h>

#include "../common/users.h"
#include "riscv.h"

/* The number of mms that have mapped a page, with isolation. */
static atomic_t nr_mms = ATOMIC_INIT(0);

/* Held while nr_mms changes, and until the counters have followed. */
static DEFINE_MUTEX(mms_mutex);

bool perfctr_riscv_must_hide(void)
{
	return atomic_read(&nr_mms);
}

void perfctr_mm_added(void)
{
	if (!perfctr_isolate)
		return;
	mutex_lock(&mms_mutex);
	/* Fully ordered: a state that is being resumed sees this, or is seen. */
	if (atomic_inc_return(&nr_mms) == 1)
		perfctr_riscv_hide_counts();
	mutex_unlock(&mms_mutex);
}

void perfctr_mm_removed(void)
{
	if (!perfctr_isolate)
		return;
	mutex_lock(&mms_mutex);
	atomic_dec(&nr_mms);
	mutex_unlock(&mms_mutex);
}
