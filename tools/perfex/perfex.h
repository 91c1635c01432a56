/* SPDX-License-Identifier: GPL-2.0 */
/* perfex: count the events of commands and processes.  What its files share. */
#ifndef PERFEX_H
#define PERFEX_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>
#include <vperfctr-event.h>

/* Exit statuses that are perfex's own; those of env(1) and timeout(1). */
#define STATUS_FAILED		125	/* perfex has failed, or was misused */
#define STATUS_CANNOT_RUN	126	/* the command cannot be executed */
#define STATUS_NOT_FOUND	127	/* there is no such command */
#define STATUS_SIGNAL		128	/* + the signal that ended the command */

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* ---- errors: one line each, printed by main() -------------------------- */

struct error {
	int status;
	char text[1200];
};

/* Fill in *e (status STATUS_FAILED) and return -1. */
int fail_with(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What a failed call of the library means to a user; err is its -errno. */
int fail_device(struct error *e, int err);
int fail_access(struct error *e, const char *device);
int fail_control(struct error *e, int err, const struct vperfctr_control *control,
		 const char *proc);
int fail_ring(struct error *e, int err);
int fail_no_kind(struct error *e, const char *kind);
int fail_kernel_mode(struct error *e, const char *event);
int fail_exec(struct error *e, int err, const char *command);

/* The same for another process's thread; the files are to be found in proc. */
int fail_open_thread(struct error *e, int err, pid_t tid);
int fail_trace(struct error *e, int err, pid_t tid, const char *proc);

#define PROC		"/proc"

/* ---- who holds the counters ------------------------------------------------ */

#define MAX_HOLDERS	3	/* that are named */

struct holder {
	pid_t pid;
	char comm[32];
};

struct holders {
	unsigned int nr;
	struct holder holder[MAX_HOLDERS];
	bool hidden;		/* there are processes that the caller may not look at */
};

/* The processes that have a descriptor of this link: "anon_inode:[perf_event]". */
void find_holders(struct holders *h, const char *proc, const char *link);
/* "perf (process 12), top (process 34) and 2 more" */
void describe_holders(char *buf, size_t size, const struct holders *h);

/* Name the holder of the counters, and say how to free them. */
int fail_busy(struct error *e, const char *proc);

/* The same of a thread that has vperfctr counters already. */
int fail_counted_already(struct error *e, pid_t tid, const char *proc);

/* The number in a file; 0 if there is none. */
int read_number(const char *file);

/* ---- events --------------------------------------------------------------- */

struct events {
	unsigned int nr;
	struct vperfctr_event ev[VPERFCTR_MAX_CTRS];
	unsigned int group[VPERFCTR_MAX_CTRS];	/* those that are counted in one run */
	bool user_by_default;	/* kernel mode was left out, as it may not be counted */
};

/* Add the events of a -e argument, separated by commas. */
int events_parse(struct events *events, const char *spec,
		 const struct vperfctr_info *info, struct error *e);

/* Add those that this processor has of the usual events, as many as fit. */
void events_default(struct events *events, const struct vperfctr_info *info);

/* Say why the library refused this name, what the name is, and what to count instead. */
int fail_event(struct error *e, int err, const char *name, const struct vperfctr_info *info,
	       const struct vperfctr_why *why);

/* Fails if the command is called as one of perf's subcommands. */
int check_subcommand(struct error *e, char **command);

bool is_generic(const char *name);

/* The generic names, one after the other; NULL: no more. */
const char *events_generic_name(unsigned int i);

/* ---- counters ---------------------------------------------------------------- */

/* A counter for each event: ctr[i] is for events->ev[i]. */
int assign_counters(const struct events *events, const struct vperfctr_info *info,
		    struct vperfctr_ctr *ctr, struct error *e);

/*
 * The same in several runs: ctr[i] is for events->ev[i] in the run of its group.
 * Returns the number of groups, or -1 with *e.
 */
int assign_groups(struct events *events, const struct vperfctr_info *info,
		  struct vperfctr_ctr *ctr, struct error *e);

/* ---- kinds of CPUs ----------------------------------------------------------- */

/* What it is called, or NULL. */
const char *kind_name(const struct vperfctr_info *info);

/* Is this the one that is asked for, by number or name?  NULL: any is. */
bool kind_is(const struct vperfctr_info *info, const char *asked);

/*
 * Call try() for the kind that is asked for, or for each of them on which the
 * thread `tid` (0: perfex) may run, until it returns 0 or more, which is the result.
 * Else it returns -1 with *e: why the first of them will not do.
 */
typedef int kind_fn(const struct vperfctr_info *info, void *arg, struct error *e);
int kind_choose(const char *asked, pid_t tid, struct vperfctr_info *info, kind_fn *try, void *arg,
		struct error *e);

/* The CPUs of a kind: "0-7". */
void print_kind_cpus(FILE *f, uint32_t kind);

/* ---- counts ---------------------------------------------------------------------- */

/* As struct vperfctr_sums, with room for all. */
struct sums {
	uint64_t tsc;
	uint64_t pmc[VPERFCTR_MAX_CTRS];
};

/* What one state holds, or several together. */
struct counts {
	struct sums own;
	struct sums children;	/* those that inherited, and have ended */
	uint64_t missed;	/* threads not, or not wholly, in the children's sums */
	uint32_t status;	/* VPERFCTR_STATUS_*; of several: of any */
	bool replaced;		/* somebody has counted something else: no sums */
	bool cut_off;		/* some that were started run on, and are not counted any more */
};

void sums_add(struct sums *to, const struct sums *s);
void counts_add(struct counts *to, const struct counts *c);

/* What a state that was given this control holds.  Returns 0 or -errno. */
int counts_read(struct vperfctr *v, const struct vperfctr_control *control, struct counts *c);

/*
 * The same of a state whose owner has ended.  What it has started and runs still is
 * counted until now, and no further.
 */
int counts_finish(struct vperfctr *v, const struct vperfctr_control *control, struct counts *c);

/* Is anything there to be shown? */
bool counts_any(const struct counts *c);

/* 0, or -1 with *e saying why the counts are not all that was asked for. */
int counts_check(const struct counts *c, struct error *e);

/* Children are in the sums. */
static inline bool inherits(const struct vperfctr_control *control)
{
	return control->flags & VPERFCTR_CONTROL_INHERIT;
}

/* ---- what comes out of a run --------------------------------------------------- */

struct part {
	char name[64];
	char thread[40];	/* COMMAND-TID, as perf has it */
	struct sums sums;
};

/* A signal came in the last of several runs. */
enum cut_short {
	NOT_CUT_SHORT,
	CUT_RUN_LEFT_OUT,	/* the mean is that of those before */
	CUT_RUN_IS_ALL,		/* it was the first: its counts are no mean */
};

struct result {
	int status;		/* to exit with */
	bool signalled;		/* by a signal the command ended */
	enum cut_short cut_short;
	char scope[64];		/* "its first thread" */
	double elapsed;		/* seconds */
	bool counted;		/* there is something in total */
	bool complete;		/* and that is all; else *e says why not */
	struct counts counts;
	struct sums total;
	double cpu_time;	/* seconds that should be in total; 0: not known */
	struct part *parts;	/* of total; allocated */
	unsigned int nrparts;
};

/*
 * Fill in what r's counts determine.  Returns -1 with *e filled in if they are
 * not complete.
 */
int result_finish(struct result *r, struct error *e);
struct part *result_add_part(struct result *r, const struct sums *sums);
void result_free(struct result *r);

double seconds_since(const struct timespec *start);

/* Mean and deviation of what several runs gave. */
struct spread {
	unsigned int nr;
	double mean, squares;	/* of differences from the mean, added */
};

struct series {
	unsigned int nr;	/* runs for each event */
	struct spread pmc[VPERFCTR_MAX_CTRS], tsc, elapsed, cpu_time;
};

void series_add(struct series *s, const struct result *r);

/* The standard deviation of the mean, in percent of it. */
double spread_percent(const struct spread *s);

/* As if all had been added to one of them. */
void spread_merge(struct spread *to, const struct spread *s);

/* Called each `ms` milliseconds, and at the end, with the sums until then. */
struct interval {
	unsigned int ms;	/* 0: never */
	void (*fn)(void *arg, double at, const struct sums *sums);
	void *arg;
};

/* ---- signals ------------------------------------------------------------------- */

#define NR_END_SIGNALS	4

/* Signals as perfex found them: what a command is to see. */
struct signal_state {
	bool known;
	struct sigaction old[NR_END_SIGNALS];
	struct sigaction old_chld;
	sigset_t old_mask;
};

/*
 * Signals that are to end perfex: those that were not ignored are blocked, are
 * in *set, and are handled if fn is not NULL.  SIGCHLD gets its default.  With
 * the same state it may be done again.
 */
void signals_catch(struct signal_state *s, sigset_t *set,
		   void (*fn)(int sig, siginfo_t *info, void *context));
void signals_unblock(const struct signal_state *s);
void signals_restore(const struct signal_state *s);

/* ---- run ----------------------------------------------------------------------- */

/*
 * Run the command and count it.  Fails (status: what to exit with) if it did not
 * run.  If it ran and could not be counted, r->complete is false, *e says why.
 */
int run_command(char **argv, const struct vperfctr_control *control,
		const struct interval *interval, struct result *r, struct error *e);

/* Has one of the signals come that are to end perfex?  The command has got it, too. */
bool run_told_to_end(void);

/* The exit status that stands for a wait status. */
int run_status(int wstatus);

/* CPU time of all threads and waited-for children, in seconds. */
double run_cpu_time(const struct rusage *usage);

/*
 * The same in steps.  After run_start() there is a child with counters (and, if
 * `ring` is not NULL, a ring) that is about to execute the command; with a ring it
 * waits for run_go().  run_await_exec() returns when it has done so, or has failed
 * to; before, `sock` can be polled for that.
 */
struct running {
	char **argv;
	const struct vperfctr_control *control;
	pid_t pid;
	int sock;		/* -1: it has executed the command */
	int fd;			/* of its state; the caller's to close */
	uint64_t map_size;	/* of the ring */
	struct timespec start;
};

int run_start(struct running *run, struct vperfctr_ring *ring, struct error *e);
void run_go(const struct running *run);
int run_await_exec(struct running *run, struct error *e);
int run_await_end(const struct running *run, int *wstatus, struct rusage *usage);

/* ---- sampling --------------------------------------------------------------------- */

/* What --sample asks for. */
struct sample_spec {
	const char *kind;	/* of CPUs; NULL: not said */
	char event[256];
	uint64_t period;
};

int sample_parse(struct sample_spec *spec, const char *arg, struct error *e);

/*
 * Run the command, and write samples of its first thread to `out` (which has this
 * name), and a line about them to standard error.  Returns what to exit with, or
 * -1 with *e filled in.
 */
int sample_command(const struct sample_spec *spec, char **argv, FILE *out, const char *name,
		   bool verbose, struct error *e);

/* Print what is in such a file; all: not only the hottest. */
int report_samples(FILE *out, const char *name, bool all, struct error *e);

/* A file that is mapped; NULL: it is none, or has no symbols. */
struct module;

struct module *module_open(const char *path);
void module_close(struct module *m);

/* What is at this offset of the file.  Strings are the module's; NULL: not known. */
struct place {
	uint64_t address;	/* as the file has it */
	const char *function;
	const char *source;
	int line;
};

void module_find(struct module *m, uint64_t offset, struct place *place);

/* ---- attach -------------------------------------------------------------------- */

#define MAX_TARGETS	256

struct target {
	pid_t id;
	bool process;		/* all of its threads; else one thread */
};

struct targets {
	unsigned int nr;
	struct target target[MAX_TARGETS];
};

#define NO_TIMEOUT	(-1.0)

/*
 * Count running threads until they end, the command (if *argv) ends, the
 * timeout is over, or perfex is to end.  Results as those of run().
 */
int attach_and_count(const struct targets *targets, char **argv, double timeout,
		     const struct vperfctr_control *control, const struct interval *interval,
		     struct result *r, struct error *e);

/* A thread that is, or was, under our ptrace. */
struct tracee {
	pid_t tid;
	bool stopped;
	int signal;		/* that stopped it and is yet to be delivered, or 0 */
};

/* Those that can fail return 0 or -errno; -ESRCH: the thread has ended. */
int trace_seize(struct tracee *t);
void trace_interrupt(const struct tracee *t);
/* -EINTR: one of the (blocked) signals in `set` came; -ETIMEDOUT: it does not stop */
int trace_await(struct tracee *t, const sigset_t *set);
bool trace_is_stopped(const struct tracee *t);
void trace_release(struct tracee *t);

/*
 * Who traces this thread, or 0, and whether it has ended: also if nobody has
 * waited for it yet, or its process's other threads have not.
 */
pid_t trace_look_up(pid_t tid, const char *proc, bool *ended);

/* ---- output -------------------------------------------------------------------- */

enum style { STYLE_TEXT, STYLE_CSV, STYLE_JSON };

/* What is the same in all that is printed. */
struct printing {
	FILE *f;
	const char *file;		/* its name, if it is that of -o; NULL: standard error */
	enum style style;
	const char *separator;		/* of STYLE_CSV */
	const char *what;		/* "process 123" */
	const struct events *events;
	const struct vperfctr_info *info;
	unsigned int nrgroups;		/* different runs; 0, 1: all were counted in one */
	const struct series *series;	/* the result is the mean of these; or NULL */
	bool verbose;			/* the parts, too */
	bool per_thread;		/* a thread's counts apart from each other's */
	int write_error;		/* errno of writing to the file, or 0 */
};

void print_result(const struct printing *p, const struct result *r);

/* What there is to be said about counts that are not in a table. */
void print_remarks(const struct result *r);

/* What was counted from one moment to another, which is `at` seconds after the start. */
void print_interval_head(const struct printing *p);
void print_interval(const struct printing *p, double at, const struct sums *sums);
void print_control(FILE *f, const struct events *events, const struct vperfctr_ctr *ctr);

/* One where a line can be written over; and where nobody has said that it should be plain. */
bool is_terminal(FILE *f);
bool has_colours(FILE *f);

/* Who gave the text does not rule the terminal: nothing but UTF-8 without controls is left. */
void replace_controls(char *text);

/* "1,234,567"; buf has THOUSANDS_LEN characters. */
#define THOUSANDS_LEN	32
char *thousands(char *buf, uint64_t n);

/* ---- counting -------------------------------------------------------------------- */

#define MAX_SPECS	64

struct options {
	const char *specs[MAX_SPECS];
	unsigned int nrspecs;
	const char *output;
	bool info, list, verbose, no_inherit, per_thread;
	struct targets targets;
	double timeout;
	enum style style;
	const char *separator;
	unsigned int repeat;		/* 0: not said */
	bool runs_auto;			/* as many runs as the events need */
	const char *kind;		/* of CPUs; NULL: not said */
	unsigned int interval;		/* milliseconds; 0: none */
	const char *report;
	bool sampling;
	struct sample_spec sample;
	char **command;
};

/* 0: do what they say; 1: done, exit successfully; -1: *e */
int options_parse(int argc, char **argv, struct options *o, struct error *e);

/* The file of -o; NULL: *e. */
FILE *output_open(const struct options *o, struct error *e);

/* 0: all has been written; else errno. */
int output_error(FILE *f);

/* Do what these say; out: NULL without -o.  Returns what to exit with, or -1 with *e filled in. */
int measure(const struct options *o, FILE *out, struct error *e);

/* "0-3,8", or "none" */
void print_bits(FILE *f, uint64_t mask);

/*
 * The events whose names or descriptions have each of these words, and the counters that
 * take them; all: also those that no counter of this processor takes.
 */
int list_events(FILE *f, char *const *words, bool all, const char *kind, struct error *e);

/* True if the processor can count an event that has this word. */
bool list_has_word(const char *word, const struct vperfctr_info *info);

/* Everything that the module tells. */
int info_print(FILE *f, struct error *e);

#endif /* PERFEX_H */
