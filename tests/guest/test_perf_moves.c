// SPDX-License-Identifier: GPL-2.0
/*
 * On x86, perf moves events to other counters, also those that are pinned to a CPU and come
 * first.  So no event of perf's can keep a counter for the module: see doc/sharing.md.
 *
 * Sandy Bridge can count L1D_PEND_MISS on general counter 2 only, and UOPS_ISSUED on all four.
 */
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "suite.h"

#define ANY_COUNTER	0x010e	/* UOPS_ISSUED.ANY */
#define ONE_COUNTER	0x0148	/* L1D_PEND_MISS.PENDING */
#define THE_COUNTER	2

#define PLACES		3

struct event {
	int fd;
	const volatile struct perf_event_mmap_page *page;
};

static struct event open_event(u64 config, bool pinned)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(attr),
		.config = config,
		.pinned = pinned,
		.exclude_kernel = 1,
	};
	struct event e = { .fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0) };

	ck_assert_int_ge(e.fd, 0);
	e.page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, e.fd, 0);
	ck_assert_ptr_ne((void *)e.page, MAP_FAILED);
	return e;
}

/* Return the event's counter, or -1 if it does not count. */
static int counter_of(const struct event *e)
{
	return (int)e->page->index - 1;
}

/* As a module would keep three of four counters from perf, and leave it one. */
START_TEST(pinned_event_is_moved)
{
	struct event place[PLACES], theirs;
	int before[PLACES], i, moved = 0;

	for (i = 0; i < PLACES; i++)
		place[i] = open_event(ANY_COUNTER, true);
	for (i = 0; i < PLACES; i++)
		before[i] = counter_of(&place[i]);
	/* One of them has the counter, and no event is refused that comes later. */
	theirs = open_event(ONE_COUNTER, _i);
	ck_assert_int_eq(counter_of(&theirs), THE_COUNTER);
	for (i = 0; i < PLACES; i++) {
		ck_assert_int_ge(before[i], 0);
		ck_assert_int_ge(counter_of(&place[i]), 0);
		ck_assert_int_ne(counter_of(&place[i]), THE_COUNTER);
		moved += counter_of(&place[i]) != before[i];
		if (before[i] == THE_COUNTER)
			ck_assert_int_ne(counter_of(&place[i]), before[i]);
	}
	ck_assert_int_eq(moved, 1);
}
END_TEST

/* A place that only this counter can count keeps it.  Then perf's event waits. */
START_TEST(only_the_same_event_keeps_a_counter)
{
	struct event place = open_event(ONE_COUNTER, true), theirs = open_event(ONE_COUNTER, false);

	ck_assert_int_eq(counter_of(&place), THE_COUNTER);
	ck_assert_int_eq(counter_of(&theirs), -1);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_loop_test(tc, pinned_event_is_moved, 0, 2);
	tcase_add_test(tc, only_the_same_event_keeps_a_counter);
}

int main(void)
{
	return run_tests("perf_moves", add);
}
