// SPDX-License-Identifier: GPL-2.0
/* From a name to what a counter must be told. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "perfex.h"

/*
 * Events that have the same name everywhere, with Intel's architectural codes.
 * A fixed counter that counts the very same event may stand in for the code;
 * where it only has the same purpose, for the name: fixed counter 2 counts
 * reference cycles at another rate than code 013c does.
 */
static const struct arch_event {
	const char *name, *alias, *description;
	uint32_t code;
	uint32_t arch;
	int fixed;
	bool fixed_is_code;
} arch_events[] = {
	{ "instructions", NULL, "instructions retired",
	  0x00c0, VPERFCTR_EVENT_INSTRUCTIONS, 0, true },
	{ "cycles", "cpu-cycles", "core cycles while not halted",
	  0x003c, VPERFCTR_EVENT_CYCLES, 1, true },
	{ "branches", "branch-instructions", "branch instructions retired",
	  0x00c4, VPERFCTR_EVENT_BRANCHES, NO_FIXED, false },
	{ "branch-misses", NULL, "mispredicted branch instructions retired",
	  0x00c5, VPERFCTR_EVENT_BRANCH_MISSES, NO_FIXED, false },
	{ "ref-cycles", NULL, "cycles of a constant rate while not halted",
	  0x013c, VPERFCTR_EVENT_REF_CYCLES, 2, false },
	{ "cache-references", NULL, "references to the last-level cache",
	  0x4f2e, VPERFCTR_EVENT_CACHE_REFS, NO_FIXED, false },
	{ "cache-misses", NULL, "misses of the last-level cache",
	  0x412e, VPERFCTR_EVENT_CACHE_MISSES, NO_FIXED, false },
};

const char *events_generic_name(unsigned int i)
{
	return i < ARRAY_SIZE(arch_events) ? arch_events[i].name : NULL;
}

const char *events_generic_description(unsigned int i)
{
	return arch_events[i].description;
}

static bool has_fixed(const struct vperfctr_info *info, int fixed)
{
	return fixed != NO_FIXED && info->fixed_mask >> fixed & 1;
}

/* ---- the three kinds of names ---------------------------------------------- */

/* Which other counters than the general ones count this code? */
static void classify_code(struct event *event)
{
	unsigned int i;

	event->fixed = NO_FIXED;
	event->fixed_only = false;
	event->arch = 0;

	/* Event 00 is none: its unit mask names a fixed counter, from 1. */
	if (!(event->code & 0xff) && event->code >> 8 >= 1 && event->code >> 8 <= 4) {
		event->fixed = (int)(event->code >> 8) - 1;
		event->fixed_only = true;
		return;
	}
	for (i = 0; i < ARRAY_SIZE(arch_events); i++)
		if (event->code == arch_events[i].code) {
			event->arch = arch_events[i].arch;
			if (arch_events[i].fixed_is_code)
				event->fixed = arch_events[i].fixed;
		}
}

static bool encode_generic(struct event *event, const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(arch_events); i++) {
		const struct arch_event *a = &arch_events[i];

		if (strcmp(name, a->name) && (!a->alias || strcmp(name, a->alias)))
			continue;
		event->code = a->code;
		event->arch = a->arch;
		event->fixed = a->fixed;
		event->fixed_only = false;
		return true;
	}
	return false;
}

/* rUUEE...: 1 if it is not raw at all. */
static int encode_raw(struct event *event, const char *name, struct error *e)
{
	const uint64_t allowed = EVNTSEL_EVENT | EVNTSEL_EDGE | EVNTSEL_INV | EVNTSEL_CMASK;
	size_t len = strlen(name);

	if (name[0] != 'r' || len < 2 || strspn(name + 1, "0123456789abcdefABCDEF") != len - 1)
		return 1;
	/* Sixteen digits are 64 bits; more would be cut off without a word. */
	if (len > 17)
		return fail_with(e, "raw event '%s' is too long: it is rUUEE, unit mask and event select in hexadecimal",
			    name);
	event->code = strtoull(name + 1, NULL, 16);
	if (event->code & ~allowed)
		return fail_with(e, "raw event '%s' sets more than event select, unit mask, edge (bit 18), inv (23) and cmask (24-31): modes are given by ':u' and ':k'",
			    name);
	classify_code(event);
	return 0;
}

/* 0xEVNTSEL[/0xAUX]: 1 if it is not that.  It may say in which modes. */
static int encode_register(struct event *event, const char *name, bool *explicit_mode,
			   struct error *e)
{
	const uint64_t allowed = EVNTSEL_EVENT | EVNTSEL_EDGE | EVNTSEL_INV | EVNTSEL_CMASK |
				 EVNTSEL_USR | EVNTSEL_OS | EVNTSEL_EN;
	uint64_t value;
	char *end;

