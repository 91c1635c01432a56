// SPDX-License-Identifier: GPL-2.0
/*
 * Reservation of the counters: perf_event and states get them only while the other does
 * not hold them, and release them at once.  Where perf has no driver, a device of ours takes
 * its place, but counts nothing: has_other_user().
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "suite.h"

static int try_count(int fd)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, nth_general(0), INSNS_USER);
	return set_control(fd, &control);
}

static int try_tsc(int fd)
{
	struct control control;

	control_init(&control, 1);
	return set_control(fd, &control);
}

/* Check that perf's event counts; the first read takes longer, as libc resolves a symbol. */
static void check_perf_counts(int fd)
{
	u64 value[3] = { 0 };
	unsigned int i;

	if (*PMC_USER && !has_perf())
		return;
	for (i = 0; i < 3; i++) {
		if (read(fd, &value[i], sizeof(value[i])) != sizeof(value[i]))
			ck_abort_msg("cannot read perf's event");
		loop(10000);
	}
	ck_assert_uint_ge(value[2] - value[1], 20000);
	if (has_perf())
		ck_assert_uint_le(value[2] - value[1], 20000 + 100 * OVERHEAD_FACTOR);
}

/* Check that perf can use all counters, and that they count. */
static void check_perf_works(void)
{
	int fd = other_user_open();

	ck_assert_int_ge(fd, 0);
	check_perf_counts(fd);
	close(fd);
}

static void check_perf_busy(void)
{
	ck_assert(perf_is_kept_out());
}

START_TEST(perf_has_counters_first)
{
	int perf = other_user_open(), fd;
	const struct vperfctr_page *page;
	u64 before;

	ck_assert_int_ge(perf, 0);
	fd = open_state(0);
	page = map_state(fd);
	assert_errno(try_count(fd), EBUSY);
	assert_status(fd, ATTACHED);
	/* The TSC needs no counter; a failed CONTROL leaves it running. */
	assert_ok(try_tsc(fd));
	before = self_read_tsc(page);
	assert_errno(try_count(fd), EBUSY);
	assert_status(fd, ATTACHED | ACTIVE);
	ck_assert_uint_gt(self_read_tsc(page), before);
	check_perf_counts(perf);

	close(perf);
	assert_ok(try_count(fd));
	ck_assert_uint_ne(self_read(page, 0), 0);
}
END_TEST

/* Return the number of lines with a text that the kernel has logged since the last look. */
static unsigned int new_lines(int kmsg, const char *text)
{
	unsigned int n = 0;
	char line[2048];
	ssize_t got;

	while ((got = read(kmsg, line, sizeof(line) - 1)) > 0 || errno == EPIPE) {
		line[got > 0 ? got : 0] = 0;
		n += strstr(line, text) != NULL;
		errno = 0;
	}
	return n;
}

/* The kernel logs each refusal of its reservation.  A program that tries in a loop fills no log. */
START_TEST(refusals_are_seldom_logged)
{
	int fd = open_state(0), kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC), perf;
	unsigned int i, seconds;

	ck_assert_int_ge(kmsg, 0);
	ck_assert_int_ge(lseek(kmsg, 0, SEEK_END), 0);
	perf = other_user_open();
	ck_assert_int_ge(perf, 0);
	seconds = time(NULL);
	for (i = 0; i < 1000; i++)
		assert_errno(try_count(fd), EBUSY);
	seconds = time(NULL) - seconds + 1;
	/* As many as its other messages that a program can repeat: 10, and then 2 in a second. */
	ck_assert_uint_le(new_lines(kmsg, "PMC hardware busy"), 10 + 2 * seconds);
	close(kmsg);

	/* The counters are free, and soon found so. */
	close(perf);
	for (i = 0; i < 20 && try_count(fd); i++)
		msleep(100);
	ck_assert_uint_lt(i, 20);
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	close(fd);
	check_perf_works();
}
END_TEST

START_TEST(open_and_tsc_reserve_nothing)
{
	int fd = open_state(0);

	check_perf_works();
	map_state(fd);
	check_perf_works();
	assert_ok(try_tsc(fd));
	check_perf_works();
}
END_TEST

START_TEST(unlink_releases)
{
	int fd = open_state(0);

	assert_ok(try_count(fd));
	check_perf_busy();
	/* A pause releases nothing. */
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	check_perf_busy();
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	check_perf_works();
	close(fd);
	check_perf_works();
}
END_TEST

START_TEST(stop_releases)
{
	int fd = open_state(0);

	assert_ok(try_count(fd));
	check_perf_busy();
	assert_ok(stop_all(fd));
	check_perf_works();
	assert_ok(try_count(fd));
	check_perf_busy();
	assert_ok(stop_all(fd));
	assert_ok(stop_all(fd));
	check_perf_works();
}
END_TEST

