// SPDX-License-Identifier: GPL-2.0
/*
 * Find symbols by their addresses, with the choice that libdwfl makes:
 *
 * A symbol with a size is the better one if it begins later or has a stronger binding; of those
 * with the same start the shorter one, and of equal ones the first in the table.  This is no
 * order: what is chosen of three may depend on which of them comes first.  So those that have the
 * address are compared in the order of libdwfl: first all that are not local.
 *
 * If there is none, a symbol without a size names what follows it, up to the next symbol, and in
 * its section.  There are few of them, so libdwfl looks for these itself, once for each.  The tables
 * for unwinding, which stripped files have, say where its function ends.
 */
#include <stdlib.h>
#include <string.h>

#include "hash-table.h"
#include "spans.h"
#include "symbol-index.h"
#include "unwind-table.h"

/* Symbols at one address; if there are more, libdwfl looks for the best one. */
#define MAX_CANDIDATES	64

struct symbol {
	const char *name;
	GElf_Addr start;
	GElf_Sym sym;
};

/* The symbol that libdwfl has found behind the start of one without a size. */
struct answer {
	GElf_Addr label;
	uint32_t section;	/* of the address */
	uint32_t exact;		/* 1: the address is the symbol's */
	/* after the key */
	bool known;
	struct symbol symbol;
};

struct symbol_index {
	Dwfl_Module *mod;
	uint32_t machine;
	uint32_t first_global;
	struct spans sized, sizeless;	/* their numbers are those of symbols */
	struct spans sections;
	struct hash_table answers;
	Dwarf_CFI *unwinding;		/* libdw's; NULL: the file has no such tables, or not asked for */
	bool unwinding_known;
	GElf_Addr unwinding_bias;
	struct unwind_table table;
	GElf_Addr table_bias;
	GElf_Addr label, behind;	/* the last one, and the least address known to be behind it */
	uint64_t looked_at;
};

static bool get_symbol(const struct symbol_index *index, uint32_t i, struct symbol *s)
{
	s->name = dwfl_module_getsym_info(index->mod, (int)i, &s->sym, &s->start, NULL, NULL, NULL);
	return s->name;
}

/*
 * True if the symbol only says that instructions ($x, $a, $t) or data ($d) begin there.  Assemblers
 * for these processors write one before each function of assembly, and behind each table in it.
 */
static bool is_mark(const struct symbol_index *index, const struct symbol *s)
{
	if (GELF_ST_TYPE(s->sym.st_info) != STT_NOTYPE || s->name[0] != '$' || !s->name[1] ||
	    !strchr("xadt", s->name[1]))
		return false;
	/* RISC-V's have the name of the instruction set behind them. */
	if (index->machine == EM_RISCV)
		return true;
	return (index->machine == EM_AARCH64 || index->machine == EM_ARM) &&
	       (!s->name[2] || s->name[2] == '.');
}

/* True if the symbol can be that of code. */
static bool names_code(const struct symbol_index *index, const struct symbol *s)
{
	if (is_mark(index, s))
		return false;
	switch (GELF_ST_TYPE(s->sym.st_info)) {
	case STT_SECTION:
	case STT_FILE:
	case STT_TLS:
		return false;
	default:
		return s->name[0] && s->sym.st_shndx != SHN_UNDEF;
	}
}

static bool add_symbol(struct symbol_index *index, uint32_t i)
{
	struct symbol s;
	uint64_t last;

	if (!get_symbol(index, i, &s) || !names_code(index, &s))
		return true;
	if (!s.sym.st_size)
		return spans_add(&index->sizeless, s.start, s.start, i);
	if (__builtin_add_overflow(s.start, s.sym.st_size - 1, &last))
		last = UINT64_MAX;
	return spans_add(&index->sized, s.start, last, i);
}

/* libdwfl may count the address behind a section as one in it: that is one of its own here. */
static bool add_sections(struct symbol_index *index)
{
	Elf_Scn *section = NULL;
	GElf_Addr bias, start, end;
	Elf *elf = dwfl_module_getelf(index->mod, &bias);
	GElf_Shdr header;
	uint32_t nr = 0;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC) ||
		    !header.sh_size || header.sh_addr + header.sh_size < header.sh_addr)
			continue;
		start = header.sh_addr + bias;
		end = start + header.sh_size;
		if (!spans_add(&index->sections, start, end - 1, nr++) ||
		    !spans_add(&index->sections, end, end, nr++))
			return false;
	}
	spans_sort(&index->sections);
	return true;
}

