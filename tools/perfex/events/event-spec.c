// SPDX-License-Identifier: GPL-2.0
/* perf's ways to write events: groups in braces, cpu/.../, names of caches, upper case. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "perfex.h"

/* ---- lists ------------------------------------------------------------------------------ */

/* The list that is made: names with commas. */
struct list {
	FILE *f;
	bool any;
	const char *modes;	/* of the group that is open, as ":u"; or "" */
	size_t modes_length;
};

/* True if the name ends with modes.  An event without modes has those of its group. */
static bool has_modes(const char *name, size_t length)
{
	const char *colon = memrchr(name, ':', length);
	size_t n = colon ? length - (size_t)(colon + 1 - name) : 0;

	return colon && n && n <= 2 && strspn(colon + 1, "uk") >= n;
}

/* cpu/NAME/, cpu/NAME/u; the core is the unit that perfex counts, too */
static bool write_unit(FILE *f, const char *name, size_t length)
{
	const char *end = memchr(name + 4, '/', length < 4 ? 0 : length - 4);
	size_t inside = end ? (size_t)(end - name - 4) : 0, after;

	if (length < 6 || strncmp(name, "cpu/", 4) || !inside || memchr(name + 4, '=', inside))
		return false;
	after = length - inside - 5;
	fprintf(f, "%.*s%s%.*s", (int)inside, name + 4, after ? ":" : "", (int)after, end + 1);
	return true;
}

static void write_name(struct list *l, const char *name, size_t length)
{
	const char *at = memchr(name, '@', length);
	size_t before = at ? (size_t)(at - name) : length;

	fputs(l->any ? "," : "", l->f);
	l->any = true;
	if (write_unit(l->f, name, length))
		return;
	fprintf(l->f, "%.*s", (int)before, name);
	if (l->modes_length && !has_modes(name, before))
		fprintf(l->f, "%.*s", (int)l->modes_length, l->modes);
	fprintf(l->f, "%.*s", (int)(length - before), name + before);
}

/* Return: the length of a name up to a comma or a brace; commas may be between slashes. */
static size_t name_length(const char *text)
{
	const char *p = text;
	bool inside = false;

	for (; *p && (inside || !strchr(",{}", *p)); p++)
		if (*p == '/' && isalpha((unsigned char)*text) && (inside || strchr(p + 1, '/')))
			inside = !inside;
	return (size_t)(p - text);
}

static void write_trimmed(struct list *l, const char *name, size_t length)
{
	for (; length && isspace((unsigned char)*name); name++)
		length--;
	while (length && isspace((unsigned char)name[length - 1]))
		length--;
	write_name(l, name, length);
}

/* The modes after a brace, ":u".  Return: its length, or -1 with *e */
static int group_modes(const char *after, struct error *e)
{
	size_t length = strcspn(after, ",{}");

	if (!length)
		return 0;
	if (after[0] == ':' && length <= 3 && strspn(after + 1, "uk") == length - 1)
		return (int)length;
	return fail_with(e, "'%.*s': a group may be followed by ':u', ':k' or ':uk', and all events are counted together without one",
			 length < 80 ? (int)length : 80, after);
}

static int write_list(struct list *l, const char *spec, struct error *e)
{
	const char *p = spec, *close = NULL;
	size_t length;
	int modes;

	for (;;) {
		p += strspn(p, " \t\n");
		if (*p == '{' && !close) {
			close = strchr(p, '}');
			if (!close)
				return fail_with(e, "'%.80s': the group has no end, which is '}'", spec);
			modes = group_modes(close + 1, e);
			if (modes < 0)
				return -1;
			l->modes = close + 1;
			l->modes_length = (size_t)modes;
			p++;
		}
		length = name_length(p);
		write_trimmed(l, p, length);
		p += length;
		if (close && p == close) {
			p += 1 + l->modes_length;
			p += strspn(p, " \t\n");
			close = NULL;
			l->modes_length = 0;
		}
		if (*p && *p != ',')
			return fail_with(e, "'%.80s': braces are not where a group begins or ends", spec);
		if (!*p)
			return close ? fail_with(e, "'%.80s': a group has no end", spec) : 0;
		p++;
	}
}

