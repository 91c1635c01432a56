// SPDX-License-Identifier: GPL-2.0
/*
 * VPERFCTR_CONTROL_INHERIT: the children's sums.  All counted code has a known length,
 * so sums must be exact, on any number of CPUs.  This needs virtual time, where time is
 * instructions.
 */
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "known.h"
#include "service.h"

static char known[256], family[280];
static int fd;
static unsigned int *futex;
static volatile u32 *shared;

static void setup(void)
{
	shared = shared_memory(PAGE);
	futex = (unsigned int *)&shared[64];
	settle();
	fd = open_state(0);
	assert_ok(count_insns(fd, VPERFCTR_CONTROL_INHERIT));
}

/* Check the sums of the children, after all of them have ended. */
static void check_family(int state, u64 insns, u64 missed)
{
	struct reading r;

	read_state(state, &r);
	ck_assert_uint_eq(r.children[1], insns);
	ck_assert_uint_eq(r.read.children_missed, missed);
	ck_assert_uint_eq(r.read.status & CHILDREN, 0);
	ck_assert_int_eq(!insns, !r.children[0]);
}

static bool has_children(int state)
{
	return status_of(state) & CHILDREN;
}

/* Wait until hardly anything else is running. */
static void let_others_run(void)
{
	msleep(50);
}

static pid_t start(unsigned long flags, unsigned long n, unsigned int *wait, unsigned long m)
{
	pid_t pid = start_child(flags, n, wait, m);

	if (pid < 0)
		die("clone: %s", strerror((int)-pid));
	return pid;
}

/* In a child: exit with a status other than 0 if the condition is false. */
#define child_assert(condition) do {					\
	if (!(condition)) {						\
		fprintf(stderr, "line %d: false: %s\n", __LINE__, #condition); \
		_exit(1);						\
	}								\
} while (0)

/* ---- inheritance by all kinds of children -------------------------------------- */

static const unsigned long kinds[] = { FORKED, VFORKED, SHARING_MEMORY, THREAD };

START_TEST(every_kind_of_child)
{
	const unsigned long lengths[] = { 1, 2, 1000, 123456 };
	u64 expected = 0;
	unsigned int i;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		pid_t pid = start(kinds[_i], lengths[i], NULL, 0);

		if (kinds[_i] == THREAD)
			ck_assert_eventually(!has_children(fd));
		else
			ck_assert_int_eq(wait_for(pid), 0);
		expected += INSNS_CHILD(lengths[i]);
		check_family(fd, expected, 0);
	}
}
END_TEST

/* The owner's own count, with and without children. */
static u64 own_count(unsigned long n)
{
	struct reading before, after;
	pid_t pid;

	read_state(fd, &before);
	pid = start_child(FORKED, n, NULL, 0);
	while (waitpid(pid, NULL, 0) != pid)
		;
	read_state(fd, &after);
	return after.own[1] - before.own[1];
}

START_TEST(own_sums_exclude_children)
{
	u64 own = own_count(1);

	own = own_count(1);	/* the first may resolve a symbol */
	ck_assert_uint_eq(own_count(100000), own);
	/* The same without inheritance. */
	assert_ok(count_insns(fd, 0));
	ck_assert_uint_eq(own_count(1), own);
	ck_assert_uint_eq(own_count(100000), own);
	check_family(fd, 0, 0);
}
END_TEST

START_TEST(grandchildren)
{
	u64 expected = 0;
	unsigned int i;

	for (i = 1; i <= 4; i++) {
		ck_assert_int_eq(wait_for(spawn_tree(FORKED, i, 100 * i)), 0);
		expected += INSNS_TREE(i, 100 * i);
		check_family(fd, expected, 0);
		ck_assert_int_eq(wait_for(spawn_tree(THREAD | CLONE_VFORK, i, 100 * i)), 0);
		expected += INSNS_TREE_THREADS(i, 100 * i);
		check_family(fd, expected, 0);
		ck_assert_int_eq(wait_for(fork_chain(8 * i, 10 * i)), 0);
		expected += INSNS_CHAIN(8 * i, 10 * i);
		check_family(fd, expected, 0);
	}
}
END_TEST

/* 20 trees of 25 processes or threads each, all at the same time. */
START_TEST(a_thousand_children)
{
	int refs = module_refs();
	u64 expected = 0;
	pid_t pids[40];
	unsigned int i;

	for (i = 0; i < 40; i++) {
		unsigned long n = 1000 + 10 * i;

		if (i % 2)
			pids[i] = spawn_tree(FORKED, 24, n);
		else
			pids[i] = spawn_tree(THREAD | CLONE_VFORK, 24, n);
		expected += i % 2 ? INSNS_TREE(24, n) : INSNS_TREE_THREADS(24, n);
	}
	for (i = 0; i < 40; i++)
		ck_assert_int_eq(wait_for(pids[i]), 0);
	check_family(fd, expected, 0);
	ck_assert_eventually(module_refs() == refs);
}
END_TEST

