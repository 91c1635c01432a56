/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Internal to libperfctr.  Functions that begin with __perfctr_ return a negative error
 * number; the functions of the interface return __perfctr_result() of it.
 */
#ifndef LIBPERFCTR_INTERNAL_H
#define LIBPERFCTR_INTERNAL_H

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/types.h>

/* In this order: <linux/perfctr.h> is an error after <linux/vperfctr.h>. */
#include <libperfctr.h>
#include "kernel.h"

/* As libvperfctr: see its internal.h. */
_Static_assert(sizeof(off_t) == 8, "compile with -D_FILE_OFFSET_BITS=64");

#define MAX_CTRS	18	/* of perfctr's arrays */

#pragma GCC visibility push(hidden)

static inline int __perfctr_result(int err)
{
	if (err >= 0)
		return err;
	errno = -err;
	return -1;
}

static inline int __perfctr_ioctl(int fd, unsigned long cmd, const void *arg)
{
	int ret = ioctl(fd, cmd, arg);

	return ret < 0 ? -errno : ret;
}

/* ---- perfctr-info.c ---- */
int __perfctr_device_open(int flags);
int __perfctr_info(int fd, struct perfctr_info *info);
int __perfctr_kernel_info(int dev, struct vperfctr_info *info);
/* True on a Pentium 4, whose controls have other fields. */
int __perfctr_is_p4(void);

/* ---- cpu-type.c ---- */
unsigned int __perfctr_cpu_type(const unsigned int vendor[3], unsigned int signature);

/* ---- translate.c ---- */
int __perfctr_state_open(int tid, unsigned int flags);
int __perfctr_control(int fd, const struct vperfctr_control *control);
int __perfctr_stop(int fd);
/* The same for a descriptor of CPUs.  They return EINVAL where perfctr did. */
int __perfctr_control_cpus(int fd, const struct perfctr_cpu_control *control);
int __perfctr_read_cpu(int fd, struct perfctr_sum_ctrs *sum);
int __perfctr_iresume(int fd);
int __perfctr_unlink(int fd);
/* Read sums and control; either may be NULL.  Returns VPERFCTR_STATUS_*. */
int __perfctr_read(int fd, struct perfctr_sum_ctrs *sum, struct vperfctr_control *control);

#pragma GCC visibility pop

#endif /* LIBPERFCTR_INTERNAL_H */
