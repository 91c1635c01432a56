// SPDX-License-Identifier: GPL-2.0
/*
 * The NMI watchdog keeps its counter, as it was on when the module was loaded, or as the parameter
 * keep_watchdog is set: states count beside it, whatever happens to it meanwhile, and it runs
 * whenever it may.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "power.h"
#include "suite.h"
#include "watchdog.h"

#ifdef __aarch64__
#define OVERFLOWS_LATE	true
/* The watchdog for CPUs that do not schedule would complain after 2 s. */
#define LOCK_UP_MS	"1500"
#else
#define OVERFLOWS_LATE	false
#define LOCK_UP_MS	"3000"
#endif

/*
 * The time between two of them.  On x86 the emulated CPU has two cycles in each of the TSC's; on
 * arm64 it has twice the frequency that the kernel knows.
 */
#define INTERVAL	0.5

/* AMD has general counters only, one of which the watchdog keeps. */
static bool is_amd(void)
{
	return info.cpu_type == VPERFCTR_CPU_AMD;
}

/* Another counter of instructions: Intel's fixed one, or a general one. */
static bool second_is_fixed(void)
{
	return info.fixed_mask & 1;
}

static u32 second(void)
{
	return second_is_fixed() ? FIXED(0) : nth_general(1);
}

static u64 second_user(void)
{
	return second_is_fixed() ? FIXED_USER : INSNS_USER;
}

/* The CPU of this test, which does not move: the only one, or that of the KIND. */
static int here;

/* Return the number of NMIs of this CPU since the boot. */
static unsigned long nmis(void)
{
	return nmis_of(here);
}

/* The module knows what the watchdog has, whatever its sysctl is. */
static void check_fact(const char *fact)
{
	char text[4096];

	read_file("/proc/vperfctr", text, sizeof(text));
	ck_assert_msg(!strncmp(text, fact, strlen(fact)), "%s, not %s", text, fact);
}

/* A worker lets the watchdog begin, when this thread is switched out. */
static void wait_for_fact(const char *fact, double seconds)
{
	double end = now() + seconds;
	char text[4096];

	do {
		usleep(10000);
		read_file("/proc/vperfctr", text, sizeof(text));
	} while (strncmp(text, fact, strlen(fact)) && now() < end);
	check_fact(fact);
}

/* Run for some periods.  Return the number of NMIs meanwhile. */
static unsigned long nmis_in(double periods)
{
	unsigned long before = nmis();
	double end = now() + periods * PERIOD;

	while (now() < end)
		loop(100000);
	return nmis() - before;
}

static void run(void)
{
	loop(100000);
}

/*
 * Run until three NMIs have come, but not for ever.  Return the mean time between them.  It is
 * virtual, as the instructions of the machine are its clock.
 */
static double nmi_interval_of(void (*busy)(void))
{
	double first = 0, end = now() + 6 * PERIOD;
	unsigned long last = nmis(), n, nr = 0;

	while (now() < end && nr < 3) {
		busy();
		n = nmis();
		nr += n - last;
		if (!first && n != last)
			first = now();
		last = n;
	}
	ck_assert_uint_ge(nr, 3);
	return (now() - first) / (nr - 1);
}

static double nmi_interval(void)
{
	return nmi_interval_of(run);
}

/* Run until a counter overflows.  The emulator of arm64 reports that up to a tick late. */
static void run_to_overflow(int fd)
{
	int tries = OVERFLOWS_LATE ? 1000 : 1;

	do
		loop(10000);
	while (!(status_of(fd) & VPERFCTR_STATUS_OVERFLOW) && --tries);
	assert_status(fd, ATTACHED | ACTIVE | VPERFCTR_STATUS_OVERFLOW);
}

static u64 sum(int fd, unsigned int i)
{
	struct sums sums;

	read_sums(fd, &sums);
	return sums.pmc[i];
}

/* Instructions on two counters: if there is fixed counter 0, its control is shared. */
static void start(int fd)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, nth_general(0), INSNS_USER);
	control_add(&control, second(), second_user());
	assert_ok(set_control(fd, &control));
}

static long nr_switches(void)
{
	struct rusage usage;

	ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* Return what a counter counts in a loop of 2n instructions, and around it. */
static __attribute__((noinline)) u64 count_loop(const struct vperfctr_page *page, unsigned int i,
						unsigned long n)
{
	u64 before = self_read(page, i);

	loop(n);
	return self_read(page, i) - before;
}

/*
 * Both counters count each instruction of a loop.  If a switch restarts a read, that takes more
 * instructions.
 */
static void check_counts(const struct vperfctr_page *page)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		long before;
		u64 counted;

		do {
			before = nr_switches();
			counted = count_loop(page, i, 1001) - count_loop(page, i, 1);
		} while (counted != 2000 && nr_switches() != before);
		ck_assert_uint_eq(counted, 2000);
	}
}

