// SPDX-License-Identifier: GPL-2.0
/*
 * Permission to read counters in user mode (PMUSERENR_EL0) that KVM is going to restore: see
 * leave_open() in pmuv3.c.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "../common/hide.h"
#include "arm64.h"

/* The CPUs whose register may be open. */
static struct cpumask left_open;

static DEFINE_PER_CPU(struct work_struct, close_works);

/*
 * Where the worker runs, KVM has put the vCPU of the thread that ran before.  If its CPU has gone
 * offline, it runs on another one, and closes that.
 */
static void close_here(struct work_struct *work)
{
	unsigned long flags;

	local_irq_save(flags);
	if (perfctr_arm64_close_left())
		cpumask_clear_cpu(smp_processor_id(), &left_open);
	local_irq_restore(flags);
}

/*
 * True if an online CPU is left open.  One that is offline has no thread, and is cleared before
 * one can count there.
 */
bool perfctr_arm64_reads_left(void)
{
	return cpumask_intersects(&left_open, cpu_online_mask);
}

/*
 * A real-time thread that is never switched out keeps the worker from its CPU, and KVM from the
 * put: so do not wait long.
 */
bool perfctr_arm64_close_reads(void)
{
	unsigned int cpu, tries = 5;

	if (!perfctr_arm64_reads_left())
		return false;
	for_each_online_cpu(cpu) {
		if (cpumask_test_cpu(cpu, &left_open))
			schedule_work_on(cpu, per_cpu_ptr(&close_works, cpu));
	}
	while (perfctr_arm64_reads_left() && tries--)
		msleep(20);
	return true;
}

void perfctr_arm64_left_open(void)
{
	cpumask_set_cpu(smp_processor_id(), &left_open);
	perfctr_hide_left();
}

void perfctr_arm64_left_open_begin(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		INIT_WORK(per_cpu_ptr(&close_works, cpu), close_here);
}

void perfctr_arm64_left_open_end(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		cancel_work_sync(per_cpu_ptr(&close_works, cpu));
}
