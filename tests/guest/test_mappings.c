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

#define ROUNDS		200
/* Code that disturbs another CPU does so in each round. */
#define FEW		(ROUNDS / 10)

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

static void map_in_loop(int counts)
{
	int fd = open_state(0), i;

	if (counts)
		count(fd, INSNS_USER);
	for (i = 0; i < ROUNDS; i++) {
		const struct vperfctr_page *page = map_state(fd);

		loop(10);
		munmap((void *)page, PAGE);
	}
}

/* A process for each mapping. */
static void fork_in_loop(int unused)
{
	int i;

	(void)unused;
	for (i = 0; i < ROUNDS; i++) {
		pid_t pid = fork();

		if (!pid) {
			map_state(open_state(0));
			_exit(0);
		}
		if (wait_for(pid))
			die("a process could not map its page");
	}
}

enum { MAP, MAP_AND_COUNT, FORK_AND_MAP, NR_LOOPS };

START_TEST(loop_of_mappings)
{
	unsigned long n;
	pid_t victim;

	victim = fork();
	if (!victim)
		run_victim();
	while (!shared->ready)
		sched_yield();
	if (_i == FORK_AND_MAP)
		n = interrupts_of_cpu1(fork_in_loop, 0, FEW);
	else
		n = interrupts_of_cpu1(map_in_loop, _i == MAP_AND_COUNT, FEW);
	kill(victim, SIGKILL);
	wait_for(victim);
	printf("%lu interrupts of CPU 1 in %u rounds\n", n, ROUNDS);
	ck_assert_uint_lt(n, FEW);
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
