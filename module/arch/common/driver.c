// SPDX-License-Identifier: GPL-2.0
/*
 * Choose the low-level driver, reserve the counters, prepare and release CPUs, and follow CPU
 * hotplug and CPU power management.  How counters are obtained is the driver's: see driver.h.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/cpu_pm.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/notifier.h>
#include <linux/printk.h>
#include <linux/reboot.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "driver.h"
#include "mediated-guests.h"
#include "regs.h"	/* in arch/ARCH */

const struct perfctr_driver *perfctr_driver;

static enum cpuhp_state last_state, online_state;

bool perfctr_reserved;

/*
 * The CPUs that have been prepared since the counters were reserved.  Each CPU is prepared
 * when it is first needed, so that the others are not disturbed.
 */
static struct cpumask started;

/* The CPUs that have passed the driver's test since they came online. */
static struct cpumask passed;

struct cpumask perfctr_failed_cpus;

/* CPUs that have been inspected: perfctr_forbid_cpus is valid for them. */
static struct cpumask inspected;

/* True if CPUs that come online are prepared at once: see perfctr_prepare_all(). */
static bool prepares_all;

/* True once the system has begun to shut down. */
static bool shutting_down;

/* ---- reserving, preparing and releasing ------------------------------------ */

static bool can_count_here(void)
{
	if (perfctr_arch.can_count)
		return perfctr_arch.can_count();
	return !cpumask_test_cpu(smp_processor_id(), &perfctr_forbid_cpus);
}

static int take_this_cpu(unsigned int cpu)
{
	int err;

	if (perfctr_driver->claim && !perfctr_driver->claim())
		return -EBUSY;
	err = perfctr_driver->cpu_start(!cpumask_test_cpu(cpu, &passed));
	if (err != -EBUSY)
		cpumask_set_cpu(cpu, err ? &perfctr_failed_cpus : &passed);
	if (err && perfctr_driver->unclaim)
		perfctr_driver->unclaim(cpu);
	if (!err && perfctr_arch.cpu_started)
		perfctr_arch.cpu_started();
	return err;
}

int perfctr_prepare_here(void)
{
	unsigned int cpu = smp_processor_id();
	int err;

	/* The test is not repeated: it takes long, and the log has its result. */
	if (!can_count_here() || cpumask_test_cpu(cpu, &perfctr_failed_cpus))
		return -EIO;
	if (cpumask_test_cpu(cpu, &started))
		return 0;
	cpumask_set_cpu(cpu, &started);
	/*
	 * Pairs with the release: it finds the bit, or the counters are perf's by now.  Pairs
	 * with system_shuts_down(), too: it finds the bit, or shutting_down is set.
	 */
	smp_mb__after_atomic();
	err = READ_ONCE(shutting_down) ? -EIO : -ENODEV;
	if (err == -ENODEV && READ_ONCE(perfctr_reserved))
		err = take_this_cpu(cpu);
	if (err)
		cpumask_clear_cpu(cpu, &started);
	return err;
}

void perfctr_fail_here(void)
{
	cpumask_set_cpu(smp_processor_id(), &perfctr_failed_cpus);
	perfctr_driver->cpu_halt();
	pr_err("CPU %u: the counters' interrupt repeats without a cause; they are not used until the CPU comes online again\n",
	       smp_processor_id());
}

static void prepare_cpu_ipi(void *unused)
{
	perfctr_prepare_here();
}

static bool is_unprepared(int cpu, void *unused)
{
	return !cpumask_test_cpu(cpu, &started) && !cpumask_test_cpu(cpu, &perfctr_failed_cpus);
}

void perfctr_prepare_all(void)
{
	WRITE_ONCE(prepares_all, true);
	on_each_cpu_cond(is_unprepared, prepare_cpu_ipi, NULL, 1);
}

/*
 * Stop and release in one step: an idle CPU may lose its registers at any time, and
 * after the release perf sets them up again.
 */
static void release_this_cpu(void *unused)
{
	unsigned int cpu = smp_processor_id();

	if (!cpumask_test_and_clear_cpu(cpu, &started))
		return;
	perfctr_driver->cpu_stop();
	if (perfctr_driver->unclaim)
		perfctr_driver->unclaim(cpu);
	/* Afterwards: the counters' last overflows raise interrupts. */
	if (perfctr_arch.cpu_stopped)
		perfctr_arch.cpu_stopped();
}

void perfctr_lend_here(void)
{
	perfctr_tell_watcher(PERFCTR_CPU_SLEEPS);
	release_this_cpu(NULL);
}

void perfctr_lent_here(void)
{
	perfctr_tell_watcher(PERFCTR_CPU_WAKES);
}

