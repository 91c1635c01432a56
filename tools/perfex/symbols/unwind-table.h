/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where functions begin and end, by the sorted table of .eh_frame_hdr.  libdw reads this table only
 * if it comes before .eh_frame, and reads and keeps all of .eh_frame otherwise.
 */
#ifndef PERFEX_UNWIND_TABLE_H
#define PERFEX_UNWIND_TABLE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>

struct unwind_table {
	const unsigned char *entry;
	size_t nr;		/* 0: the file has none that can be read here */
	GElf_Addr address;	/* of .eh_frame_hdr, to which entries are relative */
	Elf_Data *frames;	/* .eh_frame */
	GElf_Addr frames_address;
	unsigned char ident[EI_NIDENT];
};

void unwind_table_read(struct unwind_table *t, Elf *elf);

/* Find the function that has the address.  Return: 1; 0: it is in none; -1: the table does not say */
int unwind_table_find(const struct unwind_table *t, GElf_Addr at, GElf_Addr *start,
		      GElf_Addr *end);

#endif /* PERFEX_UNWIND_TABLE_H */
