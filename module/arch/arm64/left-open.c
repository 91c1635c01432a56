// SPDX-License-Identifier: GPL-2.0
/*
 * Permission to read counters in user mode (PMUSERENR_EL0) that KVM is going to restore: see
 * leave_open() in pmuv3.c.
 */
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/mutex.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "../common/hide.h"
#include "arm64.h"

/* The CPUs whose register may be open. */
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

bool perfctr_arm64_reads_left(void)
{
	return cpumask_intersects(&left_open, cpu_online_mask);
}

void perfctr_arm64_left_open(void)
{
	cpumask_set_cpu(smp_processor_id(), &left_open);
	perfctr_hide_left();
}
