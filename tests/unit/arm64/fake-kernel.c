// SPDX-License-Identifier: GPL-2.0
/* The kernel functions that the driver calls: see ../driver/fake-kernel.h. */
#include "model.h"

unsigned int fake_cpu, fake_warnings;
bool fake_irqs_off;

unsigned int fake_bad_index(void)
{
	require(false, "an index went through array_index_nospec() unchecked");
	return 0;
}

int cpulist_parse(const char *list, struct cpumask *mask)
{
	require(false, "cpulist_parse(\"%s\")", list);
	mask->bits[0] = 0;
	return 0;
}
