// SPDX-License-Identifier: GPL-2.0
/*
 * The effect of exec on a state.  Counts must be exact.
 *
 * The program executes itself, with a first argument, to see the state from the new
 * program; and it executes "known" (known.S), from its own directory.
 */
#include <fcntl.h>
#include <libgen.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "known.h"
#include "suite.h"

#define SELF "/proc/self/exe"

static char known[256];

/* Shared by the process that counts and the one that checks. */
static volatile struct {
	int fd;
	u64 before;
} *shared;

static void setup(void)
{
	shared = shared_memory(PAGE);
}

static void exec_known(int nr_args)
{
	char *args[] = { known, "2", "3", "4", NULL };
	char *environment[] = { NULL };

	args[nr_args] = NULL;
	execve(known, args, environment);
	die("%s: %s", known, strerror(errno));
}

/* Count a process that executes "known" with this control. */
static void count_known(struct control *control, int nr_args, struct sums *sums)
{
	pid_t pid = fork_files();

	if (!pid) {
		shared->fd = open_state(0);
		if (set_control(shared->fd, control))
			die("CONTROL failed");
		exec_known(nr_args);
	}
	ck_assert_int_eq(wait_for(pid), nr_args);
	read_sums(shared->fd, sums);
	close(shared->fd);
}

static u64 perf_known(int nr_args)
{
	u64 value = 0;
	pid_t pid = fork_files();

	if (!pid) {
		shared->fd = perf_open(PERF_COUNT_HW_INSTRUCTIONS, true);
		if (shared->fd < 0)
			die("perf_event_open: %s", strerror(-shared->fd));
		exec_known(nr_args);
	}
	ck_assert_int_eq(wait_for(pid), nr_args);
	ck_assert_int_eq(read(shared->fd, &value, sizeof(value)), sizeof(value));
	close(shared->fd);
	return value;
}

START_TEST(start_on_exec)
{
	struct control control;
	struct sums sums;
	unsigned int i;
	int n;

	for (n = 1; n <= 4; n++) {
		control_init(&control, 1);
		control.c.flags = VPERFCTR_CONTROL_START_ON_EXEC;
		for (i = 0; i < nr_general(); i++)
			control_add(&control, nth_general(i), INSNS_USER);
		if (have_fixed_insns())
			control_add(&control, FIXED_INSNS, FIXED_USER);
		count_known(&control, n, &sums);
		ck_assert_uint_eq(sums.status, 0);
		for (i = 0; i < control.c.nractrs; i++)
			ck_assert_uint_eq(sums.pmc[i], KNOWN_INSNS(n));
		ck_assert_uint_gt(sums.tsc, 0);
		if (has_perf())
			ck_assert_uint_eq(perf_known(n), KNOWN_INSNS(n));
	}
}
END_TEST

/* Output of a real program: dynamically linked, with libc's start and end. */
static int echo(void)
{
	printf("some words\n");
	return 0;
}

static void exec_echo(void)
{
	char *args[] = { "self", "echo", NULL };
	char *environment[] = { "LANG=C", "X=Y", NULL };
	int null = open("/dev/null", O_WRONLY);

	dup2(null, 1);
	close(null);
	execve(SELF, args, environment);
	die("exec: %s", strerror(errno));
}

START_TEST(start_on_exec_as_perf)
{
	struct control control;
	struct sums sums;
	u64 perf = 0;
	pid_t pid;

	control_init(&control, 0);
	control.c.flags = VPERFCTR_CONTROL_START_ON_EXEC;
	control_add(&control, 0, INSNS_USER);
	control_add(&control, 1, MODES_ARE_SHARED ? INSNS_USER : INSNS_BOTH);
	pid = fork_files();
	if (!pid) {
		shared->fd = open_state(0);
		if (set_control(shared->fd, &control))
			die("CONTROL failed");
		exec_echo();
	}
	ck_assert_int_eq(wait_for(pid), 0);
	read_sums(shared->fd, &sums);
	close(shared->fd);

	pid = fork_files();
	if (!pid) {
		shared->fd = perf_open(PERF_COUNT_HW_INSTRUCTIONS, true);
		exec_echo();
	}
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_int_eq(read(shared->fd, &perf, sizeof(perf)), sizeof(perf));
	close(shared->fd);
	ck_assert_uint_gt(perf, 10000);
	if (has_perf()) {
		ck_assert_uint_eq(sums.pmc[0], perf);
		if (!MODES_ARE_SHARED)
			ck_assert_uint_gt(sums.pmc[1], perf);
	}
}
END_TEST

