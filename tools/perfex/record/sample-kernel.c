// SPDX-License-Identifier: GPL-2.0
/*
 * Write the kernel's functions that have samples.  A reader of the file need not have the
 * kernel's symbols, nor the rights to see its addresses, and may run on another machine.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "recording.h"

/* More addresses than any kernel has functions that are sampled. */
#define MAX_ADDRESSES	(1U << 20)

struct symbol {
	uint64_t address;
	char *name;		/* NULL: no code */
	bool local;		/* other symbols of the same address are preferred */
	bool sampled;
};

struct symbols {
	struct symbol *symbol;
	size_t nr, room;
};

/*
 * True if the kernel has 32 bits.  An address does not tell: a 64-bit kernel has some code at low
 * ones, such as that of firmware.
 */
bool kernel_has_32_bits(void)
{
	struct utsname name;

	return !uname(&name) && !strstr(name.machine, "64");
}

static uint64_t extend(uint64_t address)
{
	return address && !(address >> 32) ? address | ~(uint64_t)UINT32_MAX : address;
}

uint64_t kernel_address(const struct recording *rec, uint64_t address)
{
	return rec->narrow_kernel ? extend(address) : address;
}

void note_kernel(struct recording *rec, uint64_t address)
{
	if (!rec->kernel.size)
		rec->kernel = (struct hash_table){
			.size = sizeof(address), .key = sizeof(address)
		};
	/* Without memory, a function has no name. */
	if (rec->kernel.nr < MAX_ADDRESSES)
		hash_table_add(&rec->kernel, &address);
}

/* Add a line of /proc/kallsyms: "ffffffff81000000 T name\t[module]"; 32 bits: "c0008000 T name". */
static bool add_symbol(struct symbols *s, char *line)
{
	struct symbol *symbol = s->symbol;
	char *type, *name = NULL, *end;
	size_t room;

	line[strcspn(line, "\n")] = '\0';
	if (s->nr == s->room) {
		room = s->room ? s->room * 2 : 65536;
		symbol = reallocarray(symbol, room, sizeof(*symbol));
		if (!symbol)
			return false;
		s->symbol = symbol;
		s->room = room;
	}
	symbol += s->nr;
	*symbol = (struct symbol){ .address = strtoull(line, &type, 16) };
	if (type == line + 8)
		symbol->address = extend(symbol->address);
	/* Other users than root may see only zeros. */
	if (!(symbol->address >> 63) || type[0] != ' ' || !type[1] || type[2] != ' ')
		return true;
	if (strchr("tTwW", type[1])) {
		name = type + 3;
		end = strchr(name, '\t');
		if (end)
			*end = ' ';
		symbol->name = strdup(name);
		if (!symbol->name)
			return false;
	}
	symbol->local = type[1] != 'T';
	s->nr++;
	return true;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (!x->name != !y->name)
		return !x->name - !y->name;
	if (x->local != y->local)
		return x->local - y->local;
	return x->name ? strcmp(x->name, y->name) : 0;
}

/* Return: the first of the symbols with the greatest address up to this one, or NULL. */
static struct symbol *find_symbol(const struct symbols *s, uint64_t address)
{
	size_t from = 0, to = s->nr;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (s->symbol[mid].address <= address)
			from = mid + 1;
		else
			to = mid;
	}
	if (!from)
		return NULL;
	address = s->symbol[from - 1].address;
	while (from > 1 && s->symbol[from - 2].address == address)
		from--;
	return &s->symbol[from - 1];
}

static void read_symbols(struct symbols *s)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char *line = NULL;
	size_t room = 0;

	if (!f)
		return;
	while (getline(&line, &room, f) > 0)
		if (!add_symbol(s, line))
			break;
	free(line);
	fclose(f);
	if (s->nr)
		qsort(s->symbol, s->nr, sizeof(*s->symbol), compare_symbols);
}

static void write_function(struct recording *rec, const struct symbols *s, size_t i)
{
	struct record_kernel r = { .start = s->symbol[i].address };
	size_t next = i + 1;

	while (next < s->nr && s->symbol[next].address == r.start)
		next++;
	/* The last one may have any size. */
	r.end = next < s->nr ? s->symbol[next].address : r.start + 4096;
	if (r.end > r.start)
		write_record(rec, RECORD_KERNEL, &r, sizeof(r), s->symbol[i].name);
}

void write_kernel(struct recording *rec)
{
	struct symbols s = { 0 };
	struct symbol *symbol;
	uint32_t n;
	size_t i;

	if (!rec->kernel.nr)
		return;
	read_symbols(&s);
	for (n = 1; n < rec->kernel.nr; n++) {
		symbol = find_symbol(&s, ((uint64_t *)rec->kernel.items)[n]);
		if (symbol)
			symbol->sampled = true;
	}
	for (i = 0; i < s.nr; i++) {
		if (s.symbol[i].sampled && s.symbol[i].name)
			write_function(rec, &s, i);
	}
	for (i = 0; i < s.nr; i++)
		free(s.symbol[i].name);
	free(s.symbol);
}

bool kernel_has_symbol(const char *name, uint64_t address)
{
	FILE *f = address ? fopen("/proc/kallsyms", "re") : NULL;
	char line[512], found[256];
	unsigned long long at;
	bool same = false;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx %*c %255s", &at, found) != 2 || strcmp(found, name))
			continue;
		same = at == address;
		break;
	}
	if (f)
		fclose(f);
	return same;
}
