// SPDX-License-Identifier: GPL-2.0
/*
 * VPERFCTR_ATTACH: sets of the threads of a running process.  Counted threads execute code
 * of known length, or none, after the attachment, so sums must be exact, on any number of
 * CPUs.  This needs virtual time, where time is instructions.
 *
 * RACE=1 needs no virtual time: it attaches to processes whose threads start and end
 * continuously.  YAMA=3 forbids ptrace until the next boot.
 */
#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "known.h"
#include "service.h"

#define YAMA	"/proc/sys/kernel/yama/ptrace_scope"
#define STOPS	"/sys/module/vperfctr/parameters/max_stops_per_second"
#define PER_STOP "/sys/module/vperfctr/parameters/max_threads_per_stop"

static char known[256];

/* In memory that all processes share. */
static volatile struct {
	unsigned int futex;
	u32 go, step, phase, errors, eintrs, ended, started;
	pid_t pid;
} *shared;

static u32 inherit;		/* VPERFCTR_CONTROL_INHERIT if there is such a feature */

static void setup(void)
{
	settle();
	/* A test that failed may have left its limit. */
	write_file(STOPS, "20");
	write_file(PER_STOP, "64");
	shared = shared_memory(PAGE);
	inherit = has(VPERFCTR_FEATURE_INHERIT) ? VPERFCTR_CONTROL_INHERIT : 0;
}

static unsigned int *futex(void)
{
	return (unsigned int *)&shared->futex;
}

#define child_assert(condition) do {					\
	if (!(condition)) {						\
		fprintf(stderr, "line %d: false: %s\n", __LINE__, #condition); \
		_exit(1);						\
	}								\
} while (0)

/* ---- calls ---------------------------------------------------------------------- */

