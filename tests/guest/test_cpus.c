// SPDX-License-Identifier: GPL-2.0
/*
 * Counting CPUs.  Threads that are pinned to a CPU execute loops of known length, so that
 * what the CPU must have counted is known.  Needs two CPUs.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cpus.h"
#include "suite.h"

#define CPU1_ONLINE "/sys/devices/system/cpu/cpu1/online"

#define COUNTS	VPERFCTR_CPU_STATUS_COUNTS
#define OFFLINE	VPERFCTR_CPU_STATUS_OFFLINE

/* ---- controls ----------------------------------------------------------------- */

/* Count instructions in user mode, in kernel mode, and in both. */
static void modes(struct control *control)
{
	control_init(control, 1);
	control_add(control, nth_general(0), INSNS_USER);
	control_add(control, nth_general(1), INSNS_KERNEL);
	control_add(control, nth_general(2), INSNS_BOTH);
	if (info.nrkinds > 1)
		control_any_kind(control);
}

/* The same, as far as the processor has counters: user mode first. */
static void count_modes(int fd)
{
	struct control control;

	modes(&control);
	control.c.nractrs = nr_common_general() < NR_CTRS ? nr_common_general() : NR_CTRS;
	assert_ok(set_control(fd, &control));
}

static int count_cpus(u32 mask)
{
	int fd = open_cpus(mask);

	count_modes(fd);
	return fd;
}

/* ---- errors ------------------------------------------------------------------- */

static int open_with(struct vperfctr_open_cpus req)
{
	return call(dev, VPERFCTR_OPEN_CPUS, &req);
}

START_TEST(errors_of_open)
{
	u32 words[VPERFCTR_CPUS_MAX_WORDS + 1] = { 1 };
	struct vperfctr_open_cpus req = {
		.size = sizeof(req), .nrwords = 1, .mask = (uintptr_t)words,
	}, bad;
	int fd;

	bad = req;
	bad.flags = 2;
	assert_errno(open_with(bad), EINVAL);
	bad = req;
	bad.nrcpus = 1;
	assert_errno(open_with(bad), EINVAL);
	bad = req;
	bad.nrwords = 0;
	assert_errno(open_with(bad), EINVAL);
	bad.nrwords = VPERFCTR_CPUS_MAX_WORDS + 1;
	assert_errno(open_with(bad), EINVAL);
	bad = req;
	bad.size = sizeof(bad) - 1;
	assert_errno(open_with(bad), EINVAL);
	bad = req;
	bad.mask = 8;
	assert_errno(open_with(bad), EFAULT);
	assert_errno(call(dev, VPERFCTR_OPEN_CPUS, (void *)8), EFAULT);

	words[0] = 0;
	assert_errno(open_with(req), EINVAL);
	words[VPERFCTR_CPUS_MAX_WORDS - 1] = 1;
	bad = req;
	bad.nrwords = VPERFCTR_CPUS_MAX_WORDS;
	assert_errno(open_with(bad), ENODEV);
	words[VPERFCTR_CPUS_MAX_WORDS - 1] = 0;
	words[0] = 1U << 31;
	assert_errno(open_with(req), ENODEV);

	/* More words than there are CPUs. */
	words[0] = 1;
	req.nrwords = VPERFCTR_CPUS_MAX_WORDS;
	fd = open_with(req);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	fd = try_open_cpus(1, VPERFCTR_OPEN_CPUS_NOCLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD), 0);
	close(fd);
}
END_TEST

