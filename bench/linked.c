// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the library's read as a linked function, not inline.  This file is built
 * twice, for the static and the shared library; LINKED names the one.
 */
#include <string.h>

#include "bench.h"

/* Declared here, because the functions of the header are inline. */
struct vperfctr;
int vperfctr_open_fd(struct vperfctr **v, int fd, unsigned int flags);
int vperfctr_read(struct vperfctr *v, u64 *tsc, u64 *pmc, unsigned int nr);

#define FD_MAP	1

static void measure_read(void *arg)
{
	unsigned int n = *(const unsigned int *)arg;
	struct vperfctr *v;
	struct meter m = { };
	u64 values[MAX_N];
	struct group g;

	side->open(&g, n, SET_A, false);
	must("vperfctr_open_fd", vperfctr_open_fd(&v, g.fd[0], FD_MAP));
	while (m.n < REPEATS) {
		meter_begin(&m);
		vperfctr_read(v, NULL, values, n);
		meter_end(&m);
	}
	emit_meter(&m, 0, "selfread_" LINKED ".n%u", n);
}

void measure_linked(void)
{
	static unsigned int numbers[] = { 1, 2, 4 };
	unsigned int i;

	progress("reads by the function of the " LINKED " library");
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		in_child(measure_read, &numbers[i]);
}
