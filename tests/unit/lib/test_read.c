// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Tests of reads: interrupted by a context switch, across wraps, without RDPMC, suspended,
 * by descriptor.  Each compares the values with what the model has counted.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"

#define DELTA	1000	/* more than what odd counters have left before they wrap */

static struct vperfctr *v;
static unsigned int switch_at[2];
static uint32_t flags_after;

static void setup(void)
{
	fake_reset();
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
}

static void teardown(void)
{
	fake.on_step = NULL;
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	vperfctr_close(v);
}

static void on_step_switch(unsigned int step)
{
	if (step == switch_at[0] || step == switch_at[1])
		fake_switch(DELTA + step);
}

static void on_step_switch_to(unsigned int step)
{
	if (step == switch_at[0])
		fake_switch_to(DELTA, flags_after);
}

static void start(unsigned int nr, bool tsc_on)
{
	fake.on_step = NULL;
	fake_run(nr, tsc_on);
	fake_count(DELTA);
	fake.steps = 0;
	fake.rdpmcs = fake.rdtscs = 0;
	memset(fake.calls, 0, sizeof(fake.calls));
}

/* ---- what is read: each returns nothing and checks the values ------------------ */

static void check_pmc(unsigned int i)
{
	uint64_t value = 0;

	ck_assert_int_eq(vperfctr_read_pmc(v, i, &value), 0);
	ck_assert_uint_eq(value, fake.counted[i]);
}

static void check_tsc(void)
{
	uint64_t value = 0;

	ck_assert_int_eq(vperfctr_read_tsc(v, &value), 0);
	ck_assert_uint_eq(value, fake.tsc_counted);
}

static void check_counted(const uint64_t *pmc, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		ck_assert_msg(pmc[i] == fake.counted[i], "counter %u: %llx, not %llx", i,
			      (unsigned long long)pmc[i], (unsigned long long)fake.counted[i]);
}

static void check_four(void)
{
	uint64_t pmc[4] = { 0 };

	ck_assert_int_eq(vperfctr_read(v, NULL, pmc, 4), 0);
	check_counted(pmc, 4);
}

static void check_four_and_tsc(void)
{
	uint64_t pmc[4] = { 0 }, tsc = 0;

	ck_assert_int_eq(vperfctr_read(v, &tsc, pmc, 4), 0);
	ck_assert_uint_eq(tsc, fake.tsc_counted);
	check_counted(pmc, 4);
}

/* Test the loop: volatile hides from the compiler that nr is constant. */
static void check_many(void)
{
	volatile unsigned int nr = 12;
	uint64_t pmc[13] = { 0 }, tsc = 0;

	ck_assert_int_eq(vperfctr_read(v, &tsc, pmc, nr), 0);
	ck_assert_uint_eq(tsc, fake.tsc_counted);
	check_counted(pmc, 12);
	ck_assert_uint_eq(pmc[12], 0);
}

static void check_one(void)
{
	check_pmc(2);
}

static void check_one_that_wraps(void)
{
	check_pmc(1);
}

static const struct {
	void (*read)(void);
	unsigned int nr;
} reads[] = {
	{ check_one, 4 },
	{ check_one_that_wraps, 4 },
	{ check_tsc, 4 },
	{ check_four, 4 },
	{ check_four_and_tsc, 4 },
	{ check_many, 12 },
};

/* ---- without interruption -------------------------------------------------------- */

START_TEST(undisturbed)
{
	start(reads[_i].nr, true);
	reads[_i].read();
	/* A second read works as well. */
	fake_count(5);
	reads[_i].read();
	ck_assert_uint_eq(fake.calls[FAKE_READ], 0);
	ck_assert_uint_gt(fake.rdpmcs + fake.rdtscs, 0);
}
END_TEST

