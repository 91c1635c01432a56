// SPDX-License-Identifier: LGPL-2.1-or-later
/* Count CPUs instead of threads. */
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

int vperfctr_open_cpus(struct vperfctr **v, const struct vperfctr_cpu_mask *mask,
		       unsigned int flags)
{
	struct vperfctr_open_cpus arg = { .size = sizeof(arg), .flags = flags };
	struct vperfctr_cpu_mask *all = NULL;
	int dev, fd, err;

	*v = NULL;
	if (!mask) {
		err = vperfctr_cpus(&all);
		if (err)
			return err;
		mask = all;
	}
	arg.nrwords = mask->nrwords;
	arg.mask = (uintptr_t)mask->mask;
	dev = __vperfctr_device_get();
	fd = dev < 0 ? dev : __vperfctr_ioctl(dev, VPERFCTR_OPEN_CPUS, &arg);
	if (dev >= 0)
		__vperfctr_device_put(dev);
	free(all);
	if (fd < 0)
		return fd;
	err = __vperfctr_new_handle(v, fd, 0);
	if (err)
		close(fd);
	return err;
}

int vperfctr_read_cpus(struct vperfctr *v, struct vperfctr_read_cpus *read)
{
	read->size = sizeof(*read);
	return __vperfctr_ioctl(vperfctr_fd(v), VPERFCTR_READ_CPUS, read);
}
