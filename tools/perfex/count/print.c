// SPDX-License-Identifier: GPL-2.0
/* The table for people, and fields for programs; the same in every locale. */
#include <inttypes.h>

#include "metrics.h"
#include "refused.h"

/* ---- ratios of two counts --------------------------------------------------------- */

/* A ratio of two counts, or of a count and a time. */
struct remark {
	double value;
	const char *format;
	const char *unit;	/* as perf calls it; NULL: there is none */
};

static const struct ratio {
	uint32_t of, by;	/* VPERFCTR_EVENT_* */
	double scale;
	const char *format;
	const char *unit;
} ratios[] = {
	{ VPERFCTR_EVENT_INSTRUCTIONS, VPERFCTR_EVENT_CYCLES, 1, "%.2f per cycle",
	  "insn per cycle" },
	{ VPERFCTR_EVENT_BRANCH_MISSES, VPERFCTR_EVENT_BRANCHES, 100, "%.2f%% of branches",
	  "of all branches" },
	{ VPERFCTR_EVENT_CACHE_MISSES, VPERFCTR_EVENT_CACHE_REFS, 100, "%.2f%% of references",
	  "of all cache refs" },
};

/* Only counts of the same modes, and of the same run, have a meaningful ratio. */
static int find_same_mode(const struct events *events, uint32_t arch, unsigned int like)
{
	unsigned int i;

	for (i = 0; i < events->nr; i++) {
		if (events->ev[i].arch == arch && events->ev[i].modes == events->ev[like].modes &&
		    events->group[i] == events->group[like])
			return (int)i;
	}
	return -1;
}

/* Return: the ratio that has count i as its first part, and count *by as the second; or NULL. */
static const struct ratio *ratio_of(const struct events *events, unsigned int i, unsigned int *by)
{
	size_t k;
	int other;

	for (k = 0; k < ARRAY_SIZE(ratios); k++) {
		if (events->ev[i].arch != ratios[k].of)
			continue;
		other = find_same_mode(events, ratios[k].by, i);
		*by = (unsigned int)other;
		return other < 0 ? NULL : &ratios[k];
	}
	return NULL;
}

static struct remark find_ratio(const struct events *events, const struct sums *sums, unsigned int i)
{
	const struct ratio *ratio;
	unsigned int by;

	ratio = ratio_of(events, i, &by);
	if (!ratio || !event_count(events, sums, by))
		return (struct remark){ 0 };
	return (struct remark){
		ratio->scale * (double)event_count(events, sums, i) /
		(double)event_count(events, sums, by),
		ratio->format, ratio->unit,
	};
}

static bool is_clock(const struct vperfctr_event *event)
{
	return event->soft == VPERFCTR_SOFT_TASK_CLOCK;
}

/* ns: the time in which it was counted: that of threads, or of all CPUs together */
static struct remark find_rate(const struct vperfctr_event *event, uint64_t count, double ns)
{
	static const struct { double least; const char *format, *unit; } scales[] = {
		{ 1e9, "%.3f G/sec", "G/sec" }, { 1e6, "%.3f M/sec", "M/sec" },
		{ 1e3, "%.3f K/sec", "K/sec" }, { 1, "%.3f /sec", "/sec" },
	};
	const double rate = (double)count / ns * 1e9;
	size_t i = 0;

	if (!event->soft && event->arch == VPERFCTR_EVENT_CYCLES)
		return (struct remark){ (double)count / ns, "%.3f GHz", "GHz" };
	while (i + 1 < ARRAY_SIZE(scales) && rate < scales[i].least)
		i++;
	return (struct remark){ rate / scales[i].least, scales[i].format, scales[i].unit };
}

/* As perf has it: a ratio, or else a rate.  elapsed: seconds; ns: as above.  0: not known. */
static struct remark find_remark(const struct events *events, const struct sums *sums,
				 double elapsed, double ns, unsigned int i)
{
	const struct vperfctr_event *event = &events->ev[i];
	const uint64_t count = event_count(events, sums, i);
	struct remark remark = { 0 };

	if (is_clock(event)) {
		if (elapsed > 0)
			remark = (struct remark){ (double)count / 1e9 / elapsed,
						  "%.3f CPUs utilized", "CPUs utilized" };
		return remark;
	}
	if (is_time(event))
		return remark;
	if (!event->soft)
		remark = find_ratio(events, sums, i);
	return !remark.unit && ns > 0 ? find_rate(event, count, ns) : remark;
}

static double ns_of(const struct printing *p, const struct sums *sums)
{
	return p->info->tsc_khz ? (double)sums->tsc * 1e6 / p->info->tsc_khz : 0;
}

/* The counts of several groups are of different runs, whose times are not known one by one. */
static double ns_of_rates(const struct printing *p, const struct sums *sums)
{
	return p->nrgroups > 1 ? 0 : ns_of(p, sums);
}

