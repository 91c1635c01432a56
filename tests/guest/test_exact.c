// SPDX-License-Identifier: GPL-2.0
/*
 * Exact counts of code of known length, by all ways of reading.  Needs one CPU, and an
 * emulator that counts exactly.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "suite.h"

static const unsigned long lengths[] = { 1, 2, 3, 10, 1000, 12345, 1000000 };
#define NR_LENGTHS	(sizeof(lengths) / sizeof(lengths[0]))

static int fd;
static const struct vperfctr_page *page;

/*
 * EXTRA in the environment: a count may differ by that many.  It is for processors that
 * count an interrupt or a fault as an instruction.
 */
static u64 extra;

#define assert_count(got, expected)					\
do {									\
	const u64 g = (got), e = (expected);				\
									\
	ck_assert_msg(g <= e + extra && e <= g + extra, "%llu, not %llu", g, e); \
} while (0)

static void setup(void)
{
	fd = open_state(0);
	page = map_state(fd);
}

/*
 * Count 2n instructions, and a constant number around them.  A self-read that starts
 * over takes more instructions: then measure again.
 */
static __attribute__((noinline, noclone)) u64 region(unsigned int i, unsigned long n)
{
	unsigned int ignored, restarts;
	u64 before, after;

	do {
		before = self_read_restarts(page, i, &ignored);
		loop(n);
		after = self_read_restarts(page, i, &restarts);
	} while (restarts);
	return after - before;
}

START_TEST(self_reads)
{
	u64 overhead;
	unsigned int i;

	count(fd, INSNS_USER);
	overhead = region(0, 1) - 2;
	/* Where user mode must not read the counters, a self-read is a READ by several functions. */
	ck_assert_uint_lt(overhead, (has(VPERFCTR_FEATURE_RDPMC) ? MOST_READ : MOST_READ_BY_KERNEL) *
			  OVERHEAD_FACTOR);
	for (i = 0; i < NR_LENGTHS; i++)
		assert_count(region(0, lengths[i]), overhead + 2 * lengths[i]);
	/* The empty region has the same count every time. */
	for (i = 0; i < 1000; i++)
		assert_count(region(0, 1), overhead + 2);
}
END_TEST

/* Measure by READ, without libc's code. */
static __attribute__((noinline, noclone)) u64 region_by_read(struct vperfctr_read *req, u64 *sums,
						    unsigned long n)
{
	u64 before;

	ioctl(fd, VPERFCTR_READ, req);
	before = sums[1];
	loop(n);
	ioctl(fd, VPERFCTR_READ, req);
	return sums[1] - before;
}

START_TEST(reads)
{
	u64 sums[2], overhead;
	struct vperfctr_read req = {
		.size = sizeof(req), .nrctrs = 1, .sums = (uintptr_t)sums,
	};
	unsigned int i;

	count(fd, INSNS_USER);
	region_by_read(&req, sums, 1);
	overhead = region_by_read(&req, sums, 1) - 2;
	ck_assert_uint_lt(overhead, 100);
	for (i = 0; i < NR_LENGTHS; i++)
		assert_count(region_by_read(&req, sums, lengths[i]), overhead + 2 * lengths[i]);
}
END_TEST

/* All counters at once: those of the same event agree, and cycles are a multiple. */
START_TEST(all_counters)
{
	struct control control;
	u64 overhead[VPERFCTR_MAX_CTRS], rest, user = FIXED_USER;
	unsigned int i, j, tries = user == FIXED_BOTH ? 3 : 1;

	control_init(&control, 1);
	for (i = 0; i < nr_general(); i++)
		control_add(&control, nth_general(i), INSNS_USER);
	for (i = 0; i < nr_fixed(); i++)
		control_add(&control, nth_fixed(i), FIXED_USER);
	ck_assert_uint_eq(control.c.nractrs, info.nrctrs);
	assert_ok(set_control(fd, &control));
	ck_assert_uint_eq(VPERFCTR_CSTATUS_NRCTRS(page->cstatus), info.nrctrs);
	ck_assert_uint_eq(VPERFCTR_CSTATUS_NRACTRS(page->cstatus), info.nrctrs);

	for (i = 0; i < info.nrctrs; i++)
		overhead[i] = region(i, 1);
	for (i = 0; i < nr_general() + have_fixed_insns(); i++) {
		/* The last one is fixed counter 0, which counts instructions too. */
		assert_count(overhead[i], overhead[0]);
		for (j = 0; j < NR_LENGTHS; j++)
			assert_count(region(i, lengths[j]),
				     overhead[i] + 2 * (lengths[j] - 1));
	}
	/*
	 * The next fixed counter: cycles, a constant number per instruction here, unless the NMI
	 * watchdog has it.  If it counts
	 * all modes, a tick may come in one of the regions, but not in three.
	 */
	if (i < info.nrctrs && nth_fixed(have_fixed_insns()) == FIXED(have_fixed_insns())) {
		ck_assert_uint_gt(overhead[i], overhead[0]);
		do {
			rest = (region(i, 10001) - region(i, 1)) % 20000;
		} while (rest && --tries);
		ck_assert_uint_eq(rest, 0);
	}
}
END_TEST

