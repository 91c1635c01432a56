// SPDX-License-Identifier: GPL-2.0
/* perfex list: which events there are, and which counters take them. */
#include <errno.h>
#include <stdlib.h>

#include "perfex.h"

struct listing {
	FILE *f;
	const char *word;
	bool bold;		/* names, on a terminal */
	unsigned int nr;	/* found */
};

/* "fixed 0, general 0-3" */
static char *describe_counters(const struct vperfctr_event *event)
{
	char *text = NULL;
	size_t size;
	FILE *f;

	f = open_memstream(&text, &size);
	if (!f)
		return NULL;
	if (event->fixed) {
		fputs("fixed ", f);
		print_bits(f, event->fixed);
		fputs(event->general ? ", " : "", f);
	}
	if (event->general) {
		fputs("general ", f);
		print_bits(f, event->general);
	}
	if (!event->fixed && !event->general)
		fputs("none", f);
	fclose(f);
	return text;
}

static int print_event(const struct vperfctr_event *event, const char *description, void *arg)
{
	struct listing *l = arg;
	char *counters;

	if (l->word && !strcasestr(event->name, l->word) && !strcasestr(description, l->word))
		return 0;
	counters = describe_counters(event);
	fprintf(l->f, "%s%-40s%s  %-22s  %s\n", l->bold ? "\033[1m" : "", event->name,
		l->bold ? "\033[m" : "", counters ? counters : "?", description);
	free(counters);
	l->nr++;
	return 0;
}

static void list_kind(const struct vperfctr_info *info, struct listing *l)
{
	if (info->nrkinds > 1) {
		fprintf(l->f, "%son CPUs ", l->nr ? "\n" : "");
		print_kind_cpus(l->f, info->kind);
		fprintf(l->f, " (--kind=%u):\n", info->kind);
	}
	if (vperfctr_event_list(info, print_event, l) == -ENOENT)
		fputs("perfex: libpfm4 does not know this processor's other events: there are raw codes\n",
		      stderr);
}

int list_events(FILE *f, const char *word, const char *kind, struct error *e)
{
	struct listing l = { .f = f, .word = word, .bold = has_colours(f) };
	struct vperfctr_info info;
	bool any = false;
	uint32_t i = 0;
	int err;

	do {
		err = vperfctr_info(&info, i);
		if (err)
			return fail_device(e, err);
		if (!kind_is(&info, kind))
			continue;
		list_kind(&info, &l);
		any = true;
	} while (++i < info.nrkinds);
	if (!any)
		return fail_no_kind(e, kind);
	if (!l.nr)
		return fail_with(e, "no event has '%s' in its name or description", word ? word : "");
	return 0;
}