/* A read executes one RDPMC per counter, and RDTSC only if the TSC is wanted. */
START_TEST(no_more_than_needed)
{
	start(4, true);
	check_four();
	ck_assert_uint_eq(fake.rdpmcs, 4);
	ck_assert_uint_eq(fake.rdtscs, 0);
	start(4, true);
	check_tsc();
	ck_assert_uint_eq(fake.rdpmcs, 0);
	ck_assert_uint_eq(fake.rdtscs, 1);
	start(4, true);
	check_pmc(3);
	ck_assert_uint_eq(fake.rdpmcs, 1);
	ck_assert_uint_eq(fake.rdtscs, 0);
}
END_TEST

START_TEST(widths)
{
	static const unsigned int bits[] = { 32, 40, 48, 64 };

	fake.mask = bits[_i] == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits[_i]) - 1;
	start(4, true);
	check_four();
	check_pmc(0);
	check_pmc(1);
	/* Advance nearly the whole width. */
	fake_count(fake.mask - 2 * DELTA);
	check_four();
	check_pmc(1);
}
END_TEST

/* ---- switched out and in in the middle -------------------------------------------- */

START_TEST(one_switch)
{
	unsigned int last = 0;

	switch_at[1] = -1;
	for (switch_at[0] = 0; switch_at[0] <= last; switch_at[0]++) {
		start(reads[_i].nr, true);
		fake.on_step = on_step_switch;
		reads[_i].read();
		fake.on_step = NULL;
		if (!switch_at[0])
			ck_assert_uint_gt(fake.steps, 3);
		/* Repeat until the read ends before the interruption. */
		if (fake.steps > switch_at[0])
			last = fake.steps;
	}
	ck_assert_uint_eq(fake.calls[FAKE_READ], 0);
}
END_TEST

START_TEST(two_switches)
{
	unsigned int steps;

	start(reads[_i].nr, true);
	reads[_i].read();
	steps = 3 * fake.steps;
	for (switch_at[0] = 0; switch_at[0] < steps; switch_at[0]++)
		for (switch_at[1] = switch_at[0] + 1; switch_at[1] < steps; switch_at[1]++) {
			start(reads[_i].nr, true);
			fake.on_step = on_step_switch;
			reads[_i].read();
			fake.on_step = NULL;
		}
}
END_TEST

/* samplecount wraps, too. */
START_TEST(samplecount_wraps)
{
	switch_at[1] = -1;
	for (switch_at[0] = 0; switch_at[0] < 8; switch_at[0]++) {
		start(4, true);
		fake_page()->samplecount = UINT32_MAX;
		fake.on_step = on_step_switch;
		check_four();
		fake.on_step = NULL;
	}
}
END_TEST

/* ---- the page cannot be used any more -------------------------------------------------- */

static const struct {
	uint32_t flags;
	bool asks_kernel;
} after[] = {
	/* RDPMC is not allowed any more */
	{ VPERFCTR_CSTATUS_RUNNING | VPERFCTR_CSTATUS_TSC, true },
	/* suspended: the sums are in the page */
	{ VPERFCTR_CSTATUS_TSC, false },
	{ 0, false },
};

static void withdraw_at(unsigned int step, unsigned int which, unsigned int read)
{
	unsigned int rdpmcs;

	switch_at[0] = step;
	flags_after = after[which].flags;
	start(reads[read].nr, true);
	fake.on_step = on_step_switch_to;
	reads[read].read();
	if (fake.steps <= step)
		return;	/* it had ended before this step */
	fake.on_step = NULL;
	/* From now on the read executes neither instruction. */
	rdpmcs = fake.rdpmcs;
	if (reads[read].read != check_tsc) {
		fake.calls[FAKE_READ] = 0;
		reads[read].read();
		ck_assert_uint_eq(fake.calls[FAKE_READ], after[which].asks_kernel);
	}
	ck_assert_uint_eq(fake.rdpmcs, rdpmcs);
}

START_TEST(withdrawn)
{
	unsigned int which, step;

	for (which = 0; which < 3; which++)
		for (step = 0; step < 60; step++)
			withdraw_at(step, which, _i);
}
END_TEST

