/* SPDX-License-Identifier: GPL-2.0 */
/* Text that perfex prints cannot command a terminal. */
#ifndef PLAIN_H
#define PLAIN_H

#include <stdlib.h>

#include "perfex.h"

/* Fail if text has a control character, but for tabs and the ends of lines, or is no UTF-8. */
static inline void check_plain(const char *text, size_t size)
{
	size_t at, length;

	for (at = 0; at < size; at += length) {
		length = text[at] == '\n' || text[at] == '\t' ? 1 : text_length(text + at);
		if (!length)
			abort();
	}
}

#endif /* PLAIN_H */
