/* SPDX-License-Identifier: GPL-2.0 */
/* Reports of the file "s" in the tests' directory, and of what is left of it. */
#ifndef REPORT_FILE_H
#define REPORT_FILE_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "perfex-command.h"

static char report_text[65536];

static inline size_t load(char *buf)
{
	FILE *f = fopen(in_dir("s"), "r");
	size_t n = fread(buf, 1, sizeof(report_text), f);

	fclose(f);
	return n;
}

static inline void store(const char *buf, size_t len)
{
	FILE *f = fopen(in_dir("s"), "w");

	ck_assert_uint_eq(fwrite(buf, 1, len, f), len);
	fclose(f);
}

/* Report in this process: there are thousands of files. */
static inline int try_report(struct error *e)
{
	FILE *null = fopen("/dev/null", "w");
	struct reporting o = { .file = in_dir("s"), .show.verbose = true };
	int ret = report_here(null, &o, e);

	fclose(null);
	return ret;
}

/*
 * Cut the file off anywhere: after its header, which has this size, there is a report.  Leave
 * it without its last eight bytes.
 */
static inline void check_truncated(size_t header)
{
	size_t len = load(report_text), n;
	struct error e;

	for (n = 0; n < len; n++) {
		store(report_text, n);
		ck_assert_int_eq(try_report(&e), n < header ? -1 : 0);
	}
	store(report_text, len - 8);
}

/*
 * Change each byte, but for those from `text` to `end` - 1: there is a report, or a message
 * of one line that names the file.
 */
static inline void check_damaged(size_t text, size_t end)
{
	static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
	size_t len = load(report_text), n, i;
	struct error e;
	char old;

	for (n = 0; n < len; n++) {
		for (i = 0; i < sizeof(values) && (n < text || n >= end); i++) {
			old = report_text[n];
			if (old == (char)values[i])
				continue;
			report_text[n] = (char)values[i];
			store(report_text, len);
			report_text[n] = old;
			if (try_report(&e))
				ck_assert_msg(strstr(e.text, in_dir("s")) && !strchr(e.text, '\n'),
					      "byte %zu: %s", n, e.text);
		}
	}
}

#endif /* REPORT_FILE_H */
