/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counting by perf_event_open(2), where the module cannot count.  Internal to the libraries. */
#ifndef VPERFCTR_PERF_H
#define VPERFCTR_PERF_H

#include <sys/types.h>
#include <vperfctr.h>

/* An event as perf_event_open() takes it. */
struct __vperfctr_perf_event {
	uint32_t type;		/* PERF_TYPE_* */
	uint32_t soft;		/* VPERFCTR_SOFT_*: one bit, or 0 for a counter */
	uint64_t config;
	uint64_t config1;
	uint32_t user, kernel;	/* 1: the modes in which it counts */
	uint64_t period;	/* not 0: it makes samples, as the attributes of samples say */
};

/* The most events of one group. */
#define PERF_GROUP_MAX	(VPERFCTR_MAX_CTRS + VPERFCTR_NR_SOFT)

#endif /* VPERFCTR_PERF_H */
