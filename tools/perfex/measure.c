// SPDX-License-Identifier: GPL-2.0
/* Count as the options say: the events, the number of runs, and the output. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "cpus.h"
#include "gate.h"
#include "metrics.h"
#include "output.h"
#include "perf.h"
#include "perf-count.h"
#include "refused.h"

#define TOP_COLUMNS	4	/* of perfex top without -e */

/* The events to count: events[k] and ctr[k] are for kinds.info[k]. */
struct choice {
	const struct options *o;
	struct kinds kinds;
	struct events events[MAX_KINDS];
	struct refusals refused;
	struct metrics metrics;
	struct vperfctr_ctr ctr[MAX_KINDS][VPERFCTR_MAX_CTRS];
	struct cpus *cpus;	/* NULL: threads are counted */
	char *perf;		/* names for perf_event; NULL: the module counts */
	char *perf_groups[VPERFCTR_MAX_CTRS];	/* of each run, if there are several */
	struct perf_count by_perf;	/* the same for running threads and CPUs */
	const struct error *module;	/* why the module does not count, or no text */
	bool usage;		/* perf_event may not count, either: there is what the kernel tells all */
	bool said;		/* that perf_event counts */
	enum backend backend;
};

static const struct perf_count *perf_of(const struct choice *choice)
{
	return choice->perf ? &choice->by_perf : NULL;
}

/* The module counts these for threads only. */
static int refuse_software(const struct events *events, struct error *e)
{
	unsigned int i;

	for (i = 0; i < events->nr; i++)
		if (events->ev[i].soft)
			break;
	if (i == events->nr)
		return 0;
	fail_with(e, "the module counts '%s' for threads, and not for CPUs: leave it out, or count by perf_event",
		  events->ev[i].name);
	e->unusable = true;
	return -1;
}

/* Add the metrics that are asked for, and their events. */
static int choose_metrics(const struct kinds *kinds, struct choice *choice, struct error *e)
{
	const struct options *o = choice->o;
	unsigned int i;

	memset(&choice->metrics, 0, sizeof(choice->metrics));
	for (i = 0; i < o->nrmetrics; i++)
		if (metrics_choose(&choice->metrics, o->metrics[i], choice->events, kinds->info,
				   kinds->nr, e))
			return -1;
	return !o->detail ? 0 : metrics_detail(&choice->metrics, o->detail, choice->events,
					       kinds->info, kinds->nr, e);
}

/* Return: the number of runs that the events need on these kinds of CPUs, or -1 with *e. */
static int choose_events(const struct kinds *kinds, void *arg, struct error *e)
{
	struct choice *choice = arg;
	const struct options *o = choice->o;
	struct events *events = choice->events;
	unsigned int i, k;

	memset(events, 0, sizeof(choice->events));
	refusals_free(&choice->refused);
	/* Each of several kinds could refuse another event. */
	for (k = 0; k < kinds->nr; k++)
		for (i = 0; i < o->nrspecs; i++)
			if (events_parse_some(&events[k], o->specs[i], &kinds->info[k],
					      kinds->info->nrkinds > 1 ? NULL : &choice->refused, e))
				return -1;
	if (o->detail && !o->nrspecs && !options_cpus(o))
		events_software(events, kinds->info, kinds->nr);
	if (choose_metrics(kinds, choice, e))
		return -1;
	if (choice->refused.nr && (o->strict || !events->nr))
		return refusals_fail(&choice->refused, e);
	if (!o->nrspecs && !choice->metrics.nr) {
		events_default(events, kinds->info, kinds->nr,
			       !options_cpus(o) || choice->backend == BACKEND_PERF);
		/* More columns would be wider than many terminals. */
		for (k = 0; o->top && k < kinds->nr; k++)
			if (events[k].nr > TOP_COLUMNS)
				events[k].nr = TOP_COLUMNS;
	}
	if (options_cpus(o) && choice->backend != BACKEND_PERF && refuse_software(events, e))
		return -1;
	/* A sum is that of a generic event if it is so on all kinds. */
	for (k = 1; k < kinds->nr; k++)
		for (i = 0; i < events->nr; i++)
			if (events[k].ev[i].arch != events->ev[i].arch)
				events->ev[i].arch = 0;
	if (o->runs_auto && events->nr)
		return assign_groups(events, kinds->info, kinds->nr, choice->ctr, e);
	return assign_counters(events, kinds->info, kinds->nr, choice->ctr, e) ? -1 : 1;
}

