// SPDX-License-Identifier: GPL-2.0
/*
 * Names of the stubs by which a file calls functions of others (its procedure linkage table).
 * They have no symbols.  A stub jumps to the address in a slot of the file's data, and the
 * relocation of that slot has the name.  So sections of any layout can be read.
 */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "plt.h"

/* More come from no compiler. */
#define MAX_SECTION	(16 << 20)

struct slot {
	uint64_t address;
	const char *name;	/* libelf's */
};

struct stub {
	uint64_t start, end;
	char *name;
};

struct plt {
	struct slot *slots;	/* sorted */
	size_t nrslots, nrjumps;
	const char **jumps;	/* the names of .rela.plt, in its order */
	struct stub *stubs;	/* sorted */
	size_t nrstubs;
};

/* ---- relocations ----------------------------------------------------------------------- */

static bool add_slot(struct plt *plt, const char *name, uint64_t address, bool jump)
{
	struct slot *slots = reallocarray(plt->slots, plt->nrslots + 1, sizeof(*slots));
	const char **jumps;

	if (!slots)
		return false;
	plt->slots = slots;
	slots[plt->nrslots++] = (struct slot){ address, name };
	if (!jump)
		return true;
	jumps = reallocarray(plt->jumps, plt->nrjumps + 1, sizeof(*jumps));
	if (!jumps)
		return false;
	plt->jumps = jumps;
	jumps[plt->nrjumps++] = name;
	return true;
}

static const char *name_of_symbol(Elf *elf, const GElf_Shdr *relocations, size_t number)
{
	Elf_Scn *section = elf_getscn(elf, relocations->sh_link);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	GElf_Shdr shdr;
	GElf_Sym symbol;

	if (!number || !data || number > INT32_MAX || !gelf_getshdr(section, &shdr) ||
	    !gelf_getsym(data, (int)number, &symbol))
		return NULL;
	return elf_strptr(elf, shdr.sh_link, symbol.st_name);
}

/*
 * Linkers put relocations that have no symbol first, and say how many they are.  Large libraries have
 * megabytes of them.
 * Return: their number
 */
static int count_relative(Elf *elf)
{
	Elf_Scn *section = NULL;
	Elf_Data *data;
	GElf_Shdr shdr;
	GElf_Dyn entry;
	int i;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &shdr) || shdr.sh_type != SHT_DYNAMIC)
			continue;
		data = elf_getdata(section, NULL);
		for (i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
			if (entry.d_tag == DT_RELACOUNT && entry.d_un.d_val <= INT32_MAX)
				return (int)entry.d_un.d_val;
	}
	return 0;
}

static bool read_relocations(struct plt *plt, Elf *elf, Elf_Scn *section, const GElf_Shdr *shdr,
			     bool is_plt, bool arm)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Rela r;
	int i;

	for (i = is_plt ? 0 : count_relative(elf); data && gelf_getrela(data, i, &r); i++) {
		uint64_t type = GELF_R_TYPE(r.r_info);
		bool slot = type == (arm ? R_AARCH64_GLOB_DAT : R_X86_64_GLOB_DAT) ||
			    type == (arm ? R_AARCH64_JUMP_SLOT : R_X86_64_JUMP_SLOT);

		/* An entry of .rela.plt that is no such slot has a number, too. */
		if ((slot || is_plt) &&
		    !add_slot(plt, slot ? name_of_symbol(elf, shdr, GELF_R_SYM(r.r_info)) : NULL,
			      r.r_offset, is_plt))
			return false;
	}
	return true;
}