static void format_remark(char *buf, size_t size, const struct printing *p,
			  const struct sums *sums, double elapsed, unsigned int i)
{
	const struct remark remark = find_remark(p->events, sums, elapsed, ns_of_rates(p, sums), i);

	buf[0] = '\0';
	if (remark.unit)
		snprintf(buf, size, remark.format, remark.value);
}

/* ---- the table ----------------------------------------------------------------------- */

#define COUNT_WIDTH	20
#define NAME_WIDTH	20
#define CPU_WIDTH	12
#define THREAD_WIDTH	22	/* a name, and most ids */
#define TIME_WIDTH	16	/* of intervals */

/* Settings of all rows of one table. */
struct table {
	const struct printing *p;
	FILE *f;
	int name_width;
	const char *prefix;	/* of each row */
	const char *place;	/* what the row is for, after that */
	const struct series *series;	/* or NULL */
	const char *bold, *faint, *plain;	/* empty but on a terminal */
	int remark_width;	/* of the rows of events, where a column follows */
	bool part;		/* the times of a command are those of the whole */
};

/* True if a row is about a part. */
static bool has_places(const struct printing *p)
{
	return p->split || p->per_thread;
}

static int place_width(const struct printing *p)
{
	return p->per_thread ? THREAD_WIDTH : CPU_WIDTH;
}

/* deviation: in percent; negative: none. */
static void print_row(const struct table *t, const char *count, const char *name,
		      const char *remark, double deviation)
{
	bool more = *remark || deviation >= 0;

	fprintf(t->f, "%s%-*s%s%*s%s  %-*s", t->prefix, *t->place ? place_width(t->p) : 0, t->place,
		t->bold, COUNT_WIDTH, count, t->plain,
		more ? t->name_width : 0, name);
	fputs(t->faint, t->f);
	if (*remark && deviation >= 0)
		fprintf(t->f, "  # %-*s", t->remark_width, remark);
	else if (*remark)
		fprintf(t->f, "  # %s", remark);
	else if (deviation >= 0)
		fprintf(t->f, "%*s", t->remark_width ? t->remark_width + 4 : 2, "");
	if (deviation >= 0)
		fprintf(t->f, "  ( +- %5.2f%% )", deviation);
	fprintf(t->f, "%s\n", t->plain);
}

/* Return the deviation of the mean of several runs, in percent; negative: only one was counted. */
static double deviation_of(const struct series *series, const struct spread *spread)
{
	return series && spread->nr > 1 ? spread_percent(spread) : -1;
}

static const char *modes_text(const struct events *events)
{
	bool both = false, user = false, kernel = false;
	unsigned int i;

	if (events->user_by_default)
		return ", user mode only (kernel mode needs CAP_PERFMON)";
	for (i = 0; i < events->nr; i++) {
		const uint32_t m = events->ev[i].modes;

		if (events->ev[i].soft)
			continue;
		both |= m == (VPERFCTR_MODE_USER | VPERFCTR_MODE_KERNEL);
		user |= !(m & VPERFCTR_MODE_KERNEL);
		kernel |= !(m & VPERFCTR_MODE_USER);
	}
	if (both)
		return user || kernel ? ", user and kernel mode unless marked :u or :k" :
					", user and kernel mode";
	if (user && kernel)
		return ", user and kernel mode as marked";
	return user ? ", user mode" : kernel ? ", kernel mode" : "";
}

static const struct spread *event_spread(const struct events *events, const struct series *series,
					 unsigned int i)
{
	const struct vperfctr_event *event = &events->ev[i];

	return event->soft ? &series->soft[event_soft(event)] : &series->pmc[event_pmc(events, i)];
}

/* The thread time is in milliseconds, as perf has it. */
static const char *event_unit(const struct vperfctr_event *event)
{
	return is_clock(event) ? "msec" : is_time(event) ? "ns" : "";
}

#define LABEL_LEN	(sizeof(((struct vperfctr_event *)0)->name) + sizeof("msec "))

static char *event_label(char *buf, const struct vperfctr_event *event)
{
	const char *unit = event_unit(event);

	snprintf(buf, LABEL_LEN, "%s%s%s", unit, *unit ? " " : "", event->name);
	return buf;
}

/* Return: the refused event whose row is the next one above event i, or NULL. */
static const struct refused *next_refused(const struct printing *p, unsigned int *done,
					  unsigned int i)
{
	if (!p->refused || *done == p->refused->nr || p->refused->list[*done].before > i)
		return NULL;
	return &p->refused->list[(*done)++];
}

static void print_refused(const struct table *t, unsigned int *done, unsigned int i)
{
	const struct refused *r;

	while ((r = next_refused(t->p, done, i)))
		print_row(t, refusal_text(r), r->name, "", -1);
}