/* Return: the command, or the processes and threads, for "Counts of ..."; allocated. */
static char *describe_targets(const struct options *o, const struct kinds *kinds,
			      const struct cpus *cpus)
{
	const struct vperfctr_info *info = kinds->info;
	const char *kind = kind_name(info);
	const struct targets *targets = &o->targets;
	char *text = NULL, **arg;
	unsigned int i;
	size_t size;
	FILE *f;

	f = open_memstream(&text, &size);
	if (!f)
		return NULL;
	for (i = 0; i < targets->nr; i++)
		fprintf(f, "%s%s %d", i ? ", " : "",
			targets->target[i].process ? "process" : "thread",
			(int)targets->target[i].id);
	if (cpus)
		fprintf(f, "CPUs %s%s%s", cpus->list, o->cpu_list ? "" : ", system wide",
			*o->command ? ", during " : "");
	if (*o->command && !targets->nr) {
		for (arg = o->command; *arg; arg++)
			fprintf(f, "%s%s", arg == o->command ? "'" : " ", *arg);
		fputc('\'', f);
	}
	if (info->nrkinds > 1 && kinds->nr == 1 && !cpus) {
		fputs(" on CPUs ", f);
		print_kind_cpus(f, info->kind);
		fprintf(f, " only, kind %u%s%s", info->kind, kind ? ": " : "", kind ? kind : "");
	}
	fclose(f);
	return text;
}

/* ---- the file of -o ---------------------------------------------------------------- */

/*
 * If the file could not be written, print to standard error from now on, so that the
 * counts are not lost.  Return: whether what was printed last must be printed again.
 */
static bool fall_back_to_stderr(struct printing *p)
{
	int err = p->output ? output_publish(p->output) : 0;

	if (!err)
		return false;
	p->write_error = err;
	p->output = NULL;
	p->f = stderr;
	/* A pipe without a reader is no reason to end. */
	signals_forget(SIGPIPE);
	return true;
}

/* ---- intervals --------------------------------------------------------------------- */

struct ticks {
	const struct options *o;
	struct printing *printing;
	struct sums before;
	struct part *parts;	/* of CPUs or threads, in this interval */
	struct sums *parts_before;
	struct part *open;	/* of CPUs, without what the gate leaves out */
	struct gate gate;
	bool any;
	struct error failed;	/* why the last file for Prometheus was not written; or no text */
};

/* A program that counts itself starts its counters at 0; the end reports that. */
static uint64_t count_since(uint64_t sum, uint64_t before)
{
	return sum > before ? sum - before : 0;
}

/* Set *difference to the counts since *before, and *before to these sums. */
static void take_difference(struct sums *difference, const struct sums *sums,
			    struct sums *before)
{
	unsigned int i;

	difference->tsc = count_since(sums->tsc, before->tsc);
	for (i = 0; i < VPERFCTR_MAX_CTRS; i++)
		difference->pmc[i] = count_since(sums->pmc[i], before->pmc[i]);
	for (i = 0; i < NR_SOFT; i++)
		difference->soft[i] = count_since(sums->soft[i], before->soft[i]);
	*before = *sums;
}

/* Write the file for Prometheus.  Say once why this fails, and try again in each interval. */
static void write_metrics(struct ticks *t, const struct part *parts)
{
	struct error e = { .text = "" };

	if (prometheus_write(t->o->prometheus, t->printing, parts, &e) &&
	    strcmp(e.text, t->failed.text))
		fprintf(stderr, "perfex: %s\n", e.text);
	t->failed = e;
}

static void on_interval(void *arg, double at, const struct sums *sums, const struct part *parts)
{
	struct ticks *t = arg;
	struct sums difference, open = *sums;
	unsigned int i;

	if (t->o->prometheus) {
		write_metrics(t, parts);
		return;
	}
	if (parts && t->open) {
		memcpy(t->open, parts, t->printing->nrparts * sizeof(*parts));
		parts = t->open;
	}
	gate_subtract(&t->gate, &open, t->open);
	take_difference(&difference, &open, &t->before);
	for (i = 0; parts && i < t->printing->nrparts; i++) {
		t->parts[i] = parts[i];
		take_difference(&t->parts[i].sums, &parts[i].sums, &t->parts_before[i]);
	}
	if (t->o->top) {
		top_print(t->printing, at, &difference, t->parts, !t->any);
		t->any = true;
		fall_back_to_stderr(t->printing);
		return;
	}
	if (!t->any)
		print_interval_head(t->printing);
	t->any = true;
	print_interval(t->printing, at, &difference, t->parts);
	if (fall_back_to_stderr(t->printing)) {
		print_interval_head(t->printing);
		print_interval(t->printing, at, &difference, t->parts);
	}
}

/* ---- runs ------------------------------------------------------------------------------ */

#define PROGRESS_AFTER	2	/* seconds */

/* Runs that are done. */
struct progress {
	struct timespec start;
	unsigned int done, all;	/* runs */
	bool shown;
};

/* Only on a terminal, and only if the runs take long. */
static void show_progress(struct progress *p)
{
	if (!is_terminal(stderr) || seconds_since(&p->start) < PROGRESS_AFTER)
		return;
	fprintf(stderr, "  %u of %u runs\033[K\r", p->done, p->all);
	p->shown = true;
}

