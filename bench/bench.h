/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The measuring programs of "make bench" and "make bench-native".  Two sides,
 * vperfctr and perf_event, do the same work; the figures show the difference.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/types.h>

typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

#define PAGE		4096
#define MAX_N		4	/* most counters in a group */
#define REPEATS		201	/* repetitions of each measurement */

/* X(n) for each measured number of counters. */
#define FOR_EACH_N(X)	X(1) X(2) X(4)

/* ---- measure.c ----------------------------------------------------------- */

__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);

/* True in the emulator, whose time is that of instructions. */
extern bool emulated;
/* The unit of figures: "instructions", or "ns". */
extern const char *unit;

void measure_init(bool is_emulated);

/* The emulator's statistics; zero on hardware, and where the emulator has none. */
enum { STAT_WRMSR, STAT_RDMSR, STAT_RDPMC, STAT_WRMSR_ANY, STAT_CR4, STAT_PMI };

#ifdef __riscv
#include "arch-riscv.h"
#else
#include "arch-x86.h"
#endif

/* Repeated measurements of one operation. */
struct meter {
	unsigned int n;
	unsigned int batch;	/* operations in each measurement; 0: one */
	u64 t0, wrmsr0;
	u64 time[REPEATS], wrmsr[REPEATS];
};

static inline void meter_begin(struct meter *m)
{
	m->wrmsr0 = statistic(STAT_WRMSR);
	m->t0 = now();
}

static inline void meter_end(struct meter *m)
{
	u64 t1 = now();

	m->time[m->n] = t1 - m->t0;
	m->wrmsr[m->n] = statistic(STAT_WRMSR) - m->wrmsr0;
	m->n++;
}

u64 median(u64 *values, unsigned int n);
/* The median of all times but the first, less the result of an empty measurement. */
u64 meter_median(struct meter *m);

/* Convert a difference of the clock's values that no meter measured to a figure. */
double figure(double ticks);

/* Print a line of the results.  The name may be a format for n. */
void emit(const char *unit, double value, const char *name, unsigned int n);
/* Print that there is no value, and why. */
void emit_none(const char *unit, const char *because, const char *name, unsigned int n);
/*
 * Print the median without the first, less the result of an empty measurement.  With
 * EMIT_FIRST print the first too (NAME.first), with EMIT_LEAST the least but the first
 * (NAME.least), with EMIT_WRMSR the median number of WRMSRs (NAME.wrmsr).
 */
#define EMIT_FIRST	1
#define EMIT_WRMSR	2
#define EMIT_LEAST	4
void emit_meter(struct meter *m, unsigned int what, const char *name, unsigned int n);

/* Print a message on standard error, for the user who waits. */
__attribute__((format(printf, 1, 2))) void progress(const char *format, ...);

/* ---- surroundings --------------------------------------------------------- */

void pin(int cpu);
/* Switch SCHED_FIFO on or off: only other SCHED_FIFO tasks can preempt. */
void real_time(bool on);
void msleep(unsigned int ms);
void write_file(const char *path, const char *text);

/*
 * Call a function in a process of its own, whose exit frees everything it had.  Let
 * the system settle before: static keys are dropped a second after their last user.
 * Die if the function dies or takes too long.
 */
void in_child(void (*function)(void *arg), void *arg);

/* Let this process be killed when its parent ends; `parent` is from before the fork. */
void end_with_parent(pid_t parent);

/* Start a process that calls the function and then sleeps until it is killed. */
int start_holder(void (*function)(void *arg), void *arg);
void kill_holder(int pid);

/* Die because a system call failed that must not fail. */
void call_failed(const char *what, long result);

/* call3(), call5() and call_open() are system calls without libc's wrapper, which is not measured. */
static inline long must(const char *what, long result)
{
	if (__builtin_expect(result < 0, 0))
		call_failed(what, result);
	return result;
}

#define must_ioctl(fd, cmd, arg) \
	must(#cmd, call3(SYS_ioctl, fd, (long)(cmd), (long)(arg)))

/* ---- the two sides ---------------------------------------------------------- */

/*
 * Two sets of events.  The first n of a set are counted, in user mode only.  Each
 * counter has different events in the two sets.
 */
enum set { SET_A, SET_B };
extern const event_code events[2][MAX_N];

/* A group of n counters of one task. */
struct group {
	unsigned int n;
	bool mapped;
	int fd[MAX_N];
	void *page[MAX_N];
};

struct side {
	const char *name;

	/* Die with one line if this side cannot be measured here. */
	void (*check)(void);

	/* Start counting, and with `map` get ready to read in user mode. */
	void (*open)(struct group *g, unsigned int n, enum set set, bool map);
	/* The same, counted for n users of their own: by n states, or by n events without a group. */
	void (*open_each)(struct group *g, unsigned int n, enum set set, bool map);
	/* The same, and threads that this one starts from now on are counted, too. */
	void (*open_inherited)(struct group *g, unsigned int n);
	void (*close)(struct group *g);
	/* Count whatever runs on this CPU; it lasts as long as the process. */
	void (*open_cpu)(unsigned int cpu, unsigned int n);
	/* Open and close the device; NULL: there is none. */
	void (*open_device)(void);

	void (*suspend)(struct group *g);
	void (*resume)(struct group *g);
	/* The same for each event separately; NULL: impossible on this side. */
	void (*suspend_each)(struct group *g);
	void (*resume_each)(struct group *g);
	/* Restart a suspended group, or a running one. */
	void (*control)(struct group *g, enum set set);
	void (*control_running)(struct group *g, enum set set);
	/* Restart with other events. */
	void (*control_other)(struct group *g, enum set set);
	/* Read by a system call.  Return: the first count. */
	u64 (*read)(struct group *g);

	/* selfread.c: measure reads in user mode */
	void (*self_reads)(void);
	/* overflow.c: measure overflows */
	void (*overflows)(void);
};

extern const struct side vperfctr_side, perf_side, floor_side;
extern const struct side *side;		/* the measured side */

bool vperfctr_isolated(void);
bool vperfctr_counts_cpus(void);
u32 vperfctr_features(void);

/* Count current by a state that has no descriptor, and lives on. */
void vperfctr_leave_state(void);
extern int vperfctr_dev;

/* selfread.c */
void vperfctr_self_reads(void);
void perf_self_reads(void);

/* overflow.c */
void vperfctr_overflows(void);
void perf_overflows(void);
/* The number of handled signals. */
extern volatile u64 signals;
/* Run until *happened has counted enough overflows; NULL: use the emulator's count. */
void measure_overflows(const char *name, const volatile u64 *happened);

/* sampling.c */
void measure_sampling(void);
void trace_wakeups(void);
void perf_unlimited(void);

/* scale.c: free memory, in kB */
long free_memory(void);

/* calls.c, linked.c, switch.c, scale.c, disturb.c, floor.c: the parts that main() calls */
void measure_calls(void);
void measure_linked(void);
void measure_switches(void);
void measure_equal_switches(void);
void measure_scale(void);
void measure_memory(void);
void measure_disturbance(unsigned int many);
void measure_floor(void);

#endif /* BENCH_H */
