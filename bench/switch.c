// SPDX-License-Identifier: GPL-2.0
/*
 * The cost that counting adds to a context switch.  Two SCHED_FIFO tasks on one CPU
 * yield to each other, and one of them reads the clock.  A round trip is two switches.
 * The figure is half of the difference from a round trip of the same two tasks when
 * no task in the system is counted.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define WARM_UP		100

enum counted { NONE, ONE, BOTH };

struct arrangement {
	enum counted counted;
	unsigned int n;
	bool mapped;		/* the counted tasks have mapped their pages */
	bool suspended;		/* the counters are suspended */
	bool threads;		/* threads of one process, not two processes */
	bool each;		/* counted by n states, or n events without a group */
	bool equal;		/* both have the same events */
	bool family;		/* the other thread has inherited them */

	/* results, in shared memory */
	volatile unsigned int yields;	/* by the other task */
	volatile bool go, ready;
	double round_trip;		/* ticks */
	double wrmsr, rdpmc, cr4;	/* per round trip */
};

static void open_counters(const struct arrangement *a, struct group *g, enum set set)
{
	(a->each ? side->open_each : side->open)(g, a->n, set, a->mapped);
}

static void other_task(struct arrangement *a)
{
	struct group g;

	while (!a->go)
		msleep(LOOK_MS);
	if (a->counted == BOTH && !a->family)
		open_counters(a, &g, a->equal ? SET_A : SET_B);
	real_time(true);
	a->ready = true;
	for (;;) {
		call3(SYS_sched_yield, 0, 0, 0);
		a->yields++;
	}
}

static void *other_thread(void *arg)
{
	other_task(arg);
	return NULL;
}

static void start_other(struct arrangement *a)
{
	const pid_t parent = getpid();
	pthread_t thread;
	pid_t pid;

	if (a->threads) {
		if (pthread_create(&thread, NULL, other_thread, a))
			die("pthread_create failed");
		return;
	}
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		end_with_parent(parent);
		other_task(a);
	}
}

static void round_trips(void *arg)
{
	struct arrangement *a = arg;
	struct meter m = { };
	u64 wrmsr, rdpmc, cr4;
	struct group g;
	unsigned int yields, i;

	pin(0);
	if (a->family)
		side->open_inherited(&g, a->n);
	/* fork before perf maps: fork copies its permission to RDPMC, but no mapping */
	start_other(a);
	/* not yet SCHED_FIFO: perf may have to wait for other tasks */
	if (a->counted != NONE && !a->family)
		open_counters(a, &g, SET_A);
	if (a->suspended)
		side->suspend(&g);
	a->go = true;
	real_time(true);
	while (!a->ready)
		msleep(LOOK_MS);
	for (i = 0; i < WARM_UP; i++)
		call3(SYS_sched_yield, 0, 0, 0);

	yields = a->yields;
	wrmsr = statistic(STAT_WRMSR);
	rdpmc = statistic(STAT_RDPMC);
	cr4 = statistic(STAT_CR4);
	while (m.n < REPEATS) {
		meter_begin(&m);
		call3(SYS_sched_yield, 0, 0, 0);
		meter_end(&m);
	}
	a->wrmsr = (double)(statistic(STAT_WRMSR) - wrmsr) / REPEATS;
	a->rdpmc = (double)(statistic(STAT_RDPMC) - rdpmc) / REPEATS;
	a->cr4 = (double)(statistic(STAT_CR4) - cr4) / REPEATS;
	if (a->yields - yields != REPEATS)
		die("%u round trips, but %u of the other task: another task ran on the CPU",
		    REPEATS, a->yields - yields);
	a->round_trip = median(m.time, m.n);
	/* the other process ends with this one */
	_exit(0);
}

static struct arrangement run_arrangement(struct arrangement a)
{
	struct arrangement *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	*shared = a;
	in_child(round_trips, shared);
	a = *shared;
	munmap(shared, PAGE);
	return a;
}

/* Round trips without counting: of two processes, of two threads. */
static double base[2];

#define WITH_CR4	1
#define WITH_RDPMC	2

static void emit_extra(const char *name, unsigned int what, struct arrangement a)
{
	struct arrangement m = run_arrangement(a);
	char full[64];

	emit(unit, figure((m.round_trip - base[a.threads]) / 2), name, a.n);
	if (!emulated || !HAVE_STATISTICS)
		return;
	strcat(strcpy(full, name), ".wrmsr");
	emit("WRMSR", m.wrmsr / 2, full, a.n);
	if (what & WITH_RDPMC) {
		strcat(strcpy(full, name), ".rdpmc");
		emit("RDPMC", m.rdpmc / 2, full, a.n);
	}
	if (what & WITH_CR4) {
		strcat(strcpy(full, name), ".cr4");
		emit("MOV CR4", m.cr4 / 2, full, a.n);
	}
}

