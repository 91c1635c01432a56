// SPDX-License-Identifier: GPL-2.0
/* perfex report, annotate and script: show the samples in a file. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "option-table.h"

/* ---- arguments ------------------------------------------------------------------------------- */

int set_annotate(struct parsing *p, const char *arg, struct error *e)
{
	if (!*arg)
		return fail_usage(e, p->o, "--annotate needs the name of a function");
	p->o->reporting.annotate = arg;
	return 0;
}

/* perf's names of keys: NULL: always a column. */
static const struct {
	const char *name, *key;
} perf_keys[] = {
	{ "sym", "symbol" }, { "srcline", "line" }, { "overhead", NULL }, { "sample", NULL },
};

/* Add a key to the list in `to`, unless it is one of the columns that are always there. */
static void add_key(char *to, const char *key, size_t length)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(perf_keys); i++) {
		if (strlen(perf_keys[i].name) != length || strncmp(perf_keys[i].name, key, length))
			continue;
		key = perf_keys[i].key;
		length = key ? strlen(key) : 0;
		break;
	}
	if (key)
		sprintf(to + strlen(to), "%s%.*s", *to ? "," : "", (int)length, key);
}

/* The keys in perfex's words. */
int set_sort(struct parsing *p, const char *arg, struct error *e)
{
	size_t length, room = 3 * strlen(arg) + 16;
	char *keys = p->o->reporting.keys;

	if (room > sizeof(p->o->reporting.keys))
		return fail_usage(e, p->o, "there are too many keys in --sort");
	*keys = '\0';
	for (;; arg += length + 1) {
		length = strcspn(arg, ",");
		/* A key that is missing is for the one who reads the list. */
		if (!length && *keys)
			strcat(keys, ",");
		add_key(keys, arg, length);
		if (!arg[length])
			break;
	}
	p->o->reporting.sort = *keys || !*arg ? keys : NULL;
	return 0;
}

static int set_no_children(struct parsing *p, const char *arg, struct error *e)
{
	(void)arg;
	(void)e;
	p->o->reporting.children = false;
	return 0;
}

static int set_no_graph(struct parsing *p, const char *arg, struct error *e)
{
	(void)arg;
	(void)e;
	p->o->reporting.callers = p->o->reporting.callees = false;
	return 0;
}

static int set_inline(struct parsing *p, const char *arg, struct error *e)
{
	(void)arg;
	(void)e;
	p->o->reporting.no_inline = false;
	return 0;
}

static int set_percent_limit(struct parsing *p, const char *arg, struct error *e)
{
	char *end;
	double percent = strtod(arg, &end);

	if (!isdigit((unsigned char)*arg) || (*end && strcmp(end, "%")) || percent > 100)
		return fail_with(e, "'%.40s' is not a number of percent: see %s", arg, help_of(p->o));
	p->o->reporting.percent_limit = percent;
	return 0;
}

enum order { ORDER_NONE, ORDER_CALLER, ORDER_CALLEE };

/* Words of perf's -g that say no more than a report here does. */
static const char *const graph_words[] = { "graph", "flat", "fractal", "function", "percent" };

/* True if a word after -g, or the first one of a list, is its argument. */
static bool is_graph_word(const char *word)
{
	const size_t length = strcspn(word, ",");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(graph_words); i++)
		if (strlen(graph_words[i]) == length && !strncmp(graph_words[i], word, length))
			return true;
	return (length == 6 && (!strncmp(word, "caller", 6) || !strncmp(word, "callee", 6) ||
				!strncmp(word, "folded", 6))) || !strcmp(word, "none");
}

static int set_graph_word(struct parsing *p, const char *word, enum order *order, struct error *e)
{
	size_t i;

	if (!strcmp(word, "caller") || !strcmp(word, "callee")) {
		*order = word[5] == 'r' ? ORDER_CALLER : ORDER_CALLEE;
		return 0;
	}
	if (isdigit((unsigned char)*word))
		return set_percent_limit(p, word, e);
	if (!strcmp(word, "folded"))
		return fail_usage(e, p->o, "--export=folded prints folded paths of calls");
	for (i = 0; i < ARRAY_SIZE(graph_words); i++)
		if (!strcmp(word, graph_words[i]))
			return 0;
	if (!strcmp(word, "address") || !strcmp(word, "srcline"))
		return fail_with(e, "-g prints the calls of functions, and not of '%s': --sort=symbol,line shows lines", word);
	if (!strcmp(word, "count") || !strcmp(word, "period"))
		return fail_with(e, "-g prints shares, and no '%s': --export=folded prints the samples of each path", word);
	return fail_with(e, "-g prints the tree of caller or callee, not '%.40s': see %s", word,
			 help_of(p->o));
}

