/* SPDX-License-Identifier: GPL-2.0 */
/* The NMI watchdog, and whether it runs. */
#ifndef WATCHDOG_H
#define WATCHDOG_H

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "suite.h"

#define WATCHDOG	"/proc/sys/kernel/nmi_watchdog"

#define SYSLOG_ACTION_READ_ALL	3	/* of klogctl(): no header of the C library has it */

/* Seconds.  With a threshold of one second, a CPU that is busy gets an NMI in that time. */
#define PERIOD		0.55

/* Load one of the tests' own modules. */
static inline void load_module(const char *name, const char *parameters)
{
	struct utsname system;
	char path[200];
	int fd;

	if (uname(&system))
		die("uname: %s", strerror(errno));
	snprintf(path, sizeof(path), "/tests/%s-%s.ko", name, system.release);
	fd = open(path, O_RDONLY);
	if (fd < 0 || (syscall(SYS_finit_module, fd, parameters, 0) && errno != EEXIST))
		die("%s: %s", path, strerror(errno));
	close(fd);
}

static inline void set_watchdog(void)
{
#ifdef __aarch64__
	/* Without it, the period is that of a CPU with five GHz. */
	load_module("cpu-frequency", "");
#endif
	write_file("/proc/sys/kernel/watchdog_thresh", "1");
	write_file(WATCHDOG, "1");
}

static inline double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* On arm64 the NMIs of the counters have a line of their own. */
#ifdef __aarch64__
#define NMI_LINE	"arm-pmu"
#else
#define NMI_LINE	"NMI:"
#endif

/* Return the number of NMIs of a CPU since the boot. */
static inline unsigned long nmis_of(int cpu)
{
	static char text[1 << 16];
	unsigned long nr = 0;
	char *line;
	int i;

	read_file("/proc/interrupts", text, sizeof(text));
	line = strstr(text, NMI_LINE);
	ck_assert(line);
	while (line > text && line[-1] != '\n')
		line--;
	line = strchr(line, ':') + 1;
	for (i = 0; i <= cpu; i++)
		nr = strtoul(line, &line, 10);
	return nr;
}

/* True if the kernel's log has this text. */
static inline bool has_logged(const char *text)
{
	static char log[1 << 20];
	const int n = klogctl(SYSLOG_ACTION_READ_ALL, log, sizeof(log) - 1);

	ck_assert_int_ge(n, 0);
	log[n] = '\0';
	return strstr(log, text);
}

#endif /* WATCHDOG_H */
