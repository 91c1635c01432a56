/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counting and sampling by perf_event, where the module cannot.  Handles are the library's, as those
 * of the module.
 */
#ifndef PERFEX_PERF_COUNT_H
#define PERFEX_PERF_COUNT_H

#include <linux/perf_event.h>

#include "perfex.h"

struct perf_count {
	const char *names;		/* of the events, with commas */
	bool inherit;			/* count what is started, too */
	/* The rest is for samples. */
	const uint64_t *period;		/* of each event; NULL: there are no samples */
	struct perf_event_attr sample;
	uint32_t depth;			/* of calls of user mode in a chain; 0: all */
};

/* Leave out the generic events that perf_event does not have here, of which it says no more. */
void perf_limit_generic(struct vperfctr_info *info);

/*
 * Describe the processor as perf_event counts it: with the generic events that it has.  Without
 * a PMU there are no interrupts, and samples are those of a clock.
 */
void perf_describe(struct vperfctr_info *info);

/*
 * Count threads.  flags: VPERFCTR_PERF_EXEC or 0.
 * Return: 0, or -1 with *e; *gone: such a thread has ended, if gone is not NULL
 */
int perf_count_threads(struct vperfctr **v, const struct perf_count *p, const pid_t *tids,
		       unsigned int nr, unsigned int flags, bool *gone, struct error *e);

/* Count CPUs, from vperfctr_resume() on.  Return: 0, or -1 with *e */
int perf_count_cpus(struct vperfctr **v, const struct perf_count *p,
		    const struct vperfctr_cpu_mask *mask, struct error *e);

/*
 * Find the threads of a process, or the thread itself.  The list is complete if none was started
 * meanwhile: see attach_perf().
 * Return: 0; -ESRCH: there are none; or -errno.  The caller frees the list in all cases.
 */
int perf_list_threads(const struct target *target, pid_t **tids, unsigned int *nr);

/* The CPUs that there are, and those that are online.  Return: 0, or -1 with *e */
int perf_cpus(struct vperfctr_cpu_mask **all, struct vperfctr_cpu_mask **online, struct error *e);

/* ---- perf-rings.c ----------------------------------------------------------------- */

/* Buffers in which the kernel puts the samples of a handle. */
struct perf_rings;
struct recording;

/*
 * Open the buffers of v, which remains open as long as they.
 * targets: that share the memory which the user may lock, and have no buffers yet, v included
 * Return: 0, or -1 with *e.
 */
int perf_rings_open(struct perf_rings **r, const struct vperfctr *v, const struct perf_count *p,
		    unsigned int targets, struct recording *rec, struct error *e);

/* Return: a descriptor that is ready when one of them is half full. */
int perf_rings_fd(const struct perf_rings *r);

/* Move all samples and records until now into the file. */
void perf_rings_drain(struct perf_rings *r);
void perf_rings_close(struct perf_rings *r);

#endif /* PERFEX_PERF_COUNT_H */
