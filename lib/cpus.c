// SPDX-License-Identifier: LGPL-2.1-or-later
/* Count CPUs instead of threads. */
#include <stdlib.h>
#include <sys/mman.h>
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
	do {
		dev = __vperfctr_device_get();
		fd = dev < 0 ? dev : __vperfctr_ioctl(dev, VPERFCTR_OPEN_CPUS, &arg);
	} while (dev >= 0 && (__vperfctr_device_put(dev, fd) ||
			      (fd >= 0 && !__vperfctr_device_holds())));
	free(all);
	if (fd < 0)
		return fd;
	err = __vperfctr_new_handle(v, fd, 0);
	if (err)
		close(fd);
	return err;
}

int vperfctr_read_cpus_sized(struct vperfctr *v, struct vperfctr_read_cpus *read, size_t size)
{
	if (!__vperfctr_is_size(size, __VPERFCTR_SIZE_WITH(struct vperfctr_read_cpus, size)))
		return -EINVAL;
	read->size = (uint32_t)size;
	if (to_handle(v)->perf)
		return __vperfctr_perf_read_cpus(to_handle(v), read);
	return __vperfctr_ioctl(vperfctr_fd(v), VPERFCTR_READ_CPUS, read);
}

int __vperfctr_count_cpus(int fd)
{
	struct vperfctr_read_cpus probe = { .size = sizeof(probe) };
	int err = __vperfctr_ioctl(fd, VPERFCTR_READ_CPUS, &probe);

	return err && err != -EOVERFLOW ? err : (int)probe.nrcpus;
}

int vperfctr_map_cpu(struct vperfctr *v, unsigned int i, const struct vperfctr_page **page)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	/* A thread's page must not be mapped by mistake: that would allow RDPMC. */
	int nr = __vperfctr_count_cpus(vperfctr_fd(v));
	void *at;
	int err;

	*page = NULL;
	if (nr < 0)
		return nr;
	if (i >= (unsigned int)nr)
		return -EINVAL;
	at = mmap(NULL, size, PROT_READ, MAP_SHARED, vperfctr_fd(v), (off_t)(i * size));
	if (at == MAP_FAILED)
		return -errno;
	err = __vperfctr_abi_check(((const struct vperfctr_page *)at)->version);
	if (err)
		munmap(at, size);
	else
		*page = (const struct vperfctr_page *)at;
	return err;
}

void vperfctr_unmap_cpu(const struct vperfctr_page *page)
{
	munmap((void *)page, (size_t)sysconf(_SC_PAGESIZE));
}