/*
 * The kernel's own cost for a process that may use RDPMC: the difference between a
 * process with suspended counters and a mapped page, and the same without the page.
 */
static void measure_kernel_part(void)
{
	struct arrangement a = { .counted = ONE, .n = 1, .suspended = true };
	struct arrangement without = run_arrangement(a), with;

	a.mapped = true;
	with = run_arrangement(a);
	emit(unit, figure((with.round_trip - without.round_trip) / 2), "switch_mapped.floor", 0);
	if (emulated && HAVE_STATISTICS)
		emit("MOV CR4", (with.cr4 - without.cr4) / 2, "switch_mapped.floor.cr4", 0);
}

static void hold_cpu(void *arg)
{
	side->open_cpu(0, *(unsigned int *)arg);
}

/* Switches on a CPU that is counted as a whole, of two tasks that are not. */
static void measure_counted_cpu(void)
{
	static unsigned int numbers[] = { 1, 4 };
	struct arrangement again;
	unsigned int i;
	int holder;

	progress("switches on a counted CPU");
	for (i = 0; i < 2; i++) {
		holder = start_holder(hold_cpu, &numbers[i]);
		emit_extra("switch_cpu.n%u", 0, (struct arrangement){ .n = numbers[i] });
		kill_holder(holder);
	}
	again = run_arrangement((struct arrangement){ });
	emit(unit, figure((again.round_trip - base[false]) / 2), "switch_cpu_none", 0);
}

static void hold_counter(void *arg)
{
	struct group g;

	side->open(&g, 1, SET_A, arg != NULL);
}

static void measure_bases(void)
{
	write_file("/proc/sys/kernel/sched_rt_runtime_us", "-1");
	base[false] = run_arrangement((struct arrangement){ }).round_trip;
	base[true] = run_arrangement((struct arrangement){ .threads = true }).round_trip;
}

/* Switches between two processes with the same events, and between two threads of a family. */
void measure_equal_switches(void)
{
	static const unsigned int numbers[] = { 1, 2, 4 };
	unsigned int i;

	progress("switches between tasks that count the same");
	measure_bases();
	for (i = 0; i < 3; i++) {
		emit_extra("switch_equal.n%u", 0,
			   (struct arrangement){ .counted = BOTH, .n = numbers[i], .equal = true });
		emit_extra("switch_family.n%u", 0,
			   (struct arrangement){ .counted = BOTH, .n = numbers[i],
						 .threads = true, .family = true });
	}
}

void measure_switches(void)
{
	static const unsigned int numbers[] = { 1, 2, 4 };
	bool isolated = side == &perf_side || vperfctr_isolated();
	struct arrangement again;
	unsigned int i;
	int holder;

	progress("context switches");
	measure_bases();
	for (i = 0; i < 3; i++) {
		unsigned int n = numbers[i];

		if (side == &perf_side || !isolated)
			emit_extra("switch_one.n%u", WITH_RDPMC,
				   (struct arrangement){ .counted = ONE, .n = n });
		if (isolated)
			emit_extra("switch_one_isolated.n%u", WITH_RDPMC,
				   (struct arrangement){ .counted = ONE, .n = n });
		if (side == &perf_side || !isolated)
			emit_extra("switch_both_unisolated.n%u", WITH_RDPMC,
				   (struct arrangement){ .counted = BOTH, .n = n });
		if (isolated) {
			emit_extra("switch_both.n%u", WITH_RDPMC,
				   (struct arrangement){ .counted = BOTH, .n = n });
			emit_extra("switch_mapped.n%u", WITH_CR4 | WITH_RDPMC,
				   (struct arrangement){ .counted = ONE, .n = n, .mapped = true });
			emit_extra("switch_mapped_threads.n%u", WITH_CR4 | WITH_RDPMC,
				   (struct arrangement){ .counted = ONE, .n = n, .mapped = true,
							 .threads = true });
		}
	}
	if (!isolated)
		return;
	progress("switches of tasks that are counted by several states");
	for (i = 1; i < 3; i++) {
		emit_extra("switch_states.n%u", 0,
			   (struct arrangement){ .counted = ONE, .n = numbers[i], .each = true });
		emit_extra("switch_both_states.n%u", 0,
			   (struct arrangement){ .counted = BOTH, .n = numbers[i], .each = true });
	}
	/* Beside the NMI watchdog's counter, threads are counted, and CPUs are not. */
	if (side == &perf_side || vperfctr_counts_cpus())
		measure_counted_cpu();
	measure_kernel_part();
	progress("tasks that are not counted while another one is");
	holder = start_holder(hold_counter, NULL);
	emit_extra("bystander", 0, (struct arrangement){ });
	kill_holder(holder);
	again = run_arrangement((struct arrangement){ });
	emit(unit, figure((again.round_trip - base[false]) / 2), "bystander_none", 0);
}