	if (name[0] != '0' || tolower((unsigned char)name[1]) != 'x')
		return 1;
	errno = 0;
	value = strtoull(name, &end, 16);
	if (*end == '/' && end[1] == '0' && tolower((unsigned char)end[2]) == 'x')
		event->aux = strtoull(end + 1, &end, 16);
	if (*end || errno || !isxdigit((unsigned char)name[2]) || !isxdigit((unsigned char)end[-1]))
		return fail_with(e, "'%s' is no event select register: it is 0xEVNTSEL, or 0xEVNTSEL/0xAUX with a second one",
				 name);
	if (value & ~allowed)
		return fail_with(e, "'%s' sets more than event select, unit mask, USR (bit 16), OS (17), edge (18), EN (22), inv (23) and cmask (24-31)",
				 name);
	if (value & (EVNTSEL_USR | EVNTSEL_OS)) {
		if (*explicit_mode)
			return fail_with(e, "'%s' says itself in which mode to count: leave ':u' or ':k' out",
					 name);
		event->user = value & EVNTSEL_USR;
		event->kernel = value & EVNTSEL_OS;
		*explicit_mode = true;
	}
	event->code = value & ~(uint64_t)(EVNTSEL_USR | EVNTSEL_OS | EVNTSEL_EN);
	classify_code(event);
	return 0;
}

/* ---- names that nobody knows -------------------------------------------------- */

#define NAME_MAX_CMP	64

/* How many letters must be changed, added or removed; case does not matter. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[NAME_MAX_CMP + 1], diagonal, above, best;
	size_t i, j, n = strlen(b);

	if (n > NAME_MAX_CMP || strlen(a) > NAME_MAX_CMP)
		return NAME_MAX_CMP;
	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 1; a[i - 1]; i++) {
		diagonal = row[0];
		row[0] = i;
		for (j = 1; j <= n; j++) {
			above = row[j];
			best = diagonal + (tolower((unsigned char)a[i - 1]) !=
					   tolower((unsigned char)b[j - 1]));
			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = above;
			row[j] = best;
		}
	}
	return row[n];
}

struct guess {
	const char *name;
	const char *best;
	unsigned int distance;
};

static void guess_closer(const char *candidate, void *arg)
{
	struct guess *g = arg;
	unsigned int d = distance(g->name, candidate);

	if (d < g->distance) {
		g->distance = d;
		g->best = candidate;
	}
}

static int fail_unknown(struct error *e, const char *name)
{
	/* More than a third wrong is no misspelling. */
	struct guess g = { name, NULL, strlen(name) / 3 + 1 };
	char base[NAME_MAX_CMP + 1];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(arch_events); i++) {
		guess_closer(arch_events[i].name, &g);
		if (arch_events[i].alias)
			guess_closer(arch_events[i].alias, &g);
	}
	/* libpfm4 lists events without their unit masks and attributes. */
	snprintf(base, sizeof(base), "%.*s", (int)strcspn(name, ":"), name);
	g.name = base;
	pfm_for_each(guess_closer, &g);

	if (g.best)
		return fail_with(e, "unknown event '%s': did you mean '%s'?", name, g.best);
	return fail_with(e, "unknown event '%s': perfex --help lists the generic names; others are libpfm4's for this processor, or raw (r00c0)",
		    name);
}

/* ---- one event ------------------------------------------------------------------ */

/* Cut ":u", ":k", ":uk" (any number) off the end of name; false: there is none. */
static bool cut_modifiers(char *name, bool *user, bool *kernel)
{
	bool found = false;
	char *colon, *p;

	while ((colon = strrchr(name, ':')) && colon[1] &&
	       strspn(colon + 1, "uk") == strlen(colon + 1)) {
		for (p = colon + 1; *p; p++)
			*(*p == 'u' ? user : kernel) = true;
		*colon = '\0';
		found = true;
	}
	return found;
}

/* Cut "@N" or "@fixedN" off the end: the counter that is to be used. */
static int cut_counter(struct event *event, char *name, struct error *e)
{
	char *at = strrchr(name, '@'), *digits, *end;
	bool fixed;
	unsigned long n;

	if (!at)
		return 0;
	fixed = !strncmp(at + 1, "fixed", strlen("fixed"));
	digits = at + 1 + (fixed ? strlen("fixed") : 0);
	n = strtoul(digits, &end, 0);
	if (!isdigit((unsigned char)*digits) || *end || n > 63)
		return fail_with(e, "'%s': after @ there is a counter's number, as in @0 or @fixed1", name);
	event->pinned = true;
	event->map = (uint32_t)n + (fixed ? VPERFCTR_FIXED : 0);
	*at = '\0';
	return 0;
}

