// SPDX-License-Identifier: GPL-2.0
/* perfex record: take samples. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "option-table.h"
#include "output.h"

/* Samples per second: more are never useful. */
#define MAX_RATE	1000000

/* Return addresses in each sample. */
#define USUAL_DEPTH	64
#define USUAL_STACK	8192

/* ---- arguments ------------------------------------------------------------------------------- */

int set_rate(struct parsing *p, const char *arg, struct error *e)
{
	if (!strcmp(arg, "max"))
		return fail_usage(e, p->o, "-F max is perf's limit of a system: -F takes a number, such as 10000");
	return parse_number(&p->o->record.sample.rate, arg, MAX_RATE, "samples per second", p->o, e);
}

int set_max_stack(struct parsing *p, const char *arg, struct error *e)
{
	return parse_number(&p->o->record.max_stack, arg, VPERFCTR_CHAIN_MAX, "return addresses", p->o, e);
}

/* Return: the number of bytes in a text such as ",8192", or 0. */
static unsigned int parse_stack(const char *text)
{
	unsigned long n;
	char *end;

	if (text[0] != ',' || !isdigit((unsigned char)text[1]))
		return 0;
	errno = 0;
	n = strtoul(text + 1, &end, 10);
	return errno || *end || n > VPERFCTR_STACK_MAX || n % 8 ? 0 : (unsigned int)n;
}

static bool is_way_of_chains(const char *word)
{
	return !strcmp(word, "fp") || !strcmp(word, "dwarf") || !strcmp(word, "lbr") ||
	       !strncmp(word, "dwarf,", 6);
}

/*
 * -g, -g fp, -gfp: return addresses in the frames of user mode; -g dwarf, -g dwarf,4096: what
 * they can be found from.
 */
