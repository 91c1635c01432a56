// SPDX-License-Identifier: GPL-2.0
/* Parse options by tables, and print the help that these make. */
#include <ctype.h>
#include <string.h>

#include "option-table.h"

#define HELP_COLUMN	22	/* of the texts beside options */
#define HELP_WIDTH	80

/* ---- walking through tables ------------------------------------------------------------- */

/* An option's place in the tables of a command. */
struct cursor {
	const struct option_entry *const *table, *entry;
};

static const struct option_entry *first_option(struct cursor *c,
					       const struct option_entry *const *tables)
{
	c->table = tables;
	c->entry = *tables;
	while (*c->table && !c->entry->set)
		c->entry = *++c->table;
	return *c->table ? c->entry : NULL;
}

static const struct option_entry *next_option(struct cursor *c)
{
	c->entry++;
	while (*c->table && !c->entry->set)
		c->entry = *++c->table;
	return *c->table ? c->entry : NULL;
}

#define for_each_option(entry, c, tables)					\
	for ((entry) = first_option(&(c), tables); (entry); (entry) = next_option(&(c)))

static bool is_same(const struct option_entry *a, const struct option_entry *b)
{
	return a->set == b->set && a->value == b->value;
}

static const struct option_entry *find_letter(const struct option_entry *const *tables, char letter)
{
	const struct option_entry *entry;
	struct cursor c;

	for_each_option(entry, c, tables)
		if (entry->letter && entry->letter == letter)
			return entry;
	return NULL;
}

/* *ambiguous: another option that begins so, or NULL.  exact: no beginnings of names */
static const struct option_entry *find_name(const struct option_entry *const *tables,
					    const char *name, size_t length, bool exact,
					    const struct option_entry **ambiguous)
{
	const struct option_entry *entry, *found = NULL;
	struct cursor c;

	*ambiguous = NULL;
	for_each_option(entry, c, tables) {
		if (!entry->name || strncmp(entry->name, name, length))
			continue;
		if (!entry->name[length]) {
			*ambiguous = NULL;
			return entry;
		}
		if (!found)
			found = entry;
		else if (!is_same(entry, found))
			*ambiguous = entry;
	}
	return exact ? NULL : found;
}

const struct option_entry *option_table_find(const struct command *command, char letter,
					     const char *name, size_t length)
{
	const struct option_entry *other;

	return letter ? find_letter(command->tables, letter) :
		find_name(command->tables, name, length, true, &other);
}

/* ---- messages ----------------------------------------------------------------------------- */

const char *help_of(const struct options *o)
{
	static char text[64];

	snprintf(text, sizeof(text), "perfex %s --help", o->chosen ? o->chosen->name : "stat");
	return text;
}

int fail_usage(struct error *e, const struct options *o, const char *what)
{
	return fail_with(e, "%s: see %s", what, help_of(o));
}

int option_table_check_used(const struct parsing *p, const struct command *command,
			    struct error *e)
{
	const struct option_entry *entry, *used;
	struct cursor c;
	unsigned int i;

	for (i = 0; i < p->nrused; i++) {
		used = p->used[i].entry;
		for_each_option(entry, c, command->tables)
			if (is_same(entry, used))
				break;
		if (!entry)
			return p->fail_unknown(p, command, p->used[i].letter ? used->letter : 0, used->name,
					    used->name ? strlen(used->name) : 0, e);
	}
	return 0;
}

/* ---- parsing ------------------------------------------------------------------------------ */

int option_flag(struct parsing *p, const char *arg, struct error *e)
{
	(void)arg;
	(void)e;
	*(bool *)((char *)p->o + p->entry->value) = true;
	return 0;
}

int option_text(struct parsing *p, const char *arg, struct error *e)
{
	(void)e;
	*(const char **)((char *)p->o + p->entry->value) = arg;
	return 0;
}

int set_nothing(struct parsing *p, const char *arg, struct error *e)
{
	(void)p;
	(void)arg;
	(void)e;
	return 0;
}

static int set_option(struct parsing *p, const struct option_entry *entry, bool letter,
		      const char *arg, struct error *e)
{
	p->entry = entry;
	if (!p->command)
		p->used[p->nrused++] = (struct used_option){ entry, letter };
	return entry->set(p, arg, e);
}

static bool may_lack_argument(const struct option_entry *entry)
{
	return !entry->argument || entry->argument[0] == '[';
}

/* The name and the value of --name=value are in `word`, after the dashes. */
static int parse_long(struct parsing *p, const char *word, struct error *e)
{
	const size_t length = strcspn(word, "=");
	const char *arg = word[length] ? word + length + 1 : NULL;
	const struct option_entry *entry, *other;

	entry = find_name(p->tables, word, length, false, &other);
	if (!entry)
		return p->fail_unknown(p, p->command, 0, word, length, e);
	if (other)
		return fail_with(e, "--%.*s is the beginning of --%s and --%s: see %s", (int)length, word,
				 entry->name, other->name, help_of(p->o));
	if (arg && !entry->argument)
		return fail_with(e, "option '--%.80s' takes no argument: see %s", word, help_of(p->o));
	if (!arg && !may_lack_argument(entry)) {
		arg = p->argv[p->next];
		if (!arg)
			return fail_with(e, "option '--%s' needs an argument: see %s", entry->name,
					 help_of(p->o));
		p->next++;
	}
	return set_option(p, entry, false, arg, e);
}

