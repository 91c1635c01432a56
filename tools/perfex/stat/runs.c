// SPDX-License-Identifier: GPL-2.0
/* Several runs of a command: -r, and events that need more than one. */
#include <stdlib.h>

#include "measuring.h"

/* ---- progress --------------------------------------------------------------------------- */

#define PROGRESS_AFTER	2	/* seconds */

/* Runs that are done. */
struct progress {
	struct timespec start;
	unsigned int done, all;	/* runs */
	bool shown;
	struct run_times *times;
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

/* ---- runs ------------------------------------------------------------------------------ */

/*
 * True if one more run may follow.  A signal that ended the command, or asked perfex to end,
 * was not meant for one run only.  It may have cut this run short.
 */
static bool may_run_again(const struct result *r)
{
	return !r->signalled && !run_told_to_end();
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
	const struct stat_options *o = choice->o;
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
		/* --pre has run for the first run if others had the counters then. */
		if ((!choice->again || progress->done) && before_run(o, e)) {
			hide_progress(progress);
			return -1;
		}
		do {
			err = choice->cpus ?
				cpus_count(choice->cpus, choice->counting->command, NO_TIMEOUT, control,
					   choice->perf ? &by_perf : NULL, &none, NULL, r, e) :
				run_command(choice->counting->command, control,
					    choice->perf ? by_perf.names : NULL, &none, r, e);
		} while (err && wait_for_counters(&patience, e));
		if (!err && r->complete)
			err = after_run(o, e);
		if (err) {
			hide_progress(progress);
			/* The command has run already, by the module. */
			if (progress->done)
				e->unusable = e->beside = false;
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
		if (progress->times->seconds)
			progress->times->seconds[progress->times->nr++] = r->elapsed;
		for (i = 0; i < nr_cpu_parts(choice); i++)
			series_add(&series[1 + i], &r->parts[i].sums, r);
	} while (series->nr < o->repeat);
	r->status = status;
	return 0;
}

void make_control(struct vperfctr_control *control, struct vperfctr_ctr *chosen,
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
			vperfctr_control_add_soft(control, events->ev[i].soft & ~TIMES_OF_RUN);
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
		memcpy(all->soft, group->soft, SOFT_ELAPSED * sizeof(*all->soft));
	for (i = SOFT_ELAPSED; i < NR_SOFT; i++)
		spread_merge(&all->soft[i], &group->soft[i]);
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
		      struct run_times *times, struct series *all, struct series *series,
		      struct result *r, struct error *e)
{
	const struct stat_options *o = choice->o;
	const struct events *events = choice->events;
	struct progress progress = {
		.all = nrgroups * (o->repeat ? o->repeat : 1), .times = times,
	};
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

int measure_series(const struct choice *choice, struct printing *p, unsigned int nrgroups,
		   uint32_t flags, struct series **all, struct result *r, struct error *e)
{
	unsigned int nr = 1 + nr_cpu_parts(choice);
	struct series *series = calloc(nr, sizeof(*series));
	int err;

	*all = calloc(nr, sizeof(**all));
	if (choice->o->table)
		p->times.seconds = calloc((size_t)nrgroups * choice->o->repeat, sizeof(double));
	if (!series || !*all || (choice->o->table && !p->times.seconds)) {
		free(series);
		return fail_with(e, "out of memory");
	}
	err = run_groups(choice, nrgroups, flags, &p->times, *all, series, r, e);
	free(series);
	p->nrgroups = nrgroups;
	if (!err && r->complete && (*all)->nr && choice->o->repeat > 1)
		p->series = *all;
	return err;
}
