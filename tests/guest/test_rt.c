// SPDX-License-Identifier: GPL-2.0
/*
 * A PREEMPT_RT kernel: signals of real-time threads, which run instead of the kernel's
 * own threads.  Exact: one CPU, virtual time.
 */
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "overflow.h"

static void be_fifo(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		die("sched_setscheduler: %s", strerror(errno));
}

START_TEST(overflows_are_not_missing)
{
	ck_assert(is_rt());
	ck_assert(has(VPERFCTR_FEATURE_PCINT));
	ck_assert_uint_gt(info.max_period, 0);
	ck_assert_uint_gt(info.min_period, 0);
}
END_TEST

/* ---- signals ------------------------------------------------------------- */

/*
 * The handler of a thread with the highest priority begins at the overflow, as that of any
 * other thread: no thread of the kernel has to run first.
 */
START_TEST(signal_of_real_time_thread)
{
	struct sums sums;

	if (!IMODE_NMI)
		return;
	account_init();
	be_fifo(sched_get_priority_max(SCHED_FIFO));
	acc->n = 200000;
	start_overflow(5003, SIGRTMIN);
	marked_loop(acc->n);
	assert_ok(stop_all(acc->fd));
	read_sums(acc->fd, &sums);
	ck_assert_uint_eq(acc->wrong, 0);
	ck_assert_uint_eq(acc->signals, sums.pmc[0] / 5003);
	ck_assert_uint_ge(acc->signals, 50);
	ck_assert_uint_eq(acc->uneven, 0);
}
END_TEST

static volatile struct {
	u32 signals;
} *slept;

static void on_sleep(int sig, siginfo_t *si, void *context)
{
	slept->signals++;
}

/*
 * An overflow in a call that is about to sleep: the signal ends the sleep.  The periods grow
 * until the overflow comes after the start of that call.
 */
START_TEST(signal_ends_sleep)
{
	const struct timespec time = { .tv_nsec = 100000000 };
	struct control control;
	bool interrupted = false;
	int fd = open_state(0);
	u64 period;

	slept = shared_memory(sizeof(*slept));
	handle(SIGRTMIN, on_sleep);
	for (period = 300; !interrupted && period < 1000000; period += period / 5) {
		control_init(&control, 1);
		control_add_imode(&control, IMODE_MAP, INSNS_KERNEL, period);
		control.c.si_signo = SIGRTMIN;
		slept->signals = 0;
		assert_ok(set_control(fd, &control));
		/* It may have come before. */
		if (!slept->signals)
			interrupted = nanosleep(&time, NULL);
		assert_ok(stop_all(fd));
	}
	ck_assert(interrupted);
	ck_assert_uint_eq(slept->signals, 1);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, settle, NULL);
	tcase_add_test(tc, overflows_are_not_missing);
	tcase_add_test(tc, signal_of_real_time_thread);
	tcase_add_test(tc, signal_ends_sleep);
}

int main(void)
{
	open_device();
	return run_tests("rt", add);
}
