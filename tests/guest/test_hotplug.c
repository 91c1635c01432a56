// SPDX-License-Identifier: GPL-2.0
/* CPUs that go offline and online while threads count. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

#define CPU1_ONLINE "/sys/devices/system/cpu/cpu1/online"

static volatile bool stop;

static void *count_until_stop(void *arg)
{
	unsigned int number = (uintptr_t)arg;
	const struct vperfctr_page *page;
	u64 last[2] = { 0 }, value;
	int fd = open_state(0), i;
	struct control control;

	control_init(&control, 1);
	control_add(&control, nth_general(number & 1), INSNS_USER);
	control_add(&control, nth_general(!(number & 1)), CYCLES_USER);
	if (set_control(fd, &control))
		die("CONTROL failed");
	page = map_state(fd);
	while (!stop) {
		loop(1000);
		for (i = 0; i < 2; i++) {
			value = self_read(page, i);
			if (value < last[i] || value - last[i] > 1ULL << 40)
				die("counter %d: from %llu to %llu", i, last[i], value);
			last[i] = value;
		}
		if (number == 2)
			sched_yield();
	}
	/* It still counts. */
	for (i = 0; i < 10; i++)
		loop(1000);
	if (self_read(page, 0) <= last[0])
		die("counting has stopped");
	return NULL;
}

static void check_counting_on(int cpu)
{
	int fd = open_state(0);
	const struct vperfctr_page *page;
	u64 before;

	pin(cpu);
	count(fd, INSNS_USER);
	page = map_state(fd);
	before = self_read(page, 0);
	msleep(5);
	loop(100000);
	ck_assert_uint_gt(self_read(page, 0), before);
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	munmap((void *)page, PAGE);
	close(fd);
}

START_TEST(hotplug_while_counting)
{
	pthread_t ids[3];
	uintptr_t i;

	for (i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&ids[i], NULL, count_until_stop, (void *)i), 0);
	for (i = 0; i < 6; i++) {
		write_file(CPU1_ONLINE, "0");
		msleep(50);
		write_file(CPU1_ONLINE, "1");
		msleep(50);
	}
	stop = true;
	for (i = 0; i < 3; i++)
		pthread_join(ids[i], NULL);
}
END_TEST

/* A CPU that comes online while the counters are in use can count. */
START_TEST(returning_cpu_can_count)
{
	int fd = open_state(0), child_fd;
	struct sums a, b;
	pid_t pid;

	count(fd, INSNS_USER);
	write_file(CPU1_ONLINE, "0");
	write_file(CPU1_ONLINE, "1");
	child_fd = fd;
	pid = fork();
	if (!pid) {
		check_counting_on(1);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	read_sums(child_fd, &a);
	loop(1000);
	read_sums(child_fd, &b);
	ck_assert_uint_gt(b.pmc[0], a.pmc[0]);
}
END_TEST

/* A CPU that was offline when the counters were released has them for perf. */
START_TEST(released_while_cpu_offline)
{
	u64 a = 0, b = 0;
	int fd = open_state(0), perf;

	count(fd, INSNS_USER);
	write_file(CPU1_ONLINE, "0");
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	write_file(CPU1_ONLINE, "1");
	pin(1);
	perf = perf_open(1, false);
	ck_assert_int_ge(perf, 0);
	ck_assert_int_eq(read(perf, &a, sizeof(a)), sizeof(a));
	loop(1000000);
	ck_assert_int_eq(read(perf, &b, sizeof(b)), sizeof(b));
	ck_assert_uint_gt(b, a);
	close(perf);

	/* The reverse: the counters are reserved while it is offline. */
	pin(0);
	write_file(CPU1_ONLINE, "0");
	fd = open_state(0);
	count(fd, INSNS_USER);
	write_file(CPU1_ONLINE, "1");
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	check_counting_on(1);
	check_counting_on(0);
}
END_TEST

/* Restore the CPU in any case. */
static void online(void)
{
	write_file(CPU1_ONLINE, "1");
}

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, NULL, online);
	tcase_add_test(tc, hotplug_while_counting);
	tcase_add_test(tc, returning_cpu_can_count);
	tcase_add_test(tc, released_while_cpu_offline);
}

int main(void)
{
	open_device();
	if (nr_cpus() < 2)
		die("two CPUs are needed, and there is one");
	return run_tests("hotplug", add);
}
