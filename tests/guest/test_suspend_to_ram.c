// SPDX-License-Identifier: GPL-2.0
/*
 * Suspend to RAM, which loses the counters' registers, up to the point where the last CPU
 * would be switched off ("core" in pm_test).  Counts must be exact.
 */
#include <string.h>
#include <unistd.h>

#include "cpus.h"
#include "overflow.h"
#include "power.h"

static u64 counted(int fd)
{
	struct sums sums;

	read_sums(fd, &sums);
	return sums.pmc[0];
}

/* Count a loop of n, from READ to READ, with the same code each time. */
static __attribute__((noinline, noclone)) u64 measure(int fd, unsigned long n)
{
	u64 before = counted(fd);

	loop(n);
	return counted(fd) - before;
}

/* The thread that suspends the machine is counted, by a general or a fixed counter. */
START_TEST(suspended_by_counted_thread)
{
	int fd = open_state(0);
	struct control control;
	u64 extra, before, after, again;

	if (!can_sleep())
		return;
	control_init(&control, 1);
	if (_i && have_fixed_insns())
		control_add(&control, FIXED_INSNS, FIXED_USER);
	else
		control_add(&control, 0, INSNS_USER);
	assert_ok(set_control(fd, &control));
	measure(fd, 1);
	extra = measure(fd, 1) - 2;
	/* Its instructions in user mode are constant, except for the first time. */
	sleep_and_wake();
	before = counted(fd);
	sleep_and_wake();
	after = counted(fd);
	sleep_and_wake();
	again = counted(fd);
	ck_assert_uint_eq(again - after, after - before);
	ck_assert_uint_lt(after - before, 100000);
	ck_assert_uint_eq(measure(fd, 1000), extra + 2000);
}
END_TEST

/* Other threads do not run meanwhile. */
START_TEST(suspended_beside_counted_threads)
{
	volatile int *shared = shared_memory(PAGE);
	pid_t child;
	u64 before;

	if (!can_sleep())
		return;
	child = fork_files();
	if (!child) {
		shared[0] = open_state(0);
		count(shared[0], INSNS_USER);
		shared[1] = 1;
		while (!shared[2])
			usleep(1000);
		shared[3] = measure(shared[0], 1) + 1998 == measure(shared[0], 1000);
		_exit(0);
	}
	while (!shared[1])
		usleep(1000);
	before = counted(shared[0]);
	sleep_and_wake();
	ck_assert_uint_ge(counted(shared[0]), before);
	ck_assert_uint_lt(counted(shared[0]) - before, 1000000);
	shared[2] = 1;
	ck_assert_int_eq(wait_for(child), 0);
	ck_assert_int_eq(shared[3], 1);
}
END_TEST

/*
 * A sampled thread has the timer of CPU 1 armed when it is frozen and the CPU goes offline,
 * or when it suspends the machine itself.  Its samples go on, and none of its time is lost.
 */
START_TEST(suspended_with_timer)
{
	const u64 period = 100000;
	volatile int *shared = shared_memory(PAGE);
	struct mapped_ring ring;
	struct control control;
	struct sums sums;
	pid_t child = 0;
	int fd, i;
	u64 head;

	if (!can_sleep() || !has(VPERFCTR_FEATURE_CLOCK) || nr_cpus() < 2)
		return;
	if (_i) {
		child = fork();
		if (!child) {
			pin(0);
			for (i = 0; i < 2; i++) {
				while (shared[0] == i)
					usleep(1000);
				sleep_and_wake();
				shared[1] = i + 1;
			}
			_exit(0);
		}
	}
	fd = open_state(0);
	make_ring(fd, 65536, 1, 0, &ring);
	control_init(&control, 1);
	control.c.flags = VPERFCTR_CONTROL_RING;
	control.c.clock_period = period;
	pin(1);
	assert_ok(set_control(fd, &control));
	for (i = 0; i < 2; i++) {
		/* The kernel may let the thread go on on the other CPU. */
		pin(1);
		set_affinity(0, 3);
		loop(period);
		if (_i) {
			shared[0] = i + 1;
			while (shared[1] == i)
				loop(1000);
		} else {
			sleep_and_wake();
		}
		pin(1);
		head = ring_head(&ring);
		/* For its first ticks, a CPU has timers of low resolution. */
		loop(100 * period);
		ck_assert_uint_ge(ring_head(&ring), head + 50);
	}
	assert_ok(stop_all(fd));
	read_sums(fd, &sums);
	ck_assert_uint_eq(ring_head(&ring) + ring.page->dropped,
			  ns_of_tsc(sums.tsc) / period);
	if (_i)
		ck_assert_int_eq(wait_for(child), 0);
}
END_TEST

/* Counted CPUs keep their counts, and go on. */
START_TEST(counted_cpus)
{
	struct cpu_reading before, after;
	struct control control;
	int fd, cpu;

	if (!can_sleep() || !has(VPERFCTR_FEATURE_CPUS))
		return;
	fd = open_cpus((1U << nr_cpus()) - 1);
	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	if (info.nrkinds > 1)
		control_any_kind(&control);
	assert_ok(set_control(fd, &control));
	loop(1000000);
	read_cpus(fd, &before);
	sleep_and_wake();
	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		read_cpus(fd, &after);
		ck_assert(after.cpus[cpu].status & VPERFCTR_CPU_STATUS_COUNTS);
		ck_assert_uint_ge(pmc_of(&after, cpu, 0), pmc_of(&before, cpu, 0));
		ck_assert_uint_lt(pmc_of(&after, cpu, 0), pmc_of(&before, cpu, 0) + 1000000);
		pin(cpu);
		loop(1000000);
		before = after;
		read_cpus(fd, &after);
		ck_assert_uint_ge(pmc_of(&after, cpu, 0), pmc_of(&before, cpu, 0) + 2000000);
		ck_assert_uint_lt(pmc_of(&after, cpu, 0), pmc_of(&before, cpu, 0) + 3000000);
	}
	close(fd);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_loop_test(tc, suspended_by_counted_thread, 0, 2);
	tcase_add_test(tc, suspended_beside_counted_threads);
	tcase_add_loop_test(tc, suspended_with_timer, 0, 2);
	tcase_add_test(tc, counted_cpus);
}

int main(void)
{
	open_device();
	return run_tests("suspend_to_ram", add);
}
