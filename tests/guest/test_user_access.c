// SPDX-License-Identifier: GPL-2.0
/*
 * RISC-V: the administrator opens cycle and instret to all, or closes them
 * (kernel.perf_user_access of Linux 6.6 and later), while a thread reads its counters.
 */
#include <string.h>
#include <unistd.h>

#include "suite.h"

#define ACCESS	"/proc/sys/kernel/perf_user_access"

static void set_access(const char *value)
{
	FILE *f = fopen(ACCESS, "w");

	if (!f || fputs(value, f) < 0 || fclose(f))
		die("%s cannot be set", ACCESS);
}

/* A process without a state says whether it can read cycles, each time that it is asked. */
static int to[2], from[2];

static void run_stranger(void)
{
	char c;
	u64 value;

	while (read(to[0], &c, 1) == 1) {
		c = try_rdpmc(FIXED(0), &value);
		if (write(from[1], &c, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

/* It runs on the same CPU, after this thread was switched out. */
static int ask_stranger(void)
{
	char c = 0;

	ck_assert_int_eq(write(to[1], &c, 1), 1);
	ck_assert_int_eq(read(from[0], &c, 1), 1);
	return c;
}

START_TEST(changed_while_a_thread_reads)
{
	static const char *const values[] = { "1", "2" };
	const char *before = values[_i], *after = values[!_i];
	int fd, i;
	pid_t pid;

	ck_assert_int_eq(pipe(to) | pipe(from), 0);
	set_access(before);
	pid = fork();
	if (!pid) {
		close(to[1]);
		run_stranger();
	}
	close(to[0]);
	ck_assert_int_eq(ask_stranger(), *before == '2' ? 0 : RDPMC_SIGNAL);
	fd = open_state(0);
	count(fd, INSNS_USER);
	map_state(fd);
	for (i = 0; i < 3; i++) {
		rdpmc(0);
		ck_assert_int_eq(ask_stranger(), *before == '2' ? 0 : RDPMC_SIGNAL);
	}
	set_access(after);
	for (i = 0; i < 3; i++) {
		ck_assert_int_eq(ask_stranger(), *after == '2' ? 0 : RDPMC_SIGNAL);
		rdpmc(0);
	}
	close(fd);
	ck_assert_int_eq(ask_stranger(), *after == '2' ? 0 : RDPMC_SIGNAL);
	close(to[1]);
	wait_for(pid);
	set_access("1");
}
END_TEST

static void add(TCase *tc)
{
	if (!access(ACCESS, W_OK))
		tcase_add_loop_test(tc, changed_while_a_thread_reads, 0, 2);
}

int main(void)
{
	open_device();
	return run_tests("user-access", add);
}
