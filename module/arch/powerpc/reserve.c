// SPDX-License-Identifier: GPL-2.0
/*
 * PowerPC: choose the low-level driver, reserve the counters, and follow CPU hotplug.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "../common/users.h"
#include "powerpc.h"

static const struct perfctr_powerpc_driver *driver;
static enum cpuhp_state dead_state, online_state;

/* True while the hardware is reserved, on all CPUs but the forbidden ones. */
bool perfctr_powerpc_reserved;

/*
 * The CPUs whose counters have been claimed since the hardware was reserved.  Each CPU
 * is claimed when it is first needed, so that the others are not disturbed.
 */
static struct cpumask claimed;

/* CPUs that have been inspected: perfctr_forbid_cpus is valid for them. */
static struct cpumask inspected;

/* ---- claiming and releasing ----------------------------------------------- */

int perfctr_powerpc_prepare_here(void)
{
	unsigned int cpu = smp_processor_id();

	if (cpumask_test_cpu(cpu, &claimed))
		return 0;
	if (cpumask_test_cpu(cpu, &perfctr_forbid_cpus))
		return -EIO;
	cpumask_set_cpu(cpu, &claimed);
	/* Pairs with the release: it finds the bit, or the counters are not reserved. */
	smp_mb__after_atomic();
	if (!READ_ONCE(perfctr_powerpc_reserved)) {
		cpumask_clear_cpu(cpu, &claimed);
		return -ENODEV;
	}
	driver->cpu_start();
	return 0;
}

static void stop_this_cpu(void *unused)
{
	if (cpumask_test_and_clear_cpu(smp_processor_id(), &claimed))
		driver->cpu_stop();
}

int perfctr_cpu_reserve(void)
{
	int err = perfctr_powerpc_perf_reserve(driver->overflow);

	/* No CPU is claimed yet, so the order does not matter. */
	if (!err)
		WRITE_ONCE(perfctr_powerpc_reserved, true);
	return err;
}

int perfctr_cpu_prepare(void)
{
	unsigned long flags;
	int err = 0;

	local_irq_save(flags);
	/* A control may be for other CPUs than this one. */
	if (!cpumask_test_cpu(smp_processor_id(), &perfctr_forbid_cpus))
		err = perfctr_powerpc_prepare_here();
	local_irq_restore(flags);
	/* The state's thread may end before this, and its end releases the counters. */
	return err == -ENODEV ? 0 : err;
}

void perfctr_cpu_release(void)
{
	cpus_read_lock();
	/* Pairs with perfctr_powerpc_prepare_here(). */
	smp_store_mb(perfctr_powerpc_reserved, false);
	/* Without an interrupt if only this CPU was claimed. */
	on_each_cpu_mask(&claimed, stop_this_cpu, NULL, 1);
	cpus_read_unlock();
	perfctr_powerpc_perf_release();
}

/* ---- CPU hotplug ------------------------------------------------------------ */

/*
 * Find out whether a CPU that comes online can count, and forbid it if not.
 *
 * Context: On that CPU, before user threads can run there.
 */
static void inspect_cpu(unsigned int cpu)
{
	if (cpumask_test_and_set_cpu(cpu, &inspected))
		return;
	if (!driver->is_alike())
		cpumask_set_cpu(cpu, &perfctr_forbid_cpus);
}

static void tell_watcher(enum perfctr_cpu_event event)
{
	unsigned long flags;

	local_irq_save(flags);
	perfctr_tell_watcher(event);
	local_irq_restore(flags);
}

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

/*
 * Release a CPU that has gone offline.  Earlier would be wrong: threads that have yet
 * to migrate off the CPU still count there.
 *
 * Context: On another CPU.
 */
static int release_dead_cpu(unsigned int cpu)
{
	if (cpumask_test_and_clear_cpu(cpu, &claimed))
		driver->cpu_lose(cpu);
	return 0;
}

void perfctr_cpu_sleep(void)
{
}

void perfctr_cpu_forget(void)
{
	if (!driver->no_counters && cpumask_test_cpu(smp_processor_id(), &claimed))
		driver->cpu_forget();
}

/*
 * Permission to read counters in user mode (the field PMCC of MMCR0): see own-reads.c.
 * PMCC of a claimed CPU is open only to a thread whose state has counters.  Before the
 * counters of a CPU are claimed, the kernel may let every thread read them; see
 * doc/power.md.
 */
bool perfctr_cpu_user_reads(void)
{
	return false;
}

/* Nothing is left for a new process to see: suspend clears the counters. */
void perfctr_mm_added(void)
{
}

void perfctr_mm_removed(void)
{
}

/* ---- the rest ------------------------------------------------------------- */

static bool is_reader(int cpu, void *mm)
{
	return driver->cpu_reader(cpu) == mm;
}

static void close_user_here(void *mm)
{
	driver->cpu_close_user(mm);
}

void perfctr_close_users(struct mm_struct *mm)
{
	if (driver->cpu_reader)
		on_each_cpu_cond(is_reader, close_user_here, mm, 1);
}

int perfctr_cpu_check_control(struct perfctr_cpu_control *control)
{
	return driver->check_control(control);
}

static int choose_driver(void)
{
	int err;

	driver = IS_ENABLED(CONFIG_PPC64) ? &perfctr_powerpc_power8 : &perfctr_powerpc_ppc32;
	cpus_read_lock();
	err = driver->probe() ?: perfctr_powerpc_perf_step_in();
	cpus_read_unlock();
	if (err) {
		memset(&perfctr_cpu_info, 0, sizeof(perfctr_cpu_info));
		perfctr_cpu_sampling_ns = 0;
		driver = &perfctr_powerpc_generic;
		err = driver->probe();
	}
	return err ?: perfctr_driver_init(&driver->ops);
}

int perfctr_cpu_init(void)
{
	int err;

	err = choose_driver();
	if (driver->no_counters)
		return err;
	if (err)
		goto no_driver;
	err = cpuhp_setup_state(CPUHP_BP_PREPARE_DYN, "vperfctr:dead", NULL, release_dead_cpu);
	if (err < 0)
		goto no_driver;
	dead_state = err;
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "vperfctr:online", begin_this_cpu,
				leave_this_cpu);
	if (err < 0)
		goto no_online;
	online_state = err;
	return 0;

no_online:
	cpuhp_remove_state_nocalls(dead_state);
no_driver:
	perfctr_powerpc_perf_step_out();
	return err;
}

void perfctr_cpu_exit(void)
{
	if (driver->no_counters)
		return;
	cpuhp_remove_state_nocalls(online_state);
	cpuhp_remove_state_nocalls(dead_state);
	perfctr_powerpc_perf_step_out();
}
