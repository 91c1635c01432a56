// SPDX-License-Identifier: GPL-2.0
/* perfex --report: print tables and trees of the samples in a file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "annotate.h"
#include "browse.h"
#include "debug-files.h"
#include "output.h"
#include "packages.h"
#include "report.h"
#include "symbols.h"
#include "tree.h"
#include "work.h"

#define SHOWN		25	/* rows of a table without -v */
#define SHOWN_SHARE	0.005	/* of a tree's nodes without -v */

/*
 * A path can have thousands of functions, and a name any length: spaces before others end here, and
 * deeper functions have their depth before their names.
 */
#define MAX_INDENTED	200	/* depth of a tree */
#define MAX_WIDTH	200	/* of a column */

static const struct {
	const char *name;
	int (*fn)(FILE *f, struct profile *p, const struct reporting *o, struct error *e);
	bool times;		/* shows when samples were taken: the others need less memory */
	bool lines;		/* has the lines of the source */
} exports[] = {
	{ "svg", export_svg, false, false },
	{ "folded", export_folded, false, false },
	{ "pprof", export_pprof, false, true },
	{ "firefox", export_firefox, true, true },
	{ "script", export_script, true, false },
};

static bool shows_times(const char *export)
{
	size_t i;

	for (i = 0; export && i < ARRAY_SIZE(exports); i++)
		if (!strcmp(export, exports[i].name))
			return exports[i].times;
	return false;
}

/* True if a report or an export has lines of the source. */
static bool shows_lines(const struct reporting *r, bool json)
{
	struct report_keys keys;
	struct error e;
	size_t i;

	if (r->annotate && !r->export)
		return true;
	for (i = 0; r->export && i < ARRAY_SIZE(exports); i++)
		if (!strcmp(r->export, exports[i].name))
			return exports[i].lines;
	if (r->sort)
		return report_parse_keys(&keys, r->sort, &e) || report_has_key(&keys, KEY_LINE);
	return json || (!r->children && !r->callers && !r->callees);
}

/* True if the report is for a user at a terminal, who can open its rows. */
static bool is_interactive(const struct reporting *o)
{
	const struct reporting *r = o;

	return !r->stdio && !r->export && !r->annotate && !o->show.file && o->show.log_fd < 0 &&
	       o->show.style == STYLE_TEXT && !o->show.verbose && is_terminal(stdout) &&
	       isatty(STDIN_FILENO);
}

/*
 * Choose what is looked for: only what tables show, as it takes most of the time of a report.
 * The line of a function into which others are inlined is that of the call.
 */
static struct details find_details(const struct reporting *o)
{
	const bool lines = is_interactive(o) || shows_lines(o, o->show.style == STYLE_JSON);

	return (struct details){
		.inlined = lines || !o->no_inline || o->annotate, .lines = lines,
	};
}

int report_check(const struct reporting *r, struct error *e)
{
	struct report_keys keys;
	size_t i;

	if (r->sort && report_parse_keys(&keys, r->sort, e))
		return -1;
	for (i = 0; r->export && i < ARRAY_SIZE(exports); i++)
		if (!strcmp(r->export, exports[i].name))
			return 0;
	if (r->export && !strcmp(r->export, EXPORT_PERF_DATA))
		return 0;
	return r->export ? fail_with(e, "there is no export '%.80s': see perfex report --help", r->export) : 0;
}

/* ---- tables ---------------------------------------------------------------------------- */

#define BAR		24

static void print_bar(FILE *f, double share)
{
	static const char full[] = "########################";
	int len = (int)(share * BAR + 0.5);

	_Static_assert(sizeof(full) == BAR + 1, "a bar's length");
	fprintf(f, "%-*.*s  ", BAR, len, full);
}

static double percent(uint64_t part, uint64_t all)
{
	return 100 * (double)part / (double)(all ? all : 1);
}

/* The last column needs no spaces after it. */
static void print_labels(FILE *f, const struct row *row, const int *widths, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i + 1 < nr; i++)
		fprintf(f, "%-*s  ", widths[i], row->label[i]);
	fprintf(f, "%s\n", row->label[i]);
}

