/* SPDX-License-Identifier: GPL-2.0 */
/* Strings of JSON. */
#ifndef PERFEX_JSON_H
#define PERFEX_JSON_H

#include <stdio.h>

#include "perfex.h"

/*
 * Print a string in quotes.  Text that replace_controls() did not see may be in there: controls
 * are escaped, so that a terminal may be sent it.
 */
static inline void json_string(FILE *f, const char *text)
{
	size_t length;

	putc('"', f);
	for (; *text; text += length) {
		length = text_length(text);
		if (*text == '"' || *text == '\\')
			putc('\\', f);
		if (length) {
			fwrite(text, 1, length, f);
			continue;
		}
		/* U+FFFD stands for what cannot be shown. */
		if ((unsigned char)*text < 0x80)
			fprintf(f, "\\u%04x", (unsigned int)*text);
		else
			fputs("\\ufffd", f);
		length = 1;
	}
	putc('"', f);
}

#endif /* PERFEX_JSON_H */
