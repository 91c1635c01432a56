/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files that perfex --sample writes and perfex --report reads.
 *
 * A header, and records until the end of the file.  Numbers have the byte order of the machine
 * that has written the file.  A reader with the other one finds the bytes of the version reversed;
 * sample-swap.c then reverses those of all numbers, and must know each type of record.  All sizes
 * are multiples of 8, text ends with a NUL and is padded with NULs.
 * Readers skip records of unknown type; a change that breaks old readers gets a new version.
 *
 * Records are not in the order of their time: a reader sorts them by tsc.  Among records with the
 * same tsc, those of the file come first that are first in it.
 *
 * An address of a sample belongs to the latest mapping of its process that contains the address
 * and is not younger than the sample.  A process begins with the mappings that its parent had at
 * the fork.  An exec removes all of them.
 */
#ifndef PERFEX_SAMPLES_H
#define PERFEX_SAMPLES_H

#include <stdint.h>

#define SAMPLES_MAGIC		"perfexS\n"
#define SAMPLES_VERSION		2

struct samples_header {
	char magic[8];
	uint32_t version;
	uint32_t size;		/* of the header: the first record is there */
	uint32_t cpu_type;	/* VPERFCTR_CPU_* */
	uint32_t tsc_khz;	/* 0: not known */
	uint32_t flags;		/* SAMPLES_CHAINS and the like */
	uint32_t rate;		/* samples per second of a thread or CPU: periods vary; or 0 */
	char cpu_name[64];
};

#define SAMPLES_CHAINS		0x01	/* samples have chains of calls */
#define SAMPLES_STACKS		0x02	/* samples have registers and stacks */
#define SAMPLES_CPUS		0x04	/* of CPUs, whatever runs there; the idle tasks have number 0 */

enum record_type {
	RECORD_COMMAND = 1,	/* text: the command and its arguments */
	/* 2 to 4: of version 1 */
	RECORD_END = 5,		/* struct record_end; missing if the recording was cut off */
	RECORD_EVENT = 6,	/* struct record_event; before all samples */
	RECORD_SAMPLES = 7,	/* struct record_sample, several, each with its own size */
	RECORD_MAPPING = 8,	/* struct record_mapping */
	RECORD_COMM = 9,	/* struct record_task, text: the thread's name */
	RECORD_EXEC = 10,	/* struct record_task, text: the same after an exec */
	RECORD_FORK = 11,	/* struct record_fork: of a thread or process */
	RECORD_EXIT = 12,	/* struct record_task: of a thread */
	RECORD_CLOCK = 13,	/* struct record_clock; again and again */
	RECORD_FILE = 14,	/* struct record_file; before the mappings of the file */
	RECORD_KERNEL = 15,	/* struct record_kernel: a function that has samples; at the end */
	RECORD_PROCESS = 16,	/* struct record_process: of one that perfex has looked at */
	RECORD_HOST = 17,	/* struct record_host; at the beginning, but not of older files */
};

struct record {
	uint32_t type;
	uint32_t size;		/* including this structure */
};

/* The map of an event that is thread time: period and count are nanoseconds. */
#define EVENT_OF_TIME		UINT32_MAX

/* A counter, or a clock, that makes samples. */
struct record_event {
	uint32_t counter;	/* bit of record_sample.overflow */
	uint32_t map;
	uint64_t period;	/* events from one sample to the next; with a rate: at least */
	uint64_t evntsel;	/* the counter's control, as the module got it */
	char name[];		/* with mode */
};

/* The task of a record, and the time. */
struct record_task {
	uint32_t pid, tid;
	uint64_t tsc;		/* 0: before all samples */
};

struct record_fork {
	struct record_task child;
	uint32_t parent_pid, parent_tid;
};

/* The name of a JIT's file of a process, and its owner. */
struct record_process {
	struct record_task task;
	uint32_t inner_pid;	/* its number in its own namespace */
	uint32_t uid;
};

/* An executable mapping. */
struct record_mapping {
	struct record_task task;
	uint64_t start, end;
	uint64_t offset;	/* of start in the file */
	uint32_t major, minor;	/* the file's device and inode; 0: not known */
	uint64_t inode;
	char path[];		/* as in /proc/PID/maps; may be empty */
};

/*
 * A file that is mapped after this record in the file.  It is as the process had it, whose root
 * directory may be another one.
 */
