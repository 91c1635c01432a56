// SPDX-License-Identifier: GPL-2.0
/*
 * The number of states, their charge to users and cgroups, and their cost.  Counts must
 * be exact.
 */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "service.h"

#define MANY	10000

#define MAX_RING	"/sys/module/vperfctr/parameters/max_ring_kb_per_user"

/* A ring has whole pages: its size and the limit grow with the size of a page. */
#define RING_SAMPLES	(2048 * PAGE / 4096)
#define RING_LIMIT	(512 * PAGE / 4096)	/* kB */

/* A thread: its requests, and its count. */
struct slot {
	struct counted c;
	struct vperfctr_read read;
	u64 sums[2];
};

/* Threads with a state each, which wait for the futex. */
struct crowd {
	struct slot *slots;
	struct control control;
	struct vperfctr_open open;
	unsigned int futex, ended;
	unsigned int n;
};

static struct crowd *crowd;

static unsigned long length_of(unsigned int i)
{
	return 1 + 7 * i % 5000;
}

static void make_crowd(unsigned int n)
{
	unsigned int i;

	crowd = shared_memory(sizeof(*crowd) + n * sizeof(struct slot));
	crowd->slots = (void *)(crowd + 1);
	crowd->n = n;
	crowd->open.size = sizeof(crowd->open);
	crowd->open.flags = VPERFCTR_OPEN_CREAT;
	control_init(&crowd->control, 1);
	control_add(&crowd->control, 0, INSNS_USER);
	for (i = 0; i < n; i++) {
		struct slot *slot = &crowd->slots[i];
		long tid;

		slot->read.size = sizeof(slot->read);
		slot->read.nrctrs = 1;
		slot->read.sums = (uintptr_t)slot->sums;
		slot->c = (struct counted) {
			.dev = dev, .open = &crowd->open, .control = &crowd->control.c,
			.futex = &crowd->futex, .n = length_of(i), .read = &slot->read,
			.control_result = 1, .read_result = 1, .ended = &crowd->ended,
		};
		tid = start_counted(THREAD, &slot->c);
		if (tid < 0)
			die("thread %u: %s", i, strerror((int)-tid));
	}
	/* Wait until all of them have called CONTROL. */
	for (i = 0; i < n; i++) {
		while (__atomic_load_n(&crowd->slots[i].c.control_result, __ATOMIC_ACQUIRE) == 1)
			msleep(1);
	}
}

static void end_crowd(void)
{
	wake_all(&crowd->futex);
	while (__atomic_load_n(&crowd->ended, __ATOMIC_ACQUIRE) < crowd->n)
		msleep(1);
}

static unsigned int nr_opened(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < crowd->n; i++) {
		if (crowd->slots[i].c.fd >= 0)
			n++;
		else if (crowd->slots[i].c.fd != -EAGAIN)
			die("OPEN in thread %u: %s", i, strerror((int)-crowd->slots[i].c.fd));
	}
	return n;
}

static void close_crowd(void)
{
	unsigned int i;

	for (i = 0; i < crowd->n; i++) {
		if (crowd->slots[i].c.fd >= 0)
			close(crowd->slots[i].c.fd);
	}
}

static void write_number(const char *path, unsigned int n)
{
	char text[16];

	sprintf(text, "%u", n);
	write_file(path, text);
}

static void limit(unsigned int n)
{
	write_number(MAX_STATES, n);
}

/* In a child: exit with a status other than 0 if the condition is false. */
#define child_assert(condition) do {					\
	if (!(condition)) {						\
		fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
		_exit(1);						\
	}								\
} while (0)

/* ---- max_states_per_user -------------------------------------------------------- */