START_TEST(errors_of_control)
{
	int fd = open_cpus(1);
	struct control control;
	struct vperfctr_ring ring = { .size = sizeof(ring) };

	modes(&control);
	control.c.flags = VPERFCTR_CONTROL_INHERIT;
	assert_errno(set_control(fd, &control), EINVAL);
	control.c.flags = 0;
	control.c.soft = VPERFCTR_SOFT_MIGRATIONS;
	assert_errno(set_control(fd, &control), EINVAL);
	control.c.soft = 0;
	control.c.clock_period = VPERFCTR_CLOCK_MIN;
	assert_errno(set_control(fd, &control), EINVAL);
	control.c.clock_period = 0;
	control.c.reserved = 1;
	assert_errno(set_control(fd, &control), EINVAL);

	control_init(&control, 1);
	assert_errno(set_control(fd, &control), EINVAL);
	assert_errno(call(fd, VPERFCTR_CONTROL, (void *)8), EFAULT);

	if (has(VPERFCTR_FEATURE_PCINT)) {
		control_init(&control, 1);
		control_add(&control, IMODE_MAP, IMODE_USER);
		control.c.nractrs = 0;
		control.c.nrictrs = 1;
		control.ctr[0].ireset = -10000;
		/* Without a ring. */
		assert_errno(set_control(fd, &control), EINVAL);
	}

	if (info.nrkinds > 1) {
		int both = open_cpus(3);

		modes(&control);
		control.c.kind = 1;
		control.c.nrkinds = 0;
		control.c.nractrs = 1;
		assert_errno(set_control(both, &control), EUSERS);
		close(both);
	}

	/* Nothing counts yet. */
	assert_errno(call(fd, VPERFCTR_SUSPEND, 0), EINVAL);
	assert_errno(call(fd, VPERFCTR_RESUME, 0), EINVAL);
	assert_ok(stop_all(fd));
	count_modes(fd);
	assert_errno(call(fd, VPERFCTR_SUSPEND, (void *)1), EINVAL);
	assert_errno(call(fd, VPERFCTR_RESUME, (void *)1), EINVAL);

	/* Calls of a state. */
	assert_errno(call(fd, VPERFCTR_UNLINK, 0), ENOTTY);
	assert_errno(call(fd, VPERFCTR_IRESUME, 0), ENOTTY);
	assert_errno(call(fd, VPERFCTR_READ, &control), ENOTTY);
	assert_errno(call(dev, VPERFCTR_READ_CPUS, &ring), ENOTTY);
	/* The set has one CPU, and no ring. */
	ck_assert_ptr_eq(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, PAGE), MAP_FAILED);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_ptr_eq(mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0), MAP_FAILED);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_ptr_eq(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0), MAP_FAILED);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_ptr_eq(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	ck_assert(errno == EACCES || errno == EPERM);
	close(fd);
}
END_TEST

START_TEST(errors_of_read)
{
	u32 all = (1U << nr_cpus()) - 1;
	struct cpu_reading r;
	int fd = open_cpus(all);

	/* Before any control. */
	read_cpus(fd, &r);
	ck_assert_uint_eq(r.req.status, 0);
	ck_assert_uint_eq(r.req.nrctrs, 0);
	ck_assert_uint_eq(r.req.nrcpus, (u32)nr_cpus());
	count_modes(fd);

	r.req = (struct vperfctr_read_cpus) {
		.size = sizeof(r.req), .nrcpus = nr_cpus() - 1, .nrctrs = NR_CTRS,
		.sums = 8, .cpus = 8,
	};
	assert_errno(call(fd, VPERFCTR_READ_CPUS, &r.req), EOVERFLOW);
	ck_assert_uint_eq(r.req.nrcpus, (u32)nr_cpus());
	ck_assert_uint_ge(r.req.nrctrs, 1);
	r.req.nrctrs--;
	assert_errno(call(fd, VPERFCTR_READ_CPUS, &r.req), EOVERFLOW);
	/* Both have room now. */
	assert_errno(call(fd, VPERFCTR_READ_CPUS, &r.req), EFAULT);
	r.req.cpus = 0;
	assert_errno(call(fd, VPERFCTR_READ_CPUS, &r.req), EFAULT);
	r.req.sums = 0;
	assert_ok(call(fd, VPERFCTR_READ_CPUS, &r.req));
	ck_assert_uint_eq(r.req.status, ACTIVE);
	r.req.size = 8;
	assert_errno(call(fd, VPERFCTR_READ_CPUS, &r.req), EINVAL);
	assert_errno(call(fd, VPERFCTR_READ_CPUS, (void *)8), EFAULT);
	close(fd);
}
END_TEST

/*
 * True if readings wait for each other: a user without the capability must not interrupt the CPUs
 * all the time.
 */