/* All counters, in the order of the control. */
START_TEST(all_counters)
{
	struct control control;
	struct reading r;
	unsigned int i;

	control_init(&control, 0);
	control.c.flags = VPERFCTR_CONTROL_INHERIT;
	for (i = nr_general(); i-- > 0;)
		control_add(&control, nth_general(i), i & 1 ? CYCLES_USER : INSNS_USER);
	if (have_fixed_insns())
		control_add(&control, FIXED_INSNS, FIXED_USER);
	assert_ok(set_control(fd, &control));
	ck_assert_int_eq(wait_for(start(FORKED, 5000, NULL, 0)), 0);
	read_state(fd, &r);
	ck_assert_uint_eq(r.read.nrctrs, control.c.nractrs);
	ck_assert_uint_eq(r.children[0], 0);	/* tsc_on is 0 */
	for (i = 0; i < control.c.nractrs; i++) {
		if (control.ctr[i].evntsel == CYCLES_USER)
			ck_assert_uint_gt(r.children[1 + i], INSNS_CHILD(5000));
		else
			ck_assert_uint_eq(r.children[1 + i], INSNS_CHILD(5000));
	}
}
END_TEST

START_TEST(tsc_only)
{
	struct control control;
	struct reading r;

	control_init(&control, 1);
	control.c.flags = VPERFCTR_CONTROL_INHERIT;
	assert_ok(set_control(fd, &control));
	ck_assert(counters_free());
	ck_assert_int_eq(wait_for(start(FORKED, 50000, NULL, 0)), 0);
	read_state(fd, &r);
	ck_assert_uint_ge(r.children[0], tsc_of(100000));
	ck_assert_uint_eq(r.read.children_missed, 0);
}
END_TEST

static void *some_thread(void *arg)
{
	int mine = open_thread(0, 0);
	struct reading r;

	/* The thread has its own state, with the same control and only its own sums. */
	if (mine < 0)
		die("a thread has no state: %s", strerror(-mine));
	loop((uintptr_t)arg);
	read_state(mine, &r);
	if (r.own[1] < 2 * (uintptr_t)arg || r.own[1] > 2 * (uintptr_t)arg + 20000 ||
	    r.children[1])
		die("a thread counted %llu and %llu", r.own[1], r.children[1]);
	close(mine);
	return NULL;
}

START_TEST(pthreads)
{
	pthread_t ids[8];
	struct reading r;
	unsigned int i;

	for (i = 0; i < 8; i++)
		ck_assert_int_eq(pthread_create(&ids[i], NULL, some_thread, (void *)100000UL), 0);
	for (i = 0; i < 8; i++)
		pthread_join(ids[i], NULL);
	ck_assert_eventually(!has_children(fd));
	read_state(fd, &r);
	ck_assert_uint_ge(r.children[1], 8 * 200000);
	ck_assert_uint_le(r.children[1], 8 * 220000);
	ck_assert_uint_eq(r.read.children_missed, 0);
}
END_TEST

static void *endless(void *arg)
{
	(void)arg;
	for (;;)
		loop(1000);
	return NULL;
}