static int open_event(u64 config, int cpu, bool pinned)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
		.pinned = pinned,
	};
	int fd = syscall(SYS_perf_event_open, &attr, cpu < 0 ? 0 : -1, cpu, -1, 0);

	if (fd < 0)
		ck_abort_msg("perf_event_open: %s", strerror(errno));
	return fd;
}

static int open_perf(int cpu, bool pinned)
{
	return open_event(PERF_COUNT_HW_CPU_CYCLES, cpu, pinned);
}

/* Return what an event of perf's counts meanwhile. */
static u64 perf_counts(int fd)
{
	u64 before = 0, after = 0;

	ck_assert_int_eq(read(fd, &before, sizeof(before)), sizeof(before));
	loop(100000);
	ck_assert_int_eq(read(fd, &after, sizeof(after)), sizeof(after));
	return after - before;
}

/* The counters are perf's again: its events count, and the watchdog runs. */
static void check_perf(void)
{
	/* An event of a thread counts on one kind of CPU. */
	int fd = open_perf(getenv("KIND") ? here : -1, false);

	ck_assert_uint_ge(perf_counts(fd), 100000);
	close(fd);
	ck_assert_uint_ge(nmis_in(1.2), 1);
}

START_TEST(info_lacks_its_counter)
{
	u32 kept = WATCHDOG_FIXED;
	struct control control;
	int fd = open_state(0);

	if (is_amd()) {
		kept = __builtin_ctzll(info.watchdog_pmc | 1ULL << 63);
		ck_assert_uint_eq(info.watchdog_pmc, 1ULL << kept);
		ck_assert_uint_eq(info.watchdog_fixed, 0);
	} else {
		ck_assert_uint_eq(info.watchdog_pmc, 0);
		ck_assert_uint_eq(info.watchdog_fixed, 1 << (kept & ~VPERFCTR_FIXED));
		ck_assert_uint_eq(info.fixed_mask & 3, have_fixed_insns());
	}
	ck_assert_uint_eq(info.nrctrs, __builtin_popcountll(info.pmc_mask) +
				       __builtin_popcountll(info.fixed_mask));
	control_init(&control, 1);
	control_add(&control, kept, is_amd() ? INSNS_USER : FIXED_USER);
	assert_errno(set_control(fd, &control), EINVAL);
}
END_TEST

static void start_sampling(int fd, u32 period)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, second(), second_user());
	control.c.nractrs = 0;
	control.c.nrictrs = 1;
	control.ctr[0].ireset = -(u64)period;
	assert_ok(set_control(fd, &control));
}

/*
 * A token goes around between this process, one that counts and one that samples: the CPU is never
 * idle, and each pass is a switch.  No overflow comes, so that all NMIs are the watchdog's.  Those
 * beside overflows are the subject of watchdog_runs_while_sampling.
 */
static int ring[3][2];

#define NO_OVERFLOW	0x40000000

static void pass_token(unsigned int place)
{
	char c = 0;

	ck_assert_int_eq(write(ring[place][1], &c, 1), 1);
	ck_assert_int_eq(read(ring[(place + 2) % 3][0], &c, 1), 1);
}

static pid_t fork_switching(unsigned int place, bool samples)
{
	const struct vperfctr_page *page;
	pid_t pid = fork();
	char c;
	int fd;

	ck_assert_int_ge(pid, 0);
	if (pid)
		return pid;
	fd = open_state(0);
	page = map_state(fd);
	if (samples)
		start_sampling(fd, NO_OVERFLOW);
	else
		start(fd);
	ck_assert_int_eq(read(ring[place - 1][0], &c, 1), 1);
	for (;;) {
		if (samples)
			loop(1000);
		else
			check_counts(page);
		pass_token(place);
	}
}

/* It has no failure of its own. */
static void end_switching(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, SIGKILL);
}

static void run_switching(void)
{
	loop(1000);
	pass_token(0);
}

/*
 * Its interrupts keep coming at their rate while states count and sample and their threads are
 * switched all the time, and disturb no count.
 */
