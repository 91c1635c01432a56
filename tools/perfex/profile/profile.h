/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A profile: the samples of a file of perfex --sample, with the names of their places.
 * Reports and exports read it, and nothing else.
 *
 * Things have numbers.  Number 0 is that of no thing.
 */
#ifndef PERFEX_PROFILE_H
#define PERFEX_PROFILE_H

#include "hash-table.h"
#include "perfex.h"
#include "symbols.h"

/* Frames of a location, and of a path of calls. */
#define MAX_FRAMES	32
#define MAX_PATH	(128 * MAX_FRAMES)

/* More than any CPU has counters: the bits of an overflow. */
#define MAX_SAMPLED	64

struct profile_event {
	char *name;		/* with mode */
	unsigned int counter;
	uint64_t period;	/* 0: not known */
	bool time;		/* period and count are nanoseconds */
	uint64_t evntsel;	/* the counter's control, as the module got it */
	uint64_t samples, weight;
	uint64_t count;		/* all events, if the profile is complete */
};

/* The unit of a period or a count, for texts: before the name. */
static inline const char *profile_unit(const struct profile_event *event)
{
	return event->time ? "ns " : "";
}

enum { FILE_NONE, FILE_UNKNOWN, FILE_KERNEL };

/* A mapped file, or another name in /proc/PID/maps. */
struct profile_file {
	uint32_t path;		/* a string */
	uint32_t pid;		/* of code without a file: the process that made it; else 0 */
	uint32_t description;	/* which of the files that had this path; 0: the recording is old */
	uint32_t unused;
	/* after the key */
	uint64_t size;		/* of the largest mapping */
	uint32_t dump;		/* of a JIT: number in profile.dumps + 1; else 0 */
};

/* A file that is not there, or is another one: calls that stacks have could not be found in it. */
struct missing_file {
	char *path;
	char *why;		/* NULL: it is there, and is no reason */
};

#define MAX_MISSING	16

/* An address of code. */
struct profile_location {
	uint64_t offset;	/* in the file; without a file: the address */
	uint32_t file;
	uint32_t unused;
	/* after the key */
	uint64_t address;	/* as in the file's symbols */
	uint32_t frame, nrframes;	/* in frame_list: the innermost first */
};

/* A function, or a line of it. */
struct profile_frame {
	uint32_t file;
	uint32_t function, source;	/* strings; 0: not known */
	uint32_t line;
	uint32_t inlined;	/* 1: into the next frame of the location */
	uint32_t unused;
	uint64_t address;	/* without a function: that of the location */
};

/* A path of calls: a location, and the path to its caller. */
struct profile_stack {
	uint32_t parent;	/* 0: none */
	uint32_t location;
};

/* A function of the kernel, whose location has its start; see FILE_KERNEL. */
struct kernel_function {
	uint64_t start, end;
	uint32_t name;		/* a string */
	uint32_t unused;
};

/* A process that perfex has looked at while it was recorded. */
struct profile_process {
	uint32_t pid;
	uint32_t inner_pid;	/* its number in its own namespace */
	uint32_t uid;
};

struct profile_thread {
	uint32_t pid, tid;
	uint32_t comm;		/* a string: its name when the samples were taken */
	uint32_t program;	/* differs after exec, and for another process of this number */
};

/* A sample; without their times, all with the same key are one. */
struct profile_sample {
	uint32_t event;		/* index */
	uint32_t thread, stack, cpu;
	/* after the key */
	uint64_t nr;		/* of samples */
	uint64_t weight;	/* overflows for which they stand */
	uint64_t tsc;		/* of the first one */
};

/* Functions of a process, as its JIT has written them. */
struct profile_jit {
	uint32_t pid;
	/* after the key */
	const char *why;		/* it is left out; or NULL */
	struct jit_symbols *symbols;	/* NULL: there are none */
};

/* A file of a JIT that a process had mapped. */
struct profile_dump {
	uint32_t file;
	struct jit_dump *dump;	/* NULL: it could not be read: */
	char *reason;
};

/* The machine that has recorded; NULL and 0: not known. */
struct profile_host {
	char *machine, *release, *name;
	uint32_t cpus, online;
};

