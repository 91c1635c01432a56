// SPDX-License-Identifier: GPL-2.0
/*
 * The table of x86 drivers, and the choice of one.  Reservation on all CPUs, CPU hotplug
 * and sleep are the same for all drivers.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/notifier.h>
#include <linux/percpu.h>
#include <linux/reboot.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/topology.h>
#include <linux/workqueue.h>

#include "../common/guests.h"
#include "regs.h"
#include "x86.h"

/* In order of preference.  The last one accepts every processor. */
static const struct perfctr_x86_driver *const drivers[] = {
	&perfctr_x86_intel_v6,
	&perfctr_x86_intel,
	&perfctr_x86_amd_v2,
	&perfctr_x86_amd,
	&perfctr_x86_p6,
	&perfctr_x86_p5,
	&perfctr_x86_c3,
	&perfctr_x86_p4,
	&perfctr_x86_generic,
};

static const struct perfctr_x86_driver *driver;
static enum cpuhp_state hotplug_state;

/*
 * True while the counters are reserved.  It changes under cpus_read_lock(), and the
 * hotplug callbacks hold that lock for writing, so they see a stable value.
 */
static bool reserved;

/*
 * The CPUs that cpu_start has prepared since the counters were reserved.  Each CPU is
 * prepared when it is first needed, so that the others are not disturbed.
 */
static struct cpumask started;

/*
 * The CPUs that have passed the self-test since they came online, and those that have
 * failed it or were stopped by perfctr_x86_fail_here().
 */
static struct cpumask passed, failed;

/*
 * The CPUs on which counters may have been loaded since they were last cleared, so that
 * others need not be looked at.  A CPU's own bit, changed on it with interrupts disabled, or
 * while it is offline.
 */
static struct cpumask holders;

/* True if CPUs that come online are prepared at once: see perfctr_x86_prepare_all(). */
static bool prepares_all;

/* True once the system has begun to shut down. */
static bool shutting_down;

/* The CPUs that the module's parameter forbids. */
static struct cpumask named;

static bool is_usable_here(void)
{
	return perfctr_kind_here() && (!driver->is_usable || driver->is_usable());
}

/*
 * Forbid all CPUs whose driver knows some that must not count, until each has been asked.  So
 * a control that is checked before a CPU comes online knows that it cannot count everywhere.
 */
static void forbid_unseen_cpus(void)
{
	if (!driver->is_usable)
		return;
	cpumask_copy(&named, &perfctr_forbid_cpus);
	cpumask_copy(&perfctr_forbid_cpus, cpu_possible_mask);
}

static void admit_this_cpu(unsigned int cpu)
{
	if (!driver->is_usable)
		return;
	if (driver->is_usable() && !cpumask_test_cpu(cpu, &named))
		cpumask_clear_cpu(cpu, &perfctr_forbid_cpus);
}

int perfctr_x86_prepare_here(void)
{
	unsigned int cpu = smp_processor_id();
	int err;

	/* The test is not repeated: it takes long, and the log has its result. */
	if (!is_usable_here() || cpumask_test_cpu(cpu, &failed))
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
	if (err == -EIO || !READ_ONCE(reserved))
		goto out;
	err = driver->cpu_start(!cpumask_test_cpu(cpu, &passed));
	if (err != -EBUSY)
		cpumask_set_cpu(cpu, err ? &failed : &passed);
	if (!err)
		perfctr_x86_pmi_start();
out:
	if (err)
		cpumask_clear_cpu(cpu, &started);
	return err;
}

void perfctr_x86_fail_here(void)
{
	cpumask_set_cpu(smp_processor_id(), &failed);
	driver->cpu_halt();
	pr_err("CPU %u: the counters' interrupt repeats without a cause; they are not used until the CPU comes online again\n",
	       smp_processor_id());
}

static void prepare_cpu_ipi(void *unused)
{
	perfctr_x86_prepare_here();
}

static bool is_unprepared(int cpu, void *unused)
{
	return !cpumask_test_cpu(cpu, &started) && !cpumask_test_cpu(cpu, &failed);
}

void perfctr_x86_prepare_all(void)
{
	WRITE_ONCE(prepares_all, true);
	on_each_cpu_cond(is_unprepared, prepare_cpu_ipi, NULL, 1);
}

/* Stop the counters before LVTPC is given back: their last overflows raise NMIs. */
static void stop_cpu_ipi(void *unused)
{
	if (!cpumask_test_and_clear_cpu(smp_processor_id(), &started))
		return;
	driver->cpu_stop();
	perfctr_x86_pmi_stop();
}

