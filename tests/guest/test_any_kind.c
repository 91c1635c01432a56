// SPDX-License-Identifier: GPL-2.0
/*
 * Controls for any kind of CPU: CPU 0 and CPU 1 are of different kinds.  On a hybrid
 * processor, kind 0 has counters 0 to 7 and fixed counters 0 to 3, kind 1 has 0 to 5 and 0
 * to 2.  On arm64, both have counters 0 to 5 and the cycle counter.  Counts must be exact;
 * on arm64 only while the other CPU is idle.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "narrow.h"
#include "overflow.h"
#include "service.h"
#include "two-kinds.h"

#define ONLINE		"/sys/devices/system/cpu/cpu1/online"

/* An event that the emulated counters do not count; and the counter of kind 1. */
#ifdef __aarch64__
#define NOTHING_USER	SEL_USER	/* SW_INCR: writes to a register */
#define SECOND		4
#define SECOND_USER	INSNS_USER
#define SECOND_BOTH	INSNS_BOTH
#else
#define NOTHING_USER	(SEL_USER | 0x013d)
#define SECOND		FIXED(0)
#define SECOND_USER	FIXED_USER
#define SECOND_BOTH	FIXED_BOTH
#endif

static int fd;

static void setup(void)
{
	if (info.nrkinds != 2 || !has(VPERFCTR_FEATURE_ANY_KIND))
		die("this test needs two kinds of CPUs");
	set_affinity(0, BOTH);
	fd = open_state(0);
}

/* ---- controls ------------------------------------------------------------------- */

/* The tables follow each other: add the counters of kind 0 first. */
static void any_init(struct control *control, u32 nrkinds)
{
	control_init(control, 1);
	control->c.kind = VPERFCTR_ANY_KIND;
	control->c.nrkinds = nrkinds;
}

static void add(struct control *control, unsigned int i, u32 map, u64 evntsel)
{
	control->ctr[i].map = map;
	control->ctr[i].evntsel = evntsel;
}

/* Instructions in user mode, by another counter on each kind. */
static struct control *insns_any(struct control *control, u32 flags)
{
	any_init(control, 2);
	control->c.nractrs = 1;
	control->c.flags = flags;
	add(control, 0, 2, INSNS_USER);
	add(control, 1, SECOND, SECOND_USER);
	return control;
}

static int count_any(u32 flags)
{
	struct control control;

	return set_control(fd, insns_any(&control, flags));
}

/* Check a count during which both CPUs may have run. */
static void assert_count(u64 count, u64 expected)
{
	if (COUNTS_APART)
		ck_assert_uint_eq(count, expected);
	else
		ck_assert_uint_ge(count, expected);
}

/* ---- counting ------------------------------------------------------------------- */

/* A thread is counted wherever it runs, by READ and by the page. */
START_TEST(counts_everywhere)
{
	const struct vperfctr_page *page = map_state(fd);
	static const u32 maps[2] = { 2, SECOND };
	u64 first, sum = 0;
	int i;

	assert_ok(count_any(0));
	for (i = 0; i < 10; i++) {
		pin(i & 1);
		ck_assert_uint_eq(page->ctr[0].map, maps[i & 1]);
		ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
		first = self_read(page, 0);
		ck_assert_uint_gt(first, sum + INSNS_BETWEEN(1000));
		first = self_read(page, 0);
		loop(1000);
		sum = self_read(page, 0);
		ck_assert_uint_ge(sum, first + 2000);
		ck_assert_uint_lt(sum, first + 100000);
		ck_assert_uint_ge(count_of(fd), sum);
	}
	assert_status(fd, ATTACHED | ACTIVE);
}
END_TEST

/* The instructions of a thread do not depend on where it runs.  Neither does the sum. */
static u64 sum_of_moves(int other)
{
	u64 sum;
	int i;

	pin(0);
	sum = count_of(fd);
	for (i = 0; i < 100; i++) {
		pin(i & 1 ? other : 0);
		loop(1000);
	}
	pin(0);
	return count_of(fd) - sum;
}