static void hide_progress(struct progress *p)
{
	if (p->shown)
		fputs("\033[K", stderr);
	p->shown = false;
}

/* ---- --wait ---------------------------------------------------------------------------- */

#define TRY_INTERVAL	50	/* milliseconds */

struct patience {
	double seconds;		/* how long to wait; 0: not at all */
	bool begun;
	struct timespec since;
};

/*
 * The counters were busy, and nothing was run: wait a little, within the bound of --wait.  A
 * signal that ends perfex ends the waiting.
 * Return: whether to try again; if not, *e says why.
 */
static bool wait_for_counters(struct patience *p, struct error *e)
{
	struct error busy = *e;
	sigset_t set;
	int sig;

	if (!e->busy || p->seconds <= 0)
		return false;
	if (!p->begun)
		clock_gettime(CLOCK_MONOTONIC, &p->since);
	if (!p->begun && is_terminal(stderr))
		fprintf(stderr, "perfex: waiting: %s\n", e->text);
	p->begun = true;
	if (seconds_since(&p->since) >= p->seconds)
		return fail_with(e, "%.900s (perfex has waited for %g seconds)", busy.text, p->seconds), false;
	signals_catch(&set, false, NULL);
	sig = sigtimedwait(&set, NULL, &(struct timespec){ .tv_nsec = TRY_INTERVAL * 1000000L });
	signals_unblock();
	if (sig > 0 || run_told_to_end())
		return fail_with(e, "a signal ended the waiting for the counters: %.900s", busy.text), false;
	return true;
}

/*
 * A signal that ended the command, or asked perfex to end, was not meant for one run
 * only.  It may have cut this run short.
 */
static bool may_run_again(const struct result *r)
{
	return !r->signalled && !run_told_to_end();
}

/* Return: the parts that have a series each, which follows that of all. */
static unsigned int nr_cpu_parts(const struct choice *choice)
{
	return choice->cpus ? choice->cpus->nrparts : 0;
}

/*
 * Run the command as often as asked for.  A run that could not be counted ends the
 * series and is its result.  A signal ends it, too; the mean leaves that run out.
 */
static int run_series(const struct choice *choice, const struct vperfctr_control *control,
		      unsigned int group, struct progress *progress, struct series *series, struct result *r,
		      struct error *e)
{
	const struct interval none = { 0 };
	const struct options *o = choice->o;
	struct patience patience = { .seconds = o->wait };
	struct perf_count by_perf = choice->by_perf;
	int status = 0, err;
	unsigned int i;

	if (choice->perf_groups[group])
		by_perf.names = choice->perf_groups[group];
	do {
		if (progress->done)
			show_progress(progress);
		result_free(r);
		if (before_run(o, e)) {
			hide_progress(progress);
			return -1;
		}
		do {
			err = choice->cpus ?
				cpus_count(choice->cpus, o->command, NO_TIMEOUT, control,
					   choice->perf ? &by_perf : NULL, &none, NULL, r, e) :
				run_command(o->command, control,
					    choice->perf ? by_perf.names : NULL, &none, r, e);
		} while (err && wait_for_counters(&patience, e));
		if (!err && r->complete)
			err = after_run(o, e);
		if (err) {
			hide_progress(progress);
			/* The command has run already, by the module. */
			if (progress->done)
				e->unusable = false;
			return -1;
		}
		progress->done++;
		if (r->status)
			status = r->status;
		if (!r->complete)
			return 0;
		if (!may_run_again(r)) {
			r->cut_short = series->nr ? CUT_RUN_LEFT_OUT : CUT_RUN_IS_ALL;
			break;
		}
		series_add(series, &r->total, r);
		for (i = 0; i < nr_cpu_parts(choice); i++)
			series_add(&series[1 + i], &r->parts[i].sums, r);
	} while (series->nr < o->repeat);
	r->status = status;
	return 0;
}

/* The control of one run.  Its counters have the places at[0], at[1], ... in sums of all. */
static void make_control(struct vperfctr_control *control, struct vperfctr_ctr *chosen,
			 const struct choice *choice, unsigned int group, unsigned int *at)
{
	const struct events *events = choice->events;
	unsigned int i, k, n, of[VPERFCTR_MAX_CTRS];

	vperfctr_control_init(control, chosen);
	control->tsc_on = !!(choice->kinds.info[0].features & VPERFCTR_FEATURE_RDTSC);
	for (i = 0; i < events->nr; i++) {
		if (events->group[i] != group)
			continue;
		if (events->ev[i].soft) {
			vperfctr_control_add_soft(control, events->ev[i].soft);
			continue;
		}
		at[control->nractrs] = event_pmc(events, i);
		of[control->nractrs] = i;
		chosen[control->nractrs++] = choice->ctr[0][i];
	}
	n = control->nractrs;
	/* Without counters a control has no kind. */
	if (n)
		control->kind = choice->kinds.info[0].kind;
	for (k = 1; n && k < choice->kinds.nr; k++) {
		for (i = 0; i < n; i++)
			chosen[k * n + i] = choice->ctr[k][of[i]];
		vperfctr_control_add_kind(control, &chosen[k * n]);
	}
}

