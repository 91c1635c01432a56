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
		if (is_listed(events->spec[i], name))
			return true;
	return !events->nr;
}

/* Return: what follows the longest of the names with which the list begins, or NULL */
static const char *after_any(const char *list, const struct names *names)
{
	const char *after = NULL, *end, *name;
	size_t i;

	for (i = 0; (name = names->get(names, i)); i++) {
		end = after_name(list, name);
		if (end && (!after || end > after))
			after = end;
	}
	return after;
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
				return fail_with(e, "%s '%.*s', which -e names", where,
						 after - list < 200 ? (int)(after - list) : 200, list);
		}
	}
	return 0;
}