/*
 * A thread that runs here keeps its counts, and counts nothing after this.  The CPU is not
 * given back to perf any more: nothing counts until the reboot.
 */
static void quiet_cpu_ipi(void *unused)
{
	if (!cpumask_test_and_clear_cpu(smp_processor_id(), &started))
		return;
	driver->cpu_quiet();
	perfctr_x86_pmi_stop();
}

/*
 * Before a reboot.  kexec resets no processor, and leaves the registers to the next kernel.
 * Threads may still run.
 */
static int system_shuts_down(struct notifier_block *block, unsigned long action, void *data)
{
	smp_store_mb(shutting_down, true);	/* pairs with perfctr_x86_prepare_here() */
	on_each_cpu_mask(&started, quiet_cpu_ipi, NULL, 1);
	return NOTIFY_DONE;
}

static struct notifier_block shutdown_notifier = { .notifier_call = system_shuts_down };

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
 * once the scheduler moves them away.  A thread that has not left yet may prepare the CPU
 * and load its control once more.  It is counted right, and the first callback gives
 * the CPU back.  Before 5.11 such a thread may even keep running for a while.
 *
 * Context: The CPU concerned.
 */
static int begin_this_cpu(unsigned int cpu)
{
	unsigned long flags;

	perfctr_x86_cpu_stays(cpu);
	perfctr_learn_kind(cpu);
	admit_this_cpu(cpu);
	force_switch_on_siblings(cpu);
	local_irq_save(flags);
	cpumask_clear_cpu(cpu, &passed);
	cpumask_clear_cpu(cpu, &failed);
	stop_cpu_ipi(NULL);
	if (reserved && READ_ONCE(prepares_all))
		perfctr_x86_prepare_here();
	perfctr_tell_watcher(PERFCTR_CPU_ONLINE);
	local_irq_restore(flags);
	return 0;
}

static int release_this_cpu(unsigned int cpu)
{
	unsigned long flags;

	perfctr_x86_cpu_leaves(cpu);
	local_irq_save(flags);
	perfctr_tell_watcher(PERFCTR_CPU_OFFLINE);
	stop_cpu_ipi(NULL);
	local_irq_restore(flags);
	return 0;
}

/* CR4.PCE is set for all processes under rdpmc=2 in sysfs. */
bool perfctr_cpu_user_reads(void)
{
	return perfctr_user_rdpmc();
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
		if (!cpumask_test_cpu(smp_processor_id(), &failed))
			perfctr_x86_pmi_forget();
	}
}

static int reserve_counters(void)
{
	int err = driver->reserve();

	if (err)
		return err;
	/* Last: while perf has the counters, a program may try in a loop, and disturbs no KVM. */
	err = perfctr_guests_exclude();
	if (err && driver->release)
		driver->release();
	return err;
}

int perfctr_cpu_reserve(void)
{
	int err = 0;

	if (driver->settle)
		driver->settle();
	cpus_read_lock();
	if (driver->reserve)
		err = reserve_counters();
	if (!err) {
		WRITE_ONCE(reserved, true);
		perfctr_x86_rdpmc_begin();
	}
	cpus_read_unlock();
	return err;
}

int perfctr_cpu_prepare(void)
{
	unsigned int here = raw_smp_processor_id();
	unsigned long flags;
	int err = 0;

	if (likely(cpumask_test_cpu(here, &started) && !cpumask_test_cpu(here, &failed)))
		return 0;
	local_irq_save(flags);
	/* A control may be for another kind of CPU than this one. */
	if (is_usable_here())
		err = perfctr_x86_prepare_here();
	local_irq_restore(flags);
	/* The state's thread may end before this, and its end releases the counters. */
	return err == -ENODEV ? 0 : err;
}

/*
 * Forget the CPUs that are offline, and that a thread prepared as it left them.  When they
 * come online, they are perf's.
 */
static void lose_offline_cpus(void)
{
	unsigned int cpu;

	for_each_cpu(cpu, &started) {
		cpumask_clear_cpu(cpu, &started);
		driver->cpu_lose(cpu);
		perfctr_x86_pmi_lose(cpu);
	}
}

