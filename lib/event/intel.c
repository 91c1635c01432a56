// SPDX-License-Identifier: LGPL-2.1-or-later
/* Intel's processors with architectural counters, and P6, which came before. */
#include "x86.h"

#define LAST_PSEUDO	7	/* unit mask of the pseudo event with the greatest one in Intel's lists */

#define FIXED(n)	(UINT64_C(1) << (n))

/*
 * True if libpfm4 has given the event a wrong select.  libpfm4, such as 4.13, gives some events
 * select 00, which stands for a fixed counter, although they have select A4H: TOPDOWN from Ice
 * Lake on, except for SLOTS, which is fixed counter 3 (unit mask 4).
 */
static bool has_lost_select(const struct pfm_event *pfm)
{
	const uint64_t code = pfm->codes[0];

	return !(code & EVNTSEL_EVENT) && (code >> 8 & 0xff) != 4 && !strcmp(pfm->event, "TOPDOWN");
}

static int take_pfm(struct vperfctr_event *event, const struct pfm_event *pfm,
		    struct vperfctr_why *why)
{
	if (has_lost_select(pfm))
		return __vperfctr_refuse(why, -EINVAL,
					 "libpfm4 has a wrong code for '%s': write r%02xa4, with its modes",
					 pfm->name, (unsigned int)(pfm->codes[0] >> 8) & 0xff);
	return __vperfctr_take_pfm_x86(event, pfm, why);
}

/*
 * True if the event is a pseudo event, which is then put on its counter: the event select is 00,
 * and the unit mask is a fixed counter + 1.
 */
static bool is_pseudo(struct vperfctr_event *event)
{
	const uint64_t umask = event->code >> 8;

	if (event->code & EVNTSEL_EVENT || umask < 1 || umask > LAST_PSEUDO)
		return false;
	event->fixed = FIXED(umask - 1);
	event->general = 0;
	return true;
}

static const struct generic_event generic[] = {
	{ VPERFCTR_EVENT_INSTRUCTIONS, 0xc0, .general = ANY_COUNTER, .fixed = FIXED(0) },
	{ VPERFCTR_EVENT_CYCLES, 0x3c, .general = ANY_COUNTER, .fixed = FIXED(1) },
	{ VPERFCTR_EVENT_BRANCHES, 0xc4, .general = ANY_COUNTER },
	{ VPERFCTR_EVENT_BRANCH_MISSES, 0xc5, .general = ANY_COUNTER },
	{ VPERFCTR_EVENT_REF_CYCLES, 0x13c, .general = ANY_COUNTER, .fixed = FIXED(2), .name_only = true },
	{ VPERFCTR_EVENT_CACHE_REFS, 0x4f2e, .general = ANY_COUNTER },
	{ VPERFCTR_EVENT_CACHE_MISSES, 0x412e, .general = ANY_COUNTER },
	{ .arch = 0 },
};

#define INTEL_FAMILY							\
	X86_FAMILY,							\
	.fields = X86_FIELDS,						\
	.fields_text = "event select, unit mask, edge (bit 18), inv (23) and cmask (24-31)", \
	.take_pfm = take_pfm,						\
	.counters = __vperfctr_listed_counters,				\
	.place = __vperfctr_share_registers

const struct family __vperfctr_intel = {
	INTEL_FAMILY,
	.cpu_type = VPERFCTR_CPU_INTEL_ARCH,
	.generic = generic,
	.fixed_user = 2,
	.fixed_kernel = 1,
	.is_special = is_pseudo,
};

/* ---- P6 ---------------------------------------------------------------------------------- */

static const struct generic_event generic_p6[] = {
	{ VPERFCTR_EVENT_INSTRUCTIONS, 0xc0, .general = ANY_COUNTER },
	{ VPERFCTR_EVENT_CYCLES, 0x79, .general = ANY_COUNTER },
	{ VPERFCTR_EVENT_BRANCHES, 0xc4, .general = ANY_COUNTER },
	{ VPERFCTR_EVENT_BRANCH_MISSES, 0xc5, .general = ANY_COUNTER },
	{ .arch = 0 },
};

const struct family __vperfctr_p6 = {
	INTEL_FAMILY,
	.cpu_type = VPERFCTR_CPU_INTEL_P6,
	.generic = generic_p6,
};
