/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The records of perf_event, as records of a file of perfex --sample: those of perf.data, and those
 * of buffers that the kernel fills now.
 */
#ifndef PERFEX_PERF_RECORDS_H
#define PERFEX_PERF_RECORDS_H

#include "perf-data.h"
#include "profile.h"
#include "recording.h"

struct perf_records {
	struct recording *rec;		/* what is made */
	unsigned int nrevents;
	struct perf_sampled {
		struct perf_event_attr attr;
		uint64_t count;		/* of the samples' periods */
	} events[MAX_SAMPLED];
	struct hash_table ids;		/* the event of each number that samples have */
	struct hash_table counters;	/* that samples read */
	const struct perf_regs *regs;	/* NULL: not known */
	bool stacks;
	/*
	 * Write the file of a mapping that is about to be written, or change the mapping.  id:
	 * PERF_DATA_BUILD_ID_MAX bytes and their number.
	 * Return: the path as it is to be written
	 */
	const char *(*describe)(struct perf_records *c, struct record_mapping *map,
				const uint8_t *id, const char *path);
	/* A mapping of the kernel, or NULL. */
	void (*of_kernel)(struct perf_records *c, uint64_t offset, const char *path);
	void *arg;			/* of the two */
	bool live;			/* the processes may run still */
	uint32_t depth;			/* of calls of user mode that are taken; 0: all */
	uint64_t throttled;		/* times that the kernel has stopped an event until a tick */
	uint64_t samples, dropped, first, last;
	uint64_t unusable;		/* samples of virtual machines, and damaged ones */
	uint64_t lost, lost_samples;	/* by the records of these names */
	union {
		struct record_sample s;
		uint64_t words[(1 << 17) / sizeof(uint64_t)];
	} sample;
};

/* Bytes that are not read yet. */
struct bytes {
	const char *at;
	size_t left;
};

bool bytes_get(struct bytes *b, void *to, size_t len);
bool bytes_get32(struct bytes *b, uint32_t *n);
bool bytes_get64(struct bytes *b, uint64_t *n);
/* Get n words, and forget them. */
bool bytes_skip64(struct bytes *b, uint64_t n);
/* Return: the text that begins here, which ends in what is left; NULL: it does not */
const char *bytes_text(const struct bytes *b);

/* True if the event is time, whose period and count are nanoseconds. */
bool perf_is_time(const struct perf_event_attr *attr);

/* True if the event makes no samples: those of the leader of its group read it. */
bool perf_is_read(const struct perf_event_attr *attr);

/* Return: events from one sample to the next, as in struct record_event. */
uint64_t perf_period_of(const struct perf_event_attr *attr);

/* Samples with this number are those of the event.  Return: 0, or -1: no memory */
int perf_records_add_id(struct perf_records *c, uint64_t number, unsigned int event);

/* Registers of samples are those of this machine, as in struct utsname. */
void perf_records_set_machine(struct perf_records *c, const char *machine);

/* Convert a record.  b: behind its header. */
void perf_records_convert(struct perf_records *c, const struct perf_event_header *h,
			  struct bytes b);

/* Return: samples that are missing. */
uint64_t perf_records_lost(const struct perf_records *c);

void perf_records_free(struct perf_records *c);

#endif /* PERFEX_PERF_RECORDS_H */
