// SPDX-License-Identifier: LGPL-2.1-or-later
/* Count a running process. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

/* Return a descriptor of the file, or the error of vperfctr_attach(). */
static int open_mem(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	switch (errno) {
	case EACCES:
		return -EPERM;
	case ENOENT:
		return access("/proc/self", F_OK) ? -ENOSYS : -ESRCH;
	default:
		return -errno;
	}
}

static int attach_by(int dev, const char *path, struct vperfctr_attach *arg)
{
	int ret;

	arg->mem_fd = open_mem(path);
	if (arg->mem_fd < 0)
		return arg->mem_fd;
	ret = __vperfctr_ioctl(dev, VPERFCTR_ATTACH, arg);
	close(arg->mem_fd);
	return ret;
}

/*
 * Attach by the memory of another thread than the first one, which may have ended before the
 * others and then has no memory any more.  That of the others is the same.
 */
static int attach_by_threads(int dev, struct vperfctr_attach *arg)
{
	const struct dirent *d;
	int ret = -ESRCH;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)arg->tid);
	dir = opendir(path);
	while (dir && ret == -ESRCH && (d = readdir(dir))) {
		if (*d->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/mem", (int)arg->tid, d->d_name);
		ret = attach_by(dev, path, arg);
	}
	if (dir)
		closedir(dir);
	return ret;
}

static int attach(int dev, struct vperfctr_attach *arg)
{
	struct vperfctr_info info;
	char path[64];
	int ret;

	ret = __vperfctr_device_info(dev, &info, sizeof(info), 0);
	if (ret)
		return ret;
	if (arg->tid)
		snprintf(path, sizeof(path), "/proc/%d/mem", (int)arg->tid);
	else
		snprintf(path, sizeof(path), "/proc/self/mem");
	ret = attach_by(dev, path, arg);
	if (ret == -ESRCH && arg->tid && !(arg->flags & VPERFCTR_ATTACH_THREAD))
		ret = attach_by_threads(dev, arg);
	return ret;
}

int vperfctr_open_member(struct vperfctr **v, const struct vperfctr *set, pid_t tid,
			 unsigned int flags)
{
	int fd, err;

	*v = NULL;
	if (flags)
		return -EINVAL;
	fd = __vperfctr_ioctl(vperfctr_fd(set), VPERFCTR_MEMBER, (void *)(intptr_t)tid);
	if (fd < 0)
		return fd;
	err = __vperfctr_new_handle(v, fd, 0);
	if (err)
		close(fd);
	return err;
}

/* Attach, and return what the kernel has written to *arg. */
static int attach_set(struct vperfctr **v, struct vperfctr_attach *arg, struct vperfctr_ring *ring,
		      size_t size)
{
	int dev, fd, err;

	*v = NULL;
	if (ring && !__vperfctr_is_size(size, __VPERFCTR_SIZE_WITH(struct vperfctr_ring, map_size)))
		return -EINVAL;
	dev = __vperfctr_device_open();
	if (dev < 0)
		return dev;
	if (ring)
		ring->size = (uint32_t)size;
	arg->size = sizeof(*arg);
	arg->ring = (uintptr_t)ring;
	fd = attach(dev, arg);
	close(dev);
	if (fd < 0)
		return fd;
	err = __vperfctr_new_handle(v, fd, 0);
	if (err) {
		close(fd);
		return err;
	}
	if (ring)
		err = vperfctr_ring_map(*v, ring->map_size);
	if (err) {
		vperfctr_close(*v);
		*v = NULL;
	}
	return err;
}

int vperfctr_attach_ring_sized(struct vperfctr **v, pid_t tid,
			       const struct vperfctr_control *control, struct vperfctr_ring *ring,
			       size_t size, unsigned int *nrthreads, unsigned int flags)
{
	struct vperfctr_attach arg = { .flags = flags, .tid = tid, .control = (uintptr_t)control };
	int err = attach_set(v, &arg, ring, size);

	if (!err && nrthreads)
		*nrthreads = arg.nrthreads;
	return err;
}

int vperfctr_attach_beside_sized(struct vperfctr **v, pid_t tid,
				 const struct vperfctr_control *control, struct vperfctr_ring *ring,
				 size_t ring_size, struct vperfctr_attached *attached, size_t size,
				 unsigned int flags)
{
	struct vperfctr_attach arg = { .flags = flags, .tid = tid, .control = (uintptr_t)control };
	struct vperfctr_attached known;
	int err;

	*v = NULL;
	if (!__vperfctr_is_size(size, __VPERFCTR_SIZE_WITH(struct vperfctr_attached, used_fixed)))
		return -EINVAL;
	err = attach_set(v, &arg, ring, ring_size);
	memset(&known, 0, sizeof(known));
	if (!err) {
		known.nrthreads = arg.nrthreads;
		known.nrskipped = arg.nrskipped;
	}
	if (!err || err == -EADDRINUSE || err == -EXFULL) {
		known.used_pmcs = arg.used_pmcs;
		known.used_fixed = arg.used_fixed;
	}
	__vperfctr_put_struct(attached, size, &known, sizeof(known));
	return err;
}

int vperfctr_attach(struct vperfctr **v, pid_t tid, const struct vperfctr_control *control,
		    unsigned int *nrthreads, unsigned int flags)
{
	return vperfctr_attach_ring(v, tid, control, NULL, nrthreads, flags);
}
