// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The Pentium 4's events: which counters can count them, and which registers counters share.
 *
 * The code of an event is its CCCR without enable and the active thread, and aux its ESCR
 * without modes.  A counter's pair decides which of two ESCRs an ESCR select means.  So two
 * events fit together unless their counters need different values in one ESCR.
 */
#include <ctype.h>

#include "family.h"

/* Fields of CCCRs and ESCRs. */
#define P4_CCCR_ENABLE	(UINT64_C(1) << 12)
#define P4_CCCR_THREADS	(UINT64_C(3) << 16)
#define P4_CCCR_EVENT	UINT64_C(0x01fce000)	/* select, compare, complement, threshold, edge */
#define P4_ESCR_T0_USR	(UINT64_C(1) << 2)
#define P4_ESCR_T0_OS	(UINT64_C(1) << 3)
#define P4_ESCR_MODES	(P4_ESCR_T0_USR | P4_ESCR_T0_OS)
#define P4_ESCR_EVENT	UINT64_C(0x7ffffff0)	/* event, mask, tag */
#define P4_NR_COUNTERS	18

/* The blocks: counters 0 to 3, 4 to 7, 8 to 11, 12 to 17.  Counter 1 is said to be broken. */
#define BPU	UINT32_C(0x0000d)
#define MS	UINT32_C(0x000f0)
#define FLAME	UINT32_C(0x00f00)
#define IQ	UINT32_C(0x3f000)

/* libpfm4's names, in lower case.  0: counts nothing without tags, which no name can set up. */
static const struct {
	const char *name;
	uint32_t counters;
} events[] = {
	{ "tc_deliver_mode", MS }, { "bpu_fetch_request", BPU }, { "itlb_reference", BPU },
	{ "memory_cancel", FLAME }, { "memory_complete", FLAME }, { "load_port_replay", FLAME },
	{ "store_port_replay", FLAME }, { "mob_load_replay", BPU }, { "page_walk_type", BPU },
	{ "bsq_cache_reference", BPU }, { "ioq_allocation", BPU },
	{ "ioq_active_entries", BPU & 0xc }, { "fsb_data_activity", BPU },
	{ "bsq_allocation", BPU & 0x3 }, { "bsq_active_entries", BPU & 0xc },
	{ "sse_input_assist", FLAME }, { "packed_sp_uop", FLAME }, { "packed_dp_uop", FLAME },
	{ "scalar_sp_uop", FLAME }, { "scalar_dp_uop", FLAME }, { "64bit_mmx_uop", FLAME },
	{ "128bit_mmx_uop", FLAME }, { "x87_fp_uop", FLAME }, { "tc_misc", MS },
	{ "global_power_events", BPU }, { "tc_ms_xfer", MS }, { "uop_queue_writes", MS },
	{ "retired_mispred_branch_type", MS }, { "retired_branch_type", MS },
	{ "resource_stall", IQ }, { "wc_buffer", FLAME }, { "b2b_cycles", BPU }, { "bnr", BPU },
	{ "snoop", BPU }, { "response", BPU }, { "front_end_event", 0 },
	{ "execution_event", 0 }, { "replay_event", 0 }, { "instr_retired", IQ },
	{ "uops_retired", IQ }, { "uops_type", IQ }, { "branch_retired", IQ },
	{ "mispred_branch_retired", IQ }, { "x87_assist", IQ }, { "machine_clear", IQ },
	{ "instr_completed", IQ },
};

/*
 * Find the counters of an event by its name without unit masks: none if it needs tags.
 * Returns false if the event is not known.
 */
static bool find_counters(const char *name, uint64_t *counters)
{
	char lower[64];
	unsigned int i;

	for (i = 0; i < sizeof(lower) - 1 && name[i]; i++)
		lower[i] = (char)tolower((unsigned char)name[i]);
	lower[i] = '\0';
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		if (strcmp(lower, events[i].name))
			continue;
		*counters = events[i].counters;
		return true;
	}
	return false;
}

#define SELECT(n)	((uint64_t)(n) << 13)
#define ESCR(event, mask) ((uint64_t)(event) << 25 | (uint64_t)(mask) << 9)

static const struct generic_event generic[] = {
	/* instr_retired: not bogus, not tagged */
	{ VPERFCTR_EVENT_INSTRUCTIONS, SELECT(4), ESCR(0x02, 0x1), .general = IQ },
	/* global_power_events: running */
	{ VPERFCTR_EVENT_CYCLES, SELECT(6), ESCR(0x13, 0x1), .general = BPU },
	/* branch_retired: taken or not, predicted or not */
	{ VPERFCTR_EVENT_BRANCHES, SELECT(5), ESCR(0x06, 0xf), .general = IQ },
	/* mispred_branch_retired: not bogus */
	{ VPERFCTR_EVENT_BRANCH_MISSES, SELECT(4), ESCR(0x03, 0x1), .general = IQ },
	{ .arch = 0 },
};

/* ---- names ---------------------------------------------------------------------- */

static unsigned int modes_of(uint64_t escr)
{
	return (escr & P4_ESCR_T0_USR ? VPERFCTR_MODE_USER : 0) |
	       (escr & P4_ESCR_T0_OS ? VPERFCTR_MODE_KERNEL : 0);
}

