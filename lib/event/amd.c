// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * AMD's and Hygon's processors.
 *
 * Which counters can count an event: of family 15h, BKDG 42301, 3.14 "Core Performance
 * Counter Events", gives PERF_CTL[n] for each event.  The other families up to 1AH have no
 * restricted events, except the pair of MergeEvent: the BKDGs and PPRs, and Linux's perf,
 * which restricts no others (arch/x86/events/amd/core.c).
 */
#include "x86.h"

/* Family 15h: the exceptions from fam15h_type(). */
static const struct {
	uint16_t event;
	uint8_t counters;
} fam15h[] = {
	{ 0x003, 0x08 }, { 0x00b, 0x08 }, { 0x00d, 0x08 },
	{ 0x023, 0x07 }, { 0x02d, 0x08 }, { 0x02e, 0x09 }, { 0x031, 0x07 },
	{ 0x043, 0x07 }, { 0x045, 0x07 }, { 0x046, 0x07 }, { 0x054, 0x07 }, { 0x055, 0x07 },
	{ 0x08f, 0x01 }, { 0x187, 0x01 }, { 0x188, 0x01 },
	{ 0x0db, 0x3f }, { 0x0dc, 0x3f }, { 0x0dd, 0x3f }, { 0x0de, 0x3f }, { 0x0df, 0x3f },
	{ 0x1c0, 0x38 }, { 0x1d6, 0x3f }, { 0x1d8, 0x3f },
};

/*
 * Return the counters for an event that is not in the list above: those of the unit of the
 * processor that has it.
 */
static uint64_t fam15h_type(unsigned int event)
{
	switch (event >> 4 & 0xf) {
	case 0x0: case 0x1:			/* floating point */
		return 0x38;
	case 0x2: case 0x3: case 0x4: case 0x5:	/* load and store, data cache */
	case 0xc:				/* execution */
		return 0x3f;
	case 0x6: case 0x7: case 0x8: case 0x9:	/* bus, L2, instruction cache, decoder */
	case 0xd:
		return 0x07;
	}
	return 0;
}

static uint64_t fam15h_counters(unsigned int event, unsigned int umask)
{
	const int bits = __builtin_popcount(umask);
	unsigned int i;

	if (event == 0x000 && (umask & 0xf0) && (umask & 0x0f))
		return 0x08;
	if (event == 0x004 && bits > 1)
		return 0x08;
	/* This event can have one unit mask at a time. */
	if (event == 0x031 && bits > 1)
		return 0;
	for (i = 0; i < ARRAY_SIZE(fam15h); i++)
		if (fam15h[i].event == event)
			return fam15h[i].counters;
	return fam15h_type(event);
}

/* Families without restricted events, except 15H. */
#define FIRST_AMD	0x06
#define LAST_AMD	0x1a

#define ZEN_FLOPS	0x003	/* needs two counters: the second one has MergeEvent */
#define ZEN_MERGE	0xfff

uint64_t __vperfctr_amd_counters(unsigned int family, uint64_t code)
{
	const unsigned int event = (unsigned int)((code & EVNTSEL_EVENT) |
						  (code & AMD_EVENT_HIGH) >> 24);
	const unsigned int umask = (unsigned int)((code & EVNTSEL_UMASK) >> 8);

	if (family == 0x15)
		return fam15h_counters(event, umask);
	/* The module refuses both. */
	if (family >= 0x17 && (event == ZEN_FLOPS || event == ZEN_MERGE))
		return 0;
	return ANY_COUNTER;
}

static bool amd_counters(const struct vperfctr_info *info, uint64_t code, uint64_t *general)
{
	struct processor p;

	__vperfctr_identify(&p, info);
	*general = __vperfctr_amd_counters(p.family, code);
	return !*general || (p.family >= FIRST_AMD && p.family <= LAST_AMD);
}

static const struct generic_event generic[] = {
	{ VPERFCTR_EVENT_INSTRUCTIONS, 0xc0, .general = ANY_COUNTER },
	{ VPERFCTR_EVENT_CYCLES, 0x76, .general = ANY_COUNTER },
	{ VPERFCTR_EVENT_BRANCHES, 0xc2, .general = ANY_COUNTER },
	{ VPERFCTR_EVENT_BRANCH_MISSES, 0xc3, .general = ANY_COUNTER },
	{ .arch = 0 },
};

const struct family __vperfctr_amd = {
	X86_FAMILY,
	.cpu_type = VPERFCTR_CPU_AMD,
	.generic = generic,
	.fields = X86_FIELDS | AMD_EVENT_HIGH,
	.fields_text = "event select, unit mask, edge (bit 18), inv (23), cmask (24-31) and the event select's upper bits (32-35)",
	.take_pfm = __vperfctr_take_pfm_x86,
	.counters = amd_counters,
	.place = __vperfctr_share_registers,
};
