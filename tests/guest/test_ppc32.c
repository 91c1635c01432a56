// SPDX-License-Identifier: GPL-2.0
/*
 * 32-bit PowerPC: the modes are those of all counters, in MMCR0.  Needs one CPU, and an emulator
 * that counts exactly.
 */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "suite.h"

#define FC	0x80000000U
#define FCS	0x40000000U
#define FCP	0x20000000U
#define FCM1	0x10000000U
#define FCM0	0x08000000U
#define PMXE	0x04000000U
#define TBEE	0x00400000U
#define THRESHOLD	0x003f0000U
#define THRESHMULT	0x80000000U

static int fd;

static void setup(void)
{
	fd = open_state(0);
}

static int set_global(u64 evntsel, u64 mmcr0, u64 mmcr2)
{
	struct control control;

	control_init(&control, 0);
	control_add(&control, 0, evntsel);
	control.c.global[0] = mmcr0;
	control.c.global[1] = mmcr2;
	return set_control(fd, &control);
}

/* Return what counter 0 counts in code with a loop of 2n instructions. */
static __attribute__((noinline, noclone)) u64 counted(unsigned long n)
{
	struct sums a, b;

	read_sums(fd, &a);
	loop(n);
	read_sums(fd, &b);
	return b.pmc[0] - a.pmc[0];
}

static bool has_mmcr2(void)
{
	return strstr(info.cpu_name, "PowerPC 74");
}

/*
 * True if the processor has the interrupt without an erratum.  A suite of a 7410 or 750FX of an
 * early revision has EARLY in the environment.
 */
static bool has_sound_interrupt(void)
{
	return nr_general() == 6 || strstr(info.cpu_name, "750GX") ||
	       ((strstr(info.cpu_name, "7410") || strstr(info.cpu_name, "750FX")) &&
		!getenv("EARLY"));
}

START_TEST(described)
{
	ck_assert_uint_eq(info.cpu_type, VPERFCTR_CPU_PPC32);
	ck_assert_uint_eq(info.nrctrs, __builtin_popcountll(info.pmc_mask));
	ck_assert_uint_eq(info.fixed_mask, 0);
	ck_assert_uint_eq(info.pmc_width, 32);
	/* All that can be read in user mode at all can be read. */
	ck_assert_uint_eq(!has(VPERFCTR_FEATURE_RDPMC), !strncmp(info.cpu_name, "PowerPC 604", 11));
	ck_assert_uint_eq(has(VPERFCTR_FEATURE_PCINT), has_sound_interrupt());
	ck_assert_uint_ne(info.tsc_khz, 0);
}
END_TEST

START_TEST(refused)
{
	static const u64 mmcr0[] = {
		FC, FCS | FCP, FCM0, FCM1 | FCM0, PMXE, TBEE, 0x02000000, 0x8000, 0x4000, 0x2000, 0x40, 1,
		1ULL << 32, 1ULL << 63,
	};
	struct control control;
	unsigned int i;

	for (i = 0; i < sizeof(mmcr0) / sizeof(mmcr0[0]); i++)
		assert_errno(set_global(INSNS_USER, mmcr0[i], 0), EINVAL);
	/* Both together leave no mode. */
	assert_errno(set_global(SEL_USER | INSNS, FCP, 0), EINVAL);
	assert_errno(set_global(SEL_KERNEL | INSNS, FCS, 0), EINVAL);
	assert_errno(set_global(INSNS_USER, 0, 1), EINVAL);
	assert_errno(set_global(INSNS_USER, 0, 1ULL << 32), EINVAL);
	ck_assert_int_eq(set_global(INSNS_USER, 0, THRESHMULT), has_mmcr2() ? 0 : -EINVAL);
	assert_ok(set_global(INSNS_USER, THRESHOLD, 0));
	/* Without counters there is nothing to set. */
	control_init(&control, 1);
	control.c.global[0] = FCS;
	assert_errno(set_control(fd, &control), EINVAL);
	/* Other modes than the first counter's. */
	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control_add(&control, 1, INSNS_BOTH);
	assert_errno(set_control(fd, &control), EINVAL);
	control.ctr[1].evntsel = INSNS_USER;
	assert_ok(set_control(fd, &control));
}
END_TEST

/* The selectors of PMC1 to PMC6 have 7, 6, 5, 5, 5 and 6 bits. */
START_TEST(selectors)
{
	static const unsigned int bits[] = { 7, 6, 5, 5, 5, 6 };
	struct control control;
	unsigned int i;

	for (i = 0; i < nr_general(); i++) {
		control_init(&control, 0);
		control_add(&control, i, SEL_USER | ((1U << bits[i]) - 1));
		assert_ok(set_control(fd, &control));
		control.ctr[0].evntsel = SEL_USER | 1U << bits[i];
		assert_errno(set_control(fd, &control), EINVAL);
	}
}
END_TEST

START_TEST(modes_in_global)
{
	u64 user, kernel, both;

	assert_ok(set_global(INSNS_BOTH, FCS, 0));
	counted(1);
	user = counted(1000);
	ck_assert_uint_eq(counted(2000), user + 2000);
	ck_assert_uint_lt(user, 2200);
	assert_ok(set_global(INSNS_USER, 0, 0));
	counted(1);
	ck_assert_uint_eq(counted(1000), user);

	assert_ok(set_global(INSNS_BOTH, FCP, 0));
	counted(1);
	kernel = counted(1);
	ck_assert_uint_gt(kernel, 100);
	/* Nothing of the loop, but perhaps an interrupt. */
	ck_assert_uint_lt(counted(100000), 100000);
	assert_ok(set_global(INSNS_BOTH, 0, 0));
	counted(1);
	both = counted(1000);
	ck_assert_uint_gt(both, user + kernel / 2);
}
END_TEST

