/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The commands of perfex, and the options of each: tables, from which options are parsed, and
 * from which the help and the completions of shells are made.
 */
#ifndef PERFEX_OPTION_TABLE_H
#define PERFEX_OPTION_TABLE_H

#include <stddef.h>

#include "perfex.h"

struct command;
struct output;
struct parsing;

/* The command line.  A command hands on the parts that it has. */
struct options {
	const struct command *chosen;	/* what to do */
	struct count_options counting;
	struct stat_options stat;
	struct record_options {
		struct sample_spec sample;
		const char *period;	/* of -c; NULL: not said */
		bool period_used;	/* an event has it */
		unsigned int max_stack;	/* return addresses in each sample; 0: not said */
	} record;
	struct reporting reporting;	/* see reporting_of() */
	struct showing show;
	struct file_list files;
	const char **words;		/* that perfex list looks for */
	const char *report;		/* a file of samples to read, or of self-test's to write */
	bool holders;			/* of perfex info */
	bool help_all;			/* of perfex help */
	bool self_test;
	const char *checks;		/* of self-test; NULL: all; "help": list them */
	bool facts;			/* of self-test: print only these */
};

/* Parse the command line.  Return: 0: do what they say; 1: done, exit successfully; -1: *e */
int options_parse(int argc, char **argv, struct options *o, struct error *e);

/* An option of a command. */
struct option_entry {
	char letter;		/* 0: none */
	const char *name;	/* NULL: only a letter */
	const char *argument;	/* "FILE"; "[HOW]": may be left out; NULL: it has none */
	const char *help;	/* NULL: another name of an option, or an old one */
	/* arg: NULL: it was left out.  Return: 0, 1: exit successfully, or -1 with *e */
	int (*set)(struct parsing *p, const char *arg, struct error *e);
	size_t value;		/* for set */
};

/* For the end of a table. */
#define OPTIONS_END	{ .set = NULL }

/* Set a member of struct options. */
#define OPTION_FLAG(member)	.set = option_flag, .value = offsetof(struct options, member)
#define OPTION_TEXT(member)	.set = option_text, .value = offsetof(struct options, member)

int option_flag(struct parsing *p, const char *arg, struct error *e);
int option_text(struct parsing *p, const char *arg, struct error *e);

#define MAX_TABLES	8

/* The words after the options. */
enum words {
	WORDS_PROGRAM,		/* a command to run, with its own options: perfex's are before it */
	WORDS_ANY,		/* words and options in any order */
};

struct command {
	const char *name;
	const char *summary;		/* of perfex --help; NULL: not shown there */
	const char *usage;		/* lines after "perfex NAME " */
	const char *text;		/* what it does, below the usage; NULL: the summary says it */
	/* tables, of which the last entry is OPTIONS_END; NULL: no more */
	const struct option_entry *tables[MAX_TABLES];
	enum words words;
	/* names of options that --help leaves out, as few need them; NULL: none */
	const char *const *rare;
	void (*more_help)(FILE *f);	/* below the options; NULL: none */
	/* Set what the options imply, and check them.  Return: 0, 1: done, or -1 with *e */
	int (*finish)(struct options *o, struct error *e);
	/* out: where output goes, or standard output.  Return: the exit status, or -1 with *e */
	int (*run)(const struct options *o, struct output *output, FILE *out, struct error *e);
	bool counts;			/* counts, or samples, could be lost */
};

/* The command line, while it is parsed. */
struct parsing {
	struct options *o;
	char **argv;
	int argc, next;			/* the word that comes next */
	const struct option_entry *const *tables;
	const struct command *command;	/* NULL: none is said yet */
	const struct command *alias;	/* what an option such as --sample stands for; or NULL */
	const struct option_entry *entry;	/* that is set */
	struct used_option {
		const struct option_entry *entry;
		bool letter;		/* the user wrote it as a letter */
	} *used;			/* before a command was named */
	unsigned int nrused;
	bool ended;			/* by "--" */
	bool help;			/* is asked for */
	/* Return: -1 with *e.  letter: 0: the option is a name, of this length */
	int (*fail_unknown)(const struct parsing *p, const struct command *command, char letter,
			    const char *name, size_t length, struct error *e);
};

