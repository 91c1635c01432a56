// SPDX-License-Identifier: GPL-2.0
/*
 * i-mode counters, signals and IRESUME, exactly: one CPU, virtual time.
 *
 * There is an overflow after each P counted instructions, and its interrupt comes at
 * that instruction.  So there must be total / P overflows.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "known.h"
#include "overflow.h"

#define NR(array)	(sizeof(array) / sizeof((array)[0]))

static int fd;

static void setup(void)
{
	fd = account_init();
}

/* Stop all counters and return the final sum. */
static u64 stop_and_sum(void)
{
	struct sums sums;

	assert_ok(stop_all(fd));
	read_sums(fd, &sums);
	return sums.pmc[0];
}

static void check_account(u64 signals)
{
	ck_assert_uint_eq(acc->wrong, 0);
	ck_assert_uint_eq(acc->signals, signals);
	if (signals)
		ck_assert_uint_eq(acc->masks, 1);
}

/* ---- number and place of overflows ------------------------------------------- */

static const u64 periods[] = { 1000, 1001, 4999, 100000, 1234567 };

START_TEST(signals_are_total_over_period)
{
	u64 total;

	acc->period = periods[_i];
	start_overflow(periods[_i], SIGUSR1);
	loop(500000);
	total = stop_and_sum();
	ck_assert_uint_ge(total, 1000000);
	check_account(total / periods[_i]);
}
END_TEST

/*
 * In the loop, the distance of two overflows is the period, less the instructions that
 * the handler executes after IRESUME.
 */
START_TEST(signals_are_one_period_apart)
{
	const u64 tried[] = { 1009, 5003, 1000, 77777 };
	long handler = 0;
	unsigned int i;

	/* The last overflow's signal may not arrive before all is stopped. */
	if (!IMODE_NMI)
		return;
	for (i = 0; i < NR(tried); i++) {
		acc->n = 200000;
		acc->place = -1;
		acc->step = 0;
		acc->elsewhere = acc->signals = 0;
		start_overflow(tried[i], SIGRTMIN);
		marked_loop(acc->n);
		check_account(stop_and_sum() / tried[i]);
		ck_assert_uint_ge(acc->signals, 5);
		/* Some overflows may be in the code before and after the loop. */
		ck_assert_uint_le(acc->elsewhere, 2);
		ck_assert_uint_eq(acc->uneven, 0);
		if (!handler)
			handler = tried[i] - acc->step;
		ck_assert_int_eq(acc->step, tried[i] - handler);
	}
	ck_assert_int_gt(handler, 0);
	ck_assert_int_lt(handler, 200);
}
END_TEST

START_TEST(fixed_counter)
{
	u64 total;

	if (!have_fixed_insns())
		return;
	handle(SIGRTMAX, on_overflow);
	acc->period = 10007;
	assert_ok(try_overflow(fd, FIXED_INSNS, FIXED_USER, 10007, SIGRTMAX));
	loop(500000);
	total = stop_and_sum();
	check_account(total / 10007);
}
END_TEST

/* Many overflows in a row: OVERFLOWS in the environment, where each takes long. */
START_TEST(a_hundred_thousand_overflows)
{
	const char *number = getenv("OVERFLOWS");
	u64 many = number ? strtoull(number, NULL, 0) : 100000, total;

	start_overflow(300, SIGUSR1);
	while (acc->signals < many)
		loop(10000);
	total = stop_and_sum();
	check_account(total / 300);
}
END_TEST

/* The longest period: no test can wait for its end, which must not come early. */
START_TEST(longest_period)
{
	struct sums a, b;

	handle(SIGUSR1, on_overflow);
	assert_ok(try_overflow(fd, IMODE_MAP, IMODE_BOTH, info.max_period, SIGUSR1));
	loop(10000);
	msleep(5);
	read_sums(fd, &a);
	loop(10000);
	read_sums(fd, &b);
	ck_assert_uint_ge(b.pmc[0] - a.pmc[0], 20000);
	/* A tick of the clock may be in between. */
	ck_assert_uint_lt(b.pmc[0] - a.pmc[0], 100000 * (is_debug_kernel() ? IMODE_SLOWDOWN : 1));
	ck_assert_uint_eq(acc->signals, 0);
	ck_assert_uint_eq(overflow_of(fd), 0);
}
END_TEST

/* ---- several counters -------------------------------------------------------- */

static u32 mask_of_handler[64];

static void on_several(int sig, siginfo_t *si, void *context)
{
	struct reading r;

	(void)sig;
	(void)context;
	read_state(fd, &r);
	if (si->si_code != SI_PMC_OVF || r.read.overflow != (u32)si->si_pmc_ovf_mask)
		account_wrong(__LINE__);
	/* An a-mode counter of the same event agrees, whatever the i-mode ones started with. */
	if (r.own[1] != r.own[2] || r.own[1] != r.own[3])
		account_wrong(__LINE__);
	if (acc->signals < NR(mask_of_handler))
		mask_of_handler[acc->signals] = si->si_pmc_ovf_mask;
	acc->signals++;
	if (call(fd, VPERFCTR_IRESUME, NULL))
		account_wrong(__LINE__);
}

static const struct {
	u64 first, second;
} pairs[] = { { 1000, 1000 }, { 1000, 2000 }, { 3001, 1000 }, { 700, 100000 } };