START_TEST(sum_of_many_moves)
{
	u64 expected;

	assert_ok(count_any(0));
	sum_of_moves(0);
	expected = sum_of_moves(0);
	ck_assert_uint_gt(expected, 200 * 1000);
	if (!COUNTS_APART)
		expected = 200 * 1000;
	assert_count(sum_of_moves(1), expected);
	assert_count(sum_of_moves(1), expected);
	assert_status(fd, ATTACHED | ACTIVE);
}
END_TEST

#ifdef __aarch64__
#define PERF_INSNS	0x08
#else
#define PERF_INSNS	0xc0
#endif

#define DEVICES		"/sys/bus/event_source/devices"

/* Open perf's counter of each kind.  Returns their number. */
static unsigned int open_perf(int *perf, unsigned int most)
{
	struct dirent *d;
	unsigned int nr = 0;
	char path[300], type[16];
	DIR *dir;

	dir = opendir(DEVICES);
	while (dir && (d = readdir(dir)) && nr < most) {
		struct perf_event_attr attr = {
			.size = sizeof(attr), .config = PERF_INSNS,
			.exclude_kernel = 1, .exclude_hv = 1,
		};

		/* Only PMUs of a kind of CPUs have such a file. */
		snprintf(path, sizeof(path), DEVICES "/%s/cpus", d->d_name);
		if (access(path, F_OK))
			continue;
		snprintf(path, sizeof(path), DEVICES "/%s/type", d->d_name);
		read_file(path, type, sizeof(type));
		attr.type = atoi(type);
		perf[nr] = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
		if (perf[nr] < 0)
			die("perf_event_open: %s", strerror(errno));
		nr++;
	}
	if (dir)
		closedir(dir);
	return nr;
}

/* Move from CPU 0 and back. */
static void move_often(int moves)
{
	unsigned long mask;
	int i;

	for (i = 0; i < moves; i++) {
		mask = 1UL << !(i & 1);
		if (syscall(SYS_sched_setaffinity, 0, sizeof(mask), &mask))
			die("sched_setaffinity: %s", strerror(errno));
		loop(1000);
	}
}

static u64 sum_of_perf(const int *perf, unsigned int nr)
{
	u64 sum = 0, value;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (read(perf[i], &value, sizeof(value)) != sizeof(value))
			die("read of perf's counter: %s", strerror(errno));
		sum += value;
	}
	return sum;
}

/* 200 moves are 100 more than 100: the cost of reading does not matter. */
static u64 cost_by_perf(const int *perf, unsigned int nr)
{
	u64 first, second, third;

	pin(0);
	first = sum_of_perf(perf, nr);
	move_often(100);
	second = sum_of_perf(perf, nr);
	move_often(200);
	third = sum_of_perf(perf, nr);
	return third - second - (second - first);
}

static u64 cost_by_state(void)
{
	u64 first, second, third;

	pin(0);
	first = count_of(fd);
	move_often(100);
	second = count_of(fd);
	move_often(200);
	third = count_of(fd);
	return third - second - (second - first);
}

/* perf's counters of all kinds together count the same. */
START_TEST(same_as_perf)
{
	unsigned int nr, i;
	int perf[4];
	u64 cost;

	assert_ok(count_any(0));
	cost_by_state();
	cost = cost_by_state();
	ck_assert_uint_gt(cost, 100 * 2000);
	assert_status(fd, ATTACHED | ACTIVE);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	ck_assert_eventually(counters_free());

	nr = open_perf(perf, 4);
	/* perf of Linux 5.10 knows no hybrid processors. */
	if (!nr)
		return;
	ck_assert_uint_eq(nr, 2);
	cost_by_perf(perf, nr);
	ck_assert_uint_eq(cost_by_perf(perf, nr), cost);
	for (i = 0; i < nr; i++)
		close(perf[i]);
}
END_TEST

/* A child that another thread moves while it runs. */
START_TEST(moved_from_outside)
{
	struct reading r;
	pid_t pid;
	int i;

	assert_ok(count_any(VPERFCTR_CONTROL_INHERIT));
	pid = start_child(FORKED, 3000000, NULL, 0);
	for (i = 0; i < 50; i++)
		set_affinity(pid, 1U << (i & 1));
	ck_assert_int_eq(wait_for(pid), 0);
	read_state(fd, &r);
	assert_count(r.children[1], INSNS_CHILD(3000000));
	ck_assert_uint_eq(r.read.children_missed, 0);
	ck_assert_uint_eq(r.read.status, ATTACHED | ACTIVE);
}
END_TEST