START_TEST(user_and_kernel)
{
	struct control control;
	struct sums sums;

	if (!have_global_ctrl() || nr_general() < 3 || MODES_ARE_SHARED)
		return;
	control_init(&control, 1);
	control.c.flags = VPERFCTR_CONTROL_START_ON_EXEC;
	control_add(&control, 0, INSNS_USER);
	control_add(&control, 1, INSNS_KERNEL);
	control_add(&control, 2, INSNS_BOTH);
	if (have_fixed_insns())
		control_add(&control, FIXED_INSNS, FIXED_KERNEL);
	count_known(&control, 2, &sums);
	ck_assert_uint_eq(sums.pmc[0], KNOWN_INSNS(2));
	ck_assert_uint_gt(sums.pmc[1], 1000);
	ck_assert_uint_eq(sums.pmc[2], sums.pmc[0] + sums.pmc[1]);
	if (have_fixed_insns())
		ck_assert_uint_eq(sums.pmc[3], sums.pmc[1]);
}
END_TEST

/* Nothing is counted until the exec, whatever else the thread does. */
START_TEST(armed_until_exec)
{
	struct control control;
	struct sums sums;
	int fd = open_state(0);
	const struct vperfctr_page *page = map_state(fd);

	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control.c.flags = VPERFCTR_CONTROL_START_ON_EXEC;
	assert_ok(set_control(fd, &control));
	assert_status(fd, ATTACHED | ACTIVE | ARMED);
	loop(1000);
	msleep(2);
	assert_ok(call(fd, VPERFCTR_RESUME, 0));
	assert_status(fd, ATTACHED | ACTIVE | ARMED);
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	assert_status(fd, ATTACHED | ACTIVE | ARMED | SUSPENDED);
	assert_ok(call(fd, VPERFCTR_RESUME, 0));
	loop(1000);
	read_sums(fd, &sums);
	ck_assert_uint_eq(sums.tsc, 0);
	ck_assert_uint_eq(sums.pmc[0], 0);
	ck_assert_uint_eq(page->cstatus & (VPERFCTR_CSTATUS_RUNNING | VPERFCTR_CSTATUS_RDPMC), 0);
	/* A control without the flag starts at once. */
	count(fd, INSNS_USER);
	assert_status(fd, ATTACHED | ACTIVE);
	loop(1000);
	read_sums(fd, &sums);
	ck_assert_uint_ge(sums.pmc[0], 2000);
}
END_TEST

START_TEST(armed_and_failed_exec)
{
	struct control control;
	char *args[] = { "x", NULL };
	int fd = open_state(0);

	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control.c.flags = VPERFCTR_CONTROL_START_ON_EXEC;
	assert_ok(set_control(fd, &control));
	ck_assert_int_eq(execve("/nowhere", args, NULL), -1);
	ck_assert_int_eq(execve("/etc/passwd", args, NULL), -1);
	assert_status(fd, ATTACHED | ACTIVE | ARMED);
}
END_TEST

/* A state that is suspended before the exec stays suspended: the two are independent. */
START_TEST(suspended_across_exec)
{
	struct sums sums;
	pid_t pid = fork_files();

	if (!pid) {
		shared->fd = open_state(0);
		count(shared->fd, INSNS_USER);
		if (call(shared->fd, VPERFCTR_SUSPEND, 0))
			die("SUSPEND failed");
		read_sums(shared->fd, &sums);
		shared->before = sums.pmc[0];
		exec_known(1);
	}
	ck_assert_int_eq(wait_for(pid), 1);
	read_sums(shared->fd, &sums);
	ck_assert_uint_eq(sums.pmc[0], shared->before);
}
END_TEST

