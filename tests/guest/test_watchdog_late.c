// SPDX-License-Identifier: GPL-2.0
/*
 * The NMI watchdog was off as the module was loaded, so no counter is kept for it, and is switched
 * on later.  It holds the counters then, or gets none while a state counts, and the module says so.
 */
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"
#include "watchdog.h"

static int here;

static bool is_fact(const char *fact)
{
	char text[4096];

	read_file("/proc/vperfctr", text, sizeof(text));
	return !strncmp(text, fact, strlen(fact));
}

/* True if it has NMIs in some periods. */
static bool runs(void)
{
	const unsigned long before = nmis_of(here);
	const double end = now() + 1.2 * PERIOD;

	while (now() < end)
		loop(100000);
	return nmis_of(here) != before;
}

static int start(int fd)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, nth_general(0), INSNS_USER);
	return set_control(fd, &control);
}

/* Return what the counter counts in a loop of 2n instructions, and around it. */
static __attribute__((noinline)) u64 count_loop(const struct vperfctr_page *page, unsigned long n)
{
	u64 before = self_read(page, 0);

	loop(n);
	return self_read(page, 0) - before;
}

static void check_counts(const struct vperfctr_page *page)
{
	ck_assert_uint_eq(count_loop(page, 1001) - count_loop(page, 1), 2000);
}

/* Switched off and on, it has its counter in any case. */
static void check_watchdog(void)
{
	write_file(WATCHDOG, "0");
	write_file(WATCHDOG, "1");
	ck_assert(is_fact("watchdog: holds\n"));
	ck_assert(runs());
	write_file(WATCHDOG, "0");
	ck_assert(is_fact("watchdog: none\n"));
}

/* If one was wished, the log says that it is not. */
START_TEST(no_counter_is_kept)
{
	char wished[10];

	ck_assert_uint_eq(info.watchdog_pmc, 0);
	ck_assert_uint_eq(info.watchdog_fixed, 0);
	read_file("/sys/module/vperfctr/parameters/keep_watchdog", wished, sizeof(wished));
	ck_assert(has_logged("vperfctr: keep_watchdog: no counter") == (wished[0] == 'Y'));
}
END_TEST

/* It holds the counters, until it is switched off. */
START_TEST(on_before_counting)
{
	int fd = open_state(0), i;
	const struct vperfctr_page *page = map_state(fd);

	for (i = 0; i < 2; i++) {
		set_watchdog();
		ck_assert(is_fact("watchdog: holds\n"));
		ck_assert(runs());
		assert_errno(start(fd), EBUSY);
		assert_status(fd, ATTACHED);
		ck_assert(runs());
		write_file(WATCHDOG, "0");
		ck_assert(is_fact("watchdog: none\n"));
		assert_ok(start(fd));
		check_counts(page);
		assert_ok(stop_all(fd));
	}
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	check_watchdog();
}
END_TEST

/*
 * The counts go on.  Where perf's events wait while a state counts, the watchdog's does, too, and
 * begins after that.  Else the kernel has refused it for good.
 */
START_TEST(on_while_counting)
{
	int fd = open_state(0), i;
	const struct vperfctr_page *page = map_state(fd);
	bool waits;

	assert_ok(start(fd));
	check_counts(page);
	set_watchdog();
	check_counts(page);
	ck_assert(!runs());
	check_counts(page);
	waits = is_fact("watchdog: waits\n");
	ck_assert(waits || is_fact("watchdog: none\n"));
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	for (i = 0; i < 50 && !is_fact("watchdog: holds\n"); i++)
		usleep(20000);
	ck_assert(is_fact(waits ? "watchdog: holds\n" : "watchdog: none\n"));
	ck_assert(runs() == waits);
	check_watchdog();
}
END_TEST

/* Switched off again before the end of the counting, it leaves nothing behind. */
START_TEST(on_and_off_while_counting)
{
	int fd = open_state(0);
	const struct vperfctr_page *page = map_state(fd);

	assert_ok(start(fd));
	set_watchdog();
	check_counts(page);
	write_file(WATCHDOG, "0");
	check_counts(page);
	ck_assert(is_fact("watchdog: none\n"));
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	ck_assert(is_fact("watchdog: none\n"));
	close(fd);
	fd = open_state(0);
	page = map_state(fd);
	assert_ok(start(fd));
	check_counts(page);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	check_watchdog();
}
END_TEST

static void switch_off(void)
{
	write_file(WATCHDOG, "0");
}

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, switch_off, switch_off);
	tcase_add_test(tc, no_counter_is_kept);
	tcase_add_test(tc, on_before_counting);
	tcase_add_test(tc, on_while_counting);
	tcase_add_test(tc, on_and_off_while_counting);
}

int main(void)
{
	open_device();
	here = sched_getcpu();
	return run_tests("watchdog_late", add);
}