/* The child continues with all tables, from the one that its parent used last. */
START_TEST(inherited)
{
	unsigned int *futex = shared_memory(PAGE);
	struct control control;
	struct reading r;
	pid_t pid;

	assert_ok(set_control(fd, insns_any(&control, VPERFCTR_CONTROL_INHERIT)));
	pin(_i);
	set_affinity(0, BOTH);
	pid = start_child(FORKED, 1000, futex, 2000);
	set_affinity(pid, 1U << !_i);
	wake_all(futex);
	ck_assert_int_eq(wait_for(pid), 0);
	read_state(fd, &r);
	assert_count(r.children[1], INSNS_CHILD_FUTEX(1000, 2000));
	/* The tables outlive the state that was given them. */
	pid = start_child(FORKED, 1000, NULL, 0);
	assert_ok(stop_all(fd));
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

/* Each kind has its own table: here it counts on kind _i only. */
static struct control *counts_on(struct control *control, u32 kind)
{
	any_init(control, 2);
	control->c.nractrs = 1;
	add(control, 0, 0, kind ? NOTHING_USER : INSNS_USER);
	add(control, 1, 0, kind ? INSNS_USER : NOTHING_USER);
	return control;
}

START_TEST(table_of_each_kind)
{
	struct control control;
	int i;

	assert_ok(set_control(fd, counts_on(&control, _i)));
	for (i = 0; i < 5; i++) {
		pin(_i);
		ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
		pin(!_i);
		ck_assert_uint_eq(count_loop(fd), 0);
	}
	assert_status(fd, ATTACHED | ACTIVE);
}
END_TEST

/* Two threads count the same on one kind, and not on the other. */
START_TEST(same_on_one_kind)
{
	int to_child[2], to_parent[2];
	struct control control;
	char c = 0;
	pid_t pid;

	if (pipe(to_child) || pipe(to_parent))
		die("pipe");
	pid = fork();
	if (!pid) {
		fd = open_state(0);
		any_init(&control, 2);
		control.c.nractrs = 1;
		add(&control, 0, 0, INSNS_USER);
		add(&control, 1, 0, INSNS_USER);
		if (set_control(fd, &control))
			_exit(1);
		pin(1);
		loop(1000);
		pin(0);
		/* The other one runs after this, first where this was first. */
		if (write(to_parent[1], &c, 1) != 1 || read(to_child[0], &c, 1) != 1)
			_exit(2);
		_exit(count_loop(fd) == INSNS_BETWEEN(1000) ? 0 : 3);
	}
	if (read(to_parent[0], &c, 1) != 1)
		die("read");
	pin(1);
	assert_ok(set_control(fd, counts_on(&control, 1)));
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
	pin(0);
	ck_assert_uint_eq(count_loop(fd), 0);
	pin(1);
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
	if (write(to_child[1], &c, 1) != 1)
		die("write");
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

/* All counters that both kinds have, in another order on each. */
START_TEST(all_common_counters)
{
	struct reading before, after;
	const unsigned int nr = have_fixed_insns() ? 7 : 6;
	struct control control;
	unsigned int i;

	any_init(&control, 2);
	control.c.nractrs = nr;
	for (i = 0; i < 6; i++) {
		add(&control, i, i, INSNS_USER);
		add(&control, 2 * nr - 1 - i, i, INSNS_USER);
	}
	if (have_fixed_insns()) {
		add(&control, 6, FIXED(0), FIXED_USER);
		add(&control, 7, FIXED(0), FIXED_USER);
	}
	assert_ok(set_control(fd, &control));
	for (i = 0; i < 4; i++) {
		unsigned int k;

		int tries = COUNTS_APART ? 1 : 8;	/* as in count_loop() */

		pin(i & 1);
		do {
			if (read_loop_read(fd, VPERFCTR_READ, init_reading(&before),
					   init_reading(&after), 1000))
				die("READ failed");
		} while (--tries && after.own[1] - before.own[1] != INSNS_BETWEEN(1000));
		for (k = 0; k < nr; k++)
			ck_assert_uint_eq(after.own[1 + k] - before.own[1 + k],
					  INSNS_BETWEEN(1000));
	}
}
END_TEST

/* Sums survive a pause on the way, and a change to one kind and back. */
START_TEST(paused_and_preserved)
{
	struct control control;
	u64 sum;

	pin(0);
	assert_ok(count_any(0));
	loop(1000);
	assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
	sum = count_of(fd);
	ck_assert_uint_gt(sum, 2000);
	pin(1);
	loop(1000);
	ck_assert_uint_eq(count_of(fd), sum);
	assert_ok(call(fd, VPERFCTR_RESUME, NULL));
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));

	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control.c.kind = 0;
	control.c.preserve = 1;
	assert_ok(set_control(fd, &control));
	sum = count_of(fd);
	ck_assert_uint_gt(sum, 4000);
	ck_assert_uint_eq(count_loop(fd), 0);
	insns_any(&control, 0)->c.preserve = 1;
	assert_ok(set_control(fd, &control));
	ck_assert_uint_ge(count_of(fd), sum);
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
	pin(0);
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
	/* A new control begins with the new status. */
	assert_ok(count_any(0));
	assert_status(fd, ATTACHED | ACTIVE);
}
END_TEST