static bool reads_are_spaced(int fd)
{
	struct cpu_reading r;
	struct timespec begin, end;
	unsigned int i;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (i = 0; i < 4; i++) {
		if (try_read_cpus(fd, &r))
			return false;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec >= 150000000;
}

/* A user without the capability has none of the calls but READ_CPUS, if a descriptor is given. */
START_TEST(ordinary_user)
{
	int fd = count_cpus(1);
	struct control control;
	struct cpu_reading r;
	pid_t pid = fork();

	if (!pid) {
		if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
			die("setresuid failed");
		modes(&control);
		_exit(try_open_cpus(1, 0) != -EPERM || call(dev, VPERFCTR_OPEN_CPUS, 0) != -EPERM ||
		      set_control(fd, &control) != -EPERM || stop_all(fd) != -EPERM ||
		      call(fd, VPERFCTR_SUSPEND, 0) != -EPERM ||
		      call(fd, VPERFCTR_RESUME, 0) != -EPERM || !reads_are_spaced(fd));
	}
	ck_assert_int_eq(wait_for(pid), 0);
	read_cpus(fd, &r);
	ck_assert_uint_eq(r.req.status, ACTIVE);
	close(fd);
}
END_TEST

/* ---- who has the counters ------------------------------------------------------- */

/* True if a state of this thread gets a control with a counter. */
static int try_count_thread(void)
{
	int state = open_state(0), err;
	struct control control;

	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	err = set_control(state, &control);
	/* Without counters there is always room. */
	if (err) {
		control_init(&control, 1);
		assert_ok(set_control(state, &control));
	}
	assert_ok(call(state, VPERFCTR_UNLINK, 0));
	close(state);
	return err;
}

START_TEST(threads_or_cpus)
{
	int fd = count_cpus(1), other = open_cpus(3), state;
	struct control control;

	assert_errno(try_count_thread(), EBUSY);
	ck_assert(perf_is_kept_out());
	/* One of the CPUs of the other set is counted. */
	modes(&control);
	control.c.nractrs = 1;
	control_any_kind(&control);
	assert_errno(set_control(other, &control), EBUSY);
	close(other);
	other = count_cpus(2);
	close(fd);
	assert_errno(try_count_thread(), EBUSY);
	assert_ok(stop_all(other));
	assert_ok(try_count_thread());

	state = open_state(0);
	count(state, INSNS_USER);
	assert_errno(set_control(other, &control), EBUSY);
	assert_ok(call(state, VPERFCTR_UNLINK, 0));
	close(state);
	assert_ok(set_control(other, &control));
	close(other);
	ck_assert(!perf_is_kept_out());
}
END_TEST

static int perf_on(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr),
		.config = perf_config(info.arch_events & VPERFCTR_EVENT_INSTRUCTIONS ?
				      PERF_COUNT_HW_INSTRUCTIONS : PERF_COUNT_HW_CPU_CYCLES),
		.exclude_kernel = 1, .exclude_hv = 1,
	};

	return syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

START_TEST(perf_has_them)
{
	int fd = open_cpus(3), perf = perf_on(0);
	struct control control;

	ck_assert_int_ge(perf, 0);
	modes(&control);
	control.c.nractrs = 1;
	control_any_kind(&control);
	assert_errno(set_control(fd, &control), EBUSY);
	close(perf);
	assert_ok(set_control(fd, &control));
	close(fd);
}
END_TEST

/* Map the page of the i-th CPU of a set. */
static const volatile struct vperfctr_page *map_cpu(int fd, unsigned int i)
{
	void *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, i * PAGE);

	ck_assert_ptr_ne(page, MAP_FAILED);
	return page;
}

/* A process with a mapped page of its own, and of the CPUs, and without, cannot execute RDPMC. */
START_TEST(no_reads_in_user_mode)
{
	const volatile struct vperfctr_page *page[2];
	int state = open_state(0), fd;
	struct control control;
	u64 value;

	control_init(&control, 1);
	assert_ok(set_control(state, &control));
	map_state(state);
	fd = count_cpus(3);
	for (int i = 0; i < 2; i++) {
		for (int cpu = 0; cpu < 2; cpu++) {
			pin(cpu);
			ck_assert_int_eq(try_rdpmc(nth_general(0), &value), RDPMC_SIGNAL);
			if (i)
				ck_assert_uint_eq(page[cpu]->cstatus & VPERFCTR_CSTATUS_RDPMC, 0);
		}
		for (int cpu = 0; cpu < 2 && !i; cpu++)
			page[cpu] = map_cpu(fd, cpu);
	}
	munmap((void *)page[0], PAGE);
	munmap((void *)page[1], PAGE);
	close(fd);
}
END_TEST

#define RDPMC	"/sys/bus/event_source/devices/cpu/rdpmc"