/* Add a group's series to that of all events.  Its counters have the places at[0], ... */
static void merge_series(struct series *all, const struct series *group,
			 const struct vperfctr_control *control, const unsigned int *at)
{
	unsigned int i;

	for (i = 0; i < control->nractrs; i++)
		all->pmc[at[i]] = group->pmc[i];
	if (control->soft)
		memcpy(all->soft, group->soft, sizeof(all->soft));
	spread_merge(&all->tsc, &group->tsc);
	spread_merge(&all->elapsed, &group->elapsed);
	spread_merge(&all->cpu_time, &group->cpu_time);
	all->nr = group->nr;
}

static void set_means(struct sums *sums, const struct series *all, unsigned int nrevents)
{
	unsigned int i;

	for (i = 0; i < nrevents; i++)
		sums->pmc[i] = (uint64_t)(all->pmc[i].mean + 0.5);
	for (i = 0; i < NR_SOFT; i++)
		sums->soft[i] = (uint64_t)(all->soft[i].mean + 0.5);
	sums->tsc = (uint64_t)(all->tsc.mean + 0.5);
}

/* Run all groups, and put them into one result: each event is counted in one group. */
static int run_groups(const struct choice *choice, unsigned int nrgroups, uint32_t flags,
		      struct series *all, struct series *series, struct result *r,
		      struct error *e)
{
	const struct options *o = choice->o;
	const struct events *events = choice->events;
	struct progress progress = { .all = nrgroups * (o->repeat ? o->repeat : 1) };
	unsigned int at[VPERFCTR_MAX_CTRS] = { 0 }, group, i, nr = 1 + nr_cpu_parts(choice);
	struct vperfctr_ctr chosen[MAX_KINDS * VPERFCTR_MAX_CTRS];
	struct vperfctr_control control;
	int status = 0;

	clock_gettime(CLOCK_MONOTONIC, &progress.start);
	for (group = 0; group < nrgroups && may_run_again(r); group++) {
		memset(series, 0, nr * sizeof(*series));
		make_control(&control, chosen, choice, group, at);
		control.flags = flags;
		if (run_series(choice, &control, group, &progress, series, r, e))
			return -1;
		if (r->status)
			status = r->status;
		if (!r->complete) {
			/* Only some events have counts. */
			if (nrgroups > 1)
				r->counted = false;
			hide_progress(&progress);
			return 0;
		}
		if (r->cut_short == CUT_RUN_IS_ALL)
			break;
		for (i = 0; i < nr; i++)
			merge_series(&all[i], &series[i], &control, at);
	}
	hide_progress(&progress);
	r->status = status;
	/* The counts of a run that may be cut short are better than none. */
	if (nrgroups == 1 && !all->nr)
		return 0;
	if (group < nrgroups) {
		r->complete = false;
		r->counted = false;
		return fail_with(e, "a signal ended this before all events were counted"), 0;
	}
	set_means(&r->total, all, events->nr);
	for (i = 0; i < nr - 1; i++)
		set_means(&r->parts[i].sums, &all[1 + i], events->nr);
	r->elapsed = all->elapsed.mean;
	r->cpu_time = all->cpu_time.mean;
	return 0;
}

/* Several runs of a command.  *all: the series, which the caller frees; NULL: none. */
static int measure_series(const struct choice *choice, struct printing *p, unsigned int nrgroups,
			  uint32_t flags, struct series **all, struct result *r, struct error *e)
{
	unsigned int nr = 1 + nr_cpu_parts(choice);
	struct series *series = calloc(nr, sizeof(*series));
	int err;

	*all = calloc(nr, sizeof(**all));
	if (!series || !*all) {
		free(series);
		return fail_with(e, "out of memory");
	}
	err = run_groups(choice, nrgroups, flags, *all, series, r, e);
	free(series);
	p->nrgroups = nrgroups;
	if (!err && r->complete && (*all)->nr && choice->o->repeat > 1)
		p->series = *all;
	return err;
}

/* Room for the parts in intervals. */
static int make_parts(void *arg, unsigned int nrparts, struct error *e)
{
	struct ticks *t = arg;

	t->printing->nrparts = nrparts;
	if (!nrparts)
		return 0;
	/* A count that begins again, after --wait, has new ones. */
	free(t->parts);
	free(t->parts_before);
	t->parts = calloc(nrparts, sizeof(*t->parts));
	t->parts_before = calloc(nrparts, sizeof(*t->parts_before));
	return t->parts && t->parts_before ? 0 : fail_with(e, "out of memory");
}

