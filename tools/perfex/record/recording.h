/* SPDX-License-Identifier: GPL-2.0 */
/* The recording of samples: declarations that its files share. */
#ifndef PERFEX_RECORDING_H
#define PERFEX_RECORDING_H

#include "hash-table.h"
#include "perfex.h"
#include "sample-file.h"

/* A file that is being written. */
struct recording {
	FILE *out;
	struct output *output;	/* that of out, if the end is written */
	char *buf;		/* samples that are not in the file yet, as a record */
	size_t used;
	uint64_t nrsamples;
	uint64_t dropped;	/* overflows without a sample, of all rings */
	uint64_t lost;		/* records of tasks and mappings, of all rings */
	uint64_t throttled;	/* times that perf_event stopped an event */
	bool from_proc;		/* the rings have no records: /proc is read instead */
	bool monotonic;		/* times are those of CLOCK_MONOTONIC, and not of the TSC */
	struct hash_table processes;	/* whose mappings are read from /proc */
	struct timespec took_long;	/* when mappings were read that took long */
	double pause;		/* seconds after that without another one */
	struct timespec slow;	/* when the first look at a process took long */
	double slow_pause;	/* seconds after that without one at a new process of this user: */
	uint32_t slow_user;
	uint64_t nrknown;	/* mappings that are kept, of all processes */
	uint64_t next_sweep;	/* at this number, those of processes that have ended are forgotten */
	struct hash_table files;	/* that the recording describes */
	struct timespec clock;	/* when clocks were written last */
	struct hash_table kernel;	/* addresses in the kernel that samples have */
	bool narrow_kernel;	/* it has 32 bits */
};

/* True if this slot of a ring is a sample, and not a record. */
static inline bool is_sample(const struct vperfctr_sample *sample)
{
	return sample->type == VPERFCTR_SAMPLE_OVERFLOW || sample->type == VPERFCTR_SAMPLE_CLOCK;
}

/* ---- sample-records.c ----------------------------------------------------------- */

/* Write the data, then the text, unless it is NULL, as one record. */
void write_record(struct recording *rec, enum record_type type, const void *data, size_t len,
		  const char *text);

/* name: with the mode; counter: its bit in the overflows of samples. */
void write_event(struct recording *rec, unsigned int counter, const struct vperfctr_event *event,
		 const struct vperfctr_ctr *ctr);

/* CLOCK_MONOTONIC in nanoseconds, and the TSC before and after it was read. */
struct clock_reading {
	uint64_t before, monotonic, after;
};

/* Return the times of both clocks by the reading that has taken the least time. */
struct record_clock best_clock(const struct clock_reading *readings, unsigned int nr);

/* Write what both clocks say now, for the times that JITs write. */
void write_clock(struct recording *rec);

/* ---- sample-files.c --------------------------------------------------------------- */

/* Describe the file of a mapping, which is about to be written, unless that is done. */
void write_file(struct recording *rec, const struct record_mapping *map, const char *path);
void forget_files(struct recording *rec);

/* ---- sample-host.c ---------------------------------------------------------------- */

/* Write what this machine is. */
void write_host(struct recording *rec);

/* ---- sample-kernel.c -------------------------------------------------------------- */

bool kernel_has_32_bits(void);

/* Return: an address in the kernel as the file has it: with the top bit, also of 32 bits. */
uint64_t kernel_address(const struct recording *rec, uint64_t address);

/* A sample has this address in the kernel, as the file has it. */
void note_kernel(struct recording *rec, uint64_t address);

/* Write the names of the functions that have such addresses. */
void write_kernel(struct recording *rec);

/* True if the kernel that runs has the symbol at this address: it is where it was then. */
bool kernel_has_symbol(const char *name, uint64_t address);

/* ---- sample-proc.c ---------------------------------------------------------------- */

/*
 * Find the processes of the nr oldest samples in the ring, and write what is new about
 * them: names, parents and mappings.
 * Return: 0, or -1 with *e.
 */
int look_at_processes(struct recording *rec, const struct vperfctr *v, uint64_t nr,
		      struct error *e);

/* Write what is new about all processes that run, for samples of whole CPUs. */
int look_at_all_processes(struct recording *rec, struct error *e);

/* Write the names and the mappings of the process that this thread belongs to. */
int look_at_process(struct recording *rec, pid_t tid, struct error *e);

/* The process has executed a file, and all of its samples before that are written. */
int process_has_executed(struct recording *rec, pid_t pid, struct error *e);

/*
 * The kernel says that the process has executed a file: write the number that it has in its own
 * namespace, and its user.
 */
void note_executed(struct recording *rec, const struct record_task *task);

/* A sample of the process is about to be written. */
void process_has_sample(struct recording *rec, uint32_t pid, uint64_t tsc);

void forget_processes(struct recording *rec);

/* ---- sample-drain.c --------------------------------------------------------------- */

int recording_init(struct recording *rec, FILE *out, struct error *e);
void recording_free(struct recording *rec);

/* Do what is due each time after samples were moved. */
void end_of_drain(struct recording *rec);

/* Move all samples and records from the ring into the file.  Return: 0, or -1 with *e. */
int drain_ring(struct recording *rec, struct vperfctr *v, struct error *e);

/*
 * Do what drain_ring() does when the threads of the ring have ended or are not sampled any more.
 * See that nothing is missing.
 */
int drain_last(struct recording *rec, struct vperfctr *v, struct error *e);

#endif /* PERFEX_RECORDING_H */