/* No process is marked: FCM0, which would let nothing count, is refused. */
START_TEST(marks)
{
	u64 user;

	assert_ok(set_global(INSNS_USER, 0, 0));
	counted(1);
	user = counted(1000);
	assert_ok(set_global(INSNS_USER, FCM1, 0));
	counted(1);
	ck_assert_uint_eq(counted(1000), user);
}
END_TEST

static u64 of_perf(int event)
{
	u64 count;

	ck_assert_int_eq(read(event, &count, sizeof(count)), sizeof(count));
	return count;
}

static __attribute__((noinline, noclone)) u64 counted_by_perf(int event, unsigned long n)
{
	u64 before = of_perf(event);

	loop(n);
	return of_perf(event) - before;
}

/* Return what counter 0 counts in code with a floating point instruction. */
static __attribute__((noinline, noclone)) u64 counted_float(void)
{
	struct sums a, b;

	read_sums(fd, &a);
	asm volatile("fmr 0, 0" : : : "fr0");
	read_sums(fd, &b);
	return b.pmc[0] - a.pmc[0];
}

/*
 * After a context switch, the unit for floating point is disabled.  An instruction for it faults,
 * and is executed again: it completes once.
 */
START_TEST(disabled_unit)
{
	u64 enabled, disabled;

	assert_ok(set_global(INSNS_USER, 0, 0));
	counted_float();
	enabled = counted_float();
	usleep(1000);
	disabled = counted_float();
	ck_assert_uint_eq(disabled, enabled);
}
END_TEST

/* Return what counter 0 counts in code with or without a read of the processor's version. */
static __attribute__((noinline, noclone)) u64 counted_version(bool emulated)
{
	struct sums a, b;
	u32 version = 0;

	read_sums(fd, &a);
	asm volatile("	cmpwi	%1, 0\n"
		     "	beq	1f\n"
		     "	mfspr	%0, 287\n"
		     "	b	2f\n"
		     "1:	nop\n"
		     "	b	2f\n"
		     "2:" : "+r" (version) : "r" (emulated) : "cr0");
	read_sums(fd, &b);
	ck_assert_int_eq(!version, !emulated);
	return b.pmc[0] - a.pmc[0];
}

/* In user mode, the kernel emulates that instruction, which then has not completed. */
START_TEST(emulated_instruction)
{
	assert_ok(set_global(INSNS_USER, 0, 0));
	ck_assert_uint_eq(counted_version(true) + 1, counted_version(false));
}
END_TEST

/* The kernel's own driver counts the same. */
START_TEST(perf_agrees)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS, .exclude_kernel = 1, .exclude_hv = 1,
	};
	u64 once, ours;
	int event;

	assert_ok(set_global(INSNS_USER, 0, 0));
	counted(1);
	ours = counted(20000) - counted(10000);
	ck_assert_uint_eq(ours, 20000);
	assert_errno((int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0 ? -errno : 0,
		     has_perf() ? EBUSY : ENOENT);
	assert_ok(stop_all(fd));
	event = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (!has_perf()) {
		ck_assert_int_lt(event, 0);
		return;
	}
	ck_assert_int_ge(event, 0);
	counted_by_perf(event, 1);
	once = counted_by_perf(event, 10000);
	ck_assert_uint_eq(counted_by_perf(event, 20000) - once, ours);
	/* Now perf has the counters. */
	assert_errno(set_global(INSNS_USER, 0, 0), EBUSY);
	close(event);
	assert_ok(set_global(INSNS_USER, 0, 0));
}
END_TEST

/* Each counter can count cycles, and PMC1 to PMC4 instructions. */
START_TEST(all_counters)
{
	struct control control;
	struct sums a, b;
	unsigned int i, event;

	for (event = CYCLES; event <= INSNS; event++) {
		control_init(&control, 0);
		for (i = 0; i < nr_general() && (event == CYCLES || i < 4); i++)
			control_add(&control, i, SEL_USER | event);
		assert_ok(set_control(fd, &control));
		read_sums(fd, &a);
		loop(1000);
		read_sums(fd, &b);
		ck_assert_uint_gt(b.pmc[0] - a.pmc[0], 2000);
		ck_assert_uint_lt(b.pmc[0] - a.pmc[0], 2200);
		for (i = 1; i < control.c.nractrs; i++)
			ck_assert_uint_eq(b.pmc[i] - a.pmc[i], b.pmc[0] - a.pmc[0]);
	}
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, described);
	tcase_add_test(tc, refused);
	tcase_add_test(tc, selectors);
	tcase_add_test(tc, modes_in_global);
	tcase_add_test(tc, marks);
	tcase_add_test(tc, disabled_unit);
	tcase_add_test(tc, emulated_instruction);
	tcase_add_test(tc, perf_agrees);
	tcase_add_test(tc, all_counters);
}

int main(void)
{
	open_device();
	return run_tests("ppc32", add);
}
