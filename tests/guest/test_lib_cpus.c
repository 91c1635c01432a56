// SPDX-License-Identifier: GPL-2.0
/* The library's calls for CPUs: see test_cpus.c for the module's. */
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vperfctr.h>

#include "suite.h"

#define MAX_CPUS	64
#define N		1000000UL

static struct vperfctr_cpu cpus[MAX_CPUS];
static u64 sums[MAX_CPUS][2];		/* the TSC; instructions in user mode */

static int start(struct vperfctr *v)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[1];

	vperfctr_control_init(&control, ctr);
	vperfctr_control_add(&control, 0, INSNS_USER);
	return vperfctr_control(v, &control);
}

static unsigned int read_all(struct vperfctr *v)
{
	struct vperfctr_read_cpus read = {
		.nrcpus = MAX_CPUS, .nrctrs = 1, .cpus = (uintptr_t)cpus, .sums = (uintptr_t)sums,
	};

	assert_ok(vperfctr_read_cpus(v, &read));
	ck_assert_uint_eq(read.nrctrs, 1);
	return read.nrcpus;
}

static unsigned int find_cpu(unsigned int nr, u32 cpu)
{
	unsigned int i;

	for (i = 0; i < nr && cpus[i].cpu != cpu; i++)
		;
	ck_assert_uint_lt(i, nr);
	return i;
}

START_TEST(all_cpus)
{
	unsigned int nr, i;
	struct vperfctr *v;
	u64 before;

	assert_ok(vperfctr_open_cpus(&v, NULL, 0));
	assert_ok(start(v));
	nr = read_all(v);
	ck_assert_int_eq(nr, nr_cpus());
	pin(nr_cpus() - 1);
	nr = read_all(v);
	i = find_cpu(nr, nr_cpus() - 1);
	ck_assert_uint_eq(cpus[i].status, VPERFCTR_CPU_STATUS_COUNTS);
	before = sums[i][1];
	loop(N);
	read_all(v);
	ck_assert_uint_ge(sums[i][1] - before, 2 * N);
	/* Other threads may run here, for a short time. */
	ck_assert_uint_le(sums[i][1] - before, 4 * N);
	assert_ok(vperfctr_suspend(v));
	read_all(v);
	before = sums[i][1];
	loop(N);
	read_all(v);
	ck_assert_uint_eq(sums[i][1], before);
	assert_ok(vperfctr_resume(v));
	loop(N);
	read_all(v);
	ck_assert_uint_ge(sums[i][1] - before, 2 * N);
	assert_ok(vperfctr_stop(v));
	vperfctr_close(v);
}
END_TEST

START_TEST(a_mask)
{
	struct vperfctr_cpu_mask *mask;
	struct vperfctr *v;

	assert_ok(vperfctr_cpus(&mask));
	memset(mask->mask, 0, mask->nrwords * sizeof(mask->mask[0]));
	v = (void *)1;
	assert_errno(vperfctr_open_cpus(&v, mask, 0), EINVAL);
	ck_assert_ptr_null(v);
	mask->mask[0] = 1;
	assert_errno(vperfctr_open_cpus(&v, mask, 0x80), EINVAL);
	assert_ok(vperfctr_open_cpus(&v, mask, 0));
	assert_ok(start(v));
	ck_assert_uint_eq(read_all(v), 1);
	ck_assert_uint_eq(cpus[0].cpu, 0);
	vperfctr_close(v);
	free(mask);
}
END_TEST

START_TEST(errors)
{
	struct vperfctr_read_cpus read = { .cpus = (uintptr_t)cpus };
	struct vperfctr *v, *thread;
	struct stat device;
	u64 value;

	assert_ok(vperfctr_open_cpus(&v, NULL, 0));
	assert_ok(start(v));
	assert_errno(vperfctr_read_cpus(v, &read), EOVERFLOW);
	ck_assert_int_eq(read.nrcpus, nr_cpus());
	ck_assert_uint_eq(read.nrctrs, 1);
	read.cpus = 8;
	assert_errno(vperfctr_read_cpus(v, &read), EFAULT);
	assert_errno(vperfctr_read_pmc(v, 0, &value), ENOTTY);
	/* Threads wait, and are told. */
	assert_ok(vperfctr_open(&thread, VPERFCTR_OPEN_CREAT));
	assert_errno(start(thread), EBUSY);
	assert_errno(vperfctr_read_cpus(thread, &read), ENOTTY);
	vperfctr_close(v);
	assert_ok(start(thread));
	vperfctr_close(thread);
	/* A member of the device's group. */
	assert_ok(stat("/dev/vperfctr", &device));
	assert_ok(setgid(device.st_gid));
	assert_ok(setuid(NOBODY));
	assert_errno(vperfctr_open_cpus(&v, NULL, 0), EPERM);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, all_cpus);
	tcase_add_test(tc, a_mask);
	tcase_add_test(tc, errors);
}

int main(void)
{
	open_device();
	return run_tests("library, CPUs", add);
}
