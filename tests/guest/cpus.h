/* SPDX-License-Identifier: GPL-2.0 */
/* Counting CPUs instead of threads, for tests of that. */
#ifndef GUEST_CPUS_H
#define GUEST_CPUS_H

#include <string.h>
#include <unistd.h>

#include "common.h"

#define MAX_CPUS	32
#define NR_CTRS		3

static inline int try_open_cpus(u32 mask, u32 flags)
{
	struct vperfctr_open_cpus req = {
		.size = sizeof(req), .flags = flags, .nrwords = 1, .mask = (uintptr_t)&mask,
	};
	int fd = call(dev, VPERFCTR_OPEN_CPUS, &req);

	if (fd >= 0 && req.nrcpus != (u32)__builtin_popcount(mask))
		die("a set of %u CPUs", req.nrcpus);
	return fd;
}

static inline int open_cpus(u32 mask)
{
	int fd = try_open_cpus(mask, 0);

	if (fd < 0)
		die("VPERFCTR_OPEN_CPUS: %s", strerror(-fd));
	return fd;
}

/* The answer of READ_CPUS for up to MAX_CPUS CPUs, which all count NR_CTRS at most. */
struct cpu_reading {
	struct vperfctr_read_cpus req;
	struct vperfctr_cpu cpus[MAX_CPUS];
	u64 sums[MAX_CPUS * (1 + NR_CTRS)];
};

static inline int try_read_cpus(int fd, struct cpu_reading *r)
{
	memset(r, 0, sizeof(*r));
	r->req.size = sizeof(r->req);
	r->req.nrcpus = MAX_CPUS;
	r->req.nrctrs = NR_CTRS;
	r->req.cpus = (uintptr_t)r->cpus;
	r->req.sums = (uintptr_t)r->sums;
	return call(fd, VPERFCTR_READ_CPUS, &r->req);
}

static inline void read_cpus(int fd, struct cpu_reading *r)
{
	int err = try_read_cpus(fd, r);

	if (err)
		die("VPERFCTR_READ_CPUS: %s", strerror(-err));
}

/* The i-th CPU's sum of a counter, or of the TSC. */
static inline u64 pmc_of(const struct cpu_reading *r, unsigned int i, unsigned int ctr)
{
	return r->sums[i * (1 + r->req.nrctrs) + 1 + ctr];
}

static inline u64 tsc_sum_of(const struct cpu_reading *r, unsigned int i)
{
	return r->sums[i * (1 + r->req.nrctrs)];
}

/* Let a worker work, which is at the other ends of the pipes: it answers with the byte. */
static inline void let_work(int to[2], int from[2])
{
	char byte = 0;

	if (write(to[1], &byte, 1) != 1 || read(from[0], &byte, 1) != 1)
		die("the worker has ended");
}

#endif /* GUEST_CPUS_H */
