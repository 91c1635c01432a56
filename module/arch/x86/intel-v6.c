// SPDX-License-Identifier: GPL-2.0
/*
 * Intel architectural performance monitoring where the counters are claimed from perf.
 *
 * Version 6 and later, on kernels whose perf uses the new addresses of its registers: they
 * are still at the addresses of earlier versions, too, but the kernel's reservation knows
 * the old addresses only.  Intel SDM volume 3, "Architectural Performance Monitoring
 * Version 6".
 *
 * Version 2 and later, if the NMI watchdog runs while the module is loaded: perf holds the
 * reservation of all registers for it.  Its counter stays with it until the module is
 * removed, also while the watchdog is off.
 */
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/smp.h>

#include "../../compat/dirty-counters.h"
#include "regs.h"
#include "x86.h"

/*
 * While CPUs are counted, a process can open an event of perf's, which waits, and map it.
 * That gives it the right to RDPMC, which would show what the CPU counts.
 */
static int intel_v6_probe(void)
{
	int err = perfctr_intel_probe(true);

	if (perfctr_isolate)
		perfctr_cpu_info.features &= ~VPERFCTR_FEATURE_CPUS;
	return err;
}

static int intel_v6_probe_kind(struct vperfctr_info *info)
{
	int err = perfctr_x86_perf_find(smp_processor_id()) ?: perfctr_intel_probe_kind(info);

	if (err)
		return err;
	/* A bit of a counter that this kind lacks would fault in its GLOBAL_CTRL. */
	if (perfctr_x86_pmu.kept & ~(info->pmc_mask | info->fixed_mask << 32))
		return -ENODEV;
	perfctr_x86_leave_kept(info);
	return 0;
}

/* Find the PMU of a CPU, and those of all other kinds that are online. */
static int find_pmus(unsigned int cpu)
{
	int err = perfctr_x86_perf_find(cpu);
	unsigned int other;

	if (!perfctr_is_hybrid())
		return err;
	for_each_online_cpu(other) {
		if (!err && other != cpu)
			err = perfctr_x86_perf_find(other);
	}
	return err;
}

/*
 * True if the watchdog's counter can be kept.  perf's interrupt handler stops all counters of a
 * claimed CPU, and ours starts them again.  It cannot while the workaround of Nehalem uses them.
 *
 * Where the kernel clears no counters at a switch to a process that may RDPMC, cr4-pce.c relies
 * on perf to have no events while counters are reserved.  Here they wait, mapped.
 */
static bool can_keep(void)
{
	return PERFCTR_CLEARS_DIRTY && !perfctr_x86_pmu.restart;
}

static int intel_v6_begin(unsigned int cpu)
{
	int err = find_pmus(cpu);
	u64 kept = err ? 0 : perfctr_x86_perf_watchdog();

	if (kept && can_keep()) {
		perfctr_x86_keep(kept);
		perfctr_x86_perf_watch_maps();
		return 0;
	}
	if (!err && !perfctr_intel_can_reserve()) {
		perfctr_x86_perf_watch_maps();
		return 0;
	}
	perfctr_x86_perf_step_out();
	return err ?: -ENODEV;
}

const struct perfctr_driver perfctr_x86_intel_v6 = {
	.probe		= intel_v6_probe,
	.probe_kind	= intel_v6_probe_kind,
	PERFCTR_X86_PMC_OPS,
	PERFCTR_X86_CLAIM,
	.begin		= intel_v6_begin,
};