/* elapsed: see find_remark(). */
static void print_counts(const struct table *t, const struct sums *sums, double elapsed)
{
	const struct events *events = t->p->events;
	unsigned int i, done = 0;

	for (i = 0; i < events->nr; i++) {
		char name[LABEL_LEN], count[THOUSANDS_LEN], remark[64];
		uint64_t n;

		print_refused(t, &done, i);
		if (t->part && is_time_of_command(&events->ev[i]))
			continue;
		event_label(name, &events->ev[i]);
		if (sums) {
			n = event_count(events, sums, i);
			format_remark(remark, sizeof(remark), t->p, sums, elapsed, i);
			if (is_clock(&events->ev[i]))
				snprintf(count, sizeof(count), "%.6f", (double)n / 1e6);
			else
				thousands(count, n);
			print_row(t, count, name, remark, !t->series ? -1 :
				  deviation_of(t->series, event_spread(events, t->series, i)));
		} else {
			print_row(t, "<not counted>", name, "", -1);
		}
	}
	print_refused(t, &done, i);
}

/* The deviations of all rows of events are below each other. */
static int widest_remark(const struct printing *p, const struct sums *sums, double elapsed)
{
	int width = 0, length;
	char remark[64];
	unsigned int i;

	for (i = 0; i < p->events->nr; i++) {
		format_remark(remark, sizeof(remark), p, sums, elapsed, i);
		length = (int)strlen(remark);
		if (length > width)
			width = length;
	}
	return width;
}

static bool has_metrics(const struct printing *p)
{
	return p->metrics && p->metrics->nr;
}

/* Print the metrics of these sums, which are means if there are several runs. */
static void print_metrics(const struct table *t, const struct sums *sums)
{
	const struct metrics *metrics = t->p->metrics;
	unsigned int i;

	for (i = 0; metrics && sums && i < metrics->nr; i++) {
		const struct metric *m = &metrics->metric[i];
		char name[80], text[32] = "<no value>";
		double value;

		snprintf(name, sizeof(name), "%s%s", metric_name(m), m->modes);
		if (metric_value(m, t->p->events, sums, &value))
			snprintf(text, sizeof(text), "%.3f", value);
		print_row(t, text, name, metric_unit(m), -1);
	}
}

/* cpu_time: the thread time that there should be, or 0.  CPUs have no such time. */
static void print_thread_time(const struct table *t, const struct sums *sums, double cpu_time)
{
	const struct printing *p = t->p;
	double thread, deviation = deviation_of(t->series, t->series ? &t->series->tsc : NULL);
	const char *remark = "", *of = p->cpus ? "counted" : "thread time";
	const bool counted = sums && p->info->features & VPERFCTR_FEATURE_RDTSC;
	char buf[THOUSANDS_LEN], text[80], name[40];

	snprintf(name, sizeof(name), "%s %s",
		 counted && !p->info->tsc_khz ? "tsc ticks" : "seconds", of);
	if (!counted) {
		print_row(t, "<not counted>", name, sums ? "there is no TSC" : "", -1);
	} else if (!p->info->tsc_khz) {
		print_row(t, thousands(buf, sums->tsc), name, "", deviation);
	} else {
		thread = (double)sums->tsc / (p->info->tsc_khz * 1e3);
		snprintf(buf, sizeof(buf), "%.9f", thread);
		/* The scheduler's clock is not the TSC: ignore small differences. */
		if (cpu_time > thread * 1.05 + 0.01) {
			snprintf(text, sizeof(text),
				 "%.3f s of other threads and children are not counted",
				 cpu_time - thread);
			remark = text;
		}
		print_row(t, buf, name, remark, deviation);
	}
}

static void print_table(const struct table *t, const struct sums *sums, double cpu_time,
			double elapsed)
{
	print_counts(t, sums, elapsed);
	if (t->p->events->nr)
		fputc('\n', t->f);
	print_metrics(t, sums);
	if (has_metrics(t->p) && sums)
		fputc('\n', t->f);
	print_thread_time(t, sums, cpu_time);
}

static void print_parts(const struct table *t, const struct result *r)
{
	struct table part = *t;
	unsigned int i;

	part.part = true;
	for (i = 0; i < r->nrparts; i++) {
		fprintf(t->f, "\n Of these, %s:\n\n", r->parts[i].name);
		print_table(&part, &r->parts[i].sums, 0, r->elapsed);
	}
}

/* Return: a remark about descendants that still run, or NULL. */
static const char *about_survivors(const struct result *r)
{
	if (r->counts.status & VPERFCTR_STATUS_CHILDREN)
		return "Not included";
	return r->counts.cut_off ? "Counted until now" : NULL;
}

/* Return: a remark about a run in which a signal came, or NULL. */
static const char *about_cut_run(const struct result *r)
{
	switch (r->cut_short) {
	case CUT_RUN_LEFT_OUT:
		return "The last run is left out of the mean: a signal may have cut it short";
	case CUT_RUN_IS_ALL:
		return "A signal came in the first run: these are its counts, and no mean";
	default:
		return NULL;
	}
}