/* One a-mode and two i-mode counters, all of which count instructions. */
START_TEST(one_mask_for_all)
{
	u64 first = pairs[_i].first, second = pairs[_i].second, at, n = 0;
	struct control control;
	struct sums sums;
	unsigned int i;

	if (nr_general() + nr_fixed() < 3 || !IMODE_ALL)
		return;
	handle(SIGUSR2, on_several);
	control_init(&control, 1);
	control_add(&control, 1, INSNS_USER);
	control_add_imode(&control, IMODE, first);
	if (have_fixed_insns())
		control_add_imode(&control, FIXED_INSNS, FIXED_USER, second);
	else
		control_add_imode(&control, 2, INSNS_USER, second);
	control.c.si_signo = SIGUSR2;
	assert_ok(set_control(fd, &control));
	loop(100000);
	assert_ok(stop_all(fd));
	read_sums(fd, &sums);
	ck_assert_uint_eq(acc->wrong, 0);
	ck_assert_uint_eq(sums.pmc[0], sums.pmc[1]);
	ck_assert_uint_eq(sums.pmc[0], sums.pmc[2]);
	ck_assert_uint_ge(acc->signals, 10);
	/* The next overflow is at the next multiple of either period. */
	for (at = 1, i = 0; at <= sums.pmc[0]; at++) {
		u32 mask = (at % first ? 0 : 2) | (at % second ? 0 : 4);

		if (!mask)
			continue;
		n++;
		if (i < NR(mask_of_handler) && i < acc->signals) {
			ck_assert_msg(mask_of_handler[i] == mask,
				      "signal %u, at %llu: mask %u, not %u",
				      i, at, mask_of_handler[i], mask);
			i++;
		}
	}
	ck_assert_uint_eq(acc->signals, n);
}
END_TEST

/* ---- counters that wait for IRESUME ------------------------------------------ */

static void change_signal_mask(int how, int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	ck_assert_int_eq(sigprocmask(how, &set, NULL), 0);
}

/* Without a signal, poll() and READ report the overflow. */
START_TEST(without_a_signal)
{
	struct sums a, b;
	const struct vperfctr_page *page = map_state(fd);

	assert_errno(call(fd, VPERFCTR_IRESUME, NULL), ENODATA);
	start_overflow(100000, 0);
	assert_errno(call(fd, VPERFCTR_IRESUME, NULL), ENODATA);
	ck_assert_int_eq(poll_now(fd), 0);
	ck_assert_uint_eq(overflow_of(fd), 0);
	loop(60000);
	ck_assert_int_eq(poll_now(fd), POLLIN);
	ck_assert_uint_eq(overflow_of(fd), 1);
	read_sums(fd, &a);
	ck_assert_uint_eq(a.status, ATTACHED | ACTIVE | OVERFLOW);
	ck_assert_uint_eq(a.pmc[0], 100000);
	/* The TSC keeps counting, and nothing else does. */
	loop(10000);
	ck_assert_uint_eq(page->cstatus & VPERFCTR_CSTATUS_RDPMC, 0);
	ck_assert_uint_eq(page->ctr[0].sum, 100000);
	ck_assert_uint_gt(self_read_tsc(page), a.tsc + tsc_of(10000));
	msleep(1);
	read_sums(fd, &b);
	ck_assert_uint_eq(b.pmc[0], 100000);
	ck_assert_uint_gt(b.tsc, a.tsc + tsc_of(10000));
	ck_assert_int_eq(poll_now(fd), POLLIN);

	assert_ok(call(fd, VPERFCTR_IRESUME, NULL));
	ck_assert_int_eq(poll_now(fd), 0);
	assert_status(fd, ATTACHED | ACTIVE);
	assert_errno(call(fd, VPERFCTR_IRESUME, NULL), ENODATA);
	/* The new period starts at the ireset, not at the old remainder. */
	loop(10000);
	ck_assert_int_eq(poll_now(fd), 0);
	ck_assert_uint_ge(self_read(page, 0), 120000);
	loop(60000);
	ck_assert_int_eq(poll_now(fd), POLLIN);
	read_sums(fd, &b);
	ck_assert_uint_eq(b.pmc[0], 200000);
}
END_TEST

/* The overflow wakes another process's poll(); it may READ, but not IRESUME. */
START_TEST(poll_from_another_process)
{
	pid_t pid;

	assert_errno(try_overflow(fd, IMODE, 0, 0), EINVAL);
	start_overflow(1000000, 0);
	pid = fork();
	if (!pid) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, 10000) != 1 || p.revents != POLLIN)
			_exit(1);
		if (overflow_of(fd) != 1)
			_exit(2);
		_exit(call(fd, VPERFCTR_IRESUME, NULL) == -EPERM ? 0 : 3);
	}
	msleep(1);
	loop(600000);
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_uint_eq(overflow_of(fd), 1);
	assert_ok(call(fd, VPERFCTR_IRESUME, NULL));
}
END_TEST

START_TEST(handler_without_iresume)
{
	struct sums a;

	acc->resumes = 0;
	acc->period = 5000;
	start_overflow(5000, SIGUSR1);
	loop(50000);
	check_account(1);
	msleep(1);
	loop(50000);
	check_account(1);
	read_sums(fd, &a);
	ck_assert_uint_eq(a.pmc[0], 5000);
	ck_assert_uint_eq(a.status, ATTACHED | ACTIVE | OVERFLOW);
	/* IRESUME may come later. */
	assert_ok(call(fd, VPERFCTR_IRESUME, NULL));
	loop(5000);
	check_account(2);
}
END_TEST

START_TEST(blocked_signal)
{
	struct sums a;

	change_signal_mask(SIG_BLOCK, SIGUSR1);
	start_overflow(5000, SIGUSR1);
	loop(50000);
	check_account(0);
	msleep(1);
	read_sums(fd, &a);
	ck_assert_uint_eq(a.pmc[0], 5000);
	ck_assert_uint_eq(a.status, ATTACHED | ACTIVE | OVERFLOW);
	acc->resumes = 0;
	acc->period = 5000;	/* the handler checks that counting has stopped */
	change_signal_mask(SIG_UNBLOCK, SIGUSR1);
	check_account(1);
	loop(50000);
	check_account(1);
}
END_TEST

