/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counting by perf_event_open(2), where the module cannot count.  Internal to the libraries. */
#ifndef VPERFCTR_PERF_H
#define VPERFCTR_PERF_H

#include <sys/types.h>
#include <vperfctr.h>

struct perf_event_attr;

/* An event as perf_event_open() takes it. */
struct __vperfctr_perf_event {
	uint32_t type;		/* PERF_TYPE_* */
	uint32_t soft;		/* VPERFCTR_SOFT_*: one bit, or 0 for a counter */
	uint64_t config;
	uint64_t config1;
	uint32_t user, kernel;	/* 1: the modes in which it counts */
	uint64_t period;	/* not 0: it makes samples, as the attributes of samples say */
};

/* A place counts each of these threads on each of these CPUs, with a group for each pair. */
struct __vperfctr_perf_place {
	const pid_t *tid;	/* 0: the calling thread; -1, alone: all that the CPUs do */
	const int *cpu;		/* -1, alone: any */
	unsigned int nrtids, nrcpus;
};

/* Flags of __vperfctr_open_perf(). */
#define VPERFCTR_PERF_EXEC	0x01	/* start when the thread next executes a file */
#define VPERFCTR_PERF_INHERIT	0x02	/* count what the thread starts, too, in the same sums */

#define VPERFCTR_PERF_STOPPED	0x08	/* start by vperfctr_resume() */
#define VPERFCTR_PERF_NS	0x10	/* the handle's ticks are nanoseconds */
#define VPERFCTR_PERF_RAW	0x04	/* return perf_event_open()'s own error, unexplained */

/* The most events of one group. */
#define VPERFCTR_PERF_MAX	(VPERFCTR_MAX_CTRS + VPERFCTR_NR_SOFT)

/* The descriptors of a handle. */
struct __vperfctr_perf_groups {
	unsigned int nrgroups;	/* in the order of the place: all CPUs of a thread, then the next */
	unsigned int nrcpus;	/* groups whose events are of different CPUs */
	unsigned int nrevents;	/* in each group */
	const int *fd;		/* nrgroups * nrevents; of each group the leader is the first */
};

#endif /* VPERFCTR_PERF_H */
