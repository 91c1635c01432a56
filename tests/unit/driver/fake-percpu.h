/* SPDX-License-Identifier: GPL-2.0 */
/* The variables of CPUs, for the fake-kernel.c of these tests and of ../arm64. */
#include <stddef.h>

#include "fake-kernel.h"
#include "model.h"

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
