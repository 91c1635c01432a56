// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Choose a counter for each event.  Events never share a counter: if they do not fit,
 * they are refused.
 *
 * This is a bipartite matching.  Each event gets a free counter, or one that becomes free
 * by moving another event, which may move a third: an augmenting path.  If there is no
 * such path, no matching has room for this event and those before it.  The events that
 * the search has met are those that clash: together they use all counters that any of
 * them can use.
 */
#include <stdio.h>

#include "family.h"

#define NONE		UINT32_MAX
#define NR_COUNTERS	128		/* general ones, then fixed ones */
#define FIXED		64		/* number of the first fixed one */

struct matching {
	const struct vperfctr_event *event;
	unsigned int nr;
	uint32_t counter_of[VPERFCTR_MAX_CTRS];	/* event's counter */
	uint32_t event_of[NR_COUNTERS];		/* counter's event */
	bool seen[NR_COUNTERS];			/* visited in this search */
	uint64_t code_of[VPERFCTR_MAX_CTRS];	/* event's code: its own, or its twin's */
};

/* True if this counter can count the event. */
static bool can_count(const struct vperfctr_event *event, unsigned int counter)
{
	return (counter < FIXED ? event->general >> counter : event->fixed >> (counter - FIXED)) & 1;
}

static void put_event(struct matching *m, unsigned int i, unsigned int counter)
{
	m->counter_of[i] = counter;
	m->event_of[counter] = i;
}

/* Return a free counter for event i, or NR_COUNTERS.  Fixed ones first: few events can use them. */
static unsigned int find_free(const struct matching *m, unsigned int i)
{
	unsigned int k, counter;

	for (k = 0; k < NR_COUNTERS; k++) {
		counter = (k + FIXED) % NR_COUNTERS;
		if (m->event_of[counter] == NONE && can_count(&m->event[i], counter))
			return counter;
	}
	return NR_COUNTERS;
}

/* Find a counter for event i, moving others if needed.  The recursion is at most nr deep. */
static bool find_room(struct matching *m, unsigned int i)
{
	unsigned int counter = find_free(m, i);

	if (counter < NR_COUNTERS) {
		put_event(m, i, counter);
		return true;
	}
	for (counter = 0; counter < NR_COUNTERS; counter++) {
		if (m->seen[counter] || !can_count(&m->event[i], counter))
			continue;
		m->seen[counter] = true;
		if (find_room(m, m->event_of[counter])) {
			put_event(m, i, counter);
			return true;
		}
	}
	return false;
}

static unsigned int nr_choices(const struct vperfctr_event *event)
{
	return (unsigned int)(__builtin_popcountll(event->general) +
			      __builtin_popcountll(event->fixed));
}

/*
 * True if event i is placed in this turn.  Events without a choice come first, then
 * those that a free fixed counter can count, then the rest.  The order only decides which
 * of the possible counters an event gets, not whether all fit.
 */
static bool is_turn(const struct matching *m, unsigned int i, unsigned int turn)
{
	if (turn == 0)
		return nr_choices(&m->event[i]) == 1;
	return turn == 2 || (m->event[i].fixed && find_free(m, i) >= FIXED &&
			     find_free(m, i) < NR_COUNTERS);
}

/* ---- events that do not fit ------------------------------------------------------------- */

void __vperfctr_list_event(struct event_list *l, const struct vperfctr_event *event)
{
	size_t len = strlen(l->text), room = sizeof(l->text) - sizeof(", ...");

	if (l->full)
		return;
	l->full = len + strlen(", ") + strlen(event->name) > room;
	snprintf(l->text + len, sizeof(l->text) - len, "%s%s", l->nr++ ? ", " : "",
		 l->full ? "..." : event->name);
}

static int refuse_left(const struct event_list *left, const char *because,
			 const struct vperfctr_info *info, struct vperfctr_why *why)
{
	return __vperfctr_refuse(why, -ENOSPC,
				 "too many events: this processor has %d general and %d fixed counters, %u at once; no room for %s%s",
				 __builtin_popcountll(info->pmc_mask),
				 __builtin_popcountll(info->fixed_mask), info->nrctrs, left->text,
				 because);
}

/*
 * Refuse events, and name those that clash.  `failed` is the matching after the search for a
 * counter for event `culprit` failed.
 */
static int refuse_clash(const struct matching *m, const struct vperfctr_info *info,
			const struct matching *failed, unsigned int culprit,
			struct vperfctr_why *why)
{
	struct event_list left = { .nr = 0 }, clash = { .nr = 0 };
	uint64_t general = 0, fixed = 0;
	char counters[128], because[sizeof(counters) + sizeof(clash.text) + 32];
	unsigned int i;

	for (i = 0; i < m->nr; i++) {
		uint32_t counter = failed->counter_of[i];

		if (m->counter_of[i] == NONE)
			__vperfctr_list_event(&left, &m->event[i]);
		if (i != culprit && (counter == NONE || !failed->seen[counter]))
			continue;
		__vperfctr_list_event(&clash, &m->event[i]);
		general |= m->event[i].general;
		fixed |= m->event[i].fixed;
	}
	if (!general && !fixed)
		return __vperfctr_refuse(why, -EOPNOTSUPP, "no counter can count '%s'",
					 m->event[culprit].name);
	__vperfctr_describe(counters, sizeof(counters), general, fixed);
	snprintf(because, sizeof(because), ", as only %s can count %s", counters, clash.text);
	return refuse_left(&left, because, info, why);
}

