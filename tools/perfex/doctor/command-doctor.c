// SPDX-License-Identifier: GPL-2.0
/* perfex doctor: say what is wrong on this machine. */
#include "option-table.h"

static int finish_doctor(struct options *o, struct error *e)
{
	return check_no_words(o, "perfex doctor", e);
}

static int run_doctor(const struct options *o, struct output *output, FILE *out, struct error *e)
{
	(void)output;
	return doctor(out, o->show.style == STYLE_JSON, "", e);
}

const struct command command_doctor = {
	.name = "doctor", .usage = "[OPTION]...", .words = WORDS_ANY,
	.summary = "say what is wrong on this machine",
	.tables = { output_options, verbose_option, common_options },
	.finish = finish_doctor, .run = run_doctor,
};
