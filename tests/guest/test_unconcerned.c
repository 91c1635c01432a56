// SPDX-License-Identifier: GPL-2.0
/*
 * A CPU on which no counted thread runs is not interrupted when others take and release the
 * hardware.  The kernel has few reasons of its own for such interrupts, but it may have
 * some in any round of tries: the smallest number counts.
 */
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "suite.h"

#define ROUNDS	200
#define TRIES	5

/* Return how many function calls by interrupts CPU 1 has had. */
static unsigned long interrupts_of_cpu1(void)
{
	FILE *file = fopen("/proc/interrupts", "r");
	unsigned long n[2];
	char line[1024];
	bool found = false;

	ck_assert_ptr_nonnull(file);
	while (!found && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');

		found = colon && strstr(line, "unction call interrupts") &&
			sscanf(colon + 1, "%lu %lu", &n[0], &n[1]) == 2;
	}
	fclose(file);
	ck_assert(found);
	return n[1];
}

static void control_and_stop(int fd)
{
	struct control control;

	count(fd, INSNS_USER);
	control_init(&control, 0);
	assert_ok(set_control(fd, &control));
}

static void open_and_close(void)
{
	int fd = open_state(0);

	count(fd, INSNS_USER);
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	close(fd);
}

/* In the same loop perf gets the counters after each round: the hardware is released. */
static void open_beside_perf(void)
{
	int perf;

	open_and_close();
	perf = perf_open(0, false);
	ck_assert_int_ge(perf, 0);
	close(perf);
}

/* Before 5.14 the module must clear what perf has left, on all CPUs. */
static bool all_are_concerned(void)
{
	unsigned int major, minor;
	struct utsname name;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		die("the kernel has no release");
	return major < 5 || (major == 5 && minor < 14);
}

START_TEST(take_and_release)
{
	unsigned long before, fewest = -1UL;
	unsigned int i, tries;
	int fd = -1;

	if (all_are_concerned())
		return;
	pin(0);
	if (!_i)
		fd = open_state(0);
	for (tries = 0; tries < TRIES && fewest >= ROUNDS / 10; tries++) {
		before = interrupts_of_cpu1();
		for (i = 0; i < ROUNDS; i++) {
			if (!_i)
				control_and_stop(fd);
			else
				open_and_close();
		}
		before = interrupts_of_cpu1() - before;
		fewest = before < fewest ? before : fewest;
	}
	printf("%lu interrupts of CPU 1 in %u rounds\n", fewest, ROUNDS);
	ck_assert_uint_lt(fewest, ROUNDS / 10);
}
END_TEST

START_TEST(perf_after_each_round)
{
	int i;

	for (i = 0; i < 20; i++) {
		pin(i & 1);
		open_beside_perf();
	}
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_loop_test(tc, take_and_release, 0, 2);
	tcase_add_test(tc, perf_after_each_round);
}

int main(void)
{
	open_device();
	if (nr_cpus() < 2)
		die("two CPUs are needed, and there is one");
	return run_tests("unconcerned", add);
}
