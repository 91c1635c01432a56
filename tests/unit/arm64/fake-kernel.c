// SPDX-License-Identifier: GPL-2.0
/* The kernel functions that the driver calls: see ../driver/fake-kernel.h. */
#include "fake-percpu.h"
#include "model.h"

unsigned int fake_cpu, fake_warnings;
bool fake_irqs_off;

unsigned int fake_bad_index(void)
{
	require(false, "an index went through array_index_nospec() unchecked");
	return 0;
}

void on_each_cpu_cond(bool (*cond)(int cpu, void *arg), void (*func)(void *), void *arg, int wait)
{
	unsigned int here = fake_cpu;

	require(wait, "a call of other CPUs returns before it is done");
	for (fake_cpu = 0; fake_cpu < NR_CPUS; fake_cpu++) {
		if (cond(fake_cpu, arg))
			func(arg);
	}
	fake_cpu = here;
}

int cpulist_parse(const char *list, struct cpumask *mask)
{
	require(false, "cpulist_parse(\"%s\")", list);
	mask->bits[0] = 0;
	return 0;
}
