/* SPDX-License-Identifier: GPL-2.0 */
/* CPUs that are counted, whatever runs there. */
#ifndef PERFEX_CPUS_H
#define PERFEX_CPUS_H

#include "perfex.h"

/* The CPUs of -a or -C, and the parts that their counts are printed in. */
struct cpus {
	struct vperfctr_cpu_mask *mask;
	char *list;			/* of the mask: "0-3,8" */
	char *unable;			/* those that -a left out, as they cannot count; or NULL */
	unsigned int nr;
	unsigned int *part_of;		/* the part that each CPU of the mask is in */
	struct part *parts;		/* without sums */
	unsigned int nrparts;		/* 0: all CPUs together */
	struct vperfctr_cpu *cpu;	/* what READ_CPUS has returned */
	uint64_t *sums;			/* of each CPU: the TSC, and that many counters */
	unsigned int nrctrs;
	struct part *read;		/* the parts with sums */
};

/*
 * Do what cpus_choose() does, for perf_event, which *kinds describes already.
 * Return: what try() returned, or -1 with *e.  The caller frees *cpus in both cases.
 */
int cpus_choose_perf(struct cpus *cpus, const struct count_options *c, struct kinds *kinds,
		     kind_fn *try, void *arg, struct error *e);
void cpus_free(struct cpus *cpus);

/*
 * Find the CPUs of -a or -C, choose kinds of CPUs with which try() succeeds, and leave out the
 * CPUs of others.
 * Return: what try() returned, or -1 with *e.  The caller frees *cpus in both cases.
 */
int cpus_choose(struct cpus *cpus, const struct count_options *c, struct kinds *kinds, kind_fn *try,
		void *arg, struct error *e);

/*
 * Count the CPUs until the command (if *argv) ends, the timeout is over, or a signal ends
 * perfex.
 * perf: NULL: the module counts.  sampler: NULL: there are no samples.  Its start() has no target.
 * Return: as run_command().  The result has the parts.
 */
int cpus_count(struct cpus *cpus, char **argv, double timeout,
	       const struct vperfctr_control *control, const struct perf_count *perf,
	       const struct interval *interval, struct sampler *sampler, struct result *r,
	       struct error *e);

/*
 * Replace the file by one with these counts, for Prometheus.  parts: NULL: there are none yet, so
 * only see whether that is possible.
 * Return: 0, or -1 with *e.
 */
int prometheus_write(const char *file, const struct printing *p, const struct part *parts,
		     struct error *e);

/* Print the counts of an interval.  first: this is the first interval. */
void top_print(const struct printing *p, double at, const struct sums *sums,
	       const struct part *parts, bool first);

#endif /* PERFEX_CPUS_H */
