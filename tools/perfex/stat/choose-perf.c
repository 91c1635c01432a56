// SPDX-License-Identifier: GPL-2.0
/* Choose what perf_event counts, where the module cannot. */
#include <limits.h>
#include <stdlib.h>

#include "measuring.h"

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
		if ((group == ALL_GROUPS || events->group[i] == group) && !is_time(&events->ev[i]))
			fprintf(f, "%s,", events->ev[i].name);
	fputs("task-clock", f);
	fclose(f);
	return text;
}

/* getrusage(2) has these. */
#define SOFT_OF_USAGE	(VPERFCTR_SOFT_TASK_CLOCK | VPERFCTR_SOFT_CONTEXT_SWITCHES | VPERFCTR_SOFT_PAGE_FAULTS | \
			 TIMES_OF_RUN)

/*
 * True if perf_event may count nothing at all here, and what the kernel tells of each process that
 * was waited for is what is asked for: sums of a command with all that it starts.
 */
static bool only_usage(const struct choice *choice)
{
	const struct count_options *c = choice->counting;
	const struct stat_options *o = choice->o;
	struct vperfctr *v;
	int err;

	if (!*choice->module->text || c->targets.nr || counts_cpus(c) || c->no_inherit ||
	    o->interval || o->delay || o->control || o->nrmetrics || o->detail)
		return false;
	err = vperfctr_perf_open(&v, "task-clock", 0, VPERFCTR_PERF_EXEC | VPERFCTR_PERF_RAW,
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

		if (is_time(&events->ev[i])) {
			i++;
			continue;
		}
		err = vperfctr_perf_open(&v, name, 0, VPERFCTR_PERF_EXEC | VPERFCTR_PERF_RAW, &why);
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

/*
 * Try to open the first events of a group by perf_event.  Return: 0 if perf_event counts the
 * first nr events of a group at once, or -errno with *why.
 */
static int try_group(const struct events *events, unsigned int nr, unsigned int group,
		     struct vperfctr_why *why)
{
	char *names = list_names(events, nr, group);
	struct vperfctr *v;
	int err = -ENOMEM;

	strcpy(why->text, "out of memory");
	if (names)
		err = vperfctr_perf_open(&v, names, 0, 0, why);
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

	if (choose_events(kinds, choice, e) < 0) {
		struct error perf = *e;

		/* The module may be able to count it. */
		return choice->o->nrmetrics ? fail_both(e, module, perf.text) : -1;
	}
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
		err = vperfctr_perf_open(&v, choice->perf, 0, 0, &why);
		if (!err)
			break;
		if (choice->counting->events.nr || choice->metrics.nr ||
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
	const struct targets *targets = &choice->counting->targets;
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
		/* If the list fails, the counting says why. */
		gone = perf_list_threads(&targets->target[i], &tids, &nr);
		err = gone ? -1 : perf_count_threads(&v, &choice->by_perf, tids, 1, 0, &gone, e);
		vperfctr_close(v);
		v = NULL;
		free(tids);
		if (err && !gone)
			return -1;
	}
	return 0;
}

int choose_perf(struct choice *choice, const struct error *module, struct cpus *cpus,
		struct error *e)
{
	const struct stat_options *o = choice->o;
	struct kinds *kinds = &choice->kinds;
	struct error perf;
	int ret;

	kinds->nr = 1;
	vperfctr_perf_info(kinds->info);
	kinds->info->tsc_khz = 1000000;
	if (!choice->counting->events.nr || o->detail)
		perf_limit_generic(kinds->info);
	choice->module = module;
	choice->usage = only_usage(choice);
	choice->by_perf.inherit = !choice->counting->no_inherit && !counts_cpus(choice->counting);
	choice->cpus = counts_cpus(choice->counting) ? cpus : NULL;
	ret = choice->cpus ? cpus_choose_perf(cpus, choice->counting, kinds, choose_for_perf, choice, e) :
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
	return ret;
}

bool perf_counts_all(const struct choice *choice)
{
	struct vperfctr *v;
	unsigned int i;

	if (choice->backend != BACKEND_AUTO || !backend_perf_can(choice->counting))
		return false;
	for (i = 0; i < choice->refused.nr && choice->kinds.info->nrctrs; i++)
		if (choice->refused.list[i].how != NOT_PERMITTED)
			return false;
	for (i = 0; i < choice->counting->events.nr; i++) {
		if (vperfctr_perf_open(&v, choice->counting->events.spec[i], 0, VPERFCTR_PERF_EXEC, NULL))
			return false;
		vperfctr_close(v);
	}
	return true;
}
