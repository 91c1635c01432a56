// SPDX-License-Identifier: GPL-2.0
/* perfex list: the names of events. */
#include <string.h>

#include "option-table.h"

/* An event of this processor with a unit mask, as libpfm4 has it. */
static int find_example(const struct vperfctr_event *event, const char *description, void *arg)
{
	char *example = arg;

	(void)description;
	if (!event->general || !strchr(event->name, ':') || strlen(event->name) > 30)
		return 0;
	strcpy(example, event->name);
	return 1;
}

/* Examples that work on the processor at hand, if the module says which one it is. */
static void print_event_names(FILE *f)
{
	struct vperfctr_info info = { 0 };
	char example[32] = "";
	unsigned int i;

	if (vperfctr_info(&info, 0))
		memset(&info, 0, sizeof(info));
	else
		vperfctr_event_list(&info, find_example, example);
	fputs("  generic    ", f);
	for (i = 0; events_generic_name(i); i++)
		fprintf(f, "%s%s", i ? i % 4 ? ", " : ",\n             " : "",
			events_generic_name(i));
	fprintf(f, "\n  libpfm4's  %s%s\n             (perfex list shows those of this processor)\n",
		*example ? "as in " : "", *example ? example : "EVENT:UMASK");
	fputs(raw_events_of(&info)->help, f);
}

static const struct option_entry list_options[] = {
	{ 0, "kind", "KIND", "events of this kind of CPUs", OPTION_TEXT(counting.kind) },
	{ 'o', "output", "FILE", "print to FILE", OPTION_TEXT(show.file) },
	{ 'v', "verbose", NULL, "also those that no counter of this processor can count, and how metrics are computed",
	  OPTION_FLAG(show.verbose) },
	{ 0, "details", NULL, NULL, OPTION_FLAG(show.verbose) },
	/* Names are always printed so. */
	{ 'd', "desc", NULL, NULL, set_nothing, 0 },
	{ 0, "no-desc", NULL, NULL, set_nothing, 0 },
	{ 0, "long-desc", NULL, NULL, set_nothing, 0 },
	{ 0, "deprecated", NULL, NULL, set_nothing, 0 },
	OPTIONS_END
};

static int finish_list(struct options *o, struct error *e)
{
	(void)e;
	/* The words are no files to read. */
	o->words = o->files.name;
	o->files.nr = 0;
	return 0;
}

static int run_list(const struct options *o, struct output *output, FILE *out, struct error *e)
{
	(void)output;
	return list_events(out, (char *const *)o->words, o->show.verbose, o->counting.kind, e);
}

static void print_naming(FILE *f)
{
	fputs("EVENT is a name followed by :u (user mode), :k (kernel mode) or :uk (both).\n"
	      "Without these, both are counted if you may count kernel mode, else user mode.\n"
	      "Names are:\n"
	      "\n", f);
	print_event_names(f);
	fputs("\n"
	      "After EVENT, @N is general counter N, @fixedN fixed counter N.\n"
	      "Nothing is multiplexed: without --runs, events that do not fit the counters are\n"
	      "refused.  Without -e, perfex stat counts the generic events that the processor\n"
	      "has, as many as fit, and the kernel's of threads.\n", f);
}

const struct command command_list = {
	.name = "list", .usage = "[OPTION]... [WORD]...", .words = WORDS_ANY,
	.summary = "show the events and metrics of this processor",
	.text = "Show the events and metrics of this processor whose name or description has each WORD, and the counters that count them.",
	.tables = { list_options, common_options },
	.more_help = print_naming, .finish = finish_list, .run = run_list,
};
