// SPDX-License-Identifier: GPL-2.0
/* Counting as the options say: what, how often, and how it is printed. */
#include <stdlib.h>
#include <unistd.h>

#include "perfex.h"

static int choose_events(const struct options *o, const struct vperfctr_info *info,
			 struct events *events, struct vperfctr_ctr *ctr, struct error *e)
{
	unsigned int i;

	memset(events, 0, sizeof(*events));
	for (i = 0; i < o->nrspecs; i++)
		if (events_parse(events, o->specs[i], info, e))
			return -1;
	if (!o->nrspecs)
		events_default(events, info);
	return assign(events, info, ctr, e);
}

/* For "Counts of ...": the command, or the processes and threads; allocated. */
static char *describe(const struct options *o)
{
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
	if (!targets->nr) {
		for (arg = o->command; *arg; arg++)
			fprintf(f, "%s%s", arg == o->command ? "'" : " ", *arg);
		fputc('\'', f);
	}
	fclose(f);
	return text;
}

/* ---- intervals --------------------------------------------------------------------- */

struct ticks {
	const struct printing *printing;
	struct sums before;
};

static void on_tick(void *arg, double at, const struct sums *sums)
{
	struct ticks *t = arg;
	struct sums difference;
	unsigned int i;

	difference.tsc = sums->tsc - t->before.tsc;
	for (i = 0; i < VPERFCTR_MAX_CTRS; i++)
		difference.pmc[i] = sums->pmc[i] - t->before.pmc[i];
	t->before = *sums;
	print_interval(t->printing, at, &difference);
	fflush(t->printing->f);
}

/* ---- runs ------------------------------------------------------------------------------ */

#define PROGRESS_AFTER	2	/* seconds */

/* On a terminal, which somebody looks at, and only if it takes long. */
static void print_progress(unsigned int nr, unsigned int of, const struct timespec *start)
{
	if (isatty(STDERR_FILENO) && seconds_since(start) > PROGRESS_AFTER)
		fprintf(stderr, "  %u of %u runs\033[K\r", nr, of);
}

/* Of the parts only the first run's scope remains. */
static void take_means(struct result *r, const struct series *series)
{
	unsigned int i;

	for (i = 0; i < VPERFCTR_MAX_CTRS; i++)
		r->total.pmc[i] = (uint64_t)(series->pmc[i].mean + 0.5);
	r->total.tsc = (uint64_t)(series->tsc.mean + 0.5);
	r->elapsed = series->elapsed.mean;
}

/*
 * Ends early if a run could not be counted, which is the result then, or was ended
 * by a signal: that was not meant for one run only.
 */
static int run_series(const struct options *o, const struct vperfctr_control *control,
		      struct series *series, struct result *r, struct error *e)
{
	const struct interval none = { 0 };
	struct timespec start;
	int status = 0;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		if (series->nr) {
			result_free(r);
			print_progress(series->nr, o->repeat, &start);
		}
		if (run(o->command, control, &none, r, e))
			return -1;
		if (r->status)
			status = r->status;
		if (!r->complete)
			return 0;
		series_add(series, r);
	} while (series->nr < o->repeat && status < STATUS_SIGNAL);
	if (isatty(STDERR_FILENO))
		fputs("\033[K", stderr);
	r->status = status;
	take_means(r, series);
	return 0;
}

static int count_as_said(const struct options *o, struct printing *p,
			 struct vperfctr_control *control, struct result *r, struct error *e)
{
	struct ticks ticks = { .printing = p };
	struct interval interval = { o->interval, on_tick, &ticks };
	struct series series = { 0 };
	int err;

	if (o->targets.nr) {
		control->flags |= VPERFCTR_CONTROL_NO_AFFINITY;
		err = attach(&o->targets, o->command, o->timeout, control, &interval, r, e);
	} else {
		control->flags |= VPERFCTR_CONTROL_START_ON_EXEC;
		if (o->repeat > 1) {
			err = run_series(o, control, &series, r, e);
			if (r->complete)
				p->series = &series;
		} else {
			err = run(o->command, control, &interval, r, e);
		}
	}
	if (!err && (!o->interval || !r->complete))
		print_result(p, r);
	return err;
}

int count(const struct options *o, FILE *out, struct error *e)
{
	struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
	struct vperfctr_control control;
	struct result result = { 0 };
	struct vperfctr_info info;
	struct events events;
	struct printing p = {
		.f = out, .style = o->style, .separator = o->separator,
		.events = &events, .info = &info,
		.verbose = o->verbose, .per_thread = o->per_thread,
	};
	char *what;
	int err;

	err = vperfctr_info(&info, 0);
	if (err)
		return fail_device(e, err);
	if (choose_events(o, &info, &events, ctr, e))
		return -1;
	if (!o->no_inherit && !(info.features & VPERFCTR_FEATURE_INHERIT))
		return fail_with(e, "this module cannot count children: use --no-inherit");
	if (o->verbose)
		print_control(stderr, &events, ctr);

	vperfctr_control_init(&control, ctr);
	control.nractrs = events.nr;
	control.flags = o->no_inherit ? 0 : VPERFCTR_CONTROL_INHERIT;
	what = describe(o);
	p.what = what ? what : "?";
	err = count_as_said(o, &p, &control, &result, e);
	free(what);
	result_free(&result);
	return err ? -1 : result.complete ? result.status : -1;
}
