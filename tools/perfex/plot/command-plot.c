// SPDX-License-Identifier: GPL-2.0
/* perfex plot: draw the intervals in a file of counts. */
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
