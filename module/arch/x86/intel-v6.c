// SPDX-License-Identifier: GPL-2.0
/*
 * Intel architectural performance monitoring, version 6 and later, on kernels whose perf
 * uses the new addresses of its registers.
 *
 * The registers are still at the addresses of earlier versions, too: the new ones are
 * other names of them.  So only the reservation differs from that of intel.c, as the
 * kernel knows the old addresses only.  Intel SDM volume 3, "Architectural Performance
 * Monitoring Version 6".
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/smp.h>

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
	return perfctr_x86_perf_find(smp_processor_id()) ?: perfctr_intel_probe_kind(info);
}

/* The PMUs of other kinds are found when these are. */
static int intel_v6_begin(unsigned int cpu)
{
	return perfctr_x86_perf_find(cpu);
}

static int intel_v6_cpu_start(bool test)
{
	int err;

	if (!perfctr_x86_perf_claim())
		return -EBUSY;
	/* Other code that uses counters asks perf, and perf knows no event here. */
	err = perfctr_x86_pmc_is_idle() ? perfctr_x86_pmc_cpu_start(test) : -EBUSY;
	if (err)
		perfctr_x86_perf_unclaim();
	return err;
}

static void intel_v6_cpu_stop(void)
{
	perfctr_x86_pmc_cpu_stop();
	perfctr_x86_perf_unclaim();
}

static void intel_v6_cpu_lose(unsigned int cpu)
{
	perfctr_x86_pmc_cpu_lose(cpu);
	perfctr_x86_perf_lose(cpu);
}

const struct perfctr_x86_driver perfctr_x86_intel_v6 = {
	.probe		= intel_v6_probe,
	.probe_kind	= intel_v6_probe_kind,
	PERFCTR_X86_PMC_OPS,
	.begin		= intel_v6_begin,
	.end		= perfctr_x86_perf_step_out,
	.reserve	= perfctr_x86_perf_reserve,
	.release	= perfctr_x86_perf_release,
	.cpu_start	= intel_v6_cpu_start,
	.cpu_stop	= intel_v6_cpu_stop,
	.cpu_lose	= intel_v6_cpu_lose,
	.shares_lvtpc	= true,
};