static int encode(struct event *event, const char *name, bool *explicit_mode, struct error *e)
{
	int ret;

	if (encode_generic(event, name))
		return 0;
	ret = encode_register(event, name, explicit_mode, e);
	if (ret <= 0)
		return ret;
	ret = encode_raw(event, name, e);
	if (ret <= 0)
		return ret;
	ret = pfm_encode(event, name, e);
	if (ret > 0)
		return fail_unknown(e, name);
	if (!ret)
		classify_code(event);
	return ret;
}

uint64_t event_counters(const struct event *event, const struct vperfctr_info *info, int *fixed)
{
	*fixed = has_fixed(info, event->fixed) ? event->fixed : NO_FIXED;
	if (event->arch && !(info->arch_events & event->arch)) {
		*fixed = NO_FIXED;
		return 0;
	}
	return event->fixed_only ? 0 : info->pmc_mask;
}

static int check_countable(const struct event *event, const struct vperfctr_info *info,
			   struct error *e)
{
	if (event->pinned) {
		const bool fixed = event->map & VPERFCTR_FIXED;
		const unsigned int n = event->map & ~VPERFCTR_FIXED;

		if (!((fixed ? info->fixed_mask : info->pmc_mask) >> n & 1))
			return fail_with(e, "'%s': this processor has no %s counter %u: see perfex -i",
					 event->name, fixed ? "fixed" : "general", n);
		if (fixed ? (int)n != event->fixed : event->fixed_only)
			return fail_with(e, "'%s': this counter cannot count that event: see perfex list",
					 event->name);
	}
	if (event->arch && !(info->arch_events & event->arch))
		return fail_with(e, "this processor cannot count '%s': leave it out", event->name);
	if (event->fixed_only && !has_fixed(info, event->fixed))
		return fail_with(e, "'%s' is counted by fixed counter %d only, which this processor has not got: leave it out",
			    event->name, event->fixed);
	return 0;
}

static int add_event(struct events *events, const char *spec,
		     const struct vperfctr_info *info, struct error *e)
{
	const bool may_kernel = info->features & VPERFCTR_FEATURE_KERNEL;
	struct event *event;
	char name[sizeof(event->name)];
	bool explicit_mode;
	size_t at;
	int err;

	if (!*spec)
		return fail_with(e, "an event name is missing in the argument of -e");
	if (strlen(spec) + sizeof(":u") > sizeof(name))
		return fail_with(e, "the event name '%.40s...' is too long", spec);
	if (events->nr == VPERFCTR_MAX_CTRS)
		return fail_with(e, "too many events: %u at most, and this processor has %u counters",
			    VPERFCTR_MAX_CTRS, info->nrctrs);

	event = &events->ev[events->nr];
	memset(event, 0, sizeof(*event));
	strcpy(name, spec);
	if (cut_counter(event, name, e))
		return -1;
	explicit_mode = cut_modifiers(name, &event->user, &event->kernel);
	if (!explicit_mode) {
		event->user = true;
		event->kernel = may_kernel;
	}

	err = encode(event, name, &explicit_mode, e);
	if (err)
		return err;
	if (event->kernel && !may_kernel)
		return fail_kernel_mode(e, spec);

	/* What is not both is said, once: by the user or here; before the counter. */
	at = strcspn(spec, "@");
	snprintf(event->name, sizeof(event->name), "%.*s%s%s", (int)at, spec,
		 explicit_mode || (event->user && event->kernel) ? "" :
		 event->user ? ":u" : ":k", spec + at);
	err = check_countable(event, info, e);
	if (err)
		return err;

	events->user_by_default |= !explicit_mode && !may_kernel;
	events->nr++;
	return 0;
}

int events_parse(struct events *events, const char *spec,
		 const struct vperfctr_info *info, struct error *e)
{
	char *copy = strdup(spec), *rest = copy, *one;
	int err = 0;

	if (!copy)
		return fail_with(e, "out of memory");
	while (!err && (one = strsep(&rest, ",")))
		err = add_event(events, one, info, e);
	free(copy);
	return err;
}

void events_default(struct events *events, const struct vperfctr_info *info)
{
	struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
	struct error ignored;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(arch_events); i++) {
		if (add_event(events, arch_events[i].name, info, &ignored))
			continue;
		if (assign(events, info, ctr, &ignored))
			events->nr--;
	}
}