static void print_rows(FILE *f, const struct hash_table *t, const struct report_keys *keys,
		       uint64_t weight, const struct reporting *o)
{
	uint32_t i, nr = t->nr ? t->nr - 1 : 0, shown = o->show.verbose || nr < SHOWN ? nr : SHOWN;
	bool bars = isatty(fileno(f)), children = o->children;
	int widths[NR_KEYS] = { 0 };
	char buf[THOUSANDS_LEN];
	unsigned int k;

	shown = rows_above(t, shown, o->percent_limit / 100 * (double)weight);
	for (i = 1; i <= shown; i++)
		for (k = 0; k < keys->nr; k++)
			if (widths[k] < (int)strlen(row_of(t, i)->label[k]))
				widths[k] = (int)strlen(row_of(t, i)->label[k]);
	for (k = 0; k < keys->nr; k++)
		if (widths[k] > MAX_WIDTH)
			widths[k] = MAX_WIDTH;
	if (children)
		fprintf(f, "%8s  %8s  %12s\n", "all", "self", "samples");
	for (i = 1; i <= shown; i++) {
		const struct row *row = row_of(t, i);

		if (children)
			fprintf(f, "%7.2f%%  ", percent(row->all_weight, weight));
		fprintf(f, "%7.2f%%  %12s  ", percent(row->weight, weight),
			thousands(buf, children ? row->all_samples : row->samples));
		if (bars)
			print_bar(f, (double)row->all_weight / (double)row_of(t, 1)->all_weight);
		print_labels(f, row, widths, keys->nr);
	}
	if (shown < nr)
		fprintf(f, "\n %u more %s.\n", nr - shown,
			o->percent_limit > 0 ? nr - shown == 1 ? "has a smaller share" : "have a smaller share" :
			nr - shown == 1 ? "is shown with -v" : "are shown with -v");
}

/* event: NULL: all of them. */
static void print_title(FILE *f, const struct profile *p, const char *title,
			const struct profile_event *event)
{
	fprintf(f, "\n %s", title);
	if (event && p->nrevents > 1)
		fprintf(f, ", %s", event->name);
	fputs(":\n\n", f);
}

static int print_table(FILE *f, const struct profile *p, const char *sort, unsigned int event,
		       const char *title, const struct reporting *o, struct error *e)
{
	const struct profile_event *one = event < p->nrevents ? &p->events[event] : NULL;
	struct report_keys keys;
	struct hash_table t;
	uint64_t weight = 0;
	unsigned int i;
	int err;

	if (report_parse_keys(&keys, sort, e))
		return -1;
	for (i = 0; i < p->nrevents; i++)
		if (!one || one == &p->events[i])
			weight += p->events[i].weight;
	err = rows_make(p, &t, &keys, event, o->children, e);
	if (!err) {
		print_title(f, p, title, one);
		print_rows(f, &t, &keys, weight, o);
	}
	rows_free(&t);
	return err;
}

/* ---- trees ----------------------------------------------------------------------------- */

static void print_node(FILE *f, const struct profile *p, const struct tree *t, uint32_t number,
		       unsigned int depth, uint64_t weight, double least)
{
	const struct tree_node *node = node_of(t, number);
	char name[MAX_TREE_NAME], file[300], level[16] = "";
	uint32_t i;

	if ((double)node->weight < least * (double)weight)
		return;
	if (depth) {
		profile_file_label(p, node->file, file, sizeof(file));
		if (depth > MAX_INDENTED)
			snprintf(level, sizeof(level), "(%u) ", depth);
		fprintf(f, "%7.2f%%  %7.2f%%  %*s%s%s%s%s\n", percent(node->weight, weight),
			percent(node->self, weight), 2 * (int)(depth <= MAX_INDENTED ? depth - 1 : MAX_INDENTED), "", level,
			tree_name(p, node, name, sizeof(name)), node->name ? " " : "",
			node->name ? file : "");
	}
	for (i = 0; i < node->nr; i++)
		print_node(f, p, t, t->order[node->below + i], depth + 1, weight, least);
}

static int print_tree(FILE *f, struct profile *p, unsigned int event,
		      enum tree_direction direction, const struct reporting *o, struct error *e)
{
	const double limit = o->percent_limit / 100;
	struct tree t;
	int err;

	err = tree_make(&t, p, event, direction, false, e);
	if (!err) {
		print_title(f, p, direction == TREE_CALLERS ? "Functions, and below them their callers" :
			    "Call paths: functions, and below them what they called",
			    &p->events[event]);
		fprintf(f, "%8s  %8s\n", "all", "self");
		print_node(f, p, &t, 1, 0, p->events[event].weight,
			   limit > 0 ? limit : o->show.verbose ? 0 : SHOWN_SHARE);
	}
	tree_free(&t);
	return err;
}