/* A file may be read without the messages that perfex wrote to standard error. */
static void print_notes(FILE *f, const struct result *r)
{
	const char *survivors = about_survivors(r), *cut_run = about_cut_run(r);

	if (cut_run)
		fprintf(f, "\n %s.\n", cut_run);
	if (r->counted && !r->complete)
		fputs("\n These counts are not complete: see perfex's error message.\n", f);
	if (survivors)
		fprintf(f, "\n %s: threads or processes that were started and run still.\n",
			survivors);
	if (*r->note)
		fprintf(f, "\n %s.\n", r->note);
}

void print_remarks(const struct result *r)
{
	const char *survivors = about_survivors(r), *cut_run = about_cut_run(r);

	if (cut_run)
		fprintf(stderr, "perfex: %s\n", cut_run);
	if (survivors)
		fprintf(stderr, "perfex: %s: threads or processes that were started and run still\n",
			survivors);
	if (*r->note)
		fprintf(stderr, "perfex: %s\n", r->note);
}

static struct table make_table(const struct printing *p, const char *prefix)
{
	const bool colours = has_colours(p->f);
	struct table t = {
		p, p->f, NAME_WIDTH, prefix, "", p->series,
		colours ? "\033[1m" : "", colours ? "\033[2m" : "", colours ? "\033[m" : "", 0, false,
	};
	unsigned int i;

	for (i = 0; i < p->events->nr; i++) {
		char label[LABEL_LEN];
		const int width = (int)strlen(event_label(label, &p->events->ev[i]));

		if (width > t.name_width)
			t.name_width = width;
	}
	for (i = 0; p->refused && i < p->refused->nr; i++)
		if ((int)strlen(p->refused->list[i].name) > t.name_width)
			t.name_width = (int)strlen(p->refused->list[i].name);
	return t;
}

/* True if the part's CPUs, if it has any, were counted. */
static bool is_counted(const struct part *part)
{
	return !part->field || !strcmp(part->field, "thread") || part->nrcpus;
}

/* Rows for each part.  sums: NULL if they were not counted; the parts have theirs. */
static void print_split(struct table *t, const struct part *parts, const struct sums *sums,
			double elapsed)
{
	const struct series *series = t->p->series;
	unsigned int i;

	for (i = 0; i < t->p->nrparts; i++) {
		if (!is_counted(&parts[i]))
			continue;
		t->place = parts[i].label;
		t->series = series ? &series[1 + i] : NULL;
		print_counts(t, sums ? &parts[i].sums : NULL, elapsed);
		print_metrics(t, sums ? &parts[i].sums : NULL);
	}
	t->place = "";
	t->series = series;
}

/* The times of the command and of all that it has waited for, by wait4(). */
static void print_times(const struct table *t, const struct result *r)
{
	char text[32];

	snprintf(text, sizeof(text), "%.9f", r->user);
	print_row(t, text, "seconds user", "", -1);
	snprintf(text, sizeof(text), "%.9f", r->system);
	print_row(t, text, "seconds sys", "", -1);
}

/* Each run, and its difference from the mean. */
static void print_run_times(const struct printing *p, double mean)
{
	unsigned int i;

	if (p->times.nr)
		fputs("\n Seconds elapsed of each run, and their difference from the mean:\n\n", p->f);
	for (i = 0; i < p->times.nr; i++)
		fprintf(p->f, "%*.9f  (%+.9f)\n", COUNT_WIDTH, p->times.seconds[i],
			p->times.seconds[i] - mean);
}

/* what: "Counts" */
static void print_title(const struct printing *p, const struct result *r, const char *what)
{
	char runs[80] = "";

	if (p->series && p->nrgroups > 1)
		snprintf(runs, sizeof(runs), r->cut_short ? ", each the mean of %u or more runs" :
			 ", each the mean of %u out of %u runs", p->series->nr,
			 p->series->nr * p->nrgroups);
	else if (p->series && p->series->nr == 1)
		strcpy(runs, ", one run");
	else if (p->series)
		snprintf(runs, sizeof(runs), ", mean of %u runs", p->series->nr);
	else if (p->nrgroups > 1)
		snprintf(runs, sizeof(runs), ", each from one of %u runs", p->nrgroups);
	fprintf(p->f, "\n %s of %s (%s%s%s):\n\n", what, p->what, r->scope, modes_text(p->events), runs);
}

/* Print times and remarks, below the counts. */
static void print_below(const struct table *t, const struct result *r)
{
	const struct printing *p = t->p;
	char elapsed[32];

	snprintf(elapsed, sizeof(elapsed), "%.9f", r->elapsed);
	print_row(t, elapsed, "seconds elapsed", "",
		  deviation_of(p->series, p->series ? &p->series->elapsed : NULL));
	if (r->user + r->system > 0 && !p->series && p->nrgroups <= 1)
		print_times(t, r);
	if (p->series)
		print_run_times(p, r->elapsed);
	if ((p->verbose || p->per_thread) && !p->metric_only && !p->cpus && !p->series &&
	    p->nrgroups <= 1)
		print_parts(t, r);
	if (p->refused)
		refusals_print(p->f, p->refused, "\n Not counted: ", ".\n");
	print_notes(p->f, r);
	if (p->metrics && *p->metrics->left_out)
		fprintf(p->f, "\n Left out of -d, as the counters have no room for them, or do not count their events: %s.\n",
			p->metrics->left_out);
	fputc('\n', p->f);
}