/* True if a symbol may be that of a function's descriptor, which has the address. */
static bool has_descriptors(Dwfl_Module *mod)
{
	GElf_Addr bias;
	GElf_Ehdr ehdr;
	Elf *elf = dwfl_module_getelf(mod, &bias);

	/* Version 2 of the 64-bit PowerPC ABI has no descriptors. */
	return !elf || !gelf_getehdr(elf, &ehdr) || ehdr.e_machine == EM_PARISC ||
	       ehdr.e_machine == EM_IA_64 ||
	       (ehdr.e_machine == EM_PPC64 && (ehdr.e_flags & EF_PPC64_ABI) != 2);
}

static uint32_t machine_of(Dwfl_Module *mod)
{
	GElf_Addr bias;
	GElf_Ehdr ehdr;
	Elf *elf = dwfl_module_getelf(mod, &bias);

	return elf && gelf_getehdr(elf, &ehdr) ? ehdr.e_machine : EM_NONE;
}

struct symbol_index *symbol_index_make(Dwfl_Module *mod)
{
	int i, nr = dwfl_module_getsymtab(mod);
	int first_global = dwfl_module_getsymtab_first_global(mod);
	struct symbol_index *index;

	if (has_descriptors(mod))
		return NULL;
	index = calloc(1, sizeof(*index));
	if (!index)
		return NULL;
	index->mod = mod;
	index->label = UINT64_MAX;
	index->machine = machine_of(mod);
	/* Without symbols, there are none to be found. */
	if (nr < 0 || first_global < 0)
		return index;
	index->first_global = (uint32_t)first_global;
	for (i = 1; i < nr; i++)
		if (!add_symbol(index, (uint32_t)i)) {
			symbol_index_free(index);
			return NULL;
		}
	spans_sort(&index->sized);
	spans_sort(&index->sizeless);
	if (index->sizeless.nr)
		unwind_table_read(&index->table, dwfl_module_getelf(mod, &index->table_bias));
	if (!index->sizeless.nr || add_sections(index))
		return index;
	symbol_index_free(index);
	return NULL;
}

struct candidates {
	uint32_t number[MAX_CANDIDATES];
	unsigned int nr;
	bool global, more;
	uint32_t first_global;
};

/* Keep them in the order of the table.  Local ones count only if there are no others. */
static void add_candidate(void *arg, const struct span *span)
{
	struct candidates *c = arg;
	bool global = span->number >= c->first_global;
	unsigned int i;

	if (c->global && !global)
		return;
	if (global && !c->global) {
		c->global = true;
		c->more = false;
		c->nr = 0;
	}
	if (c->nr == MAX_CANDIDATES) {
		c->more = true;
		return;
	}
	for (i = c->nr++; i && c->number[i - 1] > span->number; i--)
		c->number[i] = c->number[i - 1];
	c->number[i] = span->number;
}

static int strength(const struct symbol *s)
{
	switch (GELF_ST_BIND(s->sym.st_info)) {
	case STB_GLOBAL:
		return 3;
	case STB_WEAK:
		return 2;
	case STB_LOCAL:
		return 1;
	default:
		return 0;
	}
}

/* True if the second one is preferred to the first, which comes before it. */
static bool is_better(const struct symbol *first, const struct symbol *second)
{
	int stronger = strength(second) - strength(first);

	if (second->start > first->start || stronger > 0)
		return true;
	return second->start == first->start && !stronger &&
	       second->sym.st_size < first->sym.st_size;
}

static bool ask_libdwfl(struct symbol_index *index, GElf_Addr at, struct symbol *s)
{
	GElf_Off offset = 0;

	index->looked_at += index->sized.nr + index->sizeless.nr;
	s->name = dwfl_module_addrinfo(index->mod, at, &offset, &s->sym, NULL, NULL, NULL);
	s->start = at - offset;
	return s->name;
}

static void add_section(void *arg, const struct span *span)
{
	uint32_t *sections = arg;

	*sections = *sections * 31 + span->number + 1;
}

/* Each section is followed by the address behind it. */
static void take_section(void *arg, const struct span *span)
{
	uint32_t *section = arg;

	if (span->number % 2 == 0)
		*section = span->number + 1;
}

/* Return: a number of the section that has the address; 0: there is none */
static uint32_t section_of(struct symbol_index *index, GElf_Addr at)
{
	uint32_t section = 0;

	spans_at(&index->sections, at, take_section, &section);
	return section;
}

/*
 * Find the last symbol without a size, which is in the section of the address; of several there,
 * one that is not local.
 */
static bool find_label(struct symbol_index *index, GElf_Addr at, struct symbol *s)
{
	const size_t i = spans_until(&index->sizeless, at);

	return i && get_symbol(index, index->sizeless.span[i - 1].number, s) &&
	       section_of(index, s->start) == section_of(index, at);
}

