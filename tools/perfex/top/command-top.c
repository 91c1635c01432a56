// SPDX-License-Identifier: GPL-2.0
/* perfex top: its options, and whether it shows functions or counts. */
#include <string.h>

#include "browse.h"
#include "option-table.h"

#define TOP_INTERVAL	2000	/* milliseconds, as perf top has it */

static const struct option_entry top_options[] = {
	{ 'e', "event", "EVENT,...", "count these events; with -a, -p and -t, sample by them",
	  set_spec, 0 },
	{ 'C', "cpu", "LIST", "these CPUs (0-3,8), and not all", OPTION_TEXT(counting.cpu_list) },
	{ 'a', "all-cpus", NULL, "the hottest functions of all CPUs", OPTION_FLAG(counting.all_cpus) },
	{ 'p', "pid", "PID,...", "the hottest functions of processes", set_ids, true },
	{ 't', "tid", "TID,...", "the hottest functions of threads", set_ids, false },
	{ 'F', "freq", "N", "with -a, -p and -t, take about N samples per second of a thread or CPU (1000)",
	  set_rate, 0 },
	{ 'c', "count", "PERIOD", "take one after each PERIOD of events", OPTION_TEXT(record.period) },
	{ 's', "sort", "KEY,...", "rows by comm, pid, tid, cpu, dso and symbol", set_sort, 0 },
	{ 0, "kind", "KIND", "CPUs of this kind", OPTION_TEXT(counting.kind) },
	{ 'A', "per-cpu", NULL, "a line for each CPU, as without it", set_split, SPLIT_CPU },
	{ 0, "no-aggr", NULL, NULL, set_split, SPLIT_CPU },
	{ 0, "per-core", NULL, "a line for each core", set_split, SPLIT_CORE },
	{ 0, "per-socket", NULL, "a line for each socket", set_split, SPLIT_SOCKET },
	{ 0, "per-kind", NULL, "a line for each kind of CPUs", set_split, SPLIT_KIND },
	{ 'I', "interval", "MS", "show new counts each MS milliseconds (2000)", set_interval, 0 },
	{ 0, "interval-print", "MS", NULL, set_interval, 0 },
	{ 0, "timeout", "MS", "end after this time; 10s: after ten seconds", set_timeout, 0 },
	{ 0, "wait", "SECONDS", "without -a, -p and -t: wait for counters, no longer than this", set_wait, 0 },
	{ 'D', "delay", "MS", "without -a, -p and -t: leave out what is counted in the first MS milliseconds",
	  set_delay, 0 },
	{ 0, "control", "HOW", "without -a, -p and -t: fifo:FILE[,FILE] or fd:N[,N]: count while programs say so",
	  set_control, 0 },
	{ 'o', "output", "FILE", "print to FILE", OPTION_TEXT(show.file) },
	{ 0, "append", NULL, "with -o, add to the end of FILE", OPTION_FLAG(show.append) },
	{ 0, "log-fd", "N", "print to descriptor N, which is open already", set_log_fd, 0 },
	{ 'v', "verbose", NULL, "also print each event's counter and its control", OPTION_FLAG(show.verbose) },
	/* Functions are always so. */
	{ 'n', "show-nr-samples", NULL, NULL, set_nothing, 0 },
	{ 0, "stdio", NULL, NULL, set_nothing, 0 },
	{ 0, "tui", NULL, NULL, set_nothing, 0 },
	{ 0, "force", NULL, NULL, set_nothing, 0 },
	{ 0, "no-bpf-event", NULL, NULL, set_nothing, 0 },
	OPTIONS_END
};

/* Samples per second, as perf has it by default since 3.1 for CPUs, but of threads, too. */
#define TOP_RATE	1000

static bool has_periods(const struct options *o)
{
	unsigned int i;

	for (i = 0; i < o->counting.events.nr; i++)
		if (strchr(o->counting.events.spec[i], '='))
			return true;
	return false;
}

/* True if functions are shown, and not counts of CPUs. */
static bool shows_functions(const struct options *o)
{
	return o->counting.targets.nr || (o->counting.all_cpus && !o->counting.split);
}

static int finish_top_functions(struct options *o, struct error *e)
{
	if (o->counting.split || o->stat.delay || o->stat.control || o->stat.wait > 0)
		return fail_usage(e, o, "-a, -p and -t show functions: -A, --per-core, --per-socket, --per-kind, -D, --control and --wait are for counts of CPUs");
	if (report_check(&o->reporting, e))
		return -1;
	if (!o->stat.interval)
		o->stat.interval = TOP_INTERVAL;
	if (!o->record.sample.rate && !o->record.period && !has_periods(o))
		o->record.sample.rate = TOP_RATE;
	return finish_samples(o, e) || check_output(o, e) || check_targets(o, e) ? -1 : 0;
}

/* Set what perfex top does unless options say something else. */
static int finish_top(struct options *o, struct error *e)
{
	if (*o->counting.command)
		return fail_usage(e, o, "perfex top runs no command (perfex -- top runs the program of that name)");
	if (shows_functions(o))
		return finish_top_functions(o, e);
	if (o->record.sample.rate || o->record.period || o->reporting.sort)
		return fail_usage(e, o, "-F, -c and -s are for -a, -p and -t, which show functions");
	o->stat.top = true;
	if (!o->counting.cpu_list)
		o->counting.all_cpus = true;
	if (!o->counting.split)
		o->counting.split = SPLIT_CPU;
	if (!o->stat.interval)
		o->stat.interval = TOP_INTERVAL;
	return check_gate(o, e) || check_output(o, e) || check_targets(o, e) ? -1 : 0;
}

static int run_top(const struct options *o, struct output *output, FILE *out, struct error *e)
{
	const struct reporting r = reporting_of(o);

	return o->stat.top ? measure(&o->counting, &o->stat, &o->show, output, e) :
		top_functions(&o->counting, &o->record.sample, o->stat.interval, &r, out, e);
}

const struct command command_top = {
	.name = "top", .usage = "[OPTION]...\n-a | -p PID | -t TID [OPTION]...",
	.summary = "show the hottest functions, or the counts of CPUs, again and again",
	.tables = { top_options, common_options },
	.finish = finish_top, .run = run_top, .counts = true,
};
