// SPDX-License-Identifier: LGPL-2.1-or-later
/* Tests of reads on a processor whose counters user mode cannot read. */
#include <check.h>
#include <stdlib.h>

#include "fake.h"

static struct vperfctr *v;

static void check_all(void)
{
	uint64_t pmc[4] = { 0 }, tsc = 0, one = 0;
	unsigned int i;

	ck_assert_int_eq(vperfctr_read(v, &tsc, pmc, 4), 0);
	ck_assert_uint_eq(tsc, fake.tsc_counted);
	for (i = 0; i < 4; i++) {
		ck_assert_uint_eq(pmc[i], fake.counted[i]);
		ck_assert_int_eq(vperfctr_read_pmc(v, i, &one), 0);
		ck_assert_uint_eq(one, fake.counted[i]);
	}
	ck_assert_int_eq(vperfctr_read_tsc(v, &tsc), 0);
	ck_assert_uint_eq(tsc, fake.tsc_counted);
	ck_assert_uint_eq(fake.rdpmcs + fake.rdtscs, 0);
}

START_TEST(generic)
{
	fake_reset();
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	fake_run(4, true);
	fake_count(1000);
	check_all();
	ck_assert_uint_eq(fake.calls[FAKE_READ], 6);
	fake_switch(1000);
	check_all();
	/* A suspended state is read from the page. */
	fake_switch_to(1000, VPERFCTR_CSTATUS_TSC);
	fake.calls[FAKE_READ] = 0;
	check_all();
	ck_assert_uint_eq(fake.calls[FAKE_READ], 0);
	vperfctr_close(v);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lib-read-generic");
	TCase *t = tcase_create("read");
	SRunner *sr;
	int failed;

	tcase_add_test(t, generic);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
