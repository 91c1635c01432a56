/* SPDX-License-Identifier: GPL-2.0 */
/* Metrics: numbers that are computed from the counts of one run. */
#ifndef PERFEX_METRICS_H
#define PERFEX_METRICS_H

#include "perfex.h"

#define MAX_METRICS	32
#define METRIC_EVENTS	16	/* of one metric */

struct metric_def;

/* A metric to print.  at: the places of its events among those that are counted. */
struct metric {
	const struct metric_def *def;
	unsigned int at[METRIC_EVENTS];
	const char *modes;		/* ":u", or "" */
};

struct metrics {
	unsigned int nr;
	struct metric metric[MAX_METRICS];
	/* Metrics of -d that could not be counted, with commas; empty: none. */
	char left_out[200];
};

/*
 * Read the tables of metrics: the user's, the machine's, and the one inside perfex.  They
 * remain until metrics_forget().
 * Return: 0, or -1 with *e.
 */
int metrics_load(struct error *e);

/* Forget all tables. */
void metrics_forget(void);

/* Add the definitions in a text.  name: of the file, for messages.  Return: 0, or -1 with *e. */
int metrics_parse(const char *text, const char *name, struct error *e);

/*
 * Choose the metrics of a -M argument, and add their events to those of each kind of CPUs.
 * A metric's events are shared with those of the same name that are there already.
 * Return: 0, or -1 with *e.
 */
int metrics_choose(struct metrics *metrics, const char *spec, struct events *events,
		   const struct vperfctr_info *info, unsigned int nrkinds, struct error *e);

/* Choose as many of the metrics of -d as fit the counters.  level: how often -d was given. */
int metrics_detail(struct metrics *metrics, unsigned int level, struct events *events,
		   const struct vperfctr_info *info, unsigned int nrkinds, struct error *e);

const char *metric_name(const struct metric *metric);
const char *metric_unit(const struct metric *metric);

/*
 * Compute a metric from the counts.  Return: false if there is no value, as it would be a
 * division by zero.
 */
bool metric_value(const struct metric *metric, const struct events *events,
		  const struct sums *sums, double *value);

/*
 * Print the metrics of this processor whose names, units or descriptions have each of these
 * words.  Without `verbose`, those that cannot be counted here are added to *nrhidden instead.
 * Return: how many were printed
 */
unsigned int metrics_list(FILE *f, char *const *words, bool verbose, bool bold,
			  const struct vperfctr_info *info, unsigned int *nrhidden);

#endif /* PERFEX_METRICS_H */