/* Return: 0, or -1 with *e. */
static int make_ticks(struct ticks *t, const struct options *o, struct printing *p,
		      const struct cpus *cpus, struct error *e)
{
	t->o = o;
	t->printing = p;
	/* A file that cannot be written is an error before anything is counted. */
	if (o->prometheus && prometheus_write(o->prometheus, p, NULL, e))
		return -1;
	if (gate_open(&t->gate, o, cpus ? cpus->nrparts : 0, e))
		return -1;
	if (!cpus || !cpus->nrparts)
		return 0;
	t->open = calloc(cpus->nrparts, sizeof(*t->open));
	if (!t->open)
		return fail_with(e, "out of memory");
	return make_parts(t, cpus->nrparts, e);
}

/* Count once, with a new gate, intervals, or -p and -t. */
static int try_once(const struct choice *choice, struct ticks *ticks,
		    struct vperfctr_control *control, struct result *r, struct error *e)
{
	const struct options *o = choice->o;
	struct interval interval = {
		.ms = o->interval, .gate = ticks->gate.used ? &ticks->gate : NULL,
		.begin = make_parts, .fn = on_interval, .arg = ticks,
	};

	if (choice->cpus)
		return cpus_count(choice->cpus, o->command, o->timeout, control, perf_of(choice),
				  &interval, NULL, r, e);
	if (o->targets.nr)
		return attach_and_count(&o->targets, o->command, o->timeout,
					o->per_thread || o->verbose, control, perf_of(choice),
					&interval, NULL, r, e);
	control->flags |= VPERFCTR_CONTROL_START_ON_EXEC;
	return run_command(o->command, control, choice->perf, &interval, r, e);
}

static int count_once(const struct choice *choice, struct ticks *ticks,
		      struct vperfctr_control *control, struct result *r, struct error *e)
{
	struct patience patience = { .seconds = choice->o->wait };
	int err = before_run(choice->o, e);

	if (err)
		return err;
	do {
		err = try_once(choice, ticks, control, r, e);
	} while (err && wait_for_counters(&patience, e));
	if (!err && r->complete)
		err = after_run(choice->o, e);
	if (err || !r->counted)
		return err;
	/* Other parts than those of CPUs are not measured at the gate. */
	if (ticks->gate.used && !choice->cpus)
		result_free(r);
	gate_subtract(&ticks->gate, &r->total, r->parts);
	return 0;
}

static int measure_once(const struct choice *choice, struct printing *p, unsigned int nrgroups,
			struct result *r, struct error *e)
{
	const struct options *o = choice->o;
	uint32_t flags = o->no_inherit ? 0 : VPERFCTR_CONTROL_INHERIT;
	struct vperfctr_ctr chosen[MAX_KINDS * VPERFCTR_MAX_CTRS];
	unsigned int at[VPERFCTR_MAX_CTRS];
	struct vperfctr_control control;
	struct series *series = NULL;
	struct ticks ticks = { .gate = { .control = -1, .ack = -1 } };
	int err;

	if (choice->cpus)
		flags = 0;
	if (o->repeat > 1 || nrgroups > 1) {
		if (!choice->cpus)
			flags |= VPERFCTR_CONTROL_START_ON_EXEC;
		err = measure_series(choice, p, nrgroups, flags, &series, r, e);
	} else {
		make_control(&control, chosen, choice, 0, at);
		control.flags = flags;
		err = make_ticks(&ticks, o, p, choice->cpus, e);
		if (!err)
			err = count_once(choice, &ticks, &control, r, e);
	}
	if (!err && (!o->interval || !r->complete)) {
		print_result(p, r);
		if (fall_back_to_stderr(p))
			print_result(p, r);
	}
	if (!err && (o->style != STYLE_TEXT || (o->interval && r->complete))) {
		print_remarks(r);
		refusals_print(stderr, &choice->refused, "perfex: ", "\n");
	}
	/* The reason is on standard error. */
	if (!err && *ticks.failed.text) {
		r->complete = false;
		fail_with(e, "the last counts are not in '%.300s'", o->prometheus);
	}
	gate_close(&ticks.gate);
	free(ticks.parts);
	free(ticks.parts_before);
	free(ticks.open);
	free(series);
	return err;
}

/* Find the CPUs, and choose the kinds and events that they count. */
static int choose_for_cpus(struct choice *choice, struct cpus *cpus, struct error *e)
{
	choice->cpus = cpus;
	return cpus_choose(cpus, choice->o, &choice->kinds, choose_events, choice, e);
}

static int measure_choice(struct choice *choice, unsigned int nrgroups, struct output *out,
			  struct error *e)
{
	const struct vperfctr_info *info = choice->kinds.info;
	const struct options *o = choice->o;
	struct result result = { 0 };
	struct printing p = {
		.f = out ? out->f : o->top ? stdout : stderr, .output = out,
		.style = o->style, .separator = o->separator,
		.events = choice->events, .refused = &choice->refused, .metrics = &choice->metrics, .info = info,
		.verbose = o->verbose, .per_thread = o->per_thread,
		.cpus = choice->cpus, .split = o->split, .nrparts = nr_cpu_parts(choice),
	};
	char *what;
	int err;

