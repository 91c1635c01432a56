/* SPDX-License-Identifier: GPL-2.0 */
/* For tests of VPERFCTR_CONTROL_AFFINITY: the library narrows the affinity. */
#ifndef NARROW_H
#define NARROW_H

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vperfctr.h>

#include "suite.h"

/* Set the caller's control by the library. */
static inline int set_control_by_library(int fd, struct control *control)
{
	struct vperfctr *v;
	int err = vperfctr_open_fd(&v, dup(fd), 0);

	if (err)
		die("vperfctr_open_fd: %s", strerror(-err));
	err = vperfctr_control(v, &control->c);
	vperfctr_close(v);
	return err;
}

/* The CPUs on which a thread may run, of the first 32. */
static inline u32 affinity(pid_t pid)
{
	unsigned long mask[16] = { 0 };

	if (syscall(SYS_sched_getaffinity, pid, sizeof(mask), mask) < 0)
		die("sched_getaffinity: %s", strerror(errno));
	return mask[0];
}

#endif /* NARROW_H */
