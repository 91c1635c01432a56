// SPDX-License-Identifier: GPL-2.0
/*
 * arm64: choice of the low-level driver, reservation on all CPUs, and CPUs that
 * come, go, or sleep.
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
 * The counters are ours, on these CPUs.  Both change under cpus_read_lock(), so that
 * the hotplug callbacks, which hold that lock for writing, see them stable.
 */
static bool reserved;
static struct cpumask taken;

/* Those that have been looked at: may they count? */
static struct cpumask known;
static bool initialised;

/* ---- taking and giving back ----------------------------------------------- */

static bool take_here(void)
{
	unsigned int cpu = smp_processor_id();

	if (cpumask_test_cpu(cpu, &perfctr_forbid_cpus))
		return true;
	if (!perfctr_arm64_perf_take())
		return false;
	cpumask_set_cpu(cpu, &taken);
	return true;
}

static void take_or_note(void *busy)
{
	if (!take_here())
		WRITE_ONCE(*(bool *)busy, true);
}

static void give_back_here(void *unused)
{
	unsigned int cpu = smp_processor_id();

	if (cpumask_test_and_clear_cpu(cpu, &taken)) {
		perfctr_arm64_perf_give_back(cpu);
		perfctr_arm64_perf_reset();
	}
}

static void start_here(void *unused)
{
	if (cpumask_test_cpu(smp_processor_id(), &taken))
		driver->cpu_start();
}

/* At once, as an idle CPU may lose its registers at any time, and then they are perf's. */
static void stop_here(void *unused)
{
	if (cpumask_test_cpu(smp_processor_id(), &taken))
		driver->cpu_stop();
	give_back_here(NULL);
}

int perfctr_cpu_reserve(void)
{
	bool busy = false;

	cpus_read_lock();
	perfctr_arm64_perf_step_in(driver->overflow);
	on_each_cpu(take_or_note, &busy, 1);
	if (busy) {
		on_each_cpu(give_back_here, NULL, 1);
		perfctr_arm64_perf_step_out();
	} else {
		reserved = true;
		on_each_cpu(start_here, NULL, 1);
	}
	cpus_read_unlock();
	return busy ? -EBUSY : 0;
}

void perfctr_cpu_release(void)
{
	cpus_read_lock();
	reserved = false;
	on_each_cpu(stop_here, NULL, 1);
	perfctr_arm64_perf_step_out();
	cpus_read_unlock();
}

/* ---- CPUs that come and go ------------------------------------------------ */

/* On a CPU that has not been seen yet: is it one that can count? */
static int look_at(unsigned int cpu)
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
	cpumask_set_cpu(cpu, &known);
	return 0;
}

/*
 * On the CPU, before it becomes active for user threads.  The kernel's driver has
 * had it since it started; should perf have got an event on it so soon, the CPU
 * stays offline: somebody who counts there would count wrong.
 */
static int online_here(unsigned int cpu)
{
	unsigned long flags;
	int err = 0;

	if (!cpumask_test_cpu(cpu, &known))
		err = look_at(cpu);
	local_irq_save(flags);
	if (reserved) {
		perfctr_arm64_perf_step_in(driver->overflow);	/* it may be new */
		if (take_here())
			start_here(NULL);
		else
			err = -EBUSY;
	}
	local_irq_restore(flags);
	return err;
}

/*
 * On another CPU, when this one has gone.  Not before: threads that are still being
 * pushed off it count there.
 */
static int dead_elsewhere(unsigned int cpu)
{
	if (cpumask_test_cpu(cpu, &taken)) {
		cpumask_clear_cpu(cpu, &taken);
		perfctr_arm64_perf_give_back(cpu);
	}
	return 0;
}

/* A CPU that slept deeply has lost its registers; it is idle, with interrupts disabled. */
static int cpu_pm(struct notifier_block *nb, unsigned long action, void *unused)
{
	if (action == CPU_PM_EXIT || action == CPU_PM_ENTER_FAILED)
		perfctr_cpu_forget();
	return NOTIFY_OK;
}

static struct notifier_block cpu_pm_nb = { .notifier_call = cpu_pm };

void perfctr_cpu_sleep(void)
{
}

void perfctr_cpu_forget(void)
{
	/* Else they are perf's. */
	if (!driver->no_counters && cpumask_test_cpu(smp_processor_id(), &taken))
		driver->cpu_forget();
}

/* ---- the rest ------------------------------------------------------------- */

static void close_here(void *mm)
{
	if (current->mm == mm)
		driver->cpu_close_user();
}

void perfctr_arm64_close_users(struct mm_struct *mm)
{
	if (!driver->no_counters)
		on_each_cpu(close_here, mm, 1);
}

int perfctr_cpu_check_control(struct perfctr_cpu_control *control)
{
	return driver->check_control(control);
}

/* Overflows are taken by way of a suspend and a resume. */
struct perfctr_overflow perfctr_cpu_take_overflow(struct perfctr_cpu_state *state, bool hold,
						  unsigned int shift)
{
	return perfctr_take_suspended(state, hold, shift);
}

void perfctr_cpu_go_on(struct perfctr_cpu_state *state)
{
	perfctr_cpu_resume(state);
}

void perfctr_cpu_iresume(struct perfctr_cpu_state *state)
{
	perfctr_cpu_suspend(state);
	perfctr_cpu_unhold_pmcs(state);
	perfctr_cpu_resume(state);
}

static int choose_driver(void)
{
	bool intr;
	int err;

	/* What is here is compared with the other CPUs later. */
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
		err = perfctr_driver_init(driver->suspend, driver->resume, driver->sample);
	if (err || driver->no_counters)
		return err;
	err = cpuhp_setup_state(CPUHP_BP_PREPARE_DYN, "vperfctr:dead", NULL, dead_elsewhere);
	if (err < 0)
		return err;
	dead_state = err;
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "vperfctr:online", online_here, NULL);
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