/*
 * A standard signal that is pending is not queued again.  The set of counters that have overflowed
 * can still be read.
 */
static volatile u32 plain_signals, codes;

static void on_plain(int sig, siginfo_t *si, void *context)
{
	(void)sig;
	(void)context;
	plain_signals++;
	if (si->si_code == SI_PMC_OVF)
		codes++;
}

START_TEST(merged_signals)
{
	handle(SIGUSR1, on_plain);
	change_signal_mask(SIG_BLOCK, SIGUSR1);
	ck_assert_int_eq(raise(SIGUSR1), 0);
	assert_ok(try_overflow(fd, IMODE, 5000, SIGUSR1));
	loop(50000);
	change_signal_mask(SIG_UNBLOCK, SIGUSR1);
	ck_assert_uint_eq(plain_signals, 1);
	ck_assert_uint_eq(codes, 0);
	ck_assert_uint_eq(overflow_of(fd), 1);
	/* The next overflow has its own signal. */
	assert_ok(call(fd, VPERFCTR_IRESUME, NULL));
	loop(50000);
	ck_assert_uint_eq(plain_signals, 2);
	ck_assert_uint_eq(codes, 1);
	ck_assert_uint_eq(overflow_of(fd), 1);
}
END_TEST

START_TEST(ignored_signal)
{
	start_overflow(5000, SIGUSR1);
	signal(SIGUSR1, SIG_IGN);
	loop(50000);
	msleep(1);
	ck_assert_uint_eq(overflow_of(fd), 1);
	ck_assert_int_eq(poll_now(fd), POLLIN);
	handle(SIGUSR1, on_overflow);
	msleep(1);
	check_account(0);
	assert_ok(call(fd, VPERFCTR_IRESUME, NULL));
	loop(5000);
	check_account(stop_and_sum() / 5000 - 1);
}
END_TEST

static const int deadly[] = { SIGUSR1, SIGPROF, SIGKILL, 34, 64 };

START_TEST(default_action_kills)
{
	pid_t pid = fork();

	if (!pid) {
		account_init();
		signal(deadly[_i], SIG_DFL);
		if (try_overflow(acc->fd, IMODE, 5000, deadly[_i]))
			_exit(1);
		loop(50000);
		_exit(2);
	}
	ck_assert_int_eq(wait_for(pid), 128 + deadly[_i]);
}
END_TEST

/* SUSPEND and an overflow are independent pauses: counting needs the end of both. */
START_TEST(suspended_during_overflow)
{
	struct sums a;

	start_overflow(5000, 0);
	loop(50000);
	assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
	assert_status(fd, ATTACHED | ACTIVE | SUSPENDED | OVERFLOW);
	read_sums(fd, &a);
	ck_assert_uint_eq(a.pmc[0], 5000);
	ck_assert_int_eq(poll_now(fd), POLLIN);
	assert_ok(call(fd, VPERFCTR_RESUME, NULL));
	assert_status(fd, ATTACHED | ACTIVE | OVERFLOW);
	loop(50000);
	read_sums(fd, &a);
	ck_assert_uint_eq(a.pmc[0], 5000);

	assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
	assert_ok(call(fd, VPERFCTR_IRESUME, NULL));
	assert_status(fd, ATTACHED | ACTIVE | SUSPENDED);
	loop(50000);
	read_sums(fd, &a);
	ck_assert_uint_eq(a.pmc[0], 5000);
	assert_errno(call(fd, VPERFCTR_IRESUME, NULL), ENODATA);
	assert_ok(call(fd, VPERFCTR_RESUME, NULL));
	loop(1000);
	read_sums(fd, &a);
	ck_assert_uint_eq(a.status, ATTACHED | ACTIVE);
	ck_assert_uint_gt(a.pmc[0], 7000);
	ck_assert_uint_lt(a.pmc[0], 10000);
}
END_TEST

START_TEST(control_drops_overflow)
{
	struct sums a;

	start_overflow(5000, 0);
	loop(50000);
	ck_assert_uint_eq(overflow_of(fd), 1);
	/* The counter restarts; its sum is preserved. */
	{
		struct control control;

		control_init(&control, 1);
		control_add_imode(&control, IMODE, 50000);
		control.c.preserve = 1;
		assert_ok(set_control(fd, &control));
	}
	assert_errno(call(fd, VPERFCTR_IRESUME, NULL), ENODATA);
	ck_assert_int_eq(poll_now(fd), 0);
	assert_status(fd, ATTACHED | ACTIVE);
	loop(50000);
	read_sums(fd, &a);
	ck_assert_uint_eq(a.status, ATTACHED | ACTIVE | OVERFLOW);
	ck_assert_uint_eq(a.pmc[0], 55000);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	assert_errno(call(fd, VPERFCTR_IRESUME, NULL), ESRCH);
}
END_TEST

/* ---- signals of all kinds ---------------------------------------------------- */

/* Every signal number is accepted, whatever its effect. */
START_TEST(every_signal_accepted)
{
	struct control control;
	int sig;

	for (sig = 1; sig <= 64; sig++) {
		control_init(&control, 1);
		control_add_imode(&control, IMODE, 1000000000);
		control.c.si_signo = sig;
		assert_ok(set_control(fd, &control));
	}
	assert_errno(try_overflow(fd, IMODE, 1000000000, 65), EINVAL);
	assert_errno(try_overflow(fd, IMODE, 1000000000, -1), EINVAL);
}
END_TEST