/* Without a table for its kind, a thread is not counted. */
START_TEST(fewer_tables)
{
	struct control control;

	insns_any(&control, 0)->c.nrkinds = 1;
	pin(0);
	assert_ok(set_control(fd, &control));
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
	assert_status(fd, ATTACHED | ACTIVE);
	pin(1);
	ck_assert_uint_eq(count_loop(fd), 0);
	assert_status(fd, ATTACHED | ACTIVE | FORBIDDEN);
	pin(0);
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
}
END_TEST

/* ---- other ways to give the control ---------------------------------------------- */

START_TEST(attached)
{
	unsigned int *futex = shared_memory(PAGE);
	struct vperfctr_attach req = { .size = sizeof(req) };
	struct control control;
	struct reading r;
	char path[64];
	int set;

	req.tid = start_child(FORKED, 1000, futex, 3000000);
	snprintf(path, sizeof(path), "/proc/%d/mem", req.tid);
	req.mem_fd = open(path, O_RDONLY);
	insns_any(&control, 0);
	req.control = (uintptr_t)&control.c;
	/* An invalid control leaves nothing behind. */
	control.ctr[1].map = 6;
	assert_errno(call(dev, VPERFCTR_ATTACH, &req), EINVAL);
	control.ctr[1].map = SECOND;
	set = call(dev, VPERFCTR_ATTACH, &req);
	ck_assert_int_ge(set, 0);
	set_affinity(req.tid, 2);
	wake_all(futex);
	set_affinity(req.tid, 1);
	set_affinity(req.tid, 2);
	ck_assert_int_eq(wait_for(req.tid), 0);
	read_state(set, &r);
	/* It may not have begun to wait. */
	ck_assert_uint_ge(r.children[1], 2 * 3000000);
	if (COUNTS_APART)
		ck_assert_uint_le(r.children[1], INSNS_CHILD_FUTEX(1000, 3000000));
	ck_assert_uint_eq(r.read.status & FORBIDDEN, 0);
}
END_TEST

START_TEST(by_monitor)
{
	int to_child[2], other, status;
	struct control control;
	char c = 0;
	pid_t pid;

	if (pipe(to_child))
		die("pipe");
	pid = fork();
	if (!pid) {
		if (read(to_child[0], &c, 1) != 1)
			_exit(1);
		pin(_i);
		loop(1000);
		pin(!_i);
		loop(1000);
		_exit(0);
	}
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) || ptrace(PTRACE_INTERRUPT, pid, 0, 0) ||
	    waitpid(pid, &status, __WALL) != pid)
		die("ptrace: %s", strerror(errno));
	other = open_thread(pid, VPERFCTR_OPEN_CREAT);
	ck_assert_int_ge(other, 0);
	assert_ok(set_control(other, insns_any(&control, 0)));
	assert_ok(set_control(other, insns_any(&control, 0)));
	ptrace(PTRACE_DETACH, pid, 0, 0);
	if (write(to_child[1], &c, 1) != 1)
		die("write");
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_uint_ge(count_of(other), 4000);
	ck_assert_uint_lt(count_of(other), 10000);
	assert_status(other, 0);
}
END_TEST

