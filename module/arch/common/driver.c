// SPDX-License-Identifier: GPL-2.0
/*
 * Choose the low-level driver, reserve the counters, prepare and release CPUs, and follow CPU
 * hotplug and CPU power management.  How counters are obtained is the driver's: see driver.h.
 */
#include <linux/cpu.h>
#include <linux/cpu_pm.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/notifier.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "driver.h"

const struct perfctr_driver *perfctr_driver;

static enum cpuhp_state dead_state, online_state;

bool perfctr_reserved;

/*
 * The CPUs that have been prepared since the counters were reserved.  Each CPU is prepared
 * when it is first needed, so that the others are not disturbed.
 */
static struct cpumask started;

/* CPUs that have been inspected: perfctr_forbid_cpus is valid for them. */
static struct cpumask inspected;

/* ---- reserving, preparing and releasing ------------------------------------ */

static int start_this_cpu(void)
{
	if (perfctr_driver->claim && !perfctr_driver->claim())
		return -EBUSY;
	perfctr_driver->cpu_start();
	return 0;
}

int perfctr_prepare_here(void)
{
	unsigned int cpu = smp_processor_id();
	int err = -ENODEV;

	if (cpumask_test_cpu(cpu, &started))
		return 0;
	if (cpumask_test_cpu(cpu, &perfctr_forbid_cpus))
		return -EIO;
	cpumask_set_cpu(cpu, &started);
	/* Pairs with the release: it finds the bit, or the counters are perf's by now. */
	smp_mb__after_atomic();
	if (READ_ONCE(perfctr_reserved))
		err = start_this_cpu();
	if (err)
		cpumask_clear_cpu(cpu, &started);
	return err;
}

/*
 * Stop and release in one step: an idle CPU may lose its registers at any time, and
 * after the release perf sets them up again.
 */
static void stop_this_cpu(void *unused)
{
	unsigned int cpu = smp_processor_id();

	if (!cpumask_test_and_clear_cpu(cpu, &started))
		return;
	perfctr_driver->cpu_stop();
	if (perfctr_driver->unclaim)
		perfctr_driver->unclaim(cpu);
}

int perfctr_cpu_reserve(void)
{
	int err;

	if (perfctr_driver->settle)
		perfctr_driver->settle();
	cpus_read_lock();
	err = perfctr_driver->reserve();
	/* No CPU is prepared yet. */
	if (!err)
		WRITE_ONCE(perfctr_reserved, true);
	cpus_read_unlock();
	return err;
}

int perfctr_cpu_prepare(void)
{
	unsigned long flags;
	int err = 0;

	local_irq_save(flags);
	/* A control may be for other CPUs than this one. */
	if (!cpumask_test_cpu(smp_processor_id(), &perfctr_forbid_cpus))
		err = perfctr_prepare_here();
	local_irq_restore(flags);
	/* The state's thread may end before this, and its end releases the counters. */
	return err == -ENODEV ? 0 : err;
}

void perfctr_cpu_release(void)
{
	cpus_read_lock();
	/* Pairs with perfctr_prepare_here(), and with the filter of perf's events. */
	smp_store_mb(perfctr_reserved, false);
	/* Without an interrupt if only this CPU was prepared. */
	on_each_cpu_mask(&started, stop_this_cpu, NULL, 1);
	perfctr_driver->release();
	cpus_read_unlock();
}

/* ---- CPU hotplug and power management ------------------------------------- */

static void inspect_cpu(unsigned int cpu)
{
	if (!perfctr_driver->accepts || cpumask_test_cpu(cpu, &inspected))
		return;
	if (!perfctr_driver->accepts(cpu))
		cpumask_set_cpu(cpu, &perfctr_forbid_cpus);
	cpumask_set_cpu(cpu, &inspected);
}

static void tell_watcher(enum perfctr_cpu_event event)
{
	unsigned long flags;

	local_irq_save(flags);
	perfctr_tell_watcher(event);
	local_irq_restore(flags);
}

/*
 * The hotplug callbacks.  The first runs before user threads run on the CPU, the second
 * once the scheduler moves them away.
 *
 * Context: The CPU concerned.
 */
static int begin_this_cpu(unsigned int cpu)
{
	inspect_cpu(cpu);
	tell_watcher(PERFCTR_CPU_ONLINE);
	return 0;
}

static int leave_this_cpu(unsigned int cpu)
{
	tell_watcher(PERFCTR_CPU_OFFLINE);
	return 0;
}

