// SPDX-License-Identifier: GPL-2.0
/* perfex merge: add the counts of several files. */
#include "option-table.h"

static const struct option_entry merge_options[] = {
	{ 'e', "event", "EVENT,...", "these events and metrics, and not all", set_spec, 0 },
	{ 'x', "field-separator", "SEP", "print fields with SEP between", set_separator, 0 },
	OPTIONS_END
};

static int finish_merge(struct options *o, struct error *e)
{
	return o->files.nr ? 0 : fail_usage(e, o, "perfex merge needs files of counts");
}

static int run_merge(const struct options *o, struct output *output, FILE *out, struct error *e)
{
	(void)output;
	return merge_counts(out, &o->files, &o->counting.events, &o->show, e);
}

const struct command command_merge = {
	.name = "merge", .usage = "[OPTION]... FILE...", .words = WORDS_ANY,
	.summary = "add the counts of several files of perfex stat -j",
	.tables = { merge_options, output_options, common_options },
	.finish = finish_merge, .run = run_merge,
};
