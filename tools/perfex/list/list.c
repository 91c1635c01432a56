// SPDX-License-Identifier: GPL-2.0
/* perfex list: the events of this processor, and the counters that can count them. */
#include <errno.h>
#include <stdlib.h>

#include "metrics.h"
#include "perf-count.h"

#define WIDTH		80
#define INDENT		4	/* of descriptions */

struct listing {
	FILE *f;
	char *const *words;
	bool all;		/* also events that cannot be counted */
	bool bold;		/* names, on a terminal */
	unsigned int nr;	/* found */
	unsigned int nrhidden;
};

/* Return: "fixed 0, general 0-3", or "unknown, of general 0-3"; allocated. */
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
		fputs(event->unknown ? "unknown, of general " : "general ", f);
		print_bits(f, event->general);
	}
	if (event->soft)
		fputs("software", f);
	else if (!event->fixed && !event->general)
		fputs("none", f);
	fclose(f);
	return text;
}

/* Lines of at most WIDTH columns, broken at spaces where there are some. */
static void print_wrapped(FILE *f, const char *text)
{
	const size_t room = WIDTH - INDENT;
	size_t n;

	for (text += strspn(text, "\n "); *text; text += strspn(text, "\n ")) {
		n = strcspn(text, "\n");
		if (n > room) {
			for (n = room; n && text[n] != ' '; n--)
				;
			n = n ? n : room;
		}
		fprintf(f, "%*s%.*s\n", INDENT, "", (int)n, text);
		text += n;
	}
}

static int print_event(const struct vperfctr_event *event, const char *description, void *arg)
{
	struct listing *l = arg;
	char *counters;
	size_t len;

	if (!event_has_words(event, description, l->words))
		return 0;
	if (!event->general && !event->fixed && !event->soft && !l->all) {
		l->nrhidden++;
		return 0;
	}
	counters = describe_counters(event);
	len = strlen(event->name) + 2 + strlen(counters ? counters : "?");
	fprintf(l->f, "%s%-40s%s", l->bold ? "\033[1m" : "", event->name, l->bold ? "\033[m" : "");
	/* A name that fills the line has its counters in the next one. */
	if (len > WIDTH)
		fprintf(l->f, "\n%*s", INDENT - 2, "");
	fprintf(l->f, "  %s\n", counters ? counters : "?");
	print_wrapped(l->f, description);
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
	l->nr += metrics_list(l->f, l->words, l->all, l->bold, info);
}

static int fail_no_event(struct error *e, const struct listing *l)
{
	char words[200] = "";
	size_t len = 0, i;

	for (i = 0; l->words[i] && len < sizeof(words); i++)
		len += (size_t)snprintf(words + len, sizeof(words) - len, "%s'%s'",
					i ? " and " : "", l->words[i]);
	if (l->nrhidden)
		return fail_with(e, "this processor can count no event that has %s in its name or description: perfex -v list shows %u that other processors count",
				 words, l->nrhidden);
	return fail_with(e, "no event has %s in its name or description", words);
}

/*
 * Describe a kind of CPUs.  Where the module cannot be asked, list what perf_event counts, and say
 * so.
 * Return: 0, or -1 with *e
 */
static int describe(struct vperfctr_info *info, uint32_t kind, const char *asked, struct error *e)
{
	int err = vperfctr_info(info, kind);

	if (!err)
		return 0;
	fail_device(e, err);
	if (kind || asked || !e->unusable)
		return -1;
	fprintf(stderr, "perfex: lists what perf_event counts: %s\n", e->text);
	perf_describe(info);
	return 0;
}

int list_events(FILE *f, char *const *words, bool all, const char *kind, struct error *e)
{
	struct listing l = { .f = f, .words = words, .all = all, .bold = has_colours(f) };
	struct vperfctr_info info;
	bool any = false;
	uint32_t i = 0;

	if (metrics_load(e))
		return -1;
	do {
		if (describe(&info, i, kind, e))
			return -1;
		if (!kind_is(&info, kind))
			continue;
		list_kind(&info, &l);
		any = true;
	} while (++i < info.nrkinds);
	if (!any)
		return fail_no_kind(e, kind);
	if (!l.nr)
		return fail_no_event(e, &l);
	return 0;
}