/* ---- all of it ---------------------------------------------------------------------------- */

static void print_counts(FILE *f, const struct profile *p)
{
	char count[THOUSANDS_LEN], samples[THOUSANDS_LEN], period[THOUSANDS_LEN];
	unsigned int i;

	for (i = 0; i < p->nrevents; i++) {
		const struct profile_event *event = &p->events[i];

		if (p->complete)
			fprintf(f, "%20s  %s%s", thousands(count, event->count),
				profile_unit(event), event->name);
		else if (p->nrevents > 1)
			fprintf(f, "%20s  %s", "?", event->name);
		else
			continue;
		if (p->nrevents > 1)
			fprintf(f, ", %s sample%s", thousands(samples, event->samples), plural(event->samples));
		if (p->nrevents > 1 && !p->rate)
			fprintf(f, ", one each %s", thousands(period, event->period));
		fputc('\n', f);
	}
}

static void print_head(FILE *f, const struct profile *p)
{
	char buf[THOUSANDS_LEN];

	fprintf(f, "\n Samples of '%s'", p->command ? p->command : "?");
	if (p->rate)
		fprintf(f, " (about %s per second of each %s)", thousands(buf, p->rate),
			p->cpus ? "CPU" : "thread");
	else if (p->nrevents == 1)
		fprintf(f, " (%sone each %s %s%s)", p->first_thread ? "its first thread, " : "",
			thousands(buf, p->events[0].period), profile_unit(&p->events[0]),
			p->events[0].name);
	fprintf(f, ":\n\n%20s  samples\n", thousands(buf, p->taken));
	if (p->dropped || !p->of_perf || !p->lost)
		fprintf(f, "%20s  %s\n", thousands(buf, p->dropped),
			p->rate ? "shortest periods more, for which samples stand" : "dropped");
	if (p->nrsystem)
		fprintf(f, "%20s  samples of the kernel's work, shown where it was called\n",
			thousands(buf, p->nrsystem));
	if (p->lost)
		fprintf(f, "%20s  %s\n", thousands(buf, p->lost), p->of_perf ?
			"samples are missing: lost, of virtual machines, or damaged" : "records of mappings and tasks lost");
	print_counts(f, p);
	if (!p->complete)
		fputs("\n The recording was cut off: perfex was killed, or is still recording.\n", f);
	else if (p->tsc_khz && p->tsc)
		fprintf(f, "%20.9f  seconds %s\n", (double)p->tsc / (p->tsc_khz * 1e3),
			p->cpus ? "counted" : "thread time");
}

/* Less may be chance: each thread has a part of a period that is over without a sample. */
#define MISSING_SHARE	0.1
#define MISSING_PERIODS	20

/*
 * Say if samples stand for less than was counted.  Threads and processes that are shorter than a
 * period have none where each began with a whole period.
 */
static void print_missing(FILE *f, const struct profile *p)
{
	unsigned int i;

	for (i = 0; p->complete && !p->rate && i < p->nrevents; i++) {
		const struct profile_event *event = &p->events[i];
		const double count = (double)event->count;
		/* Dropped ones may be in the weights already. */
		const double known = ((double)event->weight + (double)p->dropped) * (double)event->period;

		/* The time of the kernel is counted, and not sampled. */
		if ((event->time && strstr(event->name, ":u")) || count - known <= count * MISSING_SHARE ||
		    count - known <= (double)event->period * MISSING_PERIODS)
			continue;
		fprintf(f, "\n %.0f%% of %s have no samples: threads and processes that ended before their first one%s",
			100 * (count - known) / count, event->name, strcmp(p->cpu_name, "perf_event") ?
			".\n A shorter period shows them (-e EVENT=PERIOD), or a newer module (spread in perfex info).\n" :
			", or a timer that was late, as in a busy virtual machine.\n"
			" A shorter period (-c) shows such threads.\n");
	}
}

static int print_event(FILE *f, struct profile *p, unsigned int event, const struct reporting *o,
		       struct error *e)
{
	const struct reporting *r = o;
	int err = 0;

	if (r->sort)
		err = strstr(r->sort, "event") ? 0 : print_table(f, p, r->sort, event, r->sort, o, e);
	else if (r->children)
		err = print_table(f, p, "symbol", event, "Functions", o, e);
	else if (!r->callers && !r->callees)
		err = print_table(f, p, "symbol", event, "Functions", o, e) ||
		      print_table(f, p, "line", event, "Lines", o, e);
	if (!err && r->callees)
		err = print_tree(f, p, event, TREE_CALLEES, o, e);
	if (!err && r->callers)
		err = print_tree(f, p, event, TREE_CALLERS, o, e);
	return err ? -1 : 0;
}

