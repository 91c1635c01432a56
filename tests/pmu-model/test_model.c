// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the emulated PMU, by means of Linux's own perf
 *
 * Counts are exact with -icount shift=0: one instruction is one virtual
 * nanosecond and, with cyc=2, two cycles.
 */
#define _GNU_SOURCE
#include <check.h>
#include <cpuid.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <sys/utsname.h>
#include <unistd.h>

#define RAW_INSTRUCTIONS 0xc0		/* Intel's and AMD's */
#define CYCLES_PER_INSN	 2
#define FIXED		 0x40000000u	/* RDPMC index of the first fixed counter */
#define STAT(n)		 (0x7fff0000u + (n))
#define STAT_WRMSR_PMU	 STAT(0)
#define STAT_RDPMC	 STAT(2)
#define STAT_CR4	 STAT(4)
#define STAT_PMI	 STAT(5)
#define STAT_NR		 6

#define PAGE		 4096
#define RING_PAGES	 16

/* The counters that CPUID reports. */
static unsigned int gp, fixed;
static bool global_ctrl;	/* one register starts and stops all counters */

static void find_counters(void)
{
	unsigned int a, b, c, d;

	__cpuid(0, a, b, c, d);
	if (b == signature_INTEL_ebx && a < 0xa) {
		gp = 2;		/* P6, which starts both counters at once */
		fixed = 0;
	} else if (b == signature_INTEL_ebx) {
		__cpuid(0xa, a, b, c, d);
		gp = a >> 8 & 0xff;
		global_ctrl = (a & 0xff) > 1;
		fixed = global_ctrl ? d & 0x1f : 0;
	} else {
		__cpuid(0x80000001, a, b, c, d);
		gp = c & 1 << 23 ? 6 : 4;	/* PERFCTR_CORE */
		fixed = 0;
	}
}

/* Execute 2n instructions at known addresses. */
static void loop(unsigned long n);
extern const char loop_begin[], loop_end[];

__attribute__((noinline)) static void loop(unsigned long n)
{
	asm volatile("loop_begin: dec %0\n\t"
		     "jnz loop_begin\n"
		     "loop_end:" : "+r" (n) : : "cc");
}

static uint64_t rdpmc(uint32_t index)
{
	uint32_t lo, hi;

	asm volatile("rdpmc" : "=a" (lo), "=d" (hi) : "c" (index));
	return lo | (uint64_t)hi << 32;
}

static sigjmp_buf fault;

static void on_fault(int sig)
{
	siglongjmp(fault, sig);
}

/* True if RDPMC with this index does not fault. */
static bool can_rdpmc(uint32_t index)
{
	signal(SIGSEGV, on_fault);
	if (sigsetjmp(fault, 1))
		return false;
	rdpmc(index);
	return true;
}

enum { USER = 1, KERNEL = 2 };

/* Open an event of this thread (cpu < 0) or of a CPU; a group leader is disabled. */
static int event(uint32_t type, uint64_t config, int modes, int leader, int cpu)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.disabled = leader < 0,
		.pinned = leader < 0,
		.exclude_user = !(modes & USER),
		.exclude_kernel = !(modes & KERNEL),
	};
	int fd = syscall(SYS_perf_event_open, &attr, cpu < 0 ? 0 : -1, cpu, leader, 0);

	ck_assert_msg(fd >= 0, "perf_event_open: %m");
	return fd;
}

static int instructions(int modes, int leader)
{
	return event(PERF_TYPE_RAW, RAW_INSTRUCTIONS, modes, leader, -1);
}

static uint64_t count(int fd)
{
	uint64_t n;

	/* a read returns 0 if a pinned event did not get a counter */
	ck_assert_int_eq(read(fd, &n, sizeof(n)), sizeof(n));
	return n;
}

