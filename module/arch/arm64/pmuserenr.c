// SPDX-License-Identifier: GPL-2.0
/*
 * Permission to read counters in user mode (PMUSERENR_EL0): see own-reads.c.  A thread with
 * access, or with a page that shows start values, could see what the counters held for others.
 * So with isolation, suspend stops and clears them while any process has mapped a page.  Otherwise
 * they keep their values, and run on: a write of PMCR_EL0 or PMCNTENCLR_EL0 is an exit in many
 * virtual machines.
 */
#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "../../compat/workqueue.h"
#include "../common/users.h"
#include "arm64.h"

bool perfctr_arm64_hides __read_mostly;

/* The number of mms that have mapped a page, with isolation. */
static atomic_t nr_mms;

/* Held while perfctr_arm64_hides changes, and until the counters have followed. */
static DEFINE_MUTEX(hide_mutex);

/*
 * The counters are hidden for a second longer than they must, so that a process that maps a page
 * over and over interrupts other CPUs once in a second.
 */
static void show_again(struct work_struct *work)
{
	mutex_lock(&hide_mutex);
	/* Pairs with perfctr_mm_added(): its number is seen, or it takes the mutex later. */
	if (!atomic_read(&nr_mms))
		WRITE_ONCE(perfctr_arm64_hides, false);
	mutex_unlock(&hide_mutex);
}

static DECLARE_DELAYED_WORK(show_work, show_again);

/*
 * True if the number of processes that map a page must be known.  Without counters, it must not
 * change: perfctr_arm64_users_exit() is not called.
 */
static bool must_know(void)
{
	return perfctr_isolate && perfctr_cpu_info.nrctrs;
}

void perfctr_mm_added(void)
{
	if (!must_know())
		return;
	atomic_inc(&nr_mms);
	mutex_lock(&hide_mutex);
	if (!perfctr_arm64_hides) {
		WRITE_ONCE(perfctr_arm64_hides, true);
		/* Pairs with a resume: a state that is being resumed sees this, or is seen. */
		smp_mb();
		perfctr_arm64_hide_counts();
	}
	mutex_unlock(&hide_mutex);
}

void perfctr_mm_removed(void)
{
	if (!must_know())
		return;
	if (atomic_dec_and_test(&nr_mms))
		mod_delayed_work(system_dfl_wq, &show_work, HZ);
}

void perfctr_arm64_users_exit(void)
{
	cancel_delayed_work_sync(&show_work);
}
