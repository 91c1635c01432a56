/* SPDX-License-Identifier: GPL-2.0 */
/* perfex: count the events of commands and processes.  Shared declarations. */
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

/* Exit statuses of perfex itself: those that env(1) and timeout(1) use. */
#define STATUS_FAILED		125	/* perfex has failed, or was misused */
#define STATUS_CANNOT_RUN	126	/* the command cannot be executed */
#define STATUS_NOT_FOUND	127	/* there is no such command */
#define STATUS_SIGNAL		128	/* + the signal that ended the command */

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Without it, 32-bit perfex opens no file of 2 GiB. */
_Static_assert(sizeof(off_t) == 8, "compile with -D_FILE_OFFSET_BITS=64");

/* ---- errors: one line each, printed by main() -------------------------- */

struct error {
	int status;
	bool busy;		/* others have the counters */
	bool unusable;		/* the module cannot count now, whatever the events are */
	bool of_both;		/* it is no matter of who counts */
	bool beside;		/* others count the same threads: other counters may be free */
	uint64_t used_pmcs, used_fixed;	/* those that the others have, as far as that is known */
	char text[1200];
};

/* Fill in *e (status STATUS_FAILED) and return -1. */
int fail_with(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Explain a failed call of the library to the user; err is its -errno. */
int fail_device(struct error *e, int err);
int fail_control(struct error *e, int err, const struct vperfctr_control *control,
		 const char *proc);
/* Explain a failed call about the counters of CPUs, about a CPU, a ring or a kind. */
int fail_open_cpus(struct error *e, int err);
int fail_control_cpus(struct error *e, int err, const struct vperfctr_control *control,
		      const char *proc);
int fail_bind(struct error *e, int err);
int fail_ring(struct error *e, int err);
int fail_no_cpu(struct error *e);
int fail_no_kind(struct error *e, const char *kind);
/* `able` is a list of the kinds that can count; refusal is that of another. */
int fail_some_kinds(struct error *e, const char *able, const char *example,
		    const struct error *refusal);
int fail_kernel_mode(struct error *e, const char *event);
int fail_exec(struct error *e, int err, const char *command);
int fail_read(struct error *e, int err, bool perf);

/* Explain a failed call about a thread of another process; proc is where its files are. */
int fail_open_thread(struct error *e, int err);
int fail_trace(struct error *e, int err, pid_t tid, const char *proc);
/* The rights that ptrace needs are missing. */
int fail_attach_rights(struct error *e, pid_t tid, const char *proc);

#define PROC		"/proc"

/*
 * Others count the target, and leave no room for what was asked for: err is that of ATTACH.  Name
 * the counters that they have, which are known unless err is -EMLINK, and who they may be.
 */
struct target;
int fail_beside(struct error *e, int err, const struct target *target,
		const struct vperfctr_attached *attached, const char *proc);

/* The counters that others have were left out, for the reason in *beside, and the rest refuses. */
int fail_rest(struct error *e, const struct error *beside);

/* perf_event has refused the events, and the module for the reason in *module, if it has text. */
int fail_both(struct error *e, const struct error *module, const char *why);

/* The number in a file; 0 if there is none. */
int read_number(const char *file);

/* ---- events --------------------------------------------------------------- */

struct events {
	unsigned int nr;
	struct vperfctr_event ev[VPERFCTR_MAX_CTRS];
	unsigned int group[VPERFCTR_MAX_CTRS];	/* events of a group are counted in one run */
	bool user_by_default;	/* kernel mode is left out, as it may not be counted */
	bool together;		/* all of them in one run: metrics are computed from them */
	unsigned int asked;	/* the first ones: the others are those of metrics */
};

/* Add the events of a -e argument, separated by commas. */
int events_parse(struct events *events, const char *spec,
		 const struct vperfctr_info *info, struct error *e);

struct refusals;
/*
 * Do what events_parse() does, but note in *refused the events that exist and cannot be counted
 * here.
 */
int events_parse_some(struct events *events, const char *spec, const struct vperfctr_info *info,
		      struct refusals *refused, struct error *e);

/* Events whose names give no mode are counted in this one, 'u' or 'k'; 0: in both. */
void events_only_in(char mode);

/* Return: the list without braces and spaces, allocated; NULL: *e */
char *event_spec_plain(const char *spec, struct error *e);

/* Find perf's name of an event, or a name in other case.  Return: false: there is none here */
bool event_of_perf(struct vperfctr_event *event, const char *name,
		   const struct vperfctr_info *info);

/*
 * Add the generic events that all of these kinds of CPUs have, as many as fit: events[k]
 * are those of info[k].  software: add those of the kernel, too.
 */
void events_default(struct events *events, const struct vperfctr_info *info,
		    unsigned int nrkinds, bool software);

/* Add perf stat's software events, unless the module counts none. */
void events_software(struct events *events, const struct vperfctr_info *info,
		     unsigned int nrkinds);

/* Say why the library refused this name, what the name is, and what to count instead. */
int fail_event(struct error *e, int err, const char *name, const struct vperfctr_info *info,
	       const struct vperfctr_why *why);

/* Fails if a command of perf is called that perfex does not have, and no program is named so. */
int check_subcommand(struct error *e, char **command);
/* The same for those of perf stat. */
int check_stat_command(struct error *e, char **command);

bool is_generic(const char *name);

/* ---- places of counts ---------------------------------------------------------- */

/* Times of a run that perfex measures itself: bits of an event's `soft` that the kernel has not. */
#define TIME_ELAPSED		0x20000000U
#define TIME_USER		0x40000000U
#define TIME_SYSTEM		0x80000000U
#define TIMES_OF_RUN			(TIME_ELAPSED | TIME_USER | TIME_SYSTEM)

/* Software counters by the bit of VPERFCTR_SOFT_*, page faults of both sorts, and these times. */
#define SOFT_PAGE_FAULTS	VPERFCTR_NR_SOFT
#define SOFT_ELAPSED		(VPERFCTR_NR_SOFT + 1)
#define SOFT_USER		(VPERFCTR_NR_SOFT + 2)
#define SOFT_SYSTEM		(VPERFCTR_NR_SOFT + 3)
#define NR_SOFT			(VPERFCTR_NR_SOFT + 4)

/* Return: the place of event i in sums->pmc: software events are not in there. */
unsigned int event_pmc(const struct events *events, unsigned int i);

/* Return: the place of a software event in sums->soft. */
unsigned int event_soft(const struct vperfctr_event *event);

/* True if it is a time that perfex measures, in nanoseconds. */
static inline bool is_time(const struct vperfctr_event *event)
{
	return event->soft & TIMES_OF_RUN;
}

/* True if it is a time that only a command has which was run to its end. */
static inline bool is_time_of_command(const struct vperfctr_event *event)
{
	return event->soft & (TIME_USER | TIME_SYSTEM);
}

/* Return: the i-th generic name, or NULL. */
const char *events_generic_name(unsigned int i);

/* How raw codes of events are written. */
struct raw_events {
	uint32_t cpu_type;
	const char *form;	/* "rUUEE" */
	const char *help;	/* lines for perfex list --help */
};

const struct raw_events *raw_events_of(const struct vperfctr_info *info);

/* Describe the i-th time that perfex measures.  Return: its description, or NULL. */
const char *events_time(unsigned int i, struct vperfctr_event *event);

/* ---- counters ---------------------------------------------------------------- */

/*
 * Choose a counter for each event on each kind of CPUs: ctr[k][i] is for events[k].ev[i],
 * by info[k].
 */
int assign_counters(const struct events *events, const struct vperfctr_info *info,
		    unsigned int nrkinds, struct vperfctr_ctr ctr[][VPERFCTR_MAX_CTRS],
		    struct error *e);

/*
 * Divide the events into groups, each of which one run can count, and choose counters as
 * assign_counters() does.  An event has the same group on all kinds.
 * Return: the number of groups, or -1 with *e.
 */
int assign_groups(struct events *events, const struct vperfctr_info *info,
		  unsigned int nrkinds, struct vperfctr_ctr ctr[][VPERFCTR_MAX_CTRS],
		  struct error *e);

/* ---- kinds of CPUs ----------------------------------------------------------- */

/* More than any module has. */
#define MAX_KINDS	8

/*
 * The kinds to count on: one, or kinds 0 to nr - 1.  Several have the same counters: those
 * that all of them have.
 */
struct kinds {
	unsigned int nr;
	struct vperfctr_info info[MAX_KINDS];
};

/* Return: the name of the kind, or NULL. */
const char *kind_name(const struct vperfctr_info *info);

/* True if this kind is asked for, by number or name; NULL asks for any. */
bool kind_is(const struct vperfctr_info *info, const char *asked);

struct targets;
struct metrics;

/*
 * Call try() for the kind that is asked for.  Otherwise call it for all kinds together.  If
 * it refuses them, and the targets, or perfex if there are none, may run on one kind only,
 * call it for that.
 * Return: what try() returned, or -1 with *e.
 */
typedef int kind_fn(const struct kinds *kinds, void *arg, struct error *e);
int kind_choose(const char *asked, const struct targets *targets, struct kinds *kinds,
		kind_fn *try, void *arg, struct error *e);

/*
 * Let the calling thread run on no other CPUs than those of the kind, or of any kind.
 * Return: 0 or -errno; -EINVAL: it may run on none of them.
 */
int kind_bind(uint32_t kind);

/* Print the CPUs of a kind: "0-7". */
void print_kind_cpus(FILE *f, uint32_t kind);

/* ---- counts ---------------------------------------------------------------------- */

/* As struct vperfctr_sums, with room for all counters. */
struct sums {
	uint64_t tsc;
	uint64_t pmc[VPERFCTR_MAX_CTRS];
	/* after what the kernel writes */
	uint64_t soft[NR_SOFT];
};

/* Return: the count of event i. */
static inline uint64_t event_count(const struct events *events, const struct sums *sums,
				   unsigned int i)
{
	const struct vperfctr_event *event = &events->ev[i];

	return event->soft ? sums->soft[event_soft(event)] : sums->pmc[event_pmc(events, i)];
}

/* The counts of one state, or of several together. */
struct counts {
	struct sums own;
	struct sums children;	/* of threads that inherited, and have ended */
	uint64_t missed;	/* threads not, or not wholly, in the children's sums */
	uint32_t status;	/* VPERFCTR_STATUS_*; of several: of any */
	bool without_tsc;	/* there is none: only the status says whether counting began */
	bool replaced;		/* the program has counted something else: no sums */
	bool cut_off;		/* descendants run on, and are not counted any more */
};

void sums_add(struct sums *to, const struct sums *s);
void sums_subtract(struct sums *from, const struct sums *s);
void counts_add(struct counts *to, const struct counts *c);

/* Read a state that was given this control.  Return: 0 or -errno. */
int counts_read(struct vperfctr *v, const struct vperfctr_control *control, struct counts *c);

/* Read a set: the children's sums are those of all of its threads. */
int counts_read_set(struct vperfctr *v, const struct vperfctr_control *control, struct counts *c);

/*
 * Read a state whose owner has ended.  Descendants that still run are counted until now, and
 * no further.
 */
int counts_finish(struct vperfctr *v, const struct vperfctr_control *control, struct counts *c);

/* True if there is a count to show. */
bool counts_any(const struct counts *c);

/*
 * Check whether the counts are complete.  Return: 0, or -1 with *e: why the counts are
 * incomplete.
 */
int counts_check(const struct counts *c, struct error *e);

/* True if children are in the sums. */
static inline bool inherits(const struct vperfctr_control *control)
{
	return control->flags & VPERFCTR_CONTROL_INHERIT;
}

/* ---- what is read ----------------------------------------------------------------- */

/*
 * Open a file that the user has named, or a pipe, but not one that another user has made.
 * Return: NULL: *e and errno
 */
FILE *open_input(const char *name, struct error *e);

/* ---- what comes out of a run --------------------------------------------------- */

struct part {
	char name[64];
	const char *field;	/* of -j: "thread", "cpu"; the label is its value */
	char label[40];		/* of -x and -j, as perf has it: COMMAND-TID, CPU0, S0 */
	unsigned int nrcpus;	/* that were counted; of threads 0 */
	struct sums sums;
};

/* Parts that the counts of CPUs are printed in. */
enum split { SPLIT_NOT, SPLIT_CPU, SPLIT_CORE, SPLIT_SOCKET, SPLIT_KIND };

/* The effect on the counts of a signal that came in the last of several runs. */
enum cut_short {
	NOT_CUT_SHORT,
	CUT_RUN_LEFT_OUT,	/* the mean is that of those before */
	CUT_RUN_IS_ALL,		/* it was the first: its counts are no mean */
};

struct result {
	int status;		/* to exit with */
	bool signalled;		/* a signal ended the command */
	enum cut_short cut_short;
	char scope[64];		/* "its first thread" */
	double elapsed;		/* seconds */
	bool counted;		/* total is valid */
	bool complete;		/* total is complete; else *e says why not */
	struct counts counts;
	struct sums total;
	double cpu_time;	/* seconds that total should hold; 0: not known */
	double user, system;	/* seconds of the command in each mode; both 0: not known */
	char note[160];		/* about the counts; empty: none */
	struct part *parts;	/* of total; allocated */
	unsigned int nrparts;
};

/*
 * Fill in what r's counts determine.
 * Return: 0, or -1 with *e if they are incomplete.
 */
int result_finish(struct result *r, struct error *e);
struct part *result_add_part(struct result *r, const struct sums *sums);
/* Put the times of the run among the sums. */
void result_add_times(struct result *r);
void result_free(struct result *r);

static inline double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

static inline uint64_t nanoseconds(double seconds)
{
	return (uint64_t)(seconds * 1e9 + 0.5);
}

/* Mean and deviation of a number in several runs. */
struct spread {
	unsigned int nr;
	double mean, squares;	/* sum of squared differences from the mean */
};

struct series {
	unsigned int nr;	/* runs for each event */
	struct spread pmc[VPERFCTR_MAX_CTRS], soft[NR_SOFT], tsc, elapsed, cpu_time;
};

/* Add the sums of a run, which are those of r or of a part of it. */
void series_add(struct series *s, const struct sums *sums, const struct result *r);

/* Return: the standard deviation of the mean, in percent of the mean. */
double spread_percent(const struct spread *s);

/* Add all runs of s to `to`. */
void spread_merge(struct spread *to, const struct spread *s);

struct gate;

/*
 * fn is called each `ms` milliseconds and at the end, with the sums until then.  parts: those
 * of CPUs, or NULL.
 */
struct interval {
	unsigned int ms;	/* 0: never */
	struct gate *gate;	/* to look at meanwhile; NULL: none */
	/* The parts that counting has begun with, of threads.  Return: 0, or -1 with *e. */
	int (*begin)(void *arg, unsigned int nrparts, struct error *e);
	void (*fn)(void *arg, double at, const struct sums *sums, const struct part *parts);
	void *arg;
};

/*
 * Read the sums of an interval, and call fn with them and with the time at which they were read.
 * start: of the counting.
 * Return: 0, or the error of the read
 */
int interval_end(const struct interval *interval, const struct timespec *start,
		 int (*read)(void *arg, struct sums *sums, const struct part **parts), void *arg);

/* Return: the end of the first interval that is not over yet, if `next` is that of another one. */
double interval_next(const struct interval *interval, const struct timespec *start, double next);

/* ---- signals ------------------------------------------------------------------- */

/*
 * Note how perfex found signals.  SIGXFSZ is ignored from then on.
 * Context: may be called again.
 */
void signals_begin(void);

/*
 * perfex is about to count: the end of a reader of what it prints must not end it before it has
 * printed.
 */
void signals_count(void);

/* Call fn, in a handler, before a signal ends perfex while it does not count. */
void signals_before_end(void (*fn)(void));

/*
 * Block the signals that would end perfex, and if there is a command all that it could get, and
 * put them into *set.  If fn is not NULL, it handles them.  SIGCHLD gets its default.
 */
void signals_catch(sigset_t *set, bool command,
		   void (*fn)(int sig, siginfo_t *info, void *context));
void signals_unblock(void);
/* For a command: signals are as perfex found them. */
void signals_restore(void);

struct signal {
	int number, code;
	pid_t from;
	union sigval value;
};

/*
 * perfex has got a signal: let the command have it, if it is meant for that.  command: 0: perfex
 * counts without one; -1: it has ended, and another one may follow.
 * Return: true if the signal asks perfex to end: without a command each one does.
 */
bool signals_pass_on(pid_t command, const struct signal *s);

/* Do what signals_pass_on() does, for a signal that was blocked and read. */
struct signalfd_siginfo;
bool signals_take(pid_t command, const struct signalfd_siginfo *info);

/* Forget a signal that is blocked and pending. */
void signals_forget(int sig);

/*
 * The status of perfex is that of a command.  If a signal by which people and supervisors end
 * programs has ended it, end perfex by the same one: after Ctrl-C a shell ends its loop only then.
 * Context: all has been written.
 */
void signals_end(int wstatus);

/*
 * Each counted thread, and for perf_event each event on each CPU, needs a descriptor: allow as many
 * as the hard limit does.  A command gets the limit that perfex has found.
 */
void files_raise(void);
void files_restore(void);

struct output;

/*
 * Samples go to the output: if that is standard output, a command must not print among them.
 * The child that becomes the command lets it print to standard error then.
 */
void stdout_reserve(const struct output *out);
void stdout_divert(void);

/*
 * Start a command that has no counters of its own.  Signals, and the limit of open files, are as
 * perfex found them.
 * Return: its process, or -1 with *e.
 */
pid_t command_start(char **argv, struct error *e);

/* ---- the user of a command ------------------------------------------------------- */

/*
 * Let commands run as this user; NULL: the one who has called sudo, pkexec or doas.
 * Return: 0, or -1 with *e.
 */
int user_choose(const char *name, struct error *e);

/*
 * Become that user, if there is one.
 * Context: a child that executes the command next.
 * Return: 0 or -errno, which fail_user() explains.
 */
int user_become(void);
int fail_user(struct error *e, int err);

/* ---- run ----------------------------------------------------------------------- */

/* In the place of such a list: count what the kernel tells of a process that was waited for. */
#define RUN_BY_USAGE	""

/*
 * Run the command and count it: by the module or, if perf is not NULL, by perf_event.  perf
 * is a list of the control's events, and of task-clock; or RUN_BY_USAGE.
 * Return: 0, or -1 with *e if it did not run.  If it ran and could not be counted,
 * r->complete is false, and *e says why.
 */
int run_command(char **argv, const struct vperfctr_control *control, const char *perf,
		const struct interval *interval, struct result *r, struct error *e);

/* True if a signal came that ends perfex.  The command has got it, too. */
bool run_told_to_end(void);

/* Return: the exit status for a wait status. */
int run_status(int wstatus);

/* Return: the same status, of the last one that a signal ended, as waitpid() has it; else 0. */
int run_killed(int status);

/* Return: the CPU time of all threads and waited-for children, in seconds. */
double run_cpu_time(const struct rusage *usage);

/*
 * Do what run_command() does, in steps.  run_start() makes a child with counters, and with a
 * ring if `ring` is not NULL, that is about to execute the command.  With a ring it waits
 * for run_go().  run_await_exec() returns when the child has executed the command
 * or has failed to; `sock` is readable then.
 */
struct running {
	char **argv;
	const struct vperfctr_control *control;
	const char *perf;
	pid_t pid;
	int sock;		/* -1: the child has executed the command */
	int fd;			/* of the child's state; the caller closes it */
	uint64_t map_size;	/* of the ring */
	struct timespec start;
	struct rusage before;	/* with perf: what was the child's before it executed the command */
	bool left;		/* with perf: see left_by_perf() */
};

int run_start(struct running *run, struct vperfctr_ring *ring, struct error *e);
void run_go(const struct running *run);
int run_await_exec(struct running *run, struct error *e);
int run_await_end(const struct running *run, int *wstatus, struct rusage *usage);
/*
 * True if perf_event certainly does not count a command from its exec on.  Context: the child that
 * will execute it.
 */
bool left_by_perf(const char *command);
/*
 * Check by the times whether perf_event has counted to the end.  Return: 0, or -1 with *e if
 * perf_event has left the command, or what it started.
 */
int run_check_perf(const struct running *run, const struct sums *sums, const struct rusage *usage,
		   struct error *e);

/* ---- sampling --------------------------------------------------------------------- */

/* The events to sample. */
struct sample_spec {
	unsigned int nr;	/* 0: one event, which perfex chooses */
	struct sample_event {
		char name[256];
		uint64_t period;	/* 0: perfex chooses it */
	} event[VPERFCTR_MAX_CTRS];
	unsigned int depth;	/* return addresses in each sample; 0: none */
	unsigned int stack;	/* bytes of stack in each sample; 0: none, nor registers */
	unsigned int rate;	/* samples per second of a thread; 0: the periods are fixed */
};

/* Parse the argument of --sample. */
int sample_parse(struct sample_spec *spec, const char *arg, struct error *e);

/* ---- attach -------------------------------------------------------------------- */

#define MAX_TARGETS	256

struct target {
	pid_t id;
	bool process;		/* all of its threads; else one thread */
};

struct targets {
	unsigned int nr;
	struct target target[MAX_TARGETS];
	const struct vperfctr_cpu_mask *cpus;	/* CPUs instead of threads; or NULL */
	uint64_t used_pmcs, used_fixed;	/* counters that others have who count these threads */
	unsigned int tries;		/* how often counters were left out because of others */
};

/*
 * Leave out the counters that others have, as a failed attempt to count has found out.
 * Return: whether a choice without them is worth another attempt.
 */
bool targets_leave_out(struct targets *targets, const struct error *e);

#define NO_TIMEOUT	(-1.0)

struct perf_count;

/*
 * Let the scheduler run this thread soon when samples wake it, if it can.  Processes that it
 * starts from then on inherit that: the command must have been started.
 */
void wake_early(void);

/* Each target has a ring, with samples of all that it starts. */
struct sampler {
	struct vperfctr_ring ring;	/* of the module */
	/* Return: 0, or -1 with *e.  drain() is called again and again; last: at the end. */
	int (*start)(void *arg, const struct target *target, struct vperfctr *v, struct error *e);
	int (*drain)(void *arg, struct vperfctr *v, bool last, struct error *e);
	/* Return: a descriptor that is ready when there are many samples. */
	int (*fd)(void *arg, const struct vperfctr *v);
	void *arg;
};

/*
 * Count running threads until they end, the command (if *argv) ends, the timeout
 * is over, or a signal ends perfex.  per_thread: with a part for each thread.  perf: NULL: the
 * module counts.  sampler: NULL: there are no samples.
 * Return: as run_command().
 */
int attach_and_count(const struct targets *targets, char **argv, double timeout,
		     bool per_thread, const struct vperfctr_control *control,
		     const struct perf_count *perf, const struct interval *interval,
		     struct sampler *sampler, struct result *r, struct error *e);

/* A thread that perfex traces, or has traced. */
struct tracee {
	pid_t tid;
	bool stopped;
	int signal;		/* signal that stopped it, not yet delivered; or 0 */
};

/*
 * Begin to trace the thread, without stopping it.  Return: 0 or -errno; -ESRCH: the thread has
 * ended.
 */
int trace_seize(struct tracee *t);
void trace_interrupt(const struct tracee *t);
/*
 * Wait until the thread stops.  Return: also -EINTR: a (blocked) signal in `set` came;
 * -ETIMEDOUT: it does not stop
 */
int trace_await(struct tracee *t, const sigset_t *set);
bool trace_is_stopped(const struct tracee *t);
void trace_release(struct tracee *t);

/*
 * Return: the process that traces this thread, or 0.  *ended: the thread has ended,
 * even if it was not waited for yet, or the other threads of its process run on.
 */
pid_t trace_look_up(pid_t tid, const char *proc, bool *ended);

/* ---- output -------------------------------------------------------------------- */

enum style { STYLE_TEXT, STYLE_CSV, STYLE_JSON };

/* The elapsed seconds of runs that are in a mean. */
struct run_times {
	double *seconds;		/* allocated; NULL: not asked for */
	unsigned int nr;
};

/* Settings of all output. */
struct printing {
	FILE *f;
	struct output *output;		/* f is that of a file; NULL: it is standard output or error */
	enum style style;
	const char *separator;		/* of STYLE_CSV */
	const char *what;		/* is counted: "process 123" */
	const struct events *events;
	const struct refusals *refused;	/* NULL: none */
	const struct metrics *metrics;	/* NULL: none */
	const struct vperfctr_info *info;
	unsigned int nrgroups;		/* different runs; 0, 1: all events in one run */
	/* The result is the mean of these, or NULL.  Those of CPUs' parts follow. */
	const struct series *series;
	struct run_times times;		/* that are printed one by one */
	bool metric_only;		/* a line of ratios and metrics, and no counts */
	bool intervals;
	bool verbose;			/* print the parts, too */
	bool per_thread;		/* print the counts of each thread */
	bool cpus;			/* they are counts of CPUs */
	enum split split;		/* print the parts, and no sums of all */
	unsigned int nrparts;		/* of CPUs, or of threads in intervals */
	bool summary;			/* with -x, the sums have a field "summary" */
	bool command;			/* a command runs */
	int write_error;		/* errno of writing to the file, or 0 */
};

void print_result(const struct printing *p, const struct result *r);

/* True if the events give a column of metric_only. */
bool print_has_columns(const struct printing *p);

/* Print on standard error what a table says below its counts. */
void print_remarks(const struct result *r);

/* Print the counts of an interval that ends `at` seconds after the start. */
void print_interval_head(const struct printing *p);
void print_interval(const struct printing *p, double at, const struct sums *sums,
		    const struct part *parts);

/* The line before those of print_control() that take the place of others. */
#define OTHER_CONTROL	"perfex: others have some of these counters, so perfex uses\n"

void print_control(FILE *f, const struct events *events, const struct kinds *kinds,
		   struct vperfctr_ctr ctr[][VPERFCTR_MAX_CTRS]);

/* True if a line can be written over; true if, besides, NO_COLOR is not set. */
bool is_terminal(FILE *f);
bool has_colours(FILE *f);

/* A line on the terminal that says how long perfex has counted, while nothing is printed. */
struct waiting {
	bool on, shown;
	double next;		/* seconds after the start */
};

/* quiet: nothing else is printed meanwhile, by perfex or a command. */
void waiting_begin(struct waiting *w, bool quiet);
/* timeout: negative: none */
void waiting_show(struct waiting *w, double now, double timeout);
void waiting_end(struct waiting *w);

/*
 * Replace what is not UTF-8, and control characters: text that other programs chose must
 * not command the terminal, nor look there like another text.
 */
void replace_controls(char *text);

/*
 * Copy as much of a text as there is room for, as replace_controls() leaves it.
 * Return: buf
 */
char *plain_text(char *buf, size_t size, const char *text);

/* Print text between separators, where a reader would take these in it for its end. */
void print_clean(FILE *f, const char *sep, const char *text);

/* Return: the length of the character that begins there; 0: replace_controls() replaces it */
size_t text_length(const char *text);

/* "1,234,567"; buf has THOUSANDS_LEN characters. */
#define THOUSANDS_LEN	32
char *thousands(char *buf, uint64_t n);
/* Print commas from now on, or none. */
void thousands_use(bool commas);

/* Return: the end of a word behind this number. */
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#define MAX_SPECS	64

/* The part of the kernel that counts a command. */
enum backend { BACKEND_UNSAID, BACKEND_AUTO, BACKEND_MODULE, BACKEND_PERF };

/* ---- what is asked for: the options of commands, by concern ------------------------- */

/* Events of -e. */
struct event_list {
	const char *spec[MAX_SPECS];
	unsigned int nr;
};

/* Names that there are: get() returns NULL after the last one. */
struct names {
	const char *(*get)(const struct names *names, size_t i);
	const void *arg;
};

/* True if the name is one of a list with commas. */
bool is_listed(const char *list, const char *name);

/* True if -e names this, or there is no -e. */
bool wants_event(const struct event_list *events, const char *name);

/*
 * Check that each event of -e is one of these.  where: such as "'FILE' has no event"
 * Return: 0, or -1 with *e
 */
int check_events(const struct event_list *events, const struct names *names, const char *where,
		 struct error *e);

/* The events, threads or CPUs to count or sample, how long, and by which part of the kernel. */
struct count_options {
	struct event_list events;
	struct targets targets;
	bool all_cpus;			/* -a */
	const char *cpu_list;		/* of -C; NULL: none */
	const char *kind;		/* of CPUs; NULL: any */
	enum split split;
	bool no_inherit;
	bool as_user;			/* --user */
	const char *user;		/* its argument; NULL: none */
	double timeout;
	enum backend backend;
	char **command;
};

/* Only of counting: stat and top. */
struct stat_options {
	const char *metrics[MAX_SPECS];	/* of -M */
	unsigned int nrmetrics;
	unsigned int detail;		/* how often -d was given */
	bool per_thread, top;
	const char *prometheus;		/* a file; NULL: none */
	int delay;			/* milliseconds; negative: until a command; 0: none */
	const char *control;		/* where commands come from; NULL: none */
	double wait;			/* seconds for counters that are busy; 0: none */
	unsigned int repeat;		/* 0: not said */
	const char *pre, *post;		/* commands to run before and after each run; or NULL */
	bool sync;			/* write all files to disks before each run */
	bool runs_auto;			/* as many runs as the events need */
	bool strict;			/* one refused event refuses all */
	char only_mode;			/* of events without one: 'u', 'k'; 0: both */
	bool big_numbers;		/* commas in numbers are asked for */
	unsigned int interval;		/* milliseconds; 0: none */
	bool metric_only;		/* ratios and metrics, and no counts */
	bool table;			/* of the elapsed times of all runs */
	bool summary;			/* sums after the intervals */
	bool plain_summary;		/* with -x, without a field that says so */
};

/* How output looks, and where it goes. */
struct showing {
	enum style style;
	const char *separator;		/* of STYLE_CSV */
	bool verbose, quiet;
	const char *file;		/* NULL: not said */
	int log_fd;			/* -1: not said */
	bool append;			/* to the file */
	bool samples;			/* they are written, and not text */
	bool keep_old;			/* the old file of samples, under another name */
};

/* Which samples of a file are shown, and how. */
struct reporting {
	const char *file;
	struct event_list events;	/* none: all */
	struct targets targets;		/* none: all */
	struct showing show;
	const char *sort;		/* keys, with commas; NULL: not said */
	bool children;			/* with what functions have called */
	bool callers, callees;		/* also print these trees */
	const char *comm;		/* names of threads, with commas; NULL: all */
	const char *export;		/* a format; NULL: text */
	const char *annotate;		/* a function; NULL: tables */
	const char *symfs;		/* a directory with other files; NULL: none */
	double percent_limit;		/* rows below it are left out; 0: none */
	bool no_inline;			/* inlined code counts as the function that it is in */
	bool stdio;			/* text, on a terminal too */
	char keys[256];			/* of `sort`, in perfex's words */
};

/* Files to read, as plot and merge do. */
struct file_list {
	const char **name;		/* allocated; NULL ends them */
	unsigned int nr;
};

/* ---- counting -------------------------------------------------------------------- */

/* Translate a backend's name; what: where it comes from.  Return: 0, or -1 with *e. */
int backend_parse(enum backend *backend, const char *name, const char *what, struct error *e);
/* Return in *backend what the options or the environment say; the option is stronger. */
int backend_choose(enum backend *backend, const struct count_options *c, struct error *e);
/* True if perf_event can do what is asked for: it knows no kinds of CPUs. */
bool backend_perf_can(const struct count_options *c);

/* True if CPUs are counted, and not threads. */
static inline bool counts_cpus(const struct count_options *c)
{
	return c->all_cpus || c->cpu_list;
}

/*
 * Replace %h, %p and %r in a name by the host, the process and the rank.  The caller frees
 * *name in both cases.
 * Return: 0, or -1 with *e.
 */
int file_name(char **name, const char *pattern, struct error *e);

/* Find the file that execvp() executes.  Return: false: it finds none, or not this way */
bool find_program(char *path, size_t size, const char *name);

/*
 * Count what is asked for, and print to `out`; NULL: print to standard error.
 * Return: the exit status, or -1 with *e.
 */
int measure(const struct count_options *c, const struct stat_options *o, const struct showing *show,
	    struct output *out, struct error *e);

/*
 * Sample what is asked for: write the samples to `out`, and a line about them to standard
 * error.
 * Return: the exit status, or -1 with *e.
 */
int sample(const struct count_options *c, const struct sample_spec *spec,
	   const struct showing *show, struct output *out, struct error *e);

/* Print the samples in such a file, or export them. */
int report_samples(FILE *out, const struct reporting *o, struct error *e);
/* Do what report_samples() does without the limits of work.h, for tests. */
int report_here(FILE *out, const struct reporting *o, struct error *e);
/*
 * Check the arguments of --report's options.  Return: 0, or -1 with *e if the options of --report
 * have wrong arguments.
 */
int report_check(const struct reporting *r, struct error *e);

/* Draw the intervals in a file.  Return: 0, or -1 with *e. */
int plot_counts(FILE *out, const struct file_list *files, const struct event_list *events,
		const struct showing *show, struct error *e);
/* True if there is a picture of the sort that the name ends with. */
bool plot_can_write(const char *name);

/* Print the sums and means of the counts in several files.  Return: 0, or -1 with *e. */
int merge_counts(FILE *out, const struct file_list *files, const struct event_list *events,
		 const struct showing *show, struct error *e);

/* Print what differs between two files of samples, or of counts.  Return: 0, or -1 with *e. */
int diff_files(FILE *out, const char *const *files, const struct reporting *o, struct error *e);
/* Do what diff_files() does without the limits of work.h, for tests. */
int diff_here(FILE *out, const char *const *files, const struct reporting *o, struct error *e);

/* Print "0-3,8", or "none". */
void print_bits(FILE *f, uint64_t mask);

/*
 * Print the events whose names or descriptions have each of these words, and their
 * counters; all: also those that no counter of this processor can count.
 */
int list_events(FILE *f, char *const *words, bool all, const char *kind, struct error *e);

bool event_has_words(const struct vperfctr_event *event, const char *description,
		     char *const *words);

/* True if the processor can count an event that has this word. */
bool list_has_word(const char *word, const struct vperfctr_info *info);

/*
 * Print what is wrong on this machine.  root is where the directories of the system are: "".
 * Return: 0: nothing; 1: something; -1 with *e.
 */
int doctor(FILE *f, bool json, const char *root, struct error *e);

/*
 * Check the counters of this machine, and print a line about each check.  names: NULL: all
 * that disturb nothing; otherwise these, with commas.  report: a file for all that a reader
 * elsewhere needs, or NULL.
 * Return: 0: none failed; 1: at least one; -1 with *e.
 */
int self_test(const char *names, FILE *out, enum style style, const char *report,
	      struct error *e);
/*
 * Check the names of the checks that are asked for.  Return: 0, or -1 with *e if one of the names
 * is not that of a check.
 */
int self_test_parse(const char *names, struct error *e);
void self_test_list(FILE *f);
/* Print what the kernel tells of the machine, also without the module. */
void self_test_facts(FILE *f);

/* Print all that the module reports. */
int info_print(FILE *f, struct error *e);

/* perfex info --holders: who has the counters, by the file of the module in `proc`. */
int holders_print(FILE *f, const char *proc, struct error *e);

#endif /* PERFEX_H */