/* ---- the whole assignment ------------------------------------------------------------------------ */

/* Return the bits that let a counter count in these modes. */
static uint64_t modes_in(unsigned int modes, uint64_t user, uint64_t kernel, const struct family *f)
{
	return (!(modes & VPERFCTR_MODE_USER) == f->excludes ? user : 0) |
	       (!(modes & VPERFCTR_MODE_KERNEL) == f->excludes ? kernel : 0);
}

static void set_ctr(struct vperfctr_ctr *ctr, const struct matching *m, unsigned int i,
		    const struct family *f)
{
	const struct vperfctr_event *event = &m->event[i];
	const uint32_t counter = m->counter_of[i];
	const uint64_t modes = modes_in(event->modes, f->user, f->kernel, f);
	const bool fixed = counter >= FIXED;

	memset(ctr, 0, sizeof(*ctr));
	ctr->map = fixed ? VPERFCTR_FIXED + (counter - FIXED) : counter;
	if (fixed) {
		ctr->evntsel = modes_in(event->modes, f->fixed_user, f->fixed_kernel, f);
		return;
	}
	ctr->evntsel = m->code_of[i] | f->enable | (f->modes_in_aux ? 0 : modes);
	ctr->aux = event->aux | (f->modes_in_aux ? modes : 0);
}

static int assign_hardware(const struct vperfctr_event *event, unsigned int nr,
			   const struct vperfctr_info *info, struct vperfctr_ctr *ctr,
			   struct vperfctr_why *why)
{
	struct matching m = { .event = event, .nr = nr }, failed = { .nr = 0 };
	const struct family *f = __vperfctr_family(info);
	struct event_list left = { .nr = 0 };
	unsigned int i, turn, culprit = 0;
	int err;

	if (nr && !info->nrctrs)
		return __vperfctr_refuse_without_counters(info, why);

	/* vperfctr_event_list() has such events, vperfctr_event() only with a counter. */
	for (i = 0; i < nr; i++)
		if (event[i].unknown && event[i].general & (event[i].general - 1))
			return __vperfctr_refuse_unknown(&event[i], info, why);
	memset(m.counter_of, 0xff, sizeof(m.counter_of));
	memset(m.event_of, 0xff, sizeof(m.event_of));
	for (i = 0; i < nr; i++)
		m.code_of[i] = event[i].code;
	for (turn = 0; turn <= 2; turn++)
		for (i = 0; i < nr; i++) {
			if (m.counter_of[i] != NONE || !is_turn(&m, i, turn))
				continue;
			memset(m.seen, 0, sizeof(m.seen));
			if (find_room(&m, i) || failed.nr)
				continue;
			failed = m;
			culprit = i;
		}
	if (failed.nr)
		return refuse_clash(&m, info, &failed, culprit, why);
	/* The processor may have more counters than can be used at once. */
	for (i = info->nrctrs; i < nr; i++)
		__vperfctr_list_event(&left, &event[i]);
	if (left.nr)
		return refuse_left(&left, "", info, why);
	err = f->place ? f->place(event, nr, m.counter_of, m.code_of, info, why) : 0;
	if (err)
		return err;
	for (i = 0; i < nr; i++)
		set_ctr(&ctr[i], &m, i, f);
	return 0;
}

int vperfctr_event_assign_sized(struct vperfctr_ctr *ctr, size_t ctr_size,
				const struct vperfctr_event *event, size_t event_size,
				unsigned int nr, const struct vperfctr_info *info,
				struct vperfctr_why *why)
{
	struct vperfctr_event hardware[VPERFCTR_MAX_CTRS], one;
	struct vperfctr_ctr chosen[VPERFCTR_MAX_CTRS];
	const struct vperfctr_ctr none = { 0 };
	bool soft[VPERFCTR_MAX_CTRS];
	struct vperfctr_info known;
	unsigned int i, n = 0;
	int err;

	if (!__vperfctr_is_size(event_size, EVENT_SIZE_VER0) ||
	    !__vperfctr_is_size(ctr_size, CTR_SIZE_VER0))
		return __vperfctr_refuse(why, -EINVAL, "an event has not %zu bytes, or a counter not %zu",
					 event_size, ctr_size);
	err = __vperfctr_get_info_why(&known, info, why);
	if (err)
		return err;

	if (nr > VPERFCTR_MAX_CTRS)
		return __vperfctr_refuse(why, -EINVAL, "too many events: %u at most",
					 VPERFCTR_MAX_CTRS);
	for (i = 0; i < nr; i++) {
		err = __vperfctr_get_struct(&one, sizeof(one), (const char *)event + i * event_size,
					    event_size);
		if (err)
			return __vperfctr_refuse(why, err, "'%s' is an event of a later library",
						 one.name);
		soft[i] = one.soft;
		if (!soft[i])
			hardware[n++] = one;
	}
	err = assign_hardware(hardware, n, &known, chosen, why);
	if (err)
		return err;
	for (i = n = 0; i < nr; i++)
		__vperfctr_put_struct((char *)ctr + i * ctr_size, ctr_size,
				      soft[i] ? &none : &chosen[n++], sizeof(none));
	return 0;
}