/* If all processes may execute RDPMC, the counts of a CPU would be visible to them. */
START_TEST(all_may_read)
{
	int fd = open_cpus(3);
	struct control control;
	int err;

	if (access(RDPMC, W_OK) || !has(VPERFCTR_FEATURE_ISOLATE))
		return;
	modes(&control);
	control.c.nractrs = 1;
	control_any_kind(&control);
	write_file(RDPMC, "2");
	err = set_control(fd, &control);
	write_file(RDPMC, "1");
	assert_errno(err, EACCES);
	ck_assert(!perf_is_kept_out());
	assert_ok(set_control(fd, &control));
	close(fd);
}
END_TEST

/* ---- counts ---------------------------------------------------------------------- */

#define LOOPS	1000000UL
/* More than all else that runs in user mode meanwhile. */
#define LITTLE	(LOOPS / 10)

/* A child on a CPU executes a loop for each byte that it gets. */
static pid_t start_worker(int cpu, int to[2], int from[2])
{
	pid_t pid;
	char byte;

	if (pipe(to) || pipe(from))
		die("pipe failed");
	pid = fork();
	if (pid)
		return pid;
	pin(cpu);
	close(to[1]);
	close(from[0]);
	while (read(to[0], &byte, 1) == 1) {
		loop(LOOPS);
		if (write(from[1], &byte, 1) != 1)
			break;
	}
	_exit(0);
}

/*
 * Each CPU has counted its own threads.  So does perf for all of the CPU, and so do the counters of
 * the thread.
 */
START_TEST(as_threads_and_perf)
{
	int busy = _i, idle = !_i, to[2], from[2], fd, perf, state;
	u64 by_cpu, by_other, by_perf, by_thread, before;
	struct control control;
	struct cpu_reading a, b;
	struct sums sums;
	pid_t pid;

	pin(idle);
	pid = start_worker(busy, to, from);
	let_work(to, from);
	fd = count_cpus(3);
	read_cpus(fd, &a);
	let_work(to, from);
	read_cpus(fd, &b);
	close(fd);
	by_cpu = pmc_of(&b, busy, 0) - pmc_of(&a, busy, 0);
	by_other = pmc_of(&b, idle, 0) - pmc_of(&a, idle, 0);
	ck_assert_uint_ge(by_cpu, 2 * LOOPS);
	ck_assert_uint_lt(by_cpu, 2 * LOOPS + LITTLE);
	if (COUNTS_APART)
		ck_assert_uint_lt(by_other, LITTLE);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(b.cpus[i].cpu, (u32)i);
		ck_assert_uint_eq(b.cpus[i].status, COUNTS);
		ck_assert_uint_gt(tsc_sum_of(&b, i), tsc_sum_of(&a, i));
	}

	perf = perf_on(busy);
	/* An event of perf's is for one kind of CPUs. */
	if (perf >= 0 || info.nrkinds == 1) {
		ck_assert_int_eq(read(perf, &before, sizeof(before)), sizeof(before));
		let_work(to, from);
		ck_assert_int_eq(read(perf, &by_perf, sizeof(by_perf)), sizeof(by_perf));
		close(perf);
		by_perf -= before;
		ck_assert_uint_ge(by_perf, 2 * LOOPS);
		ck_assert_uint_lt(by_perf, 2 * LOOPS + LITTLE);
	}
	close(to[1]);
	ck_assert_int_eq(wait_for(pid), 0);

	pin(busy);
	state = open_state(0);
	modes(&control);
	control.c.nractrs = 1;
	control_any_kind(&control);
	assert_ok(set_control(state, &control));
	read_sums(state, &sums);
	by_thread = sums.pmc[0];
	loop(LOOPS);
	read_sums(state, &sums);
	by_thread = sums.pmc[0] - by_thread;
	ck_assert_uint_ge(by_cpu + LITTLE, by_thread);
	ck_assert_uint_ge(by_thread + LITTLE, by_cpu);
}
END_TEST

/* Return the instructions in user mode of a loop between two calls, with their overhead. */
static __attribute__((noinline, noclone)) u64 measure_once(int fd, unsigned long n)
{
	struct cpu_reading a, b;

	read_cpus(fd, &a);
	loop(n);
	read_cpus(fd, &b);
	return pmc_of(&b, 0, 0) - pmc_of(&a, 0, 0);
}

