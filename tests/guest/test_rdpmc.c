// SPDX-License-Identifier: GPL-2.0
/*
 * RDPMC in user mode: it works in the threads of a process while that has mapped the
 * state of one of them, and this state has counters.  In all other threads it raises a
 * signal.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "suite.h"

static int fd;

static void setup(void)
{
	fd = open_state(0);
	count(fd, INSNS_USER);
}

static u32 other_counter(void)
{
	return nr_fixed() ? FIXED(0) : 1;
}

/* The process has, or no longer has, the right. */
static void check_rdpmc(int signal)
{
	ck_assert_int_eq(try_changed_rdpmc(0, signal), signal);
	ck_assert_int_eq(try_changed_rdpmc(other_counter(), signal), signal);
}

/* It has never had the right: this cannot be late. */
static void check_never_rdpmc(void)
{
	u64 value;

	ck_assert_int_eq(try_rdpmc(0, &value), RDPMC_SIGNAL);
	ck_assert_int_eq(try_rdpmc(other_counter(), &value), RDPMC_SIGNAL);
}

/*
 * In real time the emulator counts its own nanoseconds and not instructions, so that a fast
 * machine counts fewer.
 */
#define REAL_TIME	(!!getenv("REAL_TIME"))

/* The page is correct, and counting continues. */
static void check_page(const struct vperfctr_page *page)
{
	u64 before;

	ck_assert_uint_eq(page->version, VPERFCTR_ABI_VERSION);
	before = self_read(page, 0);
	do
		loop(1000);
	while (REAL_TIME && self_read(page, 0) - before < 2000);
	ck_assert_uint_ge(self_read(page, 0) - before, 2000);
	check_rdpmc(0);
}

START_TEST(not_without_mapping)
{
	check_never_rdpmc();
	sched_yield();
	msleep(2);
	check_never_rdpmc();
}
END_TEST

/* At once, both ways: also without a context switch in between. */
START_TEST(while_mapped)
{
	const struct vperfctr_page *page;
	int i;

	for (i = 0; i < 20; i++) {
		page = map_state(fd);
		check_page(page);
		if (i % 2)
			msleep(2);
		check_page(page);
		ck_assert_int_eq(munmap((void *)page, PAGE), 0);
		check_rdpmc(RDPMC_SIGNAL);
		if (i % 3)
			msleep(2);
		check_rdpmc(RDPMC_SIGNAL);
	}
}
END_TEST

/* Only while a state has the counters: otherwise perf has them. */
START_TEST(without_control)
{
	assert_ok(stop_all(fd));
	map_state(fd);
	check_rdpmc(RDPMC_FREE_SIGNAL);
	count(fd, INSNS_USER);
	check_rdpmc(0);
	assert_ok(stop_all(fd));
	check_rdpmc(RDPMC_FREE_SIGNAL);
	count(fd, INSNS_USER);
	check_rdpmc(0);
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	check_rdpmc(RDPMC_FREE_SIGNAL);
}
END_TEST

/* A mapping gives no view of perf's counts of other threads. */
START_TEST(perf_has_the_counters)
{
	int perf;

	assert_ok(stop_all(fd));
	map_state(fd);
	perf = perf_open(PERF_COUNT_HW_INSTRUCTIONS, false);
	ck_assert_int_ge(perf, 0);
	check_never_rdpmc();
	map_state(fd);
	check_never_rdpmc();
	close(perf);
	check_never_rdpmc();
	count(fd, INSNS_USER);
	check_rdpmc(0);
}
END_TEST

START_TEST(several_mappings)
{
	const struct vperfctr_page *a = map_state(fd), *b = map_state(fd), *c;
	int other = try_open_state(0);

	c = map_state(other);
	close(other);
	ck_assert_int_eq(munmap((void *)a, PAGE), 0);
	check_page(b);
	ck_assert_int_eq(munmap((void *)c, PAGE), 0);
	check_page(b);
	ck_assert_int_eq(munmap((void *)b, PAGE), 0);
	check_rdpmc(RDPMC_SIGNAL);
}
END_TEST

/* ---- threads --------------------------------------------------------------------- */

struct thread {
	volatile int step;
	int expected[3];
	volatile int sig[3];
	pthread_t id;
};