/*
 * Parse options up to a word that is none.
 * Return: 0, 1: exit successfully, or -1 with *e
 */
int option_table_parse(struct parsing *p, struct error *e);

/* Check that the command has the options that came before its name. */
int option_table_check_used(const struct parsing *p, const struct command *command,
			    struct error *e);

/* Return: the option of this letter or, if it is 0, of this name; NULL: the command has none. */
const struct option_entry *option_table_find(const struct command *command, char letter,
					     const char *name, size_t length);

/* all: also the rare options. */
void option_table_help(FILE *f, const struct command *command, bool all);

/* Print a line for each option, for completions: letters, name, argument and help. */
void option_table_words(FILE *f, const struct command *command);

/* Say what is wrong, and which help to read. */
int fail_usage(struct error *e, const struct options *o, const char *what);
/* "perfex stat --help" */
const char *help_of(const struct options *o);

/* ---- commands.c ------------------------------------------------------------------------- */

/* All commands, in the order of the help; NULL ends them. */
extern const struct command *const commands[];

/* NULL: of perfex; all: as option_table_help().  Return: 1 */
int show_help(const struct command *command, bool all);

/* Return: the command of this name, or NULL. */
const struct command *command_find(const char *name);

/*
 * Say what perf's option of this name is here.  command: NULL: it is before that.
 * Return: 0: perf has none; -1 with *e
 */
int advise_perf_option(const struct command *command, char letter, const char *name, size_t length,
		       struct error *e);

/* ---- tables and setters that several commands have ----------------------------------------------------- */

extern const struct command command_stat, command_record, command_report, command_annotate,
	command_script, command_diff, command_list, command_top, command_plot, command_merge, command_doctor,
	command_self_test, command_info, command_help;

/* help and version */
extern const struct option_entry common_options[];
/* which threads or CPUs */
extern const struct option_entry target_options[];
/* where text goes */
extern const struct option_entry output_options[];
/* -v, of commands that print no more by it */
extern const struct option_entry verbose_option[];

/* Setters that several tables name. */
int set_backend(struct parsing *p, const char *arg, struct error *e);
int set_spec(struct parsing *p, const char *arg, struct error *e);
int set_ids(struct parsing *p, const char *arg, struct error *e);
int set_json(struct parsing *p, const char *arg, struct error *e);
int set_separator(struct parsing *p, const char *arg, struct error *e);
int set_interval(struct parsing *p, const char *arg, struct error *e);
int set_timeout(struct parsing *p, const char *arg, struct error *e);
int set_wait(struct parsing *p, const char *arg, struct error *e);
int set_delay(struct parsing *p, const char *arg, struct error *e);
int set_control(struct parsing *p, const char *arg, struct error *e);
int set_log_fd(struct parsing *p, const char *arg, struct error *e);
int set_split(struct parsing *p, const char *arg, struct error *e);
int set_chains(struct parsing *p, const char *arg, struct error *e);
int set_rate(struct parsing *p, const char *arg, struct error *e);
int set_max_stack(struct parsing *p, const char *arg, struct error *e);
int set_annotate(struct parsing *p, const char *arg, struct error *e);
int set_sort(struct parsing *p, const char *arg, struct error *e);
int set_checks(struct parsing *p, const char *arg, struct error *e);
int set_nothing(struct parsing *p, const char *arg, struct error *e);

int parse_number(unsigned int *n, const char *arg, unsigned int most, const char *what,
		 const struct options *o, struct error *e);

/* ---- checks that several commands have --------------------------------------------------- */

/* The threads, CPUs or the command that are counted. */
int check_targets(const struct options *o, struct error *e);
/* Choose the events and the periods of samples. */
int finish_samples(struct options *o, struct error *e);
int check_output(const struct options *o, struct error *e);
/* -D and --control. */
int check_gate(const struct options *o, struct error *e);
/* Return: o->reporting with the file, events, threads and output that are asked for. */
struct reporting reporting_of(const struct options *o);
/* The command takes no words.  what: "perfex doctor" */
int check_no_words(const struct options *o, const char *what, struct error *e);

#endif /* PERFEX_OPTION_TABLE_H */