static void print_text(const struct printing *p, const struct result *r)
{
	struct table t = make_table(p, "");
	const struct sums *total = r->counted ? &r->total : NULL;
	unsigned int i;
	int width;

	for (i = 0; total && p->split && i < r->nrparts; i++) {
		width = widest_remark(p, &r->parts[i].sums, r->elapsed);
		if (width > t.remark_width)
			t.remark_width = width;
	}
	if (total && !p->split)
		t.remark_width = widest_remark(p, total, r->elapsed);
	print_title(p, r, "Counts");
	if (p->split) {
		print_split(&t, r->parts, total, r->elapsed);
		fputc('\n', p->f);
	} else {
		print_table(&t, total, r->cpu_time, r->elapsed);
	}
	print_below(&t, r);
}

/* ---- for programs: the fields and names of perf stat ------------------------------------ */

/* In the place of the time of an interval. */
#define NO_INTERVALS	(-1.0)
#define SUMMARY		(-2.0)

/* A count and what belongs to it. */
struct record {
	double at;		/* end of the interval, or one of these */
	const struct part *part;	/* NULL: all threads or CPUs together */
	const char *event;
	bool counted;
	const char *instead;	/* of a count */
	uint64_t count;		/* nanoseconds if the unit is msec */
	const char *unit;
	double deviation;	/* negative: one run */
	double runtime;		/* nanoseconds */
	struct remark remark;
};

/* True if the count is printed in milliseconds. */
static bool has_decimals(const struct record *r)
{
	return !strcmp(r->unit, "msec");
}

/* Print '?' in place of each separator in the text. */
void print_clean(FILE *f, const char *sep, const char *text)
{
	size_t length = strlen(sep);

	for (; *text; text++)
		fputc(strncmp(text, sep, length) ? *text : '?', f);
}

static void print_field(FILE *f, const char *sep, const char *text)
{
	print_clean(f, sep, text);
	fputs(sep, f);
}

/* True if the part is a CPU, which perf names CPU0 with -x, and 0 with -j. */
static bool is_cpu(const struct part *part)
{
	return !strcmp(part->field, "cpu");
}

/* True if the number of its CPUs is printed, too. */
static bool is_sum_of_cpus(const struct part *part)
{
	return part->nrcpus && !is_cpu(part);
}

/* at: SUMMARY: of the sums after intervals */
static void print_csv_place(FILE *f, const char *sep, double at, const struct part *part)
{
	if (at >= 0)
		fprintf(f, "%6.9f%s", at, sep);
	else if (at == SUMMARY)
		fprintf(f, "summary%s", sep);
	if (part)
		print_field(f, sep, part->label);
	if (part && is_sum_of_cpus(part))
		fprintf(f, "%u%s", part->nrcpus, sep);
}

static void print_csv(FILE *f, const char *sep, const struct record *r)
{
	print_csv_place(f, sep, r->at, r->part);
	if (r->counted && has_decimals(r))
		fprintf(f, "%.6f", (double)r->count / 1e6);
	else if (r->counted)
		fprintf(f, "%" PRIu64, r->count);
	else
		fputs(r->instead, f);
	fprintf(f, "%s%s%s%s", sep, r->unit, sep, r->event);
	if (r->deviation >= 0)
		fprintf(f, "%s%.2f%%", sep, r->deviation);
	fprintf(f, "%s%.0f%s100.00", sep, r->runtime, sep);
	if (r->remark.unit)
		fprintf(f, "%s%.2f%s%s\n", sep, r->remark.value, sep, r->remark.unit);
	else
		fprintf(f, "%s%s\n", sep, sep);
}

static void print_string(FILE *f, const char *text)
{
	fputc('"', f);
	for (; *text; text++)
		if (*text == '"' || *text == '\\')
			fprintf(f, "\\%c", *text);
		else if ((unsigned char)*text < ' ')
			fprintf(f, "\\u%04x", (unsigned int)*text);
		else
			fputc(*text, f);
	fputc('"', f);
}

static void print_json_place(FILE *f, double at, const struct part *part)
{
	fputc('{', f);
	if (at >= 0)
		fprintf(f, "\"interval\" : %.9f, ", at);
	if (part) {
		fprintf(f, "\"%s\" : ", part->field);
		print_string(f, part->label + (is_cpu(part) ? strlen("CPU") : 0));
		fputs(", ", f);
	}
	if (part && is_sum_of_cpus(part))
		fprintf(f, "\"aggregate-number\" : %u, ", part->nrcpus);
}

