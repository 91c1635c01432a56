// SPDX-License-Identifier: GPL-2.0
/*
 * perf keeps some counters (the parameter perf_counters of the module), and both count at the
 * same time.  Counts are exact, with one CPU and icount.
 */
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "suite.h"

#define PARAMETER	"/sys/module/vperfctr/parameters/perf_counters"

/*
 * On arm64 the parameter counts the cycle counter, too, perf keeps the first event counters, and
 * user mode can read all counters or none.  On RISC-V the firmware chooses perf's counters.
 */
#ifdef __aarch64__
#define OTHERS_KEPT	1
#define FIRST_KEPT	true
#define READS_ALL	true
#else
#define OTHERS_KEPT	0
#define FIRST_KEPT	false
#define READS_ALL	false
#endif

#define NR_GENERAL	16		/* of the emulator, on RISC-V */

/* The number of event counters that perf keeps. */
static unsigned int nr_kept;

/* Return the number of one of these, which there must be. */
static unsigned int one_kept(void)
{
	unsigned int i;

	for (i = 0; (info.pmc_mask >> i) & 1; i++)
		;
	return i;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

struct perf_count { u64 value, enabled, running; };

/* Open an event of perf's of user mode: of a thread (0: the caller), or of a CPU. */
static int try_perf(u64 config, pid_t pid, int cpu, u64 period, bool pinned)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.pinned = pinned,
		.sample_period = period,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	return syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_perf(u64 config, pid_t pid, int cpu, u64 period)
{
	int fd = try_perf(config, pid, cpu, period, false);

	if (fd < 0)
		die("perf_event_open: %s", strerror(errno));
	return fd;
}

static struct perf_count read_perf(int fd)
{
	struct perf_count count;

	if (read(fd, &count, sizeof(count)) != sizeof(count))
		die("read of an event: %s", strerror(errno));
	return count;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Return what an event counts in a loop of 2n instructions, and around it. */
static __attribute__((noinline)) u64 perf_counts(int fd, unsigned long n)
{
	u64 before = read_perf(fd).value;

	loop(n);
	return read_perf(fd).value - before;
}

/* An event of a CPU counts other processes, too, which may run for a moment. */
static bool others_count;

/* An event of instructions counts each one of a loop. */
static void check_perf(int fd)
{
	struct perf_count count;
	int tries = others_count ? 20 : 1;
	u64 counted;

	do
		counted = -perf_counts(fd, 1) + perf_counts(fd, 1001);
	while (counted != 2000 && --tries);
	ck_assert_uint_eq(counted, 2000);
	count = read_perf(fd);
	ck_assert_uint_eq(count.enabled, count.running);
}

/* Instructions on two counters. */
static int try_start(int fd)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, nth_general(0), INSNS_USER);
	control_add(&control, nth_general(1), INSNS_USER);
	return set_control(fd, &control);
}

static int start(const struct vperfctr_page **page)
{
	int fd = open_state(0);

	*page = map_state(fd);
	assert_ok(try_start(fd));
	return fd;
}

/* The same for a counter of ours.  A read that a switch has restarted takes more instructions. */
static __attribute__((noinline)) u64 we_count(const struct vperfctr_page *page, unsigned int i,
					      unsigned long n)
{
	unsigned int first, second;
	u64 before, after;

	do {
		before = self_read_restarts(page, i, &first);
		loop(n);
		after = self_read_restarts(page, i, &second);
	} while (first || second);
	return after - before;
}

static void check_ours(const struct vperfctr_page *page)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		ck_assert_uint_eq(-we_count(page, i, 1) + we_count(page, i, 1001), 2000);
}

static void check_both(const struct vperfctr_page *page, int perf)
{
	check_ours(page);
	check_perf(perf);
	check_ours(page);
}

