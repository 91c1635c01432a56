// SPDX-License-Identifier: GPL-2.0
/*
 * Which counter for which event.  Nobody shares: what does not fit is refused.
 *
 * An event can go to one certain fixed counter, to any general counter, or
 * both.  So it is best to give fixed counters first to those that can go
 * nowhere else, then to those that can, and the rest to general counters.
 */
#include "perfex.h"

#define UNASSIGNED	UINT32_MAX

static bool take(uint64_t *free_mask, unsigned int i)
{
	if (!(*free_mask >> i & 1))
		return false;
	*free_mask &= ~(UINT64_C(1) << i);
	return true;
}

static void set_fixed(const struct event *event, struct vperfctr_ctr *ctr)
{
	ctr->map = VPERFCTR_FIXED + event->fixed;
	ctr->evntsel = (event->kernel ? FIXED_OS : 0) | (event->user ? FIXED_USR : 0);
}

static void set_general(const struct event *event, struct vperfctr_ctr *ctr, unsigned int i)
{
	ctr->map = i;
	ctr->evntsel = event->code | EVNTSEL_EN |
		       (event->kernel ? EVNTSEL_OS : 0) | (event->user ? EVNTSEL_USR : 0);
	ctr->aux = event->aux;
}

static int fail_no_room(struct error *e, const struct events *events,
			const struct vperfctr_info *info, const struct vperfctr_ctr *ctr)
{
	unsigned int i, nr = 0;
	char names[256] = "";
	size_t len = 0;

	for (i = 0; i < events->nr; i++) {
		if (ctr[i].map != UNASSIGNED)
			continue;
		if (len < sizeof(names))
			len += snprintf(names + len, sizeof(names) - len, "%s%s",
					nr ? ", " : "", events->ev[i].name);
		nr++;
	}
	return fail_with(e, "too many events: this processor has %d general and %d fixed counters, %u at once; no room for %s%s (--runs=auto counts them one after the other)",
		    __builtin_popcountll(info->pmc_mask), __builtin_popcountll(info->fixed_mask),
		    info->nrctrs, names, len < sizeof(names) ? "" : "...");
}

/* Those for which a counter was chosen, and is there: see check_countable(). */
static int assign_pinned(const struct events *events, struct vperfctr_ctr *ctr,
			 uint64_t *general, uint64_t *fixed, unsigned int *nr, struct error *e)
{
	unsigned int i;

	for (i = 0; i < events->nr; i++) {
		const struct event *event = &events->ev[i];
		bool is_fixed = event->map & VPERFCTR_FIXED;

		if (!event->pinned)
			continue;
		if (!take(is_fixed ? fixed : general, event->map & ~VPERFCTR_FIXED))
			return fail_with(e, "the counter of '%s' is another event's already",
					 event->name);
		if (is_fixed)
			set_fixed(event, &ctr[i]);
		else
			set_general(event, &ctr[i], event->map);
		++*nr;
	}
	return 0;
}

int assign(const struct events *events, const struct vperfctr_info *info,
	   struct vperfctr_ctr *ctr, struct error *e)
{
	uint64_t general = info->pmc_mask, fixed = info->fixed_mask;
	unsigned int i, nr = 0;
	int only;

	if (events->nr && !info->nrctrs)
		return fail_with(e, "this processor (%s) has no counters that can be used: leave -e out to get the thread's time",
			    info->cpu_name);

	memset(ctr, 0, events->nr * sizeof(*ctr));
	for (i = 0; i < events->nr; i++)
		ctr[i].map = UNASSIGNED;

	if (assign_pinned(events, ctr, &general, &fixed, &nr, e))
		return -1;
	for (only = 1; only >= 0; only--)
		for (i = 0; i < events->nr && nr < info->nrctrs; i++) {
			const struct event *event = &events->ev[i];

			if (event->fixed == NO_FIXED || event->fixed_only != only ||
			    ctr[i].map != UNASSIGNED)
				continue;
			if (take(&fixed, event->fixed)) {
				set_fixed(event, &ctr[i]);
				nr++;
			}
		}

	for (i = 0; i < events->nr && nr < info->nrctrs; i++) {
		const struct event *event = &events->ev[i];
		int pmc = __builtin_ffsll(general) - 1;

		if (ctr[i].map != UNASSIGNED || event->fixed_only || pmc < 0)
			continue;
		take(&general, pmc);
		set_general(event, &ctr[i], pmc);
		nr++;
	}

	return nr == events->nr ? 0 : fail_no_room(e, events, info, ctr);
}

/* The events of a group, and where they are among all. */
static void select_group(const struct events *all, unsigned int group, struct events *events,
			 unsigned int *at)
{
	unsigned int i;

	events->nr = 0;
	for (i = 0; i < all->nr; i++)
		if (all->ev[i].group == group) {
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
		/* Those after it are in no group yet. */
		events->nr = i + 1;
		for (events->ev[i].group = 0; events->ev[i].group < nr; events->ev[i].group++) {
			select_group(events, events->ev[i].group, &some, at);
			if (!assign(&some, info, chosen, e))
				break;
		}
		if (events->ev[i].group < nr)
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