START_TEST(every_signal_arrives)
{
	int sig;

	for (sig = 1; sig <= 64; sig++) {
		if (sig == SIGKILL || sig == SIGSTOP || sig == 32 || sig == 33)
			continue;	/* cannot be handled; used by libc */
		acc->signals = 0;
		acc->period = 1000;
		start_overflow(1000, sig);
		loop(2000);
		check_account(stop_and_sum() / 1000);
	}
}
END_TEST

static char *alternate;

static void on_alternate(int sig, siginfo_t *si, void *context)
{
	char here;

	if (&here < alternate || &here >= alternate + 65536)
		account_wrong(__LINE__);
	on_overflow(sig, si, context);
}

START_TEST(alternate_stack)
{
	struct sigaction action = {
		.sa_sigaction = on_alternate, .sa_flags = SA_SIGINFO | SA_ONSTACK,
	};
	stack_t stack = { .ss_size = 65536 };

	alternate = stack.ss_sp = shared_memory(65536);
	ck_assert_int_eq(sigaltstack(&stack, NULL), 0);
	ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
	acc->period = 3000;
	assert_ok(try_overflow(fd, IMODE, 3000, SIGUSR1));
	loop(100000);
	check_account(stop_and_sum() / 3000);
	ck_assert_uint_ge(acc->signals, 60);
}
END_TEST

static void set_pending_limit(rlim_t limit)
{
	struct rlimit r = { limit, 1000 };

	ck_assert_int_eq(setrlimit(RLIMIT_SIGPENDING, &r), 0);
}

/* The queue is full: the signal comes when there is room. */
START_TEST(full_queue)
{
	set_pending_limit(0);
	start_overflow(5000, SIGRTMIN + 3);
	loop(50000);
	check_account(0);
	ck_assert_uint_eq(overflow_of(fd), 1);
	ck_assert_int_eq(poll_now(fd), POLLIN);
	loop(20000000);		/* 40 ms: attempts to send it fail */
	check_account(0);
	acc->resumes = 0;
	acc->period = 5000;
	set_pending_limit(100);
	if (_i)
		loop(10000000);	/* 20 ms, without a switch */
	else
		msleep(1);	/* at the next switch to this thread */
	check_account(1);
	/* It comes only once. */
	loop(20000000);
	msleep(30);
	check_account(1);
	assert_ok(call(fd, VPERFCTR_IRESUME, NULL));
	loop(50000);
	check_account(2);
}
END_TEST

/* A signal that cannot be queued is dropped when a new control replaces the old one. */
START_TEST(full_queue_then_control)
{
	set_pending_limit(0);
	start_overflow(5000, SIGRTMIN + 3);
	loop(50000);
	ck_assert_uint_eq(overflow_of(fd), 1);
	if (_i == 0)
		assert_ok(try_overflow(fd, IMODE, 1000000000, SIGRTMIN + 3));
	else if (_i == 1)
		assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	else
		assert_ok(call(fd, VPERFCTR_IRESUME, NULL));
	if (_i == 2)	/* before the next overflow */
		assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
	set_pending_limit(100);
	msleep(30);
	loop(10000000);
	check_account(0);
}
END_TEST

/* ---- an owner in another PID namespace ---------------------------------------- */

struct contained {
	volatile u32 go, done;
};

static void wait_stopped(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
		die("the target ended with %#x, or %s", status, strerror(errno));
}

/*
 * si_pid, which the kernel translates if sender and receiver are in different PID
 * namespaces, is the set of counters here.  The monitor is outside.
 */