	if (!o->no_inherit && !choice->cpus && !(info->features & VPERFCTR_FEATURE_INHERIT))
		return fail_with(e, "this module cannot count children: use --no-inherit");
	if (o->verbose && choice->perf && !choice->said)
		fputs("perfex: counts by perf_event\n", stderr);
	else if (o->verbose && !choice->perf)
		print_control(stderr, choice->events, &choice->kinds, choice->ctr);

	what = describe_targets(o, &choice->kinds, choice->cpus);
	p.what = what ? what : "?";
	err = measure_once(choice, &p, nrgroups, &result, e);
	free(what);
	result_free(&result);
	if (err)
		return -1;
	if (p.write_error) {
		if (!result.complete)
			fprintf(stderr, "perfex: %s\n", e->text);
		return fail_with(e, "cannot write to '%s': %s; the counts are above, on standard error",
				 out->name, strerror(p.write_error));
	}
	return result.complete ? result.status : -1;
}

/* ---- where the module cannot count ------------------------------------------------------ */

/* True if perf_event can do what is asked for: it knows no kinds of CPUs. */
static bool perf_can(const struct options *o)
{
	return !o->kind && o->split != SPLIT_KIND;
}

#define ALL_GROUPS	UINT_MAX

/*
 * List the first nr events of a group, and task-clock, which is the thread time, for perf_event;
 * allocated.
 */
static char *list_names(const struct events *events, unsigned int nr, unsigned int group)
{
	char *text = NULL;
	unsigned int i;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (i = 0; i < nr; i++)
		if (group == ALL_GROUPS || events->group[i] == group)
			fprintf(f, "%s,", events->ev[i].name);
	fputs("task-clock", f);
	fclose(f);
	return text;
}

/* getrusage(2) has these. */
#define SOFT_OF_USAGE	(VPERFCTR_SOFT_TASK_CLOCK | VPERFCTR_SOFT_CONTEXT_SWITCHES | VPERFCTR_SOFT_PAGE_FAULTS)

/*
 * True if perf_event may count nothing at all here, and what the kernel tells of each process that
 * was waited for is what is asked for: sums of a command with all that it starts.
 */
static bool only_usage(const struct choice *choice)
{
	const struct options *o = choice->o;
	struct vperfctr *v;
	int err;

	if (!*choice->module->text || o->targets.nr || options_cpus(o) || o->no_inherit ||
	    o->interval || o->delay || o->control || o->nrmetrics || o->detail)
		return false;
	err = __vperfctr_count_perf(&v, "task-clock", 0, VPERFCTR_PERF_EXEC | VPERFCTR_PERF_RAW,
				    NULL);
	if (!err)
		vperfctr_close(v);
	return err == -EACCES || err == -EPERM;
}

/* Take out the events that only perf_event counts.  Return: 0, or -1 with *e. */
static int refuse_for_usage(struct choice *choice, struct error *e)
{
	struct events *events = choice->events;
	unsigned int i = 0;
	char why[400];

	snprintf(why, sizeof(why), "perf_event may not be used, as kernel.perf_event_paranoid is %d, or a container forbids it: use sudo, or count by the module, for which /dev/vperfctr has a group",
		 read_number(PROC "/sys/kernel/perf_event_paranoid"));
	while (i < events->nr) {
		if (events->ev[i].soft && !(events->ev[i].soft & ~(uint32_t)SOFT_OF_USAGE))
			i++;
		else if (refusals_take(&choice->refused, events, i, NOT_PERMITTED, why, e))
			return -1;
	}
	return 0;
}

/* Take out the events that perf_event does not count alone.  Return: 0, or -1 with *e. */
static int refuse_for_perf(struct choice *choice, const struct error *module, struct error *e)
{
	struct events *events = choice->events;
	struct vperfctr_why why;
	struct vperfctr *v;
	unsigned int i = 0;
	int err;

	while (i < events->nr) {
		const char *name = events->ev[i].name;

		err = __vperfctr_count_perf(&v, name, 0, VPERFCTR_PERF_EXEC | VPERFCTR_PERF_RAW, &why);
		if (!err) {
			vperfctr_close(v);
			i++;
			continue;
		}
		switch (err) {
		case -EACCES:
		case -EPERM:
			snprintf(why.text, sizeof(why.text), "perf_event counts what happens in the kernel only with CAP_PERFMON, as kernel.perf_event_paranoid is %d: use sudo, or count by the module, for which /dev/vperfctr has a group",
				 read_number(PROC "/sys/kernel/perf_event_paranoid"));
			err = refusals_take(&choice->refused, events, i, NOT_PERMITTED, why.text, e);
			break;
		case -EBUSY:
			vperfctr_why(err, VPERFCTR_WHY_PERF, NULL, &why);
			return fail_both(e, module, why.text);
		default:
			err = refusals_take(&choice->refused, events, i, NOT_SUPPORTED, "perf_event has no such event here, or there is no PMU, as in many virtual machines: leave it out",
					    e);
		}
		if (err)
			return -1;
	}
	return 0;
}