/* A running state keeps counting, in the same counters. */
START_TEST(running_across_exec)
{
	struct sums sums;
	u64 counts[3];
	pid_t pid;
	int n;

	for (n = 1; n <= 3; n++) {
		pid = fork_files();
		if (!pid) {
			shared->fd = open_state(0);
			count(shared->fd, INSNS_USER);
			exec_known(n);
		}
		ck_assert_int_eq(wait_for(pid), n);
		read_sums(shared->fd, &sums);
		close(shared->fd);
		counts[n - 1] = sums.pmc[0];
	}
	ck_assert_uint_gt(counts[0], KNOWN_INSNS(1));
	/* All strings are set up in advance: one more argument takes no instruction. */
	ck_assert_uint_eq(counts[1] - counts[0], KNOWN_INSNS(2) - KNOWN_INSNS(1));
	ck_assert_uint_eq(counts[2] - counts[1], KNOWN_INSNS(3) - KNOWN_INSNS(2));
}
END_TEST

/* Check in the new program; argv[2] is a descriptor that was kept, or 0. */
static int after_exec(int kept)
{
	struct sums a, b;
	int fd;

	/* The other descriptors and the mapping are gone. */
	if (try_open_state(VPERFCTR_OPEN_CREAT) != -EEXIST)
		return 1;
	fd = try_open_state(0);
	if (fd < 0)
		return 2;
	read_sums(fd, &a);
	if (a.status != (ATTACHED | ACTIVE) || a.nrctrs != 1 || !a.pmc[0])
		return 3;
	loop(100000);
	read_sums(kept ?: fd, &b);
	if (b.pmc[0] < a.pmc[0] + 200000 || b.pmc[0] > a.pmc[0] + 210000)
		return 4;
	/* The state can be mapped, controlled and unlinked as before. */
	if (self_read(map_state(fd), 0) < b.pmc[0])
		return 5;
	count(kept ?: fd, INSNS_USER);
	read_sums(fd, &a);
	if (a.pmc[0] > 10000)
		return 6;
	return call(fd, VPERFCTR_UNLINK, 0) ? 7 : 0;
}