START_TEST(watchdog_runs_while_counting)
{
	int fd = open_state(0);
	const struct vperfctr_page *page = map_state(fd);
	pid_t counts, samples;
	u64 general, fixed;
	unsigned int i;
	double interval;
	long before;

	start(fd);
	check_counts(page);
	for (i = 0; i < 3; i++)
		ck_assert_int_eq(pipe(ring[i]), 0);
	counts = fork_switching(1, false);
	samples = fork_switching(2, true);
	before = nr_switches();
	interval = nmi_interval_of(run_switching);
	ck_assert_int_ge(nr_switches() - before, 1000);
	ck_assert_double_ge(interval, 0.8 * INTERVAL);
	ck_assert_double_le(interval, 1.2 * INTERVAL);
	check_counts(page);
	end_switching(counts);
	end_switching(samples);
	check_fact("watchdog: kept\nperf: none\n");
	general = sum(fd, 0);
	fixed = sum(fd, 1);
	/* Read one after the other. */
	ck_assert_uint_gt(fixed, general);
	ck_assert_uint_lt(fixed - general, 2000);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	check_perf();
}
END_TEST

/* Both go on after the steps of a sleep, but for the last one, which would lose the registers. */
START_TEST(goes_on_after_sleep)
{
	int fd = open_state(0);
	const struct vperfctr_page *page = map_state(fd);
	double interval;

	/* All CPUs but the first one go offline, and so lose this thread. */
	if (!can_sleep() || here)
		return;
	start(fd);
	sleep_and_wake();
	check_counts(page);
	interval = nmi_interval();
	ck_assert_double_ge(interval, 0.8 * INTERVAL);
	ck_assert_double_le(interval, 1.2 * INTERVAL);
	check_counts(page);
	check_fact("watchdog: kept\nperf: none\n");
}
END_TEST

/* It finds a CPU that locks up while a state counts there, and no count suffers. */
START_TEST(lock_up_is_found)
{
	int fd = open_state(0);
	const struct vperfctr_page *page = map_state(fd);
	char text[50];

	start(fd);
	check_counts(page);
	snprintf(text, sizeof(text), "hard LOCKUP on cpu %d", here);
	ck_assert(!has_logged(text));
	/* The kernel's complaint is expected after this: see tests/vm/checklog. */
	snprintf(text, sizeof(text), "vm: CPU %d locks up now", here);
	write_file("/dev/kmsg", text);
	load_module("lock-up", "ms=" LOCK_UP_MS);
	snprintf(text, sizeof(text), "hard LOCKUP on cpu %d", here);
	assert_ok(syscall(SYS_delete_module, "lock_up", O_NONBLOCK));
	check_counts(page);
	ck_assert(has_logged(text));
	check_fact("watchdog: kept\nperf: none\n");
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	check_perf();
}
END_TEST

/* It also runs while a state's counter overflows, and its NMIs are told apart. */
START_TEST(watchdog_runs_while_sampling)
{
	int fd = open_state(0), i;
	unsigned long before;
	double end;
	u64 overflows = 0;

	start_sampling(fd, 5000);
	before = nmis();
	end = now() + 2.2 * PERIOD;
	for (i = 0; now() < end; i++) {
		run_to_overflow(fd);
		assert_ok(call(fd, VPERFCTR_IRESUME, NULL));
		overflows++;
	}
	/* Two are the watchdog's.  One that is late may come together with another. */
	ck_assert_uint_ge(nmis() - before, overflows + 1);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	check_perf();
}
END_TEST

/* Stopped and started while a state counts, it runs soon, at its rate. */
START_TEST(switched_while_counting)
{
	/* By an earlier program. */
	const bool refused = has_logged("perf is refused counters");
	int fd = open_state(0), i;
	const struct vperfctr_page *page = map_state(fd);
	double interval;
	u64 general, fixed;

	for (i = 0; i < 2; i++) {
		start(fd);
		check_counts(page);
		write_file(WATCHDOG, "0");
		check_counts(page);
		check_fact("watchdog: none\nperf: none\n");
		ck_assert_uint_eq(nmis_in(1.2), 0);
		write_file(WATCHDOG, "1");
		check_counts(page);
		wait_for_fact("watchdog: kept\nperf: none\n", 1);
		/* It was not refused for good, which the log would say. */
		ck_assert(has_logged("perf is refused counters") == refused);
		check_counts(page);
		interval = nmi_interval();
		ck_assert_double_ge(interval, 0.8 * INTERVAL);
		ck_assert_double_le(interval, 1.2 * INTERVAL);
		check_counts(page);
		general = sum(fd, 0);
		fixed = sum(fd, 1);
		/* Read one after the other. */
		ck_assert_uint_gt(fixed, general);
		ck_assert_uint_lt(fixed - general, 2000);
		assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
		check_perf();
		close(fd);
		fd = open_state(0);
		page = map_state(fd);
	}
}
END_TEST

