// SPDX-License-Identifier: GPL-2.0
/* The command line: which command it names, and the spellings from before there were commands. */
#include <stdlib.h>
#include <string.h>

#include "option-table.h"

/* ---- spellings without a command ----------------------------------------------------------- */

/* An option stands for a command.  Return: 0, or -1 with *e: another one was named */
static int stand_for(struct parsing *p, const struct command *command, struct error *e)
{
	if (p->alias && p->alias != command)
		return fail_with(e, "perfex %s and perfex %s cannot be combined: see perfex --help",
				 p->alias->name, command->name);
	p->alias = command;
	return 0;
}

/*
 * The argument of --sample may be the next word, too, if it has a period: no command's name
 * looks like EVENT=PERIOD.
 */
static const char *find_sample_argument(struct parsing *p, const char *attached)
{
	const char *next = p->argv[p->next];

	if (attached || !next || next[0] == '-' || next[0] == '/' || next[0] == '.' || !strchr(next, '='))
		return attached;
	p->next++;
	return next;
}

static int set_sample(struct parsing *p, const char *arg, struct error *e)
{
	if (p->alias == &command_record)
		return fail_usage(e, p->o, "one --sample at a time");
	if (stand_for(p, &command_record, e))
		return -1;
	arg = find_sample_argument(p, arg);
	return arg ? sample_parse(&p->o->record.sample, arg, e) : 0;
}

static int set_self_test(struct parsing *p, const char *arg, struct error *e)
{
	return stand_for(p, &command_self_test, e) ? -1 : set_checks(p, arg, e);
}

static int set_info(struct parsing *p, const char *arg, struct error *e)
{
	(void)arg;
	return stand_for(p, &command_info, e);
}

/* perfex starts no pager.  No command has this option. */
static int set_pager(struct parsing *p, const char *arg, struct error *e)
{
	return set_nothing(p, arg, e);
}

/* Options of other commands than stat, which came after "perfex" alone. */
static const struct option_entry old_options[] = {
	{ 0, "sample", "[EVENT]", NULL, set_sample, 0 },
	{ 0, "report", "FILE", NULL, OPTION_TEXT(report) },
	{ 0, "self-test", "[CHECK]", NULL, set_self_test, 0 },
	{ 'i', "info", NULL, NULL, set_info, 0 },
	{ 'g', "call-graph", "[HOW]", NULL, set_chains, 0 },
	{ 'F', "freq", "N", NULL, set_rate, 0 },
	{ 0, "max-stack", "N", NULL, set_max_stack, 0 },
	{ 0, "sort", "KEY", NULL, set_sort, 0 },
	{ 0, "children", NULL, NULL, OPTION_FLAG(reporting.children) },
	{ 0, "callers", NULL, NULL, OPTION_FLAG(reporting.callers) },
	{ 0, "callees", NULL, NULL, OPTION_FLAG(reporting.callees) },
	{ 0, "comm", "NAME", NULL, OPTION_TEXT(reporting.comm) },
	{ 0, "export", "FORMAT", NULL, OPTION_TEXT(reporting.export) },
	{ 0, "annotate", "FUNCTION", NULL, set_annotate, 0 },
	{ 0, "symfs", "DIR", NULL, OPTION_TEXT(reporting.symfs) },
	{ 0, "no-pager", NULL, NULL, set_pager, 0 },
	{ 0, "paginate", NULL, NULL, set_pager, 0 },
	OPTIONS_END
};

/* True if the command need not have the option, as it stands for one, or is perfex's own. */
static bool is_alias(const struct option_entry *entry)
{
	return entry->set == set_sample || entry->set == set_self_test || entry->set == set_info ||
	       entry->set == set_pager;
}

static void forget_aliases(struct parsing *p)
{
	unsigned int i, nr = 0;

	for (i = 0; i < p->nrused; i++)
		if (!is_alias(p->used[i].entry))
			p->used[nr++] = p->used[i];
	p->nrused = nr;
}

/* ---- commands ------------------------------------------------------------------------------- */

/* The words of a command that takes files, patterns and the like, between its options. */
static int take_words(struct parsing *p, struct error *e)
{
	struct options *o = p->o;
	int ret = 0;

	/* There are not more than words of the command line.  NULL ends them. */
	o->files.name = calloc((size_t)p->argc + 1, sizeof(*o->files.name));
	if (!o->files.name)
		return fail_with(e, "out of memory");
	for (;;) {
		if (!p->ended)
			ret = option_table_parse(p, e);
		if (ret || !p->argv[p->next])
			return ret;
		o->files.name[o->files.nr++] = p->argv[p->next++];
	}
}

