// SPDX-License-Identifier: GPL-2.0
/*
 * RISC-V without the extension Sscofpmf: counters count all modes together and have no interrupt.
 * The firmware counts cycles and instructions by their own counters only.
 *
 * The kernel's instructions are in the counts.  The least of some differences is exact, without
 * an interrupt in it.
 */
#include <string.h>
#include <unistd.h>

#include "suite.h"

#define TRIES	20

static int fd;

static void setup(void)
{
	fd = open_state(0);
}

static int check(u32 map, u64 evntsel)
{
	struct control control;
	int err;

	control_init(&control, 0);
	control_add(&control, map, evntsel);
	err = set_control(fd, &control);
	stop_all(fd);
	return err;
}

START_TEST(described)
{
	const char *end = strstr(info.cpu_name, ", all modes together");

	ck_assert(end && !strcmp(end, ", all modes together"));
	ck_assert_uint_eq(info.features & (VPERFCTR_FEATURE_PCINT | VPERFCTR_FEATURE_INHERIT_IMODE),
			  0);
	ck_assert_uint_eq(info.max_period | info.min_period, 0);
	ck_assert_uint_eq(info.fixed_mask, 3);
	ck_assert_uint_eq(info.arch_events, VPERFCTR_EVENT_CYCLES | VPERFCTR_EVENT_INSTRUCTIONS);
}
END_TEST

/* Modes and interrupts are refused, and so is an event that the firmware does not count. */
START_TEST(refused)
{
	const u64 modes[] = { SEL_USER, SEL_KERNEL, SEL_USER | SEL_KERNEL };
	struct control control;
	unsigned int i;

	assert_ok(check(FIXED(0), 0));
	assert_ok(check(FIXED(1), 0));
	assert_ok(check(0, 0x10019));
	for (i = 0; i < 3; i++) {
		assert_errno(check(0, modes[i] | 0x10019), EINVAL);
		assert_errno(check(FIXED(1), modes[i]), EINVAL);
	}
	assert_errno(check(0, INSNS), EINVAL);
	assert_errno(check(0, CYCLES), EINVAL);
	control_init(&control, 0);
	control_add(&control, 0, 0x10019);
	control.c.nractrs = 0;
	control.c.nrictrs = 1;
	control.ctr[0].ireset = -1000;
	assert_errno(set_control(fd, &control), EOPNOTSUPP);
}
END_TEST

/* A count of all modes takes the right to count kernel mode. */
START_TEST(permission)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		if (setresuid(NOBODY, NOBODY, NOBODY))
			_exit(99);
		fd = open_state(0);
		_exit(check(FIXED(1), 0) == -EPERM ? 0 : 1);
	}
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

/* Return the least that counter i counts during a loop of n, by READ or by the page. */
static u64 least(unsigned int i, unsigned long n, const struct vperfctr_page *page)
{
	u64 best = ~0ULL, count;
	struct sums a, b;
	unsigned int try;

	for (try = 0; try < TRIES; try++) {
		if (page) {
			count = self_read(page, i);
			loop(n);
			count = self_read(page, i) - count;
		} else {
			read_sums(fd, &a);
			loop(n);
			read_sums(fd, &b);
			count = b.pmc[i] - a.pmc[i];
		}
		best = count < best ? count : best;
	}
	return best;
}

/* Instructions, and cycles, of which an instruction takes two here. */
START_TEST(exact)
{
	const struct vperfctr_page *page = _i ? map_state(fd) : NULL;
	struct control control;
	unsigned int i;

	control_init(&control, 1);
	control_add(&control, FIXED(1), 0);
	control_add(&control, FIXED(0), 0);
	assert_ok(set_control(fd, &control));
	for (i = 0; i < 2; i++)
		ck_assert_uint_eq(least(i, 5000, page) - least(i, 1000, page), 2 * 4000 * (i + 1));
}
END_TEST

/* A count has what the kernel executes for the thread, and nothing of other processes. */
START_TEST(kernel_and_others)
{
	struct control control;
	struct sums a, b;
	unsigned int i;
	pid_t pid;

	control_init(&control, 0);
	control_add(&control, FIXED(1), 0);
	assert_ok(set_control(fd, &control));
	read_sums(fd, &a);
	for (i = 0; i < 100; i++)
		getppid();
	read_sums(fd, &b);
	ck_assert_uint_gt(b.pmc[0] - a.pmc[0], 100 * 100);

	read_sums(fd, &a);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		loop(5000000);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	read_sums(fd, &b);
	ck_assert_uint_lt(b.pmc[0] - a.pmc[0], 2000000);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, described);
	tcase_add_test(tc, refused);
	tcase_add_test(tc, permission);
	tcase_add_loop_test(tc, exact, 0, 2);
	tcase_add_test(tc, kernel_and_others);
}

int main(void)
{
	open_device();
	return run_tests("modeless", add);
}
