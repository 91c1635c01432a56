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
 *
 * Second registers are few and belong to no counter.  Events that need the same one fit
 * together if they need the same value in it.
 */
#include <stdio.h>

#include "event.h"

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

struct list {
	char text[384];
	unsigned int nr;
	bool full;
};

static void list_name(struct list *l, const struct vperfctr_event *event)
{
	size_t len = strlen(l->text), room = sizeof(l->text) - sizeof(", ...");

	if (l->full)
		return;
	l->full = len + strlen(", ") + strlen(event->name) > room;
	snprintf(l->text + len, sizeof(l->text) - len, "%s%s", l->nr++ ? ", " : "",
		 l->full ? "..." : event->name);
}

static int refuse_left(const struct list *left, const char *because,
			 const struct vperfctr_info *info, struct vperfctr_why *why)
{
	return __vperfctr_refuse(why, -ENOSPC,
				 "too many events: this processor has %d general and %d fixed counters, %u at once; no room for %s%s",
				 __builtin_popcountll(info->pmc_mask),
				 __builtin_popcountll(info->fixed_mask), info->nrctrs, left->text,
				 because);
}

/* `failed` is the matching after the search for a counter for event `culprit` failed. */
static int refuse_clash(const struct matching *m, const struct vperfctr_info *info,
			const struct matching *failed, unsigned int culprit,
			struct vperfctr_why *why)
{
	struct list left = { .nr = 0 }, clash = { .nr = 0 };
	uint64_t general = 0, fixed = 0;
	char counters[128], because[sizeof(counters) + sizeof(clash.text) + 32];
	unsigned int i;

