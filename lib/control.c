// SPDX-License-Identifier: LGPL-2.1-or-later
/* Calls for a state's owner, or the owner's monitor. */
#include "affinity.h"
#include "internal.h"

int __vperfctr_control_call(int fd, unsigned long request, const void *arg,
			    const struct vperfctr_control *control)
{
	int ret = __vperfctr_ioctl(fd, request, arg), dev;

	/* A set of CPUs gets EUSERS, too, and has nothing to do with the caller's affinity. */
	if (ret != -EUSERS || !(control->flags & VPERFCTR_CONTROL_AFFINITY))
		return ret;
	dev = __vperfctr_device_get();
	if (dev < 0)
		return ret;
	ret = __vperfctr_call_narrowed(dev, fd, request, arg, control->kind,
					control->nrkinds);
	__vperfctr_device_put(dev);
	return ret;
}

int vperfctr_control(struct vperfctr *v, const struct vperfctr_control *control)
{
	return __vperfctr_control_call(to_handle(v)->fd, VPERFCTR_CONTROL, control, control);
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