START_TEST(switched_before_counting)
{
	int fd = open_state(0);
	const struct vperfctr_page *page = map_state(fd);

	write_file(WATCHDOG, "0");
	start(fd);
	check_counts(page);
	ck_assert_uint_eq(nmis_in(1.2), 0);
	assert_ok(stop_all(fd));
	write_file(WATCHDOG, "1");
	start(fd);
	check_counts(page);
	ck_assert_uint_ge(nmis_in(1.2), 1);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	check_perf();
}
END_TEST

/* perf takes the watchdog off for an event that is pinned to the CPU.  Both come back. */
START_TEST(pinned_event)
{
	int fd = open_state(0), perf, i;
	const struct vperfctr_page *page = map_state(fd);

	start(fd);
	perf = open_perf(here, true);
	check_counts(page);
	ck_assert_uint_eq(perf_counts(perf), 0);
	check_counts(page);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	/* Soon after the release, a worker starts them again. */
	for (i = 0; i < 50 && !perf_counts(perf); i++)
		usleep(100000);
	ck_assert_uint_ge(perf_counts(perf), 100000);
	close(perf);
	check_perf();
}
END_TEST

/* It begins while a state counts, when perf's other event that is pinned to the CPU has gone. */
START_TEST(pinned_event_ends)
{
	int fd = open_state(0), perf;
	const struct vperfctr_page *page = map_state(fd);
	unsigned long before;
	double end;

	start(fd);
	perf = open_perf(here, true);
	check_counts(page);
	ck_assert_uint_eq(nmis_in(1.2), 0);
	check_fact("watchdog: waits\nperf: none\n");
	ck_assert(has_logged("the NMI watchdog of CPU"));
	ck_assert_uint_eq(perf_counts(perf), 0);
	close(perf);
	check_counts(page);
	/* A worker looks each second. */
	end = now() + 5;
	before = nmis();
	while (nmis() == before && now() < end)
		loop(100000);
	check_counts(page);
	ck_assert_uint_ge(nmis_in(1.2), 1);
	check_fact("watchdog: kept\nperf: none\n");
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	check_perf();
}
END_TEST

/* An event of the CPU that perf has started before is not disturbed. */
START_TEST(other_event)
{
	int fd = open_state(0), perf = open_perf(here, false);
	struct control control;

	control_init(&control, 1);
	control_add(&control, nth_general(0), INSNS_USER);
	assert_errno(set_control(fd, &control), EBUSY);
	ck_assert_uint_ge(perf_counts(perf), 100000);
	check_fact("watchdog: kept\nperf: holds\n");
	close(perf);
	start(fd);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	check_perf();
}
END_TEST

/*
 * The watchdog is found behind another event that is pinned to the CPU, as perf starts them in the
 * order in which they were opened.  On AMD the other one has the counter that would be kept.
 */
START_TEST(behind_pinned_event)
{
	int perf;

	write_file(WATCHDOG, "0");
	perf = open_event(PERF_COUNT_HW_INSTRUCTIONS, here, true);
	check_fact("watchdog: none\nperf: holds\n");
	write_file(WATCHDOG, "1");
	check_fact(is_amd() ? "watchdog: holds\nperf: holds\n" : "watchdog: kept\nperf: holds\n");
	ck_assert_uint_ge(nmis_in(1.2), 1);
	close(perf);
	write_file(WATCHDOG, "0");
	write_file(WATCHDOG, "1");
	check_fact("watchdog: kept\nperf: none\n");
}
END_TEST

/* States that come and go in a loop do not keep the watchdog off. */
START_TEST(short_states)
{
	int fd = open_state(0);
	unsigned long before;
	double end;

	start(fd);
	write_file(WATCHDOG, "0");
	write_file(WATCHDOG, "1");
	ck_assert_uint_ge(nmis_in(1.2), 1);
	write_file(WATCHDOG, "0");
	write_file(WATCHDOG, "1");
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	before = nmis();
	end = now() + 2.2 * PERIOD;
	while (now() < end) {
		close(fd);
		fd = open_state(0);
		start(fd);
		loop(100000);
		assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	}
	ck_assert_uint_ge(nmis() - before, 1);
	check_perf();
}
END_TEST