static void *try_in_steps(void *arg)
{
	struct thread *t = arg;
	int step;

	for (step = 0; step < 3; step++) {
		while (t->step <= step)
			msleep(1);
		t->sig[step] = try_changed_rdpmc(0, t->expected[step]);
		t->step = -1;
		while (t->step < 0)
			msleep(1);
	}
	return NULL;
}

static void step(struct thread *t, int n)
{
	t->step = n;
	while (t->step >= 0)
		msleep(1);
}

/* Threads without a state: one that exists before the mapping, and one that comes later. */
START_TEST(all_threads)
{
	/* These threads have no states. */
	const int may = RDPMC_WITHOUT_COUNTING ? 0 : RDPMC_SIGNAL;
	struct thread old = { .expected = { RDPMC_SIGNAL, may, RDPMC_SIGNAL } };
	struct thread young = { .expected = { may, RDPMC_SIGNAL, may } };
	const struct vperfctr_page *page;

	ck_assert_int_eq(pthread_create(&old.id, NULL, try_in_steps, &old), 0);
	step(&old, 1);
	page = map_state(fd);
	ck_assert_int_eq(pthread_create(&young.id, NULL, try_in_steps, &young), 0);
	step(&old, 2);
	step(&young, 1);
	young.step = 0;
	ck_assert_int_eq(munmap((void *)page, PAGE), 0);
	step(&old, 3);
	step(&young, 2);
	map_state(fd);
	step(&young, 3);
	ck_assert_int_eq(old.sig[0], RDPMC_SIGNAL);
	ck_assert_int_eq(old.sig[1], may);
	ck_assert_int_eq(old.sig[2], RDPMC_SIGNAL);
	ck_assert_int_eq(young.sig[0], may);
	ck_assert_int_eq(young.sig[1], RDPMC_SIGNAL);
	ck_assert_int_eq(young.sig[2], may);
	check_rdpmc(0);
	old.step = young.step = 3;
	pthread_join(old.id, NULL);
	pthread_join(young.id, NULL);
}
END_TEST

static void *map_given_state(void *arg)
{
	return (void *)try_map_state(*(int *)arg);
}

/* A thread that counts until the test lets it end. */
struct owner {
	int fd;
	volatile int counts, end;
	pthread_t id;
};

static void *map_own_state(void *arg)
{
	struct owner *owner = arg;
	void *page;

	owner->fd = open_state(0);
	count(owner->fd, INSNS_USER);
	page = (void *)map_state(owner->fd);
	owner->counts = 1;
	while (!owner->end)
		msleep(1);
	return page;
}

/* A mapping by any thread, of the state of any thread of the process, gives the right. */
START_TEST(mapped_by_another_thread)
{
	pthread_t thread;
	void *page;

	ck_assert_int_eq(pthread_create(&thread, NULL, map_given_state, &fd), 0);
	pthread_join(thread, &page);
	ck_assert_ptr_ne(page, MAP_FAILED);
	check_rdpmc(0);
	ck_assert_int_eq(munmap(page, PAGE), 0);
	check_rdpmc(RDPMC_SIGNAL);
}
END_TEST

/* Try until it has the result: the end of a thread leaves the rest to a worker. */
static void wait_for_rdpmc(int signal)
{
	while (try_changed_rdpmc(0, signal) != signal)
		msleep(1);
}

/*
 * Where the kernel lets all threads read counters that nothing uses, let another process use
 * them.  Return its number, or -1.
 */
static pid_t hold_counters(void)
{
	volatile int *held;
	pid_t pid;

	if (RDPMC_FREE_SIGNAL == RDPMC_SIGNAL)
		return -1;
	held = shared_memory(PAGE);
	pid = fork();
	if (!pid) {
		count(open_state(0), INSNS_USER);
		*held = 1;
		for (;;)
			pause();
	}
	while (!*held)
		msleep(1);
	munmap((void *)held, PAGE);
	return pid;
}

static void end_holder(pid_t pid)
{
	if (pid > 0) {
		kill(pid, SIGKILL);
		wait_for(pid);
	}
}

