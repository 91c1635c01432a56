/* SPDX-License-Identifier: GPL-2.0 */
/* Tables of --report, as text and JSON. */
#ifndef PERFEX_REPORT_H
#define PERFEX_REPORT_H

#include "profile.h"

enum report_key {
	KEY_COMM, KEY_PID, KEY_TID, KEY_CPU, KEY_FILE, KEY_SYMBOL, KEY_LINE, KEY_EVENT, NR_KEYS
};

struct report_keys {
	enum report_key key[NR_KEYS];
	unsigned int nr;
};

/* Samples with the same key are one row; what is no key of the table is 0. */
struct row_key {
	uint32_t event, comm, pid, tid, cpu;
	uint32_t file, function, source, line;
	uint32_t unused;
	uint64_t address;	/* without a function */
};

struct row {
	struct row_key key;
	uint64_t samples, weight;
	uint64_t all_samples, all_weight;	/* with those in functions that it called */
	uint32_t seen;				/* the last group in its sum */
	char *label[NR_KEYS];
};

/* Rows of an event, or of all if event is nrevents.  The first row is number 1. */
int rows_make(const struct profile *p, struct hash_table *t, const struct report_keys *keys,
	      unsigned int event, bool children, struct error *e);
void rows_free(struct hash_table *t);

/* Return: how many of the first rows have this weight or more. */
uint32_t rows_above(const struct hash_table *t, uint32_t nr, double weight);

static inline const struct row *row_of(const struct hash_table *t, uint32_t row)
{
	return &((struct row *)t->items)[row];
}

/* Parse "comm,symbol".  Return: 0 or -1 with *e. */
int report_parse_keys(struct report_keys *keys, const char *text, struct error *e);
const char *report_key_name(enum report_key key);
bool report_has_key(const struct report_keys *keys, enum report_key key);

int report_json(FILE *f, struct profile *p, const struct reporting *o, struct error *e);

#endif /* PERFEX_REPORT_H */
