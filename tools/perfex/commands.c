// SPDX-License-Identifier: GPL-2.0
/* The commands of perfex, and its help. */
#include <string.h>

#include "option-table.h"

const struct command *const commands[] = {
	&command_stat, &command_record, &command_report, &command_annotate, &command_script,
	&command_diff, &command_list, &command_top, &command_plot, &command_merge,
	&command_doctor, &command_self_test, &command_info, &command_help, NULL
};

const struct command *command_find(const char *name)
{
	const struct command *const *command;

	for (command = commands; *command; command++)
		if (!strcmp((*command)->name, name))
			return *command;
	return NULL;
}

/* Room for all, so that the flush at the end finds an error's reason. */
static void buffer_output(void)
{
	static char room[16384];

	setvbuf(stdout, room, _IOFBF, sizeof(room));
}

static void print_overview(FILE *f)
{
	const struct command *const *command;

	fputs("Usage: perfex [COMMAND] [OPTION]... [ARGUMENT]...\n"
	      "       perfex [OPTION]... [--] PROGRAM [ARGUMENT]...  (as perfex stat)\n"
	      "Count the events of programs, processes or CPUs, and take samples of them.\n"
	      "\n", f);
	for (command = commands; *command; command++)
		if ((*command)->summary)
			fprintf(f, "  %-12s%s\n", (*command)->name, (*command)->summary);
	fputs("\n"
	      "perfex COMMAND --help shows its options, and perfex-COMMAND(1) describes it.\n"
	      "\n"
	      "  perfex -e instructions:u,cycles ls     count these events of a program\n"
	      "  perfex stat -p 1234 --timeout=10s      count a running process\n"
	      "  perfex record -g ./program             take samples, into perfex.data\n"
	      "  perfex report                          show where they are\n"
	      "  perfex stat -- record                  count a program named like a command\n", f);
}

int show_help(const struct command *command, bool all)
{
	buffer_output();
	if (command)
		option_table_help(stdout, command, all);
	else
		print_overview(stdout);
	return 1;
}

/* ---- perfex help ---------------------------------------------------------------------------- */

/* --words: for completions. */
static const struct option_entry help_options[] = {
	{ 'a', "all", NULL, "show all options of COMMAND, also those that few need", OPTION_FLAG(help_all) },
	{ 0, "words", NULL, "print a table of the commands, or of the options of COMMAND, for completions",
	  OPTION_FLAG(show.verbose) },
	OPTIONS_END
};

static void print_command_words(FILE *f)
{
	const struct command *const *command;

	for (command = commands; *command; command++)
		if ((*command)->summary)
			fprintf(f, "%s\t%s\n", (*command)->name, (*command)->summary);
}

static int finish_help(struct options *o, struct error *e)
{
	const struct command *command = o->files.nr ? command_find(o->files.name[0]) : NULL;

	if (o->files.nr && !command)
		return fail_with(e, "perfex has no command '%.80s': perfex --help shows those that there are",
				 o->files.name[0]);
	if (o->files.nr > 1)
		return fail_with(e, "perfex help shows one command, and not also '%.80s'", o->files.name[1]);
	if (!o->show.verbose)
		return show_help(command, o->help_all);
	buffer_output();
	if (command)
		option_table_words(stdout, command);
	else
		print_command_words(stdout);
	return 1;
}

const struct command command_help = {
	.name = "help", .usage = "[--all] [COMMAND]", .words = WORDS_ANY,
	.summary = "show the options of a command",
	.tables = { help_options, common_options },
	.finish = finish_help,
};
