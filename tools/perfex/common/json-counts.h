/* SPDX-License-Identifier: GPL-2.0 */
/* Files of counts that perfex -j, or perf stat -j, has written. */
#ifndef PERFEX_JSON_COUNTS_H
#define PERFEX_JSON_COUNTS_H

#include "hash-table.h"
#include "perfex.h"

/* A line of such a file: a count or a metric.  Equal texts of a file are the same. */
struct count_record {
	double at;		/* end of its interval in seconds; negative: there is none */
	const char *part;		/* "cpu 3", "S0, system.slice"; "": all together */
	const char *name;		/* of the event or the metric */
	bool metric;		/* a metric of -M: value is the metric's */
	bool counted;		/* there is a value */
	const char *instead;	/* of a value, such as "<not supported>" */
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

/*
 * Check that each event of -e is in a table of names, which are text.  where: as there
 * Return: 0, or -1 with *e
 */
int records_check_events(const struct hash_table *t, const struct event_list *events,
			 const char *where, struct error *e);
void records_free(struct records *records);

/* A count of a file: its texts are the same if they are equal. */
struct record_key {
	const char *name, *part;
	uint64_t metric;
};

/* An empty table for records_check_once(), for hash_table_free(). */
#define RECORDS_ONCE	{ .size = sizeof(struct record_key), .key = sizeof(struct record_key) }

/*
 * Check that the file has this event or metric, outside intervals, once for the same part.
 * Return: 0, or -1 with *e
 */
int records_check_once(struct hash_table *seen, const struct count_record *r, const char *name,
		       struct error *e);

#endif /* PERFEX_JSON_COUNTS_H */
