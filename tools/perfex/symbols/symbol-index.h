/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The symbols of a file in the order of their addresses.  libdwfl's dwfl_module_addrinfo() looks
 * at all of them for each address.
 */
#ifndef PERFEX_SYMBOL_INDEX_H
#define PERFEX_SYMBOL_INDEX_H

#include <elfutils/libdwfl.h>
#include <gelf.h>

struct symbol_index;

/*
 * Make an index of the module's symbols.  Return: NULL: no memory, or libdwfl knows more than the
 * symbols' values
 */
struct symbol_index *symbol_index_make(Dwfl_Module *mod);

/*
 * Find the symbol that dwfl_module_addrinfo() finds, also if several have the address.
 * *start, *size: the symbol's
 * Return: its name, or NULL
 */
const char *symbol_index_find(struct symbol_index *index, GElf_Addr at, GElf_Addr *start,
			      GElf_Xword *size);

/* Return: symbols at which was looked until now: for tests */
uint64_t symbol_index_visited(const struct symbol_index *index);

void symbol_index_free(struct symbol_index *index);

#endif /* PERFEX_SYMBOL_INDEX_H */