/* Return: 0 if perf_event counts the first nr events of a group at once, or -errno with *why. */
static int try_group(const struct events *events, unsigned int nr, unsigned int group,
		     struct vperfctr_why *why)
{
	char *names = list_names(events, nr, group);
	struct vperfctr *v;
	int err = -ENOMEM;

	strcpy(why->text, "out of memory");
	if (names)
		err = __vperfctr_count_perf(&v, names, 0, 0, why);
	if (!err)
		vperfctr_close(v);
	free(names);
	return err;
}

/*
 * Divide the events into groups, each of which perf_event counts in one run: it knows which counters
 * there are.
 * Return: the number of groups, or -1 with *e
 */
static int group_for_perf(struct choice *choice, struct error *e)
{
	struct events *events = choice->events;
	unsigned int i, g, nr = 0;
	struct vperfctr_why why;

	for (i = 0; i < events->nr; i++) {
		/* Events after this one are in no group yet. */
		for (g = 0; g <= nr; g++) {
			events->group[i] = g;
			if (!try_group(events, i + 1, g, &why))
				break;
		}
		if (g > nr)
			return fail_both(e, choice->module, why.text);
		if (g == nr)
			nr++;
	}
	for (g = 0; g < nr; g++) {
		choice->perf_groups[g] = list_names(events, events->nr, g);
		if (!choice->perf_groups[g])
			return fail_with(e, "out of memory");
	}
	return (int)nr;
}

/*
 * Choose the events that perf_event counts, and count perfex itself for a moment: the command
 * must not run in vain.  Without -e, leave the last ones out until they fit the counters.
 * Return: the number of runs that the events need, or -1 with *e.
 */
static int choose_for_perf(const struct kinds *kinds, void *arg, struct error *e)
{
	struct choice *choice = arg;
	const struct error *module = choice->module;
	struct events *events = choice->events;
	struct vperfctr_why why;
	struct vperfctr *v;
	int err, nr;

	if (choose_events(kinds, choice, e) < 0)
		return -1;
	/* A metric is computed from all of its events. */
	if (!choice->metrics.nr && events->nr &&
	    (choice->usage ? refuse_for_usage(choice, e) : refuse_for_perf(choice, module, e)))
		return -1;
	if (choice->refused.nr && (choice->o->strict || !events->nr)) {
		struct error perf;

		refusals_fail(&choice->refused, &perf);
		return fail_both(e, module, perf.text);
	}
	if (choice->usage) {
		choice->perf = strdup(RUN_BY_USAGE);
		choice->by_perf.names = choice->perf;
		return choice->perf ? 1 : fail_with(e, "out of memory");
	}
	if (choice->o->runs_auto && events->nr) {
		choice->perf = list_names(events, events->nr, ALL_GROUPS);
		if (!choice->perf)
			return fail_with(e, "out of memory");
		nr = group_for_perf(choice, e);
		/* All of them may need more counters than there are. */
		choice->by_perf.names = choice->perf_groups[0] ? choice->perf_groups[0] : choice->perf;
		return nr;
	}
	for (;;) {
		free(choice->perf);
		choice->perf = list_names(events, events->nr, ALL_GROUPS);
		if (!choice->perf)
			return fail_with(e, "out of memory");
		err = __vperfctr_count_perf(&v, choice->perf, 0, 0, &why);
		if (!err)
			break;
		if (choice->o->nrspecs || choice->metrics.nr ||
		    (err != -ENOSPC && err != -EBUSY) || !events->nr)
			return fail_both(e, module, why.text);
		events->nr--;
	}
	vperfctr_close(v);
	choice->by_perf.names = choice->perf;
	return 1;
}

/* Count running threads or CPUs for a moment: what is not permitted is said before all else. */
static int try_places(const struct choice *choice, struct error *e)
{
	const struct targets *targets = &choice->o->targets;
	struct vperfctr *v = NULL;
	unsigned int i, nr;
	pid_t *tids;
	bool gone;
	int err;

	if (choice->cpus) {
		err = perf_count_cpus(&v, &choice->by_perf, choice->cpus->mask, e);
		vperfctr_close(v);
		return err;
	}
	for (i = 0; i < targets->nr; i++) {
		tids = perf_list_threads(&targets->target[i], &nr);
		gone = !nr;
		err = gone ? -1 : perf_count_threads(&v, &choice->by_perf, tids, 1, 0, &gone, e);
		vperfctr_close(v);
		v = NULL;
		free(tids);
		if (err && !gone)
			return -1;
	}
	return 0;
}

