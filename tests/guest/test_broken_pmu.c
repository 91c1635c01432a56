// SPDX-License-Identifier: GPL-2.0
/*
 * A processor whose second CPU does not do what CPUID says: a counter does not count, a
 * register does not keep its value, or an access faults.  No state is counted there,
 * and each learns that.  Everything works on the first CPU.
 */
#include <string.h>
#include <unistd.h>

#include "cpus.h"
#include "service.h"

#define ONLINE	"/sys/devices/system/cpu/cpu1/online"

static int fd;

static void setup(void)
{
	fd = open_state(0);
}

static void teardown(void)
{
	write_file(ONLINE, "1");
}

static void check_exact(void)
{
	struct reading before, after;

	if (read_loop_read(fd, VPERFCTR_READ, init_reading(&before), init_reading(&after), 1000))
		die("READ failed");
	ck_assert_uint_eq(after.own[1] - before.own[1], INSNS_BETWEEN(1000));
}

/* There, a control with only the TSC works; counters are refused, and perf can have them. */
START_TEST(refused_on_broken_cpu)
{
	struct control tsc;
	struct sums sums;
	int i;

	pin(1);
	control_init(&tsc, 1);
	assert_ok(set_control(fd, &tsc));
	for (i = 0; i < 3; i++) {
		assert_errno(count_insns(fd, 0), EIO);
		assert_status(fd, ATTACHED | ACTIVE);
		ck_assert(counters_free());
	}
	read_sums(fd, &sums);
	ck_assert_uint_gt(sums.tsc, 0);
}
END_TEST

/* Nor is the CPU counted itself.  If it comes online later, only the others are. */
START_TEST(broken_cpu_in_set)
{
	int set = open_cpus(3);
	struct cpu_reading r;
	struct control control;

	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	assert_errno(set_control(set, &control), EIO);
	ck_assert(counters_free());
	write_file(ONLINE, "0");
	assert_ok(set_control(set, &control));
	write_file(ONLINE, "1");
	read_cpus(set, &r);
	ck_assert_uint_eq(r.cpus[0].status, VPERFCTR_CPU_STATUS_COUNTS);
	ck_assert_uint_eq(r.cpus[1].status,
			  VPERFCTR_CPU_STATUS_FAILED | VPERFCTR_CPU_STATUS_OFFLINE);
	ck_assert_uint_eq(pmc_of(&r, 1, 0), 0);
	assert_errno(set_control(set, &control), EIO);
	close(set);
	ck_assert(counters_free());
}
END_TEST

/* On the other CPU a state counts; it is not counted while it runs on the broken one. */
START_TEST(not_counted_on_broken_cpu)
{
	struct reading before, after;
	int i;

	pin(0);
	assert_ok(count_insns(fd, 0));
	check_exact();
	assert_status(fd, ATTACHED | ACTIVE);
	for (i = 0; i < 3; i++) {
		pin(1);
		assert_status(fd, ATTACHED | ACTIVE | FORBIDDEN);
		if (read_loop_read(fd, VPERFCTR_READ, init_reading(&before),
				   init_reading(&after), 1000))
			die("READ failed");
		ck_assert_uint_eq(after.own[1], before.own[1]);
		pin(0);
		check_exact();
	}
	assert_ok(count_insns(fd, 0));
	assert_status(fd, ATTACHED | ACTIVE);
	pin(1);
	assert_errno(count_insns(fd, 0), EIO);
	pin(0);
	assert_ok(stop_all(fd));
	ck_assert(counters_free());
}
END_TEST

/* The family counts a member as missed if it ran there. */
START_TEST(member_is_missed)
{
	struct reading r;
	pid_t pid;

	pin(0);
	assert_ok(count_insns(fd, VPERFCTR_CONTROL_INHERIT));
	pid = fork();
	if (!pid) {
		pin(1);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	read_state(fd, &r);
	ck_assert_uint_eq(r.read.children_missed, 1);
}
END_TEST

/* A CPU is tried again when it comes online. */
START_TEST(broken_cpu_goes_and_returns)
{
	pin(0);
	assert_ok(count_insns(fd, 0));
	write_file(ONLINE, "0");
	check_exact();
	write_file(ONLINE, "1");
	check_exact();
	assert_status(fd, ATTACHED | ACTIVE);
	pin(1);
	assert_status(fd, ATTACHED | ACTIVE | FORBIDDEN);
	pin(0);
	check_exact();
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, refused_on_broken_cpu);
	tcase_add_test(tc, broken_cpu_in_set);
	tcase_add_test(tc, not_counted_on_broken_cpu);
	tcase_add_test(tc, member_is_missed);
	tcase_add_test(tc, broken_cpu_goes_and_returns);
}

int main(void)
{
	open_device();
	return run_tests("broken_pmu", add);
}
