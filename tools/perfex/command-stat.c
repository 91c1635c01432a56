// SPDX-License-Identifier: GPL-2.0
/* perfex stat: count.  Its options, and the combinations that are refused. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "gate.h"
#include "option-table.h"

#define PROMETHEUS_INTERVAL	15000	/* how often Prometheus reads, usually */

/* ---- arguments ------------------------------------------------------------------------------- */

int set_spec(struct parsing *p, const char *arg, struct error *e)
{
	struct options *o = p->o;

	if (o->counting.events.nr == MAX_SPECS)
		return fail_usage(e, o, "too many -e options");
	o->counting.events.spec[o->counting.events.nr++] = arg;
	return 0;
}

static int set_metrics(struct parsing *p, const char *arg, struct error *e)
{
	struct options *o = p->o;

	if (o->stat.nrmetrics == MAX_SPECS)
		return fail_usage(e, o, "too many -M options");
	o->stat.metrics[o->stat.nrmetrics++] = arg;
	return 0;
}

static int set_topdown(struct parsing *p, const char *arg, struct error *e)
{
	(void)arg;
	return set_metrics(p, "topdown", e);
}

static int set_null(struct parsing *p, const char *arg, struct error *e)
{
	(void)arg;
	return set_spec(p, "task-clock", e);
}

static int set_mode(struct parsing *p, const char *arg, struct error *e)
{
	(void)arg;
	(void)e;
	events_only_in((char)p->entry->value);
	return 0;
}

static int set_plain_numbers(struct parsing *p, const char *arg, struct error *e)
{
	(void)p;
	(void)arg;
	(void)e;
	thousands_off();
	return 0;
}

