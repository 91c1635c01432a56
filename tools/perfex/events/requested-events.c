// SPDX-License-Identifier: GPL-2.0
/* The events that are asked for, by name. */
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "perfex.h"
#include "refused.h"

/* Software events, in the order in which perf stat prints them. */
static const char *const kernel_events[] = {
	"task-clock", "context-switches", "cpu-migrations", "page-faults",
};

unsigned int event_pmc(const struct events *events, unsigned int i)
{
	unsigned int k, n = 0;

	for (k = 0; k < i; k++)
		n += !events->ev[k].soft;
	return n;
}

/* perf's names of the times that perfex measures. */
static const struct {
	const char *name, *description;
	uint32_t time;
} times[] = {
	{ "duration_time", "elapsed time (nanoseconds, perfex stat)", TIME_ELAPSED },
	{ "user_time", "a command's time in user mode (nanoseconds, perfex stat)", TIME_USER },
	{ "system_time", "a command's time in kernel mode (nanoseconds, perfex stat)", TIME_SYSTEM },
};

const char *events_time(unsigned int i, struct vperfctr_event *event)
{
	if (i >= ARRAY_SIZE(times))
		return NULL;
	*event = (struct vperfctr_event){ .soft = times[i].time };
	strcpy(event->name, times[i].name);
	return times[i].description;
}

/*
 * Find an event that is a time, such as duration_time.  Return: false: it is no time.  In perf,
 * modes change nothing about it.
 */
static bool find_time(struct vperfctr_event *event, const char *name)
{
	const size_t length = strcspn(name, ":");
	const char *modes = name + length;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		if (strlen(times[i].name) != length || strncasecmp(name, times[i].name, length) ||
		    (*modes && (!modes[1] || modes[1 + strspn(modes + 1, "uk")])))
			continue;
		events_time(i, event);
		return true;
	}
	return false;
}

unsigned int event_soft(const struct vperfctr_event *event)
{
	if (is_time(event))
		return event->soft == TIME_ELAPSED ? SOFT_ELAPSED :
		       event->soft == TIME_USER ? SOFT_USER : SOFT_SYSTEM;
	if (event->soft == VPERFCTR_SOFT_PAGE_FAULTS)
		return SOFT_PAGE_FAULTS;
	return (unsigned int)__builtin_ctz(event->soft);
}

/* 'u', 'k': the mode of events whose names say none; 0: both */
static char only_mode;

void events_only_in(char mode)
{
	only_mode = mode;
}

static int add_mode(struct vperfctr_event *event, const struct vperfctr_info *info, struct error *e)
{
	const size_t before = strcspn(event->name, "@");
	struct vperfctr_why why;
	char name[sizeof(event->name)];
	int err;

	if (snprintf(name, sizeof(name), "%.*s:%c%s", (int)before, event->name, only_mode,
		     event->name + before) >= (int)sizeof(name))
		return fail_with(e, "the event name '%.40s...' is too long", event->name);
	err = vperfctr_event(event, name, info, &why);
	return err ? fail_event(e, err, name, info, &why) : 0;
}

/* refused: note an event that cannot be counted in there; NULL: it is an error. */
static int add_event(struct events *events, const char *name, const struct vperfctr_info *info,
		     struct refusals *refused, struct error *e)
{
	struct vperfctr_event *event = &events->ev[events->nr];
	struct vperfctr_why why;
	int err;

	if (!*name)
		return fail_with(e, "an event name is missing in the argument of -e");
	/* perf_event does not say how many there are. */
	if (events->nr == VPERFCTR_MAX_CTRS && info->nrctrs >= VPERFCTR_MAX_CTRS)
		return fail_with(e, "too many events: %u at most", VPERFCTR_MAX_CTRS);
	if (events->nr == VPERFCTR_MAX_CTRS)
		return fail_with(e, "too many events: %u at most, and this processor has %u counter%s",
				 VPERFCTR_MAX_CTRS, info->nrctrs, plural(info->nrctrs));
	if (find_time(event, name)) {
		events->group[events->nr++] = 0;
		return 0;
	}
	err = vperfctr_event(event, name, info, &why);
	if (err && err != -EPERM && event_of_perf(event, name, info))
		err = 0;
	if (err)
		fail_event(e, err, name, info, &why);
	/* perf_event may permit it. */
	e->unusable = err == -EPERM;
	if (refused && (err == -EPERM || err == -EOPNOTSUPP))
		return refusals_add(refused, events->nr,
				    err == -EPERM ? NOT_PERMITTED : NOT_SUPPORTED, name, e->text, e);
	if (err || (only_mode && event->modes_left && add_mode(event, info, e)))
		return -1;
	events->user_by_default |= event->modes_left && !(info->features & VPERFCTR_FEATURE_KERNEL);
	events->group[events->nr++] = 0;
	return 0;
}

int events_parse_some(struct events *events, const char *spec, const struct vperfctr_info *info,
		      struct refusals *refused, struct error *e)
{
	char *copy = event_spec_plain(spec, e), *rest = copy, *one;
	int err = 0;

	if (!copy)
		return -1;
	while (!err && (one = strsep(&rest, ",")))
		err = add_event(events, one, info, refused, e);
	free(copy);
	return err;
}

int events_parse(struct events *events, const char *spec,
		 const struct vperfctr_info *info, struct error *e)
{
	return events_parse_some(events, spec, info, NULL, e);
}

/* Add an event to those of each kind, or to none.  Return: whether it was added. */
static bool add_to_all(struct events *events, const char *name, const struct vperfctr_info *info,
		       unsigned int nrkinds)
{
	struct error ignored;
	unsigned int k;

	for (k = 0; k < nrkinds; k++)
		if (add_event(&events[k], name, &info[k], NULL, &ignored))
			break;
	if (k == nrkinds)
		return true;
	while (k-- > 0)
		events[k].nr--;
	return false;
}

/* An older module has none. */
void events_software(struct events *events, const struct vperfctr_info *info,
		     unsigned int nrkinds)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kernel_events); i++)
		add_to_all(events, kernel_events[i], info, nrkinds);
}

void events_default(struct events *events, const struct vperfctr_info *info,
		    unsigned int nrkinds, bool software)
{
	struct vperfctr_ctr ctr[MAX_KINDS][VPERFCTR_MAX_CTRS];
	struct error ignored;
	const char *name;
	unsigned int i, k;

	if (software)
		events_software(events, info, nrkinds);
	for (i = 0; (name = events_generic_name(i)); i++) {
		if (!add_to_all(events, name, info, nrkinds))
			continue;
		if (assign_counters(events, info, nrkinds, ctr, &ignored))
			for (k = 0; k < nrkinds; k++)
				events[k].nr--;
	}
}
