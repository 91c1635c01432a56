/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of functions of Go, by the table that its runtime has in each program: it is there, too, if
 * the program has no symbols.
 */
#ifndef PERFEX_GO_NAMES_H
#define PERFEX_GO_NAMES_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>

struct go_names {
	const unsigned char *table;	/* .gopclntab; NULL: there is none, or not one that is known */
	size_t size;
	unsigned int version;		/* enum in go-names.c */
	unsigned int pointer;		/* bytes */
	uint64_t text;			/* to which entries are relative */
	uint64_t names, functions, nr;	/* places in the table */
};

void go_names_read(struct go_names *g, Elf *elf);

/* Return: the name of the function that has the address, which is libelf's; NULL: there is none */
const char *go_names_find(const struct go_names *g, GElf_Addr at, GElf_Addr *start, GElf_Xword *size);

#endif /* PERFEX_GO_NAMES_H */