static void lose_cpu(unsigned int cpu)
{
	cpumask_clear_cpu(cpu, &started);
	perfctr_driver->cpu_lose(cpu);
	if (perfctr_driver->unclaim)
		perfctr_driver->unclaim(cpu);
}

/*
 * Release a CPU that has gone offline.  Earlier would be wrong: threads that have yet
 * to migrate off the CPU still count there.
 *
 * Context: On another CPU.
 */
static int release_dead_cpu(unsigned int cpu)
{
	if (cpumask_test_cpu(cpu, &started))
		lose_cpu(cpu);
	return 0;
}

/*
 * A CPU that comes back from deep sleep has lost its registers.
 *
 * Context: The idle task of that CPU, interrupts disabled.
 */
static int handle_cpu_pm(struct notifier_block *nb, unsigned long action, void *unused)
{
	if (action == CPU_PM_ENTER)
		perfctr_tell_watcher(PERFCTR_CPU_SLEEPS);
	if (action == CPU_PM_EXIT || action == CPU_PM_ENTER_FAILED) {
		perfctr_cpu_forget();
		perfctr_tell_watcher(PERFCTR_CPU_WAKES);
	}
	return NOTIFY_OK;
}

/* Does nothing where the kernel has no CPU_PM. */
static struct notifier_block cpu_pm_nb = { .notifier_call = handle_cpu_pm };

void perfctr_cpu_sleep(void)
{
}

void perfctr_cpu_forget(void)
{
	/* The kernel's driver sets up the registers of CPUs that are not prepared. */
	if (cpumask_test_cpu(smp_processor_id(), &started))
		perfctr_driver->cpu_forget();
}

/* ---- the rest ------------------------------------------------------------- */

bool perfctr_cpu_user_reads(void)
{
	return perfctr_arch.user_reads && perfctr_arch.user_reads();
}

int perfctr_cpu_check_control(struct perfctr_cpu_control *control)
{
	return perfctr_driver->check_control(control);
}

static void probe_cpu_ipi(void *err)
{
	*(int *)err = perfctr_driver->probe();
}

static int try_driver(unsigned int cpu)
{
	int err = perfctr_driver->find ? perfctr_driver->find(cpu) : 0;

	if (err)
		return err;
	memset(&perfctr_cpu_info, 0, sizeof(perfctr_cpu_info));
	perfctr_cpu_sampling_ns = 0;
	smp_call_function_single(cpu, probe_cpu_ipi, &err, 1);
	return err ?: perfctr_driver->begin ? perfctr_driver->begin(cpu) : 0;
}

/* Always probe the same CPU, so that kinds get the same numbers each time. */
static int choose_driver(void)
{
	int err = -ENODEV;
	unsigned int i;

	cpus_read_lock();
	for (i = 0; i < perfctr_arch.nr_drivers && err; i++) {
		perfctr_driver = perfctr_arch.drivers[i];
		err = try_driver(cpumask_first(cpu_online_mask));
	}
	cpus_read_unlock();
	return err ?: perfctr_driver_init(&perfctr_driver->ops);
}

static int follow_cpus(void)
{
	int err;

	err = cpuhp_setup_state(CPUHP_BP_PREPARE_DYN, "vperfctr:dead", NULL, release_dead_cpu);
	if (err < 0)
		return err;
	dead_state = err;
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "vperfctr:online", begin_this_cpu,
				leave_this_cpu);
	if (err < 0)
		goto no_online;
	online_state = err;
	err = cpu_pm_register_notifier(&cpu_pm_nb);
	if (!err)
		return 0;
	cpuhp_remove_state_nocalls(online_state);
no_online:
	cpuhp_remove_state_nocalls(dead_state);
	return err;
}

static void end_driver(void)
{
	if (perfctr_driver->end)
		perfctr_driver->end();
}

int perfctr_cpu_init(void)
{
	int err;

	err = choose_driver();
	if (!err && !perfctr_driver->no_counters)
		err = follow_cpus();
	if (err)
		end_driver();
	else if (perfctr_arch.ready && !perfctr_driver->no_counters)
		perfctr_arch.ready();
	return err;
}

void perfctr_cpu_exit(void)
{
	if (!perfctr_driver->no_counters) {
		cpu_pm_unregister_notifier(&cpu_pm_nb);
		cpuhp_remove_state_nocalls(online_state);
		cpuhp_remove_state_nocalls(dead_state);
	}
	end_driver();
}