static void print_json(FILE *f, const struct record *r)
{
	print_json_place(f, r->at, r->part);
	if (r->counted && has_decimals(r))
		fprintf(f, "\"counter-value\" : \"%.6f\"", (double)r->count / 1e6);
	else if (r->counted)
		fprintf(f, "\"counter-value\" : \"%" PRIu64 ".000000\"", r->count);
	else
		fprintf(f, "\"counter-value\" : \"%s\"", r->instead);
	fprintf(f, ", \"unit\" : \"%s\", \"event\" : ", r->unit);
	print_string(f, r->event);
	if (r->deviation >= 0)
		fprintf(f, ", \"variance\" : %.2f", r->deviation);
	fprintf(f, ", \"event-runtime\" : %.0f, \"pcnt-running\" : 100.00", r->runtime);
	fprintf(f, ", \"metric-value\" : %f, \"metric-unit\" : \"%s\"}\n",
		r->remark.value, r->remark.unit ? r->remark.unit : "");
}

/* A metric has the fields of a count, and an empty one for the count itself. */
static void print_metric_record(const struct printing *p, double at, const struct part *part,
				bool deviation, const struct metric *m, const struct sums *sums)
{
	const char *sep = p->separator;
	double value;
	bool any = metric_value(m, p->events, sums, &value);

	if (p->style == STYLE_JSON) {
		print_json_place(p->f, at, part);
		fprintf(p->f, "\"metric\" : \"%s%s\", \"metric-value\" : ", metric_name(m), m->modes);
		fprintf(p->f, any ? "%f" : "null", any ? value : 0);
		fputs(", \"metric-unit\" : ", p->f);
		print_string(p->f, metric_unit(m));
		fputs("}\n", p->f);
		return;
	}
	print_csv_place(p->f, sep, at, part);
	fprintf(p->f, "%s%s%s%s%s%s%s", sep, sep, metric_name(m), m->modes, sep,
		deviation ? sep : "", sep);
	fputs(sep, p->f);
	if (any)
		fprintf(p->f, "%.6f", value);
	fputs(sep, p->f);
	fprintf(p->f, "%s\n", metric_unit(m));
}

static void print_record(const struct printing *p, const struct record *r)
{
	if (p->style == STYLE_JSON)
		print_json(p->f, r);
	else
		print_csv(p->f, p->separator, r);
}

/* deviations: whether other records have one. */
static void print_refused_records(const struct printing *p, double at, const struct part *part,
				  bool deviations, unsigned int *done, unsigned int i)
{
	struct record record = {
		.at = at, .part = part, .unit = "", .deviation = deviations ? 0 : -1,
	};
	const struct refused *r;

	while ((r = next_refused(p, done, i))) {
		record.event = r->name;
		record.instead = refusal_text(r);
		print_record(p, &record);
	}
}

/* sums: NULL if the events were not counted.  elapsed: see find_remark(). */
static void print_records(const struct printing *p, double at, const struct part *part,
			  const struct series *series, const struct sums *sums, double elapsed)
{
	const double ns = sums ? ns_of(p, sums) : 0;
	/* Those of events with one run are 0, if others have several. */
	const bool deviations = series && series->elapsed.nr > 1;
	const struct events *events = p->events;
	unsigned int i, done = 0;

	/* Without counters, print the thread time. */
	for (i = 0; i < (events->nr ? events->nr : 1); i++) {
		struct record r = {
			.at = at, .part = part, .counted = sums, .runtime = ns,
			.deviation = -1, .unit = "", .instead = "<not counted>",
		};

		print_refused_records(p, at, part, deviations, &done, i);
		if (!events->nr) {
			r.event = "thread-time";
			r.unit = "ns";
			r.counted = sums && p->info->features & VPERFCTR_FEATURE_RDTSC;
			r.count = (uint64_t)ns;
			r.deviation = deviation_of(series, series ? &series->tsc : NULL);
		} else {
			r.event = events->ev[i].name;
			r.unit = event_unit(&events->ev[i]);
			r.count = sums ? event_count(events, sums, i) : 0;
			r.deviation = series ?
				deviation_of(series, event_spread(events, series, i)) : -1;
			if (sums)
				r.remark = find_remark(events, sums, elapsed, ns_of_rates(p, sums), i);
		}
		if (deviations && r.deviation < 0)
			r.deviation = 0;
		print_record(p, &r);
	}
	print_refused_records(p, at, part, deviations, &done, i);
	for (i = 0; has_metrics(p) && sums && i < p->metrics->nr; i++)
		print_metric_record(p, at, part, deviations, &p->metrics->metric[i], sums);
}

/* The parts' sums are valid if `sums` is not NULL. */
static void print_parts_records(const struct printing *p, double at, const struct part *parts,
				unsigned int nrparts, const struct sums *sums, double elapsed)
{
	const struct series *series = p->cpus && p->series ? p->series + 1 : NULL;
	unsigned int i;

	for (i = 0; i < nrparts; i++)
		if (is_counted(&parts[i]))
			print_records(p, at, &parts[i], series ? &series[i] : NULL,
				      sums ? &parts[i].sums : NULL, elapsed);
}

/* ---- --metric-only: a line of ratios and metrics ------------------------------------------ */

#define COLUMN_WIDTH	16	/* at least */

