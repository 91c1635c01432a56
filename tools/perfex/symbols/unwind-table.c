// SPDX-License-Identifier: GPL-2.0
/*
 * Tables as linkers write them: a version, three encodings, the place of .eh_frame, and how many
 * entries follow.  Each has the start of a function and the place of its description, from the start
 * of the table.  Other encodings are left to libdw.
 *
 * The file may come from an attacker.  A table that is not sorted makes wrong names only.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <endian.h>
#include <string.h>

#include "unwind-table.h"

#define HEAD_SIZE	12
#define ENTRY_SIZE	8
#define PCREL_SDATA4	(DW_EH_PE_pcrel | DW_EH_PE_sdata4)
#define DATAREL_SDATA4	(DW_EH_PE_datarel | DW_EH_PE_sdata4)

static int32_t number_at(const unsigned char *p)
{
	int32_t n;

	memcpy(&n, p, sizeof(n));
	return n;
}

static bool is_of_this_order(const unsigned char *ident)
{
	return ident[EI_DATA] == (htole16(1) == 1 ? ELFDATA2LSB : ELFDATA2MSB);
}

void unwind_table_read(struct unwind_table *t, Elf *elf)
{
	Elf_Data *head = NULL;
	Elf_Scn *section = NULL;
	const char *name, *ident;
	const unsigned char *p;
	GElf_Shdr shdr;
	size_t names;

	*t = (struct unwind_table){ NULL };
	ident = elf ? elf_getident(elf, NULL) : NULL;
	if (!ident || elf_getshdrstrndx(elf, &names))
		return;
	memcpy(t->ident, ident, sizeof(t->ident));
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, shdr.sh_name);
		if (name && !strcmp(name, ".eh_frame_hdr")) {
			head = elf_rawdata(section, NULL);
			t->address = shdr.sh_addr;
		} else if (name && !strcmp(name, ".eh_frame")) {
			t->frames = elf_rawdata(section, NULL);
			t->frames_address = shdr.sh_addr;
		}
	}
	if (!head || !head->d_buf || head->d_size < HEAD_SIZE || !t->frames || !t->frames->d_buf ||
	    !is_of_this_order(t->ident))
		return;
	p = head->d_buf;
	if (p[0] != 1 || p[1] != PCREL_SDATA4 || p[2] != DW_EH_PE_udata4 || p[3] != DATAREL_SDATA4)
		return;
	t->entry = p + HEAD_SIZE;
	t->nr = (head->d_size - HEAD_SIZE) / ENTRY_SIZE;
	if (t->nr > (uint32_t)number_at(p + 8))
		t->nr = (uint32_t)number_at(p + 8);
}

/* Return: the bytes of a pointer; 0: not known */
static size_t size_of_pointer(unsigned char encoding, const unsigned char *ident)
{
	switch (encoding & 0xf) {
	case DW_EH_PE_absptr:
		return ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		return 2;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return 8;
	default:
		return 0;
	}
}

/* Return: the bytes of a function's start, and of its length; 0: not known */
static size_t size_of_start(const struct unwind_table *t, const Dwarf_CIE *cie)
{
	const unsigned char *data = cie->augmentation_data;
	size_t left = cie->augmentation_data_size, size;
	const char *c = cie->augmentation;

	if (*c++ != 'z')
		return 0;
	for (; *c && left; c++) {
		size = 1;
		if (*c == 'R')
			return size_of_pointer(*data, t->ident);
		if (*c == 'P') {
			size = size_of_pointer(*data, t->ident);
			if (!size++)
				return 0;
		} else if (*c == 'S' || *c == 'B') {
			size = 0;
		} else if (*c != 'L') {
			return 0;
		}
		if (size > left)
			return 0;
		data += size;
		left -= size;
	}
	return 0;
}

/* Find the length of the function that is described there.  Return: false: not known */
static bool find_length(const struct unwind_table *t, GElf_Addr place, uint64_t *length)
{
	Dwarf_CFI_Entry fde, cie;
	Dwarf_Off next;

	if (place < t->frames_address || place - t->frames_address >= t->frames->d_size ||
	    dwarf_next_cfi(t->ident, t->frames, true, place - t->frames_address, &next, &fde) ||
	    dwarf_cfi_cie_p(&fde) || fde.fde.CIE_pointer >= t->frames->d_size ||
	    dwarf_next_cfi(t->ident, t->frames, true, fde.fde.CIE_pointer, &next, &cie) ||
	    !dwarf_cfi_cie_p(&cie) || size_of_start(t, &cie.cie) != sizeof(int32_t) ||
	    fde.fde.end - fde.fde.start < 2 * (ptrdiff_t)sizeof(int32_t))
		return false;
	*length = (uint32_t)number_at(fde.fde.start + sizeof(int32_t));
	return true;
}

static GElf_Addr address_of(const struct unwind_table *t, size_t i, size_t at)
{
	return t->address + (GElf_Addr)(int64_t)number_at(t->entry + i * ENTRY_SIZE + at);
}

int unwind_table_find(const struct unwind_table *t, GElf_Addr at, GElf_Addr *start,
		      GElf_Addr *end)
{
	size_t from = 0, to = t->nr, middle;
	uint64_t length;

	if (!t->nr)
		return -1;
	while (from < to) {
		middle = from + (to - from) / 2;
		if (address_of(t, middle, 0) <= at)
			from = middle + 1;
		else
			to = middle;
	}
	if (!from)
		return 0;
	*start = address_of(t, from - 1, 0);
	if (!find_length(t, address_of(t, from - 1, sizeof(int32_t)), &length))
		return -1;
	*end = *start + length;
	return at - *start < length;
}
