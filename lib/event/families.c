// SPDX-License-Identifier: LGPL-2.1-or-later
/* The table of families. */
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
		if (families[i]->has(info))
			return families[i];
	/* Intel's architectural counters, and processors without counters. */
	return &__vperfctr_intel;
}