/* When the thread ends, the mapping stays valid and gives no right; nor does a new one. */
START_TEST(owner_has_ended)
{
	const int may = RDPMC_WITHOUT_COUNTING ? 0 : RDPMC_SIGNAL;
	struct owner owner = { .fd = -1 };
	const struct vperfctr_page *page;
	pid_t holder = hold_counters();

	assert_ok(stop_all(fd));
	ck_assert_int_eq(pthread_create(&owner.id, NULL, map_own_state, &owner), 0);
	while (!owner.counts)
		msleep(1);
	check_rdpmc(may);
	owner.end = 1;
	pthread_join(owner.id, (void **)&page);
	wait_for_rdpmc(RDPMC_SIGNAL);
	ck_assert_uint_eq(page->version, VPERFCTR_ABI_VERSION);
	map_state(owner.fd);
	check_rdpmc(RDPMC_SIGNAL);
	ck_assert_int_eq(munmap((void *)page, PAGE), 0);
	check_rdpmc(RDPMC_SIGNAL);
	end_holder(holder);
}
END_TEST

/* The right stays until the last of two mapped states has ended. */
START_TEST(two_owners)
{
	const int may = RDPMC_WITHOUT_COUNTING ? 0 : RDPMC_SIGNAL;
	struct owner owner = { .fd = -1 };
	pid_t holder = hold_counters();
	void *page;

	map_state(fd);
	ck_assert_int_eq(pthread_create(&owner.id, NULL, map_own_state, &owner), 0);
	while (!owner.counts)
		msleep(1);
	assert_ok(stop_all(fd));
	check_rdpmc(may);
	count(fd, INSNS_USER);
	check_rdpmc(0);
	owner.end = 1;
	pthread_join(owner.id, &page);
	check_rdpmc(0);
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	wait_for_rdpmc(RDPMC_SIGNAL);
	close(owner.fd);
	end_holder(holder);
}
END_TEST

/* The counters of other processes give no right. */
START_TEST(only_others_count)
{
	pid_t pid;

	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	pid = fork();
	if (!pid) {
		count(open_state(0), INSNS_USER);
		for (;;)
			pause();
	}
	fd = open_state(0);
	map_state(fd);
	msleep(5);
	check_never_rdpmc();
	count(fd, INSNS_USER);
	check_rdpmc(0);
	assert_ok(stop_all(fd));
	check_rdpmc(RDPMC_SIGNAL);
	kill(pid, SIGKILL);
	wait_for(pid);
}
END_TEST

