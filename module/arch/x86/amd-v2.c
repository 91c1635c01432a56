// SPDX-License-Identifier: GPL-2.0
/*
 * AMD's PerfMonV2 where the NMI watchdog runs while the module is loaded, as intel-v6.c: perf
 * holds the reservation of all registers for it, so the counters are claimed, and the watchdog
 * keeps its own.
 *
 * perf's handler stops all counters at each NMI, as Intel's does, and takes each overflow for
 * one of its events.  It warns of others.  So another handler of ours runs before it, which
 * clears the status of our counters: overflows are found by the counters' values.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "../../compat/dirty-counters.h"
#include "regs.h"
#include "x86.h"

static int amd_v2_probe(void)
{
	int err;

	/* perf without these registers disables a counter by its event select. */
	if (!perfctr_perf_knows_v2() || !PERFCTR_CLEARS_DIRTY)
		return -ENODEV;
	err = perfctr_amd_probe();
	if (err)
		return err;
	if (!perfctr_x86_pmu.global_ctrl)
		return -ENODEV;
	/* As intel-v6.c: a mapped event of perf's, which waits, would show what a CPU counts. */
	if (perfctr_isolate)
		perfctr_cpu_info.features &= ~VPERFCTR_FEATURE_CPUS;
	return 0;
}

static int amd_v2_begin(unsigned int cpu)
{
	int err = perfctr_x86_perf_find(cpu);
	u64 kept = err ? 0 : perfctr_x86_perf_watchdog();

	if (!kept) {
		perfctr_x86_perf_step_out();
		return err ?: -ENODEV;
	}
	perfctr_x86_keep(kept);
	perfctr_x86_perf_watch_maps();
	return 0;
}

const struct perfctr_driver perfctr_x86_amd_v2 = {
	.probe		= amd_v2_probe,
	PERFCTR_X86_PMC_OPS,
	PERFCTR_X86_CLAIM,
	.begin		= amd_v2_begin,
	.precede	= perfctr_x86_pmc_precede,
};