static int open_proc(pid_t pid, const char *name, int flags)
{
	char path[64];
	int fd;

	sprintf(path, "/proc/%d/%s", (int)pid, name);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_mem(pid_t pid)
{
	int fd = open_proc(pid, "mem", O_RDONLY);

	if (fd < 0)
		die("/proc/%d/mem: %s", (int)pid, strerror(-fd));
	return fd;
}

static int attach_with(struct vperfctr_attach *req, struct control *control)
{
	req->size = sizeof(*req);
	req->control = (uintptr_t)&control->c;
	return call(dev, VPERFCTR_ATTACH, req);
}

static struct control *insns_control(struct control *control, u32 flags)
{
	control_init(control, 1);
	control_add(control, 0, INSNS_USER);
	control->c.flags = flags;
	return control;
}

/* Attach by a descriptor of /proc/PID/mem. */
static int attach_by(int mem, pid_t tid, u32 flags, u32 control_flags)
{
	struct vperfctr_attach req = { .tid = tid, .mem_fd = mem, .flags = flags };
	struct control control;

	return attach_with(&req, insns_control(&control, control_flags));
}

/* Attach to a process, and check the number of threads. */
static int attach(pid_t pid, u32 control_flags, unsigned int nrthreads)
{
	struct vperfctr_attach req = { .tid = pid, .mem_fd = open_mem(pid) };
	struct control control;
	int set;

	set = attach_with(&req, insns_control(&control, control_flags));
	close(req.mem_fd);
	if (set < 0)
		die("VPERFCTR_ATTACH: %s", strerror(-set));
	ck_assert_uint_eq(req.nrthreads, nrthreads);
	ck_assert_uint_eq(req.nrskipped, 0);
	return set;
}

/* Attach to a process of which this is the only mem descriptor; return the result. */
static int try_attach(pid_t pid, u32 flags)
{
	int mem = open_proc(pid, "mem", O_RDONLY), ret;

	if (mem < 0)
		return mem;
	ret = attach_by(mem, pid, flags, inherit);
	close(mem);
	return ret;
}

static void read_members(int set, struct reading *r)
{
	init_reading(r)->flags = VPERFCTR_READ_MEMBERS;
	assert_ok(call(set, VPERFCTR_READ, &r->read));
}

/* Instructions of those that have ended, and of all. */
static u64 ended_count(int set)
{
	struct reading r;

	read_state(set, &r);
	ck_assert_uint_eq(r.own[0] + r.own[1], 0);
	return r.children[1];
}

static u64 all_count(int set)
{
	struct reading r;

	read_members(set, &r);
	return r.children[1];
}

static bool has_hup(int set, int timeout)
{
	struct pollfd p = { .fd = set, .events = POLLIN };

	poll(&p, 1, timeout);
	return p.revents & POLLHUP;
}

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/* ---- targets -------------------------------------------------------------------- */

static int threads_of(pid_t pid)
{
	char path[64];
	int n = 0;
	DIR *dir;

	sprintf(path, "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return 0;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

/* True if all threads of the process sleep. */
static bool is_asleep(pid_t pid)
{
	char path[64], text[600], *s;
	bool asleep = true;
	struct dirent *d;
	DIR *dir;

	sprintf(path, "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		int fd;
		ssize_t n;

		if (*d->d_name == '.')
			continue;
		sprintf(path, "/proc/%d/task/%.12s/stat", (int)pid, d->d_name);
		fd = open(path, O_RDONLY);
		n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		close(fd);
		text[n < 0 ? 0 : n] = '\0';
		s = strrchr(text, ')');
		asleep &= s && s[2] == 'S';
	}
	if (dir)
		closedir(dir);
	return dir && asleep;
}

/* Execute nothing in user mode until the process is killed. */
static void sleep_for_ever(void)
{
	for (;;)
		pause();
}

static void no_zombies(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
}

/*
 * Start a process whose first thread sleeps for ever, and `n` others of which each waits for
 * the futex, executes INSNS_LATER(m), and ends.
 */
#define INSNS_LATER(m)	(INSNS_CHILD_FUTEX(1, m) - INSNS_CHILD_UNTIL_FUTEX(1))

static pid_t start_waiting(unsigned int n, unsigned long m)
{
	pid_t pid = fork();
	unsigned int i;

	if (!pid) {
		no_zombies();
		for (i = 0; i < n; i++) {
			if (start_child(THREAD, 1, futex(), m) < 0)
				die("clone");
		}
		shared->started = 1;
		sleep_for_ever();
	}
	ck_assert_eventually(shared->started && is_asleep(pid));
	ck_assert_int_eq(threads_of(pid), n + 1);
	return pid;
}

static void kill_target(pid_t pid)
{
	kill(pid, SIGKILL);
	ck_assert_int_eq(wait_for(pid), 128 + SIGKILL);
}

/* ---- counts --------------------------------------------------------------------- */

#define MANY	200

START_TEST(all_threads_at_once)
{
	int refs = module_refs(), set;
	pid_t pid = start_waiting(MANY, 1000);
	struct reading r;

	set = attach(pid, inherit, MANY + 1);
	assert_status(set, CHILDREN);
	ck_assert_uint_eq(all_count(set), 0);
	ck_assert(!has_hup(set, 0));
	wake_all(futex());
	ck_assert_eventually(threads_of(pid) == 1);
	ck_assert_eventually(ended_count(set) >= MANY * INSNS_LATER(1000));
	ck_assert_uint_eq(ended_count(set), MANY * INSNS_LATER(1000));
	ck_assert_uint_eq(all_count(set), MANY * INSNS_LATER(1000));
	assert_status(set, CHILDREN);
	ck_assert(!has_hup(set, 0));
	kill_target(pid);
	ck_assert(has_hup(set, 2000));
	assert_status(set, 0);
	read_state(set, &r);
	ck_assert_uint_eq(r.children[1], MANY * INSNS_LATER(1000));
	ck_assert_uint_gt(r.children[0], 0);
	ck_assert_uint_eq(r.read.children_missed, 0);
	close(set);
	ck_assert_eventually(module_refs() == refs);
	ck_assert_eventually(counters_free());
}
END_TEST

/* A state that is not attached any more keeps its counts until it is closed. */
START_TEST(close_ends_counting)
{
	int refs = module_refs(), set, copy;
	pid_t pid = start_waiting(10, 1000);

	set = attach(pid, inherit, 11);
	copy = dup(set);
	close(set);
	ck_assert(!counters_free());
	assert_status(copy, CHILDREN);
	if (_i) {
		assert_ok(call(copy, VPERFCTR_UNLINK, NULL));
		assert_status(copy, 0);
		ck_assert(has_hup(copy, 0));
		ck_assert(counters_free());
		wake_all(futex());
		ck_assert_eventually(threads_of(pid) == 1);
		ck_assert_uint_eq(all_count(copy), 0);
	}
	close(copy);
	ck_assert(counters_free());
	ck_assert_eventually(module_refs() == refs);
	close(attach(pid, inherit, _i ? 1 : 11));
	kill_target(pid);
}
END_TEST

/* The last thread leaves the set by a control of its own, while the monitor is in poll(). */
START_TEST(last_thread_leaves)
{
	pid_t self = getpid(), pid;
	u64 start;
	int set;

	pid = fork();
	if (!pid) {
		no_zombies();
		while (!shared->go || !is_asleep(self))
			msleep(1);
		child_assert(!count_insns(try_open_state(0), 0));
		sleep_for_ever();
	}
	set = attach(pid, inherit, 1);
	shared->go = 1;
	start = now_ms();
	/* At its end poll() looks again, so only the time tells whether it was woken. */
	ck_assert(has_hup(set, 20000));
	ck_assert_uint_lt(now_ms() - start, 10000);
	kill_target(pid);
}
END_TEST

START_TEST(one_thread_only)
{
	pid_t pid = start_waiting(3, 1000);
	int mem = open_mem(pid), set, rest;
	struct vperfctr_attach req = { .tid = pid, .mem_fd = mem };
	struct control control;
	struct reading r;

	set = attach_by(mem, pid, VPERFCTR_ATTACH_THREAD, inherit);
	ck_assert_int_ge(set, 0);
	assert_errno(attach_by(mem, pid, VPERFCTR_ATTACH_THREAD, inherit), EEXIST);
	/* A second set takes the others, and reports the one. */
	rest = attach_with(&req, insns_control(&control, inherit));
	ck_assert_int_ge(rest, 0);
	ck_assert_uint_eq(req.nrthreads, 3);
	ck_assert_uint_eq(req.nrskipped, 1);
	assert_errno(attach_by(mem, pid, 0, inherit), EEXIST);
	wake_all(futex());
	ck_assert_eventually(threads_of(pid) == 1);
	ck_assert_eventually(!(status_of(rest) & CHILDREN));
	read_state(rest, &r);
	ck_assert_uint_eq(r.children[1], 3 * INSNS_LATER(1000));
	ck_assert_uint_eq(r.read.children_missed, 1);
	ck_assert_uint_eq(all_count(set), 0);
	ck_assert(has_hup(rest, 0));
	ck_assert(!has_hup(set, 0));
	kill_target(pid);
}
END_TEST

/* Threads and processes that are started later: 7, 20, 3 of each kind. */
static void start_more(void)
{
	const unsigned long kinds[] = { THREAD, FORKED, VFORKED };
	const int n[] = { 7, 20, 3 };
	unsigned int i;
	int j;

	for (i = 0; i < 3; i++) {
		for (j = 0; j < n[i]; j++) {
			long pid = start_child(kinds[i], 100 + j, NULL, 0);

			child_assert(pid > 0);
			if (kinds[i] != THREAD)
				child_assert(wait_for((pid_t)pid) == 0);
		}
	}
}

static u64 count_from(unsigned long first, int n)
{
	u64 sum = 0;

	while (n-- > 0)
		sum += INSNS_CHILD(first + n);
	return sum;
}

START_TEST(started_later)
{
	const u32 flags[] = {
		VPERFCTR_CONTROL_INHERIT, 0,
		VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_INHERIT_THREADS,
	};
	const u64 expected[] = {
		count_from(100, 7) + count_from(100, 20) + count_from(100, 3), 0,
		count_from(100, 7),
	};
	pid_t pid = fork();
	struct reading r;
	int set;

	if (!pid) {
		while (!shared->go)
			;
		start_more();
		shared->step = 1;
		sleep_for_ever();
	}
	if (flags[_i] && !inherit) {
		assert_errno(attach_by(open_mem(pid), pid, 0, flags[_i]), EOPNOTSUPP);
		kill_target(pid);
		return;
	}
	set = attach(pid, flags[_i], 1);
	shared->go = 1;
	ck_assert_eventually(shared->step && threads_of(pid) == 1);
	ck_assert_eventually(ended_count(set) >= expected[_i]);
	ck_assert_uint_eq(ended_count(set), expected[_i]);
	/* The spinning thread, too. */
	ck_assert_uint_gt(all_count(set), expected[_i]);
	kill_target(pid);
	ck_assert(has_hup(set, 2000));
	read_state(set, &r);
	ck_assert_uint_gt(r.children[1], expected[_i]);
	ck_assert_uint_eq(r.read.children_missed, 0);
}
END_TEST

static int open_member(int set, pid_t tid)
{
	return call(set, VPERFCTR_MEMBER, (void *)(intptr_t)tid);
}

/* A member's state has its thread's counts, which remain a part of the set's. */
START_TEST(members)
{
	int refs = module_refs(), set, member, i, n = 0, fds[4];
	pid_t pid = start_waiting(3, 1000), other;
	char path[64];
	struct reading r;
	DIR *dir;
	const struct dirent *d;

	set = attach(pid, inherit, 4);
	sprintf(path, "/proc/%d/task", (int)pid);
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	while ((d = readdir(dir))) {
		if (atoi(d->d_name) <= 0 || atoi(d->d_name) == pid)
			continue;
		ck_assert_int_lt(n, 3);
		fds[n] = open_member(set, atoi(d->d_name));
		ck_assert_int_ge(fds[n], 0);
		ck_assert_int_eq(fcntl(fds[n], F_GETFD), FD_CLOEXEC);
		assert_status(fds[n], ATTACHED | ACTIVE);
		ck_assert_uint_eq(count_of(fds[n]), 0);
		n++;
	}
	closedir(dir);
	ck_assert_int_eq(n, 3);
	member = open_member(set, pid);
	ck_assert_int_ge(member, 0);
	/* It can be read only. */
	assert_errno(call(member, VPERFCTR_SUSPEND, NULL), EPERM);
	assert_errno(call(member, VPERFCTR_UNLINK, NULL), EPERM);
	assert_errno(open_member(member, pid), ENOENT);
	assert_errno(open_member(set, 0), ENOENT);
	assert_errno(open_member(set, 99999), ESRCH);
	assert_errno(open_member(set, -1), ESRCH);
	/* A number that is a thread's id only in its low 32 bits. */
	if (sizeof(long) > 4)
		assert_errno(call(set, VPERFCTR_MEMBER, (void *)((1UL << 31 << 1) + pid)), ESRCH);
	other = fork();
	if (!other) {
		become(NOBODY);
		child_assert(open_member(set, pid) == -EPERM);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(other), 0);
	wake_all(futex());
	for (i = 0; i < n; i++) {
		ck_assert_eventually(status_of(fds[i]) == 0);
		read_state(fds[i], &r);
		ck_assert_uint_eq(r.own[1], INSNS_LATER(1000));
		ck_assert_uint_eq(r.children[1], 0);
		close(fds[i]);
	}
	ck_assert_uint_eq(all_count(set), 3 * INSNS_LATER(1000));
	assert_ok(call(set, VPERFCTR_UNLINK, NULL));
	assert_status(member, 0);
	ck_assert_uint_eq(count_of(member), 0);
	ck_assert(counters_free());
	assert_errno(open_member(set, pid), ENOENT);
	close(set);
	close(member);
	kill_target(pid);
	ck_assert_eventually(module_refs() == refs);
}
END_TEST

/* A thread that counts itself has members, too. */
START_TEST(members_of_a_thread)
{
	int fd = open_state(0), member;
	pid_t pid;

	if (!inherit)
		return;
	assert_ok(count_insns(fd, inherit));
	pid = (pid_t)start_child(FORKED, 500, futex(), 50);
	ck_assert_eventually(is_asleep(pid));
	member = open_member(fd, pid);
	ck_assert_int_ge(member, 0);
	ck_assert_uint_eq(count_of(member), INSNS_CHILD_UNTIL_FUTEX(500));
	assert_errno(open_member(fd, getpid()), ENOENT);
	wake_all(futex());
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_uint_eq(count_of(member), INSNS_CHILD_FUTEX(500, 50));
	ck_assert(has_hup(member, 0));
}
END_TEST

/* Threads only: for a thread that counts itself, too. */
START_TEST(inherit_threads)
{
	struct reading r;
	int fd = open_state(0);

	if (!inherit)
		return;
	assert_errno(count_insns(fd, VPERFCTR_CONTROL_INHERIT_THREADS), EINVAL);
	assert_ok(count_insns(fd, inherit | VPERFCTR_CONTROL_INHERIT_THREADS));
	ck_assert_int_gt(start_child(THREAD, 77, NULL, 0), 0);
	ck_assert_int_eq(wait_for((pid_t)start_child(FORKED, 99, NULL, 0)), 0);
	ck_assert_eventually(!(status_of(fd) & CHILDREN));
	read_state(fd, &r);
	ck_assert_uint_eq(r.children[1], INSNS_CHILD(77));
	ck_assert_uint_eq(r.read.children_missed, 0);
}
END_TEST

/* READ_MEMBERS samples a thread that runs. */
START_TEST(running_members)
{
	pid_t pid = fork();
	u64 before, after;
	int set, i;

	if (!pid) {
		for (;;)
			loop(1000);
	}
	set = attach(pid, inherit, 1);
	before = all_count(set);
	for (i = 0; i < 20; i++) {
		msleep(2);
		after = all_count(set);
		ck_assert_uint_gt(after, before + 10000);
		before = after;
	}
	ck_assert_uint_eq(ended_count(set), 0);
	kill_target(pid);
	ck_assert_eventually(ended_count(set) >= before);
	close(set);
}
END_TEST

/*
 * Sums never decrease while members end, and are exact in the end.  The members end in
 * batches, so that each reading has ended ones and living ones, however the CPUs are shared.
 */
START_TEST(members_end_while_read)
{
	const unsigned int batch = MANY / 20;
	pid_t pid = start_waiting(MANY, 100000);
	u64 before = 0, after, most = 0;
	unsigned int left;
	int set;

	set = attach(pid, inherit, MANY + 1);
	for (left = MANY; left; ) {
		ck_assert_int_eq(syscall(SYS_futex, futex(), FUTEX_WAKE, batch, NULL, NULL, 0),
				 batch);
		left -= batch;
		most += batch * INSNS_LATER(100000);
		do {
			after = all_count(set);
			ck_assert_uint_ge(after, before);
			ck_assert_uint_le(after, most);
			before = after;
		} while (threads_of(pid) > (int)left + 1);
		ck_assert_eventually(all_count(set) >= most);
		ck_assert_uint_eq(all_count(set), most);
		before = most;
	}
	kill_target(pid);
}
END_TEST

/* READ_MEMBERS of a thread's own family. */
START_TEST(members_of_own_family)
{
	struct reading r;
	int fd = open_state(0);
	pid_t pid;

	assert_ok(count_insns(fd, 0));
	read_members(fd, &r);
	ck_assert_uint_gt(r.own[1], 0);
	ck_assert_uint_eq(r.children[0] + r.children[1], 0);
	if (!inherit)
		return;
	assert_ok(count_insns(fd, inherit));
	pid = (pid_t)start_child(FORKED, 500, futex(), 50);
	ck_assert_eventually(is_asleep(pid));
	read_state(fd, &r);
	ck_assert_uint_eq(r.children[1], 0);
	read_members(fd, &r);
	ck_assert_uint_eq(r.children[1], INSNS_CHILD_UNTIL_FUTEX(500));
	wake_all(futex());
	ck_assert_int_eq(wait_for(pid), 0);
	read_members(fd, &r);
	ck_assert_uint_eq(r.children[1], INSNS_CHILD_FUTEX(500, 50));
	init_reading(&r)->flags = 4;
	assert_errno(call(fd, VPERFCTR_READ, &r.read), EINVAL);
}
END_TEST

static u64 switches_of(int set, u32 flags)
{
	struct vperfctr_soft soft = { .size = sizeof(soft) };
	struct vperfctr_read req = {
		.size = sizeof(req), .flags = flags, .soft = (uintptr_t)&soft,
	};

	assert_ok(call(set, VPERFCTR_READ, &req));
	ck_assert_uint_eq(soft.soft, VPERFCTR_SOFT_CONTEXT_SWITCHES);
	ck_assert_uint_eq(soft.count[1].own, 0);
	return soft.count[1].children;
}

/* Software counters: what the threads did before does not count. */
START_TEST(software_counters)
{
	struct vperfctr_attach req = { .flags = 0 };
	struct control control;
	u64 n = 0;
	int set;

	if (!(info.soft & VPERFCTR_SOFT_CONTEXT_SWITCHES))
		return;
	req.tid = fork();
	if (!req.tid) {
		for (;; shared->step++)
			msleep(1);
	}
	ck_assert_eventually(shared->step > 50);
	req.mem_fd = open_mem(req.tid);
	control_init(&control, 0);
	control.c.soft = VPERFCTR_SOFT_CONTEXT_SWITCHES;
	set = attach_with(&req, &control);
	ck_assert_int_ge(set, 0);
	ck_assert(counters_free());
	ck_assert_uint_lt(switches_of(set, VPERFCTR_READ_MEMBERS), 50);
	ck_assert_eventually((n = switches_of(set, VPERFCTR_READ_MEMBERS)) > 50);
	ck_assert_uint_eq(switches_of(set, 0), 0);
	kill_target(req.tid);
	ck_assert(has_hup(set, 2000));
	ck_assert_uint_ge(switches_of(set, 0), n);
	ck_assert_uint_eq(switches_of(set, 0), switches_of(set, VPERFCTR_READ_MEMBERS));
}
END_TEST

/* A process attaches to itself: the caller is counted, too. */
START_TEST(own_process)
{
	u64 before, after;
	int set;

	set = attach(getpid(), inherit, 1);
	before = all_count(set);
	loop(1000);
	after = all_count(set);
	ck_assert_uint_gt(after, before + 2000);
	ck_assert_uint_lt(after, before + 20000);
	/* It can see its own state, but make no other one. */
	close(open_thread(0, 0));
	assert_errno(open_thread(0, VPERFCTR_OPEN_CREAT), EEXIST);
	close(set);
	assert_errno(open_thread(0, 0), ENOENT);
}
END_TEST

/* ---- the target is not disturbed ------------------------------------------------- */

enum { SLEEP_EPOLL, SLEEP_POLL, SLEEP_NANO, SLEEP_SEMOP, SLEEP_PAUSE, NR_SLEEPS };

/* Calls that return EINTR when ptrace stops the thread, and others. */
static void *sleeping_thread(void *arg)
{
	const struct timespec t = { .tv_sec = 1000 };
	struct sembuf op = { .sem_op = -1 };
	struct epoll_event event;
	int ep = epoll_create1(0), sem = semget(IPC_PRIVATE, 1, 0600);

	for (;;) {
		errno = 0;
		switch ((uintptr_t)arg) {
		case SLEEP_EPOLL:
			epoll_wait(ep, &event, 1, -1);
			break;
		case SLEEP_POLL:
			poll(NULL, 0, -1);
			break;
		case SLEEP_NANO:
			clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
			break;
		case SLEEP_SEMOP:
			semop(sem, &op, 1);
			break;
		case SLEEP_PAUSE:
			pause();
			break;
		}
		/* None of them may return. */
		__atomic_add_fetch(&shared->eintrs, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static pid_t start_sleeping(void)
{
	pid_t pid = fork();
	uintptr_t i;
	pthread_t id;

	if (!pid) {
		no_zombies();
		for (i = 0; i < NR_SLEEPS; i++)
			pthread_create(&id, NULL, sleeping_thread, (void *)i);
		shared->started = 1;
		sleep_for_ever();
	}
	ck_assert_eventually(shared->started && threads_of(pid) == NR_SLEEPS + 1 &&
			     is_asleep(pid));
	return pid;
}

START_TEST(no_call_is_interrupted)
{
	pid_t pid = start_sleeping();
	int i, set;

	for (i = 0; i < 20; i++) {
		set = attach(pid, inherit, NR_SLEEPS + 1);
		ck_assert_uint_eq(all_count(set), 0);
		ck_assert(is_asleep(pid));
		close(set);
	}
	msleep(20);
	ck_assert_uint_eq(shared->eintrs, 0);
	/* A stop by ptrace is noticed. */
	ck_assert_int_eq(ptrace(PTRACE_SEIZE, pid + 1, 0, 0), 0);
	ck_assert_int_eq(ptrace(PTRACE_INTERRUPT, pid + 1, 0, 0), 0);
	ck_assert_int_eq(waitpid(pid + 1, NULL, __WALL), pid + 1);
	ck_assert_int_eq(ptrace(PTRACE_DETACH, pid + 1, 0, 0), 0);
	ck_assert_eventually(shared->eintrs == 1);
	kill_target(pid);
}
END_TEST

static void tracer(pid_t pid, bool stopped)
{
	int status;

	child_assert(!ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD));
	if (stopped) {
		child_assert(!ptrace(PTRACE_INTERRUPT, pid, 0, 0));
		child_assert(waitpid(pid, &status, __WALL) == pid);
	}
	shared->step = 1;
	while (!shared->go)
		msleep(1);
	if (stopped)
		child_assert(!ptrace(PTRACE_CONT, pid, 0, 0));
	sleep_for_ever();
}

/* A debugger has the process, running or stopped. */
START_TEST(traced_by_another)
{
	pid_t pid = fork(), other;
	int set;

	if (!pid) {
		while (!shared->futex)
			;
		for (;;)
			loop(1000);
	}
	other = fork();
	if (!other)
		tracer(pid, _i);
	ck_assert_eventually(shared->step);
	set = attach(pid, inherit, 1);
	if (_i)
		ck_assert_uint_eq(all_count(set), 0);
	shared->go = 1;
	shared->futex = 1;
	ck_assert_eventually(all_count(set) > 100000);
	kill_target(other);
	kill_target(pid);
}
END_TEST

/* ---- refusals -------------------------------------------------------------------- */

/* True if the process has executed this program with the argument "sleep". */
static bool has_executed(pid_t pid)
{
	char path[64], text[MAX_PAGE] = "";

	sprintf(path, "/proc/%d/cmdline", (int)pid);
	read_file(path, text, sizeof(text));
	return !strcmp(text + strlen(text) + 1, "sleep");
}

START_TEST(wrong_descriptors)
{
	static const char *const others[] = { "maps", "environ", "auxv", "pagemap", "stat" };
	pid_t pid = start_waiting(1, 10), zombie, executed;
	int mem = open_mem(pid), fd;
	unsigned int i;
	char path[64];

	assert_errno(attach_by(-1, pid, 0, inherit), EBADF);
	assert_errno(attach_by(1000, pid, 0, inherit), EBADF);
	assert_errno(attach_by(open_proc(pid, "mem", O_PATH), pid, 0, inherit), EBADF);
	assert_errno(attach_by(open_proc(pid, "mem", O_WRONLY), pid, 0, inherit), EINVAL);
	assert_errno(attach_by(open("/dev/null", O_RDWR), pid, 0, inherit), EINVAL);
	assert_errno(attach_by(dev, pid, 0, inherit), EINVAL);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		fd = open_proc(pid, others[i], O_RDONLY);
		if (fd < 0)
			die("%s: %s", others[i], strerror(-fd));
		assert_errno(attach_by(fd, pid, 0, inherit), EINVAL);
		close(fd);
	}
	/* The same name elsewhere, and another file in that place. */
	sprintf(path, "/tmp/%d", (int)pid);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	strcat(path, "/mem");
	fd = open(path, O_RDWR | O_CREAT, 0600);
	ck_assert_int_ge(fd, 0);
	assert_errno(attach_by(fd, pid, 0, inherit), EINVAL);
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	sprintf(path, "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY);
	sprintf(path + 40, "/tmp/%d/mem", (int)pid);
	ck_assert_int_eq(mount(path, path + 40, NULL, MS_BIND, NULL), 0);
	fd = open(path + 40, O_RDONLY);
	assert_errno(attach_by(fd, pid, 0, inherit), EINVAL);
	/* But the right file in another place is one. */
	sprintf(path, "/proc/%d/mem", (int)pid);
	ck_assert_int_eq(mount(path, path + 40, NULL, MS_BIND, NULL), 0);
	fd = attach_by(open(path + 40, O_RDONLY), pid, 0, inherit);
	ck_assert_int_ge(fd, 0);
	close(fd);

	/* That of another process: the caller's, and one that has ended. */
	assert_errno(attach_by(open_mem(getpid()), pid, 0, inherit), ESRCH);
	assert_errno(attach_by(mem, getpid(), 0, inherit), ESRCH);
	assert_errno(attach_by(mem, 99999, 0, inherit), ESRCH);
	assert_errno(attach_by(mem, -1, 0, inherit), ESRCH);
	/* A kernel thread: newer kernels refuse to open it. */
	fd = open_proc(2, "mem", O_RDONLY);
	if (fd >= 0)
		assert_errno(attach_by(fd, 2, 0, inherit), ESRCH);

	zombie = fork();
	if (!zombie)
		sleep_for_ever();
	fd = open_mem(zombie);
	kill(zombie, SIGKILL);
	ck_assert_int_eq(waitid(P_PID, (id_t)zombie, NULL, WEXITED | WNOWAIT), 0);
	assert_errno(attach_by(fd, zombie, 0, inherit), ESRCH);
	wait_for(zombie);
	assert_errno(attach_by(fd, zombie, 0, inherit), ESRCH);

	/* It has executed a file since the descriptor was opened. */
	executed = fork();
	if (!executed) {
		while (!shared->go)
			msleep(1);
		execl("/proc/self/exe", "test_attach", "sleep", NULL);
		_exit(1);
	}
	fd = open_mem(executed);
	shared->go = 1;
	ck_assert_eventually(has_executed(executed) && is_asleep(executed));
	assert_errno(attach_by(fd, executed, 0, inherit), ESRCH);
	kill_target(executed);

	/* The descriptor of the process itself still gives the right to attach. */
	ck_assert_int_ge(attach_by(mem, pid, 0, inherit), 0);
	kill_target(pid);
}
END_TEST

START_TEST(wrong_arguments)
{
	pid_t pid = start_waiting(1, 10);
	struct vperfctr_attach req = { .tid = pid, .mem_fd = open_mem(pid) };
	struct control control;
	struct reading r;
	int set;

	insns_control(&control, inherit);
	req.flags = 16;
	assert_errno(attach_with(&req, &control), EINVAL);
	req.flags = 0;
	req.nrthreads = 1;
	assert_errno(attach_with(&req, &control), EINVAL);
	req.nrthreads = 0;
	req.nrskipped = 1;
	assert_errno(attach_with(&req, &control), EINVAL);
	req.nrskipped = 0;
	req.used_pmcs = 1;
	assert_errno(attach_with(&req, &control), EINVAL);
	req.used_pmcs = 0;
	req.used_fixed = 1;
	assert_errno(attach_with(&req, &control), EINVAL);
	req.used_fixed = 0;
	req.control = 8;
	req.size = sizeof(req);
	assert_errno(call(dev, VPERFCTR_ATTACH, &req), EFAULT);
	assert_errno(call(dev, VPERFCTR_ATTACH, NULL), EFAULT);
	req.size = offsetof(struct vperfctr_attach, ring);	/* that of interface 0.9 */
	assert_errno(call(dev, VPERFCTR_ATTACH, &req), EFAULT);
	req.size -= 8;
	assert_errno(call(dev, VPERFCTR_ATTACH, &req), EINVAL);

	control.c.flags = VPERFCTR_CONTROL_START_ON_EXEC;
	assert_errno(attach_with(&req, &control), EINVAL);
	control.c.flags = VPERFCTR_CONTROL_END_ON_EXEC;
	assert_errno(attach_with(&req, &control), EINVAL);
	control.c.flags = VPERFCTR_CONTROL_AFFINITY;
	assert_errno(attach_with(&req, &control), EINVAL);
	control.c.flags = VPERFCTR_CONTROL_INHERIT_THREADS;
	assert_errno(attach_with(&req, &control), EINVAL);
	control.c.flags = 0;
	control.c.preserve = 1;
	assert_errno(attach_with(&req, &control), EINVAL);
	control_init(&control, 0);
	assert_errno(attach_with(&req, &control), EINVAL);
	if (has(VPERFCTR_FEATURE_PCINT)) {
		insns_control(&control, 0);
		control.c.nractrs = 0;
		control.c.nrictrs = 1;
		control.ctr[0].ireset = -100000;
		assert_errno(attach_with(&req, &control), EINVAL);
	}
	/* Nothing has been left behind; the TSC alone can be counted. */
	ck_assert(counters_free());
	control_init(&control, 1);
	set = attach_with(&req, &control);
	ck_assert_int_ge(set, 0);
	ck_assert_uint_eq(req.nrthreads, 2);
	ck_assert(counters_free());

	assert_errno(set_control(set, &control), ESRCH);
	assert_errno(call(set, VPERFCTR_SUSPEND, NULL), ESRCH);
	assert_errno(call(set, VPERFCTR_RESUME, NULL), ESRCH);
	assert_errno(call(set, VPERFCTR_IRESUME, NULL), ESRCH);
	/* READ returns the control as it was given. */
	control.c.size = sizeof(control.c);
	control.c.ctr_size = sizeof(struct vperfctr_ctr);
	control.c.ctr = 0;
	init_reading(&r)->control = (uintptr_t)&control.c;
	assert_ok(call(set, VPERFCTR_READ, &r.read));
	ck_assert_uint_eq(control.c.flags, 0);
	ck_assert_uint_eq(control.c.tsc_on, 1);
	kill_target(pid);
}
END_TEST

/* A larger structure is accepted if this module knows all that is set in it. */
START_TEST(attach_of_a_newer_caller)
{
	pid_t pid = start_waiting(1, 10);
	struct control control;
	struct {
		struct vperfctr_attach a;
		u64 newer[2];
	} s = { .a = { .size = sizeof(s), .tid = pid, .mem_fd = open_mem(pid) } };
	int i;

	s.a.control = (uintptr_t)&insns_control(&control, inherit)->c;
	for (i = 0; i < 2; i++) {
		s.newer[i] = 1ULL << 63;
		assert_errno(call(dev, VPERFCTR_ATTACH, &s), E2BIG);
		s.newer[i] = 0;
	}
	s.a.size = PAGE + 8;
	assert_errno(call(dev, VPERFCTR_ATTACH, &s), E2BIG);
	ck_assert(counters_free());
	s.a.size = offsetof(typeof(s), newer[1]);
	s.newer[1] = ~0ULL;	/* beyond the size */
	ck_assert_int_ge(call(dev, VPERFCTR_ATTACH, &s), 0);
	ck_assert_uint_eq(s.a.nrthreads, 2);
	kill_target(pid);
}
END_TEST

static void write_number(const char *path, int number)
{
	char text[20];

	sprintf(text, "%d", number);
	write_file(path, text);
}

/* All threads or none: the user's limit is reached half-way. */
START_TEST(limit_of_states)
{
	pid_t pid = start_waiting(20, 10);
	int refs = module_refs();

	write_number(MAX_STATES, 15);
	assert_errno(try_attach(pid, 0), EAGAIN);
	ck_assert_int_eq(module_refs(), refs);
	write_number(MAX_STATES, 20000);
	close(attach(pid, inherit, 21));
	kill_target(pid);
}
END_TEST

/* In several stops of the machine, the last of which visits one thread. */
START_TEST(attached_in_pieces)
{
	pid_t pid = start_waiting(20, 10);

	write_number(PER_STOP, 4);
	close(attach(pid, inherit, 21));
	write_number(PER_STOP, 0);	/* as 1 */
	close(attach(pid, inherit, 21));
	write_number(PER_STOP, 64);
	kill_target(pid);
}
END_TEST

static void on_alarm(int sig)
{
	(void)sig;
}

/* Each attachment to one thread is one stop of the machine. */
static void attach_often(pid_t pid)
{
	struct itimerval soon = { .it_value.tv_usec = 20000 };
	struct sigaction sa = { .sa_handler = on_alarm };
	int refs = module_refs(), i, set;
	u64 began = now_ms();

	for (i = 0; i < 15; i++) {
		set = try_attach(pid, 0);
		child_assert(set >= 0);
		close(set);
	}
	/* The five of the first second are at once, and ten more need two seconds. */
	child_assert(now_ms() - began >= 1990);
	/* A signal ends the wait, and nothing is attached. */
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	child_assert(try_attach(pid, 0) == -EINTR);
	child_assert(module_refs() == refs);
	_exit(0);
}

/* Return the error of an attempt as an ordinary user: 0 if it succeeds. */
static int attempt_as_nobody(pid_t pid)
{
	pid_t child = fork();
	int ret;

	if (!child) {
		become(NOBODY);
		ret = try_attach(pid, 0);
		_exit(ret < 0 ? -ret : 0);
	}
	return wait_for(child);
}

static pid_t start_nobody(bool dumpable, bool any_tracer)
{
	pid_t pid = fork();

	if (!pid) {
		become(NOBODY);
		prctl(PR_SET_DUMPABLE, dumpable);
		if (any_tracer)
			prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
		shared->step++;
		sleep_for_ever();
	}
	ck_assert_eventually(shared->step && is_asleep(pid));
	shared->step = 0;
	return pid;
}

START_TEST(stops_are_rationed)
{
	pid_t pid = start_nobody(true, true), child;

	write_number(STOPS, 5);
	child = fork();
	if (!child) {
		become(NOBODY);
		attach_often(pid);
	}
	ck_assert_int_eq(wait_for(child), 0);
	kill_target(pid);
}
END_TEST

#define SOME_HUNDRED	600

/* That many threads need three stops of 200. */
static void attach_to_many(pid_t pid)
{
	u64 began = now_ms();
	int i, set;

	for (i = 0; i < 3; i++) {
		set = try_attach(pid, 0);
		child_assert(set >= 0);
		close(set);
	}
	child_assert(now_ms() - began >= 790);
	_exit(0);
}

START_TEST(stops_for_many_threads_cost_more)
{
	pid_t pid = fork(), child;
	int i;

	if (!pid) {
		become(NOBODY);
		prctl(PR_SET_DUMPABLE, 1);
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
		for (i = 1; i < SOME_HUNDRED; i++)
			child_assert(start_child(THREAD, 1, futex(), 1) > 0);
		shared->started = 1;
		sleep_for_ever();
	}
	ck_assert_eventually(shared->started);
	write_number(STOPS, 5);
	write_number(PER_STOP, 200);
	child = fork();
	if (!child) {
		become(NOBODY);
		attach_to_many(pid);
	}
	ck_assert_int_eq(wait_for(child), 0);
	write_number(PER_STOP, 64);
	kill_target(pid);
}
END_TEST

/* ---- VPERFCTR_ATTACH_LOCKED -------------------------------------------------------- */

static void change_own_state(int expected)
{
	int fd = open_thread(0, 0);

	child_assert(fd >= 0);
	child_assert(call(fd, VPERFCTR_SUSPEND, NULL) == expected);
	child_assert(call(fd, VPERFCTR_RESUME, NULL) == expected);
	child_assert(call(fd, VPERFCTR_UNLINK, NULL) == expected);
	close(fd);
	fd = open_thread(0, VPERFCTR_OPEN_CREAT);
	child_assert(expected ? fd == -EEXIST : fd >= 0);
}

/* A thread of the same user can change its state in a set, unless the set is locked. */
START_TEST(locked_set)
{
	bool locked = _i;
	struct reading r;
	pid_t pid;
	int set;

	pid = fork();
	if (!pid) {
		while (!shared->go)
			msleep(1);
		/* A child that it starts is locked, too. */
		if (locked && inherit && !fork()) {
			change_own_state(-EPERM);
			_exit(0);
		}
		change_own_state(locked ? -EPERM : 0);
		if (locked && inherit)
			child_assert(!wait_for(-1));
		loop(1000);
		_exit(0);
	}
	set = try_attach(pid, locked ? VPERFCTR_ATTACH_LOCKED : 0);
	ck_assert_int_ge(set, 0);
	shared->go = 1;
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert(has_hup(set, 2000));
	read_state(set, &r);
	ck_assert_uint_eq(r.read.children_missed, locked ? 0 : 1);
	ck_assert_uint_gt(r.children[1], locked ? 2000 : 0);
}
END_TEST

/* ---- the rights of ptrace -------------------------------------------------------------- */

/* The device is for a group: let every user open it for these tests. */
START_TEST(rights_of_ptrace)
{
	bool yama = !access(YAMA, F_OK);
	pid_t others, own, undumpable;
	int scope, expected;

	others = fork();
	if (!others)
		sleep_for_ever();
	own = start_nobody(true, false);
	undumpable = start_nobody(false, false);
	for (scope = 0; scope <= 2; scope++) {
		if (yama)
			write_number(YAMA, scope);
		expected = yama && scope ? EACCES : 0;
		ck_assert_int_eq(attempt_as_nobody(others), EACCES);
		ck_assert_int_eq(attempt_as_nobody(own), expected);
		ck_assert_int_eq(attempt_as_nobody(undumpable), EACCES);
	}
	if (yama)
		write_number(YAMA, 1);
	kill_target(own);
	/* Yama: the target permits it. */
	own = start_nobody(true, true);
	ck_assert_int_eq(attempt_as_nobody(own), 0);
	if (yama)
		write_number(YAMA, 0);
	/* root may do all of it. */
	close(attach(undumpable, inherit, 1));
	kill_target(own);
	kill_target(undumpable);
	kill_target(others);
	printf("%s\n", yama ? "with Yama" : "without Yama");
}
END_TEST

/*
 * With Yama's scope 3, which only a reboot changes, a process can attach to itself only,
 * whatever its privileges are.
 */
START_TEST(yama_refuses_all)
{
	pid_t pid = start_waiting(1, 10);
	int mem;

	if (access(YAMA, F_OK)) {
		printf("without Yama\n");
		return;
	}
	mem = open_mem(pid);
	write_number(YAMA, 3);
	ck_assert_int_eq(try_attach(pid, 0), -EACCES);
	/* A descriptor of the caller's own memory proves nothing about other processes. */
	ck_assert_int_eq(attach_by(open_mem(getpid()), pid, 0, inherit), -ESRCH);
	close(attach(getpid(), inherit, 1));
	/* A descriptor from before remains a proof: its holder can read the memory. */
	ck_assert_int_ge(attach_by(mem, pid, 0, inherit), 0);
	kill_target(pid);
}
END_TEST

#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset	444
#define __NR_landlock_restrict_self	446
#endif

/* Restrict current by Landlock; return false if this kernel has none. */
static bool enter_sandbox(void)
{
	u64 handled = 1;	/* LANDLOCK_ACCESS_FS_EXECUTE: rules need at least one */
	int fd = syscall(__NR_landlock_create_ruleset, &handled, sizeof(handled), 0);

	if (fd < 0)
		return false;
	child_assert(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	child_assert(!syscall(__NR_landlock_restrict_self, fd, 0));
	close(fd);
	return true;
}

/* Another security module refuses: a process in a sandbox may not trace those outside. */
START_TEST(landlock_refuses)
{
	pid_t outside = start_waiting(1, 10), child, inside;

	child = fork();
	if (!child) {
		if (!enter_sandbox()) {
			printf("without Landlock\n");
			fflush(stdout);
			_exit(0);
		}
		child_assert(try_attach(outside, 0) == -EACCES);
		child_assert(attach_by(open_mem(getpid()), outside, 0, inherit) == -ESRCH);
		inside = fork();
		if (!inside)
			sleep_for_ever();
		child_assert(try_attach(inside, 0) >= 0);
		kill(inside, SIGKILL);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(child), 0);
	kill_target(outside);
}
END_TEST

static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	child_assert(!syscall(SYS_capset, &header, none));
}

/* Kernel mode may be counted by those who may count their own. */
START_TEST(kernel_mode)
{
	pid_t pid = start_nobody(true, true), child;
	struct vperfctr_attach req = { .tid = pid };
	struct control control;
	int set;

	control_init(&control, 1);
	control_add(&control, 0, INSNS_BOTH);
	child = fork();
	if (!child) {
		become(NOBODY);
		req.mem_fd = open_mem(pid);
		child_assert(attach_with(&req, &control) == -EPERM);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(child), 0);
	req.mem_fd = open_mem(pid);
	set = attach_with(&req, &control);
	ck_assert_int_ge(set, 0);
	/* The same user, without the right, cannot open a member. */
	child = fork();
	if (!child) {
		int member = open_member(set, pid);

		child_assert(member >= 0 && !close(member));
		drop_capabilities();
		child_assert(open_member(set, pid) == -EPERM);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(child), 0);
	kill_target(pid);
	ck_assert(has_hup(set, 2000));
	ck_assert_uint_gt(ended_count(set), 100);
}
END_TEST

/* A member that executes what it may not read is not counted any more. */
START_TEST(privileged_exec)
{
	char path[] = "/tmp/unreadable";
	struct reading r;
	pid_t pid;
	int set;

	write_file("/proc/sys/kernel/core_pattern", "|/bin/false");
	ck_assert_int_eq(system("cp /proc/$PPID/exe /tmp/unreadable 2>/dev/null"
				" || cp /bin/sleep /tmp/unreadable"), 0);
	ck_assert_int_eq(chmod(path, 0711), 0);
	pid = fork();
	if (!pid) {
		become(NOBODY);
		while (!shared->go)
			msleep(1);
		execl(path, path, "sleep", NULL);
		_exit(1);
	}
	set = attach(pid, inherit, 1);
	assert_status(set, CHILDREN);
	shared->go = 1;
	ck_assert_eventually(status_of(set) == PRIVILEGED);
	ck_assert(has_hup(set, 2000));
	read_state(set, &r);
	ck_assert_uint_eq(r.read.children_missed, 1);
	ck_assert_uint_gt(r.children[1], 0);
	kill(pid, SIGKILL);
	wait_for(pid);
	unlink(path);
}
END_TEST

/* An ordinary exec changes nothing, also that of a thread that is not the first. */
static void *executing_thread(void *arg)
{
	while (!shared->go)
		msleep(1);
	execl(known, known, "x", NULL);
	_exit(1);
	return arg;
}

START_TEST(exec_is_counted)
{
	pid_t pid = fork();
	pthread_t id;
	u64 before;
	int set;

	if (!pid) {
		if (_i) {
			pthread_create(&id, NULL, executing_thread, NULL);
			sleep_for_ever();
		}
		executing_thread(NULL);
	}
	ck_assert_eventually(threads_of(pid) == 1 + _i);
	set = attach(pid, inherit, 1 + _i);
	before = all_count(set);
	shared->go = 1;
	ck_assert_int_eq(wait_for(pid), 2);
	ck_assert(has_hup(set, 2000));
	ck_assert_uint_ge(ended_count(set), before + KNOWN_INSNS(2));
	ck_assert_uint_lt(ended_count(set), before + KNOWN_INSNS(2) + 20000);
}
END_TEST

/* ---- namespaces ------------------------------------------------------------------- */

static void map_ids(pid_t pid, uid_t uid)
{
	char path[64], text[64];

	sprintf(path, "/proc/%d/uid_map", (int)pid);
	sprintf(text, "0 %d 1", (int)uid);
	write_file(path, text);
}

/* From the inside, the target outside cannot be named, nor its mem be opened. */
static void refused_outside(pid_t outside, int mem)
{
	int ret;

	child_assert(attach_by(mem, outside, 0, inherit) == -ESRCH);
	child_assert(!mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
	ret = try_attach(outside, 0);
	child_assert(ret == -EACCES || ret == -ENOENT);
}

/*
 * The target is in a user namespace of its own, with a PID and a mount namespace.  Outside,
 * its user and root may attach to it.
 */
START_TEST(namespaces)
{
	pid_t outside, first, pid;
	int mem, set;

	outside = start_nobody(true, true);
	mem = open_mem(outside);
	first = fork();
	if (!first) {
		become(NOBODY);
		prctl(PR_SET_DUMPABLE, 1);
		if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS)) {
			printf("no user namespaces: %s\n", strerror(errno));
			_exit(77);
		}
		map_ids(getpid(), NOBODY);
		pid = fork();
		if (!pid) {
			child_assert(getpid() == 1);
			prctl(PR_SET_DUMPABLE, 1);
			prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
			refused_outside(outside, mem);
			shared->step = 1;
			while (!shared->go)
				msleep(1);
			_exit(0);
		}
		shared->pid = pid;
		_exit(wait_for(pid));
	}
	/* The child may run before its parent has stored its id. */
	while (!(shared->step && shared->pid) && !waitpid(first, NULL, WNOHANG))
		msleep(1);
	ck_assert(shared->step && shared->pid);
	pid = shared->pid;
	ck_assert_int_eq(attempt_as_nobody(pid), 0);
	set = attach(pid, inherit, 1);
	shared->go = 1;
	ck_assert_int_eq(wait_for(first), 0);
	ck_assert(has_hup(set, 2000));
	ck_assert_uint_gt(ended_count(set), 0);
	kill_target(outside);
}
END_TEST

/* ---- races ------------------------------------------------------------------------ */

/* Even phases, modulo 4: whether the process is attached to. */
enum { DETACHED, ATTACHING, IS_ATTACHED, CLOSING };

static void next_phase(void)
{
	__atomic_add_fetch(&shared->phase, 1, __ATOMIC_SEQ_CST);
}

/*
 * Threads start and end all the time.  Each one checks that it has a state if the process
 * is attached to, and none if it is not, if the phase does not change meanwhile.
 */
static void *short_thread(void *arg)
{
	u32 phase = __atomic_load_n(&shared->phase, __ATOMIC_SEQ_CST);
	int fd = open_thread(0, 0);

	if (fd >= 0)
		close(fd);
	if (!(phase & 1) && __atomic_load_n(&shared->phase, __ATOMIC_SEQ_CST) == phase &&
	    (phase % 4 == IS_ATTACHED) != (fd >= 0)) {
		fprintf(stderr, "a thread %s: %d\n",
			fd >= 0 ? "has a state left" : "was missed", fd);
		__atomic_add_fetch(&shared->errors, 1, __ATOMIC_SEQ_CST);
	}
	__atomic_add_fetch(&shared->ended, 1, __ATOMIC_SEQ_CST);
	return arg;
}

static void *starting_thread(void *arg)
{
	pthread_t ids[8];
	unsigned int i;

	while (!shared->go) {
		for (i = 0; i < 8; i++)
			if (pthread_create(&ids[i], NULL, short_thread, NULL))
				die("pthread_create");
		for (i = 0; i < 8; i++)
			pthread_join(ids[i], NULL);
	}
	return arg;
}

#define STARTERS	4
#define ROUNDS		60

START_TEST(threads_start_and_end)
{
	struct vperfctr_attach req = { .flags = 0 };
	pthread_t ids[STARTERS];
	struct control control;
	struct reading r;
	u64 last;
	int i, j, set;
	pid_t pid;

	if (!inherit)
		return;
	insns_control(&control, inherit);
	pid = fork();
	if (!pid) {
		start_child(THREAD, 1, futex(), 1);
		for (i = 0; i < STARTERS; i++)
			pthread_create(&ids[i], NULL, starting_thread, NULL);
		for (i = 0; i < STARTERS; i++)
			pthread_join(ids[i], NULL);
		_exit(0);
	}
	req.tid = pid;
	req.mem_fd = open_mem(pid);
	ck_assert_eventually(shared->ended > 100);
	for (i = 0; i < ROUNDS; i++) {
		next_phase();
		set = attach_with(&req, &control);
		ck_assert_int_ge(set, 0);
		next_phase();
		ck_assert_uint_ge(req.nrthreads, STARTERS);
		ck_assert_uint_eq(req.nrskipped, 0);
		for (j = 0, last = 0; j < 5; j++) {
			read_members(set, &r);
			ck_assert_uint_eq(r.read.children_missed, 0);
			ck_assert_uint_ge(r.children[1], last);
			last = r.children[1];
			msleep(1);
		}
		next_phase();
		close(set);
		next_phase();
		msleep(2);
		req.nrthreads = 0;
		req.used_pmcs = 0;
		req.used_fixed = 0;
	}
	shared->go = 1;
	wake_all(futex());
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_uint_eq(shared->errors, 0);
	printf("%u threads, %d times attached to\n", shared->ended, ROUNDS);
	close(req.mem_fd);
	/* No thread has had two states, of which one would remain. */
	settle();
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	if (getenv("RACE")) {
		tcase_add_test(tc, threads_start_and_end);
		return;
	}
	if (getenv("YAMA")) {
		tcase_add_test(tc, yama_refuses_all);
		return;
	}
	tcase_add_test(tc, all_threads_at_once);
	tcase_add_loop_test(tc, close_ends_counting, 0, 2);
	tcase_add_test(tc, last_thread_leaves);
	tcase_add_test(tc, one_thread_only);
	tcase_add_loop_test(tc, started_later, 0, 3);
	tcase_add_test(tc, inherit_threads);
	tcase_add_test(tc, running_members);
	tcase_add_test(tc, members_end_while_read);
	tcase_add_test(tc, members_of_own_family);
	tcase_add_test(tc, members);
	tcase_add_test(tc, members_of_a_thread);
	tcase_add_test(tc, software_counters);
	tcase_add_test(tc, own_process);
	tcase_add_test(tc, no_call_is_interrupted);
	tcase_add_loop_test(tc, traced_by_another, 0, 2);
	tcase_add_test(tc, wrong_descriptors);
	tcase_add_test(tc, wrong_arguments);
	tcase_add_test(tc, attach_of_a_newer_caller);
	tcase_add_test(tc, limit_of_states);
	tcase_add_test(tc, attached_in_pieces);
	tcase_add_test(tc, stops_are_rationed);
	tcase_add_test(tc, stops_for_many_threads_cost_more);
	tcase_add_loop_test(tc, locked_set, 0, 2);
	tcase_add_test(tc, rights_of_ptrace);
	tcase_add_test(tc, landlock_refuses);
	tcase_add_test(tc, kernel_mode);
	tcase_add_test(tc, privileged_exec);
	tcase_add_loop_test(tc, exec_is_counted, 0, 2);
	tcase_add_test(tc, namespaces);
	tcase_add_test(tc, threads_start_and_end);
}

int main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", known, sizeof(known) - 20);

	/* The program that a target executes. */
	if (argc > 1 && !strcmp(argv[1], "sleep"))
		sleep_for_ever();
	if (n < 0)
		die("/proc/self/exe: %s", strerror(errno));
	strcat(dirname(known), "/known");
	open_device();
	return run_tests("attach", add);
}
