// SPDX-License-Identifier: GPL-2.0
/* /proc/vperfctr and the log name those who have the counters, each user's own to that user. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

#define HOLDERS	"/proc/vperfctr"
#define NOBODY	65534

/* The reader of a line, as a child of its own: 0 is root. */
static bool shows(uid_t uid, const char *line)
{
	static char text[1 << 16];
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (uid && (setgid(uid) || setuid(uid)))
			_exit(2);
		read_file(HOLDERS, text, sizeof(text));
		_exit(!strstr(text, line));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return !WEXITSTATUS(status);
}

static const char *line_of(const char *what, pid_t pid, uid_t uid, const char *comm)
{
	static char line[100];

	snprintf(line, sizeof(line), "\n%s: %d %d %u %s\n", what, pid, pid, uid, comm);
	return line;
}

START_TEST(thread)
{
	int fd = open_state(0);
	const char *line;

	prctl(PR_SET_NAME, "a\033b\nc");
	line = line_of("thread", getpid(), 0, "a?b?c");
	ck_assert(!shows(0, line));
	count(fd, INSNS_USER);
	ck_assert(shows(0, line));
	ck_assert(!shows(NOBODY, line));
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	ck_assert(!shows(0, line));
	ck_assert(!shows(0, "\nthread: "));
}
END_TEST

/* Times need no counters. */
START_TEST(no_counters)
{
	struct control control;
	int fd = open_state(0);

	control_init(&control, 1);
	assert_ok(set_control(fd, &control));
	ck_assert(!shows(0, "\nthread: "));
}
END_TEST

/* A user sees the own, and root all. */
START_TEST(of_user)
{
	int fd = open_state(0), ready[2], end[2];
	pid_t pid;
	char c;

	close(fd);
	ck_assert_int_eq(pipe(ready) | pipe(end), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_NAME, "counts");
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(2);
		fd = open_state(0);
		count(fd, INSNS_USER);
		if (write(ready[1], "", 1) != 1 || read(end[0], &c, 1) != 1)
			_exit(3);
		_exit(0);
	}
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	ck_assert(shows(0, line_of("thread", pid, NOBODY, "counts")));
	ck_assert(shows(NOBODY, line_of("thread", pid, NOBODY, "counts")));
	ck_assert(!shows(NOBODY - 1, "\nthread: "));
	ck_assert_int_eq(write(end[1], "", 1), 1);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert(!shows(0, "\nthread: "));
}
END_TEST

/* When the root of a family has ended, its members count by its share. */
START_TEST(member)
{
	int go[2];
	pid_t child, pid;
	char c;

	ck_assert_int_eq(pipe(go), 0);
	child = fork();
	if (!child) {
		struct control control;
		int fd = open_state(0);

		control_init(&control, 1);
		control.c.flags |= VPERFCTR_CONTROL_INHERIT;
		control_add(&control, 0, INSNS_USER);
		assert_ok(set_control(fd, &control));
		pid = fork();
		if (pid)
			_exit(write(go[1], &pid, sizeof(pid)) != sizeof(pid));
		prctl(PR_SET_NAME, "member");
		pause();
		_exit(0);
	}
	ck_assert_int_eq(read(go[0], &pid, sizeof(pid)), sizeof(pid));
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	for (c = 0; c < 50 && !shows(0, line_of("thread", pid, 0, "member")); c++)
		usleep(100000);
	ck_assert(shows(0, line_of("thread", pid, 0, "member")));
	kill(pid, SIGKILL);
	/* This process cannot wait for it. */
	for (c = 0; c < 50 && shows(0, "\nthread: "); c++)
		usleep(100000);
	ck_assert(!shows(0, "\nthread: "));
}
END_TEST

START_TEST(cpus)
{
	u32 mask = 1;
	struct vperfctr_open_cpus req = {
		.size = sizeof(req), .nrwords = 1, .mask = (uintptr_t)&mask,
	};
	struct control control;
	int fd;

	if (!(info.features & VPERFCTR_FEATURE_CPUS))
		return;
	prctl(PR_SET_NAME, "all");
	fd = call(dev, VPERFCTR_OPEN_CPUS, &req);
	ck_assert_int_ge(fd, 0);
	ck_assert(!shows(0, line_of("cpus", getpid(), 0, "all")));
	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	assert_ok(set_control(fd, &control));
	ck_assert(shows(0, line_of("cpus", getpid(), 0, "all")));
	ck_assert(!shows(NOBODY, "\ncpus: "));
	close(fd);
	ck_assert(!shows(0, "\ncpus: "));
}
END_TEST

/* One line an hour, with the word that perf tells its users to look for. */
START_TEST(log_line)
{
	static char text[1 << 18];
	unsigned int nr = 0;
	const char *p;
	int i, fd = open_state(0);

	for (i = 0; i < 3; i++) {
		count(fd, INSNS_USER);
		assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
		close(fd);
		fd = open_state(0);
	}
	i = klogctl(3, text, sizeof(text) - 1);
	ck_assert_int_gt(i, 0);
	for (p = text; (p = strstr(p, "; perf gets no counters until")); p++)
		nr++;
	ck_assert_uint_eq(nr, 1);
	ck_assert(strstr(text, ", user 0) counts; perf gets no counters until it and others end"));
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, thread);
	tcase_add_test(tc, no_counters);
	tcase_add_test(tc, of_user);
	tcase_add_test(tc, member);
	tcase_add_test(tc, cpus);
	tcase_add_test(tc, log_line);
}

int main(void)
{
	open_device();
	return run_tests("holders", add);
}
