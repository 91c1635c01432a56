// SPDX-License-Identifier: GPL-2.0
/*
 * A CPU on which no counted thread runs is not interrupted when others take and release the
 * hardware, whether it is idle or busy.  Nor is one that runs a process with a mapped page.
 */
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "suite.h"

#define ROUNDS	200
/* Code that disturbs another CPU does so in each round. */
#define FEW	(ROUNDS / 10)

static void control_and_stop(int maps)
{
	int fd = open_state(0), i;

	if (maps)
		map_state(fd);
	for (i = 0; i < ROUNDS; i++) {
		count(fd, INSNS_USER);
		assert_ok(stop_all(fd));
	}
}

static void open_and_close(void)
{
	int fd = open_state(0);

	count(fd, INSNS_USER);
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	close(fd);
}

static void open_and_close_in_loop(int unused)
{
	int i;

	(void)unused;
	for (i = 0; i < ROUNDS; i++)
		open_and_close();
}

/* In the same loop perf gets the counters after each round: the hardware is released. */
static void open_beside_perf(void)
{
	int perf;

	open_and_close();
	perf = perf_open(0, false);
	ck_assert_int_ge(perf, 0);
	close(perf);
}

/* Return the pid of the thread by which the module changes the rights of CPU 1, or 0. */
static pid_t find_thread_of_cpu1(void)
{
	DIR *dir = opendir("/proc");
	char path[300], comm[32];
	struct dirent *entry;
	pid_t pid = 0;
	FILE *file;

	ck_assert_ptr_nonnull(dir);
	while (!pid && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		file = atoi(entry->d_name) > 0 ? fopen(path, "r") : NULL;
		/* A process may have ended. */
		if (!file)
			continue;
		if (fgets(comm, sizeof(comm), file) && !strcmp(comm, "vperfctr/1\n"))
			pid = atoi(entry->d_name);
		fclose(file);
	}
	closedir(dir);
	return pid;
}

/* Return how often this thread has run.  Kernels that let the module write CR4 have none. */
static unsigned long runs_of_thread(pid_t pid)
{
	unsigned long times = 0;
	char path[64];
	FILE *file;

	if (!pid)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	file = fopen(path, "r");
	if (file && fscanf(file, "%*u %*u %lu", &times) != 1)
		times = 0;
	if (file)
		fclose(file);
	return times;
}

/* The states that CPU 1 is in. */
enum { IDLE, BUSY, MAPPED, STOPPED, COUNTING, NR_VICTIMS };

static const char *const victims[] = {
	"is idle", "is busy", "has a page", "has stopped counting", "counts",
};

static volatile bool *runs;

__attribute__((noreturn)) static void keep_cpu1_busy(int victim)
{
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(1);
	if (victim >= MAPPED) {
		fd = open_state(0);
		map_state(fd);
		if (victim >= STOPPED)
			count(fd, INSNS_USER);
		if (victim == STOPPED)
			assert_ok(stop_all(fd));
	}
	for (;;)
		*runs = true;
}

static void (*const loops[])(int) = { control_and_stop, open_and_close_in_loop };

START_TEST(take_and_release)
{
	int victim = _i % NR_VICTIMS, loop = _i / NR_VICTIMS;
	unsigned long n, times;
	pid_t pid = 0, thread;

	if (taking_interrupts_all())
		return;
	if (victim != IDLE) {
		runs = shared_memory(PAGE);
		pid = fork();
		if (!pid)
			keep_cpu1_busy(victim);
		while (!*runs)
			sched_yield();
	}
	thread = find_thread_of_cpu1();
	times = runs_of_thread(thread);
	n = interrupts_of_cpu1(loops[loop], victim >= MAPPED, FEW);
	times = runs_of_thread(thread) - times;
	if (pid) {
		kill(pid, SIGKILL);
		wait_for(pid);
	}
	printf("%lu interrupts of CPU 1, which %s, in %u rounds\n", n, victims[victim], ROUNDS);
	ck_assert_uint_lt(n, FEW);
	ck_assert_uint_lt(times, FEW);
}
END_TEST

START_TEST(perf_after_each_round)
{
	int i;

	for (i = 0; i < 20; i++) {
		pin(i & 1);
		open_beside_perf();
	}
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_loop_test(tc, take_and_release, 0, 2 * NR_VICTIMS);
	tcase_add_test(tc, perf_after_each_round);
}

int main(void)
{
	open_device();
	if (nr_cpus() < 2)
		die("two CPUs are needed, and there is one");
	return run_tests("unconcerned", add);
}
