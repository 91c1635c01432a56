/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Internal to the library, and to libperfctr: narrow the calling thread's CPU affinity to
 * CPUs that can count a control.
 *
 * The kernel module only checks the affinity.  sched_setaffinity() changes it by the
 * kernel's own rules: it respects the cpuset, and newer kernels keep what a thread has
 * asked for when the cpuset is rewritten.
 */
#ifndef VPERFCTR_AFFINITY_H
#define VPERFCTR_AFFINITY_H

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include <linux/vperfctr.h>

/* No kernel has more CPUs.  sched_getaffinity() fails if the set is too small. */
#define __VPERFCTR_CPUS		8192

struct __vperfctr_cpus {
	cpu_set_t set[__VPERFCTR_CPUS / CPU_SETSIZE];
};

/* The argument of VPERFCTR_KIND_CPUS. */
struct __vperfctr_countable {
	struct vperfctr_kind_cpus arg;
	uint32_t words[__VPERFCTR_CPUS / 32];
};

static inline bool __vperfctr_is_set(unsigned int cpu, const struct __vperfctr_cpus *cpus)
{
	return CPU_ISSET_S(cpu, sizeof(*cpus), cpus->set);
}

static inline int __vperfctr_get_affinity(struct __vperfctr_cpus *cpus)
{
	memset(cpus, 0, sizeof(*cpus));
	return sched_getaffinity(0, sizeof(*cpus), cpus->set) ? -errno : 0;
}

/* True if no hyper-thread sibling of the CPU is online, or if that is not known. */
static inline bool __vperfctr_is_alone(unsigned int cpu)
{
	unsigned int first, next;
	char path[80];
	FILE *file;
	int n;

	snprintf(path, sizeof(path),
		 "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
	file = fopen(path, "re");
	if (!file)
		return true;
	/* "4", or a list such as "0,4" or "0-1". */
	n = fscanf(file, "%u%*[,-]%u", &first, &next);
	fclose(file);
	return n < 2;
}

/* Remove the CPUs that cannot count, and return how many CPUs are left. */
static inline unsigned int __vperfctr_narrow(struct __vperfctr_cpus *cpus,
					     const struct __vperfctr_countable *countable,
					     bool siblings)
{
	unsigned int cpu, left = 0;

	for (cpu = 0; cpu < __VPERFCTR_CPUS; cpu++) {
		if (!__vperfctr_is_set(cpu, cpus))
			continue;
		if (siblings ? __vperfctr_is_alone(cpu) :
			       countable->arg.mask[cpu / 32] >> cpu % 32 & 1)
			left++;
		else
			CPU_CLR_S(cpu, sizeof(*cpus), cpus->set);
	}
	return left;
}

/*
 * Narrow the affinity once.  If all CPUs are of the right kind, the kernel has refused the
 * control for the hyper-thread siblings.
 *
 * Returns 0 also if something has changed meanwhile: the kernel will see.
 */
static inline int __vperfctr_narrow_once(const struct __vperfctr_countable *countable)
{
	struct __vperfctr_cpus old, cpus;
	int err = __vperfctr_get_affinity(&old);

	if (err)
		return err;
	cpus = old;
	if (!__vperfctr_narrow(&cpus, countable, false))
		return -EINVAL;
	if (!memcmp(&cpus, &old, sizeof(cpus)) && !__vperfctr_narrow(&cpus, countable, true))
		return -EUSERS;
	/* EINVAL: the cpuset was rewritten, and has none of these CPUs. */
	if (!sched_setaffinity(0, sizeof(cpus), cpus.set) || errno == EINVAL)
		return 0;
	return -errno;
}

/*
 * Make a call with a control that the kernel has refused with EUSERS: the affinity has CPUs
 * that cannot count.  dev is the device; kind and nrkinds are those of the control.  After
 * an error the affinity is the old one, as far as the cpuset allows.
 */
static inline int __vperfctr_call_narrowed(int dev, int fd, unsigned long request,
					   const void *arg, uint32_t kind, uint32_t nrkinds)
{
	struct __vperfctr_countable countable;
	struct __vperfctr_cpus old;
	int ret, tries;

	memset(&countable, 0, sizeof(countable));
	countable.arg.size = sizeof(countable.arg);
	countable.arg.kind = kind;
	countable.arg.nrkinds = nrkinds;
	countable.arg.nrwords = __VPERFCTR_CPUS / 32;
	if (ioctl(dev, VPERFCTR_KIND_CPUS, &countable))
		return -errno;
	ret = __vperfctr_get_affinity(&old);
	if (ret)
		return ret;
	/* Once for the kind, once for siblings; again only if the cpuset is rewritten. */
	for (tries = 0, ret = -EUSERS; ret == -EUSERS && tries < 8; tries++) {
		ret = __vperfctr_narrow_once(&countable);
		if (ret)
			break;
		ret = ioctl(fd, request, arg);
		if (ret < 0)
			ret = -errno;
	}
	if (ret < 0)
		sched_setaffinity(0, sizeof(old), old.set);
	return ret;
}

#endif /* VPERFCTR_AFFINITY_H */
