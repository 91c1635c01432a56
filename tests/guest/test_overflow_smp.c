// SPDX-License-Identifier: GPL-2.0
/*
 * i-mode counters on two CPUs, exactly: in virtual time the emulator runs the CPUs in
 * turns.
 */
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "overflow.h"
#include "random.h"

#define NR(array)	(sizeof(array) / sizeof((array)[0]))
#define MAX_RATE	"/sys/module/vperfctr/parameters/max_sample_rate"
#define CPU1_ONLINE	"/sys/devices/system/cpu/cpu1/online"

/* Start a child, with an account of its own in place of the parent's. */
static pid_t start(void (*life)(unsigned int), unsigned int n)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		random_state += n * 0x9e3779b97f4a7c15ULL;
		acc = NULL;
		account_init();
		life(n);
		_exit(0);
	}
	return pid;
}

static void child_assert(bool condition, int code)
{
	if (!condition)
		_exit(code);
}

static void go_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	/* This fails if the CPU is offline. */
	sched_setaffinity(0, sizeof(set), &set);
}

/* ---- threads all of whose overflows are accounted for ------------------------------- */

static volatile struct {
	u32 stop;
} *shared;

static void setup(void)
{
	write_file(MAX_RATE, "100000");
	shared = shared_memory(PAGE);
	random_init();
}

static u64 total_of(int fd)
{
	struct sums sums;

	if (stop_all(fd))
		_exit(10);
	read_sums(fd, &sums);
	return sums.pmc[0];
}

/* Overflows with signals; n is the CPU, or if more, the thread migrates. */
static void live_signals(unsigned int n)
{
	const u64 period = 3001 + 1000 * n;
	u64 total;

	if (n < 2)
		go_to(n);
	acc->period = period;
	start_overflow(period, n & 1 ? SIGRTMIN + n : SIGUSR1);
	/* A few overflows in any case, however little CPU time the thread gets. */
	while (!shared->stop || acc->signals <= 2) {
		loop(20000);
		if (n >= 2)
			go_to(random_below(2));
		if (n == 3)
			sched_yield();
	}
	total = total_of(acc->fd);
	if (acc->signals != total / period)
		die("%u signals for %llu in periods of %llu", acc->signals, total, period);
	child_assert(!acc->wrong, 12);
	child_assert(acc->signals > 2, 13);
}

/* The same with a ring, from which samples are consumed now and then. */
static void live_ring(unsigned int n)
{
	const u64 period = 1009 + 100 * n;
	struct mapped_ring ring;
	u64 next = 0, total;

	if (n < 2)
		go_to(n);
	make_ring(acc->fd, 4096, 1, 1, &ring);
	child_assert(!try_overflow_ring(acc->fd, IMODE, period), 20);
	for (;;) {
		bool last = shared->stop;

		loop(20000);
		if (n >= 2)
			go_to(random_below(2));
		if (last)
			total = total_of(acc->fd);
		for (; next < ring_head(&ring); next++)
			child_assert(ring_sample(&ring, next)->sums[0] == (next + 1) * period, 21);
		child_assert(!call(acc->fd, VPERFCTR_CONSUME,
				   (void *)(uintptr_t)(next - ring.page->tail)), 22);
		if (last)
			break;
	}
	child_assert(!ring.page->dropped, 23);
	child_assert(ring_head(&ring) == total / period, 24);
	child_assert(next > 2, 25);
}

static void run_for(unsigned int ms, void (*disturb)(void))
{
	pid_t pids[8];
	unsigned int i;

	for (i = 0; i < NR(pids); i++)
		pids[i] = start(i & 1 ? live_ring : live_signals, i / 2);
	for (i = 0; i < ms; i += 10) {
		msleep(10);
		if (disturb)
			disturb();
	}
	shared->stop = 1;
	for (i = 0; i < NR(pids); i++)
		ck_assert_int_eq(wait_for(pids[i]), 0);
}

START_TEST(on_both_and_migrating)
{
	/* Without throttling no sample is dropped. */
	write_file(MAX_RATE, "0");
	run_for(_i ? 60 : 10, NULL);
	ck_assert_eventually(counters_free());
}
END_TEST

