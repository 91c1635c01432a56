/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Suspend to RAM, which loses the counters' registers, up to the point where the last CPU
 * would be switched off ("core" in pm_test).
 */
#ifndef POWER_H
#define POWER_H

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

#define POWER "/sys/power/"

static inline bool can_sleep(void)
{
	char states[100] = "";

	if (access(POWER "pm_test", W_OK))
		return false;
	read_file(POWER "state", states, sizeof(states));
	if (!strstr(states, "mem"))
		return false;
	/* Some kernels only idle then, which has no such steps. */
	read_file(POWER "mem_sleep", states, sizeof(states));
	return strstr(states, "deep");
}

static inline void sleep_and_wake(void)
{
	/* The delay in this state, in seconds of virtual time. */
	write_file("/sys/module/suspend/parameters/pm_test_delay", "0");
	write_file(POWER "pm_test", "core");
	write_file(POWER "state", "mem");
	write_file(POWER "pm_test", "none");
}

#endif /* POWER_H */