/* The CPU is offline. */
static void lose_cpu(unsigned int cpu)
{
	cpumask_clear_cpu(cpu, &started);
	if (perfctr_driver->own_cpu)
		perfctr_driver->own_cpu(cpu)->ready = 0;
	if (perfctr_driver->cpu_lose)
		perfctr_driver->cpu_lose(cpu);
	if (perfctr_driver->unclaim)
		perfctr_driver->unclaim(cpu);
}

/*
 * A thread that runs here keeps its counts, and counts nothing after this.  The CPU is not
 * given back to perf any more: nothing counts until the reboot.
 */
static void quiet_this_cpu(void *unused)
{
	if (!cpumask_test_and_clear_cpu(smp_processor_id(), &started))
		return;
	perfctr_driver->cpu_quiet();
	if (perfctr_arch.cpu_stopped)
		perfctr_arch.cpu_stopped();
}

/*
 * Before a reboot.  kexec resets no processor, and leaves the registers to the next kernel.
 * Threads may still run.
 */
static int system_shuts_down(struct notifier_block *block, unsigned long action, void *data)
{
	smp_store_mb(shutting_down, true);	/* pairs with perfctr_prepare_here() */
	on_each_cpu_mask(&started, quiet_this_cpu, NULL, 1);
	return NOTIFY_DONE;
}

static struct notifier_block shutdown_notifier = { .notifier_call = system_shuts_down };

static int reserve_counters(void)
{
	int err;

	if (!perfctr_driver->reserve)
		return 0;
	err = perfctr_driver->reserve();
	if (err)
		return err;
	/* Last: while perf has the counters, a program may try in a loop, and disturbs no KVM. */
	err = perfctr_guests_exclude();
	if (err && perfctr_driver->release)
		perfctr_driver->release();
	return err;
}

int perfctr_cpu_reserve(void)
{
	int err;

	if (perfctr_driver->settle)
		perfctr_driver->settle();
	cpus_read_lock();
	err = reserve_counters();
	if (!err) {
		WRITE_ONCE(perfctr_reserved, true);
		if (perfctr_arch.reserved)
			perfctr_arch.reserved();
	}
	cpus_read_unlock();
	return err;
}

int perfctr_cpu_prepare(void)
{
	unsigned int here = raw_smp_processor_id();
	unsigned long flags;
	int err = 0;

	if (likely(cpumask_test_cpu(here, &started) &&
		   !cpumask_test_cpu(here, &perfctr_failed_cpus)))
		return 0;
	local_irq_save(flags);
	/* A control may be for other CPUs than this one. */
	if (can_count_here())
		err = perfctr_prepare_here();
	local_irq_restore(flags);
	/* The state's thread may end before this, and its end releases the counters. */
	return err == -ENODEV ? 0 : err;
}

void perfctr_cpu_release(void)
{
	cpus_read_lock();
	if (perfctr_arch.unreserve)
		perfctr_arch.unreserve();
	WRITE_ONCE(prepares_all, false);
	/* Pairs with perfctr_prepare_here(). */
	smp_store_mb(perfctr_reserved, false);
	/* Without an interrupt if only this CPU was prepared.  None is that is offline. */
	on_each_cpu_mask(&started, release_this_cpu, NULL, 1);
	if (perfctr_driver->release)
		perfctr_driver->release();
	if (perfctr_driver->reserve)
		perfctr_guests_admit();
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

/*
 * The hotplug callbacks.  The first runs before user threads run on the CPU, the second
 * once the scheduler moves them away.  A thread that has not left yet may prepare the CPU
 * and load its control once more.  It is counted right, and the third or fourth callback
 * gives the CPU back.  Before 5.11 such a thread may even keep running for a while.
 *
 * Context: The CPU concerned.
 */
static int begin_this_cpu(unsigned int cpu)
{
	unsigned long flags;

	inspect_cpu(cpu);
	if (perfctr_arch.cpu_comes)
		perfctr_arch.cpu_comes(cpu);
	local_irq_save(flags);
	cpumask_clear_cpu(cpu, &passed);
	cpumask_clear_cpu(cpu, &perfctr_failed_cpus);
	release_this_cpu(NULL);
	if (perfctr_reserved && READ_ONCE(prepares_all))
		perfctr_prepare_here();
	perfctr_tell_watcher(PERFCTR_CPU_ONLINE);
	local_irq_restore(flags);
	return 0;
}

static int leave_this_cpu(unsigned int cpu)
{
	unsigned long flags;

	local_irq_save(flags);
	perfctr_tell_watcher(PERFCTR_CPU_OFFLINE);
	if (perfctr_arch.dying)
		release_this_cpu(NULL);
	local_irq_restore(flags);
	return 0;
}

/*
 * Give back a CPU that a thread has prepared as it left.
 *
 * Context: The CPU concerned, which executes nothing else any more; interrupts disabled.
 */
static int release_dying_cpu(unsigned int cpu)
{
	release_this_cpu(NULL);
	return 0;
}

/*
 * Where there is no such callback, release a CPU that has gone offline.
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
	if (perfctr_arch.cpu_sleeps && cpumask_test_cpu(smp_processor_id(), &started))
		perfctr_arch.cpu_sleeps();
}

void perfctr_cpu_forget(void)
{
	/* The kernel's driver sets up the registers of CPUs that are not prepared. */
	if (!cpumask_test_cpu(smp_processor_id(), &started))
		return;
	perfctr_driver->cpu_forget();
	if (perfctr_arch.cpu_woke && !cpumask_test_cpu(smp_processor_id(), &perfctr_failed_cpus))
		perfctr_arch.cpu_woke();
}