/* perf takes the fixed counters, and event counters from 0 on. */
START_TEST(info_lacks_perfs)
{
	struct control control;
	int fd = open_state(0);

	ck_assert_uint_eq(info.fixed_mask, 0);
	if (FIRST_KEPT)
		ck_assert_uint_eq(nth_general(0), nr_kept);
	else
		ck_assert_uint_eq(info.nrctrs, NR_GENERAL - nr_kept);
	ck_assert_uint_eq(info.nrctrs, __builtin_popcountll(info.pmc_mask));
	control_init(&control, 1);
	control_add(&control, FIXED(0), FIXED_USER);
	assert_errno(set_control(fd, &control), EINVAL);
	control_init(&control, 1);
	control_add(&control, one_kept(), INSNS_USER);
	assert_errno(set_control(fd, &control), EINVAL);
}
END_TEST

/* As `perf stat -e cycles,instructions`, of the CPU or of a thread, before us or after us. */
START_TEST(both_count)
{
	const bool of_cpu = _i & 1, perf_is_first = _i & 2, perf_is_last = _i & 4;
	const struct vperfctr_page *page;
	int fd = -1, cycles, instructions, i;

	others_count = of_cpu;
	if (!perf_is_first) {
		fd = start(&page);
		check_ours(page);
	}
	cycles = open_perf(PERF_COUNT_HW_CPU_CYCLES, of_cpu ? -1 : 0, of_cpu ? 0 : -1, 0);
	instructions = open_perf(PERF_COUNT_HW_INSTRUCTIONS, of_cpu ? -1 : 0, of_cpu ? 0 : -1, 0);
	check_perf(instructions);
	if (perf_is_first)
		fd = start(&page);
	for (i = 0; i < 20; i++) {
		check_both(page, instructions);
		if (i % 4 == 1)
			usleep(1000);
	}
	ck_assert_uint_gt(perf_counts(cycles, 1000), 2000);
	if (perf_is_last) {
		assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
		check_perf(instructions);
		usleep(20000);
		check_perf(instructions);
		close(instructions);
		close(cycles);
	} else {
		close(instructions);
		check_ours(page);
		close(cycles);
		usleep(10000);
		check_ours(page);
		assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	}
	others_count = false;
	instructions = open_perf(PERF_COUNT_HW_INSTRUCTIONS, 0, -1, 0);
	check_perf(instructions);
}
END_TEST

/* An event that finds no counter waits, in turns with others.  It gets one after us. */
START_TEST(more_events)
{
	const struct vperfctr_page *page;
	struct perf_count count;
	int fd = start(&page), perf[5], i;
	double end;

	for (i = 0; i < 5; i++)
		perf[i] = open_perf(PERF_COUNT_HW_INSTRUCTIONS, -1, 0, 0);
	end = now() + 0.1;
	while (now() < end)
		check_ours(page);
	for (i = 0; i < 5; i++) {
		count = read_perf(perf[i]);
		ck_assert_uint_lt(count.running, count.enabled);
	}
	check_ours(page);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	for (i = 0; i < 50 && !perf_counts(perf[4], 1); i++)
		usleep(10000);
	for (i = 0; i < 5; i++)
		ck_assert_uint_ge(perf_counts(perf[i], 1000), 2000);
}
END_TEST

/* Counters are taken only if perf has none of them. */
START_TEST(perf_has_ours)
{
	const struct vperfctr_page *page;
	int fd = open_state(0), perf[4], i;

	others_count = true;
	for (i = 0; i < 4; i++)
		perf[i] = open_perf(PERF_COUNT_HW_INSTRUCTIONS, -1, 0, 0);
	assert_errno(try_start(fd), EBUSY);
	for (i = 0; i < 4; i++)
		check_perf(perf[i]);
	/* The first one has the first counter.  The others move when perf schedules them again. */
	for (i = 1; i < 4; i++)
		close(perf[i]);
	assert_ok(try_start(fd));
	page = map_state(fd);
	check_both(page, perf[0]);
}
END_TEST

