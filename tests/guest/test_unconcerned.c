// SPDX-License-Identifier: GPL-2.0
/*
 * A CPU on which no counted thread runs is not interrupted when others take and release the
 * hardware, whether it is idle or busy.
 */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "suite.h"

#define ROUNDS	200
/* Code that disturbs another CPU does so in each round. */
#define FEW	(ROUNDS / 10)

static void control_and_stop(int unused)
{
	int fd = open_state(0), i;

	(void)unused;
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

/* Before 5.14 the module must clear what perf has left, on all CPUs. */
static bool all_are_concerned(void)
{
	unsigned int major, minor;
	struct utsname name;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		die("the kernel has no release");
	return major < 5 || (major == 5 && minor < 14);
}

static volatile bool *runs;

__attribute__((noreturn)) static void keep_cpu1_busy(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(1);
	for (;;)
		*runs = true;
}

START_TEST(take_and_release)
{
	bool busy = _i & 1;
	unsigned long n;
	pid_t pid = 0;

	if (all_are_concerned())
		return;
	if (busy) {
		runs = shared_memory(PAGE);
		pid = fork();
		if (!pid)
			keep_cpu1_busy();
		while (!*runs)
			sched_yield();
	}
	n = interrupts_of_cpu1(_i & 2 ? open_and_close_in_loop : control_and_stop, 0, FEW);
	if (busy) {
		kill(pid, SIGKILL);
		wait_for(pid);
	}
	printf("%lu interrupts of CPU 1, which is %s, in %u rounds\n", n, busy ? "busy" : "idle",
	       ROUNDS);
	ck_assert_uint_lt(n, FEW);
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
	tcase_add_loop_test(tc, take_and_release, 0, 4);
	tcase_add_test(tc, perf_after_each_round);
}

int main(void)
{
	open_device();
	if (nr_cpus() < 2)
		die("two CPUs are needed, and there is one");
	return run_tests("unconcerned", add);
}