/* perf's caller is a tree from main() to what it called; callee one from functions to callers. */
static int set_graph(struct parsing *p, const char *arg, struct error *e)
{
	const char *next = p->argv[p->next];
	enum order order = ORDER_NONE;
	char words[64], *rest = words, *word;

	if (!arg && next && is_graph_word(next)) {
		arg = next;
		p->next++;
	}
	if (arg && !strcmp(arg, "none"))
		return set_no_graph(p, NULL, e);
	snprintf(words, sizeof(words), "%s", arg ? arg : "");
	while (arg && (word = strsep(&rest, ",")))
		if (set_graph_word(p, word, &order, e))
			return -1;
	p->o->reporting.callees = order == ORDER_CALLER;
	p->o->reporting.callers = order != ORDER_CALLER;
	return 0;
}

static int set_inverted(struct parsing *p, const char *arg, struct error *e)
{
	(void)arg;
	(void)e;
	p->o->reporting.callees = true;
	return 0;
}

static int set_other_view(struct parsing *p, const char *arg, struct error *e)
{
	(void)arg;
	return fail_usage(e, p->o, "there is no window; --export=firefox or pprof writes a file for these programs");
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Which samples, and where what belongs to them is found. */
static const struct option_entry input_options[] = {
	{ 'i', "input", "FILE", "read FILE, and not perfex.data; - is standard input", OPTION_TEXT(report) },
	{ 0, "report", "FILE", NULL, OPTION_TEXT(report) },
	{ 'e', "event", "EVENT,...", "samples of these events", set_spec, 0 },
	{ 0, "comm", "NAME,...", "of threads of this name", OPTION_TEXT(reporting.comm) },
	{ 0, "comms", "NAME,...", NULL, OPTION_TEXT(reporting.comm) },
	{ 'p', "pid", "PID,...", "of these processes", set_ids, true },
	{ 't', "tid", "TID,...", "of these threads", set_ids, false },
	{ 0, "symfs", "DIR", "find the programs and libraries below DIR", OPTION_TEXT(reporting.symfs) },
	{ 'f', "force", NULL, NULL, set_nothing, 0 },
	{ 'q', "quiet", NULL, "print no advice", OPTION_FLAG(show.quiet) },
	OPTIONS_END
};

static const struct option_entry report_options[] = {
	{ 's', "sort", "KEY,...", "by comm, pid, tid, cpu, dso, symbol (or sym), line (or srcline) and event",
	  set_sort, 0 },
	{ 0, "children", NULL, "functions together with those that they have called",
	  OPTION_FLAG(reporting.children) },
	{ 0, "no-children", NULL, "functions alone, as without it", set_no_children, 0 },
	{ 'g', "call-graph", "[ORDER]", "a tree of calls: callee, as without ORDER: below functions their callers; caller: below functions what they called",
	  set_graph, 0 },
	{ 'G', "inverted", NULL, "as -g caller", set_inverted, 0 },
	{ 0, "no-call-graph", NULL, NULL, set_no_graph, 0 },
	{ 0, "callers", NULL, NULL, OPTION_FLAG(reporting.callers) },
	{ 0, "callees", NULL, NULL, OPTION_FLAG(reporting.callees) },
	{ 0, "percent-limit", "PERCENT", "leave out what has a smaller share", set_percent_limit, 0 },
	{ 0, "no-inline", NULL, "count inlined code as that of the function that it is in",
	  OPTION_FLAG(reporting.no_inline) },
	{ 0, "inline", NULL, NULL, set_inline, 0 },
	{ 0, "export", "FORMAT", "print samples for other programs: svg (a flame graph), folded, pprof, firefox, perf (perf.data)",
	  OPTION_TEXT(reporting.export) },
	{ 'v', "verbose", NULL, "print all rows", OPTION_FLAG(show.verbose) },
	{ 0, "annotate", "FUNCTION", NULL, set_annotate, 0 },
	{ 0, "stdio", NULL, "print text, as where standard output is no terminal",
	  OPTION_FLAG(reporting.stdio) },
	{ 0, "tui", NULL, NULL, set_nothing, 0 },
	{ 0, "gtk", NULL, NULL, set_other_view, 0 },
	{ 'n', "show-nr-samples", NULL, NULL, set_nothing, 0 },
	{ 0, "skip-empty", NULL, NULL, set_nothing, 0 },
	OPTIONS_END
};

/* ---- commands -------------------------------------------------------------------------------- */

struct reporting reporting_of(const struct options *o)
{
	struct reporting r = o->reporting;

	r.file = o->report;
	r.events = o->counting.events;
	r.targets = o->counting.targets;
	r.show = o->show;
	return r;
}

static void choose_input(struct options *o)
{
	if (!o->report)
		o->report = "perfex.data";
	else if (!strcmp(o->report, "-"))
		o->report = "/dev/stdin";
}

/* word: an argument that no option takes; it may be a file */
static int fail_word(const struct options *o, const char *word, struct error *e)
{
	if (!access(word, R_OK))
		return fail_with(e, "perfex %s runs no command (-i %.200s reads this file): see %s",
				 o->chosen->name, word, help_of(o));
	return fail_with(e, "perfex %s runs no command, and has no argument '%.200s': -i reads a file, and perfex annotate shows one function",
			 o->chosen->name, word);
}

static int finish_report(struct options *o, struct error *e)
{
	const struct reporting *r = &o->reporting;
	const bool shown = r->sort || r->children || r->callers || r->callees;

	choose_input(o);
	if (o->files.nr)
		return fail_word(o, o->files.name[0], e);
	if (r->export && (shown || o->show.style != STYLE_TEXT))
		return fail_usage(e, o, "--export cannot be combined with -j, --sort, --children or -g");
	if (r->annotate && (shown || r->export))
		return fail_usage(e, o, "--annotate cannot be combined with --sort, --children, -g or --export");
	if (report_check(r, e))
		return -1;
	if ((r->export || r->annotate) && r->percent_limit > 0)
		return fail_usage(e, o, "--percent-limit is for reports: exports and --annotate have all samples");
	return 0;
}

static int run_report(const struct options *o, struct output *output, FILE *out, struct error *e)
{
	const struct reporting r = reporting_of(o);

	(void)output;
	return report_samples(out, &r, e);
}

const struct command command_report = {
	.name = "report", .usage = "[OPTION]...", .words = WORDS_ANY,
	.summary = "print the hottest functions and lines of samples",
	.tables = { report_options, input_options, output_options, common_options },
	.finish = finish_report, .run = run_report,
};

/* ---- perfex annotate ------------------------------------------------------------------------- */

static int set_other_terminal(struct parsing *p, const char *arg, struct error *e)
{
	(void)arg;
	return fail_usage(e, p->o, "perfex annotate prints text (--stdio); perfex report opens functions on a terminal");
}

static const struct option_entry annotate_options[] = {
	{ 'v', "verbose", NULL, "also print instructions far from samples", OPTION_FLAG(show.verbose) },
	{ 's', "symbol", "FUNCTION", NULL, set_annotate, 0 },
	{ 0, "stdio", NULL, NULL, set_nothing, 0 },
	{ 0, "stdio2", NULL, NULL, set_nothing, 0 },
	{ 'n', "show-nr-samples", NULL, NULL, set_nothing, 0 },
	{ 0, "full-source-path", NULL, NULL, set_nothing, 0 },
	{ 0, "tui", NULL, NULL, set_other_terminal, 0 },
	{ 0, "gtk", NULL, NULL, set_other_view, 0 },
	OPTIONS_END
};

static int finish_annotate(struct options *o, struct error *e)
{
	choose_input(o);
	if (!o->reporting.annotate && o->files.nr == 1)
		o->reporting.annotate = o->files.name[0];
	else if (o->files.nr)
		return fail_usage(e, o, "perfex annotate shows one function");
	if (!o->reporting.annotate)
		return fail_usage(e, o, "perfex annotate needs the name of a function, which perfex report shows");
	/* The word is no file to read. */
	o->files.nr = 0;
	return report_check(&o->reporting, e);
}

const struct command command_annotate = {
	.name = "annotate", .usage = "[OPTION]... FUNCTION[@LIBRARY]", .words = WORDS_ANY,
	.summary = "print the lines and instructions of a function, with samples",
	.tables = { annotate_options, input_options, output_options, common_options },
	.finish = finish_annotate, .run = run_report,
};

/* ---- perfex script ---------------------------------------------------------------------------- */

static const struct option_entry script_options[] = {
	{ 'v', "verbose", NULL, NULL, set_nothing, 0 },
	{ 0, "no-inline", NULL, "print inlined code as that of the function that it is in",
	  OPTION_FLAG(reporting.no_inline) },
	{ 0, "inline", NULL, NULL, set_inline, 0 },
	{ 'o', "output", "FILE", "print to FILE", OPTION_TEXT(show.file) },
	OPTIONS_END
};

/* The first word that perf script takes. */
static int fail_script(const struct options *o, const char *word, struct error *e)
{
	if (!strcmp(word, "flamegraph"))
		return fail_usage(e, o, "perfex report --export=svg draws a flame graph");
	if (!access(word, R_OK))
		return fail_word(o, word, e);
	return fail_with(e, "'%.200s' is no argument of perfex script: perf's scripts need perf, and others read what perfex script prints",
			 word);
}

static int finish_script(struct options *o, struct error *e)
{
	choose_input(o);
	if (o->files.nr)
		return fail_script(o, o->files.name[0], e);
	o->reporting.export = "script";
	return 0;
}

const struct command command_script = {
	.name = "script", .usage = "[OPTION]...", .words = WORDS_ANY,
	.summary = "print each sample with its calls, as perf script does",
	.tables = { input_options, script_options, common_options },
	.finish = finish_script, .run = run_report,
};
