// SPDX-License-Identifier: GPL-2.0
/* A counter for each event, in one run or in several. */
#include <errno.h>

#include "perfex.h"

int assign_counters(const struct events *events, const struct vperfctr_info *info,
		    unsigned int nrkinds, struct vperfctr_ctr ctr[][VPERFCTR_MAX_CTRS],
		    struct error *e)
{
	struct vperfctr_why why;
	unsigned int k;
	int err;

	for (k = 0; k < nrkinds; k++) {
		err = vperfctr_event_assign(ctr[k], events[k].ev, events[k].nr, &info[k], &why);
		if (err == -ENOSPC && events->together)
			return fail_with(e, "%s (metrics are computed from one run: ask for fewer at a time)",
					 why.text);
		if (err)
			return fail_with(e, "%s%s", why.text, err == -ENOSPC ?
					 " (--runs=auto counts them one after the other)" :
					 !info->nrctrs ?
					 ": leave -e out to get the software events" : "");
	}
	return 0;
}

/* Copy the first nr events that are in a group, and their indices among all. */
static void select_group(const struct events *all, unsigned int nrkinds, unsigned int nr,
			 unsigned int group, struct events *events, unsigned int *at)
{
	unsigned int i, k;

	for (k = 0; k < nrkinds; k++) {
		events[k].nr = 0;
		for (i = 0; i < nr; i++)
			if (all->group[i] == group) {
				at[events[k].nr] = i;
				events[k].ev[events[k].nr++] = all[k].ev[i];
			}
	}
}

/* Put each event into the first group that has room for it. */
int assign_groups(struct events *events, const struct vperfctr_info *info,
		  unsigned int nrkinds, struct vperfctr_ctr ctr[][VPERFCTR_MAX_CTRS],
		  struct error *e)
{
	struct vperfctr_ctr chosen[MAX_KINDS][VPERFCTR_MAX_CTRS];
	unsigned int at[VPERFCTR_MAX_CTRS], i, k, n, nr = 0;
	struct events some[MAX_KINDS];

	for (i = 0; i < events->nr; i++) {
		unsigned int *group = &events->group[i];

		/* Events after this one are in no group yet. */
		for (*group = 0; *group <= nr; ++*group) {
			select_group(events, nrkinds, i + 1, *group, some, at);
			if (!assign_counters(some, info, nrkinds, chosen, e))
				break;
		}
		if (*group > nr)
			return -1;
		if (*group == nr)
			nr++;
	}
	for (i = 0; i < nr; i++) {
		select_group(events, nrkinds, events->nr, i, some, at);
		assign_counters(some, info, nrkinds, chosen, e);
		for (k = 0; k < nrkinds; k++)
			for (n = 0; n < some->nr; n++)
				ctr[k][at[n]] = chosen[k][n];
	}
	return (int)nr;
}