/* A member of a family that its thread has opened and mapped. */
START_TEST(mapped_member)
{
	struct control control;
	pid_t pid;
	int member;

	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control.c.flags = VPERFCTR_CONTROL_INHERIT;
	assert_ok(set_control(fd, &control));
	pid = fork();
	if (!pid) {
		member = try_open_state(0);
		if (member < 0)
			_exit(1);
		map_state(member);
		if (try_changed_rdpmc(0, 0))
			_exit(2);
		/* It leaves the family. */
		if (call(member, VPERFCTR_UNLINK, 0))
			_exit(3);
		_exit(try_changed_rdpmc(0, RDPMC_SIGNAL) == RDPMC_SIGNAL ? 0 : 4);
	}
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

/* ---- processes ---------------------------------------------------------------------- */

START_TEST(not_in_the_child)
{
	const struct vperfctr_page *page = map_state(fd);
	u64 value;
	pid_t pid = fork();

	if (!pid) {
		if (try_rdpmc(0, &value) != RDPMC_SIGNAL)
			_exit(1);
		/* its copy of the mapping has nothing to read */
		if (try_touch(page) || page->cstatus)
			_exit(2);
		/* The child can have a mapping of its own; unmapping revokes the right again. */
		fd = open_state(0);
		page = map_state(fd);
		if (try_rdpmc(0, &value) != RDPMC_SIGNAL)
			_exit(5);
		count(fd, INSNS_USER);
		if (try_changed_rdpmc(0, 0))
			_exit(3);
		munmap((void *)page, PAGE);
		_exit(try_changed_rdpmc(0, RDPMC_SIGNAL) == RDPMC_SIGNAL ? 0 : 4);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	check_page(page);
}
END_TEST

START_TEST(not_after_exec)
{
	pid_t pid = fork();

	if (!pid) {
		map_state(open_state(0));
		execl("/proc/self/exe", "self", "try", NULL);
		_exit(98);
	}
	ck_assert_int_eq(wait_for(pid), RDPMC_SIGNAL);
}
END_TEST

START_TEST(not_by_a_strangers_state)
{
	const struct vperfctr_page *own = _i ? map_state(fd) : NULL, *page;
	struct sums sums;
	u64 value;
	pid_t pid = fork();

	if (!pid) {
		page = map_state(fd);
		if (try_rdpmc(0, &value) != RDPMC_SIGNAL)
			_exit(1);
		msleep(2);
		if (try_rdpmc(0, &value) != RDPMC_SIGNAL)
			_exit(2);
		/* It can read the page, which has a sum from the owner's first switch on. */
		while (!*(const volatile __u64 *)&page->ctr[0].sum)
			msleep(1);
		read_sums(fd, &sums);
		if (page->ctr[0].sum > sums.pmc[0])
			_exit(3);
		munmap((void *)page, PAGE);
		_exit(try_rdpmc(0, &value) == RDPMC_SIGNAL ? 0 : 4);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	if (own)
		check_page(own);
	else
		check_never_rdpmc();
}
END_TEST

/* ---- other operations on a mapping ------------------------------------------------------ */

START_TEST(moved_mapping)
{
	const struct vperfctr_page *page = map_state(fd);
	void *to = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *new = mremap((void *)page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);

	ck_assert_ptr_eq(new, to);
	check_page(new);
	ck_assert_int_eq(try_touch(page), SIGSEGV);
	/* Another mapping in the old one's place changes nothing. */
	ck_assert_ptr_ne(mmap((void *)page, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS |
			      MAP_FIXED, -1, 0), MAP_FAILED);
	check_page(new);
	ck_assert_int_eq(munmap(new, PAGE), 0);
	check_rdpmc(RDPMC_SIGNAL);
}
END_TEST

START_TEST(not_grown_nor_copied)
{
	const struct vperfctr_page *page = map_state(fd);

	ck_assert_ptr_eq(mremap((void *)page, PAGE, 2 * PAGE, MREMAP_MAYMOVE), MAP_FAILED);
	ck_assert_ptr_eq(mremap((void *)page, 0, PAGE, MREMAP_MAYMOVE), MAP_FAILED);
	check_page(page);
	ck_assert_int_eq(munmap((void *)page, PAGE), 0);
	check_rdpmc(RDPMC_SIGNAL);
}
END_TEST

START_TEST(covered_by_another_mapping)
{
	const struct vperfctr_page *page = map_state(fd);

	ck_assert_ptr_eq(mmap((void *)page, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS |
			      MAP_FIXED, -1, 0), page);
	check_rdpmc(RDPMC_SIGNAL);
	ck_assert_uint_eq(page->version, 0);
}
END_TEST

/* munmap() of a range around the page; an address inside a page is refused. */
START_TEST(unmapped_with_others)
{
	char *three = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *page = mmap(three + PAGE, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);

	ck_assert_ptr_eq(page, three + PAGE);
	ck_assert_int_eq(munmap(three + PAGE + 64, PAGE), -1);
	check_page(page);
	ck_assert_int_eq(munmap(three, PAGE), 0);
	check_page(page);
	ck_assert_int_eq(munmap(three, 3 * PAGE), 0);
	check_rdpmc(RDPMC_SIGNAL);
}
END_TEST

/* No advice changes the page, or shares it with another process. */
static const int advice[] = {
	MADV_DONTNEED, MADV_DONTFORK, MADV_DOFORK, MADV_WIPEONFORK, MADV_COLD, MADV_PAGEOUT,
	MADV_WILLNEED, MADV_MERGEABLE, MADV_REMOVE, MADV_FREE, MADV_DODUMP,
};

START_TEST(madvise_changes_nothing)
{
	const struct vperfctr_page *page = map_state(fd);
	unsigned int i;
	u64 value;
	pid_t pid;

	for (i = 0; i < 3; i++) {
		madvise((void *)page, PAGE, advice[_i]);
		check_page(page);
		pid = fork();
		if (!pid)
			_exit(try_rdpmc(0, &value) == RDPMC_SIGNAL ? 0 : 1);
		ck_assert_int_eq(wait_for(pid), 0);
		check_page(page);
	}
	ck_assert_int_eq(munmap((void *)page, PAGE), 0);
	check_rdpmc(RDPMC_SIGNAL);
}
END_TEST

/* ---- together with perf ------------------------------------------------------------------ */

static struct perf_event_mmap_page *map_perf(int *perf)
{
	void *p;

	*perf = perf_open(PERF_COUNT_HW_INSTRUCTIONS, false);
	ck_assert_int_ge(*perf, 0);
	p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, *perf, 0);
	ck_assert_ptr_ne(p, MAP_FAILED);
	return p;
}

/*
 * Make the kernel write to its own code: perf's first event enables a static key in the
 * scheduler, and a second after the last event the key is disabled.
 */
static void write_kernel_code(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
	};

	ck_assert_int_ge(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0), 0);
}

