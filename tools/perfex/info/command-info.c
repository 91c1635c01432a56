// SPDX-License-Identifier: GPL-2.0
/* perfex info: show the counters, and who has them. */
#include "option-table.h"

static int finish_info(struct options *o, struct error *e)
{
	return !o->files.nr ? 0 :
		fail_usage(e, o, "perfex info (-i) shows the counters, and runs no command (perf stat's -i is perfex stat -i or --no-inherit)");
}

static int run_info(const struct options *o, struct output *output, FILE *out, struct error *e)
{
	(void)output;
	return o->holders ? holders_print(out, "/proc", e) : info_print(out, e);
}

static const struct option_entry info_options[] = {
	{ 0, "holders", NULL, "show who has the counters now: root sees all, others their own",
	  OPTION_FLAG(holders) },
	{ 'o', "output", "FILE", "print to FILE", OPTION_TEXT(show.file) },
	OPTIONS_END
};

const struct command command_info = {
	.name = "info", .usage = "[OPTION]...", .words = WORDS_ANY,
	.summary = "show the counters and what the module found",
	.tables = { info_options, verbose_option, common_options },
	.finish = finish_info, .run = run_info,
};
