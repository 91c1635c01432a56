/* SPDX-License-Identifier: GPL-2.0 */
/* The NMI watchdog, and whether it runs. */
#ifndef WATCHDOG_H
#define WATCHDOG_H

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "suite.h"

#define WATCHDOG	"/proc/sys/kernel/nmi_watchdog"

/* Seconds.  With a threshold of one second, a CPU that is busy gets an NMI in that time. */
#define PERIOD		0.55

static inline void set_watchdog(void)
{
	write_file("/proc/sys/kernel/watchdog_thresh", "1");
	write_file(WATCHDOG, "1");
}

static inline double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Return the number of NMIs of a CPU since the boot. */
static inline unsigned long nmis_of(int cpu)
{
	static char text[1 << 16];
	unsigned long nr = 0;
	char *line;
	int i;

	read_file("/proc/interrupts", text, sizeof(text));
	line = strstr(text, "NMI:");
	ck_assert(line);
	line += 4;
	for (i = 0; i <= cpu; i++)
		nr = strtoul(line, &line, 10);
	return nr;
}

#endif /* WATCHDOG_H */
