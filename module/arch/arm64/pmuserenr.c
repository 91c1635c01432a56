// SPDX-License-Identifier: GPL-2.0
/*
 * Permission to read counters in user mode (PMUSERENR_EL0): see own-reads.c.  A thread with
 * access, or with a page that shows start values, could see what the counters held for others.
 * So with isolation, suspend stops and clears them while any process has mapped a page.  Otherwise
 * they keep their values, and run on: a write of PMCR_EL0 or PMCNTENCLR_EL0 is an exit in many
 * virtual machines.
 */
#include <linux/atomic.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "../../compat/workqueue.h"
#include "../common/users.h"
#include "arm64.h"

bool perfctr_arm64_hides __read_mostly;

/* The number of mms that have mapped a page, with isolation. */
static atomic_t nr_mms;

/* Held while mms_hide changes, and until the counters have followed. */
static DEFINE_MUTEX(hide_mutex);
static bool mms_hide;

/* ---- registers that KVM is going to restore ------------------------------------------ */

/* The CPUs whose register may be open: see leave_open(). */
static struct cpumask left_open;
static DEFINE_MUTEX(close_mutex);	/* held while close_work is used */

/* On its CPU, KVM has put the vCPU of the thread that ran before the worker. */
static void close_here(struct work_struct *work)
{
	unsigned long flags;

	local_irq_save(flags);
	if (perfctr_arm64_close_left())
		cpumask_clear_cpu(smp_processor_id(), &left_open);
	local_irq_restore(flags);
}

static DECLARE_WORK(close_work, close_here);

/* A CPU that is offline has no thread, and is cleared before one can count there. */
bool perfctr_arm64_close_reads(void)
{
	unsigned int cpu;
	bool any = false;

	mutex_lock(&close_mutex);
	for_each_online_cpu(cpu) {
		if (!cpumask_test_cpu(cpu, &left_open))
			continue;
		schedule_work_on(cpu, &close_work);
		flush_work(&close_work);
		any = true;
	}
	mutex_unlock(&close_mutex);
	return any;
}

static void close_all(void)
{
	cpus_read_lock();
	perfctr_arm64_close_reads();
	cpus_read_unlock();
}

/* ---- hiding counts ------------------------------------------------------------------- */

/*
 * The counters are hidden for a second longer than they must, so that a process that maps a page
 * over and over interrupts other CPUs once in a second.
 */
static void show_again(struct work_struct *work)
{
	close_all();
	mutex_lock(&hide_mutex);
	/* Pairs with perfctr_mm_added(): its number is seen, or it takes the mutex later. */
	if (!atomic_read(&nr_mms)) {
		mms_hide = false;
		WRITE_ONCE(perfctr_arm64_hides, false);
		smp_mb();	/* pairs with perfctr_arm64_left_open() */
		if (cpumask_intersects(&left_open, cpu_online_mask))
			WRITE_ONCE(perfctr_arm64_hides, true);
	}
	mutex_unlock(&hide_mutex);
}

static DECLARE_DELAYED_WORK(show_work, show_again);

/*
 * Counters here are clear: this follows clear_registers(), or they have been hidden from the reader
 * that is left.
 */
void perfctr_arm64_left_open(void)
{
	cpumask_set_cpu(smp_processor_id(), &left_open);
	if (!perfctr_isolate)
		return;
	smp_mb__after_atomic();	/* show_again() finds this CPU, or writes before this does */
	WRITE_ONCE(perfctr_arm64_hides, true);
	queue_delayed_work(system_dfl_wq, &show_work, HZ);
}

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
	if (!mms_hide) {
		mms_hide = true;
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
	close_all();
}