/* The same symbol names all addresses from the label to the next symbol or section. */
static bool ask_once(struct symbol_index *index, GElf_Addr label, GElf_Addr at, struct symbol *s)
{
	struct answer key = { .label = label, .exact = at == label }, *answer;
	uint32_t i;

	if (!index->answers.size)
		index->answers = (struct hash_table){
			.size = sizeof(key), .key = offsetof(struct answer, known),
		};
	spans_at(&index->sections, at, add_section, &key.section);
	i = hash_table_add(&index->answers, &key);
	if (!i)
		return ask_libdwfl(index, at, s);
	answer = (struct answer *)index->answers.items + i;
	if (!answer->known) {
		answer->known = true;
		if (ask_libdwfl(index, at, &answer->symbol) && is_mark(index, &answer->symbol) &&
		    !find_label(index, at, &answer->symbol))
			answer->symbol.name = NULL;
	}
	*s = answer->symbol;
	return s->name;
}

/* True if there is a symbol without a size, and no other one ends behind it. */
static bool has_label(struct symbol_index *index, GElf_Addr at, GElf_Addr *label)
{
	size_t i = spans_until(&index->sizeless, at), nr = spans_until(&index->sized, at);

	if (!i)
		return false;
	*label = index->sizeless.span[i - 1].start;
	return !nr || spans_last(&index->sized, nr) < *label;
}

/* Find the function at an address by the tables for unwinding.  Return: false: it is in none */
static bool find_unwinding(struct symbol_index *index, GElf_Addr at, GElf_Addr *start, GElf_Addr *end)
{
	Dwarf_Frame *frame = NULL;
	bool found;
	int ret;

	index->looked_at++;
	ret = unwind_table_find(&index->table, at - index->table_bias, start, end);
	if (ret >= 0) {
		*start += index->table_bias;
		*end += index->table_bias;
		return ret;
	}
	if (!index->unwinding_known) {
		index->unwinding_known = true;
		index->unwinding = dwfl_module_eh_cfi(index->mod, &index->unwinding_bias);
	}
	if (!index->unwinding ||
	    dwarf_cfi_addrframe(index->unwinding, at - index->unwinding_bias, &frame))
		return false;
	found = dwarf_frame_info(frame, start, end, NULL) >= 0;
	*start += index->unwinding_bias;
	*end += index->unwinding_bias;
	free(frame);
	return found;
}

/*
 * True if another function is at the address or before it, or the label's ends before it.  libdw keeps
 * all that it has looked at, so it is not asked for each address behind a label.
 */
static bool is_behind(struct symbol_index *index, GElf_Addr label, GElf_Addr at)
{
	GElf_Addr start = 0, end = 0;

	if (index->label != label) {
		index->label = label;
		index->behind = find_unwinding(index, label, &start, &end) ? end : UINT64_MAX;
	}
	if (at < index->behind && find_unwinding(index, at, &start, &end) && start > label)
		index->behind = start;
	return at >= index->behind;
}

/* True if the last symbol there that has no size is not local: local ones do not count then. */
static bool has_global_label(struct symbol_index *index, GElf_Addr at)
{
	size_t i = spans_until(&index->sizeless, at);

	return i && index->sizeless.span[i - 1].start == at &&
	       index->sizeless.span[i - 1].number >= index->first_global;
}

const char *symbol_index_find(struct symbol_index *index, GElf_Addr at, GElf_Addr *start,
			      GElf_Xword *size)
{
	struct candidates c = { .first_global = index->first_global };
	struct symbol best = { NULL }, s;
	bool found = false;
	unsigned int i;
	GElf_Addr label;

	spans_at(&index->sized, at, add_candidate, &c);
	if (c.more) {
		found = ask_libdwfl(index, at, &best);
	} else if (!c.global && has_global_label(index, at)) {
		found = ask_once(index, at, at, &best);
	} else if (!c.nr) {
		found = has_label(index, at, &label) && !is_behind(index, label, at) &&
			ask_once(index, label, at, &best);
	} else {
		for (i = 0; i < c.nr; i++) {
			index->looked_at++;
			if (!get_symbol(index, c.number[i], &s) || (found && !is_better(&best, &s)))
				continue;
			best = s;
			found = true;
		}
	}
	if (!found)
		return NULL;
	*start = best.start;
	*size = best.sym.st_size;
	return best.name;
}

uint64_t symbol_index_visited(const struct symbol_index *index)
{
	return index->sized.visited + index->sizeless.visited + index->looked_at;
}

void symbol_index_free(struct symbol_index *index)
{
	if (!index)
		return;
	spans_free(&index->sized);
	spans_free(&index->sizeless);
	spans_free(&index->sections);
	hash_table_free(&index->answers);
	free(index);
}
