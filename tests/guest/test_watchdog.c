// SPDX-License-Identifier: GPL-2.0
/* The kernel's NMI watchdog holds the counters (nmi_watchdog=1), until it is told not to. */
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

static void check_watchdog(char expected)
{
	char text[16];

	read_file(WATCHDOG, text, sizeof(text));
	ck_assert_int_eq(text[0], expected);
}

START_TEST(holds_the_counters)
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

START_TEST(lets_go)
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
	/* it gets them back */
	write_file(WATCHDOG, "1");
	check_watchdog('1');
	fd = open_state(0);
	assert_errno(try_count(fd), EBUSY);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_unchecked_fixture(tc, NULL, set_watchdog);
	tcase_add_test(tc, holds_the_counters);
	tcase_add_test(tc, lets_go);
}

int main(void)
{
	open_device();
	return run_tests("watchdog", add);
}