/* READ reads all counters at the same moment: the differences of two READs agree. */
START_TEST(counters_agree)
{
	struct control control;
	struct sums a, b;
	unsigned int i;

	control_init(&control, 1);
	for (i = 0; i < nr_general(); i++)
		control_add(&control, nth_general(i), INSNS_USER);
	if (have_fixed_insns())
		control_add(&control, FIXED_INSNS, FIXED_USER);
	assert_ok(set_control(fd, &control));
	read_sums(fd, &a);
	loop(12345);
	sched_yield();
	read_sums(fd, &b);
	ck_assert_uint_eq(b.nrctrs, control.c.nractrs);
	for (i = 1; i < b.nrctrs; i++) {
		ck_assert_uint_eq(a.pmc[i], a.pmc[0]);
		ck_assert_uint_eq(b.pmc[i], b.pmc[0]);
	}
	ck_assert_uint_ge(b.pmc[0] - a.pmc[0], 24690);
	ck_assert_uint_le(b.pmc[0] - a.pmc[0], 24690 + 1000);
}
END_TEST

START_TEST(user_and_kernel)
{
	struct control control;
	struct sums sums;

	if (!have_global_ctrl() || nr_general() < 3 || MODES_ARE_SHARED)
		return;
	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control_add(&control, 1, INSNS_KERNEL);
	control_add(&control, 2, INSNS_BOTH);
	if (have_fixed_insns())
		control_add(&control, FIXED_INSNS, FIXED_BOTH);
	assert_ok(set_control(fd, &control));
	loop(1000);
	msleep(20);
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	read_sums(fd, &sums);
	ck_assert_uint_gt(sums.pmc[0], 2000);
	ck_assert_uint_gt(sums.pmc[1], 2000);
	ck_assert_uint_eq(sums.pmc[0] + sums.pmc[1], sums.pmc[2]);
	if (have_fixed_insns())
		ck_assert_uint_eq(sums.pmc[3], sums.pmc[2]);
}
END_TEST

/* ---- switches -------------------------------------------------------------------- */

/* Execute rounds * (2n + 5) instructions; switch in each round if there is another thread. */
static __attribute__((noinline, noclone)) void yield_rounds(unsigned long rounds, unsigned long n)
{
	loop_yielding(rounds, n);
}

#define YIELDS_INSNS(rounds, n)	((rounds) * (2 * (n) + 5))

struct job {
	u32 map[2];
	u64 evntsel[2];
	unsigned long rounds, n;
	int fd;
	u64 got[2];			/* output */
	volatile bool *go;
};

static void *worker(void *arg)
{
	struct job *job = arg;
	struct control control;
	struct sums before, after;
	unsigned int i;

	job->fd = open_state(0);
	control_init(&control, 1);
	for (i = 0; i < 2; i++)
		control_add(&control, job->map[i], job->evntsel[i]);
	if (set_control(job->fd, &control))
		die("CONTROL failed");
	while (!*job->go)
		sched_yield();
	read_sums(job->fd, &before);
	yield_rounds(job->rounds, job->n);
	read_sums(job->fd, &after);
	for (i = 0; i < 2; i++)
		job->got[i] = after.pmc[i] - before.pmc[i];
	return NULL;
}

/*
 * True if the second counter has the same number of cycles for each instruction of the first one,
 * and for those that have raised an exception instead: system calls, on some processors, and in a
 * READ those that find a unit disabled.
 */
static bool has_cycles(const struct job *job)
{
	u64 cycles, rest;

	if (!job->got[0] || job->got[1] < job->got[0])
		return false;
	cycles = job->got[1] / job->got[0];
	rest = job->got[1] % job->got[0];
	/* One in each round, and a READ. */
	if (!SYSTEM_CALLS_COMPLETE)
		rest -= (job->rounds + 1) * cycles;
	return rest % cycles == 0 && rest / cycles <= MAX_DISABLED_UNITS;
}