/* Other threads of this CPU can only add to it. */
static u64 measure(int fd, unsigned long n)
{
	u64 least = ~0ULL;

	for (int i = 0; i < 10; i++) {
		u64 once = measure_once(fd, n);

		least = once < least ? once : least;
	}
	return least;
}

/* Counts are exact.  Those of one CPU are of one moment where all counters stop at once. */
START_TEST(exact)
{
	struct cpu_reading r;
	int fd;
	u64 extra;

	pin(1);
	fd = count_cpus(2);
	extra = measure(fd, 1);
	ck_assert_uint_eq(measure(fd, 1001), extra + 2000);
	ck_assert_uint_eq(measure(fd, 100001), extra + 200000);

	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	read_cpus(fd, &r);
	ck_assert_uint_eq(r.req.status, ACTIVE | SUSPENDED);
	ck_assert_uint_eq(r.cpus[0].status, 0);
	ck_assert_uint_gt(pmc_of(&r, 0, 0), 0);
	if (r.req.nrctrs == NR_CTRS && have_global_ctrl() && has(VPERFCTR_FEATURE_ISOLATE)) {
		ck_assert_uint_gt(pmc_of(&r, 0, 1), 0);
		ck_assert_uint_eq(pmc_of(&r, 0, 0) + pmc_of(&r, 0, 1), pmc_of(&r, 0, 2));
	}
	close(fd);
}
END_TEST

