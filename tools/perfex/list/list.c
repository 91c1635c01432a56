// SPDX-License-Identifier: GPL-2.0
/* perfex list: the events of this processor, and the counters that can count them. */
#include <errno.h>
#include <stdlib.h>

#include "metrics.h"
#include "perf-count.h"

#define WIDTH		80
#define INDENT		4	/* of descriptions */

/* Sorts of events that perf list has words for. */
enum sort { SORT_ANY, SORT_GENERIC, SORT_SOFTWARE, SORT_METRICS, SORT_TRACEPOINTS };

struct listing {
	FILE *f;
	char *const *asked;	/* the words of the command line */
	char *const *words;	/* that an event must have */
	enum sort sort;
	bool all;		/* also events that cannot be counted */
	bool bold;		/* names, on a terminal */
	unsigned int nr;	/* found */
	unsigned int nrhidden;	/* not printed, as they cannot be counted here */
	bool counters;		/* a kind of CPUs has some */
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

/* True if the event is one of those that the word for a sort asks for. */
static bool is_of_sort(const struct vperfctr_event *event, enum sort sort)
{
	return sort == SORT_ANY || (sort == SORT_GENERIC && is_generic(event->name)) ||
	       (sort == SORT_SOFTWARE && event->soft);
}

static int print_event(const struct vperfctr_event *event, const char *description, void *arg)
{
	struct listing *l = arg;
	char *counters;
	size_t len;

	if (!event_has_words(event, description, l->words) || !is_of_sort(event, l->sort))
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
	struct vperfctr_event event;
	const char *description;
	unsigned int i;

	l->counters |= info->pmc_mask || info->fixed_mask;
	if (info->nrkinds > 1) {
		fprintf(l->f, "%son CPUs ", l->nr ? "\n" : "");
		print_kind_cpus(l->f, info->kind);
		fprintf(l->f, " (--kind=%u):\n", info->kind);
	}
	if (vperfctr_event_list(info, print_event, l) == -ENOENT)
		fputs("perfex: libpfm4 does not know this processor's other events: there are raw codes\n",
		      stderr);
	for (i = 0; (description = events_time(i, &event)); i++)
		print_event(&event, description, l);
	if (l->sort == SORT_ANY || l->sort == SORT_METRICS)
		l->nr += metrics_list(l->f, l->words, l->all, l->bold, info, &l->nrhidden);
}

/* A word such as "metric" asks for all of a sort, and there are none. */
static int fail_no_sort(struct error *e, const struct listing *l)
{
	const char *what = l->sort == SORT_GENERIC ? "generic event" :
			   l->sort == SORT_SOFTWARE ? "event of the kernel" : "metric";

	if (!l->nrhidden)
		return fail_with(e, "there is no %s for this processor", what);
	return fail_with(e, "no %s can be counted here, as %s: perfex list -v %s shows %u", what,
			 l->counters ? "the counters of this processor do not count what it needs" :
				       "there are no counters, as in many virtual machines",
			 l->asked[0], l->nrhidden);
}

static int fail_no_event(struct error *e, const struct listing *l)
{
	char words[200] = "";
	bool tracepoint = false;
	size_t len = 0, i;

	for (i = 0; l->asked[i] && len < sizeof(words); i++) {
		len += (size_t)snprintf(words + len, sizeof(words) - len, "%s'%s'",
					i ? " and " : "", l->asked[i]);
		tracepoint |= !!strchr(l->asked[i], ':');
	}
	if (l->nrhidden && !l->counters)
		return fail_with(e, "nothing that has %s in its name or description can be counted here, as there are no counters, as in many virtual machines: perfex list -v shows %u",
				 words, l->nrhidden);
	if (l->nrhidden)
		return fail_with(e, "this processor can count nothing that has %s in its name or description: perfex list -v shows %u that other processors count",
				 words, l->nrhidden);
	return fail_with(e, "no event has %s in its name or description%s", words,
			 tracepoint ? ": perf list shows tracepoints" : "");
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

/* The sort that the only word asks for, as in perf list. */
static enum sort sort_of(char *const *words)
{
	static const struct { const char *word; enum sort sort; } sorts[] = {
		{ "hw", SORT_GENERIC }, { "hardware", SORT_GENERIC },
		{ "sw", SORT_SOFTWARE }, { "software", SORT_SOFTWARE },
		{ "metric", SORT_METRICS }, { "metrics", SORT_METRICS },
		{ "metricgroup", SORT_METRICS }, { "metricgroups", SORT_METRICS },
		{ "tracepoint", SORT_TRACEPOINTS }, { "sdt", SORT_TRACEPOINTS },
	};
	size_t i;

	for (i = 0; words[0] && !words[1] && i < ARRAY_SIZE(sorts); i++)
		if (!strcmp(words[0], sorts[i].word))
			return sorts[i].sort;
	return SORT_ANY;
}

/* Parts between stars, which perf's patterns have, are words of their own; allocated. */
static char **divide_words(char *const *words)
{
	size_t i, size = 1, nr = 0;
	char **parts, *text, *rest;

	for (i = 0; words[i]; i++)
		size += strlen(words[i]) + 1;
	parts = calloc(size, sizeof(*parts) + 1);
	if (!parts)
		return NULL;
	text = (char *)(parts + size);
	for (i = 0; words[i]; i++) {
		rest = strcpy(text, words[i]);
		text += strlen(text) + 1;
		while ((parts[nr] = strsep(&rest, "*")))
			nr += *parts[nr] || !*words[i];
	}
	parts[nr] = NULL;
	return parts;
}

static int list_words(struct listing *l, const char *kind, struct error *e)
{
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
		list_kind(&info, l);
		any = true;
	} while (++i < info.nrkinds);
	if (!any)
		return fail_no_kind(e, kind);
	if (!l->nr)
		return l->sort == SORT_ANY ? fail_no_event(e, l) : fail_no_sort(e, l);
	return 0;
}

int list_events(FILE *f, char *const *words, bool all, const char *kind, struct error *e)
{
	struct listing l = { .f = f, .all = all, .bold = has_colours(f), .asked = words,
			     .sort = sort_of(words) };
	char *none = NULL, **parts = divide_words(words);
	int err;

	if (!parts)
		return fail_with(e, "out of memory");
	l.words = l.sort ? &none : parts;
	err = l.sort == SORT_TRACEPOINTS ? fail_with(e, "there are no tracepoints: perf list shows these") :
		list_words(&l, kind, e);
	free(parts);
	return err;
}
