/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is measured, and with what: the programs that "make bench" and "make
 * bench-native" run.  The same work is done by both sides, vperfctr and
 * perf_event; what is measured is the difference that the side makes.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

#define PAGE		4096
#define MAX_N		4	/* counters in a group */
#define REPEATS		201	/* medians are of so many */

/* The numbers of counters that are measured; X(n). */
#define FOR_EACH_N(X)	X(1) X(2) X(4)

/* ---- measure.c ----------------------------------------------------------- */

__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);

/* In the emulator: the TSC counts instructions, and there are statistics. */
extern bool emulated;
/* What a figure is: "instructions", or "ns" */
extern const char *unit;

void measure_init(bool is_emulated);

static inline u64 now(void)
{
	u32 low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return low | (u64)high << 32;
}

/* See tests/pmu-model/README.md; all zero on real hardware. */
enum { STAT_WRMSR, STAT_RDMSR, STAT_RDPMC, STAT_WRMSR_ANY, STAT_CR4, STAT_PMI };

static inline u64 statistic(unsigned int n)
{
	u32 low, high;

	if (!emulated)
		return 0;
	asm volatile("rdpmc" : "=a" (low), "=d" (high) : "c" (0x7fff0000 + n) : "memory");
	return low | (u64)high << 32;
}

/* Many measurements of the same. */
struct meter {
	unsigned int n;
	unsigned int batch;	/* how often it is done in one measurement; 0: once */
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

/* What the TSC says (of something that a meter did not measure), as a figure. */
double figure(double ticks);

/* A line of the results.  The name may be a format for n. */
void emit(const char *unit, double value, const char *name, unsigned int n);
/* There is none, because. */
void emit_none(const char *unit, const char *because, const char *name, unsigned int n);
/*
 * The median without the first, less what an empty measurement takes; the first
 * (NAME.first), if asked for; and the WRMSRs of each (NAME.wrmsr).
 */
#define EMIT_FIRST	1
#define EMIT_WRMSR	2
void emit_meter(struct meter *m, unsigned int what, const char *name, unsigned int n);

/* On standard error, for who waits. */
__attribute__((format(printf, 1, 2))) void progress(const char *format, ...);

/* ---- surroundings --------------------------------------------------------- */

void pin(int cpu);
/* SCHED_FIFO: nobody but tasks of the same kind runs beside. */
void real_time(bool on);
void msleep(unsigned int ms);
void write_file(const char *path, const char *text);

/*
 * Do it in a process of its own, whose end gives back all that it had.  The
 * system is let settle before: static keys are dropped a second after their
 * last user.  Dies if the function does, or takes too long.
 */
void in_child(void (*function)(void *arg), void *arg);

/* A process that does this, then "ready", and sleeps until it is killed. */
int start_holder(void (*function)(void *arg), void *arg);
void kill_holder(int pid);

/* libc's wrappers are the same for both sides, and no part of what is measured. */
static inline long call3(long nr, long a, long b, long c)
{
	long ret;

	asm volatile("syscall" : "=a" (ret) : "0" (nr), "D" (a), "S" (b), "d" (c)
		     : "rcx", "r11", "memory");
	return ret;
}

/* As the process's real system calls fail: this one must not. */
void call_failed(const char *what, long result);

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
 * Two sets of events, of which the first n are counted, all in user mode, on the
 * same counters: each has another event in the other set.
 */
enum set { SET_A, SET_B };
extern const unsigned short events[2][MAX_N];

/* n counters of one task. */
struct group {
	unsigned int n;
	bool mapped;
	int fd[MAX_N];
	void *page[MAX_N];
};

struct side {
	const char *name;

	/* Can it be measured?  Dies, with one line, if not. */
	void (*check)(void);

	/* From nothing to counting, and, if `map`, ready to read in user mode. */
	void (*open)(struct group *g, unsigned int n, enum set set, bool map);
	void (*close)(struct group *g);

	void (*suspend)(struct group *g);
	void (*resume)(struct group *g);
	/* The same, with each event by itself; NULL: there is no such thing. */
	void (*suspend_each)(struct group *g);
	void (*resume_each)(struct group *g);
	/* Start anew, of a group that is suspended, or that runs. */
	void (*control)(struct group *g, enum set set);
	void (*control_running)(struct group *g, enum set set);
	/* Start anew with other events. */
	void (*control_other)(struct group *g, enum set set);
	/* By the kernel: the first is returned. */
	u64 (*read)(struct group *g);

	/* calls.c: reads in user mode */
	void (*self_reads)(void);
	/* overflow.c */
	void (*overflows)(void);
};

extern const struct side vperfctr_side, perf_side, floor_side;
extern const struct side *side;		/* the one that is measured */

bool vperfctr_isolated(void);
u32 vperfctr_features(void);
extern int vperfctr_dev;

/* selfread.c */
void vperfctr_self_reads(void);
void perf_self_reads(void);

/* overflow.c */
void vperfctr_overflows(void);
void perf_overflows(void);
/* Signals that were handled. */
extern volatile u64 signals;
/* Work until there were enough; *happened: how often.  NULL: the emulator tells. */
void measure_overflows(const char *name, const volatile u64 *happened);

/* calls.c, linked.c, switch.c, scale.c, floor.c: what main() runs */
void measure_calls(void);
void measure_linked(void);
void measure_switches(void);
void measure_scale(void);
void measure_floor(void);

#endif /* BENCH_H */
