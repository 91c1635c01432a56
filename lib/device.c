// SPDX-License-Identifier: LGPL-2.1-or-later
/* Calls that need no state: information and CPU masks. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
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

int __vperfctr_device_info(int fd, struct vperfctr_info *info, size_t size, unsigned int kind)
{
	int err;

	if (!__vperfctr_is_size(size, __VPERFCTR_SIZE_WITH(struct vperfctr_info, kind)))
		return -EINVAL;
	memset(info, 0, size);
	info->size = (uint32_t)size;
	info->kind = kind;
	err = __vperfctr_ioctl(fd, VPERFCTR_INFO, info);
	if (err)
		return err;
	/* The kernel stored the size that it knows. */
	info->size = (uint32_t)size;
	return __vperfctr_abi_check(info->abi_version);
}

/* ---- a descriptor that is kept --------------------------------------------- */

/*
 * Finding and opening the device takes the kernel half as long as making and mapping a
 * state.  So a process keeps the descriptor of its first open.  It is closed by exec, and
 * a child of a fork has it too.
 *
 * A descriptor is a right that a process does not lose when it drops privileges.  So a
 * process that has privileges to drop keeps none.
 */
static struct kept {
	int fd;			/* -1: none */
	dev_t dev;
	ino_t ino;
	int taken;		/* a thread has set the rest, or is about to */
	int lost;		/* it was another file when last looked at */
} kept = { .fd = -1 };

static bool has_privileges(void)
{
	uid_t uid, euid, suid;
	gid_t gid, egid, sgid;

	return getauxval(AT_SECURE) || getresuid(&uid, &euid, &suid) ||
	       getresgid(&gid, &egid, &sgid) || !uid || uid != euid || uid != suid ||
	       gid != egid || gid != sgid;
}

/* True if the descriptor still is the device: a daemon closes all descriptors. */
static bool is_kept(int fd)
{
	struct stat status;

	return !fstat(fd, &status) && status.st_dev == kept.dev && status.st_ino == kept.ino;
}

/* Keep a descriptor if there is none.  One of several threads succeeds. */
static void keep(int fd)
{
	struct stat status;

	/* In a program without standard streams, it would become one of them. */
	if (fd <= STDERR_FILENO || has_privileges() || fstat(fd, &status) ||
	    __atomic_exchange_n(&kept.taken, 1, __ATOMIC_ACQUIRE))
		return;
	kept.dev = status.st_dev;
	kept.ino = status.st_ino;
	__atomic_store_n(&kept.fd, fd, __ATOMIC_RELEASE);
}

int __vperfctr_device_get(void)
{
	int dev = __atomic_load_n(&kept.fd, __ATOMIC_ACQUIRE), err;
	struct vperfctr_info info;

	if (dev >= 0 && !__atomic_load_n(&kept.lost, __ATOMIC_RELAXED))
		return dev;
	dev = __vperfctr_device_open();
	if (dev < 0)
		return dev;
	err = __vperfctr_device_info(dev, &info, sizeof(info), 0);
	if (err) {
		close(dev);
		return err;
	}
	keep(dev);
	return dev;
}

/*
 * Look at the kept descriptor after a call that has failed, or close one that is not kept.
 *
 * To look before each call would cost a twentieth of an open.  The module's calls have numbers
 * that no other driver has, so another file refuses them.
 *
 * Another open of the device may get the number that was lost.  So the number remains the
 * kept one, and is never closed here.
 */
bool __vperfctr_device_put(int dev, int ret)
{
	bool good;

	if (dev != __atomic_load_n(&kept.fd, __ATOMIC_ACQUIRE)) {
		close(dev);
		return false;
	}
	if (ret >= 0 && !__atomic_load_n(&kept.lost, __ATOMIC_RELAXED))
		return false;
	good = is_kept(dev);
	__atomic_store_n(&kept.lost, !good, __ATOMIC_RELAXED);
	/* EBADF: another thread may have found that, and another open may have got the number. */
	return ret == -EBADF || (ret < 0 && !good);
}

bool __vperfctr_device_holds(void)
{
	const int dev = __atomic_load_n(&kept.fd, __ATOMIC_ACQUIRE);

	if (dev < 0 || __atomic_load_n(&kept.lost, __ATOMIC_RELAXED) || is_kept(dev))
		return true;
	__atomic_store_n(&kept.lost, 1, __ATOMIC_RELAXED);
	return false;
}

/* ---- information and masks --------------------------------------------------- */

unsigned int vperfctr_version(void)
{
	return VPERFCTR_VERSION_NUMBER;
}

const char *vperfctr_version_text(void)
{
	return VPERFCTR_VERSION;
}

int vperfctr_info_sized(struct vperfctr_info *info, size_t size, unsigned int kind)
{
	int dev, err;

	dev = __vperfctr_device_open();
	if (dev < 0)
		return dev;
	err = __vperfctr_device_info(dev, info, size, kind);
	close(dev);
	return err;
}

int vperfctr_info_of_sized(struct vperfctr_info *info, size_t size, const struct vperfctr *v,
			   unsigned int kind)
{
	/* An event of perf_event refuses it, as other calls that it lacks. */
	return __vperfctr_device_info(to_const_handle(v)->fd, info, size, kind);
}

/* The argument of the three requests, and the mask that the caller wants in the end. */
union mask_arg {
	struct vperfctr_cpu_mask all;
	struct vperfctr_kind_cpus of_kind;
};

/* Call with room for nrwords words.  *nrwords becomes the number that the kernel needs. */
static int call_mask(int dev, unsigned long request, unsigned int kind, union mask_arg *m,
		     uint32_t *nrwords)
{
	int err;

	if (request == VPERFCTR_KIND_CPUS) {
		memset(&m->of_kind, 0, sizeof(m->of_kind));
		m->of_kind.size = sizeof(m->of_kind);
		m->of_kind.kind = kind;
		m->of_kind.nrwords = *nrwords;
		err = __vperfctr_ioctl(dev, request, m);
		*nrwords = m->of_kind.nrwords;
		if (!err)
			memmove(m->all.mask, m->of_kind.mask, *nrwords * sizeof(m->all.mask[0]));
	} else {
		m->all.size = sizeof(m->all);
		m->all.nrwords = *nrwords;
		err = __vperfctr_ioctl(dev, request, m);
		*nrwords = m->all.nrwords;
	}
	m->all.size = sizeof(m->all);
	m->all.nrwords = *nrwords;
	return err;
}

static int read_mask(int dev, unsigned long request, unsigned int kind,
		     struct vperfctr_cpu_mask **mask)
{
	union mask_arg *m = NULL, *larger;
	uint32_t nrwords = 0, room;
	int err;

	/* If the mask does not fit, the kernel sets nrwords to what it needs. */
	do {
		room = nrwords;
		larger = (union mask_arg *)
			 realloc(m, sizeof(*m) + nrwords * sizeof(m->all.mask[0]));
		if (!larger) {
			err = -ENOMEM;
			break;
		}
		m = larger;
		err = call_mask(dev, request, kind, m, &nrwords);
	} while (err == -EOVERFLOW && nrwords > room);

	if (err) {
		free(m);
		return err;
	}
	*mask = &m->all;
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

int vperfctr_kind_cpus(struct vperfctr_cpu_mask **mask, unsigned int kind)
{
	return device_mask(VPERFCTR_KIND_CPUS, kind, mask);
}