START_TEST(pid_namespaces)
{
	struct contained *c = shared_memory(sizeof(*c));
	struct control control;
	pid_t pid;

	pid = syscall(SYS_clone, CLONE_NEWPID | CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		handle(SIGUSR1, on_overflow);
		while (!c->go)
			sched_yield();
		loop(100000);
		call(acc->fd, VPERFCTR_SUSPEND, NULL);
		c->done = getpid();
		_exit(0);
	}
	ck_assert_int_eq(ptrace(PTRACE_SEIZE, pid, 0, 0), 0);
	msleep(1);
	ck_assert_int_eq(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
	wait_stopped(pid);
	acc->fd = open_thread(pid, VPERFCTR_OPEN_CREAT);
	ck_assert_int_ge(acc->fd, 0);
	control_init(&control, 1);
	control_add_imode(&control, IMODE, 3000);
	control_add_imode(&control, 1, INSNS_USER, 3000);
	control.c.si_signo = SIGUSR1;
	assert_ok(set_control(acc->fd, &control));
	c->go = 1;
	ck_assert_int_eq(ptrace(PTRACE_DETACH, pid, 0, 0), 0);
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_uint_eq(c->done, 1);	/* the namespace was really a new one */
	ck_assert_uint_eq(acc->wrong, 0);
	ck_assert_uint_ge(acc->signals, 60);
	ck_assert_uint_eq(acc->masks, 3);
	ck_assert_uint_eq(acc->signals, count_of(acc->fd) / 3000);
}
END_TEST

/* ---- calls from inside the handler ------------------------------------------ */

static void on_control(int sig, siginfo_t *si, void *context)
{
	struct sums sums;

	(void)context;
	acc->signals++;
	if (si->si_code != SI_PMC_OVF || si->si_pmc_ovf_mask != 1)
		account_wrong(__LINE__);
	read_sums(fd, &sums);
	if (sums.pmc[0] != acc->period)
		account_wrong(__LINE__);
	acc->period = acc->period * 3 / 2;
	if (acc->signals > 6)
		return;
	if (try_overflow(fd, IMODE, acc->period, sig))
		account_wrong(__LINE__);
	/* No overflow is left that waits for IRESUME. */
	if (call(fd, VPERFCTR_IRESUME, NULL) != -ENODATA)
		account_wrong(__LINE__);
}

START_TEST(control_from_the_handler)
{
	handle(SIGUSR1, on_control);
	acc->period = 1000;
	assert_ok(try_overflow(fd, IMODE, 1000, SIGUSR1));
	loop(200000);
	ck_assert_uint_eq(acc->wrong, 0);
	ck_assert_uint_eq(acc->signals, 7);
}
END_TEST

static void on_unlink(int sig, siginfo_t *si, void *context)
{
	(void)sig;
	(void)context;
	acc->signals++;
	if (si->si_code != SI_PMC_OVF || si->si_pmc_ovf_mask != 1)
		account_wrong(__LINE__);
	if (call(fd, VPERFCTR_UNLINK, NULL))
		account_wrong(__LINE__);
}

START_TEST(unlink_from_the_handler)
{
	struct sums a;

	handle(SIGUSR1, on_unlink);
	assert_ok(try_overflow(fd, IMODE, 1000, SIGUSR1));
	loop(200000);
	ck_assert_uint_eq(acc->wrong, 0);
	ck_assert_uint_eq(acc->signals, 1);
	read_sums(fd, &a);
	ck_assert_uint_eq(a.pmc[0], 1000);
	ck_assert_uint_eq(a.status & ~OVERFLOW, 0);
	if (has_other_user())
		ck_assert(counters_free());
}
END_TEST

/* ---- an overflow at each instruction of a sequence ------------------------------ */

static void seq_nothing(void)
{
	loop(10);
}

static void seq_yield(void)
{
	loop(5);
	sched_yield();
	loop(5);
	sched_yield();
}

static void seq_pause(void)
{
	call(fd, VPERFCTR_SUSPEND, NULL);
	loop(5);
	call(fd, VPERFCTR_RESUME, NULL);
	loop(5);
}

static void seq_read(void)
{
	struct sums sums;

	read_sums(fd, &sums);
	loop(5);
	read_sums(fd, &sums);
}

static void seq_sleep(void)
{
	struct timespec ts = { .tv_nsec = 10000 };

	nanosleep(&ts, NULL);
	loop(5);
}

/* A mapped page makes the kernel clear the counters of other threads. */
static void seq_map(void)
{
	const struct vperfctr_page *page = map_state(fd);

	loop(5);
	munmap((void *)page, PAGE);
}

/* A page fault. */
static void seq_fault(void)
{
	volatile char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);

	*p = 1;
	loop(5);
	munmap((void *)p, PAGE);
}

static void seq_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	wait_for(pid);
}

static void seq_signal(void)
{
	signal(SIGUSR2, SIG_IGN);
	raise(SIGUSR2);
}

static void (*const sequences[])(void) = {
	seq_nothing, seq_yield, seq_pause, seq_read, seq_sleep, seq_map, seq_fault, seq_signal,
	seq_fork,
};

/* Start another counted thread that switches all the time, so that ours switches too. */
static pid_t start_rival(void)
{
	pid_t pid = fork();

	if (!pid) {
		int other = open_state(0);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (try_overflow(other, IMODE, 100003, 0))
			_exit(1);
		for (;;) {
			sched_yield();
			call(other, VPERFCTR_IRESUME, NULL);
		}
	}
	return pid;
}

/*
 * The instructions by which an overflow may be late if it is due after the first one that
 * follows a switch: LATE in the environment.  A PMU of KVM counts by events of perf, which
 * loads no counter with a shorter distance than 2.
 */
static u64 allowed_lateness(void)
{
	const char *late = getenv("LATE");

	return late ? strtoull(late, NULL, 0) : 0;
}

/*
 * The handler does not call IRESUME.  So counting ends exactly at the overflow, and there
 * is one signal if there is an overflow.
 */
START_TEST(sweep_user)
{
	pid_t rival = start_rival();
	u64 late = allowed_lateness(), period;
	struct sums sums;

	acc->resumes = 0;
	/* The first run resolves symbols. */
	sequences[_i]();
	for (period = info.min_period; ; period++) {
		ck_assert_uint_lt(period, 5000);
		acc->signals = 0;
		start_overflow(period, SIGUSR1);
		sequences[_i]();
		assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
		read_sums(fd, &sums);
		ck_assert_uint_eq(acc->wrong, 0);
		if (!(sums.status & OVERFLOW))
			break;
		ck_assert_msg(acc->signals == 1 && sums.pmc[0] - period <= late,
			      "period %llu: %u signals, sum %llu", period, acc->signals,
			      sums.pmc[0]);
		ck_assert_uint_eq(overflow_of(fd), 1);
	}
	ck_assert_uint_eq(acc->signals, 0);
	ck_assert_uint_lt(sums.pmc[0], period);
	ck_assert_uint_ge(period, 20);
	kill(rival, SIGKILL);
	wait_for(rival);
}
END_TEST

/* A whole sequence, in kernel mode too, in steps that skip few instructions. */
START_TEST(sweep_kernel)
{
	pid_t rival = start_rival();
	unsigned int step = 1, none = 0;
	u64 period;

	acc->resumes = 0;
	handle(SIGUSR1, on_overflow);
	sequences[_i]();
	for (period = info.min_period; none < 3; period += step) {
		acc->signals = 0;
		assert_ok(try_overflow(fd, IMODE_MAP, IMODE_BOTH, period, SIGUSR1));
		sequences[_i]();
		none = check_kernel_overflow(fd, period) ? 0 : none + 1;
		/* At each of the first few hundred instructions, then at fewer and fewer. */
		step = 1 + period / 300;
	}
	ck_assert_uint_ge(period, 1000);
	kill(rival, SIGKILL);
	wait_for(rival);
}
END_TEST

