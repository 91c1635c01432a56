// SPDX-License-Identifier: GPL-2.0
/* Options that several commands have: what sets them, tables, and checks. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "gate.h"
#include "option-table.h"

/* ---- arguments ------------------------------------------------------------------------------- */

int parse_number(unsigned int *n, const char *arg, unsigned int most, const char *what,
		 const struct options *o, struct error *e)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(arg, &end, 10);
	if (!isdigit((unsigned char)*arg) || *end || errno || !value || value > most)
		return fail_with(e, "'%s' is not a number of %s, from 1 to %u: see %s", arg, what, most,
				 help_of(o));
	*n = (unsigned int)value;
	return 0;
}

int set_spec(struct parsing *p, const char *arg, struct error *e)
{
	struct options *o = p->o;

	if (o->counting.events.nr == MAX_SPECS)
		return fail_usage(e, o, "too many -e options");
	o->counting.events.spec[o->counting.events.nr++] = arg;
	return 0;
}

/* "123,456" */
int set_ids(struct parsing *p, const char *arg, struct error *e)
{
	const bool process = p->entry->value;
	struct targets *targets = &p->o->counting.targets;
	const char *text = arg;
	char *end;
	long id;

	for (;; text = end + 1) {
		errno = 0;
		id = strtol(text, &end, 10);
		if (!isdigit((unsigned char)*text) || (*end && *end != ',') || errno || id <= 0 ||
		    id > INT_MAX)
			return fail_with(e, "'%s' is not a list of %s ids: %s%s", arg,
					 process ? "process" : "thread",
					 ispunct((unsigned char)*arg) && !arg[1] ?
					 "perf's separator of columns is not needed, as -j prints all fields" : "see ",
					 ispunct((unsigned char)*arg) && !arg[1] ? "" : help_of(p->o));
		if (targets->nr == MAX_TARGETS)
			return fail_usage(e, p->o, "too many -p and -t");
		targets->target[targets->nr++] = (struct target){ (pid_t)id, process };
		if (!*end)
			return 0;
	}
}

/*
 * A number of milliseconds, as perf has it; with a unit, or with a point, as perfex had it before
 * there were units, of seconds.
 */
int set_timeout(struct parsing *p, const char *arg, struct error *e)
{
	const size_t digits = strspn(arg, "0123456789.");
	char *end;
	double n = strtod(arg, &end);
	const bool seconds = !strcmp(end, "s") || (!*end && strchr(arg, '.'));

	if (!digits || end != arg + digits || (*end && strcmp(end, "s") && strcmp(end, "ms")) || n > 1e9)
		return fail_with(e, "'%.40s' is not a number of milliseconds, nor a time such as 10s: see %s",
				 arg, help_of(p->o));
	p->o->counting.timeout = seconds ? n : n / 1000;
	if (!*end && !seconds && n > 0 && n < 100)
		fprintf(stderr, "perfex: --timeout=%s is in milliseconds, as perf has it: %ss is in seconds\n",
			arg, arg);
	return 0;
}

static int parse_seconds(double *seconds, const char *arg, const struct options *o, struct error *e)
{
	char *end;

	*seconds = strtod(arg, &end);
	if (!*arg || *end || strspn(arg, "0123456789.") != strlen(arg) || *seconds > 1e9)
		return fail_with(e, "'%s' is not a number of seconds: see %s", arg, help_of(o));
	return 0;
}

int set_wait(struct parsing *p, const char *arg, struct error *e)
{
	return parse_seconds(&p->o->stat.wait, arg, p->o, e);
}

/* Set the time to leave out at the start; -1: until a command of --control. */
int set_delay(struct parsing *p, const char *arg, struct error *e)
{
	unsigned long ms;
	char *end;

	if (!strcmp(arg, "-1")) {
		p->o->stat.delay = -1;
		return 0;
	}
	errno = 0;
	ms = strtoul(arg, &end, 10);
	if (!isdigit((unsigned char)*arg) || *end || errno || ms > INT_MAX)
		return fail_with(e, "'%.40s' is not a number of milliseconds, nor -1: see %s", arg,
				 help_of(p->o));
	p->o->stat.delay = (int)ms;
	return 0;
}

int set_control(struct parsing *p, const char *arg, struct error *e)
{
	p->o->stat.control = arg;
	return gate_check(arg, e);
}

int set_split(struct parsing *p, const char *arg, struct error *e)
{
	const enum split split = (enum split)p->entry->value;
	struct options *o = p->o;

	(void)arg;
	if (o->counting.split && o->counting.split != split)
		return fail_usage(e, o, "one of --per-cpu, --per-core, --per-socket and --per-kind at a time");
	o->counting.split = split;
	return 0;
}

int set_interval(struct parsing *p, const char *arg, struct error *e)
{
	return parse_number(&p->o->stat.interval, arg, 86400000, "milliseconds", p->o, e);
}

static int fail_styles(const struct options *o, struct error *e)
{
	return fail_usage(e, o, "-j and -x cannot be combined");
}

int set_separator(struct parsing *p, const char *arg, struct error *e)
{
	if (!*arg)
		return fail_usage(e, p->o, "the separator for -x is empty");
	if (p->o->show.style == STYLE_JSON)
		return fail_styles(p->o, e);
	p->o->show.style = STYLE_CSV;
	p->o->show.separator = strcmp(arg, "\\t") ? arg : "\t";
	return 0;
}

