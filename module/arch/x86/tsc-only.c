// SPDX-License-Identifier: GPL-2.0
/* The driver for processors without usable counters: see ../common/no-counters.c. */
#include <linux/string.h>

#include "regs.h"
#include "x86.h"

static int generic_probe(void)
{
	struct vperfctr_info *info = &perfctr_cpu_info;

	info->cpu_type = VPERFCTR_CPU_GENERIC;
	info->features = perfctr_has_tsc() ? VPERFCTR_FEATURE_RDTSC : 0;
	info->nrkinds = 1;
	info->tsc_khz = perfctr_has_tsc() ? tsc_khz : 0;
	strscpy(info->cpu_name,
		perfctr_has_tsc() ? "generic x86, TSC only" : "generic x86, without a TSC",
		sizeof(info->cpu_name));
	return 0;
}

const struct perfctr_driver perfctr_x86_generic = {
	.probe		= generic_probe,
	.check_control	= perfctr_generic_check_control,
	.ops		= PERFCTR_GENERIC_OPS,
};
