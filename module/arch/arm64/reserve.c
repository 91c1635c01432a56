// SPDX-License-Identifier: GPL-2.0
/*
 * arm64: choose the low-level driver, claim the counters of all CPUs from perf, and
 * follow CPU hotplug and CPU power management.
 */
#include <linux/cpu.h>
#include <linux/cpu_pm.h>
#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/notifier.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "arm64.h"

static const struct perfctr_arm64_driver *driver;
static enum cpuhp_state dead_state, online_state;

/*
 * True while the hardware is reserved, and the CPUs whose counters are claimed.  Both
 * change under cpus_read_lock().  Hotplug callbacks hold that lock for writing, so
 * they see stable values.
 */
static bool reserved;
static struct cpumask claimed;

/* CPUs that have been inspected: perfctr_forbid_cpus is valid for them. */
static struct cpumask inspected;
static bool initialised;

/* ---- claiming and releasing ----------------------------------------------- */

static bool claim_this_cpu(void)
{
	unsigned int cpu = smp_processor_id();

	if (cpumask_test_cpu(cpu, &perfctr_forbid_cpus))
		return true;
	if (!perfctr_arm64_perf_claim())
		return false;
	cpumask_set_cpu(cpu, &claimed);
	return true;
}

static void claim_or_report_busy(void *busy)
{
	if (!claim_this_cpu())
		WRITE_ONCE(*(bool *)busy, true);
}

static void release_this_cpu(void *unused)
{
	unsigned int cpu = smp_processor_id();

	if (cpumask_test_and_clear_cpu(cpu, &claimed)) {
		perfctr_arm64_perf_release(cpu);
		perfctr_arm64_perf_reset();
	}
}

static void start_this_cpu(void *unused)
{
	if (cpumask_test_cpu(smp_processor_id(), &claimed))
		driver->cpu_start();
}

/*
 * Stop and release in one step: an idle CPU may lose its registers at any time, and
 * after the release perf sets them up again.
 */
static void stop_this_cpu(void *unused)
{
	if (cpumask_test_cpu(smp_processor_id(), &claimed))
		driver->cpu_stop();
	release_this_cpu(NULL);
}

int perfctr_cpu_reserve(void)
{
	bool busy = false;

	cpus_read_lock();
	perfctr_arm64_perf_step_in(driver->overflow);
	on_each_cpu(claim_or_report_busy, &busy, 1);
	if (busy) {
		on_each_cpu(release_this_cpu, NULL, 1);
		perfctr_arm64_perf_step_out();
	} else {
		reserved = true;
		on_each_cpu(start_this_cpu, NULL, 1);
	}
	cpus_read_unlock();
	return busy ? -EBUSY : 0;
}

/*
 * reserve has prepared all CPUs.  perf's events must not be on any CPU that may count
 * later, and only the CPU itself can claim its counters between two of perf's events.
 */
int perfctr_cpu_prepare(void)
{
	return 0;
}

void perfctr_cpu_release(void)
{
	cpus_read_lock();
	reserved = false;
	on_each_cpu(stop_this_cpu, NULL, 1);
	perfctr_arm64_perf_step_out();
	cpus_read_unlock();
}

/* ---- CPU hotplug and power management ------------------------------------- */

/*
 * Find out whether this new CPU can count, and forbid it if not.  A CPU without an
 * interrupt ends the support of i-mode during init, and is forbidden afterwards.
 */
static int inspect_cpu(unsigned int cpu)
{
	unsigned long flags;
	bool alike, intr;
	int err;

	err = perfctr_arm64_perf_find(cpu, &intr);
	local_irq_save(flags);
	alike = driver->is_alike();
	local_irq_restore(flags);
	if (!err && alike && !intr && !initialised) {
		perfctr_cpu_info.features &= ~VPERFCTR_FEATURE_PCINT;
		perfctr_cpu_info.max_period = 0;
	}
	if (err || !alike || (!intr && (perfctr_cpu_info.features & VPERFCTR_FEATURE_PCINT)))
		cpumask_set_cpu(cpu, &perfctr_forbid_cpus);
	cpumask_set_cpu(cpu, &inspected);
	return 0;
}

/*
 * Claim a CPU that comes online.  The kernel's driver has had it since it started.
 * If perf already has an event on it, the CPU must stay offline: counts made there
 * would be wrong.
 *
 * Context: On that CPU, before user threads can run there.
 */
static int prepare_online_cpu(unsigned int cpu)
{
	unsigned long flags;
	int err = 0;

	if (!cpumask_test_cpu(cpu, &inspected))
		err = inspect_cpu(cpu);
	local_irq_save(flags);
	if (reserved) {
		perfctr_arm64_perf_step_in(driver->overflow);	/* its arm_pmu may be new */
		if (claim_this_cpu())
			start_this_cpu(NULL);
		else
			err = -EBUSY;
	}
	local_irq_restore(flags);
	return err;
}

/*
 * Release a CPU that has gone offline.  Earlier would be wrong: threads that have yet
 * to migrate off the CPU still count there.
 *
 * Context: On another CPU.
 */
static int release_dead_cpu(unsigned int cpu)
{
	if (cpumask_test_cpu(cpu, &claimed)) {
		cpumask_clear_cpu(cpu, &claimed);
		perfctr_arm64_perf_release(cpu);
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
	if (action == CPU_PM_EXIT || action == CPU_PM_ENTER_FAILED)
		perfctr_cpu_forget();
	return NOTIFY_OK;
}

static struct notifier_block cpu_pm_nb = { .notifier_call = handle_cpu_pm };

void perfctr_cpu_sleep(void)
{
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

void perfctr_arm64_close_users(struct mm_struct *mm)
{
	if (!driver->no_counters)
		on_each_cpu_cond(is_reader, close_user_here, mm, 1);
}

int perfctr_cpu_check_control(struct perfctr_cpu_control *control)
{
	return driver->check_control(control);
}

static int choose_driver(void)
{
	bool intr;
	int err;

	/* The CPU must not change: is_alike() later compares the others with it. */
	preempt_disable();
	driver = &perfctr_arm64_pmuv3;
	err = driver->probe();
	preempt_enable();
	if (!err)
		err = perfctr_arm64_perf_find(raw_smp_processor_id(), &intr);
	if (!err)
		return 0;
	memset(&perfctr_cpu_info, 0, sizeof(perfctr_cpu_info));
	perfctr_cpu_sampling_ns = 0;
	driver = &perfctr_arm64_generic;
	return driver->probe();
}

int perfctr_cpu_init(void)
{
	int err;

	err = choose_driver();
	if (!err)
		err = perfctr_driver_init(&driver->ops);
	if (err || driver->no_counters)
		return err;
	err = cpuhp_setup_state(CPUHP_BP_PREPARE_DYN, "vperfctr:dead", NULL, release_dead_cpu);
	if (err < 0)
		return err;
	dead_state = err;
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "vperfctr:online", prepare_online_cpu, NULL);
	if (err < 0)
		goto no_online;
	online_state = err;
	err = cpu_pm_register_notifier(&cpu_pm_nb);
	if (err)
		goto no_cpu_pm;
	initialised = true;
	return 0;

no_cpu_pm:
	cpuhp_remove_state_nocalls(online_state);
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
	synchronize_rcu();	/* see perfctr_arm64_perf_step_out() */
}
