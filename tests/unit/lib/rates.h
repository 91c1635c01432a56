/* SPDX-License-Identifier: GPL-2.0 */
/* Rates in what perfex prints: most tests are not about them, and compare whole lines. */
#ifndef RATES_H
#define RATES_H

#include <regex.h>
#include <string.h>

/* Replace the first group of each match.  There is room for a text that is a little longer. */
static inline void replace_all(char *text, const char *pattern, const char *with)
{
	regmatch_t m[2];
	regex_t re;
	size_t at;

	ck_assert_int_eq(regcomp(&re, pattern, REG_EXTENDED | REG_NEWLINE), 0);
	while (!regexec(&re, text, 2, m, 0)) {
		at = (size_t)m[1].rm_so;
		memmove(text + at + strlen(with), text + m[1].rm_eo, strlen(text + m[1].rm_eo) + 1);
		memcpy(text + at, with, strlen(with));
	}
	regfree(&re);
}

static inline void leave_rates_out(char *text)
{
	replace_all(text, "( +# [0-9]+\\.[0-9]{3} ([KMG]? ?/sec|GHz))\r?$", "");
	replace_all(text, "[,;|\t]([0-9]+\\.[0-9]{2})[,;|\t]([KMG]?/sec|GHz)\r?$", "");
	replace_all(text, "[,;|\t]{2}([KMG]?/sec|GHz)\r?$", "");
	replace_all(text, "\"metric-value\" : ([0-9]+\\.[0-9]{6}), \"metric-unit\" : \"([KMG]?/sec|GHz)\"", "0");
	replace_all(text, "\"metric-value\" : 0(, \"metric-unit\" : \"([KMG]?/sec|GHz)\")", ".000000, \"metric-unit\" : \"\"");
}

#endif /* RATES_H */