/*
 * Threads on one CPU, each with a control of its own: on the same counters, on others,
 * or with other events on the same ones.  They yield to each other thousands of times,
 * and each count is exact.
 */
START_TEST(threads_on_one_cpu)
{
	volatile bool go = false;
	struct job jobs[] = {
		{ .map = { 0, 1 }, .evntsel = { INSNS_USER, CYCLES_USER }, .rounds = 5000, .n = 100 },
		{ .map = { 1, 0 }, .evntsel = { INSNS_USER, CYCLES_USER }, .rounds = 5000, .n = 37 },
		{ .map = { 0, 1 }, .evntsel = { INSNS_USER, INSNS_USER }, .rounds = 5000, .n = 5 },
	};
	const unsigned int nr = sizeof(jobs) / sizeof(jobs[0]);
	u64 overhead[nr];
	pthread_t ids[nr];
	unsigned int i;

	for (i = 0; i < nr; i++) {
		jobs[i].go = &go;
		ck_assert_int_eq(pthread_create(&ids[i], NULL, worker, &jobs[i]), 0);
	}
	msleep(10);
	go = true;
	for (i = 0; i < nr; i++)
		pthread_join(ids[i], NULL);
	for (i = 0; i < nr; i++) {
		u64 known = YIELDS_INSNS(jobs[i].rounds, jobs[i].n);

		/* READ takes some instructions of its own, the same number for all threads. */
		overhead[i] = jobs[i].got[0] - known;
		ck_assert_msg(overhead[i] < 200 && overhead[i] <= overhead[0] + extra &&
			      overhead[0] <= overhead[i] + extra,
			      "thread %u: %llu, not %llu", i, jobs[i].got[0], known);
		if (jobs[i].evntsel[1] == INSNS_USER) {
			ck_assert_uint_eq(jobs[i].got[1], jobs[i].got[0]);
			continue;
		}
		/* A multiple: otherwise cycles and instructions look the same. */
		if (SLOW_INSNS)
			ck_assert_uint_gt(jobs[i].got[1], jobs[i].got[0]);
		ck_assert(extra || has_cycles(&jobs[i]));
	}
}
END_TEST

/* Block and be woken once per round; all rounds take the same number of instructions. */
static __attribute__((noinline, noclone)) u64 ping_pong(int in, int out, unsigned int rounds)
{
	u64 before = self_read(page, 0);
	char c = 'x';

	while (rounds--) {
		if (write(out, &c, 1) != 1 || read(in, &c, 1) != 1)
			die("a pipe between the two processes failed");
	}
	return self_read(page, 0) - before;
}

