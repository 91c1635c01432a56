// SPDX-License-Identifier: GPL-2.0
/*
 * x86: choice of the low-level driver, and what all drivers share: reservation on
 * all CPUs, and CPU hotplug.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/topology.h>
#include <linux/workqueue.h>

#include "regs.h"
#include "x86.h"

/* In order of preference; the generic driver takes whatever is left. */
static const struct perfctr_x86_driver *const drivers[] = {
	&perfctr_x86_intel,
	&perfctr_x86_amd,
	&perfctr_x86_generic,
};

static const struct perfctr_x86_driver *driver;
static enum cpuhp_state hotplug_state;

/*
 * True while the counters are ours.  Changes under cpus_read_lock(), so that
 * the hotplug callbacks, which hold that lock for writing, see it stable.
 */
static bool reserved;

/* CPUs whose counters are ours, those excepted that are not to be used. */
static struct cpumask started;

static int start(void)
{
	int err;

	if (!driver->cpu_start || !perfctr_kind_here())
		return 0;
	err = driver->cpu_start();
	if (err)
		return err;
	perfctr_x86_pmi_start();
	cpumask_set_cpu(smp_processor_id(), &started);
	return 0;
}

static void start_here(void *error)
{
	int err = start();

	if (err)
		WRITE_ONCE(*(int *)error, err);
}

/* Interrupts of the last overflows are ours to take until the counters stand. */
static void stop_here(void *unused)
{
	if (!cpumask_test_and_clear_cpu(smp_processor_id(), &started))
		return;
	driver->cpu_stop();
	perfctr_x86_pmi_stop();
}

static void scrub_here(void *unused)
{
	driver->cpu_scrub();
}

/*
 * A state that must not have the sibling online is stopped when its owner is next
 * switched in: see that this is soon.  (An owner that a kernel thread does not
 * preempt, as its policy is SCHED_FIFO, goes on until it is switched.)
 */
static void nothing(struct work_struct *work)
{
}

static DEFINE_PER_CPU(struct work_struct, switch_work);

static void switch_siblings(unsigned int cpu)
{
	unsigned int sibling;

	for_each_cpu(sibling, topology_sibling_cpumask(cpu)) {
		if (sibling != cpu)
			schedule_work_on(sibling, per_cpu_ptr(&switch_work, sibling));
	}
}

/*
 * Both run on the CPU concerned: before it becomes active for user threads,
 * and when it is no longer.  One that is still pushed off a CPU that goes may
 * load its control once more; that is counted right, and start clears it.  Before
 * 5.11 it may even run on for a while, and be told of an overflow when it is
 * switched, as the interrupt is no longer ours.
 */
static int online_here(unsigned int cpu)
{
	unsigned long flags;
	int err = 0;

	perfctr_learn_kind(cpu);
	switch_siblings(cpu);
	local_irq_save(flags);
	if (reserved)
		err = start();
	local_irq_restore(flags);
	/* Threads that are counted could come here, and lose their counts. */
	if (err)
		pr_warn("CPU %u stays offline while counters are in use\n", cpu);
	return err;
}

static int offline_here(unsigned int cpu)
{
	unsigned long flags;

	local_irq_save(flags);
	stop_here(NULL);
	local_irq_restore(flags);
	return 0;
}

void perfctr_cpu_sleep(void)
{
	if (cpumask_test_cpu(smp_processor_id(), &started))
		perfctr_x86_pmi_sleep();
}

void perfctr_cpu_forget(void)
{
	if (cpumask_test_cpu(smp_processor_id(), &started)) {
		driver->cpu_forget();
		perfctr_x86_pmi_forget();
	}
}

static void stop_and_release(void)
{
	on_each_cpu(stop_here, NULL, 1);
	if (driver->release)
		driver->release();
}

int perfctr_cpu_reserve(void)
{
	int err = 0;

	cpus_read_lock();
	if (driver->reserve)
		err = driver->reserve();
	if (err)
		goto out;
	on_each_cpu(start_here, &err, 1);
	if (err) {
		stop_and_release();
	} else {
		reserved = true;
		perfctr_x86_users_allow();
	}
out:
	cpus_read_unlock();
	return err;
}

void perfctr_cpu_release(void)
{
	cpus_read_lock();
	perfctr_x86_users_forbid();
	reserved = false;
	stop_and_release();
	cpus_read_unlock();
}

/*
 * Called under mmap_lock, which nests inside cpus_read_lock() elsewhere in the
 * kernel.  Not needed here: each CPU knows whether its counters are ours.
 */
void perfctr_x86_scrub(void)
{
	if (driver->cpu_scrub)
		on_each_cpu(scrub_here, NULL, 1);
}

int perfctr_cpu_check_control(struct perfctr_cpu_control *control)
{
	return driver->check_control(control);
}

static void probe_here(void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(drivers); i++) {
		driver = drivers[i];
		memset(&perfctr_cpu_info, 0, sizeof(perfctr_cpu_info));
		if (!driver->probe())
			return;
	}
}

int perfctr_cpu_init(void)
{
	unsigned int cpu;
	int err;

	for_each_possible_cpu(cpu)
		INIT_WORK(per_cpu_ptr(&switch_work, cpu), nothing);
	/* On the same CPU each time, for kinds to have the same numbers. */
	cpus_read_lock();
	smp_call_function_single(cpumask_first(cpu_online_mask), probe_here, NULL, 1);
	cpus_read_unlock();

	err = perfctr_driver_init(&driver->ops);
	if (err)
		return err;
	if (perfctr_is_hybrid() && driver->probe_kind)
		perfctr_init_kinds(driver->probe_kind);
	err = perfctr_x86_pmi_init(driver);
	if (err)
		return err;
	err = perfctr_x86_pce_init();
	if (err)
		goto out_pmi;
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "vperfctr:online", online_here, offline_here);
	if (err < 0)
		goto out_pce;
	hotplug_state = err;
	return 0;

out_pce:
	perfctr_x86_pce_exit();
out_pmi:
	perfctr_x86_pmi_exit();
	return err;
}

void perfctr_cpu_exit(void)
{
	unsigned int cpu;

	cpuhp_remove_state(hotplug_state);
	for_each_possible_cpu(cpu)
		flush_work(per_cpu_ptr(&switch_work, cpu));
	perfctr_x86_pce_exit();
	perfctr_x86_pmi_exit();
}
