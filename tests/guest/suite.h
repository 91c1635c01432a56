/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the programs that use libcheck. */
#ifndef GUEST_SUITE_H
#define GUEST_SUITE_H

#include <check.h>
#include <stdlib.h>

#include "common.h"

/* The call fails with this error. */
#define assert_errno(result, error)	ck_assert_int_eq(result, -(error))
#define assert_ok(result)		ck_assert_int_eq(result, 0)

#define assert_status(fd, status)	ck_assert_uint_eq(status_of(fd), status)

#define ATTACHED	VPERFCTR_STATUS_ATTACHED
#define ACTIVE		VPERFCTR_STATUS_ACTIVE
#define SUSPENDED	VPERFCTR_STATUS_SUSPENDED
#define ARMED		VPERFCTR_STATUS_ARMED

/*
 * Run each test in a process of its own, whose thread has no state.  The limit per
 * test is in the machine's time; the harness limits the program as well.
 */
static inline int run_tests(const char *name, void (*add)(TCase *))
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 50);
	suite_add_tcase(suite, tcase);
	add(tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif /* GUEST_SUITE_H */
