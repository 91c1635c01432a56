/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ranges of addresses, which may overlap, and which of them have an address.  All are added
 * before the first is looked for.  To find those that have an address takes the logarithm of
 * their number for each that is found.
 */
#ifndef PERFEX_SPANS_H
#define PERFEX_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
	uint64_t start, last;	/* with the last address */
	uint64_t most;		/* the largest `last` of its part of the array */
	uint32_t number;	/* the caller's */
};

struct spans {
	struct span *span;
	size_t nr, room;
	uint64_t visited;	/* by all calls: for tests */
};

/* Add a span, whose last address is `last`.  Return: false: no memory */
bool spans_add(struct spans *s, uint64_t start, uint64_t last, uint32_t number);

/* Put them in order: by their start, and if it is the same, by their number. */
void spans_sort(struct spans *s);

/* Call fn() for those that have the address, in this order. */
void spans_at(struct spans *s, uint64_t address, void (*fn)(void *arg, const struct span *span),
	      void *arg);

/* Return: the least number of those that have the address; UINT32_MAX: there is none */
uint32_t spans_first(struct spans *s, uint64_t address);

/* Return: how many start at the address, or before it: the first ones */
size_t spans_until(struct spans *s, uint64_t address);

/* Return: the largest last address of the first nr; 0: there are none */
uint64_t spans_last(struct spans *s, size_t nr);

void spans_free(struct spans *s);

#endif /* PERFEX_SPANS_H */