/* Enabling or disabling the leader acts on the whole group at once. */
static void enable(int fd)
{
	ck_assert_int_eq(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
}

static void disable(int fd)
{
	ck_assert_int_eq(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
}

/* Return the count of a loop of n, including the ends of the two system calls. */
static uint64_t count_loop(int fd, uint64_t n)
{
	uint64_t before = count(fd);

	enable(fd);
	loop(n);
	disable(fd);
	return count(fd) - before;
}

static struct perf_event_mmap_page *map(int fd, int ring_pages)
{
	void *p = mmap(NULL, (1 + ring_pages) * PAGE, PROT_READ | PROT_WRITE,
		       MAP_SHARED, fd, 0);

	ck_assert_msg(p != MAP_FAILED, "mmap: %m");
	return p;
}

START_TEST(user_instructions_are_exact)
{
	static const uint64_t n[] = { 2, 10, 1000, 123456, 3000000 };
	int fd = instructions(USER, -1);
	uint64_t base = count_loop(fd, 1);

	for (unsigned int i = 0; i < sizeof(n) / sizeof(n[0]); i++)
		ck_assert_uint_eq(count_loop(fd, n[i]) - base, 2 * (n[i] - 1));
}
END_TEST

START_TEST(all_counters_agree)
{
	int fd[8], n = gp < 4 ? gp : 4;

	fd[0] = instructions(USER, -1);
	for (int i = 1; i < n; i++)
		fd[i] = instructions(USER, fd[0]);
	enable(fd[0]);
	loop(1000);
	disable(fd[0]);
	ck_assert_uint_gt(count(fd[0]), 2000);
	for (int i = 1; i < n; i++)
		ck_assert_uint_eq(count(fd[i]), count(fd[0]));
}
END_TEST

START_TEST(user_and_kernel_add_up)
{
	int all = instructions(USER | KERNEL, -1);
	int user = instructions(USER, all);
	int kernel = gp > 2 || fixed ? instructions(KERNEL, all) : -1;

	enable(all);
	for (int i = 0; i < 1000; i++) {
		syscall(SYS_getppid);
		loop(100);
	}
	disable(all);
	ck_assert_uint_gt(count(user), 200 * 1000);
	ck_assert_uint_gt(count(all), count(user) + 50 * 1000);
	/* without global control the kernel starts the counters one by one */
	if (kernel >= 0)
		ck_assert_int_le(llabs((long long)(count(user) + count(kernel) - count(all))),
				 global_ctrl ? 0 : 1000);
}
END_TEST

START_TEST(cycles_are_a_multiple)
{
	int insn = instructions(USER, -1);
	int cycles = event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, USER, insn, -1);

	enable(insn);
	loop(1000);
	disable(insn);
	ck_assert_uint_eq(count(cycles), CYCLES_PER_INSN * count(insn));
}
END_TEST

START_TEST(reference_cycles_are_time)
{
	int insn, ref;

	if (fixed < 3)
		return;
	insn = instructions(USER, -1);
	ref = event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, USER, insn, -1);
	enable(insn);
	loop(1000);
	disable(insn);
	ck_assert_uint_eq(count(ref), count(insn));
}
END_TEST

START_TEST(nothing_counts_while_halted)
{
	/* long, because the system is never quite idle; it passes at once */
	static const struct timespec idle = { .tv_sec = 20 };
	int fd = event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, USER | KERNEL, -1, 0);

	enable(fd);
	nanosleep(&idle, NULL);
	disable(fd);
	ck_assert_uint_gt(count(fd), 0);
	ck_assert_uint_lt(count(fd), CYCLES_PER_INSN * 20000000000ULL / 20);
}
END_TEST

START_TEST(rdpmc_needs_permission)
{
	for (unsigned int i = 0; i < gp; i++)
		ck_assert(!can_rdpmc(i));
	for (unsigned int i = 0; i < fixed; i++)
		ck_assert(!can_rdpmc(FIXED + i));
}
END_TEST

START_TEST(rdpmc_with_permission)
{
	struct perf_event_mmap_page *page = map(instructions(USER, -1), 0);

	for (unsigned int i = 0; i < gp; i++)
		ck_assert(can_rdpmc(i));
	for (unsigned int i = 0; i < fixed; i++)
		ck_assert(can_rdpmc(FIXED + i));
	/* permission does not make up other counters */
	ck_assert(!can_rdpmc(gp));
	ck_assert(!can_rdpmc(0xff));
	ck_assert(!can_rdpmc(FIXED + fixed));
	ck_assert(!can_rdpmc(0x20000000));
	ck_assert(!can_rdpmc(0x80000000));
	ck_assert(!can_rdpmc(0xffffffff));

	munmap(page, PAGE);
	ck_assert(!can_rdpmc(0));
}
END_TEST

