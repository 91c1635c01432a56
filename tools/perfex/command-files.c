// SPDX-License-Identifier: GPL-2.0
/* perfex plot, merge and diff: what is in files. */
#include "option-table.h"

static const struct option_entry picture_options[] = {
	{ 'e', "event", "EVENT,...", "these events and metrics, and not all", set_spec, 0 },
	{ 'o', "output", "PICTURE", "the picture to write: FILE.svg or FILE.html", OPTION_TEXT(show.file) },
	OPTIONS_END
};

static int finish_plot(struct options *o, struct error *e)
{
	if (o->files.nr != 1)
		return fail_usage(e, o, "perfex plot needs one file of counts");
	if (!o->show.file || !plot_can_write(o->show.file))
		return fail_usage(e, o, "perfex plot needs -o FILE.svg or -o FILE.html");
	return 0;
}

static int run_plot(const struct options *o, struct output *output, FILE *out, struct error *e)
{
	(void)output;
	return plot_counts(out, &o->files, &o->counting.events, &o->show, e);
}

const struct command command_plot = {
	.name = "plot", .usage = "FILE -o PICTURE [-e EVENT,...]", .words = WORDS_ANY,
	.summary = "draw the intervals of perfex stat -I -j",
	.tables = { picture_options, common_options },
	.finish = finish_plot, .run = run_plot,
};

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

static const struct option_entry diff_options[] = {
	{ 'e', "event", "EVENT,...", "these events and metrics, and not all", set_spec, 0 },
	{ 0, "symfs", "DIR", "find the programs and libraries below DIR", OPTION_TEXT(reporting.symfs) },
	{ 'v', "verbose", NULL, "print all rows", OPTION_FLAG(show.verbose) },
	OPTIONS_END
};

static int finish_diff(struct options *o, struct error *e)
{
	return o->files.nr == 2 ? 0 :
		fail_usage(e, o, "perfex diff compares two files of perfex record, or of perfex stat -j (perfex -- diff runs the program of that name)");
}

static int run_diff(const struct options *o, struct output *output, FILE *out, struct error *e)
{
	const struct reporting r = reporting_of(o);

	(void)output;
	return diff_files(out, o->files.name, &r, e);
}

const struct command command_diff = {
	.name = "diff", .usage = "[OPTION]... OLD NEW", .words = WORDS_ANY,
	.summary = "compare the functions of two profiles, or two files of counts",
	.tables = { diff_options, output_options, common_options },
	.finish = finish_diff, .run = run_diff,
};
