// SPDX-License-Identifier: GPL-2.0
/*
 * The driver for CPUs without usable counters, except x86's: it counts the timer only.  See
 * no-counters.c.
 */
#include <linux/string.h>

#include "driver.h"
#include "regs.h"

static int generic_probe(void)
{
	struct vperfctr_info *info = &perfctr_cpu_info;

	info->cpu_type = VPERFCTR_CPU_GENERIC;
	info->features = VPERFCTR_FEATURE_RDTSC;
	info->nrkinds = 1;
	info->tsc_khz = perfctr_tsc_khz();
	strscpy(info->cpu_name, PERFCTR_GENERIC_NAME, sizeof(info->cpu_name));
	return 0;
}

const struct perfctr_driver perfctr_timer_only = {
	.probe		= generic_probe,
	.check_control	= perfctr_generic_check_control,
	.ops		= PERFCTR_GENERIC_OPS,
	.no_counters	= true,
};
