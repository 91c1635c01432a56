// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of other processes' counters in perfctr's interface.  The number of instructions
 * between two stops is known exactly.
 */
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "old.h"

static volatile unsigned long *rounds;
static struct vperfctr_control control;
static pid_t target;

static void wait_stopped(void)
{
	int status;

	if (waitpid(target, &status, 0) != target || !WIFSTOPPED(status))
		die("the target ended with %#x, or %s", status, strerror(errno));
}

/* Start a child that stops again and again, and ends with its parent. */
static void setup(void)
{
	rounds = shared_memory(PAGE);
	*rounds = 1000;
	target = fork();
	if (!target) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		stop_for_ever(getpid(), getpid(), rounds);
	}
	wait_stopped();
	if (ptrace(PTRACE_SETOPTIONS, target, 0, PTRACE_O_EXITKILL))
		die("PTRACE_SETOPTIONS: %s", strerror(errno));
}

static void run(void)
{
	if (ptrace(PTRACE_CONT, target, 0, 0))
		die("PTRACE_CONT: %s", strerror(errno));
}

static void kill_target(void)
{
	kill(target, SIGKILL);
	ck_assert_int_eq(wait_for(target), 128 + SIGKILL);
}

static struct rvperfctr *open_target(void)
{
	struct rvperfctr *rv = rvperfctr_open(target);

	if (!rv)
		die("rvperfctr_open: %s", strerror(errno));
	return rv;
}

static u64 count_now(struct rvperfctr *rv)
{
	struct perfctr_sum_ctrs sum;

	ck_assert_int_eq(rvperfctr_read_ctrs(rv, &sum), 0);
	return sum.pmc[0];
}

/* Let the child run from this stop to the next. */
static u64 measure(struct rvperfctr *rv)
{
	u64 before = count_now(rv);

	run();
	wait_stopped();
	return count_now(rv) - before;
}

START_TEST(counts)
{
	static const unsigned long lengths[] = { 1, 2, 77, 5000, 1000000 };
	struct rvperfctr *rv = open_target();
	struct vperfctr_control now;
	struct perfctr_sum_ctrs sum;
	struct perfctr_info old;
	u64 total = 0, tsc = 0;
	unsigned int i;

	ck_assert_int_eq(rvperfctr_pid(rv), target);
	ck_assert_int_eq(rvperfctr_info(rv, &old), 0);
	ck_assert_uint_eq(perfctr_info_nrctrs(&old), info.nrctrs);
	count_with(&control, 2);
	ck_assert_int_eq(rvperfctr_control(rv, &control), 0);
	for (i = 0; i < 5; i++) {
		*rounds = lengths[i];
		ck_assert_uint_eq(measure(rv), INSNS_STOP(lengths[i]));
		total += INSNS_STOP(lengths[i]);
		ck_assert_int_eq(rvperfctr_read_state(rv, &sum, &now), 0);
		ck_assert_uint_eq(sum.pmc[0], total);
		ck_assert_uint_eq(sum.pmc[1], total);
		ck_assert_uint_gt(sum.tsc, tsc);
		ck_assert_mem_eq(&now, &control, sizeof(now));
		tsc = sum.tsc;
	}
	*rounds = 300;
	ck_assert_int_eq(rvperfctr_stop(rv), 0);
	ck_assert_uint_eq(measure(rv), 0);
	ck_assert_uint_eq(count_now(rv), total);
	control.preserve = 1;
	ck_assert_int_eq(rvperfctr_control(rv, &control), 0);
	ck_assert_uint_eq(count_now(rv), total);
	ck_assert_uint_eq(measure(rv), INSNS_STOP(300));
	control.preserve = 0;
	ck_assert_int_eq(rvperfctr_control(rv, &control), 0);
	ck_assert_uint_eq(count_now(rv), 0);
	ck_assert_uint_eq(measure(rv), INSNS_STOP(300));
	/* an invalid control stops it */
	control.cpu_control.pmc_map[0] = 99;
	assert_fails(rvperfctr_control(rv, &control), EINVAL);
	ck_assert_uint_eq(measure(rv), 0);
	control.cpu_control.pmc_map[0] = 0;
	ck_assert_int_eq(rvperfctr_control(rv, &control), 0);
	ck_assert_uint_eq(measure(rv), INSNS_STOP(300));

	ck_assert_int_eq(rvperfctr_unlink(rv), 0);
	ck_assert_uint_eq(measure(rv), 0);
	ck_assert_uint_eq(count_now(rv), INSNS_STOP(300));
	assert_fails(rvperfctr_control(rv, &control), ESRCH);
	rvperfctr_close(rv);
	rvperfctr_close(NULL);
	kill_target();
}
END_TEST