struct record_file {
	uint32_t major, minor;	/* as those of mappings */
	uint64_t inode;
	uint64_t size;
	uint64_t modified;	/* nanoseconds since 1970 */
	uint64_t code_offset, code_size, code_address;	/* the segment of code, if there is one */
	uint32_t build_id_size;	/* 0: it has none */
	uint8_t build_id[36];
	char path[];
};

struct record_sample {
	uint32_t size;		/* with its chain, registers and stack */
	uint32_t flags;		/* as in struct vperfctr_sample: whether it is of the kernel */
	uint32_t pid, tid;
	uint32_t cpu;
	uint32_t nr;		/* of addresses in the chain */
	uint64_t ip;
	uint64_t tsc;
	uint64_t overflow;	/* as in struct vperfctr_sample: a bit for each event; time: 1 */
	uint64_t dropped;	/* overflows before it without a sample; with a rate: it stands for them */
	/*
	 * Return addresses, the innermost first.  Those in the kernel, which have the top bit,
	 * come before those of user mode.  A 32-bit kernel's have it, too: they are extended by
	 * ones, also in ip and in struct record_kernel.  If the sample is of the kernel, the
	 * first one of user mode is where the thread entered the kernel.
	 */
	uint64_t chain[];
};

/* The machine that has recorded. */
struct record_host {
	uint32_t cpus, online;	/* how many CPUs there can be, and are in use; 0: not known */
	char names[];		/* as in struct utsname, each with its NUL: machine, release, nodename */
};

/* A function of the kernel. */
struct record_kernel {
	uint64_t start, end;
	char name[];		/* and in brackets its module */
};

/*
 * With SAMPLES_STACKS this may follow the chain: from it a reader finds the calls.  Readers
 * that do not know it pass over it by the sample's size.
 */
struct record_user {
	uint32_t mode;		/* VPERFCTR_USER_64 or _32 */
	uint32_t nrregs;
	uint64_t stack_size;	/* bytes, a multiple of 8 */
	uint64_t regs[];	/* by their numbers in DWARF: see VPERFCTR_USER_NONE; then the stack */
};

/* Two clocks at the same time: JITs write times of the second one. */
struct record_clock {
	uint64_t tsc;
	uint64_t monotonic;	/* nanoseconds of CLOCK_MONOTONIC */
};

struct record_end {
	uint64_t samples;
	uint64_t dropped;	/* overflows without a sample, from first to last */
	uint64_t lost;		/* records of mappings and tasks that are missing */
	uint64_t tsc;		/* of all threads or CPUs, in ticks of the TSC */
	uint64_t elapsed;	/* nanoseconds */
	uint64_t nr;		/* of counts */
	uint64_t counts[];	/* all events, sampled or not, in the order of RECORD_EVENT */
};

/*
 * Version 1: one event of one thread.  Records are in the order of their time.  A
 * RECORD_EXEC_V1 removes all mappings before it.
 */
#define SAMPLES_VERSION_1	1

struct samples_header_v1 {
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

/* RECORD_COMMAND is as in version 2, and RECORD_END a struct record_end_v1. */
enum record_type_v1 {
	RECORD_EXEC_V1 = 2,	/* empty: a file was executed */
	RECORD_MAPPING_V1 = 3,	/* struct record_mapping_v1 */
	RECORD_SAMPLES_V1 = 4,	/* struct record_sample_v1 [] */
};

struct record_mapping_v1 {
	uint64_t start, end;
	uint64_t offset;	/* of start in the file */
	char path[];		/* as in /proc/PID/maps; may be empty */
};

struct record_sample_v1 {
	uint64_t ip;
	uint64_t tsc;
	uint32_t overflow;	/* as in struct vperfctr_sample */
	uint32_t dropped;
};

struct record_end_v1 {
	uint64_t samples;
	uint64_t dropped;	/* overflows without a sample, from first to last */
	uint64_t count;		/* all events, sampled or not */
	uint64_t tsc;		/* the thread's time, in ticks of the TSC */
	uint64_t elapsed;	/* nanoseconds */
};

/* Limits that a reader may rely on. */
#define MAX_RECORD		(1U << 24)
#define MAX_CHAIN		127
#define MAX_REGS_OF_SAMPLE	64
#define MAX_STACK_OF_SAMPLE	(1U << 16)

#endif /* PERFEX_SAMPLES_H */