int set_json(struct parsing *p, const char *arg, struct error *e)
{
	(void)arg;
	if (p->o->show.style == STYLE_CSV)
		return fail_styles(p->o, e);
	p->o->show.style = STYLE_JSON;
	return 0;
}

int set_log_fd(struct parsing *p, const char *arg, struct error *e)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(arg, &end, 10);
	if (!isdigit((unsigned char)*arg) || *end || errno || n > INT_MAX)
		return fail_with(e, "'%.40s' is not the number of a descriptor: see %s", arg,
				 help_of(p->o));
	p->o->show.log_fd = (int)n;
	return 0;
}

int set_backend(struct parsing *p, const char *arg, struct error *e)
{
	return backend_parse(&p->o->counting.backend, arg, "--backend", e);
}

static int set_user(struct parsing *p, const char *arg, struct error *e)
{
	(void)e;
	p->o->counting.as_user = true;
	p->o->counting.user = arg;
	return 0;
}

/* ---- tables ---------------------------------------------------------------------------------- */

const struct option_entry target_options[] = {
	{ 'p', "pid", "PID,...", "all threads of running processes", set_ids, true },
	{ 't', "tid", "TID,...", "running threads", set_ids, false },
	{ 'a', "all-cpus", NULL, "whole CPUs, whatever runs there: needs CAP_PERFMON (sudo)",
	  OPTION_FLAG(counting.all_cpus) },
	{ 'C', "cpu", "LIST", "these CPUs (0-3,8)", OPTION_TEXT(counting.cpu_list) },
	{ 0, "timeout", "MS", "with -p, -t, -a and -C, end after this time; 10s: after ten seconds",
	  set_timeout, 0 },
	{ 0, "kind", "KIND", "CPUs of this kind (core or atom of a hybrid processor, or a number that perfex info shows); PROGRAM runs on these",
	  OPTION_TEXT(counting.kind) },
	{ 0, "no-inherit", NULL, "leave out what is started (stat and record: also -i)",
	  OPTION_FLAG(counting.no_inherit) },
	{ 0, "user", "[NAME]", "run PROGRAM as this user, or as the caller of sudo", set_user, 0 },
	OPTIONS_END
};

const struct option_entry output_options[] = {
	{ 'o', "output", "FILE", "print to FILE", OPTION_TEXT(show.file) },
	{ 'j', "json", NULL, "print JSON", set_json, 0 },
	{ 0, "json-output", NULL, NULL, set_json, 0 },
	OPTIONS_END
};

/* Some commands print no more by it. */
const struct option_entry verbose_option[] = {
	{ 'v', "verbose", NULL, NULL, OPTION_FLAG(show.verbose) },
	OPTIONS_END
};

/* ---- checks ---------------------------------------------------------------------------------- */

int check_output(const struct options *o, struct error *e)
{
	if (o->show.file && o->show.log_fd >= 0)
		return fail_usage(e, o, "either -o or --log-fd says where to print");
	if (o->show.append && !o->show.file)
		return fail_usage(e, o, "--append is for -o");
	return 0;
}

static int check_cpus(const struct options *o, struct error *e)
{
	if (!counts_cpus(&o->counting))
		return !o->counting.split ? 0 :
			fail_usage(e, o, "--per-cpu, --per-core, --per-socket and --per-kind are for -a and -C");
	if (o->counting.targets.nr || o->counting.no_inherit || o->stat.per_thread)
		return fail_usage(e, o, "-a and -C count CPUs, and cannot be combined with -p, -t, --per-thread or --no-inherit, which are for threads");
	if ((o->stat.repeat || o->stat.runs_auto) && !*o->counting.command)
		return fail_usage(e, o, "-r and --runs need a command to run");
	return 0;
}

int check_targets(const struct options *o, struct error *e)
{
	const bool cpus = counts_cpus(&o->counting);

	if (check_cpus(o, e))
		return -1;
	if (o->counting.timeout >= 0 && !o->counting.targets.nr && !cpus)
		return fail_usage(e, o, "--timeout is for -p, -t, -a and -C");
	if (o->counting.timeout >= 0 && *o->counting.command)
		return fail_usage(e, o, "either --timeout or a command says how long to count");
	if (o->counting.as_user && !*o->counting.command)
		return fail_usage(e, o, "--user is for a command");
	if (!o->counting.targets.nr && !cpus && !*o->counting.command)
		return fail_usage(e, o, "there is no command to run");
	return 0;
}

int check_gate(const struct options *o, struct error *e)
{
	const bool gate = o->stat.delay || o->stat.control;

	if (o->stat.delay < 0 && !o->stat.control)
		return fail_usage(e, o, "-D -1 waits for a command of --control");
	if (gate && (o->stat.repeat > 1 || o->stat.runs_auto || o->stat.per_thread))
		return fail_usage(e, o, "-D and --control cannot be combined with -r, --runs or --per-thread");
	if (gate && o->stat.prometheus)
		return fail_usage(e, o, "Prometheus expects counts that never stop: -D and --control cannot be combined with --prometheus");
	return 0;
}

int check_no_words(const struct options *o, const char *what, struct error *e)
{
	if (!o->files.nr && !*o->counting.command)
		return 0;
	return fail_with(e, "%s has no arguments (perfex -- %s runs the program of that name): see %s",
			 what, o->chosen->name, help_of(o));
}
