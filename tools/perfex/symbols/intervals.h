/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sets of intervals of addresses, of which none overlap.  Each has a value.  A later interval
 * takes the place of those that it covers, or of their parts.
 *
 * A set is the number of its root; 0 is the empty one.  Sets share what they have in common, so
 * that a copy costs nothing.
 */
#ifndef PERFEX_INTERVALS_H
#define PERFEX_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

struct interval;

/* The memory of many sets. */
struct intervals {
	struct interval *node;
	uint32_t nr, room;
	uint32_t unused;	/* the first of a list */
	uint64_t random;
	uint64_t visited;	/* nodes, by all calls: for tests */
};

/*
 * Put an interval into a set, which becomes another one.  owner: parts that sets of other
 * owners may share are copied, and others are changed.
 * Return: the set; 0: no memory
 */
uint32_t intervals_put(struct intervals *t, uint32_t set, uint32_t owner, uint64_t start,
		       uint64_t end, uint32_t value);

/* Return: the value of the interval that has the address; 0: there is none */
uint32_t intervals_find(struct intervals *t, uint32_t set, uint64_t address);

/* Take the memory of `nr` nodes at once, for sets that have none yet.  Return: false: none */
bool intervals_reserve(struct intervals *t, uint32_t nr);

/* Forget all sets, and keep the memory. */
void intervals_clear(struct intervals *t);

void intervals_free(struct intervals *t);

#endif /* PERFEX_INTERVALS_H */
