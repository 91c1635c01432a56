// SPDX-License-Identifier: GPL-2.0
/* The generic names of events. */
#include "perfex.h"

/* Generic names, in the order in which events_default() adds them. */
static const char *const generic[] = {
	"instructions", "cycles", "branches", "branch-misses", "ref-cycles",
	"cache-references", "cache-misses",
};

const char *events_generic_name(unsigned int i)
{
	return i < ARRAY_SIZE(generic) ? generic[i] : NULL;
}

bool is_generic(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(generic); i++)
		if (!strcmp(name, generic[i]))
			return true;
	return !strcmp(name, "cpu-cycles") || !strcmp(name, "branch-instructions");
}
