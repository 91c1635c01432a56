/* SPDX-License-Identifier: GPL-2.0 */
/* Expand pieces of what zstd has compressed, by libzstd, which is loaded if it is there. */
#ifndef PERFEX_EXPAND_H
#define PERFEX_EXPAND_H

#include <stdbool.h>
#include <stddef.h>

struct expander;

/* Begin to expand what is compressed by zstd.  Return: NULL: there is no library, or no memory */
struct expander *expander_open(void);

struct expanding {
	const void *from;	/* the rest of a piece */
	size_t left;
	void *to;
	size_t room;		/* there */
};

/* Expand as much as there is room for.  Return: bytes written; -1: it is damaged */
long expander_run(struct expander *x, struct expanding *e);

void expander_close(struct expander *x);

#endif /* PERFEX_EXPAND_H */
