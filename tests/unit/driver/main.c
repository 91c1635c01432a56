// SPDX-License-Identifier: GPL-2.0
/* Each test runs in a process of its own: the drivers' data are as at load. */
#include <stdlib.h>

#include "random.h"
#include "tests.h"

/*
 * The drivers here allocate nothing, and a search for leaks at the end of each process takes longer
 * than most tests.
 */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

int main(void)
{
	SRunner *runner;
	int failed;

	random_init();
	runner = srunner_create(probe_suite());
	srunner_add_suite(runner, control_suite());
	srunner_add_suite(runner, count_suite());
	srunner_add_suite(runner, switch_suite());
	srunner_add_suite(runner, cpus_suite());
	srunner_add_suite(runner, page_suite());
	srunner_add_suite(runner, combine_suite());
	srunner_add_suite(runner, generic_suite());
	srunner_add_suite(runner, overflow_suite());
	srunner_add_suite(runner, nmi_suite());
	srunner_add_suite(runner, hybrid_suite());
	srunner_add_suite(runner, old_suite());
	srunner_add_suite(runner, p4_suite());
	srunner_add_suite(runner, watchdog_suite());
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
