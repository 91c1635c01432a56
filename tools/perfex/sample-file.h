/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files that perfex --sample writes and perfex --report reads.
 *
 * A header, and records until the end of the file.  Numbers are little-endian,
 * all sizes are multiples of 8, text ends with a NUL and is padded with NULs.
 * Readers skip records of unknown type; a change that breaks old readers gets a new version.
 *
 * Samples are in the order in which they were taken.  The address of a sample belongs
 * to the latest MAPPING record before it that contains the address.  There must be no
 * EXEC record between the two.
 */
#ifndef PERFEX_SAMPLES_H
#define PERFEX_SAMPLES_H

#include <stdint.h>

#define SAMPLES_MAGIC		"perfexS\n"
#define SAMPLES_VERSION		1

struct samples_header {
	char magic[8];
	uint32_t version;
	uint32_t size;		/* of the header: the first record is there */
	uint64_t period;	/* events from one sample to the next */
	uint64_t evntsel;	/* the counter's control, as the module got it */
	uint32_t map;
	uint32_t cpu_type;	/* VPERFCTR_CPU_* */
	uint32_t tsc_khz;	/* 0: not known */
	uint32_t reserved;
	char event[264];	/* its name, with mode */
	char cpu_name[64];
};

enum record_type {
	RECORD_COMMAND = 1,	/* text: the command and its arguments */
	RECORD_EXEC = 2,	/* empty: a file was executed, older mappings are gone */
	RECORD_MAPPING = 3,	/* struct record_mapping */
	RECORD_SAMPLES = 4,	/* struct record_sample [] */
	RECORD_END = 5,		/* struct record_end; missing if the recording was cut off */
};

struct record {
	uint32_t type;
	uint32_t size;		/* including this structure */
};

/* An executable mapping. */
struct record_mapping {
	uint64_t start, end;
	uint64_t offset;	/* of start in the file */
	char path[];		/* as in /proc/PID/maps; may be empty */
};

struct record_sample {
	uint64_t ip;
	uint64_t tsc;
	uint32_t overflow;	/* as in struct vperfctr_sample */
	uint32_t dropped;
};

struct record_end {
	uint64_t samples;
	uint64_t dropped;	/* overflows without a sample, from first to last */
	uint64_t count;		/* all events, sampled or not */
	uint64_t tsc;		/* the thread's time, in TSC cycles */
	uint64_t elapsed;	/* nanoseconds */
};

/* Limits that a reader may rely on. */
#define MAX_RECORD		(1U << 24)
#define MAX_SAMPLES_AT_ONCE	4096

#endif /* PERFEX_SAMPLES_H */
