/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counting by perf_event_open(2), where the module cannot count.  Internal to the libraries. */
#ifndef VPERFCTR_PERF_H
#define VPERFCTR_PERF_H

#include <vperfctr.h>

/* An event as perf_event_open() takes it. */
struct __vperfctr_perf_event {
	uint32_t type;		/* PERF_TYPE_* */
	uint32_t soft;		/* VPERFCTR_SOFT_*: one bit, or 0 for a counter */
	uint64_t config;
	uint64_t config1;
	uint32_t user, kernel;	/* 1: the modes in which it counts */
};

/* Flags of __vperfctr_open_perf(). */
#define VPERFCTR_PERF_EXEC	0x01	/* start when the thread next executes a file */
#define VPERFCTR_PERF_INHERIT	0x02	/* count what the thread starts, too, in the same sums */

#define VPERFCTR_PERF_RAW	0x04	/* return perf_event_open()'s own error, unexplained */

/* The most events of one handle. */
#define VPERFCTR_PERF_MAX	(VPERFCTR_MAX_CTRS + VPERFCTR_NR_SOFT)

#endif /* VPERFCTR_PERF_H */
