/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of measure(): the choice of events, runs, what is around them, and intervals. */
#ifndef PERFEX_MEASURING_H
#define PERFEX_MEASURING_H

#include "cpus.h"
#include "gate.h"
#include "metrics.h"
#include "perf-count.h"
#include "refused.h"

/* The events to count: events[k] and ctr[k] are for kinds.info[k]. */
struct choice {
	const struct count_options *counting;
	const struct stat_options *o;
	const struct showing *show;
	struct kinds kinds;
	struct events events[MAX_KINDS];
	struct refusals refused;
	struct metrics metrics;
	struct vperfctr_ctr ctr[MAX_KINDS][VPERFCTR_MAX_CTRS];
	struct vperfctr_ctr printed[MAX_KINDS][VPERFCTR_MAX_CTRS];	/* by -v, the last time */
	struct cpus *cpus;	/* NULL: threads are counted */
	char *perf;		/* names for perf_event; NULL: the module counts */
	char *perf_groups[VPERFCTR_MAX_CTRS];	/* of each run, if there are several */
	struct perf_count by_perf;	/* the same for running threads and CPUs */
	const struct error *module;	/* why the module does not count, or no text */
	bool usage;		/* perf_event may not be used, either: only what getrusage(2) tells is there */
	bool said;		/* that perf_event counts */
	bool again;		/* --pre was run for the first run, and then others had the counters */
	enum backend backend;
};

/* Return: the parts that have a series each, which follows that of all. */
static inline unsigned int nr_cpu_parts(const struct choice *choice)
{
	return choice->cpus ? choice->cpus->nrparts : 0;
}

/* ---- choose-events.c -------------------------------------------------------------------- */

/* Return: the number of runs that the events need on these kinds of CPUs, or -1 with *e. */
int choose_events(const struct kinds *kinds, void *choice, struct error *e);

/* ---- choose-perf.c: where the module cannot count ------------------------------------------ */

/*
 * Choose the CPUs and events that perf_event counts.  module: why the module does not count, or no
 * text.
 * Return: the number of runs that the events need, or -1 with *e.
 */
int choose_perf(struct choice *choice, const struct error *module, struct cpus *cpus,
		struct error *e);

/*
 * True if perf_event counts what the module refuses.  Only where it may not, or has no counters:
 * what it refuses for another reason is not exact.
 */
bool perf_counts_all(const struct choice *choice);

/* ---- around-run.c ------------------------------------------------------------------------- */

/*
 * Do what the options say before a run, or after it.
 * Return: 0, or -1 with *e: a command has failed
 */
int before_run(const struct stat_options *o, struct error *e);
int after_run(const struct stat_options *o, struct error *e);

/* How long --wait lets perfex wait. */
struct patience {
	double seconds;		/* how long to wait; 0: not at all */
	bool begun;
	struct timespec since;
};

/*
 * The counters were busy, and nothing was run: wait a little, within the bound of --wait.  A
 * signal that ends perfex ends the waiting.
 * Return: whether to try again; if not, *e says why.
 */
bool wait_for_counters(struct patience *p, struct error *e);

/* ---- runs.c ------------------------------------------------------------------------------- */

/* The control of one run.  Its counters have the places at[0], at[1], ... in sums of all. */
void make_control(struct vperfctr_control *control, struct vperfctr_ctr *chosen,
		  const struct choice *choice, unsigned int group, unsigned int *at);

/* Several runs of a command.  *all: the series, which the caller frees; NULL: none. */
int measure_series(const struct choice *choice, struct printing *p, unsigned int nrgroups,
		   uint32_t flags, struct series **all, struct result *r, struct error *e);

/* ---- interval-output.c -------------------------------------------------------------------- */

struct ticks {
	const struct stat_options *o;
	struct printing *printing;
	struct sums before;
	struct part *parts;	/* of CPUs or threads, in this interval */
	struct sums *parts_before;
	struct part *open;	/* of CPUs, without what the gate leaves out */
	struct gate gate;
	bool any;
	struct error failed;	/* why the last file for Prometheus was not written; or no text */
};

/* Begin intervals: their gate, and the file for Prometheus.  Return: 0, or -1 with *e. */
int ticks_open(struct ticks *t, const struct stat_options *o, struct printing *p,
	       const struct cpus *cpus, struct error *e);
void ticks_close(struct ticks *t);

/* Return: the interval whose counts are printed. */
struct interval ticks_interval(struct ticks *t);

/*
 * If the file could not be written, print to standard error from now on, so that the
 * counts are not lost.  Return: whether what was printed last must be printed again.
 */
bool fall_back_to_stderr(struct printing *p);

#endif /* PERFEX_MEASURING_H */