/* Count by perf_event.  module: why the module does not count, or no text. */
static int measure_perf(struct choice *choice, const struct error *module, struct cpus *cpus,
			struct output *out, struct error *e)
{
	const struct options *o = choice->o;
	struct kinds *kinds = &choice->kinds;
	struct error perf;
	int ret;

	kinds->nr = 1;
	__vperfctr_perf_info(kinds->info);
	kinds->info->tsc_khz = 1000000;
	if (!o->nrspecs || o->detail)
		perf_limit_generic(kinds->info);
	choice->module = module;
	choice->usage = only_usage(choice);
	choice->by_perf.inherit = !o->no_inherit && !options_cpus(o);
	choice->cpus = options_cpus(o) ? cpus : NULL;
	ret = choice->cpus ? cpus_choose_perf(cpus, o, kinds, choose_for_perf, choice, e) :
			     choose_for_perf(kinds, choice, e);
	if (ret < 0)
		return -1;
	if (try_places(choice, &perf))
		return fail_both(e, module, perf.text);
	if (*module->text)
		fprintf(stderr, "perfex: counts by %s: %s\n",
			choice->usage ? "getrusage, as perf_event may not be used" : "perf_event",
			module->text);
	choice->said = *module->text;
	return measure_choice(choice, (unsigned int)ret, out, e);
}

int backend_parse(enum backend *backend, const char *name, const char *what, struct error *e)
{
	static const char *const names[] = {
		[BACKEND_AUTO] = "auto", [BACKEND_MODULE] = "module", [BACKEND_PERF] = "perf",
	};
	unsigned int i;

	for (i = BACKEND_AUTO; i < ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i]))
			continue;
		*backend = (enum backend)i;
		return 0;
	}
	return fail_with(e, "%s is '%.40s', and may be auto, module or perf", what, name);
}

int backend_choose(enum backend *backend, const struct options *o, struct error *e)
{
	const char *variable = getenv("VPERFCTR_BACKEND");

	*backend = o->backend ? o->backend : BACKEND_AUTO;
	if (!o->backend && variable && *variable &&
	    backend_parse(backend, variable, "the environment variable VPERFCTR_BACKEND", e))
		return -1;
	if (*backend == BACKEND_PERF && !perf_can(o))
		return fail_with(e, "perf_event does not know kinds of CPUs: --kind and --per-kind need the module");
	return 0;
}

/*
 * True if perf_event counts what the module refuses.  Only where it may not, or has no counters:
 * what it refuses for another reason is not exact.
 */
static bool perf_counts_all(const struct choice *choice)
{
	const struct options *o = choice->o;
	struct vperfctr *v;
	unsigned int i;

	if (choice->backend != BACKEND_AUTO || !perf_can(o))
		return false;
	for (i = 0; i < choice->refused.nr && choice->kinds.info->nrctrs; i++)
		if (choice->refused.list[i].how != NOT_PERMITTED)
			return false;
	for (i = 0; i < o->nrspecs; i++) {
		if (__vperfctr_count_perf(&v, o->specs[i], 0, VPERFCTR_PERF_EXEC, NULL))
			return false;
		vperfctr_close(v);
	}
	return true;
}

/* Count by the module. */
static int measure_module(struct choice *choice, struct cpus *cpus, struct output *out,
			  struct error *e)
{
	const struct options *o = choice->o;
	int nrgroups = options_cpus(o) ? choose_for_cpus(choice, cpus, e) :
		kind_choose(o->kind, &o->targets, &choice->kinds, choose_events, choice, e);

	if (choice->refused.nr && perf_counts_all(choice)) {
		fail_with(e, "by the module, %.1100s", choice->refused.list->why);
		e->unusable = true;
		return -1;
	}
	return nrgroups < 0 ? -1 : measure_choice(choice, (unsigned int)nrgroups, out, e);
}

int measure(const struct options *o, struct output *out, struct error *e)
{
	struct error module = { .text = "" };
	struct choice choice = { .o = o };
	struct cpus cpus = { 0 };
	unsigned int i;
	int ret = -1;

	if (backend_choose(&choice.backend, o, e))
		return -1;
	if ((o->nrmetrics || o->detail) && metrics_load(e))
		return -1;
	e->unusable = false;
	if (choice.backend != BACKEND_PERF)
		ret = measure_module(&choice, &cpus, out, e);
	/* An error that the module causes is one before the command has run. */
	if (ret < 0 && e->unusable && choice.backend == BACKEND_AUTO && perf_can(o)) {
		module = *e;
		cpus_free(&cpus);
		cpus = (struct cpus){ 0 };
		choice.backend = BACKEND_PERF;
	}
	if (choice.backend == BACKEND_PERF)
		ret = measure_perf(&choice, &module, &cpus, out, e);
	cpus_free(&cpus);
	refusals_free(&choice.refused);
	free(choice.perf);
	for (i = 0; i < ARRAY_SIZE(choice.perf_groups); i++)
		free(choice.perf_groups[i]);
	return ret;
}