START_TEST(processes_switching)
{
	int to[2], from[2];
	u64 one, two, three;
	pid_t pid;
	char c;

	ck_assert_int_eq(pipe(to) | pipe(from), 0);
	pid = fork();
	if (!pid) {
		int mine = open_state(0);

		count(mine, INSNS_KERNEL);
		close(to[1]);
		while (read(to[0], &c, 1) == 1) {
			loop(500);
			if (write(from[1], &c, 1) != 1)
				break;
		}
		_exit(0);
	}
	count(fd, INSNS_USER);
	ping_pong(from[0], to[1], 10);
	one = ping_pong(from[0], to[1], 1000);
	two = ping_pong(from[0], to[1], 2000);
	three = ping_pong(from[0], to[1], 3000);
	assert_count(two - one, three - two);
	/* A few hundred instructions per round, and none of the other process's thousand. */
	ck_assert_uint_lt(two - one, 1000 * 500);
	ck_assert_uint_gt(two - one, 1000 * 10);
	close(to[1]);
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

/* ---- suspend and resume ------------------------------------------------------------ */

/* Check everything that an owner can see of the sums of a stopped state. */
static void check_standstill(unsigned int nrctrs)
{
	struct sums a, b;
	unsigned int i;

	read_sums(fd, &a);
	loop(10000);
	sched_yield();
	msleep(5);
	read_sums(fd, &b);
	ck_assert_uint_eq(a.nrctrs, nrctrs);
	ck_assert_uint_eq(a.tsc, b.tsc);
	ck_assert_uint_eq(page->tsc_sum, b.tsc);
	ck_assert_uint_eq(page->cstatus & (VPERFCTR_CSTATUS_RUNNING | VPERFCTR_CSTATUS_RDPMC), 0);
	ck_assert_uint_eq(self_read_tsc(page), b.tsc);
	for (i = 0; i < nrctrs; i++) {
		ck_assert_uint_eq(a.pmc[i], b.pmc[i]);
		ck_assert_uint_eq(page->ctr[i].sum, b.pmc[i]);
	}
}

/* Out of line: then it has the same length for any n. */
static __attribute__((noinline, noclone)) u64 count_pause(unsigned long n)
{
	u64 before = self_read(page, 0);

	ioctl(fd, VPERFCTR_SUSPEND, 0);
	loop(n);
	ioctl(fd, VPERFCTR_RESUME, 0);
	return self_read(page, 0) - before;
}

START_TEST(suspend_resume)
{
	struct sums a, b;
	unsigned int i;
	u64 paused[2];

	count(fd, INSNS_USER);
	loop(1000);
	for (i = 0; i < 2; i++) {	/* the second call changes nothing */
		assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
		assert_status(fd, ATTACHED | ACTIVE | SUSPENDED);
		check_standstill(1);
	}
	read_sums(fd, &a);
	ck_assert_uint_ge(a.pmc[0], 2000);
	assert_ok(call(fd, VPERFCTR_RESUME, 0));
	assert_status(fd, ATTACHED | ACTIVE);
	ck_assert_uint_ne(page->cstatus & VPERFCTR_CSTATUS_RUNNING, 0);
	assert_ok(call(fd, VPERFCTR_RESUME, 0));
	loop(100000);
	read_sums(fd, &b);
	ck_assert_uint_ge(b.pmc[0], a.pmc[0] + 200000);
	ck_assert_uint_le(b.pmc[0], a.pmc[0] + 220000);
	ck_assert_uint_gt(b.tsc, a.tsc);

	/* A pause and the code in it always have the same count. */
	for (i = 0; i < 2; i++)
		paused[i] = count_pause(i ? 100000 : 1);
	assert_count(paused[0], paused[1]);
	ck_assert_uint_lt(paused[0], has(VPERFCTR_FEATURE_RDPMC) ? 200 : 2 * MOST_READ_BY_KERNEL);
}
END_TEST

/* CONTROL ends a pause, also a control that stops everything. */
START_TEST(control_ends_pause)
{
	count(fd, INSNS_USER);
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	count(fd, INSNS_USER);
	assert_status(fd, ATTACHED | ACTIVE);
	region(0, 1);
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	assert_ok(stop_all(fd));
	assert_status(fd, ATTACHED);
	check_standstill(1);
}
END_TEST

/* ---- effect of CONTROL on the sums ------------------------------------------------------- */

START_TEST(control_resets)
{
	struct sums a, b;

	count(fd, INSNS_USER);
	loop(100000);
	read_sums(fd, &a);
	count(fd, INSNS_USER);
	read_sums(fd, &b);
	ck_assert_uint_ge(a.pmc[0], 200000);
	ck_assert_uint_lt(b.pmc[0], 2000);
	/* The TSC is not reset. */
	ck_assert_uint_gt(b.tsc, a.tsc);
}
END_TEST

START_TEST(control_preserves)
{
	struct control control;
	struct sums a, b;

	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control_add(&control, 1, INSNS_USER);
	assert_ok(set_control(fd, &control));
	loop(100000);
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	read_sums(fd, &a);
	control.c.preserve = 2;
	control.c.tsc_on = 0;
	assert_ok(set_control(fd, &control));
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	read_sums(fd, &b);
	ck_assert_uint_lt(b.tsc, a.tsc);
	ck_assert_uint_lt(b.pmc[0], 5000);
	ck_assert_uint_gt(b.pmc[1], a.pmc[1]);
	ck_assert_uint_eq(b.pmc[1] - a.pmc[1], b.pmc[0]);

	/* The position in the control matters, not the hardware counter. */
	control_init(&control, 0);
	control_add(&control, 1, INSNS_USER);
	control_add(&control, 0, INSNS_USER);
	control.c.preserve = 3;
	a = b;
	assert_ok(set_control(fd, &control));
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	read_sums(fd, &b);
	ck_assert_uint_eq(b.pmc[0] - a.pmc[0], b.pmc[1] - a.pmc[1]);
	ck_assert_uint_lt(b.pmc[0] - a.pmc[0], 5000);

	/* A counter that the last control did not have is preserved as zero. */
	control.c.nractrs = 1;
	control.c.preserve = 1;
	assert_ok(set_control(fd, &control));
	control.c.nractrs = 2;
	control.c.preserve = 3;
	assert_ok(set_control(fd, &control));
	read_sums(fd, &b);
	ck_assert_uint_lt(b.pmc[1], 5000);
	ck_assert_uint_gt(b.pmc[0], a.pmc[0]);
}
END_TEST

START_TEST(all_zero_control)
{
	struct vperfctr_read req = { .size = sizeof(req), .nrctrs = 2 };
	struct control control, shown;
	struct sums a;

	/* The same for a state that was never started. */
	assert_ok(stop_all(fd));
	check_standstill(0);

	control_init(&control, 1);
	control_add(&control, 1, INSNS_USER);
	control_add(&control, 0, CYCLES_USER);
	assert_ok(set_control(fd, &control));
	loop(50000);
	assert_ok(stop_all(fd));
	check_standstill(2);
	read_sums(fd, &a);
	ck_assert_uint_ge(a.pmc[0], 100000);
	assert_ok(stop_all(fd));
	check_standstill(2);
	ck_assert_uint_eq(a.status, ATTACHED);

	memset(&shown, 0, sizeof(shown));
	shown.c.size = sizeof(shown.c);
	shown.c.ctr_size = sizeof(shown.ctr[0]);
	shown.c.ctr = (uintptr_t)shown.ctr;
	req.control = (uintptr_t)&shown;
	assert_ok(call(fd, VPERFCTR_READ, &req));
	shown.c.ctr = control.c.ctr;
	ck_assert_int_eq(memcmp(&shown, &control, sizeof(control)), 0);

	/* Counting can continue from the old sums. */
	control.c.preserve = 3;
	assert_ok(set_control(fd, &control));
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	ck_assert_uint_gt(page->ctr[0].sum, a.pmc[0]);
	ck_assert_uint_lt(page->ctr[0].sum, a.pmc[0] + 20000);
	ck_assert_uint_gt(page->tsc_sum, a.tsc);
}
END_TEST

/* ---- the TSC ----------------------------------------------------------------------------- */

START_TEST(tsc_counts_own_time)
{
	struct control control;
	u64 outside, inside;
	struct sums a, b;
	int tries = 3;

	control_init(&control, 1);
	assert_ok(set_control(fd, &control));
	ck_assert_uint_eq(page->cstatus & VPERFCTR_CSTATUS_TSC, VPERFCTR_CSTATUS_TSC);
	assert_status(fd, ATTACHED | ACTIVE);
	/* On one CPU it equals the processor's TSC, unless a clock tick hits a pair of reads. */
	do {
		inside = self_read_tsc(page);
		outside = rdtsc();
		loop(20000);
		inside = self_read_tsc(page) - inside;
		outside = rdtsc() - outside;
	} while ((outside + 1000 < inside || outside > inside + 1000) && --tries);
	ck_assert_int_gt(tries, 0);
	/* It does not count while the thread sleeps. */
	inside = self_read_tsc(page);
	outside = rdtsc();
	msleep(100);
	inside = self_read_tsc(page) - inside;
	outside = rdtsc() - outside;
	ck_assert_uint_ge(outside, 100ULL * info.tsc_khz * 9 / 10);
	ck_assert_uint_lt(inside, outside / 20);

	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	check_standstill(0);
	assert_ok(call(fd, VPERFCTR_RESUME, 0));
	read_sums(fd, &a);
	loop(1000);
	read_sums(fd, &b);
	ck_assert_uint_gt(b.tsc, a.tsc);
}
END_TEST

START_TEST(tsc_off)
{
	struct control control;
	struct sums sums;

	control_init(&control, 0);
	control_add(&control, 0, INSNS_USER);
	assert_ok(set_control(fd, &control));
	ck_assert_uint_eq(page->cstatus & VPERFCTR_CSTATUS_TSC, 0);
	loop(1000);
	sched_yield();
	msleep(5);
	read_sums(fd, &sums);
	ck_assert_msg(sums.tsc == 0, "TSC sum %llu without tsc_on", sums.tsc);
}
END_TEST

/* ---- instructions that do not complete ------------------------------------------------------ */

#ifdef SYSTEM_CALL

static u32 *code;
static volatile int last_signal;

static void step_over(int sig, siginfo_t *siginfo, void *context)
{
	(void)siginfo;
	last_signal = sig;
	CONTEXT_IP((ucontext_t *)context) += 4;
}

/* Make a function of two instructions and a nop. */
static void make_code(u32 first, u32 second)
{
	const u32 codes[] = { first, second, NOP, RETURN };

	memcpy(code, codes, sizeof(codes));
	__builtin___clear_cache((char *)code, (char *)code + sizeof(codes));
}

/*
 * Return what counter 0 counts in the function, and a constant number around it.  The thread sleeps
 * in between, because read_sums() may use units that the kernel then disables.
 */
static __attribute__((noinline, noclone)) u64 counted_code(long a, long b)
{
	struct sums before, after;

	read_sums(fd, &before);
	usleep(1);
	((void (*)(long, long))code)(a, b);
	read_sums(fd, &after);
	return after.pmc[0] - before.pmc[0];
}

static u64 counted_codes(u32 first, u32 second)
{
	make_code(first, second);
	return counted_code(0, 0);
}

/* Without a page, user mode must not read the counters. */
static void setup_code(void)
{
	static const int caught[] = { SIGSEGV, SIGILL, SIGTRAP, SIGUSR1 };
	const struct sigaction action = { .sa_sigaction = step_over, .sa_flags = SA_SIGINFO };
	unsigned int i;

	for (i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		ck_assert_int_eq(sigaction(caught[i], &action, NULL), 0);
	code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	ck_assert_ptr_ne(code, MAP_FAILED);
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	close(fd);
	fd = open_state(0);
	count(fd, INSNS_USER);
	counted_codes(NOP, NOP);
}

START_TEST(system_calls)
{
	u64 nops;

	setup_code();
	nops = counted_codes(NOP, NOP);
	ck_assert_uint_eq(counted_codes(LOAD_NUMBER(SYS_getppid), SYSTEM_CALL),
			  nops - !SYSTEM_CALLS_COMPLETE);
}
END_TEST

/*
 * An instruction that raises an exception is not counted.  If Linux sends a signal, the handler's
 * instructions are, as many as those of a signal that a system call sends: the handler then steps
 * over the nop.
 */
START_TEST(faults_do_not_count)
{
	u64 expected, got;

	setup_code();
	if (fault_insns[_i].signal) {
		make_code(LOAD_NUMBER(SYS_kill), SYSTEM_CALL);
		expected = counted_code(getpid(), SIGUSR1) + !SYSTEM_CALLS_COMPLETE;
		ck_assert_int_eq(last_signal, SIGUSR1);
	} else {
		expected = counted_codes(NOP, NOP) - 1;
	}
	last_signal = 0;
	got = counted_codes(NOP, fault_insns[_i].code);
	ck_assert_int_eq(last_signal, fault_insns[_i].signal);
	ck_assert_msg(got == expected, "%s: %llu, not %llu", fault_insns[_i].name, got, expected);
}
END_TEST

#ifdef has_unit

/*
 * The kernel disables units at each context switch, on 64 bits at one of 256.  The next instruction
 * for a unit faults, and is executed again: it completes once.
 */
START_TEST(disabled_units)
{
	unsigned int i;
	u64 nops;

	if (!has_unit(_i))
		return;
	setup_code();
	nops = counted_codes(NOP, NOP);
	make_code(NOP, unit_codes[_i]);
	for (i = 0; i < 600; i++)
		ck_assert_uint_eq(counted_code(0, 0), nops);
}
END_TEST

#endif /* has_unit */
#endif /* SYSTEM_CALL */

/* ---- the end of a state -------------------------------------------------------------------- */

/* After the owner's end, a descriptor still gives the sums of that moment. */
static void *count_and_exit(void *arg)
{
	struct job *job = arg;
	const struct vperfctr_page *mine;

	job->fd = open_state(0);
	mine = map_state(job->fd);
	count(job->fd, INSNS_USER);
	job->got[0] = self_read(mine, 0);
	yield_rounds(job->rounds, job->n);
	syscall(SYS_exit, 0);	/* without libc's code */
	return NULL;
}

START_TEST(after_the_end)
{
	struct job *job = shared_memory(PAGE);
	u64 overhead = 0, insns;
	struct sums a, b;
	unsigned int i;
	pid_t pid;

	job->rounds = 10;
	for (i = 0; i < NR_LENGTHS - 1; i++) {
		job->n = lengths[i];
		pid = fork_files();
		if (!pid)
			count_and_exit(job);
		ck_assert_int_eq(wait_for(pid), 0);
		read_sums(job->fd, &a);
		ck_assert_uint_eq(a.status, 0);
		insns = a.pmc[0] - job->got[0];
		if (!i)
			overhead = insns - YIELDS_INSNS(job->rounds, job->n);
		ck_assert_uint_lt(overhead, 200);
		assert_count(insns, YIELDS_INSNS(job->rounds, job->n) + overhead);
		loop(1000);
		read_sums(job->fd, &b);
		ck_assert_int_eq(memcmp(&a, &b, offsetof(struct sums, pmc[1])), 0);
		close(job->fd);
	}
}
END_TEST

START_TEST(after_unlink)
{
	const struct vperfctr_page *other;
	struct sums a, b;
	int fd2;

	count(fd, INSNS_USER);
	fd2 = try_open_state(0);
	loop(50000);
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	assert_status(fd, 0);
	check_standstill(1);
	read_sums(fd, &a);
	ck_assert_uint_ge(a.pmc[0], 100000);
	ck_assert_uint_le(a.pmc[0], 120000);
	assert_ok(call(fd2, VPERFCTR_UNLINK, 0));
	close(fd);
	/* The other descriptor and the mapping still have the sums. */
	fd = fd2;
	check_standstill(1);
	close(fd2);
	ck_assert_uint_eq(page->ctr[0].sum, a.pmc[0]);

	/* The thread can have a new state beside the old one's page. */
	fd = open_state(0);
	other = map_state(fd);
	read_sums(fd, &b);
	ck_assert_uint_eq(b.tsc | b.nrctrs, 0);
	ck_assert_uint_eq(other->ctr[0].sum, 0);
	count(fd, INSNS_USER);
	ck_assert_uint_eq(page->ctr[0].sum, a.pmc[0]);
	ck_assert_uint_eq(page->cstatus & VPERFCTR_CSTATUS_RDPMC, 0);
	ck_assert_uint_lt(self_read(other, 0), 20000);
}
END_TEST

/* ---- the first mapping ------------------------------------------------------------- */

/* Until then a state has no page of its own.  All that it shows must move there. */

static int count_unmapped(void)
{
	struct control control;
	int mine = open_state(0);
	unsigned int i;

	control_init(&control, 1);
	for (i = 0; i < nr_general(); i++)
		control_add(&control, nth_general(i), INSNS_USER);
	for (i = 0; i < nr_fixed(); i++)
		control_add(&control, nth_fixed(i), FIXED_USER);
	assert_ok(set_control(mine, &control));
	loop(1000);
	return mine;
}

static void check_page(const struct vperfctr_page *mine, const struct sums *sums)
{
	unsigned int i;

	ck_assert_uint_eq(mine->version, VPERFCTR_ABI_VERSION);
	ck_assert_uint_eq(mine->tsc_sum, sums->tsc);
	ck_assert_uint_eq(sums->nrctrs, info.nrctrs);
	for (i = 0; i < sums->nrctrs; i++) {
		ck_assert_uint_eq(mine->ctr[i].sum, sums->pmc[i]);
		ck_assert_uint_ge(mine->ctr[i].sum, i < nr_general() ? 2000 : 0);
	}
	/* Nothing else: no byte of the kernel's memory. */
	for (; i < (PAGE - sizeof(*mine)) / sizeof(mine->ctr[0]); i++)
		ck_assert_uint_eq(mine->ctr[i].map | mine->ctr[i].reserved |
				  mine->ctr[i].start | mine->ctr[i].sum, 0);
}

START_TEST(mapped_while_suspended)
{
	const struct vperfctr_page *first, *second;
	struct sums sums;
	int mine;

	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	mine = count_unmapped();
	assert_ok(call(mine, VPERFCTR_SUSPEND, 0));
	first = map_state(mine);
	read_sums(mine, &sums);
	check_page(first, &sums);
	second = map_state(mine);
	assert_ok(call(mine, VPERFCTR_RESUME, 0));
	loop(1000);
	assert_ok(call(mine, VPERFCTR_SUSPEND, 0));
	ck_assert_uint_ge(first->ctr[0].sum, sums.pmc[0] + 2000);
	read_sums(mine, &sums);
	check_page(first, &sums);
	check_page(second, &sums);
}
END_TEST

/* The counters stop during the move, and lose no instruction of the user. */
START_TEST(mapped_while_running)
{
	u64 counts[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		const struct vperfctr_page *first;
		struct sums sums;
		int mine;

		assert_ok(call(fd, VPERFCTR_UNLINK, 0));
		mine = count_unmapped();
		first = i ? MAP_FAILED : map_state(mine);
		loop(1000);
		if (i)
			first = map_state(mine);
		ck_assert_uint_gt(self_read(first, 0), 4000);
		assert_ok(call(mine, VPERFCTR_SUSPEND, 0));
		read_sums(mine, &sums);
		check_page(first, &sums);
		counts[i] = sums.pmc[0];
		close(fd);
		fd = mine;
	}
	/* The mapping comes earlier or later, and takes as many instructions of the user. */
	ck_assert_uint_ge(counts[0] + 50, counts[1]);
	ck_assert_uint_ge(counts[1] + 50, counts[0]);
}
END_TEST

/* By another thread, while the owner sleeps and after its end. */
struct mapped {
	int fd, wake[2];
	pid_t tid;
	volatile bool counted;
};

static void *be_mapped(void *arg)
{
	struct mapped *m = arg;
	char byte;

	m->tid = (pid_t)syscall(SYS_gettid);
	m->fd = count_unmapped();
	m->counted = true;
	if (read(m->wake[0], &byte, 1) == 1)
		loop(1000);
	return NULL;
}

/* Wait until a thread of this process, which waits for an event, has left the CPU. */
static void wait_asleep(pid_t tid)
{
	char path[64], text[256];

	sprintf(path, "/proc/self/task/%d/stat", (int)tid);
	do {
		sched_yield();
		read_file(path, text, sizeof(text));
	} while (!strstr(text, ") S "));
}

/* One that has been joined is still in the kernel, where a fixed counter may count. */
static void read_ended(int state, struct sums *sums)
{
	do {
		sched_yield();
		read_sums(state, sums);
	} while (sums->status);
}

START_TEST(mapped_by_another)
{
	struct mapped m = { .fd = -1 };
	const struct vperfctr_page *other;
	struct sums before, after;
	pthread_t id;

	ck_assert_int_eq(pipe(m.wake), 0);
	ck_assert_int_eq(pthread_create(&id, NULL, be_mapped, &m), 0);
	while (!m.counted)
		sched_yield();
	wait_asleep(m.tid);
	if (_i) {
		ck_assert_int_eq(write(m.wake[1], "", 1), 1);
		pthread_join(id, NULL);
		read_ended(m.fd, &before);
	} else {
		read_sums(m.fd, &before);
	}
	other = map_state(m.fd);
	check_page(other, &before);
	if (_i)
		return;
	ck_assert_int_eq(write(m.wake[1], "", 1), 1);
	pthread_join(id, NULL);
	read_ended(m.fd, &after);
	ck_assert_uint_ge(after.pmc[0], before.pmc[0] + 2000);
	check_page(other, &after);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, self_reads);
	tcase_add_test(tc, reads);
	tcase_add_test(tc, all_counters);
	tcase_add_test(tc, counters_agree);
	tcase_add_test(tc, user_and_kernel);
	tcase_add_test(tc, threads_on_one_cpu);
	tcase_add_test(tc, processes_switching);
	tcase_add_test(tc, suspend_resume);
	tcase_add_test(tc, control_ends_pause);
	tcase_add_test(tc, control_resets);
	tcase_add_test(tc, control_preserves);
	tcase_add_test(tc, all_zero_control);
	tcase_add_test(tc, tsc_counts_own_time);
	tcase_add_test(tc, tsc_off);
#ifdef SYSTEM_CALL
	tcase_add_test(tc, system_calls);
	tcase_add_loop_test(tc, faults_do_not_count, 0, sizeof(fault_insns) / sizeof(fault_insns[0]));
#endif
#ifdef has_unit
	tcase_add_loop_test(tc, disabled_units, 0, sizeof(unit_codes) / sizeof(unit_codes[0]));
#endif
	tcase_add_test(tc, after_the_end);
	tcase_add_test(tc, after_unlink);
	tcase_add_test(tc, mapped_while_suspended);
	tcase_add_test(tc, mapped_while_running);
	tcase_add_loop_test(tc, mapped_by_another, 0, 2);
}

int main(void)
{
	const char *number = getenv("EXTRA");

	extra = number ? strtoull(number, NULL, 0) : 0;
	open_device();
	if (sysconf(_SC_NPROCESSORS_CONF) > 1 && !getenv("KIND"))
		die("this test needs a single CPU to be exact");
	return run_tests("exact", add);
}
