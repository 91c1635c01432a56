// SPDX-License-Identifier: GPL-2.0
/*
 * libvperfctr as a user of it would use it, for real.  Counts are expected to
 * be exact.  (All its cases are tested against a fake kernel, in tests/unit.)
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <vperfctr.h>

#include "common.h"

#define INSTRUCTIONS_USER INSNS_USER

static struct vperfctr *count_self(void)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[2];
	struct vperfctr *v;

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	vperfctr_control_init(&control, ctr);
	ck_assert_uint_eq(vperfctr_control_add(&control, 0, INSTRUCTIONS_USER), 0);
	ck_assert_uint_eq(vperfctr_control_add(&control, 1, INSTRUCTIONS_USER), 1);
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	return v;
}

static __attribute__((noinline, noclone)) uint64_t region(struct vperfctr *v, unsigned long n)
{
	uint64_t before = 0, after = 0;

	if (vperfctr_read_pmc(v, 0, &before))
		return 0;
	loop(n);
	if (vperfctr_read_pmc(v, 0, &after))
		return 0;
	return after - before;
}

START_TEST(reads)
{
	struct vperfctr *v = count_self();
	uint64_t overhead, tsc, tsc2, pmc[2], pmc2[2];
	unsigned int i;

	region(v, 1);
	overhead = region(v, 1) - 2;
	ck_assert_uint_lt(overhead, 40);
	for (i = 1; i < 100000; i *= 3)
		ck_assert_uint_eq(region(v, i), 2 * i + overhead);

	ck_assert_int_eq(vperfctr_read(v, &tsc, pmc, 2), 0);
	loop(1000);
	ck_assert_int_eq(vperfctr_read(v, &tsc2, pmc2, 2), 0);
	ck_assert_uint_gt(tsc2, tsc);
	ck_assert_uint_eq(pmc2[0] - pmc[0], pmc2[1] - pmc[1]);

	/* by the kernel, it is the same count */
	ck_assert_int_eq(vperfctr_suspend(v), 0);
	ck_assert_int_eq(vperfctr_read(v, &tsc, pmc, 2), 0);
	loop(1000);
	ck_assert_int_eq(vperfctr_read(v, &tsc2, pmc2, 2), 0);
	ck_assert_uint_eq(tsc, tsc2);
	ck_assert_uint_eq(pmc[0], pmc2[0]);
	ck_assert_uint_eq(pmc[1], pmc2[1]);
	ck_assert_int_eq(vperfctr_resume(v), 0);
	ck_assert_uint_eq(region(v, 10), 20 + overhead);
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	ck_assert_int_eq(vperfctr_resume(v), -ESRCH);
	vperfctr_close(v);
}
END_TEST

/* A state that is not mapped is read by system calls, and counts no less exactly. */
START_TEST(reads_without_page)
{
	struct vperfctr *v = count_self(), *slow;
	uint64_t overhead, a, b;

	ck_assert_int_eq(vperfctr_open(&slow, VPERFCTR_OPEN_NOMAP), 0);
	region(slow, 1);
	overhead = region(slow, 1) - 2;
	ck_assert_uint_eq(region(slow, 12345), 24690 + overhead);
	ck_assert_int_eq(vperfctr_read_pmc(slow, 0, &a), 0);
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &b), 0);
	ck_assert_uint_gt(b, a);
	vperfctr_close(slow);
	vperfctr_close(v);
}
END_TEST

static void *thread(void *arg)
{
	struct vperfctr *v = count_self();
	uint64_t *overhead = arg;

	region(v, 1);
	*overhead = region(v, 500) - 1000;
	if (vperfctr_unlink(v))
		*overhead = ~0ULL;
	vperfctr_close(v);
	return NULL;
}

START_TEST(threads)
{
	uint64_t overhead[4];
	pthread_t ids[4];
	int i;

	for (i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&ids[i], NULL, thread, &overhead[i]), 0);
	for (i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
	for (i = 0; i < 4; i++)
		ck_assert_uint_eq(overhead[i], overhead[0]);
	ck_assert_uint_lt(overhead[0], 40);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lib");
	TCase *tcase = tcase_create("lib");
	SRunner *runner = srunner_create(suite);

	open_device();	/* for `info`, which says what counts instructions */
	tcase_set_timeout(tcase, 50);
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, reads);
	tcase_add_test(tcase, reads_without_page);
	tcase_add_test(tcase, threads);
	srunner_run_all(runner, CK_NORMAL);
	return srunner_ntests_failed(runner) ? EXIT_FAILURE : EXIT_SUCCESS;
}