struct profile {
	const char *name;	/* of the file */
	char *command;		/* NULL: not known */
	char cpu_name[64];
	struct profile_host host;
	uint32_t tsc_khz;	/* 0: not known */
	bool first_thread;	/* no others were sampled */
	bool chains;		/* samples have chains of calls */
	bool cpus;		/* samples of CPUs, and not of threads */
	uint32_t rate;		/* samples per second of a thread or CPU; 0: periods do not vary */

	struct profile_event events[MAX_SAMPLED];
	unsigned int nrevents;

	struct hash_table strings;	/* of char *: see profile_string() */
	struct hash_table files, locations, frames, stacks, threads;
	struct hash_table descriptions;	/* of files */
	struct hash_table processes;	/* not all: of struct profile_process */
	char **reasons;		/* why a file has no module, or not all of its information, or NULL */
	char **stripped;	/* build ID of a file without symbols, or NULL */
	struct hash_table jits;		/* processes whose JIT's functions were looked for */
	struct profile_dump *dumps;
	uint32_t nrdumps;
	struct clock_pair *clocks;	/* sorted */
	size_t nrclocks;
	struct kernel_function *kernel;	/* sorted when all are known */
	size_t nrkernel;
	struct module **modules;	/* of files; NULL: no symbols, or not looked for */
	uint32_t *frame_list;	/* numbers of frames */
	size_t nrlisted;

	struct details details;	/* of places; what is not asked for may be there nevertheless */
	bool times;		/* each sample has its time: */
	struct profile_sample *samples;		/* in the order of the first ones' time */
	size_t nrsamples, room;
	struct hash_table same;	/* samples without their times, while the file is read */
	uint64_t taken;		/* all samples */
	size_t nrsystem;	/* where user mode entered the kernel, in which they were */

	struct hash_table missing;	/* struct missing_file; MAX_MISSING at most */
	uint64_t dropped;	/* overflows without a sample */
	uint64_t lost;		/* records of mappings and tasks that are missing, or: */
	bool of_perf;		/* the file is perf.data: samples lost, of virtual machines, or damaged */
	bool complete;		/* the recording was not cut off: */
	uint64_t tsc, elapsed;
};

/*
 * Read a file, and find the names.  times: keep the time of each sample.
 * Return: 0 or -1 with *e; *p may be freed in any case.
 */
int profile_read(struct profile *p, const char *name, bool times, const struct details *details,
		 struct error *e);
void profile_free(struct profile *p);

/* ---- the records of a file, for what a profile has no place for ---------------------- */

/* A record of a task or a mapping, or one sample: see sample-file.h. */
struct profile_record {
	uint32_t type;
	uint64_t tsc;
	const char *data;
	size_t len;
	uint64_t weight;	/* of a sample: overflows that it stands for */
	const struct file_description *file;	/* of a mapping; NULL: not known */
};

struct reader;

/*
 * Read a file, but find no names.  *p has what is said once, such as events.  Samples have calls,
 * and no registers and stacks.
 * Return: NULL with *e
 */
struct reader *records_open(struct profile *p, const char *name, struct error *e);
void records_close(struct reader *in);

/* Find record number i in the order of their time.  Return: false: there are fewer. */
bool records_get(const struct reader *in, size_t i, struct profile_record *r);

/* ---- making one: the number, or 0 if there is no memory ----------------------------- */

uint32_t profile_string(struct profile *p, const char *text);

/*
 * Bytes of names, with a NUL.  An attacker's can have any length, and is printed once for each
 * sample and each call.
 */
#define MAX_NAME	1024	/* of functions, sources and threads */
#define MAX_PATH_NAME	4096	/* of files */
#define MAX_TREE_NAME	512	/* in trees, whose paths have all names */

/* Return: the text, or its beginning and a hash of all of it, so that two names remain two. */
const char *short_name(const char *text, char *buf, size_t size);

/* Do what profile_string() does, for a text of others. */
uint32_t profile_clean_string(struct profile *p, const char *text);
uint32_t profile_file(struct profile *p, const char *path, uint32_t pid, uint32_t description);
uint32_t profile_description(struct profile *p, const struct file_description *file);
uint32_t profile_location(struct profile *p, uint32_t file, uint64_t offset);
uint32_t profile_thread(struct profile *p, uint32_t pid, uint32_t tid, uint32_t comm,
			uint32_t program);