/* Instructions on two counters, of which the second overflows. */
static void start_overflows(int fd)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, nth_general(0), INSNS_USER);
	control_add(&control, nth_general(1), INSNS_USER);
	control.c.nractrs = 1;
	control.c.nrictrs = 1;
	control.ctr[1].ireset = -5000;
	assert_ok(set_control(fd, &control));
}

/* Overflows of both. */
START_TEST(both_overflow)
{
	int perf, fd = open_state(0), i;
	struct sums sums;
	u64 empty, full;

	signal(SIGIO, SIG_IGN);
	start_overflows(fd);
	perf = open_perf(_i ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_HW_INSTRUCTIONS, 0, -1, 3001);
	for (i = 0; i < 100; i++) {
		loop(10000);
		read_sums(fd, &sums);
		ck_assert_uint_eq(sums.status, ATTACHED | ACTIVE | VPERFCTR_STATUS_OVERFLOW);
		ck_assert_uint_eq(sums.pmc[0], sums.pmc[1]);
		assert_ok(call(fd, VPERFCTR_IRESUME, NULL));
	}
	ck_assert_uint_ge(sums.pmc[0], 100 * 5000);
	/* Neither signals nor handlers are in these counts. */
	if (!_i) {
		empty = perf_counts(perf, 1);
		full = perf_counts(perf, 100001);
		ck_assert_uint_eq(full - empty, 200000);
	}
	read_sums(fd, &sums);
	ck_assert_uint_eq(sums.pmc[0], sums.pmc[1]);
}
END_TEST

/* Open an event of instructions of CPU 0, in all modes, whose samples are headers only. */
static int open_sampled(u64 period, const struct perf_event_mmap_page **ring)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.sample_period = period,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		die("perf_event_open: %s", strerror(errno));
	*ring = mmap(NULL, 2 * getpagesize(), PROT_READ, MAP_SHARED, fd, 0);
	if (*ring == MAP_FAILED)
		die("mmap of an event: %s", strerror(errno));
	return fd;
}

/*
 * perf's event overflows in kernel mode, too: while interrupts are disabled, as counters of ours
 * stop and start.  Its interrupt must not be lost, or it would not overflow again.
 */
START_TEST(overflows_in_the_kernel)
{
	enum { PERIOD = 5003, SWITCHES = 1500 };
	const struct perf_event_mmap_page *ring;
	int perf, fd = open_state(0), i;
	struct control control;
	u64 count, samples;
	pid_t pid;

	write_file("/proc/sys/kernel/perf_cpu_time_max_percent", "0");
	control_init(&control, 1);
	control_add(&control, nth_general(0), INSNS_USER);
	control.c.nractrs = 0;
	control.c.nrictrs = 1;
	control.ctr[0].ireset = -20000;
	signal(SIGIO, SIG_IGN);
	assert_ok(set_control(fd, &control));
	perf = open_sampled(PERIOD, &ring);
	pid = fork();
	if (!pid) {
		for (;;)
			sched_yield();
	}
	for (i = 0; i < SWITCHES; i++) {
		loop(100);
		call(fd, VPERFCTR_IRESUME, NULL);
		sched_yield();
	}
	/* Without a reader, the ring has them all, or is written around. */
	samples = ring->data_head / sizeof(struct perf_event_header);
	if (read(perf, &count, sizeof(count)) != sizeof(count))
		die("read of an event: %s", strerror(errno));
	end(pid);
	ck_assert_uint_gt(count, 100 * PERIOD);
	ck_assert_msg(samples >= count / PERIOD / 2, "%llu instructions, %llu samples",
		      (unsigned long long)count, (unsigned long long)samples);
}
END_TEST