#define MAX_ADVICE	MAX_PACKAGES	/* lines; how many more there are is said */

/* True if a hundredth of the samples or more are in this file's unknown functions. */
static bool names_are_missing(const struct profile *p, const uint64_t *weights, uint32_t file,
			      uint64_t all)
{
	return file > FILE_KERNEL && weights[file] && weights[file] >= all / 100 &&
	       !file_of(p, file)->pid && string_of(p, file_of(p, file)->path)[0] == '/';
}

#define INSTALL_DEBUGINFOD	"; or install libdebuginfod.so.1 (Debian: libdebuginfod1, Fedora: elfutils-debuginfod-client)"

/* The words after the advice to install a package. */
static const char *const debuginfod_advice[] = {
	[DEBUGINFOD_NOT_ASKED] = "; servers of DEBUGINFOD_URLS are asked only for files that are yours or root's and have a build ID",
	[DEBUGINFOD_WITHOUT_SERVERS] = "; or set DEBUGINFOD_URLS",
	[DEBUGINFOD_WITHOUT_LIBRARY] = INSTALL_DEBUGINFOD ", which asks the servers of DEBUGINFOD_URLS",
	[DEBUGINFOD_WITHOUT_BOTH] = INSTALL_DEBUGINFOD " and set DEBUGINFOD_URLS",
};

static enum debuginfod debuginfod_for_file(const struct profile *p, uint32_t file)
{
	if (module_no_answer(p->modules[file]))
		return DEBUGINFOD_WITHOUT_ANSWER;
	return debuginfod_for(module_work(p->modules[file])->owner, *p->stripped[file]);
}

/* label: the path, as the terminal may have it */
static void print_package(FILE *f, const char *before, const struct package *package,
			  const char *label, const struct profile *p, uint32_t file)
{
	const enum debuginfod debuginfod = debuginfod_for_file(p, file);
	const char *id = p->stripped[file];
	char advice[256];

	fprintf(f, "%s %s has no symbols (build ID %s)", before, label, *id ? id : "none");
	if (debuginfod == DEBUGINFOD_ASKED) {
		fputs(", and none are on the servers of DEBUGINFOD_URLS.\n", f);
		return;
	}
	fputs(": ", f);
	if (package->known) {
		package_advice(package, advice, sizeof(advice));
		fputs(advice, f);
	} else {
		fprintf(f, "'find-dbgsym-packages %s' names Debian's package", label);
	}
	if (debuginfod == DEBUGINFOD_WITHOUT_ANSWER)
		fprintf(f, "; the servers of DEBUGINFOD_URLS did not answer: %s.\n",
			strerror(module_no_answer(p->modules[file])));
	else
		fprintf(f, "%s.\n", debuginfod_advice[debuginfod]);
}

/* Find the packages of the first files without functions' names, unless servers have answered. */
static void find_packages(const struct profile *p, const uint64_t *weights, uint64_t all,
			  struct package *packages, const struct reporting *o)
{
	uint32_t i, nr = 0;

	for (i = 1; i < p->files.nr && nr < MAX_ADVICE; i++) {
		if (!names_are_missing(p, weights, i, all) || (p->modules[i] && !p->stripped[i]))
			continue;
		/* Packages of this machine have its own files. */
		if (p->modules[i] && !o->symfs && debuginfod_for_file(p, i) != DEBUGINFOD_ASKED)
			packages[nr].path = string_of(p, file_of(p, i)->path);
		nr++;
	}
	packages_find(packages, nr);
}