static int set_detail(struct parsing *p, const char *arg, struct error *e)
{
	(void)arg;
	(void)e;
	p->o->stat.detail++;
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
			return fail_with(e, "'%s' is not a list of %s ids: see %s", arg,
					 process ? "process" : "thread", help_of(p->o));
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

/* -1: until a command of --control */
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

static int set_repeat(struct parsing *p, const char *arg, struct error *e)
{
	return parse_number(&p->o->stat.repeat, arg, 1000000, "runs", p->o, e);
}

static int set_runs(struct parsing *p, const char *arg, struct error *e)
{
	if (strcmp(arg, "auto"))
		return fail_with(e, "--runs is 'auto', not '%.40s': to repeat runs there is -r", arg);
	p->o->stat.runs_auto = true;
	return 0;
}

int set_interval(struct parsing *p, const char *arg, struct error *e)
{
	return parse_number(&p->o->stat.interval, arg, 86400000, "milliseconds", p->o, e);
}

int set_separator(struct parsing *p, const char *arg, struct error *e)
{
	if (!*arg)
		return fail_usage(e, p->o, "the separator for -x is empty");
	p->o->show.style = STYLE_CSV;
	p->o->show.separator = strcmp(arg, "\\t") ? arg : "\t";
	return 0;
}

int set_json(struct parsing *p, const char *arg, struct error *e)
{
	(void)arg;
	(void)e;
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

int set_user(struct parsing *p, const char *arg, struct error *e)
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
	{ 0, "no-inherit", NULL, "leave out threads and processes that are started",
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

static const struct option_entry stat_options[] = {
	{ 'e', "event", "EVENT,...", "count these events: perfex list --help shows how they are written",
	  set_spec, 0 },
	{ 'M', "metrics", "NAME,...", "count the events of these metrics, and print their values (perfex list shows the names)",
	  set_metrics, 0 },
	{ 'd', "detailed", NULL, "the metrics that fit; -dd: more of them", set_detail, 0 },
	{ 'r', "repeat", "N", "run PROGRAM N times: print means and their deviation", set_repeat, 0 },
	{ 0, "runs", "auto", "run PROGRAM as often as it takes to count all events", set_runs, 0 },
	{ 0, "pre", "COMMAND", "let the shell run COMMAND before each run", OPTION_TEXT(stat.pre) },
	{ 0, "post", "COMMAND", "the same after each run", OPTION_TEXT(stat.post) },
	{ 'S', "sync", NULL, "write all files to disks before each run", OPTION_FLAG(stat.sync) },
	{ 'U', "all-user", NULL, "count events without a mode in user mode", set_mode, 'u' },
	{ 'K', "all-kernel", NULL, "count them in kernel mode", set_mode, 'k' },
	{ 0, "topdown", NULL, NULL, set_topdown, 0 },
	{ 'n', "null", NULL, NULL, set_null, 0 },
	{ 'B', "big-num", NULL, NULL, set_nothing, 0 },
	{ 0, "no-big-num", NULL, "print no commas in numbers", set_plain_numbers, 0 },
	{ 'I', "interval", "MS", "print what was counted in each MS milliseconds", set_interval, 0 },
	{ 0, "interval-print", "MS", NULL, set_interval, 0 },
	{ 'D', "delay", "MS", "leave out what is counted in the first MS milliseconds", set_delay, 0 },
	{ 0, "control", "HOW", "fifo:FILE[,FILE]: count while programs say so: they write the lines enable and disable to the first FILE, and read ack from the second; fd:N[,N]: the same with descriptors",
	  set_control, 0 },
	{ 0, "wait", "SECONDS", "wait so long for counters that others have", set_wait, 0 },
	{ 0, "backend", "HOW", "count by the vperfctr module or by perf_event: module or perf; auto: by perf_event where the module cannot",
	  set_backend, 0 },
	{ 0, "strict", NULL, "refuse all events if one of them cannot be counted here", OPTION_FLAG(stat.strict) },
	{ 'A', "per-cpu", NULL, "with -a and -C, print the counts of each CPU", set_split, SPLIT_CPU },
	{ 0, "no-aggr", NULL, NULL, set_split, SPLIT_CPU },
	{ 0, "per-core", NULL, "of each core", set_split, SPLIT_CORE },
	{ 0, "per-socket", NULL, "of each socket", set_split, SPLIT_SOCKET },
	{ 0, "per-kind", NULL, "of each kind of CPUs", set_split, SPLIT_KIND },
	{ 0, "per-thread", NULL, "with -p and -t, print each thread's counts", OPTION_FLAG(stat.per_thread) },
	{ 0, "prometheus", "FILE", "with -a and -C, write the counts of each CPU to FILE for Prometheus, every 15 seconds or as -I says",
	  OPTION_TEXT(stat.prometheus) },
	{ 'x', "field-separator", "SEP", "print fields with SEP between, as perf stat does", set_separator, 0 },
	{ 'j', "json", NULL, "print JSON, with perf stat's names", set_json, 0 },
	{ 0, "json-output", NULL, NULL, set_json, 0 },
	{ 'o', "output", "FILE", "print to FILE, not to standard error; in its name, %h is the host, %p perfex's process, %r the rank (MPI, Slurm)",
	  OPTION_TEXT(show.file) },
	{ 0, "append", NULL, "with -o, add to the end of FILE", OPTION_FLAG(show.append) },
	{ 0, "log-fd", "N", "print to descriptor N, which is open already", set_log_fd, 0 },
	{ 'v', "verbose", NULL, "also print each event's counter and its control, and the parts of each sum",
	  OPTION_FLAG(show.verbose) },
	OPTIONS_END
};

/* Only for "perfex stat": "perfex -i" is from before it. */
static const struct option_entry own_options[] = {
	{ 'i', NULL, NULL, NULL, OPTION_FLAG(counting.no_inherit) },
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
	if (o->counting.all_cpus && o->counting.cpu_list)
		return fail_usage(e, o, "either -a or -C says which CPUs to count");
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

static int check_metrics(const struct options *o, struct error *e)
{
	if (!o->stat.nrmetrics && !o->stat.detail)
		return 0;
	if (o->stat.runs_auto)
		return fail_usage(e, o, "-M and -d compute metrics from the counts of one run, and cannot be combined with --runs");
	return !o->stat.prometheus ? 0 :
		fail_usage(e, o, "-M and -d are for counts, and cannot be combined with --prometheus");
}

static int choose_prometheus(struct options *o, struct error *e)
{
	if (!counts_cpus(&o->counting))
		return fail_usage(e, o, "--prometheus is for -a and -C");
	if (o->show.style != STYLE_TEXT || o->show.file || o->show.log_fd >= 0 ||
	    o->stat.repeat || o->stat.runs_auto)
		return fail_usage(e, o, "--prometheus prints to its file, and cannot be combined with -j, -x, -o, --log-fd, -r or --runs");
	if (!o->counting.split)
		o->counting.split = SPLIT_CPU;
	if (!o->stat.interval)
		o->stat.interval = PROMETHEUS_INTERVAL;
	return 0;
}

static int finish_stat(struct options *o, struct error *e)
{
	if (o->stat.prometheus && choose_prometheus(o, e))
		return -1;
	if (check_gate(o, e) || check_metrics(o, e) || check_output(o, e) || check_targets(o, e))
		return -1;
	if (o->counting.targets.nr && (o->stat.repeat || o->stat.runs_auto))
		return fail_usage(e, o, "-r and --runs are for a command that is counted");
	if ((o->stat.repeat > 1 || o->stat.runs_auto) && o->stat.interval)
		return fail_usage(e, o, "-I goes neither with -r nor with --runs");
	if (!o->counting.targets.nr && o->stat.per_thread)
		return fail_usage(e, o, "--per-thread is for -p and -t");
	return 0;
}

static int run_stat(const struct options *o, struct output *output, FILE *out, struct error *e)
{
	(void)out;
	return measure(&o->counting, &o->stat, &o->show, output, e);
}

/* The exit statuses are those of a program that is run. */
static void print_statuses(FILE *f)
{
	fputs("Exit status: PROGRAM's, or 0 without; 128+N if signal N ended it; 127 if it was\n"
	      "not found; 126 if it cannot be executed; 125 if perfex itself failed or was\n"
	      "misused, or if not all was counted.\n", f);
}

const struct command command_stat = {
	.name = "stat",
	.usage = "[OPTION]... [--] PROGRAM [ARGUMENT]...\n"
		"[OPTION]... -p PID | -t TID | -a | -C LIST [PROGRAM...]",
	.summary = "count events of a program, of processes or of CPUs",
	.text = "Run PROGRAM, and print exact counts of it and of all that it starts; or count processes or CPUs until they end, Ctrl-C, the end of the time, or PROGRAM's, which is not counted then.",
	.tables = { stat_options, target_options, own_options, common_options },
	.more_help = print_statuses, .finish = finish_stat, .run = run_stat, .counts = true,
};