/* Switch the watchdog off and on for ever, after times that differ. */
static void toggle(void)
{
	unsigned int i, random = 1;

	for (i = 0;; i++) {
		write_file(WATCHDOG, i % 2 ? "1" : "0");
		random = random * 1103515245 + 12345;
		usleep(random >> 16 & 0x3fff);
	}
}

/* It is switched off and on while states start, count, stop and end.  None is refused or wrong. */
START_TEST(toggled_at_random)
{
	const double end = now() + 1;
	unsigned int n = 0;
	int status;
	pid_t pid = fork();

	if (!pid)
		toggle();
	ck_assert_int_gt(pid, 0);
	/* On a busy machine, fewer fit into the time. */
	while (now() < end || n < 50) {
		int fd = open_state(0);
		const struct vperfctr_page *page = map_state(fd);

		start(fd);
		check_counts(page);
		loop(1 + 10000 * (n % 8));
		check_counts(page);
		if (n % 2)
			assert_ok(stop_all(fd));
		usleep(n % 3 * 1000);
		assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
		munmap((void *)page, PAGE);
		close(fd);
		n++;
	}
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	write_file(WATCHDOG, "1");
	check_fact("watchdog: kept\nperf: none\n");
	check_perf();
}
END_TEST

/* The same while one state counts, or samples, for all the time. */
START_TEST(toggled_while_counting)
{
	const struct vperfctr_page *page;
	unsigned int overflows = 0;
	int fd = open_state(0), status;
	double end;
	pid_t pid;

	start(fd);
	if (_i)
		start_sampling(fd, 5000);
	page = map_state(fd);
	pid = fork();
	if (!pid)
		toggle();
	ck_assert_int_gt(pid, 0);
	end = now() + 2;
	while (now() < end || overflows < 50) {
		if (_i) {
			run_to_overflow(fd);
			assert_ok(call(fd, VPERFCTR_IRESUME, NULL));
		} else {
			check_counts(page);
		}
		usleep(overflows++ % 3 * 1000);
	}
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	write_file(WATCHDOG, "1");
	wait_for_fact("watchdog: kept\nperf: none\n", 1);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	check_perf();
}
END_TEST

#ifndef __aarch64__
/* A process may RDPMC by an event of perf's, which waits.  Case 1: it has mapped it before. */
START_TEST(mapped_event)
{
	int fd = open_state(0), ready[2], go[2], perf, status;
	pid_t pid;
	char c;

	ck_assert_int_eq(pipe(ready) | pipe(go), 0);
	if (!_i)
		start(fd);
	pid = fork();
	if (!pid) {
		u64 left;

		perf = open_perf(-1, false);
		if (mmap(NULL, PAGE, PROT_READ, MAP_SHARED, perf, 0) == MAP_FAILED ||
		    write(ready[1], "", 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(2);
		/* The event waits, and may be taken off only when the thread is switched out. */
		left = rdpmc(nth_general(0));
		if (left)
			fprintf(stderr, "a counter has %llu left\n", (unsigned long long)left);
		_exit(!!left);
	}
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	if (_i)
		start(fd);
	loop(100000);
	ck_assert_int_eq(write(go[1], "", 1), 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST
#endif

static void add(TCase *tc)
{
	tcase_add_unchecked_fixture(tc, NULL, set_watchdog);
	tcase_add_test(tc, info_lacks_its_counter);
	tcase_add_test(tc, watchdog_runs_while_counting);
	tcase_add_test(tc, goes_on_after_sleep);
	tcase_add_test(tc, lock_up_is_found);
	tcase_add_test(tc, watchdog_runs_while_sampling);
	tcase_add_test(tc, switched_while_counting);
	tcase_add_test(tc, switched_before_counting);
	tcase_add_test(tc, pinned_event);
	tcase_add_test(tc, pinned_event_ends);
	tcase_add_test(tc, other_event);
	tcase_add_test(tc, behind_pinned_event);
	tcase_add_test(tc, short_states);
	tcase_add_test(tc, toggled_at_random);
	tcase_add_loop_test(tc, toggled_while_counting, 0, 2);
#ifndef __aarch64__
	/* There, a process has no right to read counters by an event that waits. */
	tcase_add_loop_test(tc, mapped_event, 0, 2);
#endif
}

int main(void)
{
	open_device();
	here = sched_getcpu();
	set_watchdog();
	return run_tests("beside_watchdog", add);
}
