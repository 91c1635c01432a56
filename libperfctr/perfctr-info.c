// SPDX-License-Identifier: LGPL-2.1-or-later
/* Information about the processor and the CPUs, by any descriptor. */
#include <cpuid.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

int __perfctr_device_open(int flags)
{
	int fd = open("/dev/vperfctr", O_RDONLY | flags);

	if (fd >= 0)
		return fd;
	/* ENOENT means that a thread has no state. */
	return errno == ENOENT || errno == ENXIO ? -ENODEV : -errno;
}

int __perfctr_kernel_info(int dev, struct vperfctr_info *info)
{
	int err;

	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	err = __perfctr_ioctl(dev, VPERFCTR_INFO, info);
	/* Before version 1.0 of the interface another minor number is incompatible, too. */
	if (!err && (info->abi_version ^ VPERFCTR_ABI_VERSION) &
		    (VPERFCTR_ABI_VERSION >> 16 ? 0xffff0000 : 0xffffffff))
		err = -EPROTO;
	return err;
}

/*
 * Return a descriptor of the device, and fill in *info: fd itself, or a new one if fd is
 * a state's.  The caller closes a new one.  A state has READ, and the device has not; both have
 * INFO.
 */
static int device_of(int fd, struct vperfctr_info *info)
{
	int dev, err = __perfctr_read(fd, NULL, NULL);

	if (err == -ENOTTY) {
		err = __perfctr_kernel_info(fd, info);
		return err ? err : fd;
	}
	if (err < 0)
		return err;
	dev = __perfctr_device_open(O_CLOEXEC);
	if (dev < 0)
		return dev;
	err = __perfctr_kernel_info(dev, info);
	if (!err)
		return dev;
	close(dev);
	return err;
}

static unsigned int type_of_this_cpu(void)
{
	unsigned int vendor[3], signature, unused;

	__cpuid(0, unused, vendor[0], vendor[2], vendor[1]);
	__cpuid(1, signature, unused, unused, unused);
	return __perfctr_cpu_type(vendor, signature);
}

int __perfctr_is_p4(void)
{
	static int type = -1;

	/* CPUID costs much in a virtual machine.  Threads find the same. */
	if (type < 0)
		type = (int)type_of_this_cpu();
	return type == PERFCTR_X86_INTEL_P4 || type == PERFCTR_X86_INTEL_P4M2 ||
	       type == PERFCTR_X86_INTEL_P4M3;
}

int __perfctr_info(int fd, struct perfctr_info *info)
{
	const unsigned int features = PERFCTR_FEATURE_RDPMC | PERFCTR_FEATURE_RDTSC |
				      PERFCTR_FEATURE_PCINT;	/* the kernel has the same bits */
	struct vperfctr_info kernel;
	int dev = device_of(fd, &kernel);

	if (dev < 0)
		return dev;
	if (dev != fd)
		close(dev);
	memset(info, 0, sizeof(*info));
	info->abi_version = PERFCTR_ABI_VERSION;
	snprintf(info->driver_version, sizeof(info->driver_version), "vperfctr %.22s",
		 kernel.driver_version);
	if (kernel.cpu_type != VPERFCTR_CPU_GENERIC)
		info->cpu_type = type_of_this_cpu();
	info->cpu_features = kernel.features & features;
	info->cpu_khz = kernel.tsc_khz;
	info->tsc_to_cpu_mult = 1;
	info->_nrctrs = kernel.nrctrs < MAX_CTRS ? kernel.nrctrs : MAX_CTRS;
	return 0;
}

int perfctr_info(int fd, struct perfctr_info *info)
{
	return __perfctr_result(__perfctr_info(fd, info));
}

int perfctr_get_info(struct perfctr_info *info)
{
	int dev = __perfctr_device_open(O_CLOEXEC), err;

	if (dev < 0)
		return __perfctr_result(dev);
	err = __perfctr_info(dev, info);
	close(dev);
	return __perfctr_result(err);
}

