// SPDX-License-Identifier: GPL-2.0
/* perfex self-test: check the counters of this machine. */
#include <string.h>

#include "option-table.h"

/* "help": list them */
int set_checks(struct parsing *p, const char *arg, struct error *e)
{
	p->o->checks = arg;
	if (!arg || strcmp(arg, "help"))
		return arg ? self_test_parse(arg, e) : 0;
	self_test_list(stdout);
	return 1;
}

/* The stick prints them where the module cannot be loaded. */
static int print_facts(struct parsing *p, const char *arg, struct error *e)
{
	(void)p;
	(void)arg;
	(void)e;
	self_test_facts(stdout);
	return 1;
}

static const struct option_entry self_test_options[] = {
	{ 0, "checks", "CHECK,...", "only these; help lists them", set_checks, 0 },
	{ 0, "report", "FILE", "write all that a reader elsewhere needs to FILE", OPTION_TEXT(report) },
	{ 0, "facts", NULL, "print what a report says of the machine, and exit", print_facts, 0 },
	OPTIONS_END
};

static int finish_self_test(struct options *o, struct error *e)
{
	unsigned int i;

	o->self_test = true;
	if (*o->counting.command || o->files.nr > 1)
		return fail_usage(e, o, "perfex self-test runs no command");
	for (i = 0; i < o->files.nr; i++) {
		o->checks = o->files.name[i];
		if (!strcmp(o->checks, "help")) {
			self_test_list(stdout);
			return 1;
		}
		if (self_test_parse(o->checks, e))
			return -1;
	}
	o->files.nr = 0;
	return 0;
}

static int run_self_test(const struct options *o, struct output *output, FILE *out, struct error *e)
{
	(void)output;
	return self_test(o->checks, out, o->show.style, o->report, e);
}

const struct command command_self_test = {
	.name = "self-test", .usage = "[OPTION]... [CHECK[,CHECK]... | help]", .words = WORDS_ANY,
	.summary = "as root, check that the counters of this machine are right",
	.tables = { self_test_options, output_options, verbose_option, common_options },
	.finish = finish_self_test, .run = run_self_test,
};