/* Say how to get the names that are missing. */
static void print_advice(FILE *f, const struct profile *p, const struct reporting *o)
{
	uint64_t *weights = calloc(p->files.nr + 1, sizeof(*weights)), all = 0;
	struct package packages[MAX_ADVICE] = { 0 };
	unsigned int lines = 0;
	char path[4096];
	uint32_t i;
	size_t n;

	for (n = 0; weights && n < p->nrsamples; n++) {
		const struct profile_location *location =
			location_of(p, stack_of(p, p->samples[n].stack)->location);

		all += p->samples[n].weight;
		if (!frame_of(p, p->frame_list[location->frame])->function)
			weights[location->file] += p->samples[n].weight;
	}
	if (weights)
		find_packages(p, weights, all, packages, o);
	for (i = 1; weights && i < p->files.nr; i++) {
		if (!names_are_missing(p, weights, i, all))
			continue;
		if (p->modules[i] && !p->stripped[i])
			continue;
		if (lines++ >= MAX_ADVICE)
			continue;
		snprintf(path, sizeof(path), "%s", string_of(p, file_of(p, i)->path));
		replace_controls(path);
		if (!p->modules[i])
			fprintf(f, "%s %s: %s, so its functions have no names%s.\n",
				lines > 1 ? "" : "\n", path, p->reasons[i] ? p->reasons[i] : "no memory",
				o->symfs || (p->reasons[i] && !strcmp(p->reasons[i], NO_ELF)) ? "" :
				why_no_path(string_of(p, file_of(p, i)->path)) ?
				" (--symfs=DIR finds a copy below DIR; perfex record -p and perfex report do while it runs)" :
				" (--symfs=DIR finds it in a directory or another root)");
		else
			print_package(f, lines > 1 ? "" : "\n", &packages[lines - 1], path, p, i);
	}
	for (i = 1; weights && i < p->files.nr; i++) {
		if (!p->modules[i] || !p->reasons[i] || lines++ >= MAX_ADVICE)
			continue;
		snprintf(path, sizeof(path), "%s", string_of(p, file_of(p, i)->path));
		replace_controls(path);
		fprintf(f, "%s %s: %s, and is left out.\n", lines > 1 ? "" : "\n", path, p->reasons[i]);
	}
	free(weights);
	for (i = 1; i < p->jits.nr; i++) {
		const struct profile_jit *jit = (struct profile_jit *)p->jits.items + i;

		if (jit->why && lines++ < MAX_ADVICE)
			fprintf(f, "%s /tmp/perf-%" PRIu32 ".map is not read, so code of this process has no names: %s.\n",
				lines > 1 ? "" : "\n", jit->pid, jit->why);
	}
	for (i = 0; i < p->nrdumps; i++) {
		if (p->dumps[i].dump || lines++ >= MAX_ADVICE)
			continue;
		snprintf(path, sizeof(path), "%s", string_of(p, file_of(p, p->dumps[i].file)->path));
		replace_controls(path);
		fprintf(f, "%s %s is not read, so code that this JIT made may have no names: %s.\n",
			lines > 1 ? "" : "\n", path, p->dumps[i].reason);
	}
	if (lines > MAX_ADVICE)
		fprintf(f, " %u more such %s not printed.\n", lines - MAX_ADVICE,
			lines - MAX_ADVICE == 1 ? "line is" : "lines are");
}

void report_missing(const struct profile *p, const struct reporting *o)
{
	char path[4096];
	uint32_t i;

	for (i = 1; !o->show.quiet && i < p->missing.nr; i++) {
		const struct missing_file *file = (struct missing_file *)p->missing.items + i;

		if (!file->why)
			continue;
		snprintf(path, sizeof(path), "%s", file->path);
		replace_controls(path);
		fprintf(stderr, "perfex: %s: %s, so callers of its functions are not found%s\n", path, file->why,
			o->symfs ? "" : " (--symfs=DIR finds it in a directory or another root)");
	}
}

void report_cut_off(bool complete, const char *name, const struct reporting *o)
{
	if (!complete && !o->show.quiet)
		fprintf(stderr, "perfex: the recording of '%.200s' was cut off: perfex was killed, or is still recording\n",
			name);
}

/* True if calls are asked for, or are what such a picture shows. */
static bool shows_calls(const struct reporting *o)
{
	return o->children || o->callers || o->callees || (o->export && !strcmp(o->export, "svg"));
}

static bool has_calls(const struct profile *p)
{
	size_t i;

	for (i = 0; !p->chains && i < p->nrsamples; i++)
		if (stack_of(p, p->samples[i].stack)->parent)
			return true;
	return p->chains;
}

/* Say why there are no calls in what is printed. */
static void report_no_chains(FILE *f, const char *before, const struct profile *p,
			     const struct reporting *o)
{
	if (!o->show.quiet && shows_calls(o) && p->nrsamples && !has_calls(p))
		fprintf(f, "%s the recording has no chains of calls: perfex record -g writes them, or --call-graph=dwarf for programs without frame pointers\n",
			before);
}

