// SPDX-License-Identifier: GPL-2.0
/* The counters are busy: which process or watchdog holds them, and how to free them. */
#include "perfex.h"

/* The number in a file; 0 if there is none. */
int read_number(const char *file)
{
	FILE *f = fopen(file, "re");
	int n = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%d", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

int fail_busy(struct error *e, const char *watchdog)
{
	if (read_number(watchdog) == 1)
		return fail_with(e, "the NMI watchdog holds the counters: sysctl kernel.nmi_watchdog=0");
	return fail_with(e, "perf_event holds the counters: end the perf sessions (or other users of them) first");
}
