// SPDX-License-Identifier: LGPL-2.1-or-later
/* The counters of another thread that is stopped under the caller's ptrace. */
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

/*
 * It begins like struct vperfctr, as in perfctr: programs that confuse the two types have
 * worked.
 */
struct rvperfctr {
	int fd;
	int pid;
};

/* Open the thread's state, or make one that stays with the thread. */
static int open_remote(int pid)
{
	int fd;

	/* To the kernel 0 is the caller. */
	if (pid <= 0)
		return -ESRCH;
	fd = __perfctr_state_open(pid, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_KEEP);
	if (fd == -EEXIST)
		fd = __perfctr_state_open(pid, 0);
	return fd;
}

struct rvperfctr *rvperfctr_open(int pid)
{
	struct rvperfctr *rv = malloc(sizeof(*rv));
	int fd;

	if (!rv)
		return NULL;
	fd = open_remote(pid);
	if (fd >= 0) {
		rv->fd = fd;
		rv->pid = pid;
		return rv;
	}
	free(rv);
	errno = -fd;
	return NULL;
}

void rvperfctr_close(struct rvperfctr *rv)
{
	if (!rv)
		return;
	close(rv->fd);
	free(rv);
}

int rvperfctr_pid(const struct rvperfctr *rv)
{
	return rv->pid;
}

int rvperfctr_info(const struct rvperfctr *rv, struct perfctr_info *info)
{
	return perfctr_info(rv->fd, info);
}

int rvperfctr_read_ctrs(const struct rvperfctr *rv, struct perfctr_sum_ctrs *sum)
{
	return rvperfctr_read_state(rv, sum, NULL);
}

int rvperfctr_read_state(const struct rvperfctr *rv, struct perfctr_sum_ctrs *sum,
			 struct vperfctr_control *control)
{
	int ret = __perfctr_read(rv->fd, sum, control);

	return __perfctr_result(ret < 0 ? ret : 0);
}

int rvperfctr_control(const struct rvperfctr *rv, struct vperfctr_control *control)
{
	return _vperfctr_control(rv->fd, control);
}

int rvperfctr_stop(const struct rvperfctr *rv)
{
	return __perfctr_result(__perfctr_stop(rv->fd));
}

int rvperfctr_iresume(const struct rvperfctr *rv)
{
	return __perfctr_result(__perfctr_iresume(rv->fd));
}

int rvperfctr_unlink(const struct rvperfctr *rv)
{
	return __perfctr_result(__perfctr_unlink(rv->fd));
}
