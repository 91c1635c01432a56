/* SPDX-License-Identifier: GPL-2.0 */
/* The file "s" in the tests' directory, as a machine of the other byte order writes it. */
#ifndef OTHER_ORDER_H
#define OTHER_ORDER_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perfex-command.h"

/* Reverse the byte order of the file. */
static inline void change_byte_order(void)
{
	char command[512];

	snprintf(command, sizeof(command), "python3 " SRC "other-order.py %s", in_dir("s"));
	ck_assert_int_eq(system(command), 0);
}

/* Check that the report is the same if the file has the other byte order, which it keeps. */
#define check_other_order(...) do {					\
	static char in_this_order[sizeof(out)];				\
									\
	ck_assert_int_eq(perfex("--report", (char *)in_dir("s"), ##__VA_ARGS__), 0); \
	strcpy(in_this_order, out);					\
	change_byte_order();						\
	ck_assert_int_eq(perfex("--report", (char *)in_dir("s"), ##__VA_ARGS__), 0); \
	ck_assert_str_eq(out, in_this_order);				\
} while (0)

#endif /* OTHER_ORDER_H */