START_TEST(tsc_only_releases)
{
	int fd = open_state(0);

	assert_ok(try_count(fd));
	assert_ok(try_count(fd));
	check_perf_busy();
	assert_ok(try_tsc(fd));
	check_perf_works();
}
END_TEST

START_TEST(start_on_exec_reserves)
{
	int fd = open_state(0);
	struct control control;

	control_init(&control, 0);
	control_add(&control, nth_general(0), INSNS_USER);
	control.c.flags = VPERFCTR_CONTROL_START_ON_EXEC;
	assert_ok(set_control(fd, &control));
	check_perf_busy();
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	check_perf_works();
}
END_TEST

START_TEST(refused_control_releases)
{
	int fd = open_state(0);
	struct control control;

	control_init(&control, 1);
	control_add(&control, nth_general(0), INSNS_USER);
	control_add(&control, nth_general(0), INSNS_USER);
	assert_errno(set_control(fd, &control), EINVAL);
	check_perf_works();
}
END_TEST

static void *count_and_exit(void *arg)
{
	int fd = open_state(0);

	count(fd, INSNS_USER);
	*(int *)arg = fd;
	return NULL;
}

START_TEST(end_of_thread_releases)
{
	pthread_t thread;
	int fd;

	ck_assert_int_eq(pthread_create(&thread, NULL, count_and_exit, &fd), 0);
	pthread_join(thread, NULL);
	/* When a holder sees the end of the thread, the counters are free. */
	while (status_of(fd) & ATTACHED)
		msleep(1);
	close(fd);
	check_perf_works();
}
END_TEST

START_TEST(end_of_process_releases)
{
	volatile int *fd = shared_memory(PAGE);
	pid_t pid = fork_files();

	if (!pid) {
		*fd = open_state(0);
		count(*fd, INSNS_USER);
		if (_i)
			kill(getpid(), SIGKILL);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), _i ? 128 + SIGKILL : 0);
	assert_status(*fd, 0);
	close(*fd);
	check_perf_works();
}
END_TEST

/* The thread has the last descriptor: no other thread waits for its end. */
START_TEST(end_of_process_without_holder)
{
	unsigned int i;
	int fd = -EBUSY;
	pid_t pid = fork();

	if (!pid) {
		count(open_state(0), INSNS_USER);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	for (i = 0; i < 1000 && fd == -EBUSY; i++) {
		msleep(1);
		fd = other_user_open();
	}
	ck_assert_int_ge(fd, 0);
	close(fd);
	check_perf_works();
}
END_TEST

/* The last of several states releases the counters, whichever it is. */
START_TEST(last_of_several_states_releases)
{
	int *go = shared_memory(PAGE), fd = open_state(0);
	volatile int *ready = go + 1, *stop = go;
	pid_t pid = fork();

	if (!pid) {
		int mine = open_state(0);

		count(mine, INSNS_USER);
		*ready = 1;
		while (!*stop)
			msleep(1);
		if (call(mine, VPERFCTR_UNLINK, 0))
			_exit(1);
		*ready = 2;
		while (*stop < 2)
			msleep(1);
		_exit(0);
	}
	assert_ok(try_count(fd));
	while (*ready < 1)
		msleep(1);
	if (_i)
		assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	else
		*stop = 1;
	while (!_i && *ready < 2)
		msleep(1);
	check_perf_busy();
	if (_i)
		*stop = 1;
	else
		assert_ok(stop_all(fd));
	while (*ready < 2)
		msleep(1);
	check_perf_works();
	*stop = 2;
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

/* perf finds the registers unchanged, many times in a row. */
START_TEST(states_and_perf_in_turns)
{
	const struct vperfctr_page *page;
	int fd = open_state(0), i;
	u64 before;

	page = map_state(fd);
	for (i = 0; i < 50; i++) {
		assert_ok(try_count(fd));
		before = self_read(page, 0);
		loop(1000);
		ck_assert_uint_ge(self_read(page, 0) - before, 2000);
		assert_ok(stop_all(fd));
		check_perf_works();
	}
}
END_TEST

/*
 * If states do not exclude perf, its events wait, also pinned ones, which perf gives up
 * if they find no counter.
 */
START_TEST(pinned_perf_event_waits)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.pinned = 1,
		.exclude_kernel = 1,
	};
	struct {
		u64 value, enabled, running;
	} before, after;
	int fd = open_state(0), perf;

	assert_ok(try_count(fd));
	perf = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	ck_assert_int_ge(perf, 0);
	loop(10000);
	sched_yield();
	ck_assert_int_eq(read(perf, &before, sizeof(before)), sizeof(before));
	ck_assert_uint_eq(before.value, 0);
	ck_assert_uint_eq(before.running, 0);
	ck_assert_uint_gt(before.enabled, 0);
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	/* perf tries again when the thread is scheduled. */
	usleep(10000);
	loop(10000);
	ck_assert_int_eq(read(perf, &after, sizeof(after)), sizeof(after));
	ck_assert_uint_gt(after.value, 10000);
	ck_assert_uint_gt(after.running, 0);
	close(perf);
	close(fd);
}
END_TEST

