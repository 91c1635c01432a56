// SPDX-License-Identifier: GPL-2.0
/*
 * The table begins with a head, whose first number says its layout.  Then there are, at the places
 * that the head says, the names, and the functions as pairs of an entry and the place of a
 * description, sorted by their entries.  A description has the entry again, and the place of the name.
 *
 * The file may come from an attacker.  Each place is checked before it is used.
 */
#include <endian.h>
#include <string.h>

#include "go-names.h"

/* The first number, and Go's version that has begun with it. */
#define MAGIC_2		0xfffffffb
#define MAGIC_16	0xfffffffa
#define MAGIC_18	0xfffffff0
#define MAGIC_20	0xfffffff1

enum { VERSION_2 = 2, VERSION_16 = 16, VERSION_18 = 18 };

#define MAX_GO_NAME	4096
#define HEAD		8	/* bytes before the first number of a pointer's size */

/* Read a number of 4 or 8 bytes.  Return: false: it is not in the table */
static bool number_at(const struct go_names *g, uint64_t at, unsigned int bytes, uint64_t *n)
{
	uint32_t word;

	if (at > g->size || g->size - at < bytes)
		return false;
	if (bytes == sizeof(word)) {
		memcpy(&word, g->table + at, sizeof(word));
		*n = word;
	} else {
		memcpy(n, g->table + at, sizeof(*n));
	}
	return true;
}

/* Read the i-th number of the head. */
static bool head_at(const struct go_names *g, unsigned int i, uint64_t *n)
{
	return number_at(g, HEAD + (uint64_t)i * g->pointer, g->pointer, n);
}

static bool read_head(struct go_names *g)
{
	uint64_t magic;

	if (!number_at(g, 0, 4, &magic) || g->size < HEAD)
		return false;
	g->pointer = g->table[HEAD - 1];
	if (g->pointer != 4 && g->pointer != 8)
		return false;
	switch (magic) {
	case MAGIC_2:
		g->version = VERSION_2;
		g->functions = HEAD + g->pointer;
		break;
	case MAGIC_16:
		g->version = VERSION_16;
		if (!head_at(g, 2, &g->names) || !head_at(g, 6, &g->functions))
			return false;
		break;
	case MAGIC_18:
	case MAGIC_20:
		g->version = VERSION_18;
		/* The linker may leave the start of the code to the loader. */
		if (!head_at(g, 2, &g->text) || !g->text || !head_at(g, 3, &g->names) ||
		    !head_at(g, 7, &g->functions))
			return false;
		break;
	default:
		return false;
	}
	return head_at(g, 0, &g->nr) && g->nr && g->nr <= g->size / 8 && g->functions < g->size;
}

void go_names_read(struct go_names *g, Elf *elf)
{
	Elf_Scn *section = NULL;
	const char *name, *ident;
	Elf_Data *data;
	GElf_Shdr shdr;
	size_t names;

	*g = (struct go_names){ NULL };
	ident = elf ? elf_getident(elf, NULL) : NULL;
	if (!ident || elf_getshdrstrndx(elf, &names) ||
	    ident[EI_DATA] != (htole16(1) == 1 ? ELFDATA2LSB : ELFDATA2MSB))
		return;
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &shdr) || shdr.sh_type != SHT_PROGBITS)
			continue;
		name = elf_strptr(elf, names, shdr.sh_name);
		/* The latter is that of position-independent programs. */
		if (!name || (strcmp(name, ".gopclntab") && strcmp(name, ".data.rel.ro.gopclntab")))
			continue;
		data = elf_rawdata(section, NULL);
		if (!data || !data->d_buf)
			continue;
		g->table = data->d_buf;
		g->size = data->d_size;
		if (read_head(g))
			return;
		*g = (struct go_names){ NULL };
	}
}

/* Read a pair of the functions. */
static bool function_at(const struct go_names *g, uint64_t i, uint64_t *entry, uint64_t *place)
{
	const unsigned int bytes = g->version >= VERSION_18 ? 4 : g->pointer;
	const uint64_t at = g->functions + i * 2 * bytes;

	if (!number_at(g, at, bytes, entry))
		return false;
	*entry += g->text;
	/* Behind the last one is the end of the code. */
	return i == g->nr || number_at(g, at + bytes, bytes, place);
}

const char *go_names_find(const struct go_names *g, GElf_Addr at, GElf_Addr *start, GElf_Xword *size)
{
	uint64_t from = 0, to = g->nr, middle, entry, place = 0, end, name;

	if (!g->table)
		return NULL;
	while (from < to) {
		middle = from + (to - from) / 2;
		if (!function_at(g, middle, &entry, &place))
			return NULL;
		if (entry <= at)
			from = middle + 1;
		else
			to = middle;
	}
	if (!from || !function_at(g, from, &end, &name) || at >= end ||
	    !function_at(g, from - 1, &entry, &place))
		return NULL;
	/* In the first version, places are those of the table. */
	if (g->version > VERSION_2)
		place += g->functions;
	if (!number_at(g, place + (g->version >= VERSION_18 ? 4 : g->pointer), 4, &name))
		return NULL;
	name += g->names;
	if (name >= g->size || !g->table[name] ||
	    !memchr(g->table + name, '\0', g->size - name < MAX_GO_NAME ? g->size - name : MAX_GO_NAME))
		return NULL;
	*start = entry;
	*size = end - entry;
	return (const char *)g->table + name;
}