void perfctr_cpu_release(void)
{
	cpus_read_lock();
	perfctr_x86_rdpmc_end();
	WRITE_ONCE(prepares_all, false);
	/* Pairs with perfctr_x86_prepare_here(). */
	smp_store_mb(reserved, false);
	/* Without an interrupt if only this CPU was prepared. */
	on_each_cpu_mask(&started, stop_cpu_ipi, NULL, 1);
	lose_offline_cpus();
	if (driver->release)
		driver->release();
	if (driver->reserve)
		perfctr_guests_admit();
	cpus_read_unlock();
}

bool perfctr_x86_is_reserved(void)
{
	return READ_ONCE(reserved);
}

bool perfctr_x86_mark_holder(void)
{
	unsigned int cpu = smp_processor_id();

	cpumask_set_cpu(cpu, &holders);
	smp_mb__after_atomic();	/* pairs with raise_level() in rdpmc.c */
	return !cpumask_test_cpu(cpu, &failed);
}

void perfctr_x86_unmark_holder(unsigned int cpu)
{
	cpumask_clear_cpu(cpu, &holders);
}

static bool others_hold(void)
{
	unsigned int cpu, here = raw_smp_processor_id();

	for_each_cpu_and(cpu, &holders, cpu_online_mask) {
		if (cpu != here)
			return true;
	}
	return false;
}

/*
 * Runs without cpus_read_lock(): the caller holds mmap_lock, which nests inside it elsewhere
 * in the kernel.  Each CPU knows whether its counters are ours.
 */
bool perfctr_x86_scrub(void)
{
	bool others;

	if (cpumask_empty(&holders))
		return false;
	others = others_hold();
	on_each_cpu_mask(&holders, scrub_cpu_ipi, NULL, 1);
	return others;
}

int perfctr_cpu_check_control(struct perfctr_cpu_control *control)
{
	if (control->tsc_on && !perfctr_has_tsc())
		return -EOPNOTSUPP;
	return driver->check_control(control);
}

static void probe_cpu_ipi(void *err)
{
	*(int *)err = driver->probe();
}

/* Always probe the same CPU, so that kinds get the same numbers each time. */
static void choose_driver(void)
{
	unsigned int i, first;
	int err = -ENODEV;

	cpus_read_lock();
	first = cpumask_first(cpu_online_mask);
	for (i = 0; i < ARRAY_SIZE(drivers) && err; i++) {
		driver = drivers[i];
		memset(&perfctr_cpu_info, 0, sizeof(perfctr_cpu_info));
		perfctr_cpu_sampling_ns = 0;
		smp_call_function_single(first, probe_cpu_ipi, &err, 1);
		if (!err && driver->begin)
			err = driver->begin(first);
	}
	cpus_read_unlock();
}

static void end_driver(void)
{
	if (driver->end)
		driver->end();
	/* Until then, perf's mappings may start its work. */
	perfctr_x86_rdpmc_exit();
}

int perfctr_cpu_init(void)
{
	unsigned int cpu;
	int err;

	for_each_possible_cpu(cpu)
		INIT_WORK(per_cpu_ptr(&switch_work, cpu), force_switch_work);
	choose_driver();
	err = perfctr_driver_init(&driver->ops);
	if (err)
		goto out_driver;
	forbid_unseen_cpus();
	if (perfctr_is_hybrid() && driver->probe_kind)
		perfctr_init_kinds(driver->probe_kind, NULL);
	err = perfctr_guests_init();
	if (err)
		goto out_driver;
	err = perfctr_x86_pmi_init(driver);
	if (err)
		goto out_guests;
	err = perfctr_x86_pce_init();
	if (err)
		goto out_pmi;
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "vperfctr:online", begin_this_cpu,
				release_this_cpu);
	if (err < 0)
		goto out_pce;
	hotplug_state = err;
	err = register_reboot_notifier(&shutdown_notifier);
	if (err)
		goto out_hotplug;
	perfctr_x86_kvm_init();
	return 0;

out_hotplug:
	cpuhp_remove_state(hotplug_state);
out_pce:
	perfctr_x86_pce_exit();
out_pmi:
	perfctr_x86_pmi_exit();
out_guests:
	perfctr_guests_exit();
out_driver:
	end_driver();
	return err;
}

void perfctr_cpu_exit(void)
{
	unsigned int cpu;

	perfctr_x86_kvm_exit();
	unregister_reboot_notifier(&shutdown_notifier);
	cpuhp_remove_state(hotplug_state);
	for_each_possible_cpu(cpu)
		flush_work(per_cpu_ptr(&switch_work, cpu));
	perfctr_x86_pce_exit();
	perfctr_x86_pmi_exit();
	perfctr_guests_exit();
	end_driver();
}
