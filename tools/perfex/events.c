// SPDX-License-Identifier: GPL-2.0
/* The events that are asked for, and a counter for each. */
#include <errno.h>
#include <stdlib.h>

#include "perfex.h"

/* Generic names, in the order in which they are counted as long as there is room. */
static const char *const generic[] = {
	"instructions", "cycles", "branches", "branch-misses", "ref-cycles",
	"cache-references", "cache-misses",
};

const char *events_generic_name(unsigned int i)
{
	return i < ARRAY_SIZE(generic) ? generic[i] : NULL;
}

/* What perf stat counts besides, without a counter: by the names that people are used to. */
static bool is_software(const char *name)
{
	static const char *const names[] = {
		"alignment-faults", "context-switches", "cpu-clock", "cpu-migrations", "cs",
		"duration_time", "emulation-faults", "faults", "major-faults", "migrations",
		"minor-faults", "page-faults", "system_time", "task-clock", "user_time",
	};
	size_t i, len = strcspn(name, ":");

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(name, names[i], len) && !names[i][len])
			return true;
	return false;
}

/* What the library says, and what to do about it here. */
static int fail_event(struct error *e, int err, const char *name, const struct vperfctr_why *why)
{
	const char *hint = "";

	if (err == -EPERM)
		return fail_kernel_mode(e, name);
	if (err == -ENOENT && is_software(name))
		return fail_with(e, "'%s' is counted by the kernel, not by the processor: use perf stat for it",
				 name);
	if (err == -ENOENT && strpbrk(name, "{}"))
		return fail_with(e, "'%s': there are no groups with braces, as all events are counted together",
				 name);
	if (err == -ENOENT && !strstr(why->text, "did you mean"))
		hint = ": perfex list shows those that there are, perfex --help how raw ones are written";
	else if (strstr(why->text, "this processor has no"))
		hint = ": see perfex -i";
	else if (strstr(why->text, "cannot count that event"))
		hint = ": see perfex list";
	return fail_with(e, "%s%s", why->text, hint);
}

static int add_event(struct events *events, const char *name,
		     const struct vperfctr_info *info, struct error *e)
{
	struct vperfctr_event *event = &events->ev[events->nr];
	struct vperfctr_why why;
	int err;

	if (!*name)
		return fail_with(e, "an event name is missing in the argument of -e");
	if (events->nr == VPERFCTR_MAX_CTRS)
		return fail_with(e, "too many events: %u at most, and this processor has %u counters",
				 VPERFCTR_MAX_CTRS, info->nrctrs);
	err = vperfctr_event(event, name, info, &why);
	if (err)
		return fail_event(e, err, name, &why);
	events->user_by_default |= event->modes_left && !(info->features & VPERFCTR_FEATURE_KERNEL);
	events->group[events->nr++] = 0;
	return 0;
}

int events_parse(struct events *events, const char *spec,
		 const struct vperfctr_info *info, struct error *e)
{
	char *copy = strdup(spec), *rest = copy, *one;
	int err = 0;

	if (!copy)
		return fail_with(e, "out of memory");
	while (!err && (one = strsep(&rest, ",")))
		err = add_event(events, one, info, e);
	free(copy);
	return err;
}

void events_default(struct events *events, const struct vperfctr_info *info)
{
	struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
	struct error ignored;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(generic); i++) {
		if (add_event(events, generic[i], info, &ignored))
			continue;
		if (assign(events, info, ctr, &ignored))
			events->nr--;
	}
}

int assign(const struct events *events, const struct vperfctr_info *info,
	   struct vperfctr_ctr *ctr, struct error *e)
{
	struct vperfctr_why why;
	int err = vperfctr_event_assign(events->ev, events->nr, info, ctr, &why);

	if (!err)
		return 0;
	return fail_with(e, "%s%s", why.text,
			 err == -ENOSPC ? " (--runs=auto counts them one after the other)" :
			 !info->nrctrs ? ": leave -e out to get the thread's time" : "");
}

/* The events of a group, and where they are among all. */
static void select_group(const struct events *all, unsigned int group, struct events *events,
			 unsigned int *at)
{
	unsigned int i;

	events->nr = 0;
	for (i = 0; i < all->nr; i++)
		if (all->group[i] == group) {
			at[events->nr] = i;
			events->ev[events->nr++] = all->ev[i];
		}
}

/* Each event goes to the first group where there is room for it. */
int assign_groups(struct events *events, const struct vperfctr_info *info,
		  struct vperfctr_ctr *ctr, struct error *e)
{
	struct vperfctr_ctr chosen[VPERFCTR_MAX_CTRS];
	unsigned int at[VPERFCTR_MAX_CTRS], i, k, nr = 0;
	const unsigned int all = events->nr;
	struct events some = { 0 };
	int err;

	for (i = 0; i < all; i++) {
		unsigned int *group = &events->group[i];

		/* Those after it are in no group yet. */
		events->nr = i + 1;
		for (*group = 0; *group < nr; ++*group) {
			select_group(events, *group, &some, at);
			if (!assign(&some, info, chosen, e))
				break;
		}
		if (*group < nr)
			continue;
		select_group(events, nr, &some, at);
		err = assign(&some, info, chosen, e);
		events->nr = all;
		if (err)
			return err;
		nr++;
	}
	for (i = 0; i < nr; i++) {
		select_group(events, i, &some, at);
		assign(&some, info, chosen, e);
		for (k = 0; k < some.nr; k++)
			ctr[at[k]] = chosen[k];
	}
	return (int)nr;
}