/* Reads before and after a suspended state is resumed. */
START_TEST(resumed)
{
	start(4, true);
	fake_switch_to(DELTA, VPERFCTR_CSTATUS_TSC);
	check_four_and_tsc();
	fake_count(DELTA);	/* is suspended: does nothing */
	check_four_and_tsc();
	fake_switch_to(DELTA, VPERFCTR_CSTATUS_TSC | VPERFCTR_CSTATUS_RUNNING |
			      VPERFCTR_CSTATUS_RDPMC);
	fake_count(DELTA);
	check_four_and_tsc();
	check_pmc(0);
	check_tsc();
	ck_assert_uint_eq(fake.calls[FAKE_READ], 0);
}
END_TEST

static void on_step_resume_and_suspend(unsigned int step)
{
	if (step == switch_at[0]) {
		fake_switch_to(0, VPERFCTR_CSTATUS_TSC | VPERFCTR_CSTATUS_RUNNING |
				  VPERFCTR_CSTATUS_RDPMC);
		fake_switch_to(DELTA, VPERFCTR_CSTATUS_TSC);
	}
}

/* A signal handler interrupts a read of a suspended state, resumes, and suspends again. */
START_TEST(resumed_in_between)
{
	for (switch_at[0] = 0; switch_at[0] < 12; switch_at[0]++) {
		start(reads[_i].nr, true);
		fake_switch_to(DELTA, VPERFCTR_CSTATUS_TSC);
		fake.on_step = on_step_resume_and_suspend;
		reads[_i].read();
		fake.on_step = NULL;
	}
}
END_TEST

/* Without tsc_on the TSC's value is 0, whatever the register contains. */
START_TEST(tsc_off)
{
	uint64_t tsc = 1;

	start(4, false);
	check_four();
	ck_assert_int_eq(vperfctr_read_tsc(v, &tsc), 0);
	ck_assert_uint_eq(tsc, 0);
	ck_assert_uint_eq(fake.rdtscs, 0);
	check_four_and_tsc();
}
END_TEST

/* A control of the TSC alone, as on a processor without counters. */
START_TEST(tsc_only)
{
	uint64_t tsc = 0;

	start(0, true);
	fake_page()->cstatus &= ~VPERFCTR_CSTATUS_RDPMC;
	check_tsc();
	ck_assert_int_eq(vperfctr_read(v, &tsc, NULL, 0), 0);
	ck_assert_uint_eq(tsc, fake.tsc_counted);
	ck_assert_uint_eq(fake.calls[FAKE_READ], 0);
}
END_TEST

/*
 * A counter that does not exist is an error, whether the suspended page is read, the kernel
 * reads, or RDPMC is allowed.
 */
START_TEST(no_such_counter)
{
	static const uint32_t flags[] = {
		0, VPERFCTR_CSTATUS_RUNNING,
		VPERFCTR_CSTATUS_TSC | VPERFCTR_CSTATUS_RUNNING | VPERFCTR_CSTATUS_RDPMC,
	};
	uint64_t value = 42, pmc[8];
	volatile unsigned int four = 4, huge = UINT32_MAX;
	struct vperfctr_region region;

	start(4, true);
	fake_switch_to(DELTA, flags[_i]);
	ck_assert_int_eq(vperfctr_read_pmc(v, 4, &value), -EINVAL);
	ck_assert_int_eq(vperfctr_read_pmc(v, four, &value), -EINVAL);
	ck_assert_int_eq(vperfctr_read_pmc(v, UINT32_MAX, &value), -EINVAL);
	ck_assert_int_eq(vperfctr_read_pmc(v, huge, &value), -EINVAL);
	ck_assert_uint_eq(value, 42);
	ck_assert_int_eq(vperfctr_read(v, NULL, pmc, 5), -EINVAL);
	ck_assert_int_eq(vperfctr_read(v, &value, pmc, four + 1), -EINVAL);
	ck_assert_int_eq(vperfctr_read(v, NULL, pmc, huge), -EINVAL);
	ck_assert_uint_eq(value, 42);
	ck_assert_int_eq(vperfctr_region_init(&region, v, 5), -EINVAL);
	ck_assert_int_eq(vperfctr_region_init(&region, v, 4), 0);
	ck_assert_uint_eq(vperfctr_region_pmc(&region, 3), 0);
	ck_assert_uint_eq(vperfctr_region_pmc(&region, 4), UINT64_MAX);
	ck_assert_uint_eq(vperfctr_region_pmc(&region, huge), UINT64_MAX);
	check_pmc(3);
	check_four();
}
END_TEST

