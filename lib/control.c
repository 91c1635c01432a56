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
	do {
		dev = __vperfctr_device_get();
		if (dev < 0)
			return ret;
		ret = __vperfctr_call_narrowed(dev, fd, request, arg, control->kind,
						control->nrkinds);
	} while (__vperfctr_device_put(dev, ret));
	return ret;
}

int vperfctr_control(struct vperfctr *v, const struct vperfctr_control *control)
{
	return __vperfctr_control_call(to_handle(v)->fd, VPERFCTR_CONTROL, control, control);
}

int vperfctr_stop(struct vperfctr *v)
{
	struct vperfctr_control control;

	if (to_handle(v)->perf)
		return __vperfctr_perf_stop(to_handle(v), false);
	vperfctr_control_init(&control, NULL);
	control.tsc_on = 0;
	return vperfctr_control(v, &control);
}

/* More kinds of CPUs than any module has. */
#define MAX_KINDS	16

int vperfctr_reset(struct vperfctr *v)
{
	struct vperfctr_ctr ctr[MAX_KINDS * VPERFCTR_MAX_CTRS];
	struct vperfctr_control control = {
		.size = sizeof(control),
		.ctr_size = sizeof(ctr[0]),
		.nrkinds = MAX_KINDS,
		.ctr = (uintptr_t)ctr,
	};
	struct vperfctr_read read = {
		.nrctrs = VPERFCTR_MAX_CTRS,
		.control = (uintptr_t)&control,
	};
	int err;

	if (to_handle(v)->perf)
		return __vperfctr_perf_reset(to_handle(v));
	err = vperfctr_read_state(v, &read);
	if (err)
		return err;
	if (!(read.status & VPERFCTR_STATUS_ATTACHED))
		return -ESRCH;
	if (!(read.status & VPERFCTR_STATUS_ACTIVE))
		return -EINVAL;
	/* READ has stored its own sizes; the arrays here have those of this library. */
	control.size = sizeof(control);
	control.ctr_size = sizeof(ctr[0]);
	control.ctr = (uintptr_t)ctr;
	control.preserve = 0;
	if (!(read.status & VPERFCTR_STATUS_ARMED))
		control.flags &= ~VPERFCTR_CONTROL_START_ON_EXEC;
	return vperfctr_control(v, &control);
}

int vperfctr_suspend(struct vperfctr *v)
{
	if (to_handle(v)->perf)
		return __vperfctr_perf_pause(to_handle(v), true);
	return __vperfctr_ioctl(to_handle(v)->fd, VPERFCTR_SUSPEND, NULL);
}

int vperfctr_resume(struct vperfctr *v)
{
	if (to_handle(v)->perf)
		return __vperfctr_perf_pause(to_handle(v), false);
	return __vperfctr_ioctl(to_handle(v)->fd, VPERFCTR_RESUME, NULL);
}

int vperfctr_unlink(struct vperfctr *v)
{
	if (to_handle(v)->perf)
		return __vperfctr_perf_stop(to_handle(v), true);
	return __vperfctr_ioctl(to_handle(v)->fd, VPERFCTR_UNLINK, NULL);
}

int vperfctr_iresume(struct vperfctr *v)
{
	return __vperfctr_ioctl(to_handle(v)->fd, VPERFCTR_IRESUME, NULL);
}
