// SPDX-License-Identifier: GPL-2.0
/*
 * AMD where the NMI watchdog runs while the module is loaded, as intel-v6.c: perf holds the
 * reservation of all registers for it, so the counters are claimed, and the watchdog keeps its
 * own.
 *
 * PerfMonV2: perf's handler stops all counters at each NMI, as Intel's does, and takes each
 * overflow for one of its events.  It warns of others.  So another handler of ours runs before
 * it, which clears the status of our counters: overflows are found by the counters' values.
 *
 * Earlier processors have neither a register that stops all counters nor a status.  There perf
 * reads and writes only the registers of its own events, in its handler and elsewhere, and finds
 * their overflows by their counters' values, as we do.  So nothing need be undone.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "../../compat/dirty-counters.h"
#include "regs.h"
#include "x86.h"

/*
 * Where the kernel clears no counters at a switch to a process that may RDPMC, cr4-pce.c relies
 * on perf to have no events while counters are reserved.  Here they wait, mapped.
 */
static int amd_claim_probe(bool v2)
{
	int err = PERFCTR_CLEARS_DIRTY ? perfctr_amd_probe() : -ENODEV;

	if (err)
		return err;
	if (v2 != !!perfctr_x86_pmu.global_ctrl)
		return -ENODEV;
	/* As intel-v6.c: a mapped event of perf's, which waits, would show what a CPU counts. */
	if (perfctr_isolate)
		perfctr_cpu_info.features &= ~VPERFCTR_FEATURE_CPUS;
	return 0;
}

static int amd_v2_probe(void)
{
	/* perf without these registers disables a counter by its event select. */
	return perfctr_perf_knows_v2() ? amd_claim_probe(true) : -ENODEV;
}

static int amd_v1_probe(void)
{
	return amd_claim_probe(false);
}

static int amd_claim_begin(unsigned int cpu)
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
	.begin		= amd_claim_begin,
	.precede	= perfctr_x86_pmc_precede,
};

const struct perfctr_driver perfctr_x86_amd_v1 = {
	.probe		= amd_v1_probe,
	PERFCTR_X86_PMC_OPS,
	PERFCTR_X86_CLAIM,
	.begin		= amd_claim_begin,
};
