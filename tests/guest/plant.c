// SPDX-License-Identifier: GPL-2.0
/*
 * usage: plant FAULT [CPU]
 *
 * Plant a fault in the emulated counters of a CPU, or of all CPUs, in place of the one that
 * was planted before; 0 is none.  ../pmu-model/README.md has the list.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define RDPMC_PLANT	0x7fff0300U

static void plant(unsigned int fault)
{
	unsigned int low, high;

	__asm__ volatile("rdpmc" : "=a" (low), "=d" (high) : "c" (RDPMC_PLANT + fault));
}

int main(int argc, char **argv)
{
	unsigned int cpu, fault, planted = 0;
	cpu_set_t all, one;

	if (argc < 2 || sched_getaffinity(0, sizeof(all), &all)) {
		fprintf(stderr, "usage: plant FAULT [CPU]\n");
		return 2;
	}
	fault = (unsigned int)strtoul(argv[1], NULL, 0);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all) || (argc > 2 && cpu != strtoul(argv[2], NULL, 0)))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			return 1;
		plant(fault);
		planted++;
	}
	return !planted;
}
