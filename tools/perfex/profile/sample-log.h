/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records and samples that a reader keeps until it has read all of a file of perfex --sample, in
 * some ten bytes for a sample.  They come in the order of the file, and are taken in that of their
 * time.
 */
#ifndef PERFEX_SAMPLE_LOG_H
#define PERFEX_SAMPLE_LOG_H

#include "hash-table.h"
#include "sample-file.h"

struct log_entry {
	uint64_t tsc;
	uint32_t type;		/* enum record_type; of samples there are: */
	struct record_sample sample;
	uint64_t chain[MAX_CHAIN];	/* of which sample.nr are used */
	/* of samples what follows the chain, of others all; not aligned */
	const unsigned char *data;
	size_t len;
	uint32_t description;	/* of a mapping's file; 0: there is none */
	/* RECORD_MAPPING has these, and no data: */
	const char *path;
	struct record_mapping mapping;
};

struct log_run;

/* All zeros: nothing was added. */
struct sample_log {
	unsigned char *bytes;
	size_t used, room;
	struct log_run *runs;	/* of entries in the order of their time */
	size_t nrruns, runs_room;
	struct hash_table tasks;
	struct hash_table paths, files;		/* of mappings */
	uint32_t file;		/* of the last mapping */
	uint64_t tsc;		/* of the last entry */
	uint64_t ip, start;	/* of the last sample and mapping of its run */
};

/* Add a record.  Return: false: no memory */
bool log_add(struct sample_log *l, uint32_t type, uint64_t tsc, const void *data, size_t len,
	     uint32_t description);

/* Add a mapping, which is followed by its path and a NUL. */
bool log_add_mapping(struct sample_log *l, const void *data, uint32_t description);

/* Add a sample, which len bytes have, with its chain and what follows. */
bool log_add_sample(struct sample_log *l, const void *data, size_t len);

/* No more are added: they can be taken. */
void log_end(struct sample_log *l);

/*
 * Take the earliest one; of the same time the first one in the file.  The pointers are valid
 * until the log is freed.
 * Return: false: there are no more
 */
bool log_take(struct sample_log *l, struct log_entry *entry);

void log_free(struct sample_log *l);

#endif /* PERFEX_SAMPLE_LOG_H */
