// SPDX-License-Identifier: LGPL-2.1-or-later
/* Which family a processor belongs to: by the module's description of it, or without the module. */
#include "family.h"

/* The first one that has the processor. */
static const struct family *const families[] = {
	&__vperfctr_amd, &__vperfctr_p6, &__vperfctr_p4, &__vperfctr_p5, &__vperfctr_cyrix,
	&__vperfctr_winchip_c6, &__vperfctr_winchip, &__vperfctr_c3, &__vperfctr_arm,
	&__vperfctr_riscv_modeless, &__vperfctr_riscv, &__vperfctr_power, &__vperfctr_ppc32,
};

const struct family *__vperfctr_family(const struct vperfctr_info *info)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(families); i++)
		if (families[i]->cpu_type == info->cpu_type &&
		    (!families[i]->has || families[i]->has(info)))
			return families[i];
	/* Intel's architectural counters, and processors without counters. */
	return &__vperfctr_intel;
}

#ifdef __riscv
#define IS_RISCV	1
#else
#define IS_RISCV	0
#endif

#ifdef __powerpc64__
#define IS_POWER	1
#else
#define IS_POWER	0
#endif

void __vperfctr_set_native(struct vperfctr_info *info)
{
	struct cpu_signature s;

	__vperfctr_cpu_signature(&s);
	if (!strcmp(s.vendor, "AuthenticAMD") || !strcmp(s.vendor, "HygonGenuine")) {
		info->cpu_type = VPERFCTR_CPU_AMD;
	} else if (*s.vendor) {
		info->cpu_type = VPERFCTR_CPU_INTEL_ARCH;
		info->fixed_mask = 0xff;
		info->fixed_width = 48;
	} else if (IS_RISCV) {
		info->cpu_type = VPERFCTR_CPU_RISCV_SBI;
	} else if (IS_POWER) {
		info->cpu_type = VPERFCTR_CPU_POWER8;
		info->fixed_mask = 3;
		info->fixed_width = 32;
	} else {
		info->cpu_type = VPERFCTR_CPU_ARM_PMUV3;
		info->fixed_mask = 1;
		info->fixed_width = 64;
	}
}
