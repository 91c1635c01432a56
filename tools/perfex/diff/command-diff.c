// SPDX-License-Identifier: GPL-2.0
/* perfex diff: compare two files of samples, or of counts. */
#include "option-table.h"

static const struct option_entry diff_options[] = {
	{ 'e', "event", "EVENT,...", "these events and metrics, and not all", set_spec, 0 },
	{ 0, "symfs", "DIR", "find the programs and libraries below DIR", OPTION_TEXT(reporting.symfs) },
	{ 'v', "verbose", NULL, "print all rows", OPTION_FLAG(show.verbose) },
	{ 'f', "force", NULL, NULL, set_nothing, 0 },
	{ 'q', "quiet", NULL, NULL, set_nothing, 0 },
	OPTIONS_END
};

/* Without files: the last two recordings, as perf diff compares them. */
static void choose_last_recordings(struct file_list *files)
{
	/* The list has room for the words of the line, "diff" among them, and for NULL. */
	files->name[files->nr++] = "perfex.data.old";
	files->name[files->nr++] = "perfex.data";
}

static int finish_diff(struct options *o, struct error *e)
{
	if (!o->files.nr)
		choose_last_recordings(&o->files);
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
	.name = "diff", .usage = "[OPTION]... [OLD NEW]", .words = WORDS_ANY,
	.summary = "compare the functions of two profiles, or two files of counts",
	.tables = { diff_options, output_options, common_options },
	.finish = finish_diff, .run = run_diff,
};