START_TEST(kernel_fails)
{
	uint64_t value, pmc[4];

	start(4, true);
	fake_switch_to(DELTA, VPERFCTR_CSTATUS_RUNNING);
	fake.fail[FAKE_READ] = EFAULT;
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &value), -EFAULT);
	ck_assert_int_eq(vperfctr_read_tsc(v, &value), -EFAULT);
	ck_assert_int_eq(vperfctr_read(v, &value, pmc, 4), -EFAULT);
}
END_TEST

/* ---- without the page, by another holder -------------------------------------------------- */

START_TEST(by_descriptor)
{
	struct vperfctr *owner = v, *monitor;

	start(4, true);
	ck_assert_int_eq(vperfctr_open_fd(&monitor, dup(vperfctr_fd(owner)), 0), 0);
	ck_assert_uint_eq(fake.calls[FAKE_MMAP], 0);
	fake.calls[FAKE_READ] = 0;
	v = monitor;
	check_pmc(1);
	check_tsc();
	check_four();
	check_four_and_tsc();
	/* The handle has no page, also when the state is suspended. */
	fake_switch_to(DELTA, VPERFCTR_CSTATUS_TSC);
	check_four_and_tsc();
	ck_assert_uint_eq(fake.calls[FAKE_READ], 5);
	ck_assert_uint_eq(fake.rdpmcs + fake.rdtscs, 0);
	vperfctr_close(monitor);
	v = owner;
}
END_TEST

START_TEST(by_descriptor_mapped)
{
	struct vperfctr *first = v, *second;

	start(4, true);
	ck_assert_int_eq(vperfctr_open_fd(&second, dup(vperfctr_fd(first)), VPERFCTR_FD_MAP), 0);
	fake.calls[FAKE_READ] = 0;
	v = second;
	check_four_and_tsc();
	ck_assert_uint_eq(fake.calls[FAKE_READ], 0);
	vperfctr_close(second);
	v = first;
	/* Each handle has its own mapping. */
	check_four_and_tsc();
}
END_TEST

static void on_step_control(unsigned int step)
{
	if (step == switch_at[0])
		fake_run(4, true);
}

/* A monitor controls the owner's state while the owner reads: it gets no EPERM. */
START_TEST(controlled_meanwhile)
{
	uint64_t value = 0;
	int err;

	switch_at[0] = 0;
	do {
		fake_page()->cstatus = 0;
		fake.steps = 0;
		fake.on_step = on_step_control;
		err = vperfctr_read_pmc(v, 1, &value);
		fake.on_step = NULL;
		ck_assert(!err || err == -EINVAL);
		if (!err)
			ck_assert_uint_eq(value, fake.counted[1]);
	} while (fake.steps > switch_at[0]++);
	ck_assert_uint_gt(switch_at[0], 2);
}
END_TEST

/* ---- by another thread ------------------------------------------------------------------- */

