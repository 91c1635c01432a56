// SPDX-License-Identifier: GPL-2.0
/* Choose the events to count, by the module or by perf_event, and the runs that they need. */
#include "measuring.h"
#include "refused.h"

#define TOP_COLUMNS	4	/* of perfex top without -e */

/* The module counts these for threads only, and CPUs only with an event of the processor. */
static int refuse_software(const struct events *events, struct error *e)
{
	unsigned int i, nrtimes = 0;

	for (i = 0; i < events->nr; i++)
		if (is_time(&events->ev[i]))
			nrtimes++;
		else if (events->ev[i].soft)
			break;
	if (i == events->nr && (!nrtimes || nrtimes < events->nr))
		return 0;
	if (i < events->nr)
		fail_with(e, "the module counts '%s' for threads, and not for CPUs: leave it out, or count by perf_event",
			  events->ev[i].name);
	else
		fail_with(e, "the module counts CPUs by events of the processor: add one, or count by perf_event");
	e->unusable = true;
	return -1;
}

/* The kernel tells the times of a command in its modes when it has ended, and for all of it. */
static int refuse_times(const struct choice *choice, struct error *e)
{
	const struct count_options *c = choice->counting;
	const struct events *events = choice->events;
	const struct stat_options *o = choice->o;
	unsigned int i;

	for (i = 0; i < events->nr; i++) {
		const char *name = events->ev[i].name;

		if (is_time(&events->ev[i]) && (o->top || o->prometheus))
			return fail_with(e, "'%s' is for perfex stat: leave it out here", name);
		if (is_time_of_command(&events->ev[i]) &&
		    (c->targets.nr || counts_cpus(c) || o->interval || o->delay || o->control))
			return fail_with(e, "'%s' is the time of a command, from its start to its end: with -p, -t, -a, -C, -I, -D and --control count cycles%s, or task-clock",
					 name, events->ev[i].soft == TIME_USER ? ":u" : ":k");
	}
	return 0;
}

/* Add the metrics that are asked for, and their events. */
static int choose_metrics(const struct kinds *kinds, struct choice *choice, struct error *e)
{
	const struct stat_options *o = choice->o;
	unsigned int i;

	memset(&choice->metrics, 0, sizeof(choice->metrics));
	for (i = 0; i < o->nrmetrics; i++)
		if (metrics_choose(&choice->metrics, o->metrics[i], choice->events, kinds->info,
				   kinds->nr, e))
			return -1;
	return !o->detail ? 0 : metrics_detail(&choice->metrics, o->detail, choice->events,
					       kinds->info, kinds->nr, e);
}

int choose_events(const struct kinds *kinds, void *arg, struct error *e)
{
	struct choice *choice = arg;
	const struct stat_options *o = choice->o;
	struct events *events = choice->events;
	unsigned int i, k;

	memset(events, 0, sizeof(choice->events));
	refusals_free(&choice->refused);
	/* Each of several kinds could refuse another event. */
	for (k = 0; k < kinds->nr; k++)
		for (i = 0; i < choice->counting->events.nr; i++)
			if (events_parse_some(&events[k], choice->counting->events.spec[i], &kinds->info[k],
					      kinds->info->nrkinds > 1 ? NULL : &choice->refused, e))
				return -1;
	if (o->detail && !choice->counting->events.nr && !counts_cpus(choice->counting))
		events_software(events, kinds->info, kinds->nr);
	events->asked = events->nr;
	if (choose_metrics(kinds, choice, e) || refuse_times(choice, e))
		return -1;
	if (choice->refused.nr && (o->strict || !events->nr))
		return refusals_fail(&choice->refused, e);
	if (!events->nr && !choice->metrics.nr) {
		events_default(events, kinds->info, kinds->nr,
			       !counts_cpus(choice->counting) || choice->backend == BACKEND_PERF);
		/* More columns would be wider than many terminals. */
		for (k = 0; o->top && k < kinds->nr; k++)
			if (events[k].nr > TOP_COLUMNS)
				events[k].nr = TOP_COLUMNS;
	}
	if (counts_cpus(choice->counting) && choice->backend != BACKEND_PERF && refuse_software(events, e))
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
