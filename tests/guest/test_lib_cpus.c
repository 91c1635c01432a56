// SPDX-License-Identifier: GPL-2.0
/* The library's calls for CPUs: see test_cpus.c for the module's. */
#include <sched.h>
#include <signal.h>
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

/* True if the page has two equal counters, as vperfctr_read_cpus() has returned them. */
static bool same_as_read(const struct vperfctr_page *page, u64 sum)
{
	uint64_t pmc[3];

	return vperfctr_read_cpu_page(page, NULL, pmc, 3) == 2 && pmc[0] == sum && pmc[1] == sum;
}

/* Count each CPU's instructions twice. */
static struct vperfctr *start_twice(void)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[2];
	struct vperfctr *v;

	assert_ok(vperfctr_open_cpus(&v, NULL, 0));
	vperfctr_control_init(&control, ctr);
	vperfctr_control_add(&control, 0, INSNS_USER);
	vperfctr_control_add(&control, 1, INSNS_USER);
	assert_ok(vperfctr_control(v, &control));
	return v;
}

/* Other processes see what vperfctr_read_cpus() has read. */
START_TEST(pages)
{
	const struct vperfctr_page *page[MAX_CPUS];
	u64 twice[MAX_CPUS][3], before;
	uint64_t pmc[2], tsc;
	struct vperfctr_read_cpus read = {
		.nrcpus = MAX_CPUS, .nrctrs = 2, .cpus = (uintptr_t)cpus, .sums = (uintptr_t)twice,
	};
	struct vperfctr *v = start_twice(), *other;
	pid_t pid;
	u32 i;

	for (i = 0; i < (u32)nr_cpus(); i++)
		assert_ok(vperfctr_map_cpu(v, i, &page[i]));
	pin(0);
	assert_ok(vperfctr_read_cpus(v, &read));
	ck_assert_uint_eq(vperfctr_read_cpu_page(page[0], &tsc, pmc, 1), 1);
	before = pmc[0];
	ck_assert_uint_ge(before, twice[0][1]);
	ck_assert_uint_ge(tsc, twice[0][0]);
	loop(N);
	assert_ok(vperfctr_suspend(v));
	assert_ok(vperfctr_read_cpus(v, &read));
	for (i = 0; i < read.nrcpus; i++)
		ck_assert(same_as_read(page[i], twice[i][1]));
	ck_assert_uint_eq(vperfctr_read_cpu_page(page[0], &tsc, NULL, 0), 0);
	ck_assert_uint_eq(tsc, twice[0][0]);
	ck_assert_uint_ge(twice[0][1], before + 2 * N);
	/* A process that has the descriptor. */
	pid = fork();
	if (!pid) {
		if (vperfctr_read_cpu_page(page[0], &tsc, pmc, 2) || tsc)
			_exit(1);
		if (vperfctr_open_fd(&other, dup(vperfctr_fd(v)), 0))
			_exit(2);
		if (vperfctr_map_cpu(other, 0, &page[1]))
			_exit(3);
		_exit(same_as_read(page[1], twice[0][1]) ? 0 : 4);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	/* The mapping keeps the counters. */
	vperfctr_close(v);
	ck_assert(same_as_read(page[0], twice[0][1]));
	assert_ok(vperfctr_open(&v, VPERFCTR_OPEN_CREAT));
	assert_errno(start(v), EBUSY);
	while (i--)
		vperfctr_unmap_cpu(page[i]);
	assert_ok(start(v));
	/* Else a worker releases the counters after the end, perhaps during the next test. */
	assert_ok(vperfctr_unlink(v));
	vperfctr_close(v);
}
END_TEST

/* The sums that a reader of a page sees are of one moment, also while the CPU writes it. */
START_TEST(pages_are_consistent)
{
	struct vperfctr_read_cpus read = { .nrcpus = MAX_CPUS, .nrctrs = 2 };
	struct vperfctr *v = start_twice();
	const struct vperfctr_page *page;
	uint64_t pmc[2], last = 0;
	int n, changes = 0;
	pid_t pid;

	assert_ok(vperfctr_map_cpu(v, 0, &page));
	pin(0);
	pid = fork();
	if (!pid) {
		for (;;)
			vperfctr_read_cpus(v, &read);
	}
	pin(nr_cpus() - 1);
	for (n = 0; n < 2000000 && changes < 300; n++) {
		if (vperfctr_read_cpu_page(page, NULL, pmc, 2) != 2)
			ck_abort_msg("no counters");
		/* A check of libcheck takes much longer than such a read. */
		if (pmc[0] != pmc[1])
			ck_assert_uint_eq(pmc[0], pmc[1]);
		if (pmc[0] < last)
			ck_assert_uint_ge(pmc[0], last);
		changes += pmc[0] != last;
		last = pmc[0];
	}
	ck_assert_int_ge(changes, 20);
	kill(pid, SIGKILL);
	wait_for(pid);
	vperfctr_unmap_cpu(page);
	vperfctr_close(v);
}
END_TEST

START_TEST(errors)
{
	struct vperfctr_read_cpus read = { .cpus = (uintptr_t)cpus };
	const struct vperfctr_page *page = (void *)1;
	struct vperfctr *v, *thread;
	struct stat device;
	uint64_t value;

	assert_ok(vperfctr_open_cpus(&v, NULL, 0));
	assert_ok(start(v));
	assert_errno(vperfctr_read_cpus(v, &read), EOVERFLOW);
	ck_assert_int_eq(read.nrcpus, nr_cpus());
	ck_assert_uint_eq(read.nrctrs, 1);
	read.cpus = 8;
	assert_errno(vperfctr_read_cpus(v, &read), EFAULT);
	assert_errno(vperfctr_read_pmc(v, 0, &value), ENOTTY);
	assert_errno(vperfctr_map_cpu(v, nr_cpus(), &page), EINVAL);
	ck_assert_ptr_null(page);
	assert_errno(vperfctr_open_fd(&thread, vperfctr_fd(v), VPERFCTR_FD_MAP), ENOTTY);
	/* Threads wait, and are told. */
	assert_ok(vperfctr_open(&thread, VPERFCTR_OPEN_CREAT));
	assert_errno(start(thread), EBUSY);
	assert_errno(vperfctr_read_cpus(thread, &read), ENOTTY);
	assert_errno(vperfctr_map_cpu(thread, 0, &page), ENOTTY);
	vperfctr_close(v);
	assert_ok(start(thread));
	assert_ok(vperfctr_unlink(thread));
	vperfctr_close(thread);
	/* A member of the device's group. */
	assert_ok(stat("/dev/vperfctr", &device));
	assert_ok(setgid(device.st_gid));
	assert_ok(setuid(NOBODY));
	assert_errno(vperfctr_open_cpus(&v, NULL, 0), EPERM);
}
END_TEST

/* With isolation, no thread sees what the counters of its CPU count for a set. */
START_TEST(hidden_from_threads)
{
	struct vperfctr *v;
	u64 value;

	assert_ok(vperfctr_open_cpus(&v, NULL, 0));
	assert_ok(start(v));
	pin(0);
	if (has(VPERFCTR_FEATURE_ISOLATE))
		ck_assert_int_ne(try_rdpmc(0, &value), 0);
	vperfctr_close(v);
}
END_TEST

/* Where nothing can keep threads from reading counters, CPUs are not counted. */
START_TEST(refused)
{
	struct vperfctr *v = (void *)1;

	ck_assert(!CPUS_STAY_HIDDEN);
	assert_errno(vperfctr_open_cpus(&v, NULL, 0), EOPNOTSUPP);
	ck_assert_ptr_null(v);
}
END_TEST

static void add(TCase *tc)
{
	if (!has(VPERFCTR_FEATURE_CPUS)) {
		tcase_add_test(tc, refused);
		return;
	}
	tcase_add_test(tc, all_cpus);
	tcase_add_test(tc, a_mask);
	tcase_add_test(tc, pages);
	tcase_add_test(tc, pages_are_consistent);
	tcase_add_test(tc, hidden_from_threads);
	tcase_add_test(tc, errors);
}

int main(void)
{
	open_device();
	return run_tests("library, CPUs", add);
}
