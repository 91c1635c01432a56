// SPDX-License-Identifier: GPL-2.0
/*
 * What counting adds to a context switch.  Two tasks of SCHED_FIFO on one CPU
 * yield to each other, and one of them looks at the clock: a round trip is two
 * switches.  What is reported is a switch's half of the difference to the same
 * two tasks when nobody in the system counts.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define WARM_UP		100

enum who { NOBODY, ONE, BOTH };

struct arrangement {
	enum who counted;
	unsigned int n;
	bool mapped;		/* the pages, by those that are counted */
	bool suspended;		/* those that are counted are not, now */
	bool threads;		/* of one process, rather than two processes */

	/* results, shared */
	volatile unsigned int yields;	/* of the other task */
	volatile bool go, ready;
	double round_trip;		/* ticks */
	double wrmsr, cr4;		/* per round trip */
};

static void other_task(struct arrangement *a)
{
	struct group g;

	while (!a->go)
		msleep(1);
	if (a->counted == BOTH)
		side->open(&g, a->n, SET_B, a->mapped);
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
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		other_task(a);
	}
}

static void round_trips(void *arg)
{
	struct arrangement *a = arg;
	struct meter m = { };
	u64 wrmsr, cr4;
	struct group g;
	unsigned int yields, i;

	pin(0);
	/* First: a fork copies perf's permission to RDPMC, though no mapping. */
	start_other(a);
	/* Not yet real time: perf may have to wait for what only other tasks can do. */
	if (a->counted != NOBODY)
		side->open(&g, a->n, SET_A, a->mapped);
	if (a->suspended)
		side->suspend(&g);
	a->go = true;
	real_time(true);
	while (!a->ready)
		msleep(1);
	for (i = 0; i < WARM_UP; i++)
		call3(SYS_sched_yield, 0, 0, 0);

	yields = a->yields;
	wrmsr = statistic(STAT_WRMSR);
	cr4 = statistic(STAT_CR4);
	while (m.n < REPEATS) {
		meter_begin(&m);
		call3(SYS_sched_yield, 0, 0, 0);
		meter_end(&m);
	}
	a->wrmsr = (double)(statistic(STAT_WRMSR) - wrmsr) / REPEATS;
	a->cr4 = (double)(statistic(STAT_CR4) - cr4) / REPEATS;
	if (a->yields - yields != REPEATS)
		die("%u round trips with %u of the other task: not alone on the CPU",
		    REPEATS, a->yields - yields);
	a->round_trip = median(m.time, m.n);
	/* the other process ends with this one */
	_exit(0);
}

static struct arrangement measure(struct arrangement a)
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

/* Those without anything: two processes, two threads. */
static double base[2];

#define WITH_CR4	1

static void extra(const char *name, unsigned int what, struct arrangement a)
{
	struct arrangement m = measure(a);
	char full[64];

	emit(unit, figure((m.round_trip - base[a.threads]) / 2), name, a.n);
	if (!emulated)
		return;
	strcat(strcpy(full, name), ".wrmsr");
	emit("WRMSR", m.wrmsr / 2, full, a.n);
	if (what & WITH_CR4) {
		strcat(strcpy(full, name), ".cr4");
		emit("MOV CR4", m.cr4 / 2, full, a.n);
	}
}

/*
 * What the kernel itself does to a process that may RDPMC: that of one with its page
 * mapped whose counters do not run, less the same without.
 */
static void kernels_part(void)
{
	struct arrangement a = { .counted = ONE, .n = 1, .suspended = true };
	struct arrangement without = measure(a), with;

	a.mapped = true;
	with = measure(a);
	emit(unit, figure((with.round_trip - without.round_trip) / 2), "switch_mapped.floor", 0);
	if (emulated)
		emit("MOV CR4", (with.cr4 - without.cr4) / 2, "switch_mapped.floor.cr4", 0);
}

static void hold(void *arg)
{
	struct group g;

	side->open(&g, 1, SET_A, arg != NULL);
}

void measure_switches(void)
{
	static const unsigned int numbers[] = { 1, 2, 4 };
	bool isolated = side == &perf_side || vperfctr_isolated();
	struct arrangement again;
	unsigned int i;
	int holder;

	write_file("/proc/sys/kernel/sched_rt_runtime_us", "-1");
	progress("context switches");
	base[false] = measure((struct arrangement){ }).round_trip;
	base[true] = measure((struct arrangement){ .threads = true }).round_trip;
	for (i = 0; i < 3; i++) {
		unsigned int n = numbers[i];

		if (side == &perf_side || !isolated)
			extra("switch_one.n%u", 0, (struct arrangement){ .counted = ONE, .n = n });
		if (isolated)
			extra("switch_one_isolated.n%u", 0,
			      (struct arrangement){ .counted = ONE, .n = n });
		if (side == &perf_side || !isolated)
			extra("switch_both_unisolated.n%u", 0,
			      (struct arrangement){ .counted = BOTH, .n = n });
		if (isolated) {
			extra("switch_both.n%u", 0,
			      (struct arrangement){ .counted = BOTH, .n = n });
			extra("switch_mapped.n%u", WITH_CR4,
			      (struct arrangement){ .counted = ONE, .n = n, .mapped = true });
			extra("switch_mapped_threads.n%u", WITH_CR4,
			      (struct arrangement){ .counted = ONE, .n = n, .mapped = true,
						    .threads = true });
		}
	}
	if (!isolated)
		return;
	kernels_part();
	progress("tasks that count nothing while others do");
	holder = start_holder(hold, NULL);
	extra("bystander", 0, (struct arrangement){ });
	kill_holder(holder);
	again = measure((struct arrangement){ });
	emit(unit, figure((again.round_trip - base[false]) / 2), "bystander_none", 0);
}