/* The samples of a thread that moves name the CPU at each. */
START_TEST(cpu_in_samples)
{
	const u64 period = 1009;
	struct mapped_ring ring;
	u64 i, heads[4] = { 0 };
	unsigned int n;
	int fd = account_init();

	go_to(0);
	make_ring(fd, 4096, 1, 1, &ring);
	assert_ok(try_overflow_ring(fd, IMODE, period));
	for (n = 0; n < NR(heads); n++) {
		go_to(n & 1);
		/* So the next sample is made there. */
		while (ring_head(&ring) < heads[n] + 3)
			loop(1000);
		for (i = heads[n] + 1; i < heads[n] + 3; i++)
			ck_assert_uint_eq(ring_sample(&ring, i)->cpu, n & 1);
		if (n + 1 < NR(heads))
			heads[n + 1] = ring_head(&ring);
	}
	assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
}
END_TEST

static void take_away(void)
{
	write_file(CPU1_ONLINE, "0");
	msleep(5);
	write_file(CPU1_ONLINE, "1");
}

START_TEST(while_cpus_come_and_go)
{
	write_file(MAX_RATE, "0");
	run_for(30, take_away);
	ck_assert_eventually(counters_free());
}
END_TEST

/* ---- an overflow at each instruction around a migration ----------------------------- */

static void migrate(void)
{
	loop(5);
	go_to(1);
	loop(5);
	go_to(0);
	loop(5);
}

/* As on one CPU: the handler does not call IRESUME, and counting ends exactly there. */
START_TEST(sweep_user)
{
	struct sums sums;
	u64 period;
	int fd = account_init();

	acc->resumes = 0;
	migrate();
	for (period = info.min_period; ; period++) {
		acc->signals = 0;
		start_overflow(period, SIGUSR1);
		migrate();
		assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
		read_sums(fd, &sums);
		ck_assert_uint_eq(acc->wrong, 0);
		if (!(sums.status & OVERFLOW))
			break;
		ck_assert_msg(acc->signals == 1 && sums.pmc[0] == period,
			      "period %llu: %u signals, sum %llu", period, acc->signals,
			      sums.pmc[0]);
	}
	ck_assert_uint_eq(acc->signals, 0);
	ck_assert_uint_lt(sums.pmc[0], period);
	ck_assert_uint_ge(period, 60);
	ck_assert_uint_lt(period, 1000);
}
END_TEST

START_TEST(sweep_kernel)
{
	unsigned int none = 0;
	u64 period;
	int fd = account_init();

	acc->resumes = 0;
	handle(SIGUSR1, on_overflow);
	migrate();
	for (period = info.min_period; none < 3; period += 7 + period / 500) {
		acc->signals = 0;
		assert_ok(try_overflow(fd, IMODE_MAP, IMODE_BOTH, period, SIGUSR1));
		migrate();
		none = check_kernel_overflow(fd, period) ? 0 : none + 1;
	}
	ck_assert_uint_ge(period, 1000);
}
END_TEST

/* ---- killed at any moment --------------------------------------------------------------- */

static void live_to_be_killed(unsigned int n)
{
	struct mapped_ring ring;

	if (n & 1) {
		make_ring(acc->fd, 64, 1, 1, &ring);
		child_assert(!try_overflow_ring(acc->fd, IMODE_MAP, n & 2 ? IMODE_BOTH : IMODE_USER,
						1 + random_below(3000)), 30);
	} else {
		handle(SIGUSR1, on_overflow);
		child_assert(!try_overflow(acc->fd, IMODE_MAP, n & 2 ? IMODE_BOTH : IMODE_USER,
					   1 + random_below(3000), SIGUSR1), 31);
	}
	for (;;) {
		go_to(random_below(2));
		sched_yield();
	}
}

START_TEST(killed_at_random)
{
	unsigned int i, j;

	for (i = 0; i < 15; i++) {
		pid_t pids[3];
		volatile u32 wait;

		for (j = 0; j < NR(pids); j++)
			pids[j] = start(live_to_be_killed, random_below(4));
		msleep(random_below(4));
		for (wait = random_below(20000); wait; wait--)
			;
		for (j = 0; j < NR(pids); j++)
			kill(pids[j], SIGKILL);
		for (j = 0; j < NR(pids); j++)
			ck_assert_int_eq(wait_for(pids[j]), 128 + SIGKILL);
	}
	ck_assert_eventually(counters_free());
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, on_both_and_migrating, 0, 2);
	tcase_add_test(tc, cpu_in_samples);
	tcase_add_test(tc, while_cpus_come_and_go);
	tcase_add_test(tc, sweep_user);
	tcase_add_test(tc, sweep_kernel);
	tcase_add_test(tc, killed_at_random);
}

int main(void)
{
	open_device();
	if (nr_cpus() < 2)
		die("this test needs two CPUs");
	return run_tests("overflow_smp", add);
}
