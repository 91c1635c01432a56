// SPDX-License-Identifier: GPL-2.0
/* perfex self-test: check the counters of this machine. */
#include <string.h>

#include "option-table.h"

static bool asks_for_help(const char *checks)
{
	return checks && !strcmp(checks, "help");
}

/* "help": list them */
int set_checks(struct parsing *p, const char *arg, struct error *e)
{
	p->o->checks = arg;
	return arg && !asks_for_help(arg) ? self_test_parse(arg, e) : 0;
}

static const struct option_entry self_test_options[] = {
	{ 0, "checks", "CHECK,...", "only these; help lists them", set_checks, 0 },
	{ 0, "report", "FILE", "write all that a reader elsewhere needs to FILE", OPTION_TEXT(report) },
	/* The stick prints them where the module cannot be loaded. */
	{ 0, "facts", NULL, "print what a report says of the machine, and exit", OPTION_FLAG(facts) },
	OPTIONS_END
};

static int finish_self_test(struct options *o, struct error *e)
{
	unsigned int i;

	o->self_test = true;
	if (*o->counting.command || o->files.nr > 1)
		return fail_usage(e, o, "perfex self-test runs no command");
	if (o->files.nr && o->checks)
		return fail_usage(e, o, "the checks are named twice, by --checks and without it: name all of them in one list, with commas");
	for (i = 0; i < o->files.nr; i++) {
		o->checks = o->files.name[i];
		if (!asks_for_help(o->checks) && self_test_parse(o->checks, e))
			return -1;
	}
	o->files.nr = 0;
	if (o->report && !strcmp(o->report, "-"))
		return fail_usage(e, o, "--report needs a file, which is on the disk before each check begins (-o - prints the results to standard output)");
	if (o->facts && o->checks)
		return fail_usage(e, o, "--facts runs no checks, and names none");
	if ((o->facts || asks_for_help(o->checks)) && o->report)
		return fail_usage(e, o, "--report writes the results of checks, and cannot be combined with --facts or help");
	if ((o->facts || asks_for_help(o->checks)) && o->show.style != STYLE_TEXT)
		return fail_usage(e, o, "-j prints the results of checks");
	return 0;
}

static int run_self_test(const struct options *o, struct output *output, FILE *out, struct error *e)
{
	(void)output;
	if (o->facts)
		self_test_facts(out);
	else if (asks_for_help(o->checks))
		self_test_list(out);
	else
		return self_test(o->checks, out, o->show.style, o->report, e);
	return 0;
}

const struct command command_self_test = {
	.name = "self-test", .usage = "[OPTION]... [CHECK[,CHECK]... | help]", .words = WORDS_ANY,
	.summary = "as root, check that the counters of this machine are right",
	.tables = { self_test_options, output_options, verbose_option, common_options },
	.finish = finish_self_test, .run = run_self_test,
};
