// SPDX-License-Identifier: GPL-2.0
/*
 * Reserve the counters where they belong to a driver of perf's that has no call for it: on
 * arm64 and RISC-V.  A flag keeps perf from adding events, and each CPU is claimed singly.
 */
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>

#include "claim.h"

/* True if there are several kinds of CPUs.  Else CPUs that differ from the first are forbidden. */
static bool has_kinds __ro_after_init;

bool perfctr_perf_waits;

/* ---- reserving ------------------------------------------------------------ */

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

int perfctr_claim_reserve(void)
{
	/* An attempt that fails must not keep perf out, not even for a moment. */
	if (is_perf_counting())
		goto busy;
	perfctr_perf_divide(true);
	/* From here on perf adds no event, or it is found: see perfctr_perf_is_busy(). */
	smp_store_mb(perfctr_perf_waits, true);
	if (!is_perf_counting())
		return 0;
	smp_store_mb(perfctr_perf_waits, false);	/* pairs with perf's filter */
	perfctr_perf_divide(false);
busy:
	/* Settling has cancelled what earlier releases owe, and this attempt may owe more. */
	perfctr_perf_reschedule();
	return -EBUSY;
}

/* Only now: perf must try no event while a CPU is still claimed. */
void perfctr_claim_release(void)
{
	smp_store_mb(perfctr_perf_waits, false);	/* pairs with perf's filter */
	perfctr_perf_divide(false);
	perfctr_perf_reschedule();
}

/* ---- CPUs ----------------------------------------------------------------- */

static bool is_alike_here(void)
{
	unsigned long flags;
	bool alike;

	local_irq_save(flags);
	alike = perfctr_driver->is_alike();
	local_irq_restore(flags);
	return alike;
}

bool perfctr_claim_accepts(unsigned int cpu)
{
	bool intr;

	if (perfctr_perf_find(cpu, &intr))
		return false;
	if (!intr && (perfctr_cpu_info.features & VPERFCTR_FEATURE_PCINT))
		return false;
	if (!has_kinds && !is_alike_here())
		return false;
	if (!perfctr_perf_step_in(cpu))
		return false;
	perfctr_learn_kind(cpu);
	return perfctr_kind_here();
}

int perfctr_claim_find(unsigned int cpu)
{
	bool intr;

	return perfctr_perf_find(cpu, &intr);
}

static void differ_ipi(void *differs)
{
	*(bool *)differs |= !perfctr_driver->is_alike();
}

static void describe_kind_ipi(void *err)
{
	*(int *)err = perfctr_driver->probe_kind(&perfctr_cpu_info);
}

/* The CPU that was probed is the first of kind 0. */
int perfctr_claim_begin(unsigned int first)
{
	bool intr, differs = false;
	unsigned int cpu;
	int err;

	for_each_online_cpu(cpu) {
		err = perfctr_perf_find(cpu, &intr);
		if (err == -ENOMEM)
			return err;
		if (err)
			continue;	/* it will be forbidden */
		smp_call_function_single(cpu, differ_ipi, &differs, 1);
		differs |= perfctr_driver->has_kinds && perfctr_driver->has_kinds(cpu);
		if (!intr) {
			perfctr_cpu_info.features &= ~VPERFCTR_FEATURE_PCINT;
			perfctr_cpu_info.max_period = 0;
			perfctr_cpu_info.min_period = 0;
		}
	}
	if (!differs || !perfctr_driver->probe_kind)
		return 0;
	err = 0;
	smp_call_function_single(first, describe_kind_ipi, &err, 1);
	if (err)
		return err;
	has_kinds = true;
	perfctr_init_kinds(perfctr_driver->probe_kind, perfctr_driver->new_kind);
	return 0;
}

void perfctr_claim_ready(void)
{
	synchronize_rcu();	/* an event that is being added has not seen the diversions */
}

void perfctr_claim_end(void)
{
	perfctr_perf_wait_end();
	perfctr_perf_step_out();
	synchronize_rcu();	/* see perfctr_perf_step_out() */
}