/*
 * perf clears the counters that its last events used when it switches to a process that
 * may use RDPMC.  It does not check which state uses them now.
 */
START_TEST(counters_left_by_perf)
{
	static const u64 events[] = {
		PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		PERF_COUNT_HW_CPU_CYCLES,
	};
	const unsigned int nr = sizeof(events) / sizeof(events[0]);
	const struct vperfctr_page *page;
	struct control control;
	struct sums a, b;
	unsigned int i;
	int perf[nr];

	pin(sched_getcpu());
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	close(fd);
	for (i = 0; i < nr; i++)
		perf[i] = perf_open(events[i], false);
	loop(1000);
	for (i = 0; i < nr; i++)
		close(perf[i]);
	msleep(1500);
	fd = open_state(0);
	control_init(&control, 0);
	for (i = 0; i < nr && i < nr_general(); i++)
		control_add(&control, nth_general(i), INSNS_USER);
	if (have_fixed_insns())
		control_add(&control, FIXED_INSNS, FIXED_USER);
	assert_ok(set_control(fd, &control));
	page = map_state(fd);
	loop(100000);
	read_sums(fd, &a);
	write_kernel_code();
	loop(1000);
	read_sums(fd, &b);
	for (i = 0; i < control.c.nractrs; i++) {
		ck_assert_uint_ge(b.pmc[i] - a.pmc[i], 2000);
		ck_assert_uint_lt(b.pmc[i] - a.pmc[i], 1 << 30);
	}
	ck_assert_int_eq(munmap((void *)page, PAGE), 0);
}
END_TEST

/* x86: perf's mappings give the same right, and sysfs enables and disables it. */
static const char *sysfs_rdpmc(void)
{
	static const char hybrid[] = "/sys/bus/event_source/devices/cpu_core/rdpmc";

	/* The attribute of a hybrid processor is the same for both of its PMUs. */
	return access(hybrid, F_OK) ? "/sys/bus/event_source/devices/cpu/rdpmc" : hybrid;
}

static bool have_sysfs_rdpmc(void)
{
	return !access(sysfs_rdpmc(), F_OK);
}

static void write_rdpmc(const char *value)
{
	write_file(sysfs_rdpmc(), value);
}

/* perf's mapping and the state's give and revoke the right independently, in any order. */
START_TEST(perf_in_the_same_process)
{
	struct perf_event_mmap_page *theirs;
	const struct vperfctr_page *ours;
	int perf;

	if (!have_sysfs_rdpmc())
		return;
	assert_ok(stop_all(fd));
	if (_i & 1)
		ours = map_state(fd);
	theirs = map_perf(&perf);
	if (!(_i & 1))
		ours = map_state(fd);
	check_rdpmc(0);
	ck_assert_uint_ne(theirs->cap_user_rdpmc, 0);
	if (_i & 2) {
		ck_assert_int_eq(munmap((void *)ours, PAGE), 0);
		check_rdpmc(0);
		ck_assert_int_eq(munmap(theirs, PAGE), 0);
		close(perf);
	} else {
		ck_assert_int_eq(munmap(theirs, PAGE), 0);
		close(perf);
		check_rdpmc(RDPMC_SIGNAL);
		count(fd, INSNS_USER);
		check_rdpmc(0);
		ck_assert_int_eq(munmap((void *)ours, PAGE), 0);
	}
	check_rdpmc(RDPMC_SIGNAL);
	assert_ok(stop_all(fd));
	/* perf works as before. */
	theirs = map_perf(&perf);
	check_rdpmc(0);
}
END_TEST

