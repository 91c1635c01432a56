// SPDX-License-Identifier: GPL-2.0
/*
 * A processor whose second CPU does not do what CPUID says: a counter does not count, a
 * register does not keep its value, or an access faults.  No state gets counters while
 * that CPU is online.  Without it everything works, and it cannot go online while
 * counters are in use.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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

static int try_online(void)
{
	int file = open(ONLINE, O_WRONLY);
	int err = write(file, "1", 1) == 1 ? 0 : -errno;

	close(file);
	return err;
}

/* A control with only the TSC works; counters are refused, and perf can have them. */
START_TEST(refused_with_broken_cpu_online)
{
	struct control tsc;
	struct sums sums;
	int i;

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

START_TEST(works_with_broken_cpu_offline)
{
	write_file(ONLINE, "0");
	assert_ok(count_insns(fd, 0));
	check_exact();
	assert_errno(try_online(), EIO);
	check_exact();
	assert_ok(stop_all(fd));
	assert_ok(try_online());
	assert_errno(count_insns(fd, 0), EIO);
	ck_assert(counters_free());
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, refused_with_broken_cpu_online);
	tcase_add_loop_test(tc, works_with_broken_cpu_offline, 0, 2);
}

int main(void)
{
	open_device();
	return run_tests("broken_pmu", add);
}