/* ---- READ ------------------------------------------------------------------------- */

START_TEST(read_returns_tables)
{
	struct control given, shown;
	struct reading r;
	unsigned int i;

	any_init(&given, 2);
	given.c.nractrs = 2;
	add(&given, 0, 1, INSNS_USER);
	add(&given, 1, FIXED(0), FIXED_USER);
	add(&given, 2, 3, NOTHING_USER);
	add(&given, 3, 0, INSNS_USER);
	assert_ok(set_control(fd, &given));
	pin(_i);

	control_init(&shown, 0);
	init_reading(&r)->control = (uintptr_t)&shown.c;
	for (i = 0; i < 2; i++) {
		shown.c.nrkinds = i;
		assert_errno(call(fd, VPERFCTR_READ, &r.read), EOVERFLOW);
		ck_assert_uint_eq(shown.c.nrkinds, 2);
		ck_assert_uint_eq(shown.c.nractrs, 0);
		ck_assert_uint_eq(r.own[0], 0);
	}
	for (i = 2; i < 4; i++) {
		shown.c.nrkinds = i;
		assert_ok(call(fd, VPERFCTR_READ, &r.read));
		ck_assert_uint_eq(shown.c.nrkinds, 2);
		ck_assert_uint_eq(shown.c.kind, VPERFCTR_ANY_KIND);
		ck_assert_uint_eq(shown.c.nractrs, 2);
		ck_assert_mem_eq(shown.ctr, given.ctr, 4 * sizeof(given.ctr[0]));
		ck_assert_uint_eq(shown.ctr[4].evntsel, 0);
	}
	/* Without room for them, they are not asked for. */
	shown.c.nrkinds = 0;
	shown.c.ctr = 0;
	assert_ok(call(fd, VPERFCTR_READ, &r.read));
	ck_assert_uint_eq(shown.c.nrkinds, 2);
	/* A control for one kind. */
	assert_ok(count_insns(fd, 0));
	control_init(&shown, 0);
	shown.c.nrkinds = 7;
	assert_ok(call(fd, VPERFCTR_READ, &r.read));
	ck_assert_uint_eq(shown.c.nrkinds, 0);
	ck_assert_uint_eq(shown.c.kind, 0);
}
END_TEST

/* ---- affinity ---------------------------------------------------------------------- */

static u32 cpus_of_kinds(u32 nrkinds)
{
	struct {
		struct vperfctr_kind_cpus cpus;
		u32 words[8];
	} k = { .cpus = { .size = sizeof(k.cpus), .kind = VPERFCTR_ANY_KIND, .nrwords = 8,
			  .nrkinds = nrkinds } };

	assert_ok(call(dev, VPERFCTR_KIND_CPUS, &k));
	return k.words[0];
}

START_TEST(cpus_of_any_kind)
{
	ck_assert_uint_eq(cpus_of_kinds(0), BOTH);
	ck_assert_uint_eq(cpus_of_kinds(1), 1);
	ck_assert_uint_eq(cpus_of_kinds(2), BOTH);
}
END_TEST