/* sysfs overrides mappings, and the page says so. */
START_TEST(forbidden_by_sysfs)
{
	const struct vperfctr_page *page = map_state(fd);
	struct sums sums;

	if (!have_sysfs_rdpmc())
		return;
	check_page(page);
	write_rdpmc("0");
	msleep(5);
	check_rdpmc(RDPMC_SIGNAL);
	ck_assert_uint_eq(page->cstatus & VPERFCTR_CSTATUS_RDPMC, 0);
	ck_assert_uint_ne(page->cstatus & VPERFCTR_CSTATUS_RUNNING, 0);
	read_sums(fd, &sums);
	ck_assert_uint_ne(sums.pmc[0], 0);
	write_rdpmc("1");
	msleep(5);
	check_page(page);
}
END_TEST

START_TEST(allowed_to_all_by_sysfs)
{
	const struct vperfctr_page *page;
	u64 value;
	pid_t pid;

	if (!have_sysfs_rdpmc())
		return;
	write_rdpmc("2");
	msleep(5);
	check_rdpmc(0);
	page = map_state(fd);
	check_page(page);
	ck_assert_int_eq(munmap((void *)page, PAGE), 0);
	check_rdpmc(0);
	pid = fork();
	if (!pid)
		_exit(try_rdpmc(0, &value));
	ck_assert_int_eq(wait_for(pid), 0);
	write_rdpmc("1");
	msleep(5);
	check_rdpmc(RDPMC_SIGNAL);
}
END_TEST

/* Restore the attribute, even if a test has failed half-way. */
static void restore_sysfs(void)
{
	if (have_sysfs_rdpmc())
		write_rdpmc("1");
}

/*
 * A processor on which user mode must not use RDPMC, as INFO says: a mapping gives no right,
 * and reads by the kernel are exact.
 */
START_TEST(never)
{
	const struct vperfctr_page *page = map_state(fd);
	struct sums sums[3];
	unsigned int i;
	u64 value;

	ck_assert_uint_eq(page->cstatus & VPERFCTR_CSTATUS_RDPMC, 0);
	ck_assert_int_eq(try_rdpmc(0, &value), RDPMC_SIGNAL);
	for (i = 0; i < 3; i++) {
		read_sums(fd, &sums[i]);
		loop(i == 1 ? 1000 : 1);
	}
	for (i = 0; i < 2; i++)
		ck_assert_uint_gt(sums[i + 1].pmc[0], sums[i].pmc[0]);
	/* the first loop has one round, the second one a thousand */
	ck_assert_uint_eq(sums[2].pmc[0] - sums[1].pmc[0], sums[1].pmc[0] - sums[0].pmc[0] + 2 * 999);
	msleep(2);
	ck_assert_int_eq(try_rdpmc(0, &value), RDPMC_SIGNAL);
}
END_TEST

static void add_never(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, never);
}

static void add(TCase *tc)
{
	tcase_add_unchecked_fixture(tc, NULL, restore_sysfs);
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, not_without_mapping);
	tcase_add_test(tc, while_mapped);
	tcase_add_test(tc, without_control);
	if (has_perf() && RDPMC_FREE_SIGNAL)
		tcase_add_test(tc, perf_has_the_counters);
	tcase_add_test(tc, several_mappings);
	tcase_add_test(tc, all_threads);
	tcase_add_test(tc, mapped_by_another_thread);
	tcase_add_test(tc, owner_has_ended);
	tcase_add_test(tc, two_owners);
	tcase_add_test(tc, only_others_count);
	tcase_add_test(tc, mapped_member);
	tcase_add_test(tc, not_in_the_child);
	tcase_add_test(tc, not_after_exec);
	tcase_add_loop_test(tc, not_by_a_strangers_state, 0, 2);
	tcase_add_test(tc, moved_mapping);
	tcase_add_test(tc, not_grown_nor_copied);
	tcase_add_test(tc, covered_by_another_mapping);
	tcase_add_test(tc, unmapped_with_others);
	tcase_add_loop_test(tc, madvise_changes_nothing, 0, sizeof(advice) / sizeof(advice[0]));
	tcase_add_test(tc, counters_left_by_perf);
	tcase_add_loop_test(tc, perf_in_the_same_process, 0, 4);
	tcase_add_test(tc, forbidden_by_sysfs);
	tcase_add_test(tc, allowed_to_all_by_sysfs);
}

int main(int argc, char **argv)
{
	u64 value;

	if (argc > 1 && !strcmp(argv[1], "try"))
		return try_rdpmc(0, &value);
	open_device();
	return run_tests("rdpmc", info.features & VPERFCTR_FEATURE_RDPMC ? add : add_never);
}
