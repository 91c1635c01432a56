// SPDX-License-Identifier: LGPL-2.1-or-later
/* Calls that need no state: information and CPU masks. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

int __vperfctr_device_open(void)
{
	int fd = open(VPERFCTR_DEVICE, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	/* ENOENT means that a thread has no state: do not return it for a missing device. */
	if (errno == ENOENT || errno == ENXIO)
		return -ENODEV;
	return -errno;
}

int __vperfctr_device_info(int dev, struct vperfctr_info *info, unsigned int kind)
{
	int err;

	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->kind = kind;
	err = __vperfctr_ioctl(dev, VPERFCTR_INFO, info);
	if (err)
		return err;
	/* The kernel stored the size that it knows. */
	info->size = sizeof(*info);
	return __vperfctr_abi_check(info->abi_version);
}

int vperfctr_info(struct vperfctr_info *info, unsigned int kind)
{
	int dev, err;

	dev = __vperfctr_device_open();
	if (dev < 0)
		return dev;
	err = __vperfctr_device_info(dev, info, kind);
	close(dev);
	return err;
}

/*
 * Read a mask for any of the three requests.  struct vperfctr_cpu_mask has the layout of
 * struct vperfctr_kind_cpus without its first field.
 */
static int read_mask(int dev, unsigned long request, unsigned int kind,
		     struct vperfctr_cpu_mask **mask)
{
	struct vperfctr_kind_cpus *m = NULL, *larger;
	uint32_t nrwords = 0;
	int err;

	/* If the mask does not fit, the kernel sets nrwords to what it needs. */
	do {
		larger = (struct vperfctr_kind_cpus *)
			 realloc(m, sizeof(*m) + nrwords * sizeof(m->mask[0]));
		if (!larger) {
			err = -ENOMEM;
			break;
		}
		m = larger;
		m->kind = kind;
		m->nrwords = nrwords;
		err = __vperfctr_ioctl(dev, request, request == VPERFCTR_KIND_CPUS ?
						     (void *)m : (void *)&m->nrwords);
		if (err == -EOVERFLOW && m->nrwords <= nrwords)
			break;
		nrwords = m->nrwords;
	} while (err == -EOVERFLOW);

	if (err) {
		free(m);
		return err;
	}
	memmove(m, &m->nrwords, sizeof(**mask) + nrwords * sizeof(m->mask[0]));
	*mask = (struct vperfctr_cpu_mask *)m;
	return 0;
}

static int device_mask(unsigned long request, unsigned int kind, struct vperfctr_cpu_mask **mask)
{
	int dev, err;

	*mask = NULL;
	dev = __vperfctr_device_open();
	if (dev < 0)
		return dev;
	err = read_mask(dev, request, kind, mask);
	close(dev);
	return err;
}

int vperfctr_cpus(struct vperfctr_cpu_mask **mask)
{
	return device_mask(VPERFCTR_CPUS, 0, mask);
}

int vperfctr_cpus_forbidden(struct vperfctr_cpu_mask **mask)
{
	return device_mask(VPERFCTR_CPUS_FORBIDDEN, 0, mask);
}

int vperfctr_kind_cpus(unsigned int kind, struct vperfctr_cpu_mask **mask)
{
	return device_mask(VPERFCTR_KIND_CPUS, kind, mask);
}