/* The affinity is narrowed to CPUs that have tables.  A later move ends in SIGILL. */
START_TEST(narrowed)
{
	struct control control;
	siginfo_t si;
	sigset_t set;

	insns_any(&control, VPERFCTR_CONTROL_AFFINITY);
	assert_ok(set_control(fd, &control));
	ck_assert_uint_eq(affinity(0), BOTH);
	control.c.nrkinds = 1;
	assert_errno(set_control(fd, &control), EUSERS);
	assert_ok(set_control_by_library(fd, &control));
	ck_assert_uint_eq(affinity(0), 1);
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
	assert_status(fd, ATTACHED | ACTIVE);

	sigemptyset(&set);
	sigaddset(&set, SIGILL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pin(1);
	ck_assert_int_eq(sigwaitinfo(&set, &si), SIGILL);
	assert_status(fd, ATTACHED | ACTIVE | FORBIDDEN);
	assert_errno(set_control_by_library(fd, &control), EINVAL);
}
END_TEST

/* ---- errors ------------------------------------------------------------------------ */

START_TEST(refused)
{
	struct control control;
	char *page;
	int i;

	assert_ok(count_any(0));
	for (i = 0; i < 16; i++) {
		insns_any(&control, 0);
		switch (i) {
		case 0:		/* a kind that does not exist */
			control.c.kind = 2;
			break;
		case 1:
			control.c.nrkinds = 0;
			break;
		case 2:
			control.c.nrkinds = 3;
			break;
		case 3:
			control.c.nrkinds = ~0U;
			break;
		case 4:
			control.c.kind = 0;
			break;
		case 5:		/* nothing to count */
			control.c.nractrs = 0;
			break;
		case 6:
			control.c.nractrs = 0;
			control.c.tsc_on = 0;
			break;
		case 7:		/* no counter of kind 1, in its own table */
			add(&control, 1, 6, INSNS_USER);
			break;
		case 8:		/* no counter of kind 1, in the table of kind 0 */
			add(&control, 0, 6, INSNS_USER);
			break;
		case 9:
			add(&control, 0, FIXED(3), FIXED_USER);
			break;
		case 10:
			add(&control, 1, 0, refused_evntsels[0]);
			break;
		case 11:	/* twice in one table */
			control.c.nractrs = 2;
			for (i = 0; i < 4; i++)
				add(&control, i, i == 3 ? 2 : i, INSNS_USER);
			i = 11;
			break;
		case 12:	/* more counters than kind 1 has */
			control.c.nractrs = 10;
			break;
		case 13:
			control.ctr[1].aux = 1;
			break;
		case 14:	/* a period, in a-mode */
			control.ctr[1].ireset = -1000;
			break;
		case 15:	/* two periods */
			control.c.nractrs = 0;
			control.c.nrictrs = 1;
			control.c.si_signo = SIGUSR1;
			control.ctr[0].ireset = -1000;
			control.ctr[1].ireset = -1001;
			break;
		}
		if (set_control(fd, &control) != -EINVAL)
			ck_abort_msg("case %d was not refused", i);
	}
	/* The second table is not accessible. */
	page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(page + PAGE, PAGE);
	insns_any(&control, 0);
	memcpy(page + PAGE - sizeof(control.ctr[0]), control.ctr, sizeof(control.ctr[0]));
	control.c.ctr = (uintptr_t)page + PAGE - sizeof(control.ctr[0]);
	assert_errno(set_control(fd, &control), EFAULT);
	/* Nothing has changed. */
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
}
END_TEST

/* Kernel mode in any of the tables needs the right to count it. */
START_TEST(refused_for_kernel_mode)
{
	struct control control;

	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	become(NOBODY);
	fd = open_state(0);
	assert_ok(count_any(0));
	insns_any(&control, 0);
	control.ctr[_i].evntsel = _i ? SECOND_BOTH : INSNS_BOTH;
	assert_errno(set_control(fd, &control), EPERM);
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
}
END_TEST

/* ---- overflows ---------------------------------------------------------------------- */

#define PERIOD	100000

static struct control *overflow_any(struct control *control)
{
	insns_any(control, 0);
	control->c.nractrs = 0;
	control->c.nrictrs = 1;
	control->ctr[0].ireset = -PERIOD;
	control->ctr[1].ireset = -PERIOD;
	return control;
}

/* A period begins on one kind and ends on the other. */
START_TEST(period_continues)
{
	struct control control;
	int i, before;

	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	handle(SIGUSR1, on_overflow);
	fd = account_init();
	pin(_i);
	overflow_any(&control)->c.si_signo = SIGUSR1;
	assert_ok(set_control(fd, &control));
	for (i = 0; i < 20; i++) {
		before = acc->signals;
		ck_assert_uint_eq(count_of(fd) / PERIOD, before);
		loop(PERIOD / 4);
		ck_assert_uint_le(acc->signals, before + 1);
		pin((_i + i + 1) & 1);
	}
	ck_assert_uint_ge(acc->signals, 10);
	ck_assert_uint_eq(acc->wrong, 0);
}
END_TEST

/* While an overflow waits for IRESUME, the thread comes to the other kind. */
START_TEST(held_on_the_way)
{
	struct control control;
	u64 sum;

	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	handle(SIGUSR1, on_overflow);
	fd = account_init();
	acc->resumes = 0;
	pin(_i);
	overflow_any(&control)->c.si_signo = SIGUSR1;
	assert_ok(set_control(fd, &control));
	loop(PERIOD);
	ck_assert_uint_eq(acc->signals, 1);
	sum = count_of(fd);
	pin(!_i);
	loop(PERIOD);
	ck_assert_uint_eq(count_of(fd), sum);
	assert_ok(call(fd, VPERFCTR_IRESUME, NULL));
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
	loop(PERIOD);
	ck_assert_uint_eq(acc->signals, 2);
}
END_TEST

/* A sample has the CPU, and the kind of its table. */
START_TEST(samples)
{
	struct mapped_ring ring;
	struct control control;
	u64 n;
	int i;

	make_ring(fd, 64, 1, 1, &ring);
	pin(0);
	overflow_any(&control)->c.flags = VPERFCTR_CONTROL_RING;
	assert_ok(set_control(fd, &control));
	for (i = 0; i < 8; i++) {
		pin(i & 1);
		loop(PERIOD);
	}
	/* Some of the period is executed between the loops. */
	n = ring_head(&ring);
	ck_assert_uint_ge(n, 16);
	ck_assert_uint_le(n, 17);
	while (n--) {
		const struct vperfctr_sample *sample = ring_sample(&ring, n);

		ck_assert_uint_eq(sample->kind, sample->cpu);
		ck_assert_uint_eq(sample->sums[0] / PERIOD, n + 1);
	}
	ck_assert_uint_eq(ring_sample(&ring, 0)->kind, 0);
	ck_assert_uint_eq(ring_sample(&ring, 3)->kind, 1);
}
END_TEST

/* ---- CPUs that go offline and online -------------------------------------------------- */

START_TEST(kind_offline)
{
	assert_ok(count_any(0));
	pin(1);
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
	write_file(ONLINE, "0");
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
	assert_ok(count_any(0));
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
	write_file(ONLINE, "1");
	pin(1);
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
	assert_status(fd, ATTACHED | ACTIVE);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	ck_assert_eventually(counters_free());
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, counts_everywhere);
	tcase_add_test(tc, sum_of_many_moves);
	if (COUNTS_APART)
		tcase_add_test(tc, same_as_perf);
	tcase_add_test(tc, moved_from_outside);
	tcase_add_loop_test(tc, inherited, 0, 2);
	tcase_add_loop_test(tc, table_of_each_kind, 0, 2);
	tcase_add_test(tc, same_on_one_kind);
	tcase_add_test(tc, all_common_counters);
	tcase_add_test(tc, paused_and_preserved);
	tcase_add_test(tc, fewer_tables);
	tcase_add_test(tc, attached);
	tcase_add_loop_test(tc, by_monitor, 0, 2);
	tcase_add_test(tc, cpus_of_any_kind);
	tcase_add_test(tc, narrowed);
	tcase_add_loop_test(tc, read_returns_tables, 0, 2);
	tcase_add_test(tc, refused);
	tcase_add_loop_test(tc, refused_for_kernel_mode, 0, 2);
	/* Without NMIs, the emulator reports overflows of instructions too late. */
	if (IMODE_NMI) {
		tcase_add_loop_test(tc, period_continues, 0, 2);
		tcase_add_loop_test(tc, held_on_the_way, 0, 2);
		tcase_add_test(tc, samples);
	}
	tcase_add_test(tc, kind_offline);
}

int main(void)
{
	open_device();
	return run_tests("any kind", add_tests);
}
