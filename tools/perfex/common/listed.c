// SPDX-License-Identifier: GPL-2.0
/*
 * Lists of names with commas, as -e and --comm have them.
 *
 * Names of perf's events have commas, too: cpu/event=0xc0,umask=0/.  So a list is never divided at
 * its commas, but compared with the names that there are.
 */
#include <string.h>

#include "perfex.h"

/* Return: what follows a name with which the list begins; NULL: it begins with another one */
static const char *after_name(const char *list, const char *name)
{
	const size_t length = strlen(name);

	return !strncmp(list, name, length) && (!list[length] || list[length] == ',') ?
	       list + length : NULL;
}

/*
 * The clock has two names, and :u is added where only user mode may be sampled.  So -e may say it
 * as it was said to perfex record.  Return: as after_name()
 */
static const char *after_clock(const char *list, const char *name)
{
	static const char *const clocks[] = { "task-clock", "cpu-clock" };
	const char *modes = strchr(name, ':'), *after;
	const size_t length = modes ? (size_t)(modes - name) : strlen(name);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++)
		if (strlen(clocks[i]) == length && !strncmp(name, clocks[i], length))
			break;
	if (i == ARRAY_SIZE(clocks))
		return NULL;
	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		after = after_name(list, clocks[i]);
		if (after)
			return after;
		if (modes && !strncmp(list, clocks[i], strlen(clocks[i])))
			after = after_name(list + strlen(clocks[i]), modes);
		if (after)
			return after;
	}
	return NULL;
}

/* The same as after_name() for names of events. */
static const char *after_event(const char *list, const char *name)
{
	const char *after = after_name(list, name);

	return after ? after : after_clock(list, name);
}

static bool is_event_listed(const char *list, const char *name)
{
	for (; list; list = *list ? list + 1 : NULL) {
		if (after_event(list, name))
			return true;
		list += strcspn(list, ",");
	}
	return false;
}

bool is_listed(const char *list, const char *name)
{
	for (; list; list = *list ? list + 1 : NULL) {
		if (after_name(list, name))
			return true;
		list += strcspn(list, ",");
	}
	return false;
}

bool wants_event(const struct event_list *events, const char *name)
{
	unsigned int i;

	for (i = 0; i < events->nr; i++)
		if (is_event_listed(events->spec[i], name))
			return true;
	return !events->nr;
}

/* Return: what follows the longest of the names with which the list begins, or NULL */
static const char *after_any(const char *list, const struct names *names)
{
	const char *after = NULL, *end, *name;
	size_t i;

	for (i = 0; (name = names->get(names, i)); i++) {
		end = after_event(list, name);
		if (end && (!after || end > after))
			after = end;
	}
	return after;
}

/* Fail, and say which names there are. */
static int fail_name(struct error *e, const char *where, const char *list, const struct names *names)
{
	const size_t length = strcspn(list, ",");
	char text[300] = "";
	const char *name;
	size_t i, end = 0;

	for (i = 0; (name = names->get(names, i)); i++) {
		if (end + strlen(name) + 10 > sizeof(text)) {
			strcpy(text + end, ", ...");
			break;
		}
		end += (size_t)sprintf(text + end, "%s%s", i ? ", " : "", name);
	}
	return fail_with(e, "%s '%.*s', which -e names%s%s", where, length < 200 ? (int)length : 200,
			 list, *text ? ": there is " : "", text);
}

int check_events(const struct event_list *events, const struct names *names, const char *where,
		 struct error *e)
{
	const char *list, *after;
	unsigned int i;

	for (i = 0; i < events->nr; i++) {
		list = events->spec[i];
		if (!list[strspn(list, ",")])
			return fail_with(e, "-e has no name of an event: '%.200s'", list);
		for (; list; list = *after ? after + 1 : NULL) {
			after = after_any(list, names);
			if (after)
				continue;
			after = list + strcspn(list, ",");
			/* Two commas are no name. */
			if (after != list)
				return fail_name(e, where, list, names);
		}
	}
	return 0;
}
