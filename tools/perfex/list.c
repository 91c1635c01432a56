// SPDX-License-Identifier: GPL-2.0
/* perfex list: which events there are, and which counters take them. */
#include <stdlib.h>

#include "perfex.h"

struct listing {
	FILE *f;
	const char *word;
	const struct vperfctr_info *info;
	bool bold;		/* names, on a terminal */
	unsigned int nr;	/* found */
};

/* "fixed 0, general 0-3" */
static char *describe_counters(const struct event *event, const struct vperfctr_info *info)
{
	uint64_t general;
	char *text = NULL;
	size_t size;
	int fixed;
	FILE *f;

	f = open_memstream(&text, &size);
	if (!f)
		return NULL;
	general = event_counters(event, info, &fixed);
	if (fixed != NO_FIXED)
		fprintf(f, "fixed %d%s", fixed, general ? ", " : "");
	if (general) {
		fputs("general ", f);
		print_bits(f, general);
	}
	if (fixed == NO_FIXED && !general)
		fputs("none", f);
	fclose(f);
	return text;
}

static void print_event(struct listing *l, const char *name, const char *description)
{
	struct events events = { 0 };
	struct vperfctr_info any = *l->info;
	struct error ignored;
	char *counters;

	if (l->word && !strcasestr(name, l->word) && !strcasestr(description, l->word))
		return;
	/* What no counter takes is known by its name all the same. */
	any.arch_events = ~0U;
	any.fixed_mask = ~UINT64_C(0);
	if (events_parse(&events, name, &any, &ignored))
		return;
	counters = describe_counters(&events.ev[0], l->info);
	fprintf(l->f, "%s%-40s%s  %-22s  %s\n", l->bold ? "\033[1m" : "", name,
		l->bold ? "\033[m" : "", counters ? counters : "?", description);
	free(counters);
	l->nr++;
}

static void on_event(const char *name, const char *description, void *arg)
{
	print_event(arg, name, description);
}

int list(FILE *f, const char *word, struct error *e)
{
	struct vperfctr_info info;
	struct listing l = { .f = f, .word = word, .info = &info, .bold = has_colours(f) };
	unsigned int i;
	int err;

	err = vperfctr_info(&info, 0);
	if (err)
		return fail_device(e, err);
	for (i = 0; events_generic_name(i); i++)
		print_event(&l, events_generic_name(i), events_generic_description(i));
	if (!pfm_list(on_event, &l))
		fputs("perfex: libpfm4 does not know this processor's other events: there are raw codes\n",
		      stderr);
	if (!l.nr)
		return fail_with(e, "no event has '%s' in its name or description", word ? word : "");
	return 0;
}