/*
 * perf's event waits while the counters are ours.  It gets the records of the program's mappings
 * nevertheless: "perf record" could not name the code of its samples without them.
 */
START_TEST(records_of_waiting_perf_event)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.sample_period = 1000000,
		.exclude_kernel = 1,
		.mmap = 1,
	};
	int fd = open_state(0), perf;
	struct perf_event_mmap_page *page;
	u64 before;
	void *code;

	assert_ok(try_count(fd));
	perf = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (perf < 0) {		/* where the kernel's reservation knows the counters */
		ck_assert_int_eq(errno, EBUSY);
		close(fd);
		return;
	}
	page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, perf, 0);
	ck_assert_ptr_ne(page, MAP_FAILED);
	before = page->data_head;
	code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(code, MAP_FAILED);
	ck_assert_uint_gt(page->data_head, before);
	munmap(code, PAGE);
	munmap(page, 2 * PAGE);
	close(perf);
	close(fd);
}
END_TEST

static int open_cpu_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
	};
	int perf = syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);
	u64 value = 0;

	ck_assert_int_ge(perf, 0);
	loop(10000);
	ck_assert_int_eq(read(perf, &value, sizeof(value)), sizeof(value));
	ck_assert_uint_eq(value, 0);
	return perf;
}

/* Soon after the release, a worker starts it. */
static void check_starts(int perf)
{
	u64 value = 0;
	int i;

	for (i = 0; i < 50 && !value; i++) {
		usleep(100000);
		ck_assert_int_eq(read(perf, &value, sizeof(value)), sizeof(value));
	}
	ck_assert_uint_gt(value, 0);
	close(perf);
}

/* An event of a CPU that has waited starts after the release, and is not pinned. */
START_TEST(cpu_event_waits)
{
	int fd = open_state(0), perf;

	assert_ok(try_count(fd));
	perf = open_cpu_event();
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	check_starts(perf);
	close(fd);
}
END_TEST

/* Count at once again, which stops the worker, and in its place lets perf try the event. */
static int count_twice(volatile int *step)
{
	int fd, err;

	if (setresuid(NOBODY, NOBODY, NOBODY))
		return 1;
	fd = open_state(0);
	if (try_count(fd))
		return 2;
	*step = 1;
	while (*step == 1)
		msleep(1);
	if (call(fd, VPERFCTR_UNLINK, 0))
		return 3;
	/* perf has the counters by now, or gets them afterwards. */
	err = try_count(open_state(0));
	return err && err != -EBUSY ? 4 : 0;
}

/* So it does if the next user has no right to such an event. */
START_TEST(cpu_event_waits_for_user)
{
	volatile int *step = shared_memory(PAGE);
	pid_t pid = fork();
	int perf;

	if (!pid)
		_exit(count_twice(step));
	while (!*step)
		msleep(1);
	perf = open_cpu_event();
	msleep(200);	/* the last event of a CPU to wait was long ago */
	*step = 2;
	ck_assert_int_eq(wait_for(pid), 0);
	check_starts(perf);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, perf_has_counters_first);
	/* perf's own claims of other processors log nothing. */
	if (PERF_IS_REFUSED && has_other_user())
		tcase_add_test(tc, refusals_are_seldom_logged);
	tcase_add_test(tc, open_and_tsc_reserve_nothing);
	tcase_add_test(tc, unlink_releases);
	tcase_add_test(tc, stop_releases);
	tcase_add_test(tc, tsc_only_releases);
	tcase_add_test(tc, start_on_exec_reserves);
	tcase_add_test(tc, refused_control_releases);
	tcase_add_test(tc, end_of_thread_releases);
	tcase_add_loop_test(tc, end_of_process_releases, 0, 2);
	tcase_add_test(tc, end_of_process_without_holder);
	tcase_add_loop_test(tc, last_of_several_states_releases, 0, 2);
	if (has_perf())
		tcase_add_test(tc, records_of_waiting_perf_event);
	tcase_add_test(tc, states_and_perf_in_turns);
	if (!PERF_IS_REFUSED)
		tcase_add_test(tc, pinned_perf_event_waits);
	if (!PERF_IS_REFUSED)
		tcase_add_test(tc, cpu_event_waits);
	if (!PERF_IS_REFUSED)
		tcase_add_test(tc, cpu_event_waits_for_user);
}

int main(void)
{
	open_device();
	return run_tests("reservation", add);
}
