// SPDX-License-Identifier: GPL-2.0
/*
 * arm64 and RISC-V: choose the low-level driver, claim the counters from perf, and follow
 * CPU hotplug and CPU power management.
 */
#include <linux/cpu.h>
#include <linux/cpu_pm.h>
#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/notifier.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "claim.h"
#include "perf-wait.h"

static const struct perfctr_claim_driver *driver;
static enum cpuhp_state dead_state, online_state;

/* True while the hardware is reserved, on all CPUs but the forbidden ones. */
bool perfctr_reserved;

/*
 * The CPUs whose counters have been claimed since the hardware was reserved.  Each CPU
 * is claimed when it is first needed, so that the others are not disturbed.
 */
static struct cpumask claimed;

/* CPUs that have been inspected: perfctr_forbid_cpus is valid for them. */
static struct cpumask inspected;

/* True if there are several kinds of CPUs.  Else CPUs that differ from the first are forbidden. */
static bool has_kinds __ro_after_init;

/* ---- claiming and releasing ----------------------------------------------- */

int perfctr_prepare_here(void)
{
	unsigned int cpu = smp_processor_id();
	int err = -ENODEV;

	if (cpumask_test_cpu(cpu, &claimed))
		return 0;
	if (cpumask_test_cpu(cpu, &perfctr_forbid_cpus))
		return -EIO;
	cpumask_set_cpu(cpu, &claimed);
	/* Pairs with the release: it finds the bit, or the counters are perf's by now. */
	smp_mb__after_atomic();
	if (READ_ONCE(perfctr_reserved))
		err = perfctr_perf_claim() ? 0 : -EBUSY;
	if (err)
		cpumask_clear_cpu(cpu, &claimed);
	else
		driver->cpu_start();
	return err;
}

/*
 * Stop and release in one step: an idle CPU may lose its registers at any time, and
 * after the release perf sets them up again.
 */
static void stop_this_cpu(void *unused)
{
	unsigned int cpu = smp_processor_id();

	if (!cpumask_test_and_clear_cpu(cpu, &claimed))
		return;
	driver->cpu_stop();
	perfctr_perf_release(cpu);
	if (driver->cpu_released)
		driver->cpu_released();
}

static bool is_perf_counting(void)
{
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		if (!cpumask_test_cpu(cpu, &perfctr_forbid_cpus) &&
		    perfctr_perf_is_busy(cpu))
			return true;
	}
	return false;
}

int perfctr_cpu_reserve(void)
{
	int err = 0;

	perfctr_perf_settle();
	cpus_read_lock();
	/* An attempt that fails must not keep perf out, not even for a moment. */
	if (is_perf_counting()) {
		err = -EBUSY;
		goto out;
	}
	/* From here on perf adds no event, or it is found: see perfctr_perf_is_busy(). */
	smp_store_mb(perfctr_reserved, true);
	if (is_perf_counting()) {
		smp_store_mb(perfctr_reserved, false);	/* pairs with perf's filter */
		err = -EBUSY;
	}
out:
	/* Settling has cancelled what earlier releases owe, and this attempt may owe more. */
	if (err)
		perfctr_perf_reschedule();
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
	/* Pairs with perfctr_prepare_here(), and with perf's filter. */
	smp_store_mb(perfctr_reserved, false);
	/* Without an interrupt if only this CPU was claimed. */
	on_each_cpu_mask(&claimed, stop_this_cpu, NULL, 1);
	perfctr_perf_reschedule();
	cpus_read_unlock();
}

/* ---- CPU hotplug and power management ------------------------------------- */

/* True if counters can be used here, with all features that perfctr_cpu_info promises. */
static bool is_usable(unsigned int cpu)
{
	unsigned long flags;
	bool alike, intr;

	if (perfctr_perf_find(cpu, &intr))
		return false;
	if (!intr && (perfctr_cpu_info.features & VPERFCTR_FEATURE_PCINT))
		return false;
	if (!has_kinds) {
		local_irq_save(flags);
		alike = driver->is_alike();
		local_irq_restore(flags);
		if (!alike)
			return false;
	}
	if (!perfctr_perf_step_in(cpu, driver->overflow))
		return false;
	perfctr_learn_kind(cpu);
	return perfctr_kind_here();
}

/*
 * Find out whether a CPU that comes online can count, and forbid it if not.
 *
 * Context: On that CPU, before user threads can run there.
 */