/* Another thread gets an error, whatever the flags in the page, and never a wrong value. */
START_TEST(foreign)
{
	static const uint32_t flags[] = {
		VPERFCTR_CSTATUS_TSC | VPERFCTR_CSTATUS_RUNNING | VPERFCTR_CSTATUS_RDPMC,
		VPERFCTR_CSTATUS_TSC | VPERFCTR_CSTATUS_RUNNING, VPERFCTR_CSTATUS_TSC, 0,
	};
	/* The bits in which addresses of thread control blocks can differ. */
	unsigned int bit = 4 + (unsigned int)_i % 53;
	uint64_t value = 42, pmc[4];

	start(4, true);
	fake_switch_to(DELTA, flags[_i / 53]);
	check_four_and_tsc();
	fake.thread ^= (uintptr_t)1 << bit;
	fake.calls[FAKE_READ] = 0;
	ck_assert_int_eq(vperfctr_read_pmc(v, 1, &value), -EPERM);
	ck_assert_int_eq(vperfctr_read_tsc(v, &value), -EPERM);
	ck_assert_int_eq(vperfctr_read(v, NULL, pmc, 4), -EPERM);
	ck_assert_int_eq(vperfctr_read(v, &value, pmc, 4), -EPERM);
	ck_assert_int_eq(vperfctr_read(v, &value, NULL, 0), -EPERM);
	ck_assert_uint_eq(value, 42);
	/* READ would interrupt a running owner. */
	if (flags[_i / 53] & VPERFCTR_CSTATUS_RUNNING)
		ck_assert_uint_eq(fake.calls[FAKE_READ], 0);
	ck_assert_int_eq(vperfctr_read(v, NULL, NULL, 0), -EPERM);
	ck_assert_int_eq(vperfctr_read_soft(v, VPERFCTR_SOFT_TASK_CLOCK, &value), -EPERM);
	fake.thread ^= (uintptr_t)1 << bit;
	check_four_and_tsc();
}
END_TEST

/* The number of the first read that the child of a fork was not refused, or 0. */
static int read_in_child(void)
{
	uint64_t value, pmc[4];

	if (vperfctr_read_pmc(v, 1, &value) != -EPERM)
		return 1;
	if (vperfctr_read(v, NULL, pmc, 4) != -EPERM)
		return 2;
	if (vperfctr_read_tsc(v, &value) != -EPERM)
		return 3;
	/* There is nothing to read, or it is no counter. */
	if (vperfctr_read(v, NULL, NULL, 0) != -EPERM)
		return 4;
	if (vperfctr_read_soft(v, VPERFCTR_SOFT_TASK_CLOCK, &value) != -EPERM)
		return 5;
	return 0;
}

/*
 * The child of a fork, which has the dead page (0), or of a vfork, which has the owner's page
 * (1): both have the owner's thread pointer.
 */
