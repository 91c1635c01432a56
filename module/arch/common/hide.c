// SPDX-License-Identifier: GPL-2.0
/*
 * When counters must hide what they have counted for others, on arm64 and RISC-V.  A thread with
 * permission to read them in user mode (see own-reads.c), or with a page that shows start values,
 * could see that.  So with isolation the driver stops and clears them while any process has mapped
 * a page.  Otherwise they keep their values, and run on: to stop them is an exit in many virtual
 * machines of arm64, and a call of the firmware on RISC-V.
 */
#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../../compat/workqueue.h"
#include "common.h"
#include "driver.h"
#include "hide.h"
#include "users.h"

bool perfctr_hides __read_mostly;

/* The number of mms that have mapped a page, with isolation. */
static atomic_t nr_mms;

/* Held while mms_hide changes, and until the counters have followed. */
static DEFINE_MUTEX(hide_mutex);
static bool mms_hide;

/* With it show_again() finds what is left, or writes perfctr_hides before perfctr_hide_left(). */
static DEFINE_RAW_SPINLOCK(left_lock);

/* Close what the architecture had to leave open to user mode. */
static void close_all(void)
{
	if (perfctr_arch.close_reads)
		perfctr_arch.close_reads();
}

static void show_again(struct work_struct *work);
static DECLARE_DELAYED_WORK(show_work, show_again);

/*
 * The counters are hidden for up to a second longer than they must, so that a process that maps a
 * page over and over interrupts other CPUs once in a second.
 */
static void show_again(struct work_struct *work)
{
	unsigned long flags;
	bool left;

	close_all();
	mutex_lock(&hide_mutex);
	/* Pairs with perfctr_mm_added(): its number is seen, or it takes the mutex later. */
	if (!atomic_read(&nr_mms)) {
		mms_hide = false;
		raw_spin_lock_irqsave(&left_lock, flags);
		left = perfctr_arch.reads_left && perfctr_arch.reads_left();
		if (!left)
			WRITE_ONCE(perfctr_hides, false);
		raw_spin_unlock_irqrestore(&left_lock, flags);
		if (left)
			queue_delayed_work(system_dfl_wq, &show_work, HZ);
	}
	mutex_unlock(&hide_mutex);
}

/* Counters here are cleared before user mode runs again, or hide their counts already. */
void perfctr_hide_left(void)
{
	unsigned long flags;

	if (!perfctr_isolate)
		return;
	raw_spin_lock_irqsave(&left_lock, flags);
	WRITE_ONCE(perfctr_hides, true);
	raw_spin_unlock_irqrestore(&left_lock, flags);
	queue_delayed_work(system_dfl_wq, &show_work, HZ);
}

/*
 * True if the number of processes that map a page must be known.  Without counters, it must not
 * change: perfctr_hide_end() is not called.
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
	if (!mms_hide) {
		mms_hide = true;
		WRITE_ONCE(perfctr_hides, true);
		/* Pairs with a resume: a state that is being resumed sees this, or is seen. */
		smp_mb();
		perfctr_hide_counts();
	}
	mutex_unlock(&hide_mutex);
}

void perfctr_mm_removed(void)
{
	if (!must_know())
		return;
	if (atomic_dec_and_test(&nr_mms))
		queue_delayed_work(system_dfl_wq, &show_work, HZ);
}

void perfctr_hide_end(void)
{
	cancel_delayed_work_sync(&show_work);
	close_all();
}
