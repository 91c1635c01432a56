// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of pmc.c that are claimed from perf, for intel-v6.c and amd-v2.c: prepare CPUs, and
 * leave the NMI watchdog its counter.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/printk.h>

#include "regs.h"
#include "x86.h"

void perfctr_x86_leave_kept(struct vperfctr_info *info)
{
	u64 kept = perfctr_x86_pmu.kept;

	if (!kept)
		return;
	info->watchdog_pmc = info->pmc_mask & kept;
	info->watchdog_fixed = info->fixed_mask & (kept >> 32);
	info->pmc_mask &= ~kept;
	info->fixed_mask &= ~(kept >> 32);
	info->nrctrs = min_t(unsigned int, VPERFCTR_MAX_CTRS,
			     hweight64(info->pmc_mask) + hweight64(info->fixed_mask));
}

void perfctr_x86_keep(u64 kept)
{
	perfctr_x86_pmu.kept = kept;
	perfctr_x86_leave_kept(&perfctr_cpu_info);
	perfctr_x86_admit_init(kept);
	pr_info("the NMI watchdog keeps its counter, %#x\n",
		kept >> 32 ? VPERFCTR_FIXED | (fls64(kept) - 33) : fls64(kept) - 1);
}

int perfctr_x86_claim_start(bool test)
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

void perfctr_x86_claim_stop(void)
{
	perfctr_x86_pmc_cpu_stop();
	perfctr_x86_perf_unclaim();
}
