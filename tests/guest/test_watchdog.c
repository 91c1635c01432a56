// SPDX-License-Identifier: GPL-2.0
/* The kernel's NMI watchdog holds the counters (nmi_watchdog=1), until it is disabled. */
#include <unistd.h>

#include "suite.h"

#define WATCHDOG "/proc/sys/kernel/nmi_watchdog"

static void set_watchdog(void)
{
	write_file(WATCHDOG, "1");
}

static int try_count(int fd)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, 1, INSNS_USER);
	return set_control(fd, &control);
}

static int try_overflow(int fd)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, 1, INSNS_USER);
	control.c.nractrs = 0;
	control.c.nrictrs = 1;
	control.ctr[0].ireset = -5000;
	return set_control(fd, &control);
}

/* The sysctl, and what the watchdog has. */
static void check_watchdog(char expected)
{
	/* perf reserves the counters of these processors, also for events that do not count. */
	const char *fact = expected == '1' ? "watchdog: holds\nperf: idle\n" : "watchdog: none\n";
	char text[4096];

	read_file(WATCHDOG, text, sizeof(text));
	ck_assert_int_eq(text[0], expected);
	read_file("/proc/vperfctr", text, sizeof(text));
	ck_assert_msg(!strncmp(text, fact, strlen(fact)), "%s, not %s", text, fact);
}

START_TEST(watchdog_holds_counters)
{
	struct control control;
	int fd = open_state(0);
	const struct vperfctr_page *page = map_state(fd);

	check_watchdog('1');
	assert_errno(try_count(fd), EBUSY);
	assert_status(fd, ATTACHED);
	control_init(&control, 1);
	assert_ok(set_control(fd, &control));
	ck_assert_uint_ne(self_read_tsc(page), 0);
	assert_errno(try_count(fd), EBUSY);
	assert_status(fd, ATTACHED | ACTIVE);
}
END_TEST

START_TEST(counters_free_without_watchdog)
{
	int fd = open_state(0);
	const struct vperfctr_page *page = map_state(fd);
	u64 before;

	assert_errno(try_count(fd), EBUSY);
	write_file(WATCHDOG, "0");
	assert_ok(try_count(fd));
	before = self_read(page, 0);
	loop(1000);
	ck_assert_uint_ge(self_read(page, 0) - before, 2000);
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	/* The watchdog gets them back. */
	write_file(WATCHDOG, "1");
	check_watchdog('1');
	fd = open_state(0);
	assert_errno(try_count(fd), EBUSY);
}
END_TEST

/* The watchdog's NMIs and a state's overflows, in turns, are not confused. */
START_TEST(overflows_while_watchdog_is_off)
{
	struct sums sums;
	int fd = open_state(0), i;

	for (i = 0; i < 3; i++) {
		assert_errno(try_overflow(fd), EBUSY);
		assert_status(fd, ATTACHED);
		write_file(WATCHDOG, "0");
		assert_ok(try_overflow(fd));
		loop(10000);
		read_sums(fd, &sums);
		ck_assert_uint_eq(sums.pmc[0], 5000);
		ck_assert_uint_eq(sums.status, ATTACHED | ACTIVE | VPERFCTR_STATUS_OVERFLOW);
		assert_ok(call(fd, VPERFCTR_IRESUME, NULL));
		loop(10000);
		assert_ok(i == 1 ? stop_all(fd) : call(fd, VPERFCTR_UNLINK, NULL));
		write_file(WATCHDOG, "1");
		check_watchdog('1');
		loop(1000000);
		if (i != 1) {
			close(fd);
			fd = open_state(0);
		}
	}
	assert_errno(try_overflow(fd), EBUSY);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_unchecked_fixture(tc, NULL, set_watchdog);
	tcase_add_test(tc, watchdog_holds_counters);
	tcase_add_test(tc, counters_free_without_watchdog);
	tcase_add_test(tc, overflows_while_watchdog_is_off);
}

int main(void)
{
	open_device();
	return run_tests("watchdog", add);
}