static int inspect_cpu(unsigned int cpu)
{
	if (cpumask_test_cpu(cpu, &inspected))
		return 0;
	if (!is_usable(cpu))
		cpumask_set_cpu(cpu, &perfctr_forbid_cpus);
	cpumask_set_cpu(cpu, &inspected);
	return 0;
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
	int err = inspect_cpu(cpu);

	tell_watcher(PERFCTR_CPU_ONLINE);
	return err;
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
	if (cpumask_test_and_clear_cpu(cpu, &claimed)) {
		driver->cpu_lose(cpu);
		perfctr_perf_release(cpu);
	}
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

static struct notifier_block cpu_pm_nb = { .notifier_call = handle_cpu_pm };

void perfctr_cpu_sleep(void)
{
}

/* Without the operation, a claimed CPU is open only to a thread whose state has counters. */
bool perfctr_cpu_user_reads(void)
{
	return driver->user_reads && driver->user_reads();
}

void perfctr_cpu_forget(void)
{
	/* perf's driver sets up the registers of CPUs that are not claimed. */
	if (!driver->no_counters && cpumask_test_cpu(smp_processor_id(), &claimed))
		driver->cpu_forget();
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
	if (!driver->no_counters)
		on_each_cpu_cond(is_reader, close_user_here, mm, 1);
}

int perfctr_cpu_check_control(struct perfctr_cpu_control *control)
{
	return driver->check_control(control);
}

static void probe_cpu_ipi(void *err)
{
	*(int *)err = driver->probe();
}

static void differ_ipi(void *differs)
{
	*(bool *)differs |= !driver->is_alike();
}

static void describe_kind_ipi(void *err)
{
	*(int *)err = driver->probe_kind(&perfctr_cpu_info);
}

/* Try the driver with counters on a CPU, which is the first of kind 0. */
static int probe(unsigned int first)
{
	bool intr;
	int err;

	driver = &perfctr_claim_pmu;
	err = perfctr_perf_find(first, &intr);
	if (!err)
		smp_call_function_single(first, probe_cpu_ipi, &err, 1);
	return err;
}

/*
 * Find out which features all online CPUs have, and whether there are several kinds.  The
 * numbers of kinds are in the order of the CPUs.
 */
static int compare_cpus(unsigned int first)
{
	bool intr, differs = false;
	unsigned int cpu;
	int err = 0;

	for_each_online_cpu(cpu) {
		if (perfctr_perf_find(cpu, &intr))
			continue;	/* it will be forbidden */
		smp_call_function_single(cpu, differ_ipi, &differs, 1);
		differs |= driver->has_kinds && driver->has_kinds(cpu);
		if (!intr) {
			perfctr_cpu_info.features &= ~VPERFCTR_FEATURE_PCINT;
			perfctr_cpu_info.max_period = 0;
			perfctr_cpu_info.min_period = 0;
		}
	}
	if (!differs || !driver->probe_kind)
		return 0;
	has_kinds = true;
	smp_call_function_single(first, describe_kind_ipi, &err, 1);
	perfctr_init_kinds(driver->probe_kind, driver->new_kind);
	return err;
}

static int choose_driver(void)
{
	unsigned int first;
	int err;

	cpus_read_lock();
	first = cpumask_first(cpu_online_mask);
	err = probe(first);
	if (err) {
		memset(&perfctr_cpu_info, 0, sizeof(perfctr_cpu_info));
		perfctr_cpu_sampling_ns = 0;
		driver = &perfctr_timer_only;
		err = driver->probe();
	}
	if (!err)
		err = perfctr_driver_init(&driver->ops);
	if (!err && !driver->no_counters && driver->probe_events)
		driver->probe_events(first);
	if (!err && !driver->no_counters)
		err = compare_cpus(first);
	cpus_read_unlock();
	return err;
}

int perfctr_cpu_init(void)
{
	int err;

	err = choose_driver();
	if (err || driver->no_counters)
		return err;
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
	if (err)
		goto no_cpu_pm;
	/* An event that is being added has not seen the diversions. */
	synchronize_rcu();
	return 0;

no_cpu_pm:
	cpuhp_remove_state_nocalls(online_state);
	perfctr_perf_step_out();
	synchronize_rcu();
no_online:
	cpuhp_remove_state_nocalls(dead_state);
	return err;
}

void perfctr_cpu_exit(void)
{
	if (driver->no_counters)
		return;
	cpu_pm_unregister_notifier(&cpu_pm_nb);
	cpuhp_remove_state_nocalls(online_state);
	cpuhp_remove_state_nocalls(dead_state);
	if (driver->end)
		driver->end();
	perfctr_perf_wait_end();
	perfctr_perf_step_out();
	synchronize_rcu();	/* see perfctr_perf_step_out() */
}