START_TEST(survives_exec)
{
	char text[16], *args[] = { "self", "after_exec", text, NULL };
	pid_t pid = fork();

	if (!pid) {
		int fd = open_state(_i ? VPERFCTR_OPEN_NOCLOEXEC : 0);

		map_state(fd);
		count(fd, INSNS_USER);
		loop(1000);
		sprintf(text, "%d", _i ? fd : 0);
		execv(SELF, args);
		_exit(98);
	}
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

/* END_ON_EXEC: counts until the exec stay readable, and the thread can have a new state. */
static int after_end(void)
{
	return try_open_state(VPERFCTR_OPEN_CREAT) < 0;
}

START_TEST(end_on_exec)
{
	char *args[] = { "self", "after_end", NULL };
	struct control control;
	struct sums sums;
	pid_t pid;

	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control.c.flags = VPERFCTR_CONTROL_END_ON_EXEC;
	pid = fork_files();
	if (!pid) {
		shared->fd = open_state(0);
		/* END_ON_EXEC excludes these flags. */
		control.c.flags |= VPERFCTR_CONTROL_START_ON_EXEC;
		if (set_control(shared->fd, &control) != -EINVAL)
			die("END_ON_EXEC with START_ON_EXEC");
		control.c.flags = VPERFCTR_CONTROL_END_ON_EXEC | VPERFCTR_CONTROL_INHERIT;
		if (set_control(shared->fd, &control) !=
		    (has(VPERFCTR_FEATURE_INHERIT) ? -EINVAL : -EOPNOTSUPP))
			die("END_ON_EXEC with INHERIT");
		control.c.flags = VPERFCTR_CONTROL_END_ON_EXEC;
		if (set_control(shared->fd, &control))
			die("CONTROL failed");
		loop(1000);
		/* A stopped state ends at the exec too. */
		if (_i && stop_all(shared->fd))
			die("CONTROL failed");
		execv(SELF, args);
		die("exec: %s", strerror(errno));
	}
	ck_assert_int_eq(wait_for(pid), 0);
	read_sums(shared->fd, &sums);
	ck_assert_uint_eq(sums.status, 0);
	ck_assert_uint_ge(sums.pmc[0], 2000);
	/* Not the new program's instructions: its start alone takes many more. */
	ck_assert_uint_lt(sums.pmc[0], 20000);
	close(shared->fd);
}
END_TEST

/* ---- files that give privileges, or that must not be read ------------------------- */

#define COPY "/tmp/known"

static const struct {
	mode_t mode;
	uid_t uid;
	gid_t gid;
	uid_t run_as;
	bool counted;
} files[] = {
	{ 0755, 0, 0, NOBODY, true },
	{ 04755, 0, 0, NOBODY, false },
	{ 04755, 1000, 1000, NOBODY, false },
	{ 02755, 0, 0, NOBODY, false },
	{ 0711, 0, 0, NOBODY, false },
	/* The file's owner, and root, gain no privileges by executing it. */
	{ 04755, NOBODY, NOBODY, NOBODY, true },
	{ 0711, 0, 0, 0, true },
};

static void copy_known(void)
{
	static char buffer[65536];
	int in = open(known, O_RDONLY), out = open(COPY, O_WRONLY | O_CREAT | O_TRUNC, 0700);
	ssize_t n = read(in, buffer, sizeof(buffer));

	ck_assert_int_gt(n, 0);
	ck_assert_int_eq(write(out, buffer, n), n);
	close(in);
	close(out);
}

START_TEST(exec_of_setuid_file)
{
	char *args[] = { COPY, "2", NULL }, *environment[] = { NULL };
	struct control control;
	struct sums a, b;
	pid_t pid;

	copy_known();
	ck_assert_int_eq(chown(COPY, files[_i].uid, files[_i].gid), 0);
	ck_assert_int_eq(chmod(COPY, files[_i].mode), 0);

	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control.c.flags = VPERFCTR_CONTROL_START_ON_EXEC;
	pid = fork_files();
	if (!pid) {
		if (files[_i].run_as && (setresgid(NOBODY, NOBODY, NOBODY) ||
					 setresuid(NOBODY, NOBODY, NOBODY)))
			die("setresuid");
		shared->fd = open_state(0);
		if (set_control(shared->fd, &control))
			die("CONTROL failed");
		execve(COPY, args, environment);
		die("%s: %s", COPY, strerror(errno));
	}
	ck_assert_int_eq(wait_for(pid), 2);
	read_sums(shared->fd, &a);
	ck_assert_uint_eq(a.status, files[_i].counted ? 0 : VPERFCTR_STATUS_PRIVILEGED);
	ck_assert_uint_eq(a.pmc[0], files[_i].counted ? KNOWN_INSNS(2) : 0);
	ck_assert_int_eq(!a.tsc, !files[_i].counted);

	/* A running state ends too, before the first instruction. */
	control.c.flags = 0;
	pid = fork_files();
	if (!pid) {
		if (files[_i].run_as && (setresgid(NOBODY, NOBODY, NOBODY) ||
					 setresuid(NOBODY, NOBODY, NOBODY)))
			die("setresuid");
		shared->fd = open_state(0);
		if (set_control(shared->fd, &control))
			die("CONTROL failed");
		execve(COPY, args, environment);
		die("%s: %s", COPY, strerror(errno));
	}
	ck_assert_int_eq(wait_for(pid), 2);
	read_sums(shared->fd, &b);
	if (files[_i].counted)
		ck_assert_uint_gt(b.pmc[0], KNOWN_INSNS(2));
	else
		ck_assert_uint_lt(b.pmc[0], KNOWN_INSNS(2) / 2);
	close(shared->fd);
	unlink(COPY);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, start_on_exec);
	if (has_perf())
		tcase_add_test(tc, start_on_exec_as_perf);
	tcase_add_test(tc, user_and_kernel);
	tcase_add_test(tc, armed_until_exec);
	tcase_add_test(tc, armed_and_failed_exec);
	tcase_add_test(tc, suspended_across_exec);
	tcase_add_test(tc, running_across_exec);
	tcase_add_loop_test(tc, end_on_exec, 0, 2);
	tcase_add_loop_test(tc, survives_exec, 0, 2);
	tcase_add_loop_test(tc, exec_of_setuid_file, 0, sizeof(files) / sizeof(files[0]));
}

int main(int argc, char **argv)
{
	ssize_t n = readlink(SELF, known, sizeof(known) - 10);

	if (argc > 1 && !strcmp(argv[1], "echo"))
		return echo();
	open_device();
	if (argc > 1 && !strcmp(argv[1], "after_end"))
		return after_end();
	if (argc > 2)
		return after_exec(atoi(argv[2]));
	if (n < 0)
		die("%s: %s", SELF, strerror(errno));
	strcat(dirname(known), "/known");
	return run_tests("exec", add);
}
