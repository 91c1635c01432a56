/* SPDX-License-Identifier: GPL-2.0 */
/* Files of counts that perfex -j, or perf stat -j, has written. */
#ifndef PERFEX_JSON_COUNTS_H
#define PERFEX_JSON_COUNTS_H

#include "hash-table.h"
#include "perfex.h"

/* A line of such a file: a count or a metric.  Equal texts of a file are the same. */
struct count_record {
	double at;		/* end of its interval in seconds; negative: there is none */
	const char *part;		/* "cpu 3", "S0"; "": all together */
	const char *name;		/* of the event or the metric */
	bool metric;		/* a metric of -M: value is the metric's */
	bool counted;		/* there is a value */
	double value;
	bool whole;		/* value is this number */
	uint64_t count;
	const char *unit;		/* of the value */
	bool has_ratio;		/* of a count: what perfex prints beside it */
	double ratio;
	const char *ratio_unit;
};

struct records {
	unsigned int nr, room;
	struct count_record *record;
	struct hash_table texts;
	size_t text_size;
};

/* Counts and percent from here on are printed with an exponent.  Such a count is wrong, but may come. */
#define WIDE_COUNT	1e18
#define WIDE_PERCENT	1e8

/* Read a file; "-" is standard input.  Return: 0, or -1 with *e.  Free it in both cases. */
int records_read(struct records *records, const char *name, struct error *e);

/* True if -e of plot and merge names this, or there is no -e. */
bool records_wanted(const char *name, const struct event_list *events);
void records_free(struct records *records);

#endif /* PERFEX_JSON_COUNTS_H */