START_TEST(child)
{
	int status;
	pid_t pid;

	start(4, true);
	fake_switch_to(DELTA, VPERFCTR_CSTATUS_RUNNING);
	pid = fork();
	if (!pid) {
		if (!_i)
			memset(fake_page(), 0, sizeof(struct vperfctr_page));
		_exit(read_in_child());
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* Any thread can read a state that has no thread any more. */
START_TEST(foreign_of_none)
{
	start(4, true);
	fake_switch_to(DELTA, 0);
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	check_four_and_tsc();
	fake.thread ^= 0x1000;
	fake.calls[FAKE_READ] = 0;
	check_four_and_tsc();
	/* the kernel reads: the page's owner is unknown */
	ck_assert_uint_gt(fake.calls[FAKE_READ], 0);
}
END_TEST

/* Any thread can read by a handle without a page. */
START_TEST(foreign_without_page)
{
	struct vperfctr *owner = v;

	start(4, true);
	ck_assert_int_eq(vperfctr_open_fd(&v, dup(vperfctr_fd(owner)), 0), 0);
	fake.thread ^= 0x1000;
	check_four_and_tsc();
	vperfctr_close(v);
	v = owner;
}
END_TEST

/* ---- regions --------------------------------------------------------------------------- */

static struct vperfctr_region region;

/* Each step of a read counts 10 of each event. */
static void on_step_cost(unsigned int step)
{
	(void)step;
	fake_count(10);
}

static void check_region(unsigned int passes, uint64_t each)
{
	unsigned int i;

	ck_assert_uint_eq(vperfctr_region_passes(&region), passes);
	for (i = 0; vperfctr_region_pmc(&region, i) != UINT64_MAX; i++)
		ck_assert_uint_eq(vperfctr_region_pmc(&region, i), each);
	ck_assert_uint_eq(vperfctr_region_tsc(&region), each);
}

/* 1: the processor executes neither RDPMC nor RDTSC in order. */
START_TEST(region_exact)
{
	unsigned int nr;

	for (nr = 0; nr <= 4; nr++) {
		start(4, true);
		fake.on_step = on_step_cost;
		fake.early = _i ? 200 : 0;
		ck_assert_int_eq(vperfctr_region_init(&region, v, nr), 0);
		check_region(0, 0);
		vperfctr_region_begin(&region);
		ck_assert_int_eq(vperfctr_region_end(&region), 0);
		check_region(1, 0);
		vperfctr_region_begin(&region);
		fake_count(1234);
		ck_assert_int_eq(vperfctr_region_end(&region), 0);
		vperfctr_region_begin(&region);
		fake_count(1);
		ck_assert_int_eq(vperfctr_region_end(&region), 0);
		check_region(3, 1235);
		/* A pass without an end is dropped. */
		vperfctr_region_begin(&region);
		fake_count(50);
		vperfctr_region_begin(&region);
		fake_count(5);
		ck_assert_int_eq(vperfctr_region_end(&region), 0);
		check_region(4, 1240);
		ck_assert_uint_eq(vperfctr_region_disturbed(&region), 0);
		ck_assert_uint_eq(fake.calls[FAKE_READ], 0);
		/* A pass that counts less than the cost counts 0 and does not wrap. */
		fake.on_step = NULL;
		vperfctr_region_begin(&region);
		ck_assert_int_eq(vperfctr_region_end(&region), 0);
		ck_assert_uint_lt(vperfctr_region_tsc(&region), 1241);
		ck_assert_int_eq(vperfctr_region_init(&region, v, nr), 0);
		vperfctr_region_begin(&region);
		ck_assert_int_eq(vperfctr_region_end(&region), 0);
		check_region(1, 0);
	}
}
END_TEST

static void on_step_disturb(unsigned int step)
{
	if (step == switch_at[0])
		fake_switch(0);
}

/* A switch at each step of begin and end is reported, if the read started over. */
START_TEST(region_disturbed)
{
	unsigned int disturbed = 0;

	start(4, true);
	ck_assert_int_eq(vperfctr_region_init(&region, v, 4), 0);
	fake.on_step = on_step_disturb;
	for (switch_at[0] = 0; switch_at[0] < 60; switch_at[0]++) {
		fake.steps = fake.rdpmcs = 0;
		vperfctr_region_begin(&region);
		fake_count(100);
		ck_assert_int_eq(vperfctr_region_end(&region), 0);
		disturbed += fake.rdpmcs > 2 * 4;
	}
	ck_assert_uint_gt(vperfctr_region_disturbed(&region), 2);
	ck_assert_uint_eq(vperfctr_region_disturbed(&region), disturbed);
	check_region(60, 6000);
}
END_TEST

START_TEST(region_errors)
{
	start(4, true);
	ck_assert_int_eq(vperfctr_region_init(&region, v, VPERFCTR_MAX_CTRS + 1), -EINVAL);
	ck_assert_int_eq(vperfctr_region_init(&region, v, 4), 0);
	ck_assert_int_eq(vperfctr_region_end(&region), -EINVAL);
	ck_assert_int_eq(vperfctr_region_init(&region, v, 4), 0);
	vperfctr_region_begin(&region);
	ck_assert_int_eq(vperfctr_region_end(&region), 0);
	ck_assert_int_eq(vperfctr_region_end(&region), -EINVAL);
	/* The error persists. */
	vperfctr_region_begin(&region);
	ck_assert_int_eq(vperfctr_region_end(&region), -EINVAL);

	/* RDPMC is disabled before begin, or between begin and end. */
	ck_assert_int_eq(vperfctr_region_init(&region, v, 4), 0);
	vperfctr_region_begin(&region);
	fake_switch_to(DELTA, VPERFCTR_CSTATUS_TSC | VPERFCTR_CSTATUS_RUNNING);
	ck_assert_int_eq(vperfctr_region_end(&region), -EAGAIN);
	vperfctr_region_begin(&region);
	ck_assert_int_eq(vperfctr_region_end(&region), -EAGAIN);
	ck_assert_uint_eq(vperfctr_region_passes(&region), 0);
	/* After another calibration the kernel reads. */
	ck_assert_int_eq(vperfctr_region_init(&region, v, 4), 0);
	vperfctr_region_begin(&region);
	fake_count(77);
	ck_assert_int_eq(vperfctr_region_end(&region), 0);
	check_region(1, 77);
	vperfctr_region_begin(&region);
	fake.fail[FAKE_READ] = EFAULT;
	ck_assert_int_eq(vperfctr_region_end(&region), -EFAULT);
	ck_assert_int_eq(vperfctr_region_init(&region, v, 4), -EFAULT);
	fake.fail[FAKE_READ] = 0;
	/* A begin that fails leaves the first error. */
	ck_assert_int_eq(vperfctr_region_init(&region, v, 4), 0);
	ck_assert_int_eq(vperfctr_region_end(&region), -EINVAL);
	fake.fail[FAKE_READ] = EFAULT;
	vperfctr_region_begin(&region);
	fake.fail[FAKE_READ] = 0;
	ck_assert_int_eq(vperfctr_region_end(&region), -EINVAL);
	/* More counters than the control has. */
	ck_assert_int_eq(vperfctr_region_init(&region, v, 5), -EINVAL);
	/* Another thread. */
	ck_assert_int_eq(vperfctr_region_init(&region, v, 4), 0);
	fake.thread ^= 0x40;
	vperfctr_region_begin(&region);
	ck_assert_int_eq(vperfctr_region_end(&region), -EPERM);
	ck_assert_int_eq(vperfctr_region_init(&region, v, 4), -EPERM);
	fake.thread ^= 0x40;
	ck_assert_int_eq(vperfctr_region_init(&region, v, 4), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("lib-read");
	TCase *t = tcase_create("read");
	const int nreads = sizeof(reads) / sizeof(reads[0]);

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, undisturbed, 0, nreads);
	tcase_add_test(t, no_more_than_needed);
	tcase_add_loop_test(t, widths, 0, 4);
	tcase_add_loop_test(t, one_switch, 0, nreads);
	tcase_add_loop_test(t, two_switches, 0, nreads);
	tcase_add_test(t, samplecount_wraps);
	tcase_add_loop_test(t, withdrawn, 0, nreads);
	tcase_add_test(t, resumed);
	tcase_add_loop_test(t, resumed_in_between, 0, nreads);
	tcase_add_test(t, tsc_off);
	tcase_add_test(t, tsc_only);
	tcase_add_loop_test(t, no_such_counter, 0, 3);
	tcase_add_test(t, kernel_fails);
	tcase_add_test(t, by_descriptor);
	tcase_add_test(t, by_descriptor_mapped);
	tcase_add_loop_test(t, foreign, 0, 4 * 53);
	tcase_add_loop_test(t, child, 0, 2);
	tcase_add_test(t, controlled_meanwhile);
	tcase_add_test(t, foreign_of_none);
	tcase_add_test(t, foreign_without_page);
	tcase_add_loop_test(t, region_exact, 0, 2);
	tcase_add_test(t, region_disturbed);
	tcase_add_test(t, region_errors);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