static int compare_slots(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static const char *name_of_slot(const struct plt *plt, uint64_t address)
{
	const struct slot key = { .address = address }, *found;

	found = plt->nrslots ? bsearch(&key, plt->slots, plt->nrslots, sizeof(key), compare_slots) :
			       NULL;
	return found ? found->name : NULL;
}

/* ---- stubs ------------------------------------------------------------------------------- */

static bool add_stub(struct plt *plt, uint64_t start, uint64_t end, const char *name)
{
	struct stub *stubs = reallocarray(plt->stubs, plt->nrstubs + 1, sizeof(*stubs));
	char *nice;

	if (!stubs)
		return false;
	plt->stubs = stubs;
	stubs += plt->nrstubs;
	nice = demangle_symbol(name);
	*stubs = (struct stub){ .start = start, .end = end };
	if (asprintf(&stubs->name, "%s@plt", nice ? nice : name) < 0)
		stubs->name = NULL;
	free(nice);
	plt->nrstubs += stubs->name != NULL;
	return stubs->name;
}

static uint32_t word_at(const unsigned char *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

/*
 * Return: the name that a stub of x86-64 has: that of the slot to which it jumps, or of the
 * number that it gives to the dynamic linker.
 */
static const char *x86_name(const struct plt *plt, uint64_t address, const unsigned char *p,
			    size_t size)
{
	size_t i;

	for (i = 0; i + 6 <= size; i++)
		if (p[i] == 0xff && p[i + 1] == 0x25)	/* jmp *offset(%rip) */
			return name_of_slot(plt, address + i + 6 + (int64_t)(int32_t)word_at(p + i + 2));
	/* Stubs for indirect branch tracking begin with endbr64 (f3 0f 1e fa). */
	i = size >= 4 && word_at(p) == 0xfa1e0ff3 ? 4 : 0;
	if (i + 5 <= size && p[i] == 0x68 && word_at(p + i + 1) < plt->nrjumps)	/* push number */
		return plt->jumps[word_at(p + i + 1)];
	return NULL;
}

static bool read_x86(struct plt *plt, const GElf_Shdr *shdr, const unsigned char *p, size_t size)
{
	size_t at, step = shdr->sh_entsize == 8 ? 8 : 16;
	const char *name;

	for (at = 0; at + step <= size; at += step) {
		name = x86_name(plt, shdr->sh_addr + at, p + at, step);
		if (name && !add_stub(plt, shdr->sh_addr + at, shdr->sh_addr + at + step, name))
			return false;
	}
	return true;
}

#define ARM_BTI_C	0xd503245f
#define ARM_NOP		0xd503201f

/* A stub loads X17 from the slot: "adrp x16, page; ldr x17, [x16, offset]". */
static bool read_arm(struct plt *plt, const GElf_Shdr *shdr, const unsigned char *p, size_t size)
{
	uint64_t address, slot, end;
	uint32_t adrp, ldr;
	const char *name;
	int64_t pages;
	size_t at;

	for (at = 0; at + 8 <= size; at += 4) {
		adrp = word_at(p + at);
		ldr = word_at(p + at + 4);
		if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
			continue;
		address = shdr->sh_addr + at;
		pages = (int64_t)(((uint64_t)adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3));
		pages -= (pages & 0x100000) << 1;
		slot = (address & ~UINT64_C(0xfff)) + (uint64_t)pages * 4096 + (ldr >> 10 & 0xfff) * 8;
		name = name_of_slot(plt, slot);
		if (!name)
			continue;
		if (at >= 4 && word_at(p + at - 4) == ARM_BTI_C)
			address -= 4;
		/* Up to the jump, and what fills the stub. */
		for (end = at + 8; end + 4 <= size && (word_at(p + end) & 0xfe000000) != 0xd6000000;
		     end += 4)
			;
		end += 4;
		while (end + 4 <= size && word_at(p + end) == ARM_NOP)
			end += 4;
		if (!add_stub(plt, address, shdr->sh_addr + end, name))
			return false;
	}
	return true;
}

static int compare_stubs(const void *a, const void *b)
{
	const struct stub *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool read_sections(struct plt *plt, Elf *elf, bool arm, bool relocations)
{
	Elf_Scn *section = NULL;
	const char *name;
	Elf_Data *data;
	GElf_Shdr shdr;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return true;
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &shdr) || shdr.sh_size > MAX_SECTION)
			continue;
		name = elf_strptr(elf, names, shdr.sh_name);
		if (!name)
			continue;
		if (relocations) {
			if (shdr.sh_type == SHT_RELA && (shdr.sh_flags & SHF_ALLOC) &&
			    !read_relocations(plt, elf, section, &shdr, !strcmp(name, ".rela.plt"), arm))
				return false;
			continue;
		}
		if (shdr.sh_type != SHT_PROGBITS || strncmp(name, ".plt", 4) != 0)
			continue;
		data = elf_rawdata(section, NULL);
		if (data && data->d_buf &&
		    !(arm ? read_arm : read_x86)(plt, &shdr, data->d_buf, data->d_size))
			return false;
	}
	return true;
}

struct plt *plt_read(Elf *elf)
{
	struct plt *plt = calloc(1, sizeof(*plt));
	GElf_Ehdr ehdr;
	bool arm;

	if (!plt || !gelf_getehdr(elf, &ehdr) ||
	    (ehdr.e_machine != EM_X86_64 && ehdr.e_machine != EM_AARCH64))
		return plt;
	arm = ehdr.e_machine == EM_AARCH64;
	if (read_sections(plt, elf, arm, true)) {
		if (plt->nrslots)
			qsort(plt->slots, plt->nrslots, sizeof(*plt->slots), compare_slots);
		read_sections(plt, elf, arm, false);
		if (plt->nrstubs)
			qsort(plt->stubs, plt->nrstubs, sizeof(*plt->stubs), compare_stubs);
	}
	return plt;
}

const char *plt_find(const struct plt *plt, uint64_t address, uint64_t *start, uint64_t *end)
{
	size_t low = 0, high = plt ? plt->nrstubs : 0, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (plt->stubs[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= plt->stubs[low - 1].end)
		return NULL;
	*start = plt->stubs[low - 1].start;
	*end = plt->stubs[low - 1].end;
	return plt->stubs[low - 1].name;
}

void plt_free(struct plt *plt)
{
	size_t i;

	if (!plt)
		return;
	for (i = 0; i < plt->nrstubs; i++)
		free(plt->stubs[i].name);
	free(plt->stubs);
	free(plt->jumps);
	free(plt->slots);
	free(plt);
}
