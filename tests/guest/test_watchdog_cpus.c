// SPDX-License-Identifier: GPL-2.0
/*
 * The NMI watchdog of each CPU, which was on as the module was loaded, while states count: CPUs
 * that go offline and come back get theirs, and perf gives up no other event for it.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "watchdog.h"

#define CPU1_ONLINE	"/sys/devices/system/cpu/cpu1/online"

/* The module's worker looks each second. */
#define WORKER_LOOKS	3

/* Keep a CPU busy until its watchdog's NMI comes.  Return: false if none comes. */
static bool watchdog_runs(int cpu)
{
	unsigned long before;
	double end;
	pid_t pid = fork();

	if (pid)
		return !wait_for(pid);
	pin(cpu);
	before = nmis_of(cpu);
	for (end = now() + 2.5 * PERIOD; nmis_of(cpu) == before && now() < end;)
		loop(1000000);
	_exit(nmis_of(cpu) == before);
}

/* True if the module knows this of the watchdogs of all CPUs, and of perf. */
static bool is_fact(const char *fact)
{
	char text[4096];

	read_file("/proc/vperfctr", text, sizeof(text));
	return !strncmp(text, fact, strlen(fact));
}

static void wait_for_fact(const char *fact)
{
	double end = now() + WORKER_LOOKS;

	while (!is_fact(fact) && now() < end)
		msleep(10);
	ck_assert_msg(is_fact(fact), "%s after %d seconds", fact, WORKER_LOOKS);
}

/* One counter of instructions in user mode. */
static void start(int fd)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, nth_general(0), INSNS_USER);
	assert_ok(set_control(fd, &control));
}

/* It counts each instruction of a loop. */
static void check_counts(const struct vperfctr_page *page)
{
	u64 before = self_read(page, 0), empty, full;

	loop(1);
	empty = self_read(page, 0) - before;
	before = self_read(page, 0);
	loop(1001);
	full = self_read(page, 0) - before;
	ck_assert_uint_eq(full - empty, 2000);
}

static void check_running(const struct vperfctr_page *page)
{
	wait_for_fact("watchdog: kept\nperf: none\n");
	check_counts(page);
	ck_assert_msg(watchdog_runs(0), "CPU 0 has no watchdog");
	ck_assert_msg(watchdog_runs(1), "CPU 1 has no watchdog");
	check_counts(page);
}

/*
 * A CPU that comes online gets its watchdog while a state counts: on another CPU, or (1) on that
 * one, from which it was moved.
 */
START_TEST(cpu_comes_back)
{
	int fd = open_state(0), i;
	const struct vperfctr_page *page = map_state(fd);

	start(fd);
	for (i = 0; i < 2; i++) {
		if (_i) {
			pin(1);
			check_counts(page);
			set_affinity(0, 3);
		}
		write_file(CPU1_ONLINE, "0");
		check_counts(page);
		ck_assert(is_fact("watchdog: kept\nperf: none\n"));
		write_file(CPU1_ONLINE, "1");
		check_counts(page);
		check_running(page);
	}
}
END_TEST

/* The watchdog is switched off and on while a CPU is offline. */
START_TEST(switched_while_offline)
{
	int fd = open_state(0);
	const struct vperfctr_page *page = map_state(fd);

	start(fd);
	write_file(WATCHDOG, "0");
	write_file(CPU1_ONLINE, "0");
	write_file(WATCHDOG, "1");
	check_counts(page);
	write_file(CPU1_ONLINE, "1");
	check_running(page);
}
END_TEST

static int open_perf(u32 type, u64 config, int leader)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.pinned = leader < 0,
		.read_format = PERF_FORMAT_GROUP,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, 1, leader, 0);

	if (fd < 0)
		ck_abort_msg("perf_event_open: %s", strerror(errno));
	return fd;
}

/* A group that is pinned to CPU 1: cycles, led by an event of software or (1) of the hardware. */
static int open_group(int by_hardware, int *member)
{
	int leader = by_hardware ? open_perf(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1) :
				   open_perf(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, -1);

	*member = open_perf(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, leader);
	return leader;
}

/* Return: false if perf has given the group up.  *cycles: what the member has counted so far. */
static bool read_group(int leader, u64 *cycles)
{
	struct { u64 nr, value[2]; } group = { 0 };
	ssize_t n = read(leader, &group, sizeof(group));

	ck_assert_int_ge(n, 0);
	*cycles = group.value[1];
	return n;
}

/*
 * A pinned group waits beside the watchdog, which would be the only one that perf can begin: it
 * waits, too, as perf gives up an event that is pinned and refused.  It begins when the group has
 * gone while the state counts, or (2) both do when the counting has ended.
 */
START_TEST(pinned_group_waits)
{
	int fd = open_state(0), leader, member, i;
	const struct vperfctr_page *page = map_state(fd);
	u64 cycles, later;

	start(fd);
	leader = open_group(_i & 1, &member);
	write_file(WATCHDOG, "0");
	write_file(WATCHDOG, "1");
	check_counts(page);
	for (i = 0; i < 2 * WORKER_LOOKS; i++) {
		msleep(500);
		ck_assert_msg(read_group(leader, &cycles), "perf has given up a pinned group");
		ck_assert_uint_eq(cycles, 0);
		ck_assert(is_fact("watchdog: waits\nperf: none\n"));
		check_counts(page);
	}
	if (_i & 2) {
		assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
		msleep(1000);
		ck_assert_msg(watchdog_runs(1), "CPU 1 has no watchdog");
		ck_assert_msg(read_group(leader, &cycles), "perf has given up a pinned group");
		ck_assert_msg(watchdog_runs(1), "CPU 1 has no watchdog");
		ck_assert(read_group(leader, &later));
		ck_assert_uint_gt(later, cycles);
		close(member);
		close(leader);
		return;
	}
	close(member);
	close(leader);
	check_running(page);
}
END_TEST

/* The CPU of such a group goes offline and comes back. */
START_TEST(pinned_group_loses_cpu)
{
	int fd = open_state(0), leader, member;
	const struct vperfctr_page *page = map_state(fd);

	start(fd);
	leader = open_group(_i, &member);
	write_file(CPU1_ONLINE, "0");
	write_file(CPU1_ONLINE, "1");
	check_counts(page);
	close(member);
	close(leader);
	check_running(page);
}
END_TEST

/*
 * Restore both in any case, for the next test.  After pinned_group_waits, the watchdog may be on
 * another counter than the one that it keeps, where it would stay.
 */
static void restore(void)
{
	write_file(CPU1_ONLINE, "1");
	write_file(WATCHDOG, "0");
	write_file(WATCHDOG, "1");
}

static void add(TCase *tc)
{
	tcase_add_unchecked_fixture(tc, NULL, set_watchdog);
	tcase_add_checked_fixture(tc, NULL, restore);
	tcase_add_loop_test(tc, cpu_comes_back, 0, 2);
	tcase_add_test(tc, switched_while_offline);
	tcase_add_loop_test(tc, pinned_group_waits, 0, 4);
	tcase_add_loop_test(tc, pinned_group_loses_cpu, 0, 2);
}

int main(void)
{
	open_device();
	if (nr_cpus() < 2)
		die("two CPUs are needed, and there is one");
	pin(0);
	set_watchdog();
	return run_tests("watchdog_cpus", add);
}
