// SPDX-License-Identifier: GPL-2.0
/*
 * With LD_PRELOAD, a perfex that restarts the machine at once when a check of its self-test
 * begins, as if that check had hung the machine and its user had switched it off.  HANG_AT
 * is how many processes perfex creates before that; nothing is written to disks.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/reboot.h>
#include <sys/types.h>
#include <unistd.h>

pid_t fork(void)
{
	static pid_t owner;
	static int so_far;
	__typeof__(fork) *next = (__typeof__(fork) *)dlsym(RTLD_NEXT, "fork");
	const char *at = getenv("HANG_AT");

	/* its children create some, too */
	if (!owner)
		owner = getpid();
	if (at && getpid() == owner && ++so_far == atoi(at))
		reboot(RB_AUTOBOOT);
	return next();
}
