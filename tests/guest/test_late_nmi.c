// SPDX-License-Identifier: GPL-2.0
/*
 * NMIs that come a while after their overflow, as on AMD processors: by then another
 * thread may run, or nothing may count.  The suite checks that the kernel does not
 * complain of unknown NMIs.  Counts must be exact.
 */
#include <fcntl.h>
#include <sched.h>

#include "overflow.h"

#define PERIOD	20000

static int fd;

static void setup(void)
{
	pin(0);
	acc = shared_memory(PAGE);
	fd = open_state(0);
	acc->fd = fd;
	acc->resumes = ~0U;
	handle(SIGUSR1, on_overflow);
}

/* Counter 1 overflows; counter 0 counts the same without overflows. */
static void start(int signo)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control_add_imode(&control, 1, INSNS_USER, PERIOD);
	control.c.si_signo = signo;
	assert_ok(set_control(fd, &control));
}

static void check_sums(void)
{
	struct reading r;

	read_state(fd, &r);
	ck_assert_uint_eq(r.own[1], r.own[2]);
	ck_assert_uint_gt(r.own[1], 0);
	ck_assert_uint_eq(acc->wrong, 0);
}

/* A period ends late by the delay of the NMI. */
START_TEST(periods_end_late)
{
	start(SIGUSR1);
	loop(100 * PERIOD / 2);
	check_sums();
	ck_assert_uint_ge(acc->signals, 80);
	ck_assert_uint_le(acc->signals, 100);
}
END_TEST

/* A switch finds the overflow before the NMI comes, which then hits another thread. */
START_TEST(nmi_after_switch)
{
	const unsigned int nr = 1 + _i;
	pid_t pid[3];
	unsigned int i;

	for (i = 0; i < nr; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		setup();
		start(SIGUSR1);
		while (acc->signals < 300) {
			loop(100);
			sched_yield();
		}
		check_sums();
		_exit(0);
	}
	for (i = 0; i < nr; i++)
		ck_assert_int_eq(wait_for(pid[i]), 0);
	ck_assert_eventually(counters_free());
}
END_TEST

/* The NMI comes under another control, or without one, and when nothing counts. */
START_TEST(nmi_after_stop)
{
	struct control tsc;
	unsigned int i, j;

	control_init(&tsc, 1);
	for (i = 0; i < 200; i++) {
		start(0);
		/* The end of a period, and then a part of the delay, or all of it. */
		for (j = 0; !overflow_of(fd) && j < PERIOD / 400 + i; j++)
			loop(200);
		switch (_i) {
		case 0:
			assert_ok(stop_all(fd));
			break;
		case 1:
			assert_ok(set_control(fd, &tsc));
			break;
		case 2:
			assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
			break;
		case 3:
			assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
			close(fd);
			fd = open_state(0);
			break;
		}
	}
	assert_ok(stop_all(fd));
	ck_assert(counters_free());
}
END_TEST

static void sample_by_perf(void)
{
	unsigned int signals = perf_samples(PERF_COUNT_HW_INSTRUCTIONS, PERIOD);

	ck_assert_uint_ge(signals, 80);
	ck_assert_uint_le(signals, 105);
}

/* The NMI of perf's event comes when states have the counters, or the other way round. */
START_TEST(nmi_of_perf)
{
	unsigned int i;

	for (i = 0; i < 5; i++) {
		sample_by_perf();
		acc->signals = 0;
		start(SIGUSR1);
		loop(100 * PERIOD / 2);
		check_sums();
		ck_assert_uint_ge(acc->signals, 80);
		assert_ok(stop_all(fd));
	}
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, periods_end_late);
	tcase_add_loop_test(tc, nmi_after_switch, 0, 3);
	tcase_add_loop_test(tc, nmi_after_stop, 0, 4);
	tcase_add_test(tc, nmi_of_perf);
}

int main(void)
{
	open_device();
	return run_tests("late_nmi", add);
}