static int print_text(FILE *f, struct profile *p, const struct reporting *o, struct error *e)
{
	const struct reporting *r = o;
	unsigned int event;
	int err = 0;

	print_head(f, p);
	if (!o->comm && !o->targets.nr)
		print_missing(f, p);
	report_no_chains(f, "\n", p, o);
	/* The event is a column, and not the table's title. */
	if (r->sort && strstr(r->sort, "event") && p->nrsamples)
		err = print_table(f, p, r->sort, p->nrevents, r->sort, o, e);
	for (event = 0; !err && event < p->nrevents; event++)
		if (p->events[event].samples)
			err = print_event(f, p, event, o, e);
	if (!err && !o->show.quiet)
		print_advice(f, p, o);
	fputc('\n', f);
	return err;
}

/* All formats but script's and pprof's have the first event only.  Their readers refuse a file of none. */
static int check_export(const struct profile *p, const struct reporting *o, struct error *e)
{
	const bool all = !strcmp(o->export, "pprof"), several = all || !strcmp(o->export, "script");
	size_t i;

	/* A file may have one name several times. */
	for (i = 1; !several && o->events.nr && i < p->nrevents; i++)
		if (strcmp(p->events[i].name, p->events[0].name))
			return fail_with(e, "--export=%s has one event, and -e names '%.100s' and '%.100s'",
					 o->export, p->events[0].name, p->events[i].name);
	for (i = 0; i < p->nrsamples; i++)
		if (all || !p->samples[i].event)
			return 0;
	if (p->nrsamples)
		return fail_with(e, "'%.200s' has no samples of its first event, %s, and --export=%s has no others",
				 p->name, p->events[0].name, o->export);
	return fail_with(e, "'%.200s' has no samples%s, so there is nothing to export", p->name,
			 o->comm || o->targets.nr ? " of what was chosen" : "");
}

static int print_profile(FILE *f, struct profile *p, const struct reporting *o, struct error *e)
{
	const char *why;
	int shown;
	size_t i;

	if (o->annotate && !o->export)
		return o->show.style == STYLE_JSON ? annotate_json(f, p, o, e) : annotate_text(f, p, o, e);
	if (o->export && check_export(p, o, e))
		return -1;
	/* The counts that are printed are those of all. */
	if (!p->nrsamples && (o->comm || o->targets.nr))
		return fail_with(e, "'%.200s' has no samples of what was chosen", p->name);
	work_prints();
	if (o->export) {
		report_missing(p, o);
		report_cut_off(p->complete, p->name, o);
	}
	if (o->export || o->show.style == STYLE_JSON)
		report_no_chains(stderr, "perfex:", p, o);
	for (i = 0; o->export && i < ARRAY_SIZE(exports); i++)
		if (!strcmp(o->export, exports[i].name))
			return exports[i].fn(f, p, o, e);
	if (o->show.style == STYLE_JSON)
		return report_json(f, p, o, e);
	if (is_interactive(o) && p->nrsamples) {
		shown = browse(p, o, &why, e);
		if (shown <= 0)
			return shown;
		if (!o->show.quiet)
			fprintf(stderr, "perfex: this report is text, as %s; --stdio says so, too\n", why);
	}
	return print_text(f, p, o, e);
}

int report_here(FILE *out, const struct reporting *o, struct error *e)
{
	const char *export = o->export;
	struct details details;
	struct profile p;
	int err;

	modules_use_directory(o->symfs);
	if (export && !strcmp(export, EXPORT_PERF_DATA))
		return export_perf_data(out, o, e);
	details = find_details(o);
	err = profile_read(&p, o->file, shows_times(export), &details, e);
	if (!err)
		err = profile_check_events(&p, o, e);
	if (!err)
		err = profile_filter(&p, o, e);
	if (!err && o->no_inline)
		profile_join_inlined(&p);
	if (!err)
		err = print_profile(out, &p, o, e);
	profile_free(&p);
	return err;
}

struct request {
	FILE *out;
	const struct reporting *o;
};

/* The child writes all that it prints. */
static int report_in_child(void *arg, struct error *e)
{
	const struct request *r = arg;
	const int err = report_here(r->out, r->o, e);

	return err ? err : output_flush(r->out, &r->o->show, e);
}

int report_samples(FILE *out, const struct reporting *o, struct error *e)
{
	struct request r = { out, o };
	struct stat st;

	/* A pipe can be read only once. */
	return work_in_child(report_in_child, &r, !stat(o->file, &st) && S_ISREG(st.st_mode), e);
}
