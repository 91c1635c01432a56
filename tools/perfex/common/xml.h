/* SPDX-License-Identifier: GPL-2.0 */
/* Text of XML and HTML. */
#ifndef PERFEX_XML_H
#define PERFEX_XML_H

#include <stdio.h>
#include <string.h>

/*
 * Print text as XML.  Control characters have been replaced.  XML lacks U+FFFE and U+FFFF, too: a
 * question mark stands for each of their bytes.
 */
static inline void xml_text(FILE *f, const char *text, size_t len)
{
	const char *end = text + len;

	for (; text < end; text++) {
		switch (*text) {
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '&':
			fputs("&amp;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		case '\xef':
			if (end - text >= 3 && text[1] == '\xbf' && (text[2] & '\xfe') == '\xbe') {
				fputs("???", f);
				text += 2;
				break;
			}
			/* fall through */
		default:
			putc(*text, f);
		}
	}
}

static inline void xml_string(FILE *f, const char *text)
{
	xml_text(f, text, strlen(text));
}

#endif /* PERFEX_XML_H */