START_TEST(limit_per_user)
{
	int fd;
	pid_t pid;

	limit(7);
	make_crowd(20);
	ck_assert_uint_eq(nr_opened(), 7);
	assert_errno(try_open_state(VPERFCTR_OPEN_CREAT), EAGAIN);
	/* An existing state can be opened, but there is none. */
	assert_errno(try_open_state(0), ENOENT);
	/* Another user has the same limit. */
	pid = fork();
	if (!pid) {
		become(NOBODY);
		make_crowd(10);
		child_assert(nr_opened() == 7);
		child_assert(try_open_state(VPERFCTR_OPEN_CREAT) == -EAGAIN);
		end_crowd();
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	/* The other user's states do not matter here. */
	assert_errno(try_open_state(VPERFCTR_OPEN_CREAT), EAGAIN);
	limit(8);
	fd = try_open_state(VPERFCTR_OPEN_CREAT);
	ck_assert_int_ge(fd, 0);
	pid = fork();
	if (!pid)
		_exit(-try_open_state(VPERFCTR_OPEN_CREAT));
	ck_assert_int_eq(wait_for(pid), EAGAIN);
	/* UNLINK and close of the last descriptor make room for another state. */
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	assert_errno(try_open_state(VPERFCTR_OPEN_CREAT), EAGAIN);
	close(fd);
	fd = try_open_state(VPERFCTR_OPEN_CREAT);
	ck_assert_int_ge(fd, 0);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	close(fd);
	/* A lower limit does not affect existing states. */
	limit(3);
	assert_errno(try_open_state(VPERFCTR_OPEN_CREAT), EAGAIN);
	end_crowd();
	for (unsigned int i = 0; i < 20; i++) {
		if (crowd->slots[i].c.fd >= 0)
			ck_assert_uint_eq(crowd->slots[i].sums[1], INSNS_COUNTED(length_of(i)));
	}
	close_crowd();
	ck_assert_eventually((fd = try_open_state(VPERFCTR_OPEN_CREAT)) >= 0);
}
END_TEST

/* The end of a thread makes room for another state, if no descriptor is left. */
START_TEST(end_of_thread_makes_room)
{
	pid_t pid;
	int i;

	limit(1);
	for (i = 0; i < 20; i++) {
		pid = fork();
		if (!pid) {
			int fd = -EAGAIN;

			/* The state of the thread before is freed soon. */
			child_assert(eventually((fd = try_open_state(VPERFCTR_OPEN_CREAT)) >= 0));
			if (i & 1)
				close(fd);
			if (i & 2)
				child_assert(fd < 0 || i & 1 || !count_insns(fd, 0));
			_exit(0);
		}
		ck_assert_int_eq(wait_for(pid), 0);
	}
}
END_TEST

/* A limit of zero allows no state. */
START_TEST(limit_of_zero)
{
	limit(0);
	assert_errno(try_open_state(VPERFCTR_OPEN_CREAT), EAGAIN);
	assert_errno(try_open_state(VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT), EAGAIN);
}
END_TEST

/* An OPEN that fails for lack of a descriptor makes no state. */
START_TEST(failed_open_makes_no_state)
{
	struct rlimit few = { 0, 1024 };
	int refs = module_refs(), i;

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (i = 0; i < 10; i++)
		assert_errno(try_open_state(VPERFCTR_OPEN_CREAT), EMFILE);
	few.rlim_cur = 1024;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_errno(try_open_state(0), ENOENT);
	ck_assert_int_eq(module_refs(), refs);
	limit(1);
	ck_assert_int_ge(try_open_state(VPERFCTR_OPEN_CREAT), 0);
	assert_errno(try_open_state(VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_OBSERVER), EAGAIN);
}
END_TEST

/* Nor does an OPEN that fails because the thread has a state. */
START_TEST(open_of_existing_state_makes_none)
{
	int refs, i, fd = open_state(0);

	limit(2);
	refs = module_refs();
	for (i = 0; i < 10; i++)
		assert_errno(try_open_state(VPERFCTR_OPEN_CREAT | (i & 1 ? VPERFCTR_OPEN_TRANSIENT : 0)),
			     EEXIST);
	for (i = 0; i < 10; i++)
		assert_errno(open_thread(1, VPERFCTR_OPEN_CREAT), EPERM);
	ck_assert_int_eq(module_refs(), refs);
	assert_status(fd, ATTACHED);
}
END_TEST

/* ---- users -------------------------------------------------------------------------- */

/* Let the process be root of a new user namespace that maps many users. */
static void enter_user_namespace(const char *map)
{
	int ready[2], mapped[2];
	char path[64], c = 0;
	pid_t pid;

	child_assert(!pipe(ready) && !pipe(mapped));
	pid = fork();
	if (!pid) {
		/* As newuidmap does, with more rights than the owner of the namespace. */
		close(ready[1]);
		child_assert(read(ready[0], &c, 1) == 1);
		sprintf(path, "/proc/%d/uid_map", getppid());
		write_file(path, map);
		sprintf(path, "/proc/%d/gid_map", getppid());
		write_file(path, map);
		child_assert(write(mapped[1], &c, 1) == 1);
		_exit(0);
	}
	/* The device is open: the owner of the namespace may use it. */
	become(1000);
	child_assert(!unshare(CLONE_NEWUSER));
	child_assert(write(ready[1], &c, 1) == 1);
	child_assert(read(mapped[0], &c, 1) == 1);
	child_assert(wait_for(pid) == 0);
	close(ready[0]);
	close(ready[1]);
	close(mapped[0]);
	close(mapped[1]);
}

/* Open states that outlast their users' processes; return how many could be opened. */
static unsigned int open_as_users(unsigned int n, unsigned int ring_samples)
{
	unsigned int i, opened = 0;

	for (i = 1; i <= n; i++) {
		struct vperfctr_ring ring = {
			.size = sizeof(ring), .nrsamples = ring_samples, .watermark = 1,
		};
		int fd = -1;
		pid_t pid;

		child_assert(!setresuid(i, i, 0));
		pid = fork_files();
		if (!pid) {
			fd = try_open_state(VPERFCTR_OPEN_CREAT);
			if (fd < 0)
				_exit(fd == -EAGAIN ? 1 : 2);
			if (ring_samples && call(fd, VPERFCTR_RING, &ring))
				_exit(3);
			_exit(0);
		}
		switch (wait_for(pid)) {
		case 0:
			opened++;
			break;
		case 2:
			child_assert(false);
		}
		child_assert(!setresuid(0, 0, 0));
	}
	return opened;
}

/* Users that a namespace maps share the limits of the user who made it. */
START_TEST(limit_holds_in_user_namespace)
{
	pid_t pid;

	limit(4);
	pid = fork();
	if (!pid) {
		enter_user_namespace("0 1000 1\n1 100000 60000\n");
		_exit(open_as_users(30, 0));
	}
	ck_assert_int_eq(wait_for(pid), 4);
	settle();
}
END_TEST

/* So do those of a namespace within it. */
START_TEST(limit_holds_in_nested_namespaces)
{
	pid_t pid;

	limit(4);
	pid = fork();
	if (!pid) {
		unsigned int opened;

		enter_user_namespace("0 1000 1\n1 100000 60000\n");
		opened = open_as_users(2, 0);
		child_assert(!setresuid(77, 77, 77));
		child_assert(!unshare(CLONE_NEWUSER));
		child_assert(try_open_state(VPERFCTR_OPEN_CREAT) >= 0);
		pid = fork_files();
		if (!pid)
			_exit(try_open_state(VPERFCTR_OPEN_CREAT) >= 0);
		opened += 1 + wait_for(pid);
		pid = fork();
		if (!pid)
			_exit(-try_open_state(VPERFCTR_OPEN_CREAT));
		child_assert(wait_for(pid) == EAGAIN);
		_exit(opened);
	}
	ck_assert_int_eq(wait_for(pid), 4);
	settle();
}
END_TEST

/* The limit of the rings' memory holds there, too. */
START_TEST(ring_limit_holds_in_user_namespace)
{
	pid_t pid;

	int opened;

	write_number(MAX_RING, RING_LIMIT);
	pid = fork();
	if (!pid) {
		enter_user_namespace("0 1000 1\n1 100000 60000\n");
		/* At least 52 kB each, if a page has 4 kB. */
		_exit(open_as_users(20, RING_SAMPLES));
	}
	opened = wait_for(pid);
	ck_assert_int_ge(opened, 2);
	ck_assert_int_le(opened, 9);
	settle();
}
END_TEST

/* A process with more rights, which joins a namespace, is charged like those in it. */
static void join_user_namespace(pid_t pid)
{
	char path[64];
	int ns;

	sprintf(path, "/proc/%d/ns/user", pid);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	child_assert(ns >= 0 && !setns(ns, CLONE_NEWUSER));
	close(ns);
}

/* Start a process in a namespace, or in one within it, that opens two states and stays. */
static pid_t start_in_namespace(bool nested, unsigned int ring_samples)
{
	volatile int *ready = shared_memory(PAGE);
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		enter_user_namespace("0 1000 1\n1 100000 60000\n");
		child_assert(open_as_users(2, ring_samples) == 2);
		if (nested) {
			child_assert(!setresuid(77, 77, 77));
			child_assert(!unshare(CLONE_NEWUSER));
		}
		*ready = 1;
		for (;;)
			pause();
	}
	ck_assert_eventually(*ready);
	munmap((void *)ready, PAGE);
	return pid;
}