int _perfctr_abi_check_fd(int fd, unsigned int user_abi_version)
{
	const unsigned int major = 0xff00ff00;
	struct perfctr_info info;
	int err = __perfctr_info(fd, &info);

	if (!err && (user_abi_version & major) != (info.abi_version & major))
		err = -EPROTO;
	return __perfctr_result(err);
}

/* Return how many words a mask has, or a negative error number. */
static int mask_words(int dev, unsigned long cmd)
{
	struct vperfctr_cpu_mask mask = { .size = sizeof(mask) };
	int err = __perfctr_ioctl(dev, cmd, &mask);

	return err && err != -EOVERFLOW ? err : (int)mask.nrwords;
}

static int read_mask(int dev, unsigned long cmd, struct perfctr_cpu_mask *to)
{
	const size_t words = to->nrwords * sizeof(to->mask[0]);
	struct vperfctr_cpu_mask *mask = calloc(1, sizeof(*mask) + words);
	int err;

	if (!mask)
		return -ENOMEM;
	mask->size = sizeof(*mask);
	mask->nrwords = to->nrwords;
	err = __perfctr_ioctl(dev, cmd, mask);
	if (!err)
		memcpy(to->mask, mask->mask, words);
	free(mask);
	return err;
}

/*
 * Add the CPUs of other kinds to the forbidden ones.  perfctr knows one kind of CPUs:
 * its controls are for kind 0.
 */
static int forbid_other_kinds(int dev, struct perfctr_cpus_info *info)
{
	unsigned int nrwords = info->cpus->nrwords, i;
	struct vperfctr_kind_cpus *first;
	int err;

	first = calloc(1, sizeof(*first) + nrwords * sizeof(first->mask[0]));
	if (!first)
		return -ENOMEM;
	first->size = sizeof(*first);
	first->nrwords = nrwords;
	err = __perfctr_ioctl(dev, VPERFCTR_KIND_CPUS, first);
	for (i = 0; !err && i < nrwords; i++)
		info->cpus_forbidden->mask[i] |= info->cpus->mask[i] & ~first->mask[i];
	free(first);
	return err;
}

static struct perfctr_cpus_info *read_cpus(int dev, int *err)
{
	int nrwords = mask_words(dev, VPERFCTR_CPUS), forbidden;
	struct perfctr_cpus_info *info;
	size_t mask_size;

	forbidden = mask_words(dev, VPERFCTR_CPUS_FORBIDDEN);
	if (nrwords < 0 || forbidden < 0) {
		*err = nrwords < 0 ? nrwords : forbidden;
		return NULL;
	}
	if (nrwords < forbidden)
		nrwords = forbidden;
	/* perfctr's masks have at least one word. */
	mask_size = sizeof(struct perfctr_cpu_mask) + nrwords * sizeof(info->cpus->mask[0]);
	info = calloc(1, sizeof(*info) + 2 * mask_size);
	if (!info) {
		*err = -ENOMEM;
		return NULL;
	}
	info->cpus = (struct perfctr_cpu_mask *)(info + 1);
	info->cpus_forbidden = (struct perfctr_cpu_mask *)((char *)info->cpus + mask_size);
	info->cpus->nrwords = nrwords;
	info->cpus_forbidden->nrwords = nrwords;
	*err = read_mask(dev, VPERFCTR_CPUS, info->cpus);
	if (!*err)
		*err = read_mask(dev, VPERFCTR_CPUS_FORBIDDEN, info->cpus_forbidden);
	if (!*err)
		*err = forbid_other_kinds(dev, info);
	if (*err) {
		free(info);
		return NULL;
	}
	return info;
}

struct perfctr_cpus_info *perfctr_cpus_info(int fd)
{
	struct perfctr_cpus_info *info;
	struct vperfctr_info unused;
	int dev = device_of(fd, &unused), err;

	if (dev < 0) {
		errno = -dev;
		return NULL;
	}
	info = read_cpus(dev, &err);
	if (dev != fd)
		close(dev);
	if (!info)
		errno = -err;
	return info;
}
