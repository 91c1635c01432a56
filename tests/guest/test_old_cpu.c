// SPDX-License-Identifier: GPL-2.0
/*
 * Processors whose event selects are unlike those of all others: VIA C3, Pentium, Cyrix,
 * WinChip.
 *
 * Counts are exact.  VIA C3 and WinChip have no filter, so that their counts have those of the
 * kernel in them: there the least of some differences is exact, without an interrupt in it.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

#define TRIES	20

static int fd;

static bool has_modes(void)
{
	return info.cpu_type != VPERFCTR_CPU_VIA_C3 && info.cpu_type != VPERFCTR_CPU_WINCHIP;
}

static bool has_tsc(void)
{
	return info.cpu_type != VPERFCTR_CPU_WINCHIP;
}

/* The code for instructions in these modes: 1 kernel, 2 user. */
static u64 instructions(unsigned int modes)
{
	if (info.cpu_type == VPERFCTR_CPU_WINCHIP)
		return cpu_model() == 4 ? 0x02 : 0x16;
	return has_modes() ? 0x16 | modes << 6 : 0xc0;
}

static u64 cycles(unsigned int modes)
{
	if (info.cpu_type == VPERFCTR_CPU_WINCHIP)
		return cpu_model() == 4 ? 0x00 : 0x3f;
	return has_modes() ? 0x100 | modes << 6 : 0x79;
}

/* Count these events on the counters, in their order, and as many as there are. */
static unsigned int start(u64 first, u64 second)
{
	struct control control;
	unsigned int i, n = 0;

	control_init(&control, has_tsc());
	for (i = 0; i < 2; i++) {
		if (info.pmc_mask >> i & 1)
			control_add(&control, i, n++ ? second : first);
	}
	ck_assert_int_eq(set_control(fd, &control), 0);
	return n;
}

static void setup(void)
{
	fd = open_state(0);
}

static int check(u32 map, u64 evntsel)
{
	struct control control;
	int err;

	control_init(&control, 0);
	control_add(&control, map, evntsel);
	err = set_control(fd, &control);
	stop_all(fd);
	return err;
}

START_TEST(describes)
{
	ck_assert_uint_eq(info.nrctrs, (unsigned int)__builtin_popcountll(info.pmc_mask));
	ck_assert_uint_eq(info.fixed_mask, 0);
	ck_assert_uint_eq(info.features & VPERFCTR_FEATURE_PCINT, 0);
	ck_assert_uint_eq(info.max_period, 0);
	ck_assert_uint_eq(info.arch_events, VPERFCTR_EVENT_CYCLES | VPERFCTR_EVENT_INSTRUCTIONS);
	ck_assert_int_eq(!!(info.features & VPERFCTR_FEATURE_RDTSC), has_tsc());
	ck_assert_int_eq(!!info.tsc_khz, has_tsc());
}
END_TEST

/* There is no count of a TSC that the kernel does not use. */
START_TEST(tsc)
{
	struct control control;

	control_init(&control, 1);
	ck_assert_int_eq(set_control(fd, &control), has_tsc() ? 0 : -EOPNOTSUPP);
	control_add(&control, 1, instructions(2));
	ck_assert_int_eq(set_control(fd, &control), has_tsc() ? 0 : -EOPNOTSUPP);
}
END_TEST

/* Nothing can have executed RDTSC unnoticed, the module included. */
START_TEST(rdtsc_faults)
{
	unsigned int eax, ebx, ecx, edx;
	pid_t pid;

	/* Linux does not use the TSC of the first WinChip, but it is there. */
	if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) && (edx & 1U << 4))
		return;
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		rdtsc();
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 128 + SIGILL);
}
END_TEST

START_TEST(controls)
{
	struct control control;
	unsigned int i;

	for (i = 0; i < 3; i++)
		ck_assert_int_eq(check(i, instructions(2)), info.pmc_mask >> i & 1 ? 0 : -EINVAL);
	ck_assert_int_eq(check(VPERFCTR_FIXED, 2), -EINVAL);
	ck_assert_int_eq(check(1, instructions(2) | 0x200), -EINVAL);
	ck_assert_int_eq(check(1, instructions(2) | 0x400),
			 info.cpu_type == VPERFCTR_CPU_CYRIX ? 0 : -EINVAL);
	ck_assert_int_eq(check(1, instructions(2) | 0x410000), -EINVAL);
	if (has_modes()) {
		ck_assert_int_eq(check(1, instructions(0)), -EINVAL);
		ck_assert_int_eq(check(1, cycles(0)), -EINVAL);
	}
	if (info.cpu_type == VPERFCTR_CPU_WINCHIP) {
		ck_assert_int_eq(check(0, 0xff), 0);
		ck_assert_int_eq(check(0, 0x100), -EINVAL);
	}
	/* There is no overflow interrupt. */
	control_init(&control, 0);
	control_add(&control, 1, instructions(2));
	control.c.nractrs = 0;
	control.c.nrictrs = 1;
	control.ctr[0].ireset = -1000;
	ck_assert_int_eq(set_control(fd, &control), -EOPNOTSUPP);
}
END_TEST

