// SPDX-License-Identifier: GPL-2.0
/*
 * A PREEMPT_RT kernel: it has the features of others, also for real-time threads, which
 * run instead of the kernel's own threads.  Exact: one CPU, virtual time.
 */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "overflow.h"

static void be_fifo(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		die("sched_setscheduler: %s", strerror(errno));
}

START_TEST(no_feature_is_missing)
{
	ck_assert(is_rt());
	ck_assert(has(VPERFCTR_FEATURE_PCINT));
	ck_assert(has(VPERFCTR_FEATURE_INHERIT));
	ck_assert(has(VPERFCTR_FEATURE_INHERIT_IMODE));
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
	(void)sig;
	(void)si;
	(void)context;
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

/* ---- inheritance --------------------------------------------------------- */

/* That many children can be forked before a thread of the kernel has run. */
#define BURST	64

/* Return how many of n children, which are forked as fast as possible, were missed. */
static u32 fork_many(unsigned int n)
{
	struct reading r;
	unsigned int i;
	int fd = open_state(0);

	assert_ok(count_insns(fd, VPERFCTR_CONTROL_INHERIT));
	for (i = 0; i < n; i++)
		ck_assert_int_gt(start_child(FORKED, 1000, NULL, 0), 0);
	for (i = 0; i < n; i++)
		ck_assert_int_gt(wait(NULL), 0);
	read_state(fd, &r);
	ck_assert_uint_eq(r.children[1], (n - r.read.children_missed) * INSNS_CHILD(1000));
	ck_assert_uint_eq(r.read.status & CHILDREN, 0);
	return r.read.children_missed;
}

/* An ordinary parent: all children are counted. */
START_TEST(many_children)
{
	ck_assert_uint_eq(fork_many(500), 0);
}
END_TEST

/*
 * A parent with the highest priority lets nothing else run, and so the kernel gets no memory
 * for more children than a burst has.  These are counted, and all others are missed.
 */
START_TEST(children_of_real_time_thread)
{
	be_fifo(sched_get_priority_max(SCHED_FIFO));
	if (_i)
		ck_assert_uint_le(fork_many(200), 200 - BURST);
	else
		ck_assert_uint_eq(fork_many(BURST), 0);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, settle, NULL);
	tcase_add_test(tc, no_feature_is_missing);
	tcase_add_test(tc, signal_of_real_time_thread);
	tcase_add_test(tc, signal_ends_sleep);
	tcase_add_test(tc, many_children);
	tcase_add_loop_test(tc, children_of_real_time_thread, 0, 2);
}

int main(void)
{
	open_device();
	return run_tests("rt", add);
}