/* A process ends while its threads run. */
START_TEST(exit_among_threads)
{
	struct reading r;
	pid_t pid = fork();
	pthread_t id;
	int i;

	if (!pid) {
		for (i = 0; i < 5; i++)
			pthread_create(&id, NULL, endless, NULL);
		msleep(10);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	read_state(fd, &r);
	ck_assert_uint_eq(r.read.status, ATTACHED | ACTIVE);
	ck_assert_uint_eq(r.read.children_missed, 0);
	ck_assert_uint_gt(r.children[1], 1000000);	/* 10 ms */
}
END_TEST

START_TEST(killed_children)
{
	pid_t pids[10];
	int i;

	for (i = 0; i < 10; i++)
		pids[i] = start(FORKED, 2000, futex, 1);
	let_others_run();
	for (i = 0; i < 10; i++) {
		kill(pids[i], SIGKILL);
		ck_assert_int_eq(wait_for(pids[i]), 128 + SIGKILL);
	}
	check_family(fd, 10 * INSNS_CHILD_UNTIL_FUTEX(2000), 0);
}
END_TEST

/* ---- READ while the children run ------------------------------------------------ */

START_TEST(read_while_running)
{
	pid_t pids[3];
	struct reading r;
	int i;

	for (i = 0; i < 3; i++)
		pids[i] = start(kinds[_i], 1000, futex + i, 500);
	let_others_run();
	for (i = 0; i < 3; i++) {
		read_state(fd, &r);
		ck_assert_uint_eq(r.read.status, ATTACHED | ACTIVE | CHILDREN);
		ck_assert_uint_eq(r.children[1], i * INSNS_CHILD_FUTEX(1000, 500));
		wake_all(futex + i);
		if (kinds[_i] == THREAD)
			let_others_run();
		else
			ck_assert_int_eq(wait_for(pids[i]), 0);
	}
	check_family(fd, 3 * INSNS_CHILD_FUTEX(1000, 500), 0);
}
END_TEST

/* ---- the end of counting ------------------------------------------------------ */

#define NEW_CONTROL	0
#define STOP		1
#define UNLINK		2

static void end_counting(int how)
{
	switch (how) {
	case NEW_CONTROL:
		assert_ok(count_insns(fd, VPERFCTR_CONTROL_INHERIT));
		break;
	case STOP:
		assert_ok(stop_all(fd));
		break;
	case UNLINK:
		assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
		break;
	}
}

/*
 * Descendants of all kinds and ages outlive counting.  Nothing is counted after its end,
 * and perf can use the counters.  The count until then is added to the sums, or dropped.
 */
START_TEST(ended_while_running)
{
	u64 until = _i == NEW_CONTROL ? 0 : 5 * INSNS_CHILD_UNTIL_FUTEX(700);
	pid_t pids[4];
	int i;

	for (i = 0; i < 4; i++)
		pids[i] = start(kinds[i == 1 ? 0 : i], 700, futex, 100000);
	/* A child that has ended before. */
	ck_assert_int_eq(wait_for(start(FORKED, 702, NULL, 0)), 0);
	ck_assert_uint_eq(INSNS_CHILD(702), INSNS_CHILD_UNTIL_FUTEX(700));
	let_others_run();

	end_counting(_i);
	check_family(fd, until, 0);
	ck_assert_int_eq(counters_free(), _i != NEW_CONTROL);
	wake_all(futex);
	for (i = 0; i < 3; i++)
		ck_assert_int_eq(wait_for(pids[i]), 0);
	let_others_run();
	check_family(fd, until, 0);

	if (_i == UNLINK)
		return;
	/* Counting can start again. */
	if (_i == STOP) {
		assert_ok(count_insns(fd, VPERFCTR_CONTROL_INHERIT));
		check_family(fd, 0, 0);
	}
	ck_assert_int_eq(wait_for(start(FORKED, 50, NULL, 0)), 0);
	check_family(fd, INSNS_CHILD(50), 0);
}
END_TEST

/* The same while the descendants run and fork. */
START_TEST(ended_while_growing)
{
	struct reading before, after;
	pid_t pid = fork();

	if (!pid) {
		setpgid(0, 0);
		for (;;) {
			spawn_tree(FORKED, 3, 500);
			spawn_tree(THREAD | CLONE_VFORK, 3, 500);
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
		}
	}
	let_others_run();
	ck_assert(has_children(fd));
	end_counting(_i);
	read_state(fd, &before);
	ck_assert_uint_eq(before.read.status & CHILDREN, 0);
	if (_i != NEW_CONTROL)
		ck_assert(counters_free());
	let_others_run();
	read_state(fd, &after);
	ck_assert_uint_eq(after.children[1], before.children[1]);
	ck_assert_uint_eq(after.read.children_missed, 0);
	ck_assert_int_eq(!after.children[1], _i == NEW_CONTROL);
	while (kill(-pid, SIGKILL) == 0 && waitpid(-pid, NULL, WNOHANG) >= 0)
		msleep(1);
	waitpid(pid, NULL, WNOHANG);
}
END_TEST

/* A descendant that has lost its state can have a new one. */
START_TEST(unlinked_child_is_free)
{
	pid_t pid = fork();

	if (!pid) {
		while (!shared[0])
			sched_yield();
		child_assert(open_thread(0, 0) == -ENOENT);
		child_assert(open_thread(0, VPERFCTR_OPEN_CREAT) >= 0);
		_exit(0);
	}
	end_counting(_i);
	shared[0] = 1;
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

/* ---- the owner's end ------------------------------------------------------------ */

/* Make a process that has children and then ends; keep its state's descriptor. */
static int orphan_children(pid_t *child)
{
	pid_t pid = fork_files();

	if (!pid) {
		int mine = open_state(0);

		if (count_insns(mine, VPERFCTR_CONTROL_INHERIT))
			die("CONTROL failed");
		/* A copy of the descriptor would keep the state open. */
		shared[1] = start(FORKED | CLONE_FILES, 300, futex, 400);
		start(SHARING_MEMORY | CLONE_FILES, 300, futex, 400);
		shared[0] = mine;
		msleep(50);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	*child = shared[1];
	return shared[0];
}

START_TEST(orphaned_children)
{
	struct reading r;
	pid_t child;
	int state;

	end_counting(UNLINK);
	state = orphan_children(&child);
	read_state(state, &r);
	ck_assert_uint_eq(r.read.status, CHILDREN);
	ck_assert_uint_eq(r.children[1], 0);
	ck_assert(!counters_free());
	wake_all(futex);
	ck_assert_eventually(!has_children(state));
	check_family(state, 2 * INSNS_CHILD_FUTEX(300, 400), 0);
	ck_assert_eventually(counters_free());
	close(state);
}
END_TEST

/* A holder can unlink an ended thread's state: counts until then are added. */
START_TEST(orphans_unlinked)
{
	struct reading r;
	pid_t child;
	int state;

	end_counting(UNLINK);
	state = orphan_children(&child);
	ck_assert(has_children(state));
	assert_ok(call(state, VPERFCTR_UNLINK, NULL));
	ck_assert(counters_free());
	read_state(state, &r);
	ck_assert_uint_eq(r.read.status, 0);
	ck_assert_uint_ge(r.children[1], 2 * 2 * 300);
	ck_assert_uint_eq(r.read.children_missed, 0);
	ck_assert_int_eq(kill(child, 0), 0);
	wake_all(futex);
	close(state);
}
END_TEST

/* Without a descriptor, the children of an ended thread do not keep the hardware. */
START_TEST(orphans_without_descriptor)
{
	int refs, state, copy;
	pid_t child;

	end_counting(UNLINK);
	refs = module_refs();
	state = orphan_children(&child);
	copy = dup(state);
	close(state);
	let_others_run();
	ck_assert(has_children(copy));
	ck_assert(!counters_free());
	close(copy);
	ck_assert(counters_free());
	ck_assert_int_eq(kill(child, 0), 0);
	ck_assert_eventually(module_refs() == refs);
	wake_all(futex);
}
END_TEST

/*
 * A parent waits for all children, then closes the state or unlinks its own: the
 * hardware is free at once.  A child's end leaves work to a kernel thread, which gets no
 * CPU while this SCHED_FIFO thread runs.  That work must be done nevertheless.
 */
START_TEST(hardware_is_free_at_once)
{
	struct sched_param first = { .sched_priority = 1 };
	pid_t pid;

	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	ck_assert(counters_free());
	ck_assert_int_eq(sched_setscheduler(0, SCHED_FIFO, &first), 0);
	if (_i) {
		fd = open_state(0);
		assert_ok(count_insns(fd, VPERFCTR_CONTROL_INHERIT));
		ck_assert_int_eq(wait_for(start(FORKED, 300, NULL, 0)), 0);
		/* In any case, whatever the last control was. */
		if (_i == 2)
			assert_ok(count_insns(fd, 0));
		assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
		ck_assert(counters_free());
		return;
	}
	pid = fork_files();
	if (!pid) {
		int mine = open_state(0);

		if (count_insns(mine, VPERFCTR_CONTROL_INHERIT))
			die("CONTROL failed");
		pid = start(FORKED | CLONE_FILES, 300, NULL, 0);
		shared[0] = mine;
		_exit(wait_for(pid));
	}
	ck_assert_int_eq(wait_for(pid), 0);
	close(shared[0]);
	ck_assert(counters_free());
}
END_TEST

/*
 * In a child of a counted process: leave the family, maybe with a child of its own, and exit.
 * Without a descriptor: its close would release the hardware.
 */
static void leave_family(bool with_child)
{
	int mine = open_thread(0, 0);
	pid_t pid;

	child_assert(mine >= 0);
	child_assert(!count_insns(mine, with_child ? VPERFCTR_CONTROL_INHERIT : 0));
	close(mine);
	if (with_child) {
		pid = fork();
		/* A state that has been opened has a share of the hardware. */
		if (!pid)
			_exit(close(open_thread(0, 0)) < 0);
		child_assert(wait_for(pid) == 0);
	}
	_exit(0);
}

/* It is also free of children that have left the family, and of the families that they began. */
START_TEST(hardware_of_leavers_is_free_at_once)
{
	struct sched_param first = { .sched_priority = 1 };
	pid_t pid;

	ck_assert_int_eq(sched_setscheduler(0, SCHED_FIFO, &first), 0);
	pid = fork();
	if (!pid)
		leave_family(_i);
	ck_assert_int_eq(wait_for(pid), 0);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	ck_assert(counters_free());
}
END_TEST

/* Start a process that is counted alone, until shared[1 + i] is set. */
static pid_t start_stranger(unsigned int i)
{
	struct sched_param first = { .sched_priority = 1 };
	pid_t pid = fork();

	if (!pid) {
		int mine = open_state(0);

		child_assert(!sched_setscheduler(0, SCHED_FIFO, &first));
		child_assert(!count_insns(mine, 0) && !close(mine));
		shared[0]++;
		while (!shared[1 + i])
			msleep(1);
		_exit(0);
	}
	ck_assert_eventually(shared[0] == i + 1);
	return pid;
}

/*
 * UNLINK and close wait for the ends of their own family's threads only.  A stranger's end
 * leaves work to a kernel thread, too.  It gets no CPU while this SCHED_FIFO thread runs, so
 * that a call which waits for it sleeps.
 */
START_TEST(strangers_are_not_waited_for)
{
	struct sched_param first = { .sched_priority = 1 };
	struct rusage before, after;
	pid_t strangers[2], pid;

	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	/* The last one keeps the hardware, so that its release need not be waited for. */
	strangers[0] = start_stranger(0);
	strangers[1] = start_stranger(1);
	fd = open_state(0);
	assert_ok(count_insns(fd, VPERFCTR_CONTROL_INHERIT));
	pid = fork();
	if (!pid)
		leave_family(false);
	ck_assert_int_eq(wait_for(pid), 0);
	let_others_run();
	ck_assert_int_eq(sched_setscheduler(0, SCHED_FIFO, &first), 0);
	shared[1] = 1;
	ck_assert_int_eq(wait_for(strangers[0]), 0);
	ck_assert_int_eq(getrusage(RUSAGE_SELF, &before), 0);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	close(fd);
	ck_assert_int_eq(getrusage(RUSAGE_SELF, &after), 0);
	ck_assert_int_eq(after.ru_nvcsw, before.ru_nvcsw);
	shared[2] = 1;
	ck_assert_int_eq(wait_for(strangers[1]), 0);
}
END_TEST

/* The hardware is free, too, if the descriptor is closed first, and the owner ends last. */
START_TEST(orphans_without_descriptor_or_owner)
{
	pid_t pid;

	end_counting(UNLINK);
	close(fd);
	pid = fork();
	if (!pid) {
		int mine = open_state(0);

		child_assert(!count_insns(mine, VPERFCTR_CONTROL_INHERIT));
		close(mine);
		shared[1] = start(FORKED, 300, futex, 400);
		msleep(50);
		/* The state still exists: it is this thread's own. */
		child_assert(!counters_free());
		mine = open_thread(0, 0);
		child_assert(mine >= 0 && has_children(mine));
		close(mine);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_eventually(counters_free());
	ck_assert_int_eq(kill(shared[1], 0), 0);
	wake_all(futex);
}
END_TEST

/* ---- the child's view ----------------------------------------------------------- */

START_TEST(child_finds_state)
{
	pid_t pid = fork();

	if (!pid) {
		struct reading a, b;
		int mine = open_thread(0, 0);

		child_assert(mine >= 0);
		child_assert(open_thread(0, VPERFCTR_OPEN_CREAT) == -EEXIST);
		child_assert(call(fd, VPERFCTR_SUSPEND, NULL) == -EPERM);
		child_assert(call(fd, VPERFCTR_UNLINK, NULL) == -EPERM);
		child_assert(stop_all(fd) == -EPERM);
		child_assert(!read_loop_read(mine, VPERFCTR_READ, init_reading(&a),
					     init_reading(&b), 3000));
		child_assert(b.own[1] - a.own[1] == INSNS_BETWEEN(3000));
		child_assert(b.read.status == (ATTACHED | ACTIVE));
		child_assert(!b.children[1] && !b.read.children_missed);
		child_assert(self_read(map_state(mine), 0) > b.own[1]);
		/* A child's pause affects only the child. */
		child_assert(!call(mine, VPERFCTR_SUSPEND, NULL));
		child_assert(!call(mine, VPERFCTR_RESUME, NULL));
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_eventually(!has_children(fd));
	ck_assert_uint_eq(status_of(fd), ATTACHED | ACTIVE);
}
END_TEST

static void *mapping_thread(void *arg)
{
	int mine = open_thread(0, 0);
	const struct vperfctr_page *page = map_state(mine);
	u64 before = self_read(page, 0);

	loop(1000);
	if (self_read(page, 0) < before + 2000)
		die("a thread cannot read what it inherited");
	munmap((void *)page, PAGE);
	close(mine);
	return arg;
}

/* The right to use RDPMC is not inherited: a mapping gives it. */
START_TEST(user_mode_reads)
{
	const struct vperfctr_page *page = map_state(fd);
	pthread_t id;
	pid_t pid;
	u64 value;

	pid = fork();
	if (!pid) {
		child_assert(try_rdpmc(0, &value) == RDPMC_SIGNAL);
		mapping_thread(NULL);
		child_assert(try_changed_rdpmc(0, RDPMC_SIGNAL) == RDPMC_SIGNAL);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_int_eq(pthread_create(&id, NULL, mapping_thread, NULL), 0);
	pthread_join(id, NULL);
	value = self_read(page, 0);
	ck_assert_uint_gt(self_read(page, 0), value);
}
END_TEST

/* A child leaves the family by its own control, its own stop, or UNLINK. */
START_TEST(child_leaves)
{
	pid_t pid = fork(), leaf;
	struct reading r;
	u64 until;

	if (!pid) {
		int mine = open_thread(0, 0);

		child_assert(mine >= 0);
		/* A CONTROL that fails changes nothing. */
		child_assert(count_insns(mine, 0x80000000) == -EINVAL);
		child_assert(has_children(fd));
		leaf = start_child(FORKED, 400, NULL, 0);
		while (waitpid(leaf, NULL, 0) != leaf)
			;
		switch (_i) {
		case NEW_CONTROL:
			child_assert(!count_insns(mine, VPERFCTR_CONTROL_INHERIT));
			break;
		case STOP:
			child_assert(!stop_all(mine));
			break;
		case UNLINK:
			child_assert(!call(mine, VPERFCTR_UNLINK, NULL));
			break;
		}
		child_assert(!has_children(fd));
		read_state(fd, &r);
		child_assert(r.read.children_missed == 1);
		/* Its children do not belong to the family any more. */
		leaf = start_child(FORKED, 60000, NULL, 0);
		child_assert(wait_for(leaf) == 0);
		read_state(mine, &r);
		child_assert(r.children[1] == (_i == NEW_CONTROL ? INSNS_CHILD(60000) : 0));
		child_assert(r.read.children_missed == 0);
		child_assert((open_thread(0, 0) == -ENOENT) == (_i == UNLINK));
		loop(10000);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	read_state(fd, &r);
	until = r.children[1];
	ck_assert_uint_eq(r.read.children_missed, 1);
	ck_assert_uint_gt(until, INSNS_CHILD(400));
	ck_assert_uint_lt(until, 20000);
	/* A second child; a new control then forgets that one has left. */
	ck_assert_int_eq(wait_for(start(FORKED, 10, NULL, 0)), 0);
	check_family(fd, until + INSNS_CHILD(10), 1);
	assert_ok(count_insns(fd, VPERFCTR_CONTROL_INHERIT));
	check_family(fd, 0, 0);
}
END_TEST

/* A grandchild does not leave the family with its parent. */
START_TEST(grandchild_stays)
{
	pid_t pid = fork();

	if (!pid) {
		int mine = open_thread(0, 0);

		start(FORKED, 400, futex, 600);
		msleep(50);
		child_assert(!count_insns(mine, 0));
		child_assert(has_children(fd));
		child_assert(!has_children(mine));
		wake_all(futex);
		msleep(50);
		child_assert(!has_children(fd));
		shared[0] = open_thread(0, VPERFCTR_OPEN_CREAT) == -EEXIST;
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_uint_eq(shared[0], 1);
	ck_assert_uint_gt(({ struct reading r; read_state(fd, &r); r.children[1]; }),
			  INSNS_CHILD_FUTEX(400, 600));
}
END_TEST

/* ---- threads that do not pass it on ---------------------------------------------- */

static void child_has_none(void)
{
	pid_t pid = fork();

	if (!pid) {
		child_assert(open_thread(0, 0) == -ENOENT);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_int_eq(wait_for(start(VFORKED, 1000, NULL, 0)), 0);
	check_family(fd, 0, 0);
}

START_TEST(states_that_are_not_inherited)
{
	assert_ok(count_insns(fd, 0));
	child_has_none();
	assert_ok(count_insns(fd, VPERFCTR_CONTROL_INHERIT));
	assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
	child_has_none();
	assert_ok(count_insns(fd, VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_START_ON_EXEC));
	child_has_none();
	assert_ok(call(fd, VPERFCTR_RESUME, NULL));
	child_has_none();
	assert_ok(count_insns(fd, VPERFCTR_CONTROL_INHERIT));
	assert_ok(stop_all(fd));
	child_has_none();
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	child_has_none();
}
END_TEST

/* A suspended owner keeps its children; a resumed one gets new ones. */
START_TEST(suspended_with_children)
{
	pid_t pid = start(FORKED, 200, futex, 300);

	let_others_run();
	assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
	ck_assert_uint_eq(status_of(fd), ATTACHED | ACTIVE | SUSPENDED | CHILDREN);
	ck_assert_int_eq(wait_for(start(FORKED, 1000, NULL, 0)), 0);
	wake_all(futex);
	ck_assert_int_eq(wait_for(pid), 0);
	check_family(fd, INSNS_CHILD_FUTEX(200, 300), 0);
	assert_ok(call(fd, VPERFCTR_RESUME, NULL));
	ck_assert_int_eq(wait_for(start(FORKED, 1000, NULL, 0)), 0);
	check_family(fd, INSNS_CHILD_FUTEX(200, 300) + INSNS_CHILD(1000), 0);
}
END_TEST

/* ---- exec ------------------------------------------------------------------------ */

/* Like perfex: a command and everything that it starts. */
START_TEST(command_and_its_children)
{
	char number[16], *args[] = { family, number, NULL }, *environment[] = { NULL };
	struct reading r;
	pid_t pid;

	end_counting(UNLINK);
	for (unsigned int leaves = 1; leaves <= 9; leaves += 4) {
		sprintf(number, "%u", leaves);
		pid = fork_files();
		if (!pid) {
			shared[0] = open_state(VPERFCTR_OPEN_TRANSIENT);
			if (count_insns(shared[0], VPERFCTR_CONTROL_INHERIT |
					VPERFCTR_CONTROL_START_ON_EXEC))
				die("CONTROL failed");
			execve(family, args, environment);
			die("%s: %s", family, strerror(errno));
		}
		ck_assert_int_eq(wait_for(pid), 0);
		read_state(shared[0], &r);
		ck_assert_uint_eq(r.read.status, 0);
		ck_assert_uint_eq(r.own[1], KNOWN_FAMILY_OWN(leaves));
		check_family(shared[0], KNOWN_FAMILY_CHILDREN(leaves), 0);
		close(shared[0]);
	}
}
END_TEST

/* A program that a child executes is counted too. */
START_TEST(child_execs)
{
	char *args[4], *environment[] = { NULL };
	struct reading r;
	u64 counts[4];
	pid_t pid;
	int n;

	for (n = 1; n <= 3; n++) {
		assert_ok(count_insns(fd, VPERFCTR_CONTROL_INHERIT));
		args[n] = NULL;
		args[n - 1] = "x";
		pid = fork();
		if (!pid) {
			execve(known, args, environment);
			_exit(99);
		}
		ck_assert_int_eq(wait_for(pid), n);
		read_state(fd, &r);
		ck_assert_uint_eq(r.read.children_missed, 0);
		counts[n] = r.children[1];
	}
	ck_assert_uint_ge(counts[1], KNOWN_INSNS(1));
	/* The first exec may resolve a symbol. */
	ck_assert_uint_eq(counts[3] - counts[2], KNOWN_INSNS(3) - KNOWN_INSNS(2));
}
END_TEST

static void copy_file(const char *from, const char *to, mode_t mode)
{
	static char buffer[65536];
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0700);
	ssize_t n = read(in, buffer, sizeof(buffer));

	ck_assert_int_gt(n, 0);
	ck_assert_int_eq(write(out, buffer, n), n);
	close(in);
	close(out);
	ck_assert_int_eq(chmod(to, mode), 0);
}

/* A child that executes a protected file is missed from then on. */
START_TEST(child_execs_privileged)
{
	char *args[] = { "/tmp/known-set-user-id", NULL }, *environment[] = { NULL };
	struct reading r;
	pid_t pid;

	copy_file(known, args[0], _i ? 0711 : 04755);
	pid = fork();
	if (!pid) {
		become(NOBODY);
		execve(args[0], args, environment);
		_exit(99);
	}
	ck_assert_int_eq(wait_for(pid), 1);
	read_state(fd, &r);
	ck_assert_uint_eq(r.read.children_missed, 1);
	ck_assert_uint_eq(r.read.status, ATTACHED | ACTIVE);
	ck_assert_uint_gt(r.children[1], 0);
	ck_assert_uint_lt(r.children[1], KNOWN_INSNS(1));
	unlink(args[0]);
}
END_TEST

/* ---- limits ------------------------------------------------------------------------ */

/* max_states_per_user is reached: forks succeed, and missed children are reported. */
START_TEST(max_states_reached)
{
	pid_t pids[50];
	int i;

	/* All tests' states are charged to one user: wait until only this test's is left. */
	ck_assert_eventually(module_refs() <= 3);
	write_file(MAX_STATES, "31");
	for (i = 0; i < 50; i++)
		pids[i] = start(FORKED, 100, futex, 100);
	let_others_run();
	write_file(MAX_STATES, "20000");
	wake_all(futex);
	for (i = 0; i < 50; i++)
		ck_assert_int_eq(wait_for(pids[i]), 0);
	check_family(fd, 30 * INSNS_CHILD_FUTEX(100, 100), 20);
	ck_assert_int_eq(wait_for(start(FORKED, 100, NULL, 0)), 0);
	check_family(fd, 30 * INSNS_CHILD_FUTEX(100, 100) + INSNS_CHILD(100), 20);
}
END_TEST

/* A child's state is charged to the user who starts the child, not to the root's. */
START_TEST(charged_to_their_user)
{
	pid_t pid;
	int i;

	ck_assert_eventually(module_refs() <= 3);
	write_file(MAX_STATES, "11");
	pid = fork();
	if (!pid) {
		pid_t pids[20];

		become(NOBODY);
		for (i = 0; i < 20; i++)
			pids[i] = start(FORKED, 100, futex, 100);
		msleep(50);
		wake_all(futex);
		for (i = 0; i < 20; i++)
			wait_for(pids[i]);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	write_file(MAX_STATES, "20000");
	ck_assert_uint_eq(({ struct reading r; read_state(fd, &r); r.read.children_missed; }), 9);
}
END_TEST

static void teardown(void)
{
	write_file(MAX_STATES, "20000");
}

static void add(TCase *tc)
{
	tcase_add_unchecked_fixture(tc, NULL, teardown);
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, every_kind_of_child, 0, 4);
	tcase_add_test(tc, own_sums_exclude_children);
	tcase_add_test(tc, grandchildren);
	tcase_add_test(tc, a_thousand_children);
	tcase_add_test(tc, all_counters);
	tcase_add_test(tc, tsc_only);
	tcase_add_test(tc, pthreads);
	tcase_add_test(tc, exit_among_threads);
	tcase_add_test(tc, killed_children);
	tcase_add_loop_test(tc, read_while_running, 0, 1);
	tcase_add_loop_test(tc, read_while_running, 2, 4);
	tcase_add_loop_test(tc, ended_while_running, 0, 3);
	tcase_add_loop_test(tc, ended_while_growing, 0, 3);
	tcase_add_loop_test(tc, unlinked_child_is_free, 0, 3);
	tcase_add_test(tc, orphaned_children);
	tcase_add_test(tc, orphans_unlinked);
	tcase_add_test(tc, orphans_without_descriptor);
	tcase_add_loop_test(tc, hardware_is_free_at_once, 0, 3);
	tcase_add_loop_test(tc, hardware_of_leavers_is_free_at_once, 0, 2);
	tcase_add_test(tc, strangers_are_not_waited_for);
	tcase_add_test(tc, orphans_without_descriptor_or_owner);
	tcase_add_test(tc, child_finds_state);
	if (has(VPERFCTR_FEATURE_RDPMC))
		tcase_add_test(tc, user_mode_reads);
	tcase_add_loop_test(tc, child_leaves, 0, 3);
	tcase_add_test(tc, grandchild_stays);
	tcase_add_test(tc, states_that_are_not_inherited);
	tcase_add_test(tc, suspended_with_children);
	tcase_add_test(tc, command_and_its_children);
	tcase_add_test(tc, child_execs);
	tcase_add_loop_test(tc, child_execs_privileged, 0, 2);
	tcase_add_test(tc, max_states_reached);
	tcase_add_test(tc, charged_to_their_user);
}

int main(void)
{
	ssize_t n = readlink("/proc/self/exe", known, sizeof(known) - 20);

	if (n < 0)
		die("/proc/self/exe: %s", strerror(errno));
	dirname(known);
	sprintf(family, "%s/known_family", known);
	strcat(known, "/known");
	open_device();
	return run_tests("family", add);
}