/* Return the least that counter i counts during a loop of n, by READ or by the page. */
static u64 least(unsigned int i, unsigned long n, const struct vperfctr_page *page)
{
	u64 best = ~0ULL, count, before;
	struct sums sums[2];
	unsigned int try;

	for (try = 0; try < TRIES; try++) {
		if (page) {
			before = self_read(page, i);
			loop(n);
			count = self_read(page, i) - before;
		} else {
			read_sums(fd, &sums[0]);
			loop(n);
			read_sums(fd, &sums[1]);
			count = sums[1].pmc[i] - sums[0].pmc[i];
		}
		ck_assert(!has_modes() || !try || count == best);
		best = count < best ? count : best;
	}
	return best;
}

/* Instructions and cycles: one instruction is two cycles in the emulator. */
static void check_counts(const struct vperfctr_page *page)
{
	unsigned int i, n = start(instructions(2), cycles(2));

	for (i = 0; i < n; i++)
		ck_assert_uint_eq(least(i, 5000, page) - least(i, 1000, page), 2 * 4000 * (i + 1));
	n = start(cycles(2), instructions(2));
	for (i = 0; i < n; i++)
		ck_assert_uint_eq(least(i, 5000, page) - least(i, 1000, page), 2 * 4000 * (2 - i));
}

START_TEST(exact)
{
	check_counts(NULL);
}
END_TEST

START_TEST(user_reads)
{
	const struct vperfctr_page *page = map_state(fd);
	u64 value;

	if (info.features & VPERFCTR_FEATURE_RDPMC) {
		check_counts(page);
		return;
	}
	start(instructions(2), cycles(2));
	ck_assert_uint_eq(page->cstatus & VPERFCTR_CSTATUS_RDPMC, 0);
	ck_assert_int_ne(try_rdpmc(1, &value), 0);
}
END_TEST

/*
 * Kernel and user mode add up to both.  The two counters count in the same run: in another one,
 * the kernel would execute as much more as more interrupts came.
 */
START_TEST(modes)
{
	u64 both, one, user = 0;
	unsigned int m;

	if (!has_modes())
		return;
	for (m = 2; m; m--) {
		struct sums a, b;
		unsigned int i;

		start(instructions(3), instructions(m));
		read_sums(fd, &a);
		for (i = 0; i < 100; i++) {
			loop(100);
			getppid();
		}
		read_sums(fd, &b);
		both = b.pmc[0] - a.pmc[0];
		one = b.pmc[1] - a.pmc[1];
		if (m == 2) {
			user = one;
			ck_assert_uint_gt(user, 20000);
			ck_assert_uint_gt(both, user + 2000);
		} else {
			/* READ reads one counter after the other, while both count. */
			ck_assert_uint_ge(both - one, user - 500);
			ck_assert_uint_le(both - one, user + 500);
		}
	}
}
END_TEST

/* A count has nothing that another process executes, not even of one that counts, too. */
START_TEST(other_processes)
{
	struct sums a, b;
	int status;
	pid_t pid;

	start(instructions(2), instructions(2));
	read_sums(fd, &a);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		fd = open_state(0);
		start(instructions(2), cycles(2));
		loop(5000000);
		_exit(least(0, 5000, NULL) - least(0, 1000, NULL) == 8000 ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	read_sums(fd, &b);
	ck_assert_uint_lt(b.pmc[0] - a.pmc[0], 2000000);
}
END_TEST

/* The state survives exec: see main(). */
START_TEST(survives_exec)
{
	int status;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		fd = open_state(0);
		start(instructions(2), instructions(2));
		loop(1000000);
		execl("/proc/self/exe", "test_old_cpu", "after-exec", NULL);
		_exit(99);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

static int after_exec(void)
{
	struct sums sums;

	read_sums(try_open_state(0), &sums);
	return sums.pmc[0] > 2000000 && sums.pmc[0] < (has_modes() ? 4000000 : 40000000) ? 0 : 1;
}

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, describes);
	tcase_add_test(tc, tsc);
	tcase_add_test(tc, rdtsc_faults);
	tcase_add_test(tc, controls);
	tcase_add_test(tc, exact);
	tcase_add_test(tc, user_reads);
	tcase_add_test(tc, modes);
	tcase_add_test(tc, other_processes);
	tcase_add_test(tc, survives_exec);
}

int main(int argc, char **argv)
{
	open_device();
	if (argc > 1 && !strcmp(argv[1], "after-exec"))
		return after_exec();
	return run_tests("old CPU", add);
}