/*
 * The first overflow after a long time without any: an unknown NMI would be in the
 * kernel's log.
 */
START_TEST(first_overflow_after_idle)
{
	u64 period;

	acc->resumes = 0;
	handle(SIGUSR1, on_overflow);
	for (period = info.min_period; period < 200; period += period < 50 ? 1 : 7) {
		msleep(500);
		acc->signals = 0;
		assert_ok(try_overflow(fd, IMODE_MAP, IMODE_BOTH, period, SIGUSR1));
		ck_assert(check_kernel_overflow(fd, period));
	}
}
END_TEST

/*
 * In kernel mode, with IRESUME: handlers are at least a period apart, and none is
 * missing.
 */
static const u64 kernel_periods[] = { 20000, 20011, 50021, 99991 };

static volatile u64 previous;

static void on_distance(int sig, siginfo_t *si, void *context)
{
	struct sums sums;

	(void)sig;
	(void)context;
	read_sums(fd, &sums);
	if (sums.pmc[0] - previous < acc->period ||
	    sums.pmc[0] - previous > acc->period + imode_late() ||
	    si->si_code != SI_PMC_OVF || si->si_pmc_ovf_mask != 1)
		account_wrong(__LINE__);
	previous = sums.pmc[0];
	acc->signals++;
	call(fd, VPERFCTR_IRESUME, NULL);
}

START_TEST(distance_in_the_kernel)
{
	pid_t rival = start_rival();
	unsigned int i, j;
	u64 total;

	handle(SIGUSR1, on_distance);
	/* More than the instructions that an overflow takes itself. */
	acc->period = kernel_periods[_i] * (is_debug_kernel() ? IMODE_SLOWDOWN : 1);
	assert_ok(try_overflow(fd, IMODE_MAP, IMODE_BOTH, acc->period, SIGUSR1));
	for (i = 0; i < 20; i++) {
		for (j = 0; j < NR(sequences); j++)
			sequences[j]();
	}
	total = stop_and_sum();
	ck_assert_uint_eq(acc->wrong, 0);
	ck_assert_uint_ge(acc->signals, 10);
	/* Less than a period is counted after the last overflow. */
	ck_assert_uint_lt(total - previous, acc->period + imode_late());
	kill(rival, SIGKILL);
	wait_for(rival);
}
END_TEST

/* ---- an overflow while the control ends ------------------------------------------ */

/* Another control, with a long period or none: the old overflow is reported once or never. */
START_TEST(sweep_control)
{
	struct control next;
	struct sums sums;
	u64 period, before;

	control_init(&next, 1);
	if (_i)
		control_add(&next, 0, INSNS_USER);
	else
		control_add_imode(&next, IMODE, 1000000);
	acc->resumes = 0;
	for (period = info.min_period, before = period - 1; period < before + 40; period++) {
		acc->signals = 0;
		start_overflow(period, SIGUSR1);
		loop(5);
		assert_ok(set_control(fd, &next));
		loop(100);
		read_sums(fd, &sums);
		ck_assert_uint_eq(acc->wrong, 0);
		/* No overflow of the old control. */
		ck_assert_uint_eq(sums.status, ATTACHED | ACTIVE);
		ck_assert_uint_eq(overflow_of(fd), 0);
		ck_assert_uint_ge(sums.pmc[0], 200);
		ck_assert_uint_lt(sums.pmc[0], 3000);	/* with a handler's instructions */
		ck_assert_uint_le(acc->signals, 1);
		if (acc->signals) {
			ck_assert_uint_eq(before, period - 1);
			before = period;
		}
	}
	ck_assert_uint_ge(before, 12);
}
END_TEST

/*
 * UNLINK and the all-zero control: an earlier overflow can still be read.  On PREEMPT_RT it has
 * no signal if the call's own instruction overflows: the thread sends it on its way back.
 */
START_TEST(sweep_stop)
{
	u64 period, before;
	struct sums sums;

	acc->resumes = 0;
	for (period = info.min_period, before = period - 1; period < before + 40; period++) {
		acc->signals = 0;
		start_overflow(period, SIGUSR1);
		loop(5);
		if (_i)
			assert_ok(stop_all(fd));
		else
			assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
		loop(100);
		read_sums(fd, &sums);
		ck_assert_uint_eq(acc->wrong, 0);
		ck_assert_uint_le(acc->signals, 1);
		ck_assert_uint_le(sums.pmc[0], period);
		ck_assert_uint_eq(overflow_of(fd), sums.pmc[0] == period);
		if (acc->signals || (is_rt() && overflow_of(fd))) {
			ck_assert_uint_eq(sums.pmc[0], period);
			ck_assert_uint_eq(before, period - 1);
			before = period;
		} else {
			/* The sum of all counted instructions. */
			ck_assert_uint_eq(sums.pmc[0], before);
		}
		if (!_i) {
			close(fd);
			fd = acc->fd = open_state(0);
		}
	}
	ck_assert_uint_ge(before, 12);
}
END_TEST

