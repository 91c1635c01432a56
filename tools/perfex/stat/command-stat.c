// SPDX-License-Identifier: GPL-2.0
/* perfex stat: count.  Its options, and the combinations that are refused. */
#include <stdlib.h>
#include <string.h>

#include "option-table.h"

#define PROMETHEUS_INTERVAL	15000	/* how often Prometheus reads, usually */

/* ---- arguments ------------------------------------------------------------------------------- */

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
	const char mode = (char)p->entry->value;

	(void)arg;
	if (p->o->stat.only_mode && p->o->stat.only_mode != mode)
		return fail_usage(e, p->o, "-U and -K exclude each other: without them both modes are counted");
	p->o->stat.only_mode = mode;
	events_only_in(mode);
	return 0;
}

/* The last one decides, as in perf. */
static int set_big_numbers(struct parsing *p, const char *arg, struct error *e)
{
	(void)arg;
	(void)e;
	p->o->stat.big_numbers = p->entry->value;
	thousands_use(p->entry->value);
	return 0;
}

static int set_detail(struct parsing *p, const char *arg, struct error *e)
{
	(void)arg;
	(void)e;
	p->o->stat.detail++;
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

/* ---- tables ---------------------------------------------------------------------------------- */

static const struct option_entry stat_options[] = {
	{ 'e', "event", "EVENT,...", "count these events: perfex list --help shows how they are written",
	  set_spec, 0 },
	{ 'M', "metrics", "NAME,...", "count the events of these metrics, and print their values (perfex list shows the names)",
	  set_metrics, 0 },
	{ 'd', "detailed", NULL, "the metrics that fit; -dd: more of them", set_detail, 0 },
	{ 'r', "repeat", "N", "run PROGRAM N times: print means and their deviation", set_repeat, 0 },
	{ 0, "table", NULL, "with -r, also print the elapsed time of each run", OPTION_FLAG(stat.table) },
	{ 0, "runs", "auto", "run PROGRAM as many times as needed to count all events", set_runs, 0 },
	{ 0, "pre", "COMMAND", "let the shell run COMMAND before each run", OPTION_TEXT(stat.pre) },
	{ 0, "post", "COMMAND", "the same after each run", OPTION_TEXT(stat.post) },
	{ 'S', "sync", NULL, "write all files to disks before each run", OPTION_FLAG(stat.sync) },
	{ 'U', "all-user", NULL, "count events without a mode in user mode", set_mode, 'u' },
	{ 'K', "all-kernel", NULL, "count them in kernel mode", set_mode, 'k' },
	{ 0, "metric-only", NULL, "print a line of metrics and ratios, and no counts", OPTION_FLAG(stat.metric_only) },
	{ 0, "topdown", NULL, NULL, set_topdown, 0 },
	{ 'n', "null", NULL, NULL, set_null, 0 },
	{ 'B', "big-num", NULL, NULL, set_big_numbers, true },
	{ 0, "no-big-num", NULL, "print no commas in numbers", set_big_numbers, false },
	{ 'I', "interval", "MS", "print what was counted in each MS milliseconds", set_interval, 0 },
	{ 0, "interval-print", "MS", NULL, set_interval, 0 },
	{ 0, "summary", NULL, "with -I, also print the sums at the end", OPTION_FLAG(stat.summary) },
	{ 0, "no-csv-summary", NULL, NULL, OPTION_FLAG(stat.plain_summary) },
	{ 'D', "delay", "MS", "leave out what is counted in the first MS milliseconds", set_delay, 0 },
	{ 0, "control", "HOW", "fifo:FILE[,FILE]: count while programs say so: they write the lines enable and disable to the first FILE, and read ack from the second; fd:N[,N]: the same with descriptors",
	  set_control, 0 },
	{ 0, "wait", "SECONDS", "wait for counters that others have, no longer than this", set_wait, 0 },
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
	{ 'o', "output", "FILE", "print to FILE (-: standard output); in its name, %h is the host, %p perfex's process, %r the rank (MPI, Slurm)",
	  OPTION_TEXT(show.file) },
	{ 0, "append", NULL, "with -o, add to the end of FILE", OPTION_FLAG(show.append) },
	{ 0, "log-fd", "N", "print to descriptor N, which is open already", set_log_fd, 0 },
	{ 'v', "verbose", NULL, "also print each event's counter and its control, and the parts of each sum",
	  OPTION_FLAG(show.verbose) },
	OPTIONS_END
};

static const char *const rare_options[] = {
	"table", "pre", "post", "sync", "metric-only", "no-big-num", "summary", "control", "per-core",
	"per-socket", "per-kind", "prometheus", "append", "log-fd", "verbose", NULL
};

/* Only for "perfex stat": "perfex -i" is from before it. */
static const struct option_entry own_options[] = {
	{ 'i', NULL, NULL, NULL, OPTION_FLAG(counting.no_inherit) },
	OPTIONS_END
};

/* ---- checks ---------------------------------------------------------------------------------- */

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
	    o->stat.repeat || o->stat.runs_auto || o->stat.metric_only)
		return fail_usage(e, o, "--prometheus prints to its file, and cannot be combined with -j, -x, -o, --log-fd, -r, --runs or --metric-only");
	if (!strcmp(o->stat.prometheus, "-"))
		return fail_usage(e, o, "--prometheus replaces its file again and again, and standard output is none");
	if (!o->counting.split)
		o->counting.split = SPLIT_CPU;
	if (!o->stat.interval)
		o->stat.interval = PROMETHEUS_INTERVAL;
	return 0;
}

/* Options that would change nothing beside the others, and that perf stat refuses, or ignores silently. */
static int check_shown(const struct options *o, struct error *e)
{
	const struct stat_options *s = &o->stat;

	if (s->table && s->repeat < 2)
		return fail_usage(e, o, "--table is for -r, which runs a command several times");
	if (s->table && o->show.style != STYLE_TEXT)
		return fail_usage(e, o, "--table prints lines below a table, and cannot be combined with -j or -x");
	if (s->big_numbers && o->show.style == STYLE_CSV)
		return fail_usage(e, o, "-B prints commas in numbers, and cannot be combined with -x");
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
	return check_shown(o, e);
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
	.rare = rare_options,
	.more_help = print_statuses, .finish = finish_stat, .run = run_stat, .counts = true,
};
