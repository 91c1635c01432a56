// SPDX-License-Identifier: LGPL-2.1-or-later
/* The calls that print to stdout. */
#include <stdio.h>

#include "internal.h"

void perfctr_info_print(const struct perfctr_info *info)
{
	static const char *const features[] = { "rdpmc", "rdtsc", "pcint" };
	const char *separator = "";
	unsigned int i;

	printf("abi_version\t\t0x%08X\n", info->abi_version);
	printf("driver_version\t\t%.32s\n", info->driver_version);
	printf("cpu_type\t\t%u (%s)\n", info->cpu_type, perfctr_info_cpu_name(info));
	printf("cpu_features\t\t%#x (", info->cpu_features);
	for (i = 0; i < 3; i++) {
		if (!(info->cpu_features & (1U << i)))
			continue;
		printf("%s%s", separator, features[i]);
		separator = ",";
	}
	printf(")\n");
	printf("cpu_khz\t\t\t%u\n", info->cpu_khz);
	printf("tsc_to_cpu_mult\t\t%u%s\n", info->tsc_to_cpu_mult,
	       info->tsc_to_cpu_mult ? "" : " (unspecified)");
	printf("cpu_nrctrs\t\t%u\n", perfctr_info_nrctrs(info));
}

static void print_mask(const char *name, const struct perfctr_cpu_mask *mask)
{
	const char *separator = "";
	unsigned int i, n = 0;

	printf("%s[", name);
	for (i = 0; i < 32 * mask->nrwords; i++) {
		if (!(mask->mask[i / 32] & (1U << (i % 32))))
			continue;
		printf("%s%u", separator, i);
		separator = ",";
		n++;
	}
	printf("], total: %u\n", n);
}

void perfctr_cpus_info_print(const struct perfctr_cpus_info *info)
{
	print_mask("cpus\t\t\t", info->cpus);
	print_mask("cpus_forbidden\t\t", info->cpus_forbidden);
}

void perfctr_cpu_control_print(const struct perfctr_cpu_control *control)
{
	unsigned int i, nrctrs = control->nractrs + control->nrictrs;

	printf("tsc_on\t\t\t%u\n", control->tsc_on);
	printf("nractrs\t\t\t%u\n", control->nractrs);
	printf("nrictrs\t\t\t%u\n", control->nrictrs);
	for (i = 0; i < nrctrs && i < MAX_CTRS; i++) {
		/* A fixed counter's number is easier to read in hexadecimal. */
		printf(control->pmc_map[i] < MAX_CTRS ? "pmc_map[%u]\t\t%u\n" :
							"pmc_map[%u]\t\t0x%08X\n",
		       i, control->pmc_map[i]);
		printf("evntsel[%u]\t\t0x%08X\n", i, control->evntsel[i]);
		if (control->p4.escr[i])
			printf("escr[%u]\t\t\t0x%08X\n", i, control->p4.escr[i]);
		if (i >= control->nractrs)
			printf("ireset[%u]\t\t%d\n", i, control->ireset[i]);
	}
	if (control->p4.pebs_enable)
		printf("pebs_enable\t\t0x%08X\n", control->p4.pebs_enable);
	if (control->p4.pebs_matrix_vert)
		printf("pebs_matrix_vert\t0x%08X\n", control->p4.pebs_matrix_vert);
}