	for (i = 0; i < m->nr; i++) {
		uint32_t counter = failed->counter_of[i];

		if (m->counter_of[i] == NONE)
			list_name(&left, &m->event[i]);
		if (i != culprit && (counter == NONE || !failed->seen[counter]))
			continue;
		list_name(&clash, &m->event[i]);
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

/* ---- second registers ---------------------------------------------------------------- */

/* True if events i and k need different values in one register, which their codes select. */
static bool disagree(const struct matching *m, unsigned int i, uint64_t code, unsigned int k)
{
	return !((code ^ m->code_of[k]) & (EVNTSEL_EVENT | EVNTSEL_UMASK)) &&
	       m->event[i].aux != m->event[k].aux;
}

/* True if event i, with this code, fits together with all events before it. */
static bool agrees(const struct matching *m, unsigned int i, uint64_t code)
{
	unsigned int k;

	for (k = 0; k < i; k++)
		if (disagree(m, i, code, k))
			return false;
	return true;
}

static int refuse_registers(const struct matching *m, unsigned int i, uint64_t twin,
			    struct vperfctr_why *why)
{
	const struct vperfctr_event *event = &m->event[i];
	struct list others = { .nr = 0 };
	unsigned int k;

	for (k = 0; k < i; k++)
		if (disagree(m, i, event->code, k) || disagree(m, i, twin, k))
			list_name(&others, &m->event[k]);
	return __vperfctr_refuse(why, -ENOSPC,
				 "too many events: no room for %s, whose second register has another value for %s",
				 event->name, others.text);
}

/* True if an event before i uses this code's register with the value that event i needs. */
static bool has_value(const struct matching *m, unsigned int i, uint64_t code)
{
	unsigned int k;

	for (k = 0; k < i; k++)
		if (!((code ^ m->code_of[k]) & (EVNTSEL_EVENT | EVNTSEL_UMASK)) &&
		    m->event[i].aux == m->event[k].aux)
			return true;
	return false;
}

/*
 * Choose between an event and its twin, which is the same event with another register.
 * Use a free register only for a value that no register has yet.
 */
static int share_registers(struct matching *m, const struct vperfctr_info *info,
			   struct vperfctr_why *why)
{
	uint64_t code, twin;
	unsigned int i;

	for (i = 0; i < m->nr; i++) {
		code = m->event[i].code;
		twin = __vperfctr_event_twin(info, code);
		if (!has_value(m, i, code) && (has_value(m, i, twin) || !agrees(m, i, code))) {
			if (!agrees(m, i, twin))
				return refuse_registers(m, i, twin, why);
			code = twin;
		}
		m->code_of[i] = code;
	}
	return 0;
}

/* ---- the whole assignment ------------------------------------------------------------------------ */

static void set_ctr(struct vperfctr_ctr *ctr, const struct matching *m, unsigned int i,
		    const struct vperfctr_info *info)
{
	const struct vperfctr_event *event = &m->event[i];
	const uint32_t counter = m->counter_of[i];
	const bool user = event->modes & VPERFCTR_MODE_USER;
	const bool kernel = event->modes & VPERFCTR_MODE_KERNEL;
	const bool fixed = counter >= FIXED;

	memset(ctr, 0, sizeof(*ctr));
	if (is_p4(info)) {
		ctr->map = counter;
		ctr->evntsel = event->code | P4_CCCR_ENABLE | P4_CCCR_THREADS;
		ctr->aux = event->aux | (kernel ? P4_ESCR_T0_OS : 0) | (user ? P4_ESCR_T0_USR : 0);
		return;
	}
	if (is_old(info)) {
		ctr->map = counter;
		ctr->evntsel = event->code;
		ctr->aux = event->aux;
		if (!is_modeless(info))
			ctr->evntsel |= (kernel ? OLD_OS : 0) | (user ? OLD_USR : 0);
		return;
	}
	ctr->map = fixed ? VPERFCTR_FIXED + (counter - FIXED) : counter;
	if (is_arm(info))
		ctr->evntsel = (kernel ? 0 : ARM_P) | (user ? 0 : ARM_U);
	else if (is_riscv(info))
		ctr->evntsel = fixed ? 0 : (kernel ? 0 : RISCV_SINH) | (user ? 0 : RISCV_UINH);
	else if (is_power(info))
		ctr->evntsel = (kernel ? 0 : POWER_NOT_KERNEL) | (user ? 0 : POWER_NOT_USER);
	else if (fixed)
		ctr->evntsel = (kernel ? FIXED_OS : 0) | (user ? FIXED_USR : 0);
	else
		ctr->evntsel = EVNTSEL_EN | (kernel ? EVNTSEL_OS : 0) | (user ? EVNTSEL_USR : 0);
	if (fixed)
		return;
	ctr->evntsel |= m->code_of[i];
	ctr->aux = event->aux;
}

static int assign_hardware(const struct vperfctr_event *event, unsigned int nr,
			   const struct vperfctr_info *info, struct vperfctr_ctr *ctr,
			   struct vperfctr_why *why)
{
	struct matching m = { .event = event, .nr = nr }, failed = { .nr = 0 };
	struct list left = { .nr = 0 };
	unsigned int i, turn, culprit = 0;
	int err;

	if (nr && !info->nrctrs)
		return __vperfctr_refuse_without_counters(info, why);

	/* vperfctr_event_list() has such events, vperfctr_event() only with a counter. */
	for (i = 0; i < nr; i++)
		if (event[i].unknown && event[i].general & (event[i].general - 1))
			return __vperfctr_refuse_unknown(&event[i], info, why);
	for (i = 1; is_ppc32(info) && i < nr; i++)
		if (event[i].modes != event[0].modes)
			return __vperfctr_refuse(why, -EINVAL,
						 "this processor counts all events in the same modes: '%s' has other modes than '%s'",
						 event[i].name, event[0].name);
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
		list_name(&left, &event[i]);
	if (left.nr)
		return refuse_left(&left, "", info, why);
	if (is_p4(info) && !__vperfctr_p4_place(event, nr, m.counter_of)) {
		for (i = 0; i < nr; i++)
			list_name(&left, &event[i]);
		return __vperfctr_refuse(why, -ENOSPC,
					 "too many events: counters that can count these share registers (ESCRs) that would need different values: %s",
					 left.text);
	}
	/* An mhpmevent of RISC-V belongs to its counter. */
	err = is_p4(info) || is_old(info) || is_riscv(info) ? 0 : share_registers(&m, info, why);
	if (!err && is_power8(info))
		err = __vperfctr_power_check(event, nr, m.counter_of, info, why);
	if (err)
		return err;
	for (i = 0; i < nr; i++)
		set_ctr(&ctr[i], &m, i, info);
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