/* ---- the rest ------------------------------------------------------------- */

bool perfctr_cpu_close_reads(void)
{
	return perfctr_arch.close_reads && perfctr_arch.close_reads();
}

bool perfctr_cpu_user_reads(void)
{
	return perfctr_arch.user_reads && perfctr_arch.user_reads();
}

int perfctr_cpu_check_control(struct perfctr_cpu_control *control)
{
	if (control->tsc_on && !perfctr_has_tsc())
		return -EOPNOTSUPP;
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
	perfctr_perf_keeps = false;
	perfctr_has_parts_ops = false;
	smp_call_function_single(cpu, probe_cpu_ipi, &err, 1);
	return err ?: perfctr_driver->begin ? perfctr_driver->begin(cpu) : 0;
}

/*
 * Always probe the same CPU, so that kinds get the same numbers each time.  A driver that lacks
 * memory may be the right one: the last one, which counts time only, is not for its processor.
 */
static int choose_driver(void)
{
	int err = -ENODEV;
	unsigned int i;

	cpus_read_lock();
	for (i = 0; i < perfctr_arch.nr_drivers && err && err != -ENOMEM; i++) {
		perfctr_driver = perfctr_arch.drivers[i];
		err = try_driver(cpumask_first(cpu_online_mask));
	}
	cpus_read_unlock();
	return err ?: perfctr_driver_init(&perfctr_driver->ops);
}

static int follow_cpus(void)
{
	enum cpuhp_state dying = perfctr_arch.dying;
	int err;

	if (dying)
		err = cpuhp_setup_state(dying, "vperfctr:dying", NULL, release_dying_cpu);
	else
		err = cpuhp_setup_state(CPUHP_BP_PREPARE_DYN, "vperfctr:dead", NULL,
					release_dead_cpu);
	if (err == -EBUSY)
		pr_err("cannot follow CPUs: another module has the hotplug state for CPUs that leave\n");
	if (err < 0)
		return err;
	last_state = dying ?: err;
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "vperfctr:online", begin_this_cpu,
				leave_this_cpu);
	if (err < 0)
		goto no_online;
	online_state = err;
	err = cpu_pm_register_notifier(&cpu_pm_nb);
	if (err)
		goto no_cpu_pm;
	if (perfctr_driver->cpu_quiet)
		err = register_reboot_notifier(&shutdown_notifier);
	if (!err)
		return 0;
	cpu_pm_unregister_notifier(&cpu_pm_nb);
no_cpu_pm:
	cpuhp_remove_state_nocalls(online_state);
no_online:
	cpuhp_remove_state_nocalls(last_state);
	return err;
}

static void follow_no_more(void)
{
	if (perfctr_driver->cpu_quiet)
		unregister_reboot_notifier(&shutdown_notifier);
	cpu_pm_unregister_notifier(&cpu_pm_nb);
	cpuhp_remove_state_nocalls(online_state);
	cpuhp_remove_state_nocalls(last_state);
}

void perfctr_cpu_switching(bool on)
{
	perfctr_arch.switching(on);
}

void perfctr_cpu_user_ran(void)
{
	perfctr_arch.user_ran();
}

static void end_arch(void)
{
	if (perfctr_arch.exit)
		perfctr_arch.exit();
}

static int begin_counters(void)
{
	int err;

	if (perfctr_driver->no_counters)
		return 0;
	err = perfctr_guests_init();
	if (err)
		return err;
	if (perfctr_arch.init)
		err = perfctr_arch.init();
	if (err)
		goto no_arch;
	err = follow_cpus();
	if (err)
		goto no_cpus;
	if (perfctr_arch.ready)
		perfctr_arch.ready();
	return 0;

no_cpus:
	end_arch();
no_arch:
	perfctr_guests_exit();
	return err;
}

static void end_driver(void)
{
	if (perfctr_driver->end)
		perfctr_driver->end();
	if (perfctr_arch.ended)
		perfctr_arch.ended();
}

int perfctr_cpu_init(void)
{
	int err = choose_driver() ?: begin_counters();

	if (err)
		end_driver();
	else
		perfctr_report_no_watchdog();
	return err;
}

void perfctr_cpu_exit(void)
{
	if (!perfctr_driver->no_counters) {
		follow_no_more();
		end_arch();
		perfctr_guests_exit();
	}
	end_driver();
}