/* Open states that outlast their processes, as the same user; return how many. */
static unsigned int open_several(unsigned int n)
{
	unsigned int opened = 0;

	while (n--) {
		pid_t pid = fork_files();

		if (!pid)
			_exit(try_open_state(VPERFCTR_OPEN_CREAT) < 0);
		opened += !wait_for(pid);
	}
	return opened;
}

START_TEST(limit_holds_after_setns)
{
	pid_t inside, pid;

	limit(4);
	inside = start_in_namespace(_i, 0);
	pid = fork();
	if (!pid) {
		join_user_namespace(inside);
		child_assert(open_several(5) == 2);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	/* The user who made the namespace has the same limit; two of the four are free again. */
	pid = fork();
	if (!pid) {
		become(1000);
		child_assert(eventually(open_several(1)));
		_exit(open_several(5));
	}
	ck_assert_int_eq(wait_for(pid), 1);
	kill(inside, SIGKILL);
	wait_for(inside);
	settle();
}
END_TEST

/* So are its rings. */
static int rings_after_setns(pid_t inside)
{
	pid_t pid = fork();

	if (!pid) {
		join_user_namespace(inside);
		child_assert(!setresuid(0, 0, 0));
		_exit(open_as_users(20, RING_SAMPLES));
	}
	return wait_for(pid);
}

START_TEST(ring_limit_holds_after_setns)
{
	pid_t without, with;
	int all, rest;

	write_number(MAX_RING, RING_LIMIT);
	without = start_in_namespace(false, 0);
	all = rings_after_setns(without);
	ck_assert_int_ge(all, 4);
	ck_assert_int_le(all, 9);
	kill(without, SIGKILL);
	wait_for(without);
	settle();
	with = start_in_namespace(false, RING_SAMPLES);
	rest = rings_after_setns(with);
	ck_assert_int_eq(rest, all - 2);
	kill(with, SIGKILL);
	wait_for(with);
	settle();
}
END_TEST

/* ---- many states ------------------------------------------------------------------- */

static long mem_available(void)
{
	char text[1000], *s;

	/* Let deferred frees happen. */
	msleep(500);
	write_file("/proc/sys/vm/drop_caches", "3");
	read_file("/proc/meminfo", text, sizeof(text));
	s = strstr(text, "MemAvailable:");
	return s ? atol(s + 13) : -1;
}

static void many_in_child(unsigned int n)
{
	struct rlimit files = { n + 100, n + 100 };
	long before, between, tsc = 0;
	int refs = module_refs();
	pid_t pid = fork();
	unsigned int i, tries;

	if (!pid) {
		child_assert(!setrlimit(RLIMIT_NOFILE, &files));
		before = mem_available();
		make_crowd(n);
		child_assert(nr_opened() == n);
		/* Each state has one reference, and each open file. */
		child_assert(module_refs() == refs + 2 * (int)n);
		between = mem_available();
		end_crowd();
		for (i = 0; i < n; i++) {
			struct slot *slot = &crowd->slots[i];

			if (slot->c.control_result || slot->c.read_result ||
			    slot->sums[1] != INSNS_COUNTED(slot->c.n))
				die("thread %u: CONTROL %ld, READ %ld, counted %llu, not %llu", i,
				    slot->c.control_result, slot->c.read_result, slot->sums[1],
				    INSNS_COUNTED(slot->c.n));
			tsc += slot->sums[0] > tsc_of(slot->sums[1]);
		}
		child_assert(tsc == n);
		for (i = 0; i < n; i += n / 20) {
			/* The threads have been told to end, and may take a while. */
			for (tries = 0; status_of(crowd->slots[i].c.fd) && tries < 1000; tries++)
				msleep(10);
			child_assert(status_of(crowd->slots[i].c.fd) == 0);
			child_assert(count_of(crowd->slots[i].c.fd) >= INSNS_COUNTED(length_of(i)));
		}
		/* Close some descriptors; the exit closes the others. */
		crowd->n = n / 2;
		close_crowd();
		printf("%u threads took %ld kB\n", n, before - between);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_eventually(module_refs() == refs);
}

START_TEST(ten_thousand_states)
{
	write_file("/proc/sys/kernel/threads-max", "30000");
	many_in_child(MANY);
	ck_assert(counters_free());
}
END_TEST

/*
 * The memory that use() takes is freed: a leak would be of that many kB.  The kernel's caches
 * take and give some megabytes at any time, also for others.  A leak takes memory in each
 * attempt, so the best one counts.
 */
static void assert_freed(void (*use)(void), long leak)
{
	long before, lost, least = LONG_MAX;
	int attempt;

	/* The first time fills the kernel's caches, which is no leak. */
	use();
	for (attempt = 0; attempt < 4 && least >= leak / 2; attempt++) {
		before = mem_available();
		use();
		lost = before - mem_available();
		printf("%ld kB less are available, a leak would be %ld kB\n", lost, leak);
		if (lost < least)
			least = lost;
	}
	ck_assert_int_lt(least, leak / 2);
}

static void make_states(void)
{
	int i;

	for (i = 0; i < 4; i++)
		many_in_child(1000);
}

/* With the page that a state gets when it is mapped. */
static void make_pages(void)
{
	int fd, i;

	for (i = 0; i < 3000; i++) {
		fd = open_state(0);
		munmap((void *)map_state(fd), PAGE);
		assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
		close(fd);
	}
}

START_TEST(memory_of_states_is_freed)
{
	assert_freed(make_states, 4 * 1500);
}
END_TEST

START_TEST(memory_of_pages_is_freed)
{
	assert_freed(make_pages, 3000 * PAGE / 1024);
}
END_TEST

/*
 * A thread that has become another user is counted for the user of its state, but the
 * states of its children are charged to the new user.
 */
static void fork_as_nobody(void)
{
	int fd = open_state(0), hold[2], i;
	struct reading r;
	pid_t child[2];
	char byte;

	child_assert(!count_insns(fd, VPERFCTR_CONTROL_INHERIT));
	/* The first user has as many states as it may: a child gets none. */
	child[0] = fork();
	if (!child[0])
		_exit(-try_open_state(VPERFCTR_OPEN_CREAT));
	child_assert(wait_for(child[0]) == EAGAIN);
	become(NOBODY);
	child_assert(!pipe(hold));
	for (i = 0; i < 2; i++) {
		child[i] = fork();
		if (!child[i]) {
			close(hold[1]);
			_exit((int)read(hold[0], &byte, 1));
		}
	}
	close(hold[1]);
	for (i = 0; i < 2; i++)
		child_assert(!wait_for(child[i]));
	/* The child from before is missed, and the second one of the new user. */
	read_state(fd, &r);
	child_assert(r.read.children_missed == 2);
	_exit(0);
}

START_TEST(child_is_charged_to_its_user)
{
	pid_t pid;

	limit(1);
	pid = fork();
	if (!pid)
		fork_as_nobody();
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

/* The same with inheritance, without descriptors. */
START_TEST(ten_thousand_children)
{
	static unsigned int futex;
	int fd = open_state(0);
	struct reading r;
	u64 expected = 0;
	unsigned int i;

	write_file("/proc/sys/kernel/threads-max", "30000");
	assert_ok(count_insns(fd, VPERFCTR_CONTROL_INHERIT));
	for (i = 0; i < MANY; i++) {
		ck_assert_int_gt(start_child(THREAD, length_of(i), &futex, 1), 0);
		expected += INSNS_CHILD_FUTEX(length_of(i), 1);
	}
	msleep(50);
	read_state(fd, &r);
	ck_assert_uint_eq(r.read.status, ATTACHED | ACTIVE | CHILDREN);
	ck_assert_uint_eq(r.read.children_missed, 0);
	wake_all(&futex);
	ck_assert_eventually(!(status_of(fd) & CHILDREN));
	read_state(fd, &r);
	ck_assert_uint_eq(r.children[1], expected);
	ck_assert_uint_eq(r.read.children_missed, 0);
}
END_TEST

/* Thousands of children are dissolved at once, and continue uncounted. */
START_TEST(thousands_dissolved_at_once)
{
	const unsigned int n = 3000;
	static unsigned int futex;
	int fd = open_state(0);
	struct reading r;
	u64 expected = 0;
	unsigned int i;

	assert_ok(count_insns(fd, VPERFCTR_CONTROL_INHERIT));
	for (i = 0; i < n; i++) {
		ck_assert_int_gt(start_child(THREAD, length_of(i), &futex, 1), 0);
		expected += INSNS_CHILD_UNTIL_FUTEX(length_of(i));
	}
	msleep(50);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	read_state(fd, &r);
	ck_assert_uint_eq(r.read.status, 0);
	ck_assert_uint_eq(r.children[1], expected);
	ck_assert(counters_free());
	close(fd);
	ck_assert_eventually(module_refs() == 1);
}
END_TEST

/* ---- memory cgroup ----------------------------------------------------------------- */

#define CGROUP	"/tmp/cgroup"

static long memory_current(void)
{
	char text[64];

	read_file(CGROUP "/test/memory.current", text, sizeof(text));
	return atol(text);
}

static void make_cgroup(void)
{
	mkdir(CGROUP, 0700);
	ck_assert_int_eq(mount("none", CGROUP, "cgroup2", 0, NULL), 0);
	write_file(CGROUP "/cgroup.subtree_control", "+memory");
	ck_assert_int_eq(mkdir(CGROUP "/test", 0700), 0);
}

static void remove_cgroup(void)
{
	ck_assert_eventually(!rmdir(CGROUP "/test"));
	umount(CGROUP);
}

/* A state's memory is charged to the cgroup of the thread that makes it. */
START_TEST(memory_is_charged_to_cgroup)
{
	/* Charges are made in batches of pages: see below. */
	const unsigned int n = 500 * PAGE / 4096;
	int pipes[2];
	pid_t pid;
	long with, without;

	make_cgroup();
	ck_assert_int_eq(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		struct rlimit files = { n + 100, n + 100 };
		unsigned int futex = 0, i;
		long start;

		child_assert(!setrlimit(RLIMIT_NOFILE, &files));
		write_file(CGROUP "/test/cgroup.procs", "0");
		start = memory_current();
		for (i = 0; i < n; i++)
			child_assert(start_child(THREAD, 1, &futex, 1) > 0);
		msleep(100);
		without = memory_current() - start;
		wake_all(&futex);
		msleep(500);
		start = memory_current();
		make_crowd(n);
		with = memory_current() - start;
		end_crowd();
		child_assert(write(pipes[1], &with, sizeof(with)) == sizeof(with));
		child_assert(write(pipes[1], &without, sizeof(without)) == sizeof(without));
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_int_eq(read(pipes[0], &with, sizeof(with)), sizeof(with));
	ck_assert_int_eq(read(pipes[0], &without, sizeof(without)), sizeof(without));
	printf("%u threads were charged %ld kB with states, %ld kB without\n", n, with / 1024,
	       without / 1024);
	/* More than the charges that the kernel makes in advance.  A state has no page yet. */
	ck_assert_int_gt(with - without, (long)n * 1024);
	remove_cgroup();
}
END_TEST

/* So is that of a ring, and it is given back with the state. */
START_TEST(ring_is_charged_to_cgroup)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = (1 << 16) * PAGE / 4096, .watermark = 1,
	};
	pid_t pid;

	make_cgroup();
	pid = fork();
	if (!pid) {
		long without, with;
		int fd;

		write_file(CGROUP "/test/cgroup.procs", "0");
		fd = open_state(0);
		without = memory_current();
		child_assert(!call(fd, VPERFCTR_RING, &ring));
		with = memory_current();
		printf("a ring of %llu kB was charged with %ld kB\n", ring.map_size / 1024,
		       (with - without) / 1024);
		fflush(stdout);
		child_assert(ring.map_size > 1 << 20);
		/* The kernel charges in batches of 64 pages: the rest of one may have been enough. */
		child_assert(with - without >= (long)ring.map_size - 64 * PAGE);
		child_assert(!call(fd, VPERFCTR_UNLINK, NULL));
		close(fd);
		/* The kernel gives back a part of it late, in batches. */
		child_assert(eventually(memory_current() < with - (long)ring.map_size / 2));
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	remove_cgroup();
}
END_TEST

/* Wait until the states of the tests before are gone. */
static void setup(void)
{
	struct rlimit nproc = { 2 * MANY, 2 * MANY };

	/* With little memory, or large stacks, these limits are less than MANY. */
	write_file("/proc/sys/kernel/threads-max", "20000");
	ck_assert_int_eq(setrlimit(RLIMIT_NPROC, &nproc), 0);
	ck_assert_eventually(module_refs() <= 1);
}

static void teardown(void)
{
	limit(20000);
	write_file(MAX_RING, "65536");
}

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, limit_per_user);
	tcase_add_test(tc, end_of_thread_makes_room);
	tcase_add_test(tc, limit_of_zero);
	tcase_add_test(tc, failed_open_makes_no_state);
	tcase_add_test(tc, open_of_existing_state_makes_none);
	tcase_add_test(tc, limit_holds_in_user_namespace);
	tcase_add_test(tc, limit_holds_in_nested_namespaces);
	tcase_add_loop_test(tc, limit_holds_after_setns, 0, 2);
	if (has(VPERFCTR_FEATURE_PCINT)) {
		tcase_add_test(tc, ring_limit_holds_in_user_namespace);
		tcase_add_test(tc, ring_limit_holds_after_setns);
	}
	tcase_add_test(tc, ten_thousand_states);
	tcase_add_test(tc, memory_of_states_is_freed);
	tcase_add_test(tc, memory_of_pages_is_freed);
	tcase_add_test(tc, child_is_charged_to_its_user);
	tcase_add_test(tc, ten_thousand_children);
	tcase_add_test(tc, thousands_dissolved_at_once);
	tcase_add_test(tc, memory_is_charged_to_cgroup);
	if (has(VPERFCTR_FEATURE_PCINT))
		tcase_add_test(tc, ring_is_charged_to_cgroup);
}

int main(void)
{
	open_device();
	return run_tests("state_limits", add);
}