START_TEST(rdpmc_is_exact)
{
	int fd = instructions(USER, -1);
	struct perf_event_mmap_page *page = map(fd, 0);
	uint32_t index;

	enable(fd);
	index = page->index - 1;	/* perf's numbers begin with 1 */
	for (uint64_t n = 1; n < 1000000; n *= 10) {
		unsigned long i = n;
		uint32_t before, after;

		asm volatile("rdpmc\n\t"	/* counted */
			     "mov %%eax, %1\n"
			     "1: dec %0\n\t"
			     "jnz 1b\n\t"
			     "rdpmc"		/* not counted */
			     : "+r" (i), "=&r" (before), "=a" (after)
			     : "c" (index) : "edx", "cc");
		ck_assert_uint_eq(after - before, 2 * n + 2);
	}
}
END_TEST

START_TEST(statistics_need_no_permission)
{
	for (unsigned int i = 0; i < STAT_NR; i++)
		ck_assert(can_rdpmc(STAT(i)));
	ck_assert(!can_rdpmc(STAT(STAT_NR)));
	ck_assert(!can_rdpmc(STAT(-1)));
}
END_TEST

START_TEST(statistics_count)
{
	uint64_t writes, reads, cr4, none, ten;
	struct perf_event_mmap_page *page;
	int fd;

	cr4 = rdpmc(STAT_CR4);
	writes = rdpmc(STAT_WRMSR_PMU);
	fd = instructions(USER, -1);
	enable(fd);
	ck_assert_uint_gt(rdpmc(STAT_WRMSR_PMU), writes);
	page = map(fd, 0);
	ck_assert_uint_gt(rdpmc(STAT_CR4), cr4);

	/* statistics leave out their own reads; the kernel may execute some RDPMCs */
	for (int tries = 0; tries < 10; tries++) {
		reads = rdpmc(STAT_RDPMC);
		none = rdpmc(STAT_RDPMC) - reads;
		for (int i = 0; i < 10; i++)
			rdpmc(page->index - 1);
		ten = rdpmc(STAT_RDPMC) - reads;
		ck_assert_uint_ge(ten, 10);
		if (!none && ten == 10)
			return;
	}
	ck_abort_msg("%d RDPMCs for none, %d for ten", (int)none, (int)ten);
}
END_TEST

#define PERIOD 100003

START_TEST(overflows_are_exact)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(attr),
		.config = RAW_INSTRUCTIONS,
		.sample_period = PERIOD,
		.sample_type = PERF_SAMPLE_IP,
		.disabled = 1,
		.pinned = 1,
		.exclude_kernel = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	struct perf_event_mmap_page *page;
	uint64_t interrupts, samples = 0, at_dec = 0, at_jnz = 0;
	const char *ring;

	ck_assert_msg(fd >= 0, "perf_event_open: %m");
	page = map(fd, RING_PAGES);
	ring = (char *)page + PAGE;

	interrupts = rdpmc(STAT_PMI);
	enable(fd);
	loop(100 * PERIOD);
	disable(fd);
	interrupts = rdpmc(STAT_PMI) - interrupts;

	/* the ring is large enough not to wrap */
	ck_assert_uint_lt(page->data_head, RING_PAGES * PAGE);
	for (uint64_t at = 0; at < page->data_head; ) {
		const struct perf_event_header *head = (void *)(ring + at);
		const char *ip;

		/* nothing was lost, nothing throttled */
		ck_assert_uint_eq(head->type, PERF_RECORD_SAMPLE);
		memcpy(&ip, head + 1, sizeof(ip));
		at_dec += ip == loop_begin;
		at_jnz += ip > loop_begin && ip < loop_end;
		samples++;
		at += head->size;
	}
	ck_assert_uint_ge(samples, 200);
	ck_assert_uint_eq(samples, count(fd) / PERIOD);
	ck_assert_uint_eq(interrupts, samples);
	/*
	 * Only the first and the last period may end outside the loop.  There is no
	 * skid, so odd periods end at its two instructions alternately.
	 */
	ck_assert_uint_ge(at_dec + at_jnz, samples - 1);
	ck_assert_uint_ge(at_dec, samples / 2 - 1);
	ck_assert_uint_ge(at_jnz, samples / 2 - 1);
}
END_TEST