int set_chains(struct parsing *p, const char *arg, struct error *e)
{
	const char *how = arg, *next = p->argv[p->next];
	struct sample_spec *sample = &p->o->record.sample;

	if (!how && next && is_way_of_chains(next)) {
		how = next;
		p->next++;
	}
	sample->depth = sample->stack = 0;
	if (!how || !strcmp(how, "fp"))
		sample->depth = USUAL_DEPTH;
	else if (!strcmp(how, "dwarf"))
		sample->stack = USUAL_STACK;
	else if (strncmp(how, "dwarf,", 6))
		return fail_with(e, "call chains are those of frame pointers (-g fp) or of stacks (-g dwarf), not '%.40s'",
				 how);
	else
		sample->stack = parse_stack(how + 5);
	if (!sample->depth && !sample->stack)
		return fail_with(e, "'%.40s' is not the size of a stack: it is a multiple of 8, from 8 to %u",
				 how + 6, VPERFCTR_STACK_MAX);
	return 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Add EVENT[=PERIOD],... with the period of -c where none is said. */
static int add_events(struct options *o, const char *spec, struct error *e)
{
	char *copy = event_spec_plain(spec, e), *rest = copy, *one, *text = NULL;
	int err = copy ? 0 : -1;

	while (!err && (one = strsep(&rest, ","))) {
		const char *period = o->record.period && !strchr(one, '=') ? o->record.period : NULL;

		o->record.period_used |= !!period;
		if (asprintf(&text, "%s%s%s", one, period ? "=" : "", period ? period : "") < 0)
			err = fail_with(e, "out of memory");
		if (!err)
			err = sample_parse(&o->record.sample, text, e);
		free(text);
		text = NULL;
	}
	free(copy);
	return err;
}

static int choose_events(struct options *o, struct error *e)
{
	unsigned int i;

	if (o->record.period && !o->counting.events.nr && !o->record.sample.nr)
		o->counting.events.spec[o->counting.events.nr++] = "cycles";
	for (i = 0; i < o->counting.events.nr; i++)
		if (add_events(o, o->counting.events.spec[i], e))
			return -1;
	if (o->record.period && !o->record.period_used)
		return fail_usage(e, o, "-c is for events without a period, and each of these has one");
	return 0;
}

static bool has_period(const struct sample_spec *spec)
{
	unsigned int i;

	for (i = 0; i < spec->nr; i++)
		if (spec->event[i].period)
			return true;
	return false;
}

/* ---- the command ------------------------------------------------------------------------------ */

static int check_chains(const struct options *o, struct error *e)
{
	if (!o->record.max_stack || o->record.sample.depth)
		return 0;
	return fail_usage(e, o, o->record.sample.stack ?
			  "--max-stack is for -g fp: -g dwarf,SIZE limits the stack" :
			  "--max-stack is for -g");
}

/* Where the samples go: perfex.data, or standard output for "-". */
static int choose_file(struct options *o, struct error *e)
{
	if (!o->show.file) {
		o->show.file = "perfex.data";
		o->show.keep_old = true;
	} else if (!strcmp(o->show.file, "-") && isatty(STDOUT_FILENO)) {
		return fail_usage(e, o, "samples are no text for a terminal: -o FILE writes them to a file");
	}
	return 0;
}

int finish_samples(struct options *o, struct error *e)
{
	o->show.samples = true;
	if (check_chains(o, e) || choose_events(o, e))
		return -1;
	if (o->record.sample.depth && o->record.max_stack)
		o->record.sample.depth = o->record.max_stack;
	if (o->record.sample.rate && o->record.period)
		return fail_usage(e, o, "either -F or -c says when samples are taken");
	if (o->record.sample.rate && has_period(&o->record.sample))
		return fail_usage(e, o, "either -F or EVENT=PERIOD says when samples are taken");
	return 0;
}

static int finish_record(struct options *o, struct error *e)
{
	return choose_file(o, e) || finish_samples(o, e) || check_targets(o, e) ? -1 : 0;
}

static int run_record(const struct options *o, struct output *output, FILE *out, struct error *e)
{
	(void)out;
	stdout_reserve(output);
	return sample(&o->counting, &o->record.sample, &o->show, output, e);
}

static const struct option_entry record_options[] = {
	{ 'e', "event", "EVENT,...", "sample by these events; EVENT=PERIOD takes a sample after each PERIOD of them (instructions:u=100k, cycles=2M, task-clock=1ms)",
	  set_spec, 0 },
	{ 'c', "count", "PERIOD", "the period of events that have none of their own", OPTION_TEXT(record.period) },
	{ 'F', "freq", "N", "adapt the periods: a thread has about N samples per second", set_rate, 0 },
	{ 'g', NULL, NULL, "also write the calls that led there, by frame pointers", set_chains, 0 },
	{ 0, "call-graph", "[HOW]", "HOW is fp, as -g, or dwarf[,SIZE]: by SIZE bytes of the stack (8192), for programs without frame pointers",
	  set_chains, 0 },
	{ 0, "max-stack", "N", "with -g, write at most N calls of each sample (64)", set_max_stack, 0 },
	{ 'o', "output", "FILE", "write to FILE, and not to perfex.data, whose old file is kept as perfex.data.old; - is standard output",
	  OPTION_TEXT(show.file) },
	{ 0, "backend", "HOW", "sample by the vperfctr module or by perf_event: module or perf; auto: by perf_event where the module cannot",
	  set_backend, 0 },
	{ 'q', "quiet", NULL, "print no line about the samples", OPTION_FLAG(show.quiet) },
	{ 'v', "verbose", NULL, "also print each event's counter and its control", OPTION_FLAG(show.verbose) },
	{ 'i', NULL, NULL, NULL, OPTION_FLAG(counting.no_inherit) },
	/* Samples are always so. */
	{ 'B', "no-buildid", NULL, NULL, set_nothing, 0 },
	{ 'N', "no-buildid-cache", NULL, NULL, set_nothing, 0 },
	{ 'P', "period", NULL, NULL, set_nothing, 0 },
	{ 'T', "timestamp", NULL, NULL, set_nothing, 0 },
	{ 0, "sample-cpu", NULL, NULL, set_nothing, 0 },
	{ 0, "sample-identifier", NULL, NULL, set_nothing, 0 },
	{ 0, "group", NULL, NULL, set_nothing, 0 },
	{ 0, "no-bpf-event", NULL, NULL, set_nothing, 0 },
	OPTIONS_END
};

const struct command command_record = {
	.name = "record",
	.usage = "[OPTION]... [--] PROGRAM [ARGUMENT]...\n"
		"[OPTION]... -p PID | -t TID | -a | -C LIST [PROGRAM...]",
	.summary = "take samples, for perfex report",
	.text = "Write to a file where threads or CPUs are after each PERIOD of events: PROGRAM with all that it starts, or processes or CPUs until they end, Ctrl-C, the end of the time or of PROGRAM.",
	.tables = { record_options, target_options, common_options },
	.finish = finish_record, .run = run_record, .counts = true,
};