/* The thread ends: its signal may have no receiver. */
START_TEST(sweep_exit)
{
	u64 period, overflows = 0;
	struct sums sums;

	acc->resumes = 0;
	for (period = info.min_period; period < 60; period++) {
		pid_t pid;

		acc->signals = 0;
		pid = fork_files();
		if (!pid) {
			acc->fd = open_state(0);
			start_overflow(period, SIGUSR1);
			loop(3);
			syscall(SYS_exit, 0);
		}
		ck_assert_int_eq(wait_for(pid), 0);
		while (status_of(acc->fd) & ATTACHED)
			msleep(1);
		read_sums(acc->fd, &sums);
		ck_assert_uint_eq(acc->wrong, 0);
		ck_assert_uint_le(sums.pmc[0], period);
		ck_assert_uint_le(acc->signals, 1);
		ck_assert_uint_eq(overflow_of(acc->fd), sums.pmc[0] == period);
		if (acc->signals)
			ck_assert_uint_eq(sums.pmc[0], period);
		overflows += sums.pmc[0] == period;
			/* Without an owner, no caller may use IRESUME. */
		assert_errno(call(acc->fd, VPERFCTR_IRESUME, NULL), ESRCH);
		close(acc->fd);
	}
	ck_assert_uint_ge(overflows, 8);
	ck_assert_uint_lt(overflows, 59);
}
END_TEST

/* The exec instruction included; the new program is counted too. */
START_TEST(sweep_exec)
{
	char *args[] = { "known", NULL };
	u64 period, before = 0;
	struct sums sums;
	int own;

	acc->resumes = 0;
	for (period = info.min_period; period < 80; period++) {
		pid_t pid = fork_files();

		if (!pid) {
			own = open_state(0);
			acc->fd = own;
			if (_i)
				handle(SIGCHLD, on_overflow);	/* ignored after the exec */
			assert_ok(try_overflow(own, IMODE, period, _i ? SIGCHLD : 0));
			loop(3);
			execv("/tests/known", args);
			_exit(1);
		}
		ck_assert_int_eq(wait_for(pid), 1);
		while (status_of(acc->fd) & ATTACHED)
			msleep(1);
		read_sums(acc->fd, &sums);
		ck_assert_uint_eq(overflow_of(acc->fd), !_i || sums.pmc[0] == period);
		if (!_i)
			ck_assert_uint_eq(sums.pmc[0], period);
		if (acc->signals)
			before++;
		close(acc->fd);
	}
	ck_assert_uint_eq(acc->wrong, 0);
	if (_i)
		ck_assert_uint_ge(before, 8);
}
END_TEST

/* ---- storms ----------------------------------------------------------------- */

/*
 * Each instruction overflows, those at the end of the handler included.  Other threads
 * still get their share of the CPU, and SIGKILL ends the storm.
 */
START_TEST(storm_of_overflows)
{
	const u64 evntsel = _i ? IMODE_BOTH : IMODE_USER;
	pid_t pid;
	u32 before;

	acc->signals = 0;
	pid = fork();
	if (!pid) {
		acc->fd = open_state(0);
		handle(SIGUSR1, on_overflow);
		if (try_overflow(acc->fd, IMODE_MAP, evntsel, info.min_period, SIGUSR1))
			_exit(1);
		for (;;)
			;
	}
	while (acc->signals < 100)
		msleep(1);
	before = acc->signals;
	loop(20000000);
	msleep(1);
	ck_assert_uint_gt(acc->signals, before);
	kill(pid, SIGKILL);
	ck_assert_int_eq(wait_for(pid), 128 + SIGKILL);
	ck_assert_uint_eq(acc->wrong, 0);
	if (has_other_user())
		ck_assert_eventually(counters_free());
}
END_TEST

/* ---- alternating with perf ----------------------------------------------------- */

static void check_perf_samples(void)
{
	unsigned int signals = perf_samples(IMODE_PERF, 10000);

	ck_assert_uint_ge(signals, 95);
	ck_assert_uint_le(signals, 105);
}

START_TEST(perf_before_and_after)
{
	unsigned int i;

	check_perf_samples();
	for (i = 0; i < 3; i++) {
		acc->signals = 0;
		acc->period = 1000;
		start_overflow(1000, SIGUSR1);
		ck_assert(perf_is_kept_out());
		loop(50000);
		ck_assert(perf_is_kept_out());
		check_account(stop_and_sum() / 1000);
		check_perf_samples();
	}
	/* An overflow waits for IRESUME while the counters are released. */
	start_overflow(1000, 0);
	loop(1000);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	check_perf_samples();
}
END_TEST

/* Where perf opens events that wait, its interrupt handler runs, too. */
START_TEST(beside_a_waiting_perf_event)
{
	int perf;

	acc->signals = 0;
	acc->period = 1000;
	start_overflow(1000, SIGUSR1);
	perf = perf_open(PERF_COUNT_HW_INSTRUCTIONS, false);
	if (PERF_IS_REFUSED)
		ck_assert_int_eq(perf, -EBUSY);
	else
		ck_assert_int_ge(perf, 0);
	loop(50000);
	check_account(stop_and_sum() / 1000);
	if (perf >= 0)
		close(perf);
	check_perf_samples();
}
END_TEST

/*
 * Where all CPUs of the emulator share one count, a CPU counts what others execute before it
 * takes its own interrupt: overflows are exact on the only CPU.
 */
static bool alone;

static void leave_one_cpu(void)
{
	alone = !COUNTS_APART && nr_cpus() > 1;
	if (alone)
		other_cpus("0");
}

static void restore_cpus(void)
{
	if (alone)
		other_cpus("1");
}

/*
 * READ of the running state loses no time, although a driver may start the a-mode counters
 * anew in it.  Another thread may run meanwhile, but not in each round.
 */