char *event_spec_plain(const char *spec, struct error *e)
{
	struct list l = { .modes = "" };
	char *text = NULL;
	size_t size;
	int err;

	l.f = open_memstream(&text, &size);
	if (!l.f) {
		fail_with(e, "out of memory");
		return NULL;
	}
	err = write_list(&l, spec, e);
	if (fclose(l.f) && !err)
		err = fail_with(e, "out of memory");
	if (!err)
		return text;
	free(text);
	return NULL;
}

/* ---- names -------------------------------------------------------------------------------- */

/* perf's names, and those of the same event on processors that have it. */
static const struct {
	const char *name, *same;
} perf_names[] = {
	{ "cpu-clock", "task-clock" },
	{ "l1-dcache-loads", "MEM_INST_RETIRED:ALL_LOADS" },
	{ "l1-dcache-loads", "MEM_UOPS_RETIRED:ALL_LOADS" },
	{ "l1-dcache-loads", "DATA_CACHE_ACCESSES" },
	{ "l1-dcache-loads", "L1D_CACHE" },
	{ "l1-dcache-load-misses", "L1D:REPLACEMENT" },
	{ "l1-dcache-load-misses", "L1D_CACHE_REFILL" },
	{ "l1-dcache-stores", "MEM_INST_RETIRED:ALL_STORES" },
	{ "l1-dcache-stores", "MEM_UOPS_RETIRED:ALL_STORES" },
	{ "l1-icache-load-misses", "ICACHE_64B:IFTAG_MISS" },
	{ "l1-icache-load-misses", "ICACHE:MISSES" },
	{ "l1-icache-load-misses", "L1I_CACHE_REFILL" },
	{ "l1-icache-loads", "L1I_CACHE" },
	{ "llc-loads", "LL_CACHE_RD" },
	{ "llc-load-misses", "LL_CACHE_MISS_RD" },
	{ "dtlb-loads", "MEM_INST_RETIRED:ALL_LOADS" },
	{ "dtlb-loads", "MEM_UOPS_RETIRED:ALL_LOADS" },
	{ "dtlb-loads", "L1D_TLB" },
	{ "dtlb-load-misses", "DTLB_LOAD_MISSES:WALK_COMPLETED" },
	{ "dtlb-load-misses", "L1D_TLB_REFILL" },
	{ "dtlb-stores", "MEM_INST_RETIRED:ALL_STORES" },
	{ "dtlb-stores", "MEM_UOPS_RETIRED:ALL_STORES" },
	{ "dtlb-store-misses", "DTLB_STORE_MISSES:WALK_COMPLETED" },
	{ "itlb-loads", "ITLB_MISSES:STLB_HIT" },
	{ "itlb-loads", "L1I_TLB" },
	{ "itlb-load-misses", "ITLB_MISSES:WALK_COMPLETED" },
	{ "itlb-load-misses", "L1I_TLB_REFILL" },
	{ "branch-loads", "branches" },
	{ "branch-load-misses", "branch-misses" },
};

/*
 * Try the name with what follows perf's name.  Return: false: the processor does not have it, or
 * a name is too long.
 */
static bool try_name(struct vperfctr_event *event, const char *name, const char *rest,
		     const struct vperfctr_info *info)
{
	char text[sizeof(event->name)];

	return snprintf(text, sizeof(text), "%s%s", name, rest) < (int)sizeof(text) &&
	       !vperfctr_event(event, text, info, NULL);
}

bool event_of_perf(struct vperfctr_event *event, const char *name, const struct vperfctr_info *info)
{
	const char *rest = name + strcspn(name, ":@");
	char simple[64];
	size_t i, length = (size_t)(rest - name);

	if (length >= sizeof(simple))
		return false;
	for (i = 0; i < length; i++)
		simple[i] = (char)tolower((unsigned char)name[i]);
	simple[length] = '\0';
	for (i = 0; i < ARRAY_SIZE(perf_names); i++)
		if (!strcmp(simple, perf_names[i].name) &&
		    try_name(event, perf_names[i].same, rest, info))
			return true;
	/* Generic names, and the kernel's, are in lower case. */
	return strncmp(simple, name, length) && try_name(event, simple, rest, info);
}