/* Take libpfm4's code of an event, which is an ESCR, then a CCCR. */
static int take_pfm(struct vperfctr_event *event, const struct pfm_event *pfm,
		    struct vperfctr_why *why)
{
	if (pfm->nrcodes != 2 || !find_counters(pfm->event, &event->general))
		return __vperfctr_refuse(why, -EINVAL,
					 "it is not known which counters can count '%s'", pfm->name);
	if (!event->general)
		return __vperfctr_refuse(why, -EOPNOTSUPP,
					 "'%s' counts micro-operations that were tagged, which takes other registers as well: leave it out",
					 pfm->name);
	event->modes = modes_of(pfm->codes[0]);
	event->code = pfm->codes[1] & P4_CCCR_EVENT;
	event->aux = pfm->codes[0] & P4_ESCR_EVENT;
	return 0;
}

/* True if the code is special, as all are: only libpfm4's names tell the counters of one. */
static bool is_special(struct vperfctr_event *event)
{
	event->unknown = 1;
	return true;
}

/* Take 0xCCCR/0xESCR, with modes or without.  Enable and the active thread may be set. */
static int take_register(struct vperfctr_event *event, const char *name, uint64_t cccr,
			 struct vperfctr_why *why)
{
	if (!event->aux || cccr & ~(P4_CCCR_EVENT | P4_CCCR_ENABLE | P4_CCCR_THREADS) ||
	    event->aux & ~(P4_ESCR_EVENT | P4_ESCR_MODES))
		return __vperfctr_refuse(why, -EINVAL,
					 "'%s' is no event: it is 0xCCCR/0xESCR, with ESCR select, compare, complement, threshold and edge; and with event, mask, tag, T0_USR and T0_OS",
					 name);
	if (event->aux & P4_ESCR_MODES && !event->modes_left)
		return __vperfctr_refuse(why, -EINVAL,
					 "'%s' says itself in which mode to count: leave ':u' or ':k' out",
					 name);
	if (event->aux & P4_ESCR_MODES) {
		event->modes = modes_of(event->aux);
		event->modes_left = 0;
	}
	event->code = cccr & P4_CCCR_EVENT;
	event->aux &= P4_ESCR_EVENT;
	return 0;
}

/* ---- placing ------------------------------------------------------------------ */

/* Return the number of the ESCR that the event uses on this counter: unique, not its address. */
static unsigned int escr_of(const struct vperfctr_event *event, unsigned int counter)
{
	const unsigned int block = counter < 12 ? counter / 4 : 3;
	const unsigned int pair = counter < 16 ? counter >> 1 & 1 : counter & 1;

	return block << 4 | pair << 3 | (unsigned int)(event->code >> 13 & 7);
}

static uint64_t value_of(const struct vperfctr_event *event)
{
	return event->aux | event->modes;
}

struct placing {
	const struct vperfctr_event *event;
	unsigned int nr;
	uint32_t *counter_of;
	unsigned int order[VPERFCTR_MAX_CTRS];	/* events, those with one counter first */
};

/* True if the counter and its ESCR are free for the n-th event in the order. */
static bool is_free(const struct placing *p, unsigned int n, unsigned int counter)
{
	const struct vperfctr_event *event = &p->event[p->order[n]];
	unsigned int k;

	for (k = 0; k < n; k++) {
		const struct vperfctr_event *other = &p->event[p->order[k]];
		const unsigned int taken = p->counter_of[p->order[k]];

		if (taken == counter || (escr_of(other, taken) == escr_of(event, counter) &&
					 value_of(other) != value_of(event)))
			return false;
	}
	return true;
}

/*
 * Place the n-th event and all after it.  Counters with the same ESCR are equal to these, as
 * they can count all of the pair's or none.  So there are two choices for each event.
 */
static bool place_from(struct placing *p, unsigned int n)
{
	const unsigned int i = n < p->nr ? p->order[n] : 0;
	unsigned int counter, tried = ~0U;

	if (n == p->nr)
		return true;
	for (counter = 0; counter < P4_NR_COUNTERS; counter++) {
		if (!(p->event[i].general >> counter & 1) ||
		    escr_of(&p->event[i], counter) == tried || !is_free(p, n, counter))
			continue;
		tried = escr_of(&p->event[i], counter);
		p->counter_of[i] = counter;
		if (place_from(p, n + 1))
			return true;
	}
	return false;
}

/* Choose a counter for each event, such that their ESCRs fit. */
static int place(const struct vperfctr_event *event, unsigned int nr, uint32_t *counter_of,
		 uint64_t *code_of, const struct vperfctr_info *info, struct vperfctr_why *why)
{
	struct placing p = { .event = event, .nr = nr, .counter_of = counter_of };
	struct event_list all = { .nr = 0 };
	unsigned int i, n = 0, turn;

	(void)code_of;
	(void)info;
	for (turn = 0; turn < 2; turn++)
		for (i = 0; i < nr; i++)
			if (!(event[i].general & (event[i].general - 1)) == !turn)
				p.order[n++] = i;
	if (place_from(&p, 0))
		return 0;
	for (i = 0; i < nr; i++)
		__vperfctr_list_event(&all, &event[i]);
	return __vperfctr_refuse(why, -ENOSPC,
				 "too many events: counters that can count these share registers (ESCRs) that would need different values: %s",
				 all.text);
}

const struct family __vperfctr_p4 = {
	.cpu_type = VPERFCTR_CPU_INTEL_P4,
	.generic = generic,
	.user = P4_ESCR_T0_USR,
	.kernel = P4_ESCR_T0_OS,
	.modes_in_aux = true,
	.enable = P4_CCCR_ENABLE | P4_CCCR_THREADS,
	.example = "0x8000/0x4000200@12",
	.take_register = take_register,
	.take_pfm = take_pfm,
	.is_special = is_special,
	.place = place,
};
