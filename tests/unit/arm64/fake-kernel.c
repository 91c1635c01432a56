// SPDX-License-Identifier: GPL-2.0
/* The kernel functions that the driver calls: see ../driver/fake-kernel.h. */
#include "model.h"

unsigned int fake_cpu, fake_warnings;
bool fake_irqs_off;

/* The linker names the ends of the section, which has the variables of CPU 0. */
extern char __start_fake_percpu[], __stop_fake_percpu[];

void *fake_per_cpu(void *p, unsigned int cpu)
{
	static _Alignas(64) char others[NR_CPUS - 1][4096];
	size_t offset = (char *)p - __start_fake_percpu;

	require((char *)p >= __start_fake_percpu && (char *)p < __stop_fake_percpu,
		"this is no variable of a CPU");
	require(__stop_fake_percpu - __start_fake_percpu <= (ptrdiff_t)sizeof(others[0]),
		"the variables of a CPU are too many");
	return cpu ? others[cpu - 1] + offset : p;
}

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
