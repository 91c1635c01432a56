// SPDX-License-Identifier: GPL-2.0
/* A counter for each event, in one run or in several. */
#include <errno.h>

#include "perfex.h"

int assign_counters(const struct events *events, const struct vperfctr_info *info,
		    struct vperfctr_ctr *ctr, struct error *e)
{
	struct vperfctr_why why;
	int err = vperfctr_event_assign(events->ev, events->nr, info, ctr, &why);

	if (!err)
		return 0;
	return fail_with(e, "%s%s", why.text,
			 err == -ENOSPC ? " (--runs=auto counts them one after the other)" :
			 !info->nrctrs ? ": leave -e out to get the software events" : "");
}

/* Copy the events of a group, and their indices among all. */
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

/* Put each event into the first group that has room for it. */
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

		/* Events after this one are in no group yet. */
		events->nr = i + 1;
		for (*group = 0; *group < nr; ++*group) {
			select_group(events, *group, &some, at);
			if (!assign_counters(&some, info, chosen, e))
				break;
		}
		if (*group < nr)
			continue;
		select_group(events, nr, &some, at);
		err = assign_counters(&some, info, chosen, e);
		events->nr = all;
		if (err)
			return err;
		nr++;
	}
	for (i = 0; i < nr; i++) {
		select_group(events, i, &some, at);
		assign_counters(&some, info, chosen, e);
		for (k = 0; k < some.nr; k++)
			ctr[at[k]] = chosen[k];
	}
	return (int)nr;
}