/* The kernel's interface counts the same. */
START_TEST(same_as_new)
{
	struct rvperfctr *rv = open_target();
	int fd = open_thread(target, 0);
	u64 by_old, before;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(rvperfctr_control(rv, count_with(&control, 1)), 0);
	by_old = measure(rv);
	ck_assert_uint_eq(count_of(fd), by_old);
	assert_ok(count_insns(fd, 0));
	before = count_of(fd);
	run();
	wait_stopped();
	ck_assert_uint_eq(count_of(fd) - before, by_old);
	ck_assert_uint_eq(count_now(rv), count_of(fd));
	kill_target();
	ck_assert_uint_eq(count_now(rv), by_old);
	assert_fails(rvperfctr_stop(rv), ESRCH);
}
END_TEST

/* After a close without unlink the state counts on and can be opened again. */
START_TEST(closed)
{
	struct rvperfctr *rv = open_target();
	u64 before;

	ck_assert_int_eq(rvperfctr_control(rv, count_with(&control, 1)), 0);
	ck_assert_uint_eq(measure(rv), INSNS_STOP(1000));
	before = count_now(rv);
	rvperfctr_close(rv);
	run();
	wait_stopped();
	rv = open_target();
	ck_assert_uint_eq(count_now(rv), before + INSNS_STOP(1000));
	kill_target();
}
END_TEST

/* ESRCH: the thread is not stopped, not traced by the caller, or does not exist. */
START_TEST(errors)
{
	struct rvperfctr *rv;
	pid_t pid;

	assert_null(rvperfctr_open(getppid()), ESRCH);
	assert_null(rvperfctr_open(1), ESRCH);
	assert_null(rvperfctr_open(0), ESRCH);
	assert_null(rvperfctr_open(-1), ESRCH);
	assert_null(rvperfctr_open(4000000), ESRCH);
	rv = open_target();
	ck_assert_int_eq(rvperfctr_control(rv, count_with(&control, 1)), 0);
	pid = fork();
	if (!pid) {
		if (!rvperfctr_control(rv, &control) || errno != ESRCH)
			die("a thread that does not trace controls: %s", strerror(errno));
		if (rvperfctr_open(target) || errno != ESRCH)
			die("a thread that does not trace opens: %s", strerror(errno));
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	/* while the child runs */
	*rounds = 20000000;
	run();
	assert_null(rvperfctr_open(target), ESRCH);
	assert_fails(rvperfctr_control(rv, &control), ESRCH);
	assert_fails(rvperfctr_stop(rv), ESRCH);
	assert_fails(rvperfctr_unlink(rv), ESRCH);
	control.cpu_control.pmc_map[0] = 99;
	assert_fails(rvperfctr_control(rv, &control), ESRCH);
	wait_stopped();
	/* none of these calls has stopped the counters */
	ck_assert_uint_eq(count_now(rv), INSNS_STOP(20000000));
	assert_fails(rvperfctr_control(rv, &control), EINVAL);
	kill_target();
	assert_null(rvperfctr_open(target), ESRCH);
	assert_fails(rvperfctr_control(rv, &control), ESRCH);
	ck_assert_uint_eq(count_now(rv), INSNS_STOP(20000000));
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, counts);
	tcase_add_test(tc, same_as_new);
	tcase_add_test(tc, closed);
	tcase_add_test(tc, errors);
}

int main(void)
{
	open_device();
	return run_tests("perfctr_remote", add);
}
