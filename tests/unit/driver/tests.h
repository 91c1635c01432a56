/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TESTS_H
#define TESTS_H

#include <check.h>

Suite *probe_suite(void);
Suite *control_suite(void);
Suite *count_suite(void);
Suite *switch_suite(void);
Suite *cpus_suite(void);
Suite *page_suite(void);
Suite *combine_suite(void);
Suite *generic_suite(void);
Suite *overflow_suite(void);
Suite *nmi_suite(void);
Suite *hybrid_suite(void);
Suite *old_suite(void);
Suite *p4_suite(void);
Suite *watchdog_suite(void);

#endif /* TESTS_H */
