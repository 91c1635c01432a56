// SPDX-License-Identifier: GPL-2.0
/*
 * The driver for processors without usable counters: it counts the TSC only.  With
 * tsc_on each thread still has the time that it ran.  Other drivers use its operations for
 * the time.
 */
#include <linux/errno.h>
#include <linux/string.h>

#include "driver.h"
#include "regs.h"	/* in arch/ARCH */

static int generic_probe(void)
{
	struct vperfctr_info *info = &perfctr_cpu_info;

	info->cpu_type = VPERFCTR_CPU_GENERIC;
	info->features = perfctr_has_tsc() ? VPERFCTR_FEATURE_RDTSC : 0;
	info->nrkinds = 1;
	info->tsc_khz = perfctr_tsc_khz();
	strscpy(info->cpu_name, PERFCTR_GENERIC_NAME, sizeof(info->cpu_name));
	return 0;
}

static int generic_check_control(struct perfctr_cpu_control *control)
{
	if (perfctr_nrctrs(control) || control->global[0] || control->global[1])
		return -EINVAL;
	control->kernel = false;
	control->alone = false;
	control->mask = 0;
	memset(&control->regs, 0, sizeof(control->regs));
	return 0;
}

void perfctr_generic_suspend(struct perfctr_cpu_state *state)
{
	struct vperfctr_page *page = state->page;

	perfctr_page_begin(page);
	if (state->cstatus & VPERFCTR_CSTATUS_TSC)
		page->tsc_sum += perfctr_rdtsc() - page->tsc_start;
	perfctr_page_end(page);
}

void perfctr_generic_resume(struct perfctr_cpu_state *state)
{
	struct vperfctr_page *page = state->page;

	perfctr_page_begin(page);
	page->cstatus = state->cstatus | VPERFCTR_CSTATUS_RUNNING;
	page->tsc_start = perfctr_rdtsc();
	perfctr_page_end(page);
}

void perfctr_generic_sample(struct perfctr_cpu_state *state)
{
	struct vperfctr_page *page = state->page;
	u64 now = perfctr_rdtsc();

	perfctr_page_begin(page);
	if (state->cstatus & VPERFCTR_CSTATUS_TSC)
		page->tsc_sum += now - page->tsc_start;
	page->tsc_start = now;
	perfctr_page_end(page);
}

const struct perfctr_driver perfctr_no_counters = {
	.probe		= generic_probe,
	.check_control	= generic_check_control,
	.ops		= {
		.suspend	= perfctr_generic_suspend,
		.resume		= perfctr_generic_resume,
		.sample		= perfctr_generic_sample,
	},
	.no_counters	= true,
};
