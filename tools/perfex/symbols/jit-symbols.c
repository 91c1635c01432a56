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

#include "intervals.h"
#include "jit-symbols.h"
#include "perfex.h"
#include "symbols.h"

#define MAX_SYMBOLS	(1U << 24)
#define MAX_LINE	131072	/* with its end */
#define MAX_LINE_TEXT	"131,071"

struct symbol {
	uint64_t start, end;
	char *name;
};

/*
 * A JIT that frees code and uses its memory again appends the new function, and the line of the
 * old one stays.  So each function takes the place of what it covers of those before it.
 */
struct jit_symbols {
	struct symbol *symbol;
	uint32_t nr;
	struct intervals places;	/* the values are numbers of symbols, from 1 */
	uint32_t set;
	struct work work;
};

/*
 * Another user can make a file of that name.  Take only those of the process's own user, of this
 * user, and root's.
 */
static FILE *take_map(int fd, const char *path, uint32_t uid, struct work *work, const char **why)
{
	struct stat st;
	FILE *f;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && (!st.st_uid || st.st_uid == geteuid() || st.st_uid == uid)) {
		f = work_allows(work, fd, path) ? fdopen(fd, "r") : NULL;
		if (f)
			return f;
		*why = TOO_MUCH_WORK;
	}
	close(fd);
	return NULL;
}

/* True if the process lives, and has this number in its own namespace. */
static bool is_inner_pid(uint32_t pid, uint32_t inner_pid)
{
	char line[512];
	bool same = false;
	FILE *f;

	f = open_of_process(pid, "status");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "NSpid:", 6) && strrchr(line, '\t'))
			same = strtoul(strrchr(line, '\t'), NULL, 10) == inner_pid;
	if (f)
		fclose(f);
	return same;
}

/*
 * The process writes its own number of itself, below its own root directory: in a container both
 * differ.  There may also be a copy where perfex can read it.  The number is that of the process
 * where it was sampled: of another one, if it is used again.
 */
static FILE *open_map(uint32_t pid, uint32_t inner_pid, uint32_t uid, struct work *work,
		      const char **why)
{
	char name[64], root[64], there[4096];
	FILE *f = NULL;

	snprintf(name, sizeof(name), "/tmp/perf-%" PRIu32 ".map", inner_pid);
	snprintf(root, sizeof(root), PROC "/%" PRIu32 "/root", pid);
	if (below_directory(name, there, sizeof(there)))
		f = take_map(open_named(there, O_NOFOLLOW), there, uid, work, why);
	if (!f && !*why && is_inner_pid(pid, inner_pid))
		f = take_map(open_named_below(root, name, O_NOFOLLOW), name, uid, work, why);
	/* If its map is too much, another one is none for it. */
	if (f || *why)
		return f;
	snprintf(name, sizeof(name), "/tmp/perf-%" PRIu32 ".map", pid);
	return take_map(open_named(name, O_NOFOLLOW), name, uid, work, why);
}

static bool parse_line(char *line, struct symbol *symbol)
{
	uint64_t size;
	int at = 0;

	/* A runtime may write the lines of another system's text. */
	line[strcspn(line, "\n")] = '\0';
	if (*line && line[strlen(line) - 1] == '\r')
		line[strlen(line) - 1] = '\0';
	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &symbol->start, &size, &at) < 2 || !at ||
	    !line[at] || !size || __builtin_add_overflow(symbol->start, size, &symbol->end))
		return false;
	symbol->name = strdup(line + at);
	return symbol->name;
}

static bool add_symbol(struct jit_symbols *s, const struct symbol *symbol)
{
	struct symbol *symbols;
	uint32_t set;

	/* There is room for a power of two. */
	if (!(s->nr & (s->nr - 1))) {
		symbols = reallocarray(s->symbol, s->nr ? s->nr * 2 : 1, sizeof(*symbols));
		if (!symbols)
			return false;
		s->symbol = symbols;
	}
	set = intervals_put(&s->places, s->set, 1, symbol->start, symbol->end, s->nr + 1);
	if (!set)
		return false;
	s->set = set;
	s->symbol[s->nr++] = *symbol;
	return true;
}

/*
 * Read the map of functions.  Return: false: with a line without an end, as a hole is, it is no
 * map of functions.  Longer names are not shortened, as two could become one.
 */
static bool read_map(struct jit_symbols *s, FILE *f)
{
	const struct work *before = work_on(&s->work);
	static char line[MAX_LINE];
	struct symbol symbol;
	bool whole = true;

	/* fgets() uses the last byte only if the line fills the others, whatever is in it. */
	line[MAX_LINE - 1] = 'x';
	errno = 0;
	while (s->nr < MAX_SYMBOLS && fgets(line, sizeof(line), f)) {
		whole = line[MAX_LINE - 1] || line[MAX_LINE - 2] == '\n';
		if (!whole)
			break;
		line[MAX_LINE - 1] = 'x';
		if (parse_line(line, &symbol) && !add_symbol(s, &symbol)) {
			free(symbol.name);
			break;
		}
	}
	if (errno == ENOMEM)
		work_no_memory();
	work_on(before);
	return whole;
}

struct jit_symbols *jit_symbols_read(uint32_t pid, uint32_t inner_pid, uint32_t uid,
				     const char **why)
{
	struct jit_symbols *s = calloc(1, sizeof(*s));
	FILE *f;

	*why = NULL;
	f = s ? open_map(pid, inner_pid, uid, &s->work, why) : NULL;
	if (f && !read_map(s, f))
		*why = "a line of it is longer than " MAX_LINE_TEXT " bytes";
	if (f)
		fclose(f);
	if (s && s->nr && !*why)
		return s;
	jit_symbols_free(s);
	return NULL;
}

const struct work *jit_symbols_work(const struct jit_symbols *s)
{
	return &s->work;
}

static const struct symbol *find_symbol(struct jit_symbols *s, uint64_t address)
{
	uint32_t number = intervals_find(&s->places, s->set, address);

	return number ? &s->symbol[number - 1] : NULL;
}

const char *jit_symbols_find(struct jit_symbols *s, uint64_t address)
{
	const struct symbol *symbol = find_symbol(s, address);

	return symbol ? symbol->name : NULL;
}

/* The map has no bytes. */
bool jit_symbols_code(struct jit_symbols *s, uint64_t address, struct code *code)
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
	if (s) {
		free(s->symbol);
		intervals_free(&s->places);
	}
	free(s);
}