struct column {
	char name[96];
	const char *format;
	bool any;		/* there is a value */
	double value;
};

/*
 * Find the ratio of event i, or what it has in the place of one that is always in the same unit:
 * rates per second have none.  sums: NULL: only the name is asked for.
 */
static bool event_column(struct column *c, const struct printing *p, const struct sums *sums,
			 double elapsed, unsigned int i)
{
	const struct vperfctr_event *event = &p->events->ev[i];
	const bool clock = is_clock(event);
	const bool cycles = !event->soft && event->arch == VPERFCTR_EVENT_CYCLES;
	unsigned int by;
	const struct ratio *ratio = event->soft ? NULL : ratio_of(p->events, i, &by);
	const char *unit = clock ? "CPUs utilized" : ratio ? ratio->unit : "GHz";
	struct remark remark = { 0 };

	if (has_metrics(p) && i >= p->events->asked)
		return false;
	if ((!clock && !ratio && !cycles) || (cycles && p->nrgroups > 1))
		return false;
	snprintf(c->name, sizeof(c->name), strpbrk(event->name, ":@") ? "%s (%.60s)" : "%s", unit, event->name);
	if (sums)
		remark = find_remark(p->events, sums, elapsed, ns_of_rates(p, sums), i);
	/* A ratio whose second count is 0 has a rate in its place. */
	c->any = remark.unit && !strcmp(remark.unit, unit);
	c->value = remark.value;
	c->format = ratio ? "%.2f" : "%.3f";
	return true;
}

static void metric_column(struct column *c, const struct printing *p, const struct sums *sums,
			  unsigned int i)
{
	const struct metric *m = &p->metrics->metric[i];

	snprintf(c->name, sizeof(c->name), "%s%s", metric_name(m), m->modes);
	c->format = "%.3f";
	c->any = sums && metric_value(m, p->events, sums, &c->value);
}

/*
 * Find the i-th column: events, then metrics.  Return: false: there is no i-th one; *c: without a
 * name if it is no column
 */
static bool find_column(struct column *c, const struct printing *p, const struct sums *sums,
			double elapsed, unsigned int i)
{
	*c = (struct column){ .any = false };
	if (i < p->events->nr) {
		event_column(c, p, sums, elapsed, i);
		return true;
	}
	i -= p->events->nr;
	if (!p->metrics || i >= p->metrics->nr)
		return false;
	metric_column(c, p, sums, i);
	return true;
}

bool print_has_columns(const struct printing *p)
{
	struct column c;
	unsigned int i;

	for (i = 0; find_column(&c, p, NULL, 0, i); i++)
		if (*c.name)
			return true;
	return false;
}

static void print_column(const struct printing *p, const struct column *c, bool head, bool first)
{
	const int length = (int)strlen(c->name);
	const int width = length < COLUMN_WIDTH ? COLUMN_WIDTH : length;
	char text[96];

	snprintf(text, sizeof(text), "%s", head ? c->name : "");
	if (!head && c->any)
		snprintf(text, sizeof(text), c->format, c->value);
	else if (!head && p->style == STYLE_TEXT)
		strcpy(text, "-");
	if (p->style == STYLE_TEXT) {
		fprintf(p->f, "  %*s", width, text);
	} else if (p->style == STYLE_CSV) {
		fputs(first ? "" : p->separator, p->f);
		if (head)
			print_clean(p->f, p->separator, text);
		else
			fputs(text, p->f);
	} else {
		fputs(first ? "" : ", ", p->f);
		print_string(p->f, c->name);
		fprintf(p->f, " : %s", c->any ? text : "null");
	}
}

/* A line of all columns: their names, or values.  at: an interval; part: NULL: of all */
static void print_columns(const struct printing *p, bool head, double at, const struct part *part,
			  const struct sums *sums, double elapsed)
{
	bool first = true;
	struct column c;
	unsigned int i;

	if (p->style == STYLE_TEXT && p->intervals && at >= 0)
		fprintf(p->f, "%*.9f ", TIME_WIDTH, at);
	else if (p->style == STYLE_CSV)
		print_csv_place(p->f, p->separator, at, part);
	else if (p->style == STYLE_JSON)
		print_json_place(p->f, at, part);
	if (p->style == STYLE_TEXT && part)
		fprintf(p->f, "%-*s", place_width(p), part->label);
	for (i = 0; find_column(&c, p, sums, elapsed, i); i++)
		if (*c.name) {
			print_column(p, &c, head, first);
			first = false;
		}
	fputs(p->style == STYLE_JSON ? "}\n" : "\n", p->f);
}