/* With isolation, user mode cannot read counters where it could read perf's, too. */
START_TEST(no_reads_with_isolation)
{
	bool reads;
	char isolate[16];
	const struct vperfctr_page *page;
	u64 value;

	read_file("/sys/module/vperfctr/parameters/isolate", isolate, sizeof(isolate));
	reads = !READS_ALL || isolate[0] == 'N';
	ck_assert_int_eq(has(VPERFCTR_FEATURE_RDPMC), reads);
	start(&page);
	check_ours(page);
	ck_assert_int_eq(try_rdpmc(nth_general(0), &value), reads ? 0 : RDPMC_SIGNAL);
	if (!READS_ALL)
		ck_assert_int_eq(try_rdpmc(one_kept(), &value), RDPMC_SIGNAL);
}
END_TEST

/* ---- random events ----------------------------------------------------------------------- */

/* Open and close events of all sorts until the parent ends this. */
static void run_perf(unsigned int seed)
{
	static const u64 configs[] = {
		PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	};
	int perf[6], i;

	for (i = 0; i < 6; i++)
		perf[i] = -1;
	srand(seed);
	for (;;) {
		bool of_cpu = rand() % 2;

		i = rand() % 6;
		if (perf[i] >= 0) {
			read_perf(perf[i]);
			close(perf[i]);
			perf[i] = -1;
		} else {
			perf[i] = try_perf(configs[rand() % 3], of_cpu ? -1 : getppid(),
					   of_cpu ? rand() % nr_cpus() : -1,
					   rand() % 3 ? 0 : 2000 + rand() % 10000, false);
		}
		usleep(rand() % 3000);
	}
}

static pid_t fork_perf(unsigned int seed)
{
	pid_t pid = fork();

	if (!pid)
		run_perf(seed);
	ck_assert_int_gt(pid, 0);
	return pid;
}

/* perf opens and closes events at random, while a state and one event of perf's count. */
START_TEST(random_events)
{
	const struct vperfctr_page *page;
	int fd = start(&page);
	pid_t pid = fork_perf(_i);
	double until = now() + 1;
	unsigned int n;

	for (n = 0; now() < until; n++) {
		check_ours(page);
		if (n % 100 == 99)
			usleep(100);
		if (n % 1000 == 999) {
			/* Another event may have one of ours before we are back. */
			assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
			close(fd);
			usleep(500);
			fd = open_state(0);
			page = map_state(fd);
			while (try_start(fd) == -EBUSY)
				usleep(100);
		}
	}
	ck_assert_uint_gt(n, 100);
	end(pid);
	check_ours(page);
}
END_TEST

/* The same with overflows of both.  The two counters of ours agree, whatever happens. */
START_TEST(random_overflows)
{
	int fd = open_state(0), i;
	struct sums sums;
	pid_t pid = -1;

	start_overflows(fd);
	pid = fork_perf(_i);
	for (i = 0; i < 1000; i++) {
		loop(5000);
		read_sums(fd, &sums);
		ck_assert_uint_eq(sums.pmc[0], sums.pmc[1]);
		if (i % 50 == 0)
			usleep(1000);
		if (sums.status & VPERFCTR_STATUS_OVERFLOW)
			assert_ok(call(fd, VPERFCTR_IRESUME, NULL));
	}
	ck_assert_uint_ge(sums.pmc[0], 1000 * 5000);
	end(pid);
}
END_TEST

static void add(TCase *tc)
{
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, info_lacks_perfs);
	tcase_add_loop_test(tc, both_count, 0, 8);
	tcase_add_test(tc, more_events);
	tcase_add_test(tc, perf_has_ours);
	tcase_add_loop_test(tc, both_overflow, 0, 2);
	tcase_add_test(tc, overflows_in_the_kernel);
	tcase_add_test(tc, no_reads_with_isolation);
	tcase_add_loop_test(tc, random_events, 0, 3);
	tcase_add_loop_test(tc, random_overflows, 0, 3);
}

int main(void)
{
	char text[32];

	open_device();
	read_file(PARAMETER, text, sizeof(text));
	nr_kept = atoi(text) - OTHERS_KEPT;
	return run_tests("shared", add);
}