START_TEST(reads_lose_no_time)
{
	struct sums first, last;
	struct control control;
	u64 begin, span, least = ~0ULL;

	control_init(&control, 1);
	control_add_imode(&control, IMODE, 1000000000);
	assert_ok(set_control(fd, &control));
	for (int round = 0; round < 20; round++) {
		read_sums(fd, &first);
		begin = rdtsc();
		for (int i = 0; i < 100; i++)
			read_sums(fd, &last);
		span = rdtsc() - begin;
		last.tsc -= first.tsc;
		if (last.tsc >= span)
			least = 0;
		else if ((span - last.tsc) * 1000 / span < least)
			least = (span - last.tsc) * 1000 / span;
	}
	ck_assert_msg(least < 15, "%llu of 1000 ticks are lost", least);
}
END_TEST

static void add_counts(TCase *tc)
{
	tcase_add_unchecked_fixture(tc, leave_one_cpu, restore_cpus);
	tcase_add_loop_test(tc, signals_are_total_over_period, 0, NR(periods));
	tcase_add_test(tc, signals_are_one_period_apart);
	tcase_add_test(tc, fixed_counter);
	tcase_add_test(tc, a_hundred_thousand_overflows);
	tcase_add_test(tc, longest_period);
	tcase_add_test(tc, reads_lose_no_time);
	tcase_add_loop_test(tc, one_mask_for_all, 0, NR(pairs));
}

/* Read counter 0 unless the page forbids it.  Return: true if the counters are held. */
static bool read_or_see_hold(const volatile struct vperfctr_page *page)
{
	u32 status = page->cstatus;

	if (status & VPERFCTR_CSTATUS_RDPMC)
		rdpmc(page->ctr[0].map);
	return !VPERFCTR_CSTATUS_NRCTRS(status);
}

/*
 * An overflow comes at each place of a read, also after the look at the page, and holds the
 * counters.  Then the read must not raise a signal, even if it continues on another CPU.
 */
START_TEST(read_is_interrupted)
{
	const struct vperfctr_page *page = map_state(fd);
	unsigned int period;

	for (period = 2000; period < 2200; period++) {
		start_overflow(period, 0);
		while (!read_or_see_hold(page))
			;
		assert_status(fd, ATTACHED | ACTIVE | OVERFLOW);
	}
	/* A held thread that is switched out and in again may still be in such a read. */
	msleep(1);
	ck_assert_int_eq(try_rdpmc(page->ctr[0].map, &(u64) { 0 }), has_rdpmc() ? 0 : RDPMC_SIGNAL);
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	if (!RDPMC_WITHOUT_COUNTING)
		ck_assert_int_eq(try_rdpmc(IMODE_MAP, &(u64) { 0 }), RDPMC_FREE_SIGNAL);
}
END_TEST

static void add_waiting(TCase *tc)
{
	tcase_add_test(tc, read_is_interrupted);
	tcase_add_test(tc, without_a_signal);
	tcase_add_test(tc, poll_from_another_process);
	tcase_add_test(tc, handler_without_iresume);
	tcase_add_test(tc, blocked_signal);
	tcase_add_test(tc, merged_signals);
	tcase_add_test(tc, ignored_signal);
	tcase_add_test(tc, suspended_during_overflow);
	tcase_add_test(tc, control_drops_overflow);
}

static void add_signals(TCase *tc)
{
	tcase_add_loop_test(tc, default_action_kills, 0, NR(deadly));
	tcase_add_test(tc, every_signal_accepted);
	tcase_add_test(tc, every_signal_arrives);
	tcase_add_test(tc, alternate_stack);
	tcase_add_loop_test(tc, full_queue, 0, 2);
	tcase_add_loop_test(tc, full_queue_then_control, 0, 3);
	tcase_add_test(tc, pid_namespaces);
	tcase_add_test(tc, control_from_the_handler);
	tcase_add_test(tc, unlink_from_the_handler);
}

static void add_switches(TCase *tc)
{
	tcase_add_loop_test(tc, sweep_user, 0, NR(sequences));
}

static void add_sweep(TCase *tc)
{
	tcase_add_loop_test(tc, sweep_control, 0, 2);
	tcase_add_loop_test(tc, sweep_stop, 0, 2);
	tcase_add_test(tc, sweep_exit);
	tcase_add_loop_test(tc, sweep_exec, 0, 2);
}

static void add_kernel(TCase *tc)
{
	tcase_add_test(tc, first_overflow_after_idle);
	/* A fork takes too long for this. */
	tcase_add_loop_test(tc, sweep_kernel, 0, NR(sequences) - 1);
}

static void add_distance(TCase *tc)
{
	tcase_add_loop_test(tc, distance_in_the_kernel, 0, NR(kernel_periods));
}

static void add_storm(TCase *tc)
{
	tcase_add_loop_test(tc, storm_of_overflows, 0, 2);
}

static void add_perf(TCase *tc)
{
	if (!has_perf())
		return;
	tcase_add_test(tc, perf_before_and_after);
	tcase_add_test(tc, beside_a_waiting_perf_event);
}

/* An argument selects one of these groups; without one, all run. */
static const struct {
	const char *name;
	void (*add)(TCase *tc);
} groups[] = {
	{ "counts", add_counts },
	{ "waiting", add_waiting },
	{ "signals", add_signals },
	{ "switches", add_switches },
	{ "sweep", add_sweep },
	{ "kernel", add_kernel },
	{ "distance", add_distance },
	{ "storm", add_storm },
	{ "perf", add_perf },
};

static void (*add_group)(TCase *tc);

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	add_group(tc);
}

int main(int argc, char **argv)
{
	unsigned int i;
	int failed = 0;

	open_device();
	for (i = 0; i < NR(groups); i++) {
		if (argc > 1 && strcmp(argv[1], groups[i].name))
			continue;
		add_group = groups[i].add;
		failed |= run_tests(groups[i].name, add);
	}
	return failed;
}
