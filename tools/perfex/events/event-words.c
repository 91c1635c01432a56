// SPDX-License-Identifier: GPL-2.0
/* Find words in the names and descriptions of events. */
#include "perfex.h"

bool event_has_words(const struct vperfctr_event *event, const char *description,
		      char *const *words)
{
	for (; *words; words++)
		if (!strcasestr(event->name, *words) && !strcasestr(description, *words))
			return false;
	return true;
}

static int find_word(const struct vperfctr_event *event, const char *description, void *arg)
{
	const char *word = arg;

	return (event->general || event->fixed) &&
	       event_has_words(event, description, (char *const []){ (char *)word, NULL });
}

bool list_has_word(const char *word, const struct vperfctr_info *info)
{
	return vperfctr_event_list(info, find_word, (void *)word) > 0;
}
