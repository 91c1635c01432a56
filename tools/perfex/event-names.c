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
		if (assign_counters(events, info, ctr, &ignored))
			events->nr--;
	}
}
