// SPDX-License-Identifier: LGPL-2.1-or-later
/* Calls for a state's owner, or the owner's monitor. */
#include "internal.h"

int vperfctr_control(struct vperfctr *v, const struct vperfctr_control *control)
{
	return __vperfctr_ioctl(to_handle(v)->fd, VPERFCTR_CONTROL, control);
}

int vperfctr_stop(struct vperfctr *v)
{
	struct vperfctr_control control;

	vperfctr_control_init(&control, NULL);
	control.tsc_on = 0;
	return vperfctr_control(v, &control);
}

int vperfctr_suspend(struct vperfctr *v)
{
	return __vperfctr_ioctl(to_handle(v)->fd, VPERFCTR_SUSPEND, NULL);
}

int vperfctr_resume(struct vperfctr *v)
{
	return __vperfctr_ioctl(to_handle(v)->fd, VPERFCTR_RESUME, NULL);
}

int vperfctr_unlink(struct vperfctr *v)
{
	return __vperfctr_ioctl(to_handle(v)->fd, VPERFCTR_UNLINK, NULL);
}

int vperfctr_iresume(struct vperfctr *v)
{
	return __vperfctr_ioctl(to_handle(v)->fd, VPERFCTR_IRESUME, NULL);
}
