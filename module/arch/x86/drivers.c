// SPDX-License-Identifier: GPL-2.0
/*
 * The table of x86 drivers, and the choice of one.  Reservation on all CPUs, CPU hotplug
 * and sleep are the same for all drivers.
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

/* In order of preference.  The last one accepts every processor. */
static const struct perfctr_x86_driver *const drivers[] = {
	&perfctr_x86_intel,
	&perfctr_x86_amd,
	&perfctr_x86_generic,
};

static const struct perfctr_x86_driver *driver;
static enum cpuhp_state hotplug_state;

/*
 * True while the counters are reserved.  It changes under cpus_read_lock(), and the
 * hotplug callbacks hold that lock for writing, so they see a stable value.
 */
static bool reserved;

/* The CPUs that cpu_start has prepared: not those whose counters are unusable. */
static struct cpumask started;

/* Context: The CPU concerned, interrupts disabled. */
static int start_this_cpu(void)
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

static void start_cpu_ipi(void *error)
{
	int err = start_this_cpu();

	if (err)
		WRITE_ONCE(*(int *)error, err);
}

/* Stop the counters before LVTPC is given back: their last overflows raise NMIs. */
static void stop_cpu_ipi(void *unused)
{
	if (!cpumask_test_and_clear_cpu(smp_processor_id(), &started))
		return;
	driver->cpu_stop();
	perfctr_x86_pmi_stop();
}

static void scrub_cpu_ipi(void *unused)
{
	driver->cpu_scrub();
}

/*
 * Preempt the thread that runs on this CPU.  A control that forbids an online sibling
 * stops counting when its owner is next switched in, and the work makes that soon.  (It
 * does not preempt a SCHED_FIFO owner, which counts until its next switch.)
 */
static void force_switch_work(struct work_struct *work)
{
}

static DEFINE_PER_CPU(struct work_struct, switch_work);

static void force_switch_on_siblings(unsigned int cpu)
{
	unsigned int sibling;

	for_each_cpu(sibling, topology_sibling_cpumask(cpu)) {
		if (sibling != cpu)
			schedule_work_on(sibling, per_cpu_ptr(&switch_work, sibling));
	}
}

/*
 * The hotplug callbacks.  The first runs before user threads run on the CPU, the second
 * once the scheduler moves them away.  A thread that has not left yet may load its control
 * once more.  It is counted right, and the next start clears the registers.  Before 5.11
 * such a thread may even keep running for a while.  An overflow is then reported at its
 * next switch, as the interrupt is no longer ours.
 *
 * Context: The CPU concerned.
 */
static int prepare_this_cpu(unsigned int cpu)
{
	unsigned long flags;
	int err = 0;

	perfctr_learn_kind(cpu);
	force_switch_on_siblings(cpu);
	local_irq_save(flags);
	if (reserved)
		err = start_this_cpu();
	local_irq_restore(flags);
	/* Counted threads that moved to this CPU would lose counts. */
	if (err)
		pr_warn("CPU %u stays offline while counters are in use\n", cpu);
	return err;
}

static int release_this_cpu(unsigned int cpu)
{
	unsigned long flags;

	local_irq_save(flags);
	stop_cpu_ipi(NULL);
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

static void stop_all_and_release(void)
{
	on_each_cpu(stop_cpu_ipi, NULL, 1);
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
	on_each_cpu(start_cpu_ipi, &err, 1);
	if (err) {
		stop_all_and_release();
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
	stop_all_and_release();
	cpus_read_unlock();
}

static bool cpu_holds(int cpu, void *unused)
{
	return driver->cpu_holds(cpu);
}

bool perfctr_x86_others_hold(void)
{
	unsigned int cpu, here = raw_smp_processor_id();

	if (!driver->cpu_holds)
		return false;
	for_each_online_cpu(cpu) {
		if (cpu != here && driver->cpu_holds(cpu))
			return true;
	}
	return false;
}

/*
 * Runs without cpus_read_lock(): the caller holds mmap_lock, which nests inside it elsewhere
 * in the kernel.  Each CPU knows whether its counters are ours.
 */
void perfctr_x86_scrub(void)
{
	if (driver->cpu_scrub)
		on_each_cpu_cond(cpu_holds, scrub_cpu_ipi, NULL, 1);
}

int perfctr_cpu_check_control(struct perfctr_cpu_control *control)
{
	return driver->check_control(control);
}

static void probe_cpu_ipi(void *unused)
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
		INIT_WORK(per_cpu_ptr(&switch_work, cpu), force_switch_work);
	/* Always on the same CPU, so that kinds get the same numbers each time. */
	cpus_read_lock();
	smp_call_function_single(cpumask_first(cpu_online_mask), probe_cpu_ipi, NULL, 1);
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
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "vperfctr:online", prepare_this_cpu,
				release_this_cpu);
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
	perfctr_x86_users_exit();
	perfctr_x86_pce_exit();
	perfctr_x86_pmi_exit();
}
