// SPDX-License-Identifier: GPL-2.0
/* /proc/vperfctr and the log name those who have the counters, each user's own to that user. */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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

#if defined(__x86_64__) || defined(__i386__)
static const bool is_x86 = true;
#else
static const bool is_x86;
#endif

static char text[1 << 18];

/* Return the number of lines of the log that have this. */
static unsigned int logged(const char *part)
{
	unsigned int nr = 0;
	const char *p;
	int n = klogctl(3, text, sizeof(text) - 1);

	ck_assert_int_gt(n, 0);
	text[n] = '\0';
	for (p = text; (p = strstr(p, part)); p++)
		nr++;
	return nr;
}

/* Open an event of perf's on this CPU, which waits if it can be opened. */
static int open_perf(u32 type, u64 config)
{
	struct perf_event_attr attr = { .type = type, .size = sizeof(attr), .config = config };

	return syscall(SYS_perf_event_open, &attr, -1, sched_getcpu(), -1, 0);
}

/*
 * One line an hour, with the word that perf tells its users to look for: when perf is refused the
 * counters, or, where the module does not hear of that, when a state takes them.
 */
START_TEST(log_line)
{
	int i, soft, perf, fd = open_state(0);
	char name[200];
	bool hears;

	prctl(PR_SET_NAME, "takes\nall");
	snprintf(name, sizeof(name),
		 "perf is refused counters: takes?all (process %d, user 0) has them, maybe with others, see ",
		 getpid());
	for (i = 0; i < 3; i++) {
		count(fd, INSNS_USER);
		assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
		close(fd);
		fd = open_state(0);
	}
	count(fd, INSNS_USER);
	/* An event that takes no counter is not refused. */
	soft = open_perf(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	ck_assert_int_ge(soft, 0);
	msleep(100);
	ck_assert_uint_eq(logged("perf is refused counters"), 0);
	perf = open_perf(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	/* On x86, the module hears of an event that waits, and not of one that cannot be opened. */
	hears = !is_x86 || perf >= 0;
	if (hears) {
		/* The module looks each second. */
		for (i = 0; i < 50 && !logged(name); i++) {
			close(perf);
			msleep(100);
			perf = open_perf(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
		}
		ck_assert_uint_eq(logged(name), 1);
		msleep(1500);
		close(perf);
		perf = open_perf(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
		msleep(100);
	}
	close(perf);
	close(soft);
	ck_assert_uint_eq(logged("perf is refused counters"), hears);
	ck_assert_uint_eq(logged("; perf gets no counters until"), !hears);
	ck_assert_uint_eq(logged(", user 0) counts; perf gets no counters until it and others end"), !hears);
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
