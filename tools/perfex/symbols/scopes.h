/* SPDX-License-Identifier: GPL-2.0 */
/* Functions at an address, and those that are inlined there, by the debugging information. */
#ifndef PERFEX_SCOPES_H
#define PERFEX_SCOPES_H

#include <elfutils/libdw.h>

#include "hash-table.h"

#define MAX_SCOPES	32	/* functions at one address */

/* Parts of units at which was looked; all zeros: none. */
struct scopes {
	struct hash_table levels;
	uint64_t walked;	/* entries, by all calls: for tests */
};

/*
 * Find the function of a unit that has the address, in found[0], and what is inlined there, the
 * innermost last.
 * Return: how many there are
 */
unsigned int scopes_find(struct scopes *s, const Dwarf_Die *unit, Dwarf_Addr address,
			 Dwarf_Die found[MAX_SCOPES]);

void scopes_free(struct scopes *s);

#endif /* PERFEX_SCOPES_H */