/* A hybrid processor that Linux knows: CPU 0 is a Core, CPU 1 an Atom. */
START_TEST(kinds)
{
	static const char *const pmus[] = {
		"/sys/bus/event_source/devices/cpu_core/type",
		"/sys/bus/event_source/devices/cpu_atom/type",
	};
	unsigned int a, b, c, d, masks[2], i, type, cpu;
	uint64_t counted[3];
	struct utsname name;
	cpu_set_t set;

	/* perf supports hybrid processors since 5.13 */
	ck_assert_int_eq(uname(&name), 0);
	ck_assert_int_eq(sscanf(name.release, "%u.%u", &a, &b), 2);
	if (a < 5 || (a == 5 && b < 13))
		return;
	for (cpu = 0; cpu < 2; cpu++) {
		FILE *f = fopen(pmus[cpu], "r");
		int fd;

		ck_assert_msg(f && fscanf(f, "%u", &type) == 1, "%s: %m", pmus[cpu]);
		fclose(f);
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		ck_assert_int_eq(sched_setaffinity(0, sizeof(set), &set), 0);
		__cpuid_count(7, 0, a, b, c, d);
		ck_assert_uint_eq(d >> 15 & 1, 1);
		__cpuid_count(7, 1, a, b, c, d);
		ck_assert_uint_eq(a >> 8 & 1, 1);
		__cpuid_count(0x1a, 0, a, b, c, d);
		ck_assert_uint_eq(a >> 24, cpu ? 0x20 : 0x40);
		__cpuid_count(0x23, 0, a, b, c, d);
		ck_assert_uint_eq(a, 3);
		__cpuid_count(0x23, 1, masks[0], masks[1], c, d);

		fd = event(type, RAW_INSTRUCTIONS, USER, -1, -1);
		map(fd, 0);
		for (i = 0; i < 16; i++) {
			ck_assert_int_eq(can_rdpmc(i), masks[0] >> i & 1);
			ck_assert_int_eq(can_rdpmc(FIXED + i), masks[1] >> i & 1);
		}
		enable(fd);
		for (i = 0; i < 3; i++) {
			loop(i == 2 ? 1000 : 1);
			counted[i] = count(fd);
		}
		ck_assert_uint_eq(counted[2] - counted[1], counted[1] - counted[0] + 2 * 999);
		close(fd);
	}
	/* the configuration of the suite */
	ck_assert_uint_eq(masks[0], 0x3f);
	ck_assert_uint_eq(masks[1], 0x7);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("PMU model");
	TCase *tcase = tcase_create("perf");
	TCase *hybrid = tcase_create("hybrid");
	SRunner *runner = srunner_create(suite);
	int failed;

	find_counters();
	suite_add_tcase(suite, tcase);
	tcase_set_timeout(tcase, 50);
	tcase_add_test(tcase, user_instructions_are_exact);
	tcase_add_test(tcase, all_counters_agree);
	tcase_add_test(tcase, user_and_kernel_add_up);
	tcase_add_test(tcase, cycles_are_a_multiple);
	tcase_add_test(tcase, reference_cycles_are_time);
	tcase_add_test(tcase, nothing_counts_while_halted);
	tcase_add_test(tcase, rdpmc_needs_permission);
	tcase_add_test(tcase, rdpmc_with_permission);
	tcase_add_test(tcase, rdpmc_is_exact);
	tcase_add_test(tcase, statistics_need_no_permission);
	tcase_add_test(tcase, statistics_count);
	tcase_add_test(tcase, overflows_are_exact);
	/* CK_RUN_CASE selects one of the two: they need different machines. */
	suite_add_tcase(suite, hybrid);
	tcase_add_test(hybrid, kinds);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
