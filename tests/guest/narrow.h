/* SPDX-License-Identifier: GPL-2.0 */
/* For tests of VPERFCTR_CONTROL_AFFINITY: the library narrows the affinity. */
#ifndef NARROW_H
#define NARROW_H

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

#endif /* NARROW_H */