/* Use the command's own options from now on. */
static int begin_command(struct parsing *p, const struct command *command, struct error *e)
{
	if (stand_for(p, command, e))
		return -1;
	if (p->o->report && command == &command_record)
		return fail_with(e, "perfex record and perfex report cannot be combined: see perfex --help");
	forget_aliases(p);
	p->o->chosen = command;
	if (option_table_check_used(p, command, e))
		return -1;
	p->command = command;
	p->tables = command->tables;
	return 0;
}

/* The command of a line that names none. */
static const struct command *implied_command(const struct parsing *p)
{
	return p->alias ? p->alias : p->o->report ? &command_report : &command_stat;
}

static int parse_all(struct parsing *p, struct error *e)
{
	const struct command *command;
	const char *word;
	bool named;
	int ret;

	ret = option_table_parse(p, e);
	if (ret)
		return ret;
	word = p->argv[p->next];
	/* A program of a command's name can be run after "--". */
	command = word && !p->ended ? command_find(word) : NULL;
	named = command;
	if (!command)
		command = implied_command(p);
	if (!named && word && !p->ended && command == &command_stat &&
	    check_subcommand(e, p->argv + p->next))
		return -1;
	p->next += named;
	if (begin_command(p, command, e))
		return -1;
	if (command->words == WORDS_ANY)
		ret = take_words(p, e);
	else if (named)
		ret = option_table_parse(p, e);
	if (!ret && named && command == &command_stat && !p->ended && p->argv[p->next])
		ret = check_stat_command(e, p->argv + p->next);
	return ret;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Write the names of the commands that have such an option.  Return: how many have it */
static unsigned int list_owners(char *buf, size_t size, const struct command *but, char letter,
				const char *name, size_t length)
{
	const struct command *const *command;
	unsigned int nr = 0;

	*buf = '\0';
	for (command = commands; *command; command++) {
		if (*command == but || !option_table_find(*command, letter, name, length))
			continue;
		if (nr++ < 3)
			snprintf(buf + strlen(buf), size - strlen(buf), "%sperfex %s",
				 nr > 1 ? ", " : "", (*command)->name);
	}
	return nr;
}

/* letter: 0: the option is a name, of this length */
static int fail_unknown(const struct parsing *p, const struct command *command, char letter,
			const char *name, size_t length, struct error *e)
{
	const struct command *c = command ? command : &command_stat;
	char owners[128], option[64];

	if (letter)
		snprintf(option, sizeof(option), "-%c", letter);
	else
		snprintf(option, sizeof(option), "--%.*s", length < 60 ? (int)length : 60, name);
	if ((!command && advise_perf_option(NULL, letter, name, length, e)) ||
	    advise_perf_option(c, letter, name, length, e))
		return -1;
	if (list_owners(owners, sizeof(owners), c, letter, name, length))
		return fail_with(e, "perfex %s has no %s, which is an option of %s", c->name, option,
				 owners);
	return letter ? fail_with(e, "unknown option %s: see %s", option, help_of(p->o)) :
		fail_with(e, "unknown option '%s': see %s", option, help_of(p->o));
}

int options_parse(int argc, char **argv, struct options *o, struct error *e)
{
	const struct option_entry *const tables[] = {
		command_stat.tables[0], command_stat.tables[1],
		old_options, common_options, NULL
	};
	struct parsing p = {
		.o = o, .argv = argv, .argc = argc, .next = 1, .tables = tables,
		.fail_unknown = fail_unknown,
	};
	size_t letters = 1;
	int i, ret;

	/* Not more options than there are characters. */
	for (i = 1; i < argc; i++)
		letters += strlen(argv[i]);
	p.used = calloc(letters, sizeof(*p.used));
	if (!p.used)
		return fail_with(e, "out of memory");
	ret = parse_all(&p, e);
	free(p.used);
	if (p.help)
		return show_help(p.command, false);
	if (ret)
		return ret;
	o->counting.command = o->files.name ? argv + argc : argv + p.next;
	return o->chosen->finish(o, e);
}
