// SPDX-License-Identifier: GPL-2.0
/*
 * The PowerPC driver for CPUs without usable counters: it counts time only.  See
 * ../common/no-counters.c.
 */
#include <linux/string.h>

#include "powerpc.h"
#include "regs.h"

static int generic_probe(void)
{
	struct vperfctr_info *info = &perfctr_cpu_info;

	info->cpu_type = VPERFCTR_CPU_GENERIC;
	info->features = VPERFCTR_FEATURE_RDTSC;
	info->nrkinds = 1;
	info->tsc_khz = perfctr_tsc_khz();
	strscpy(info->cpu_name, IS_ENABLED(CONFIG_PPC64) ? "generic POWER, time base only" :
		"generic PowerPC, time base only", sizeof(info->cpu_name));
	return 0;
}

const struct perfctr_powerpc_driver perfctr_powerpc_generic = {
	.probe		= generic_probe,
	.check_control	= perfctr_generic_check_control,
	.ops		= PERFCTR_GENERIC_OPS,
	.no_counters	= true,
};
