// SPDX-License-Identifier: GPL-2.0
/*
 * The table of x86 drivers, and what all of them have beside ../common/driver.c: the interrupt,
 * user-mode RDPMC, hyper-threads, and the CPUs whose counters must be cleared.
 */
#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/topology.h>
#include <linux/workqueue.h>

#include "regs.h"
#include "x86.h"

/* In order of preference.  The last one accepts every processor. */
static const struct perfctr_driver *const drivers[] = {
	&perfctr_x86_intel_v6,
	&perfctr_x86_intel,
	&perfctr_x86_amd_v2,
	&perfctr_x86_amd_v1,
	&perfctr_x86_amd,
	&perfctr_x86_p6,
	&perfctr_x86_p5,
	&perfctr_x86_c3,
	&perfctr_x86_p4,
	&perfctr_no_counters,
};

/*
 * The CPUs on which counters may have been loaded since they were last cleared, so that
 * others need not be looked at.  A CPU's own bit, changed on it with interrupts disabled.
 */
static struct cpumask holders;

/* The CPUs that the module's parameter forbids. */
static struct cpumask named;

static bool can_count_here(void)
{
	return perfctr_kind_here() && (!perfctr_driver->is_usable || perfctr_driver->is_usable());
}

/*
 * Forbid all CPUs whose driver knows some that must not count, until each has been asked.  So
 * a control that is checked before a CPU comes online knows that it cannot count everywhere.
 */
static void forbid_unseen_cpus(void)
{
	if (!perfctr_driver->is_usable)
		return;
	cpumask_copy(&named, &perfctr_forbid_cpus);
	cpumask_copy(&perfctr_forbid_cpus, cpu_possible_mask);
}

static void admit_this_cpu(unsigned int cpu)
{
	if (!perfctr_driver->is_usable)
		return;
	if (perfctr_driver->is_usable() && !cpumask_test_cpu(cpu, &named))
		cpumask_clear_cpu(cpu, &perfctr_forbid_cpus);
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

static void begin_x86_cpu(unsigned int cpu)
{
	perfctr_learn_kind(cpu);
	admit_this_cpu(cpu);
	force_switch_on_siblings(cpu);
}

bool perfctr_x86_mark_holder(void)
{
	unsigned int cpu = smp_processor_id();

	cpumask_set_cpu(cpu, &holders);
	smp_mb__after_atomic();	/* pairs with raise_level() in rdpmc.c */
	return !cpumask_test_cpu(cpu, &perfctr_failed_cpus);
}

void perfctr_x86_unmark_holder(void)
{
	cpumask_clear_cpu(smp_processor_id(), &holders);
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

static void scrub_cpu_ipi(void *unused)
{
	perfctr_driver->cpu_scrub();
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

/* Each RDPMC exits to the hypervisor: remember what it has returned. */
static void remember_values(void)
{
	if (!perfctr_exits_to_hypervisor() || perfctr_driver->ops.resume != perfctr_x86_pmc_resume)
		return;
	static_call_update(perfctr_suspend, perfctr_x86_pmc_suspend_remembering);
	static_call_update(perfctr_resume, perfctr_x86_pmc_resume_remembering);
	perfctr_remembers = true;
}

static int init_x86(void)
{
	unsigned int cpu;
	int err;

	for_each_possible_cpu(cpu)
		INIT_WORK(per_cpu_ptr(&switch_work, cpu), force_switch_work);
	forbid_unseen_cpus();
	if (perfctr_is_hybrid() && perfctr_driver->probe_kind)
		perfctr_init_kinds(perfctr_driver->probe_kind, NULL);
	err = perfctr_x86_pmi_init();
	if (err)
		return err;
	err = perfctr_x86_pce_init();
	if (err) {
		perfctr_x86_pmi_exit();
		return err;
	}
	perfctr_x86_kvm_init();
	remember_values();
	return 0;
}

static void exit_x86(void)
{
	unsigned int cpu;

	perfctr_x86_kvm_exit();
	for_each_possible_cpu(cpu)
		flush_work(per_cpu_ptr(&switch_work, cpu));
	perfctr_x86_pce_exit();
	perfctr_x86_pmi_exit();
}

/* True if every process may RDPMC here: CR4.PCE is set for all under rdpmc=2 in sysfs. */
static bool user_reads(void)
{
	return perfctr_user_rdpmc();
}

const struct perfctr_arch perfctr_arch = {
	.drivers	= drivers,
	.nr_drivers	= ARRAY_SIZE(drivers),
	.dying		= CPUHP_AP_PERF_ARM_STARTING,
	.init		= init_x86,
	.exit		= exit_x86,
	.ended		= perfctr_x86_rdpmc_exit,
	.reserved	= perfctr_x86_rdpmc_begin,
	.unreserve	= perfctr_x86_rdpmc_end,
	.can_count	= can_count_here,
	.cpu_comes	= begin_x86_cpu,
	.cpu_started	= perfctr_x86_pmi_start,
	.cpu_stopped	= perfctr_x86_pmi_stop,
	.cpu_sleeps	= perfctr_x86_pmi_sleep,
	.cpu_woke	= perfctr_x86_pmi_forget,
	.user_reads	= user_reads,
	.switching	= perfctr_x86_pmc_switching,
	.user_ran	= perfctr_x86_pmc_user_ran,
};