/* Add a function.  Return: false: no memory */
bool profile_kernel_function(struct profile *p, uint64_t start, uint64_t end, const char *name);
void profile_sort_kernel(struct profile *p);

/* The location of an address in the kernel: all that has no name is one. */
uint32_t profile_kernel_location(struct profile *p, uint64_t address);

/*
 * Add a call to a call path.
 * *stack: the caller's; it becomes the number of the longer path
 * Return: false: no memory
 */
bool profile_call(struct profile *p, uint32_t *stack, uint32_t location);
bool profile_add_sample(struct profile *p, const struct profile_sample *sample);
/* No more samples come. */
void profile_end_samples(struct profile *p);

/* Find the names of all locations. */
int profile_resolve(struct profile *p, struct error *e);

/* Find the names of a place in a file that has samples.  Return: its location; 0: no memory */
uint32_t profile_named_location(struct profile *p, uint32_t file, uint64_t offset);

/* Name the locations from this one to the last, which were added since.  Return: false: no memory */
bool profile_name_locations(struct profile *p, uint32_t from);

int fail_memory(struct error *e);

/* The description of a file, which may say nothing.  Valid until the next one is made. */
const struct file_description *description_of(const struct profile *p,
					      const struct profile_file *file);

/* ---- reading one -------------------------------------------------------------------- */

static inline const char *string_of(const struct profile *p, uint32_t string)
{
	return ((char **)p->strings.items)[string];
}

static inline struct profile_file *file_of(const struct profile *p, uint32_t file)
{
	return &((struct profile_file *)p->files.items)[file];
}

static inline struct profile_location *location_of(const struct profile *p, uint32_t location)
{
	return &((struct profile_location *)p->locations.items)[location];
}

static inline const struct profile_frame *frame_of(const struct profile *p, uint32_t frame)
{
	return &((struct profile_frame *)p->frames.items)[frame];
}

static inline const struct profile_stack *stack_of(const struct profile *p, uint32_t stack)
{
	return &((struct profile_stack *)p->stacks.items)[stack];
}

static inline const struct profile_thread *thread_of(const struct profile *p, uint32_t thread)
{
	return &((struct profile_thread *)p->threads.items)[thread];
}

/* Samples of the same event, thread, CPU and path of calls. */
struct profile_group {
	uint32_t event, thread, cpu, stack;
	uint64_t samples, weight;
};

/* Fill *t with groups; cpus: else all CPUs are number 0.  The caller frees the table. */
int profile_group(const struct profile *p, struct hash_table *t, bool cpus, struct error *e);

/* Write the numbers of frames, the innermost first.  Return: how many, at most MAX_PATH */
unsigned int profile_path(const struct profile *p, uint32_t stack, uint32_t *frames);

/* Check that the file has each event of -e.  Return: 0, or -1 with *e */
int profile_check_events(const struct profile *p, const struct reporting *o, struct error *e);

/* Forget the samples that the options do not ask for. */
int profile_filter(struct profile *p, const struct reporting *o, struct error *e);

/* Let inlined code be that of the function that it is in. */
void profile_join_inlined(struct profile *p);

/* Write "[name]": how reports name a file. */
void profile_file_label(const struct profile *p, uint32_t file, char *buf, size_t size);

/* Say on standard error in which files calls could not be found, which exports do not show. */
void report_missing(const struct profile *p, const struct reporting *o);

/* Say there that a profile is not complete, where what is printed has no place for that. */
void report_cut_off(bool complete, const char *name, const struct reporting *o);

/* ---- exports, of the first event but for pprof's, which has all ------------------------ */

int export_folded(FILE *f, struct profile *p, const struct reporting *o, struct error *e);
int export_svg(FILE *f, struct profile *p, const struct reporting *o, struct error *e);
int export_pprof(FILE *f, struct profile *p, const struct reporting *o, struct error *e);
/* The samples of all events. */
int export_script(FILE *f, struct profile *p, const struct reporting *o, struct error *e);
int export_firefox(FILE *f, struct profile *p, const struct reporting *o, struct error *e);

/* perf.data has all events and all samples, and no profile is made of these. */
#define EXPORT_PERF_DATA	"perf"
int export_perf_data(FILE *f, const struct reporting *o, struct error *e);

#endif /* PERFEX_PROFILE_H */
