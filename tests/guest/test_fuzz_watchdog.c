// SPDX-License-Identifier: GPL-2.0
/*
 * The watchdog of the fuzzer's rounds: whatever stops or blocks a process of a round,
 * run_round() returns, and nothing of the round is left.
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz-step.h"
#include "suite.h"

static volatile struct {
	u32 continued, hang;
	pid_t pid;
} *shared;

static void setup(void)
{
	shared = shared_memory(PAGE);
	round_limit_ms = 100;
}

/* One step that does nothing, for the watchdog to see. */
static void do_nothing(void)
{
	struct step s = { .op = OP_LOOP, .a = 1 };

	do_step(&s);
}

static const int stops[] = { SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU };

/* A round stops itself as an overflow's signal would, with steps in between or none. */
static void stop_often(void)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		signal(stops[i], SIG_DFL);
	for (i = 0; i < 400; i++) {
		raise(stops[i % 4]);
		shared->continued++;
		if (i & 16)
			do_nothing();
	}
}

START_TEST(stopped_round_continues)
{
	ck_assert_int_eq(run_round(stop_often), 0);
	ck_assert_uint_eq(shared->continued, 400);
}
END_TEST

/* The round waits for a child that is stopped and that only the group's SIGCONT reaches. */
static void wait_for_stopped_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		raise(SIGSTOP);
		shared->continued++;
		_exit(0);
	}
	wait_for(pid);
	do_nothing();
}

START_TEST(stopped_child_continues)
{
	ck_assert_int_eq(run_round(wait_for_stopped_child), 0);
	ck_assert_uint_eq(shared->continued, 1);
}
END_TEST

/* The parent of a vfork cannot be continued before its child. */
static void wait_for_stopped_vfork(void)
{
	pid_t pid = syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);

	if (!pid) {
		raise(SIGSTOP);
		shared->continued++;
		_exit(0);
	}
	wait_for(pid);
}

START_TEST(stopped_vfork_continues)
{
	ck_assert_int_eq(run_round(wait_for_stopped_vfork), 0);
	ck_assert_uint_eq(shared->continued, 1);
}
END_TEST

/* True if the process exists and is not a zombie. */
static bool is_alive(pid_t pid)
{
	char path[40], text[400];
	FILE *file;
	bool alive;

	sprintf(path, "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	alive = fgets(text, sizeof(text), file) && !strstr(text, ") Z");
	fclose(file);
	return alive;
}

static void block_in_a_call(void)
{
	pause();
}

static void loop_for_ever(void)
{
	for (;;)
		loop(1000);
}

static void block_on_a_vfork(void)
{
	if (!syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0))
		pause();
}

static void wait_for_a_tracee(void)
{
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		loop_for_ever();
	}
	waitpid(pid, NULL, 0);
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, NULL, 0);
	/* The watchdog's SIGCONT stops a tracee again. */
	pause();
}

/* An interval timer whose handler takes no time, but never lets a step end. */
static void on_alarm(int sig)
{
	(void)sig;
}

static void storm_of_signals(void)
{
	struct itimerspec often = { { 0, 50000 }, { 0, 50000 } };
	timer_t timer;

	signal(SIGALRM, on_alarm);
	if (timer_create(CLOCK_MONOTONIC, NULL, &timer) ||
	    timer_settime(timer, 0, &often, NULL))
		die("timer: %m");
	for (;;)
		pause();
}

static void stop_for_ever(void)
{
	for (;;)
		raise(SIGSTOP);
}

static void (*const hangs[])(void) = {
	block_in_a_call, loop_for_ever, block_on_a_vfork, wait_for_a_tracee, storm_of_signals,
	stop_for_ever,
};

static void hang_with_a_child(void)
{
	pid_t pid = fork();

	if (!pid)
		loop_for_ever();
	shared->pid = pid;
	do_nothing();
	hangs[shared->hang]();
}

/* A round that hangs is reported, and its processes are killed. */
START_TEST(hung_round_is_killed)
{
	int tries = 2000;

	shared->hang = _i;
	ck_assert_int_eq(run_round(hang_with_a_child), ROUND_HUNG);
	while (is_alive(shared->pid) && --tries)
		msleep(1);
	ck_assert_int_gt(tries, 0);
}
END_TEST

/* A process that no other one waits for fails. */
static void fail_in_a_child(void)
{
	if (!fork()) {
		report_wrong("expected by the test", "");
		_exit(0);
	}
	do_nothing();
	pause();
}

START_TEST(failure_of_any_process_is_reported)
{
	static const struct step_hooks hooks = { .wrong = die };

	step_hooks = &hooks;
	ck_assert_int_eq(run_round(fail_in_a_child), ROUND_WRONG);
	ck_assert_int_eq(run_round(do_nothing), 0);
}
END_TEST

static void die_of(void)
{
	raise(SIGKILL);
}

static void exit_with_7(void)
{
	_exit(7);
}

static void fault(void)
{
	volatile int *volatile nowhere = NULL;

	*nowhere = 0;
}

START_TEST(status_is_returned)
{
	ck_assert_int_eq(run_round(die_of), 128 + SIGKILL);
	ck_assert_int_eq(run_round(exit_with_7), 7);
	ck_assert_int_eq(run_round(fault), 128 + SIGSEGV);
	ck_assert_int_eq(run_round(do_nothing), 0);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, stopped_round_continues);
	tcase_add_test(tc, stopped_child_continues);
	tcase_add_test(tc, stopped_vfork_continues);
	tcase_add_loop_test(tc, hung_round_is_killed, 0, sizeof(hangs) / sizeof(hangs[0]));
	tcase_add_test(tc, failure_of_any_process_is_reported);
	tcase_add_test(tc, status_is_returned);
}

int main(void)
{
	open_device();
	return run_tests("fuzz_watchdog", add);
}
