// SPDX-License-Identifier: GPL-2.0
/*
 * Mappings of some processes, and their cost for others.
 *
 * usage: test_mappings loop	a process maps and unmaps its page all the time (two CPUs)
 *        test_mappings idle	many idle processes have mapped pages (time is instructions)
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "suite.h"

static volatile struct {
	int ready, stop;
} *shared;

/* ---- a loop ------------------------------------------------------------------------ */

#define ROUNDS		500
/* More than a few interruptions, and more than the kernel has reasons for by itself. */
#define MAX_INTERRUPTS	200

/* Return how many function calls by interrupts CPU 1 has had. */
static unsigned long interrupts_of_cpu1(void)
{
	FILE *file = fopen("/proc/interrupts", "r");
	unsigned long n[2];
	char line[1024];
	bool found = false;

	ck_assert_ptr_nonnull(file);
	while (!found && fgets(line, sizeof(line), file)) {
		/* x86: "CAL: 1 2 Function call interrupts"; arm64: "IPI1: ..." */
		char *colon = strchr(line, ':');

		found = colon && strstr(line, "unction call interrupts") &&
			sscanf(colon + 1, "%lu %lu", &n[0], &n[1]) == 2;
	}
	fclose(file);
	ck_assert(found);
	return n[1];
}

/* Count on CPU 1, so that its counters are never clear. */
__attribute__((noreturn)) static void run_victim(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(1);
	count(open_state(0), INSNS_USER);
	shared->ready = 1;
	for (;;)
		loop(1000);
}

/* This process has never run on CPU 1, so no interrupt there can be for its own sake. */
static int map_in_loop(bool counts)
{
	int fd = open_state(0), i;

	if (counts)
		count(fd, INSNS_USER);
	for (i = 0; i < ROUNDS; i++) {
		const struct vperfctr_page *page = map_state(fd);

		loop(10);
		munmap((void *)page, PAGE);
	}
	return 0;
}

/* A process for each mapping, or for none: the kernel has reasons of its own. */
static int fork_in_loop(bool maps)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		pid_t pid = fork();

		if (!pid) {
			if (maps)
				map_state(open_state(0));
			_exit(0);
		}
		if (wait_for(pid))
			return 1;
	}
	return 0;
}

enum { MAP, MAP_AND_COUNT, FORK_AND_MAP, NR_LOOPS, FORK = NR_LOOPS };

/* Return the interrupts of CPU 1 meanwhile. */
static unsigned long run_loop(int which)
{
	unsigned long before = interrupts_of_cpu1();
	pid_t pid = fork();

	if (!pid)
		_exit(which < FORK_AND_MAP ? map_in_loop(which == MAP_AND_COUNT) :
					     fork_in_loop(which == FORK_AND_MAP));
	ck_assert_int_eq(wait_for(pid), 0);
	return interrupts_of_cpu1() - before;
}

START_TEST(loop_of_mappings)
{
	unsigned long kernels = 0, all;
	pid_t victim;

	pin(0);
	victim = fork();
	if (!victim)
		run_victim();
	while (!shared->ready)
		sched_yield();
	if (_i == FORK_AND_MAP)
		kernels = run_loop(FORK);
	all = run_loop(_i);
	kill(victim, SIGKILL);
	wait_for(victim);
	printf("%lu interrupts of CPU 1 in %u rounds, %lu without mappings\n", all, ROUNDS,
	       kernels);
	ck_assert_uint_lt(all, MAX_INTERRUPTS + 2 * kernels);
}
END_TEST

static void add_loop(TCase *tc)
{
	tcase_add_loop_test(tc, loop_of_mappings, 0, NR_LOOPS);
}

/* ---- idle processes ----------------------------------------------------------------- */

#define NR_IDLE		300
#define TIMES		20
/* Instructions for each process, to take and to release the hardware. */
#define MOST_PER_PROCESS	500

static u64 now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Take and release the hardware.  Return: the shortest time, without interrupts. */
static u64 take_and_release(int fd)
{
	u64 best = ~0ULL, began, time;
	unsigned int i;

	for (i = 0; i < TIMES; i++) {
		began = now();
		count(fd, INSNS_USER);
		assert_ok(stop_all(fd));
		time = now() - began;
		best = time < best ? time : best;
	}
	return best;
}

__attribute__((noreturn)) static void be_idle(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	map_state(open_state(0));
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_RELAXED);
	for (;;)
		pause();
}

START_TEST(idle_processes)
{
	u64 alone, among_many;
	pid_t pids[NR_IDLE];
	int fd = open_state(0), i;

	alone = take_and_release(fd);
	for (i = 0; i < NR_IDLE; i++) {
		pids[i] = fork();
		if (!pids[i])
			be_idle();
	}
	while (shared->ready < NR_IDLE)
		msleep(1);
	among_many = take_and_release(fd);
	for (i = 0; i < NR_IDLE; i++) {
		kill(pids[i], SIGKILL);
		wait_for(pids[i]);
	}
	printf("%llu ns, and %llu ns with %u idle processes\n", alone, among_many, NR_IDLE);
	ck_assert_uint_lt(among_many, alone + NR_IDLE * MOST_PER_PROCESS);
}
END_TEST

static void add_idle(TCase *tc)
{
	tcase_add_test(tc, idle_processes);
}

int main(int argc, char **argv)
{
	bool loops = argc > 1 && !strcmp(argv[1], "loop");

	open_device();
	shared = shared_memory(PAGE);
	if (!loops)
		return run_tests("idle", add_idle);
	if (nr_cpus() < 2)
		die("two CPUs are needed, and there is one");
	return run_tests("loop", add_loop);
}