/* Letters of options after one dash. */
static int parse_letters(struct parsing *p, const char *letters, struct error *e)
{
	const struct option_entry *entry;
	const char *arg;
	int ret = 0;

	for (; !ret && *letters; letters++) {
		entry = find_letter(p->tables, *letters);
		if (!entry)
			return p->fail_unknown(p, p->command, *letters, NULL, 0, e);
		if (!entry->argument) {
			ret = set_option(p, entry, true, NULL, e);
			continue;
		}
		arg = letters[1] ? letters + 1 : NULL;
		if (!arg && !may_lack_argument(entry)) {
			arg = p->argv[p->next];
			if (!arg)
				return fail_with(e, "option -%c needs an argument: see %s", *letters,
						 help_of(p->o));
			p->next++;
		}
		return set_option(p, entry, true, arg, e);
	}
	return ret;
}

int option_table_parse(struct parsing *p, struct error *e)
{
	const char *word;
	int ret;

	while ((word = p->argv[p->next]) && word[0] == '-' && word[1]) {
		p->next++;
		if (!strcmp(word, "--")) {
			p->ended = true;
			return 0;
		}
		ret = word[1] == '-' ? parse_long(p, word + 2, e) : parse_letters(p, word + 1, e);
		if (ret)
			return ret;
	}
	return 0;
}

/* ---- help and version --------------------------------------------------------------------------------- */

/* Print words from column `at` on, in lines that begin at `indent`. */
static void print_wrapped(FILE *f, const char *text, int at, int indent)
{
	bool first = true;
	int length;

	for (; *text; text += length + (text[length] == ' ')) {
		length = (int)strcspn(text, " ");
		if (at + !first + length > HELP_WIDTH) {
			fprintf(f, "\n%*s", indent, "");
			at = indent;
			first = true;
		}
		fprintf(f, "%s%.*s", first ? "" : " ", length, text);
		at += !first + length;
		first = false;
	}
	putc('\n', f);
}

static void print_option(FILE *f, const struct option_entry *entry)
{
	const char *argument = entry->argument ? entry->argument : "";
	bool optional = *argument == '[';
	char text[128];
	int n;

	n = entry->letter ? snprintf(text, sizeof(text), "  -%c", entry->letter) :
		snprintf(text, sizeof(text), "    ");
	if (entry->name)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s--%s%s%s", entry->letter ? ", " : "  ",
			      entry->name, !*argument ? "" : optional ? "[=" : "=",
			      argument + optional);
	else if (*argument)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " %s", argument);
	fprintf(f, "%-*s", HELP_COLUMN, text);
	if (n >= HELP_COLUMN)
		fprintf(f, "\n%*s", HELP_COLUMN, "");
	print_wrapped(f, entry->help, HELP_COLUMN, HELP_COLUMN);
}

/* A summary is a line of the list of commands: here it is a sentence. */
static void print_text(FILE *f, const struct command *command)
{
	char text[160];

	if (command->text) {
		print_wrapped(f, command->text, 0, 0);
		return;
	}
	snprintf(text, sizeof(text), "%c%s.", toupper((unsigned char)command->summary[0]),
		 command->summary + 1);
	print_wrapped(f, text, 0, 0);
}

static bool is_rare(const struct option_entry *entry, const struct command *command)
{
	const char *const *name = command->rare;

	while (name && *name && (!entry->name || strcmp(*name, entry->name)))
		name++;
	return name && *name;
}

void option_table_help(FILE *f, const struct command *command, bool all)
{
	const struct option_entry *entry;
	const char *usage = command->usage;
	unsigned int nrleft = 0;
	struct cursor c;
	int length;

	for (; *usage; usage += length + !!usage[length]) {
		length = (int)strcspn(usage, "\n");
		fprintf(f, "%s perfex %s%s%.*s\n", usage == command->usage ? "Usage:" : "      ",
			command->name, length ? " " : "", length, usage);
	}
	print_text(f, command);
	putc('\n', f);
	for_each_option(entry, c, command->tables) {
		if (!entry->help)
			continue;
		if (all || !is_rare(entry, command))
			print_option(f, entry);
		else
			nrleft++;
	}
	if (nrleft)
		fprintf(f, "\n%u more options: perfex help --all %s\n", nrleft, command->name);
	if (command->more_help) {
		putc('\n', f);
		command->more_help(f);
	}
}

/* The caller of option_table_parse() prints it. */
static int set_help(struct parsing *p, const char *arg, struct error *e)
{
	(void)arg;
	(void)e;
	p->help = true;
	return 1;
}

static int show_version(struct parsing *p, const char *arg, struct error *e)
{
	(void)p;
	(void)arg;
	(void)e;
	puts("perfex " VPERFCTR_VERSION);
	return 1;
}

const struct option_entry common_options[] = {
	{ 'h', "help", NULL, "show this, and exit", set_help, 0 },
	{ 'V', "version", NULL, "show the version, and exit", show_version, 0 },
	OPTIONS_END
};

void option_table_words(FILE *f, const struct command *command)
{
	const struct option_entry *entry;
	struct cursor c;

	for_each_option(entry, c, command->tables)
		if (entry->help)
			fprintf(f, "%s%c\t%s%s\t%s\t%s\n", entry->letter ? "-" : "",
				entry->letter ? entry->letter : ' ', entry->name ? "--" : "",
				entry->name ? entry->name : "", entry->argument ? entry->argument : "",
				entry->help);
}