/* The line of names, above those of values.  intervals: these are lines of intervals */
static void print_column_names(const struct printing *p, bool intervals)
{
	struct part part = { .label = "" };

	if (p->style == STYLE_JSON)
		return;
	if (p->style == STYLE_CSV) {
		if (intervals || p->summary)
			fprintf(p->f, "time%s", p->separator);
		if (has_places(p))
			fprintf(p->f, "on%s", p->separator);
		if (has_places(p) && p->split > SPLIT_CPU)
			fprintf(p->f, "CPUs%s", p->separator);
	} else if (intervals) {
		fprintf(p->f, "#%*s ", TIME_WIDTH - 1, "time");
	}
	print_columns(p, true, NO_INTERVALS,
		      p->style == STYLE_TEXT && has_places(p) ? &part : NULL, NULL, 0);
}

/* The lines of values. */
static void print_column_values(const struct printing *p, double at, const struct part *parts,
				unsigned int nrparts, const struct sums *sums, double elapsed)
{
	unsigned int i;

	if (!has_places(p)) {
		print_columns(p, false, at, NULL, sums, elapsed);
		return;
	}
	for (i = 0; i < nrparts; i++)
		if (is_counted(&parts[i]))
			print_columns(p, false, at, &parts[i], sums ? &parts[i].sums : NULL,
				      elapsed);
}

static void print_metrics_only(const struct printing *p, const struct result *r)
{
	const double at = p->summary ? SUMMARY : NO_INTERVALS;
	struct table t;

	if (p->style == STYLE_TEXT)
		print_title(p, r, "Metrics");
	if (!p->intervals || p->style == STYLE_TEXT)
		print_column_names(p, false);
	print_column_values(p, at, r->parts, r->nrparts, r->counted ? &r->total : NULL, r->elapsed);
	if (p->style != STYLE_TEXT)
		return;
	fputc('\n', p->f);
	t = make_table(p, "");
	print_below(&t, r);
}

/* ---- all of them ------------------------------------------------------------------------ */

void print_result(const struct printing *p, const struct result *r)
{
	const struct sums *total = r->counted ? &r->total : NULL;
	const double at = p->summary ? SUMMARY : NO_INTERVALS;

	if (p->metric_only)
		print_metrics_only(p, r);
	else if (p->style == STYLE_TEXT)
		print_text(p, r);
	else if ((p->per_thread || p->split) && total)
		print_parts_records(p, at, r->parts, r->nrparts, total, r->elapsed);
	else
		print_records(p, at, NULL, p->series, total, r->elapsed);
}

void print_interval_head(const struct printing *p)
{
	if (p->metric_only)
		print_column_names(p, true);
	else if (p->style == STYLE_TEXT)
		fprintf(p->f, "#%*s%-*s%*s  events\n", TIME_WIDTH - 1, "time",
			has_places(p) ? place_width(p) + 1 : 0, p->split ? " on" : p->per_thread ? " thread" : "",
			COUNT_WIDTH, "counts");
}

void print_interval(const struct printing *p, double at, const struct sums *sums,
		    const struct part *parts)
{
	/* Without the time that a gate has left out. */
	const double elapsed = sums ? (double)sums->soft[SOFT_ELAPSED] / 1e9 : 0;
	char prefix[32];
	struct table t;

	if (p->metric_only) {
		print_column_values(p, at, parts, p->nrparts, sums, elapsed);
		return;
	}
	if (p->style != STYLE_TEXT && has_places(p)) {
		print_parts_records(p, at, parts, p->nrparts, sums, elapsed);
		return;
	}
	if (p->style != STYLE_TEXT) {
		print_records(p, at, NULL, NULL, sums, elapsed);
		return;
	}
	snprintf(prefix, sizeof(prefix), "%*.9f%s", TIME_WIDTH, at, has_places(p) ? " " : "");
	t = make_table(p, prefix);
	if (has_places(p))
		print_split(&t, parts, sums, elapsed);
	else if (p->events->nr)
		print_counts(&t, sums, elapsed);
	else
		print_thread_time(&t, sums, 0);
	if (!has_places(p))
		print_metrics(&t, sums);
}

static void print_counter(FILE *f, const char *name, const struct vperfctr_ctr *ctr,
			  const struct kinds *kinds, unsigned int kind)
{
	fprintf(f, "perfex: %s", name);
	if (kinds->nr > 1)
		fprintf(f, " on kind %u", kind);
	fprintf(f, ": map 0x%08" PRIx32 " evntsel 0x%08" PRIx64, (uint32_t)ctr->map,
		(uint64_t)ctr->evntsel);
	if (ctr->aux)
		fprintf(f, " aux 0x%" PRIx64, (uint64_t)ctr->aux);
	fputc('\n', f);
}

void print_control(FILE *f, const struct events *events, const struct kinds *kinds,
		   struct vperfctr_ctr ctr[][VPERFCTR_MAX_CTRS])
{
	unsigned int i, k;

	for (i = 0; i < events->nr; i++) {
		if (events->ev[i].soft) {
			fprintf(f, "perfex: %s: %s\n", events->ev[i].name, is_time(&events->ev[i]) ?
				"measured by perfex" : "counted by the kernel");
			continue;
		}
		for (k = 0; k < kinds->nr; k++)
			print_counter(f, events->ev[i].name, &ctr[k][i], kinds, k);
	}
}
