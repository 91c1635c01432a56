// SPDX-License-Identifier: GPL-2.0
/* /tmp/perf-PID.map: functions that a JIT has made, in lines of address, size and name. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jit-symbols.h"
#include "symbols.h"

#define MAX_SYMBOLS	(1U << 24)

struct symbol {
	uint64_t start, end;
	uint32_t number;	/* its line */
	char *name;
};

struct jit_symbols {
	struct symbol *symbol;
	uint32_t nr;
};

/*
 * Another user can make a file of that name.  Take only those of this user, and root's.
 * The number is that of the process where it was sampled: of another one, if it is used again.
 */
static FILE *open_map(uint32_t pid, struct work *work)
{
	struct stat st;
	char path[64];
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	fd = open_named(path, O_NOFOLLOW);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && (!st.st_uid || st.st_uid == geteuid()) &&
	    work_allows(work, fd, path)) {
		f = fdopen(fd, "r");
		if (f)
			return f;
	}
	close(fd);
	return NULL;
}

static bool parse_line(char *line, struct symbol *symbol)
{
	uint64_t size;
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &symbol->start, &size, &at) < 2 || !at ||
	    !line[at] || __builtin_add_overflow(symbol->start, size, &symbol->end))
		return false;
	symbol->name = strdup(line + at);
	return symbol->name;
}

/* The latest function at an address is the last one. */
static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static bool add_symbol(struct jit_symbols *s, const struct symbol *symbol)
{
	struct symbol *symbols;

	/* There is room for a power of two. */
	if (!(s->nr & (s->nr - 1))) {
		symbols = reallocarray(s->symbol, s->nr ? s->nr * 2 : 1, sizeof(*symbols));
		if (!symbols)
			return false;
		s->symbol = symbols;
	}
	s->symbol[s->nr] = *symbol;
	s->symbol[s->nr].number = s->nr;
	s->nr++;
	return true;
}

struct jit_symbols *jit_symbols_read(uint32_t pid, struct work *work)
{
	struct jit_symbols *s = calloc(1, sizeof(*s));
	FILE *f = s ? open_map(pid, work) : NULL;
	struct symbol symbol;
	char *line = NULL;
	size_t size = 0;

	while (f && s->nr < MAX_SYMBOLS && getline(&line, &size, f) > 0) {
		if (parse_line(line, &symbol) && !add_symbol(s, &symbol)) {
			free(symbol.name);
			break;
		}
	}
	free(line);
	if (f)
		fclose(f);
	if (s && s->nr) {
		qsort(s->symbol, s->nr, sizeof(*s->symbol), compare_symbols);
		return s;
	}
	jit_symbols_free(s);
	return NULL;
}

static const struct symbol *find_symbol(const struct jit_symbols *s, uint64_t address)
{
	uint32_t low = 0, high = s->nr, middle;

	/* low: how many begin at the address or before it. */
	while (low < high) {
		middle = low + (high - low) / 2;
		if (s->symbol[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < s->symbol[low - 1].end ? &s->symbol[low - 1] : NULL;
}

const char *jit_symbols_find(const struct jit_symbols *s, uint64_t address)
{
	const struct symbol *symbol = find_symbol(s, address);

	return symbol ? symbol->name : NULL;
}

/* The map has no bytes. */
bool jit_symbols_code(const struct jit_symbols *s, uint64_t address, struct code *code)
{
	const struct symbol *symbol = find_symbol(s, address);

	if (symbol)
		*code = (struct code){
			.start = symbol->start, .offset = symbol->start,
			.size = symbol->end - symbol->start,
		};
	return symbol;
}

void jit_symbols_free(struct jit_symbols *s)
{
	uint32_t i;

	for (i = 0; s && i < s->nr; i++)
		free(s->symbol[i].name);
	if (s)
		free(s->symbol);
	free(s);
}