/* The sums of a page, by the loop for other processes than the owner. */
static u64 page_sum(const volatile struct vperfctr_page *page, unsigned int i)
{
	u32 samplecount;
	u64 sum;

	do {
		samplecount = page->samplecount;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		sum = page->ctr[i].sum;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while ((samplecount & 1) || page->samplecount != samplecount);
	return sum;
}

/* Each CPU has a page, whose sums are those of the last READ_CPUS of any process. */
START_TEST(mapped_pages)
{
	const volatile struct vperfctr_page *page[2];
	struct cpu_reading r;
	int fd = open_cpus(3);
	u64 before;
	pid_t pid;

	page[0] = map_cpu(fd, 0);
	ck_assert_uint_eq(page[0]->version, VPERFCTR_ABI_VERSION);
	ck_assert_uint_eq(page[0]->cstatus, 0);
	count_modes(fd);
	page[1] = map_cpu(fd, 1);
	for (int cpu = 0; cpu < 2; cpu++) {
		ck_assert(page[cpu]->cstatus & VPERFCTR_CSTATUS_RUNNING);
		pin(cpu);
		read_cpus(fd, &r);
		before = page_sum(page[cpu], 0);
		/* Timers sample narrow counters, too. */
		ck_assert_uint_ge(before, pmc_of(&r, cpu, 0));
		loop(LOOPS);
		pid = fork();
		if (!pid)
			_exit(try_read_cpus(fd, &r) || page[cpu]->cstatus || page[cpu]->ctr[0].sum ||
			      page[cpu]->version != VPERFCTR_ABI_VERSION);
		ck_assert_int_eq(wait_for(pid), 0);
		ck_assert_uint_ge(page_sum(page[cpu], 0), before + 2 * LOOPS);
	}
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	read_cpus(fd, &r);
	for (int cpu = 0; cpu < 2; cpu++) {
		ck_assert_uint_eq(page[cpu]->cstatus & VPERFCTR_CSTATUS_RUNNING, 0);
		ck_assert_uint_eq(page[cpu]->tsc_sum, tsc_sum_of(&r, cpu));
		for (u32 i = 0; i < r.req.nrctrs; i++)
			ck_assert_uint_eq(page_sum(page[cpu], i), pmc_of(&r, cpu, i));
	}
	/* A mapping keeps the counting alive. */
	close(fd);
	assert_errno(try_count_thread(), EBUSY);
	munmap((void *)page[0], PAGE);
	assert_errno(try_count_thread(), EBUSY);
	munmap((void *)page[1], PAGE);
	assert_ok(try_count_thread());
}
END_TEST

START_TEST(suspend_and_resume)
{
	struct control control;
	struct cpu_reading a, b;
	int fd;

	pin(1);
	fd = count_cpus(3);
	loop(1000);
	for (int i = 0; i < 2; i++)
		assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	read_cpus(fd, &a);
	loop(1000);
	read_cpus(fd, &b);
	ck_assert_int_eq(memcmp(a.sums, b.sums, sizeof(a.sums)), 0);
	for (int i = 0; i < 2; i++)
		assert_ok(call(fd, VPERFCTR_RESUME, 0));
	loop(1000);
	read_cpus(fd, &b);
	ck_assert_uint_eq(b.req.status, ACTIVE);
	ck_assert_uint_ge(pmc_of(&b, 1, 0), pmc_of(&a, 1, 0) + 2000);
	ck_assert_uint_lt(pmc_of(&b, 1, 0), pmc_of(&a, 1, 0) + 2000 + LITTLE);

	/* A control that stops keeps the sums, and one that preserves continues. */
	assert_ok(stop_all(fd));
	read_cpus(fd, &a);
	ck_assert_uint_eq(a.req.status, 0);
	ck_assert_uint_eq(a.cpus[1].status, 0);
	ck_assert_uint_ge(pmc_of(&a, 1, 0), pmc_of(&b, 1, 0));
	modes(&control);
	control.c.nractrs = 1;
	control_any_kind(&control);
	control.c.preserve = 1;
	assert_ok(set_control(fd, &control));
	read_cpus(fd, &b);
	ck_assert_uint_eq(b.req.nrctrs, 1);
	ck_assert_uint_ge(pmc_of(&b, 1, 0), pmc_of(&a, 1, 0));
	ck_assert_uint_lt(pmc_of(&b, 1, 0), pmc_of(&a, 1, 0) + LITTLE);
	control.c.preserve = 0;
	assert_ok(set_control(fd, &control));
	read_cpus(fd, &b);
	ck_assert_uint_lt(pmc_of(&b, 1, 0), pmc_of(&a, 1, 0));

	/* A new control ends a pause. */
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	assert_ok(set_control(fd, &control));
	read_cpus(fd, &b);
	ck_assert_uint_eq(b.req.status, ACTIVE);
	ck_assert_uint_eq(b.cpus[1].status, COUNTS);
	close(fd);
}
END_TEST

/* All CPUs at once, each with a worker of its own. */
START_TEST(all_cpus)
{
	int n = nr_cpus(), to[MAX_CPUS][2], from[MAX_CPUS][2], fd, cpu;
	struct cpu_reading a, b;
	pid_t pid[MAX_CPUS];
	char byte = 0;

	ck_assert_int_le(n, MAX_CPUS);
	for (cpu = 0; cpu < n; cpu++)
		pid[cpu] = start_worker(cpu, to[cpu], from[cpu]);
	fd = count_cpus(n == 32 ? ~0U : (1U << n) - 1);
	read_cpus(fd, &a);
	ck_assert_uint_eq(a.req.nrcpus, (u32)n);
	/* CPU n executes n + 1 loops. */
	for (cpu = 0; cpu < n; cpu++) {
		for (int i = 0; i <= cpu; i++)
			ck_assert_int_eq(write(to[cpu][1], &byte, 1), 1);
	}
	for (cpu = 0; cpu < n; cpu++) {
		for (int i = 0; i <= cpu; i++)
			ck_assert_int_eq(read(from[cpu][0], &byte, 1), 1);
	}
	read_cpus(fd, &b);
	close(fd);
	for (cpu = 0; cpu < n; cpu++) {
		u64 counted = pmc_of(&b, cpu, 0) - pmc_of(&a, cpu, 0);

		close(to[cpu][1]);
		kill(pid[cpu], SIGKILL);
		wait_for(pid[cpu]);
		ck_assert_uint_eq(b.cpus[cpu].cpu, (u32)cpu);
		ck_assert_uint_ge(counted, 2 * LOOPS * (cpu + 1));
		/* CPU 0 may also have this thread. */
		if (COUNTS_APART)
			ck_assert_uint_lt(counted, 2 * LOOPS * (cpu + 1) + LITTLE);
	}
}
END_TEST

/* ---- descriptors, hotplug, interrupts ------------------------------------------------ */

static void check_released(void)
{
	assert_ok(try_count_thread());
	ck_assert(!perf_is_kept_out());
}

/* Counting ends with the last descriptor, also if its holder is killed. */
START_TEST(last_descriptor)
{
	int fd = count_cpus(3), go[2];
	struct cpu_reading r;
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe(go), 0);
	pid = fork();
	if (!pid) {
		if (try_read_cpus(fd, &r) || write(go[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	ck_assert_int_eq(read(go[0], &byte, 1), 1);
	close(fd);
	assert_errno(try_count_thread(), EBUSY);
	kill(pid, SIGKILL);
	ck_assert_int_eq(wait_for(pid), 128 + SIGKILL);
	check_released();
}
END_TEST

START_TEST(names_itself)
{
	int fd = count_cpus(3);
	char path[64], text[512], target[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	read_file(path, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "vperfctr-cpus:\t0,1\n"));
	ck_assert_ptr_nonnull(strstr(text, "vperfctr-status:\t0x2\n"));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ck_assert_int_gt(readlink(path, target, sizeof(target) - 1), 0);
	ck_assert_str_eq(target, "anon_inode:[vperfctr-cpus]");
	close(fd);
}
END_TEST

/* A CPU keeps its counts while it is offline, and continues.  Others are not concerned. */
START_TEST(offline_and_online)
{
	struct cpu_reading a, b, c;
	int fd;

	pin(1);
	fd = count_cpus(3);
	loop(LOOPS);
	pin(0);
	read_cpus(fd, &a);
	ck_assert_uint_ge(pmc_of(&a, 1, 0), 2 * LOOPS);
	write_file(CPU1_ONLINE, "0");
	read_cpus(fd, &b);
	ck_assert_uint_eq(b.cpus[0].status, COUNTS);
	ck_assert_uint_eq(b.cpus[1].status, OFFLINE);
	ck_assert_uint_ge(pmc_of(&b, 1, 0), pmc_of(&a, 1, 0));
	ck_assert_uint_lt(pmc_of(&b, 1, 0), pmc_of(&a, 1, 0) + LITTLE);
	/* Calls while it is offline. */
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	assert_ok(call(fd, VPERFCTR_RESUME, 0));
	read_cpus(fd, &c);
	ck_assert_uint_eq(pmc_of(&c, 1, 0), pmc_of(&b, 1, 0));
	ck_assert_uint_eq(tsc_sum_of(&c, 1), tsc_sum_of(&b, 1));
	write_file(CPU1_ONLINE, "1");
	read_cpus(fd, &c);
	ck_assert_uint_eq(c.cpus[1].status, COUNTS | OFFLINE);
	pin(1);
	loop(LOOPS);
	pin(0);
	read_cpus(fd, &c);
	ck_assert_uint_ge(pmc_of(&c, 1, 0), pmc_of(&b, 1, 0) + 2 * LOOPS);
	ck_assert_uint_lt(pmc_of(&c, 1, 0), pmc_of(&b, 1, 0) + 2 * LOOPS + LITTLE);

	/* A control for a CPU that is offline counts from its return on. */
	write_file(CPU1_ONLINE, "0");
	count_modes(fd);
	read_cpus(fd, &a);
	ck_assert_uint_eq(a.cpus[1].status, OFFLINE);
	ck_assert_uint_eq(pmc_of(&a, 1, 0), 0);
	write_file(CPU1_ONLINE, "1");
	pin(1);
	loop(LOOPS);
	pin(0);
	read_cpus(fd, &a);
	ck_assert_uint_ge(pmc_of(&a, 1, 0), 2 * LOOPS);

	/* The counting ends while it is offline, and perf has it afterwards. */
	write_file(CPU1_ONLINE, "0");
	close(fd);
	write_file(CPU1_ONLINE, "1");
	check_released();
	/* A paused one that returns does not count. */
	fd = count_cpus(2);
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	write_file(CPU1_ONLINE, "0");
	write_file(CPU1_ONLINE, "1");
	read_cpus(fd, &a);
	ck_assert_uint_eq(a.cpus[0].status, OFFLINE);
	assert_ok(call(fd, VPERFCTR_RESUME, 0));
	read_cpus(fd, &a);
	ck_assert_uint_eq(a.cpus[0].status, OFFLINE | COUNTS);
	close(fd);
}
END_TEST

#define ROUNDS	100

static void calls_of_cpu0(int unused)
{
	struct cpu_reading r;

	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		int fd = count_cpus(1);

		read_cpus(fd, &r);
		assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
		close(fd);
	}
}

/* Only the CPUs of the set are interrupted. */
START_TEST(others_are_left_alone)
{
	if (taking_interrupts_all() || !CALLS_ARE_SHOWN)
		return;
	ck_assert_uint_lt(interrupts_of_cpu1(calls_of_cpu0, 0, ROUNDS / 10), ROUNDS / 10);
}
END_TEST

/* ---- at the same time ------------------------------------------------------------------ */

static volatile bool stop;

/* Errors that another thread of the test may cause. */
static bool may_fail(int err)
{
	return !err || err == -EBUSY || err == -EINVAL;
}

static void *use_cpus(void *arg)
{
	u32 mask = (uintptr_t)arg;
	struct control control;
	struct cpu_reading r;
	unsigned int n;
	int fd;

	modes(&control);
	control.c.nractrs = 1;
	control_any_kind(&control);
	for (n = 0; !stop; n++) {
		fd = open_cpus(mask);
		if (!may_fail(set_control(fd, &control)))
			die("CONTROL failed");
		read_cpus(fd, &r);
		for (u32 i = 0; i < r.req.nrcpus; i++) {
			if (r.req.nrctrs && pmc_of(&r, i, 0) >> 40)
				die("CPU %u has counted %llu", r.cpus[i].cpu, pmc_of(&r, i, 0));
		}
		if (!may_fail(call(fd, VPERFCTR_SUSPEND, 0)) || !may_fail(call(fd, VPERFCTR_RESUME, 0)))
			die("SUSPEND failed");
		if ((n & 1) && stop_all(fd))
			die("the control that stops failed");
		close(fd);
	}
	return NULL;
}

/* One descriptor of two threads. */
static void *use_one(void *arg)
{
	int fd = (uintptr_t)arg;
	struct control control;
	struct cpu_reading r;

	modes(&control);
	control.c.nractrs = 1;
	control_any_kind(&control);
	while (!stop) {
		if (!may_fail(set_control(fd, &control)) || !may_fail(stop_all(fd)))
			die("CONTROL failed");
		read_cpus(fd, &r);
	}
	return NULL;
}

static void *use_state(void *unused)
{
	int fd = open_state(0);
	const struct vperfctr_page *page = map_state(fd);
	struct control control;

	(void)unused;
	(void)page;
	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	while (!stop) {
		if (!may_fail(set_control(fd, &control)))
			die("CONTROL of a state failed");
		loop(1000);
		stop_all(fd);
	}
	return NULL;
}

START_TEST(all_at_once)
{
	pthread_t ids[6];
	int fd = open_cpus(3), i;

	pthread_create(&ids[0], NULL, use_cpus, (void *)1);
	pthread_create(&ids[1], NULL, use_cpus, (void *)2);
	pthread_create(&ids[2], NULL, use_cpus, (void *)3);
	pthread_create(&ids[3], NULL, use_one, (void *)(uintptr_t)fd);
	pthread_create(&ids[4], NULL, use_one, (void *)(uintptr_t)fd);
	pthread_create(&ids[5], NULL, use_state, NULL);
	for (i = 0; i < 10; i++) {
		write_file(CPU1_ONLINE, "0");
		msleep(20);
		write_file(CPU1_ONLINE, "1");
		msleep(20);
	}
	stop = true;
	for (i = 0; i < 6; i++)
		pthread_join(ids[i], NULL);
	close(fd);
	check_released();
}
END_TEST

/* Restore the CPU in any case. */
static void online(void)
{
	write_file(CPU1_ONLINE, "1");
}

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, NULL, online);
	tcase_add_test(tc, errors_of_open);
	tcase_add_test(tc, errors_of_control);
	tcase_add_test(tc, errors_of_read);
	tcase_add_test(tc, ordinary_user);
	tcase_add_test(tc, threads_or_cpus);
	tcase_add_test(tc, perf_has_them);
	tcase_add_test(tc, no_reads_in_user_mode);
	tcase_add_test(tc, all_may_read);
	tcase_add_loop_test(tc, as_threads_and_perf, 0, 2);
	tcase_add_test(tc, exact);
	tcase_add_test(tc, mapped_pages);
	tcase_add_test(tc, suspend_and_resume);
	tcase_add_test(tc, all_cpus);
	tcase_add_test(tc, last_descriptor);
	tcase_add_test(tc, names_itself);
	tcase_add_test(tc, offline_and_online);
	tcase_add_test(tc, others_are_left_alone);
	tcase_add_test(tc, all_at_once);
}

int main(void)
{
	open_device();
	if (!has(VPERFCTR_FEATURE_CPUS))
		die("CPUs cannot be counted");
	return run_tests("cpus", add);
}
