// SPDX-License-Identifier: GPL-2.0
/* Fuzz names of events, one in a line, as vperfctr_event() and perfex -e take them. */
#include <errno.h>
#include <vperfctr-event.h>

#include "fake.h"
#include "fuzz.h"

#define MAX_EVENTS	40

/* A failure has a message, with its end. */
static void check_why(int err, const struct vperfctr_why *why)
{
	if (err && (!why->text[0] || !memchr(why->text, '\0', sizeof(why->text))))
		abort();
}

void fuzz_one(const uint8_t *data, size_t size)
{
	struct vperfctr_event event[MAX_EVENTS];
	struct vperfctr_ctr ctr[MAX_EVENTS];
	struct vperfctr_why why;
	char *text = malloc(size + 1), *line, *rest = text;
	unsigned int nr = 0, i, k;
	int err;

	setenv("LIBPFM_FORCE_PMU", "snb", 1);
	fake_reset();
	memcpy(text, data, size);
	text[size] = '\0';
	while (nr < MAX_EVENTS && (line = strsep(&rest, "\n"))) {
		memset(&why, 0, sizeof(why));
		err = vperfctr_event(&event[nr], line, &fake.info, &why);
		check_why(err, &why);
		nr += !err;
	}
	memset(&why, 0, sizeof(why));
	err = vperfctr_event_assign(ctr, event, nr, &fake.info, &why);
	check_why(err, &why);
	/* No counter is given to two events. */
	for (i = 0; !err && i < nr; i++)
		for (k = 0; k < i; k++)
			if (ctr[i].map == ctr[k].map)
				abort();
	free(text);
}
