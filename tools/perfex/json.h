/* SPDX-License-Identifier: GPL-2.0 */
/* Strings of JSON. */
#ifndef PERFEX_JSON_H
#define PERFEX_JSON_H

#include <stdio.h>

/* Print a string in quotes.  Text that replace_controls() did not see may be in there. */
static inline void json_string(FILE *f, const char *text)
{
	putc('"', f);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', f);
		if ((unsigned char)*text < ' ')
			fprintf(f, "\\u%04x", (unsigned int)*text);
		else
			putc(*text, f);
	}
	putc('"', f);
}

#endif /* PERFEX_JSON_H */
