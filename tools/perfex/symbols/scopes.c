// SPDX-License-Identifier: GPL-2.0
/*
 * Find the functions at an address.  libdw's dwarf_getscopes() does not look into namespaces,
 * where Rust has its functions, and walks through a whole unit for each address.
 *
 * The first time that an address is looked for in an entry (a unit, function or block), the
 * entries in it that have code are kept with their addresses.
 */
#include <dwarf.h>
#include <stdlib.h>

#include "scopes.h"
#include "spans.h"
#include "work.h"

/* A file may come from an attacker: other nesting is not that of a program. */
#define MAX_NESTING	256

/* Entries that are directly in one, or only in namespaces and the like there. */
struct level {
	const void *entry;
	bool known;
	struct spans spans;	/* whose numbers are those of dies */
	Dwarf_Die *dies;
	uint32_t nr;
};

static void add_die(struct level *level, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	Dwarf_Die *dies;
	bool any = false;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (start >= end)
			continue;
		if (!spans_add(&level->spans, start, end - 1, level->nr))
			work_no_memory();
		any = true;
	}
	if (!any)
		return;
	/* There is room for a power of two. */
	if (!(level->nr & (level->nr - 1))) {
		dies = reallocarray(level->dies, level->nr ? (size_t)level->nr * 2 : 1, sizeof(*dies));
		if (!dies)
			work_no_memory();
		level->dies = dies;
	}
	level->dies[level->nr++] = *die;
}

static void walk(struct scopes *s, struct level *level, Dwarf_Die *die, unsigned int depth)
{
	Dwarf_Die child;

	if (depth == MAX_NESTING || dwarf_child(die, &child))
		return;
	do {
		s->walked++;
		switch (dwarf_tag(&child)) {
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
			walk(s, level, &child, depth + 1);
			break;
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			add_die(level, &child);
			break;
		default:
			break;
		}
	} while (!dwarf_siblingof(&child, &child));
}

/* The first time, all that is in the entry is looked at. */
static struct level *level_of(struct scopes *s, Dwarf_Die *die)
{
	struct level *level;
	uint32_t i;

	if (!s->levels.size)
		s->levels = (struct hash_table){
			.size = sizeof(*level), .key = sizeof(level->entry),
		};
	i = hash_table_add(&s->levels, &die->addr);
	if (!i)
		work_no_memory();
	level = (struct level *)s->levels.items + i;
	if (!level->known) {
		level->known = true;
		walk(s, level, die, 0);
		spans_sort(&level->spans);
	}
	return level;
}

unsigned int scopes_find(struct scopes *s, const Dwarf_Die *unit, Dwarf_Addr address,
			 Dwarf_Die found[MAX_SCOPES])
{
	unsigned int nr = 0, depth;
	Dwarf_Die die = *unit;
	struct level *level;
	uint32_t first;
	int tag;

	for (depth = 0; depth < MAX_NESTING && nr < MAX_SCOPES; depth++) {
		level = level_of(s, &die);
		first = spans_first(&level->spans, address);
		if (first == UINT32_MAX)
			break;
		die = level->dies[first];
		tag = dwarf_tag(&die);
		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
			found[nr++] = die;
	}
	return nr;
}

void scopes_free(struct scopes *s)
{
	struct level *levels = s->levels.items;
	uint32_t i;

	for (i = 1; i < s->levels.nr; i++) {
		spans_free(&levels[i].spans);
		free(levels[i].dies);
	}
	hash_table_free(&s->levels);
}
