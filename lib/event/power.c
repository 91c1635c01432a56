// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Events of POWER8 to POWER12.  libpfm4 and raw names have perf's codes.  The module takes them
 * without the counter, which is a field of the code.
 */
#include "family.h"

/* The modes: as for PMC1 in MMCR2, bits exclude a mode. */
#define POWER_NOT_USER	(UINT64_C(1) << 62)
#define POWER_NOT_KERNEL (UINT64_C(1) << 63)

#define POWER_INSTRUCTIONS	UINT64_C(0x02)	/* for all counters */
#define POWER_CYCLES		UINT64_C(0x1e)

/* Fields of a code. */
#define SELECTOR	UINT64_C(0xff)
#define MARKED		(UINT64_C(1) << 8)
#define RADIX_SCOPE	(UINT64_C(1) << 9)
#define COMBINE		(UINT64_C(3) << 10)
#define UNIT		(UINT64_C(0xf) << 12)
#define PMC		(UINT64_C(0xf) << 16)
#define CACHE		(UINT64_C(3) << 20)
#define CACHE_IS_L1	(UINT64_C(1) << 22)
#define CACHE_BANK	(UINT64_C(1) << 23)
#define THRESHOLD	(UINT64_C(0x7ff) << 29)
#define COMPARE		(UINT64_C(0x3ff) << 40)	/* with the threshold; not POWER10 */
#define L2L3		(UINT64_C(0x1f) << 40)
#define SOURCE		(UINT64_C(0x7fff) << 45)

/* Selectors from FIRST_BUS to LAST_BUS are lines of a bus that reaches all of PMC1 to PMC4. */
#define FIRST_BUS	0x80
#define LAST_BUS	0xdf

#define PMC5_CODE	0xfa
#define PMC6_CODE	0xf4

static unsigned int unit_of(uint64_t code)
{
	return (unsigned int)((code & UNIT) >> 12);
}

/* True if the event is one of the L2 or L3 cache. */
static bool is_of_cache(uint64_t code)
{
	return unit_of(code) >= 6 && unit_of(code) <= 9;
}

/* Return 8, 9 or 10, also for POWER11 and 12; 0 if the kernel does not say, as perf_event. */
static unsigned int version(const struct vperfctr_info *info)
{
	static const char *const names[] = { "POWER8", "POWER9", "POWER10" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (strstr(info->cpu_name, names[i]))
			return i + 8;
	return strstr(info->cpu_name, "POWER11") || strstr(info->cpu_name, "POWER12") ? 10 : 0;
}

/* Return the fields of a code that the processor has, and that of the counter. */
static uint64_t fields_of(const struct vperfctr_info *info)
{
	const uint64_t all = SELECTOR | MARKED | UNIT | PMC | CACHE | THRESHOLD;
	const uint64_t power8 = COMBINE & ~(COMBINE >> 1), power10 = RADIX_SCOPE | L2L3 | SOURCE;

	switch (version(info)) {
	case 8:
		return all | (COMBINE & power8) | CACHE_IS_L1 | CACHE_BANK | COMPARE;
	case 9:
		return all | COMBINE | COMPARE;
	case 10:
		return all | COMBINE | power10;
	default:
		return all | COMBINE | CACHE_IS_L1 | CACHE_BANK | COMPARE | power10;
	}
}

/* Return the fields that only events of marked instructions use. */
static uint64_t sampled_fields(unsigned int power)
{
	return MARKED | THRESHOLD | (power == 10 ? 0 : COMPARE);
}

/* True if the event has no use for one of its fields. */
static bool has_idle_field(uint64_t code, unsigned int power)
{
	if (is_of_cache(code) ? code & (CACHE | CACHE_IS_L1) :
	    power == 8 && (code & CACHE_BANK || (code & CACHE && !(code & CACHE_IS_L1))))
		return true;
	return power == 10 && code & L2L3 && unit_of(code) != 6;
}

static bool is_of_bus(uint64_t code)
{
	return (code & SELECTOR) >= FIRST_BUS && (code & SELECTOR) <= LAST_BUS &&
	       !is_of_cache(code);
}

/* Events that revisions of POWER9 do not count: see module/arch/powerpc/power9-errata.c. */
static const struct {
	const char *processor;
	uint32_t codes[10];
} errata[] = {
	{ "IBM POWER9 revision 2.1", {
		0x1f056, 0x100f4, 0x2d024, 0x3405e, 0x3f056, 0x3006c, 0x4e014, 0x4003c,
	} },
	{ "IBM POWER9 revision 2.2", {
		0x1c058, 0x1c05a, 0x1c05c, 0x2c056, 0x2c05a, 0x3c056, 0x4003c, 0x4c056, 0x4c05a,
	} },
};

/* Events of POWER9 that are of marked instructions, too: see the same file.  0: any counter. */
static const uint32_t marked[] = {
	0x1d056, 0x1f05e, 0x24056, 0x24058, 0x28a4, 0xd098, 0xd09c, 0xd0a0, 0xd0a4, 0xd898,
	0xd89c, 0xd8a0, 0xd8a4,
};

static bool is_marked(uint64_t code, unsigned int pmc, unsigned int power)
{
	const uint64_t own = code & (SELECTOR | COMBINE | UNIT);
	unsigned int i;

	if (power && code & sampled_fields(power))
		return true;
	for (i = 0; power == 9 && i < ARRAY_SIZE(marked); i++)
		if (marked[i] == (marked[i] & PMC ? own | pmc << 16 : own))
			return true;
	return false;
}

static bool is_broken(uint64_t code, unsigned int pmc, const struct vperfctr_info *info)
{
	const uint64_t own = (code & (SELECTOR | COMBINE | UNIT)) | pmc << 16;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(errata); i++) {
		if (strcmp(info->cpu_name, errata[i].processor))
			continue;
		for (k = 0; errata[i].codes[k]; k++)
			if (errata[i].codes[k] == own)
				return true;
	}
	return false;
}

static int refuse_broken(const char *name, struct vperfctr_why *why)
{
	return __vperfctr_refuse(why, -EOPNOTSUPP,
				 "this revision of the processor does not count '%s' (an erratum): leave it out",
				 name);
}

static int refuse_marked(const char *name, struct vperfctr_why *why)
{
	return __vperfctr_refuse(why, -EOPNOTSUPP,
				 "the code of '%s' is for instructions that the hardware marks, which is a sample: leave it out",
				 name);
}

/* Take the event of PMC5 or PMC6, which has a code of its own. */
static int take_fixed(struct vperfctr_event *event, unsigned int pmc, const char *name,
		      struct vperfctr_why *why)
{
	if (event->code != (pmc == 5 ? PMC5_CODE : PMC6_CODE))
		return __vperfctr_refuse(why, -EOPNOTSUPP,
					 "'%s' is for PMC%u: PMC5 counts instructions only (r500fa), and PMC6 cycles (r600f4)",
					 name, pmc);
	event->arch = pmc == 5 ? VPERFCTR_EVENT_INSTRUCTIONS : VPERFCTR_EVENT_CYCLES;
	event->code = pmc == 5 ? POWER_INSTRUCTIONS : POWER_CYCLES;
	event->general = 0;
	event->fixed = UINT64_C(1) << (pmc - 5);
	event->unknown = 0;
	return 0;
}

/* Remove the counter from event->code, and set which counters can count it. */
static int take_counter(struct vperfctr_event *event, const char *name,
			const struct vperfctr_info *info, struct vperfctr_why *why)
{
	const unsigned int pmc = (unsigned int)((event->code & PMC) >> 16), power = version(info);

	event->code &= ~PMC;
	if (!(event->code & SELECTOR))
		return __vperfctr_refuse(why, -EOPNOTSUPP, "'%s' counts nothing: its selector is 0",
					 name);
	if (power == 8 && is_of_cache(event->code) && event->code & (CACHE | CACHE_IS_L1))
		return __vperfctr_refuse(why, -EOPNOTSUPP,
					 "'%s' needs a register of the L2 and L3 caches (MMCRC) that only a hypervisor can set: leave it out",
					 name);
	/* perf_event, of whose processor nothing is known here, can count these. */
	if (is_marked(event->code, pmc, power))
		return refuse_marked(name, why);
	if (power && has_idle_field(event->code, power))
		return __vperfctr_refuse(why, -EOPNOTSUPP,
					 "a field of '%s' means nothing for this event: leave it out",
					 name);
	if (!pmc) {
		/* Other selectors mean something else on each counter. */
		if (!event->arch)
			event->unknown = !is_of_bus(event->code);
		return 0;
	}
	if (pmc > 6)
		return __vperfctr_refuse(why, -EOPNOTSUPP, "'%s' is for PMC%u: there is PMC1 to PMC6",
					 name, pmc);
	if (pmc > 4)
		return take_fixed(event, pmc, name, why);
	if (is_broken(event->code, pmc, info))
		return refuse_broken(name, why);
	event->arch = 0;
	event->general = UINT64_C(1) << (pmc - 1);
	event->fixed = 0;
	event->unknown = 0;
	return 0;
}

/* perf's code has the counter, if only one can count the event. */
static void to_perf(struct __vperfctr_perf_event *to, const struct vperfctr_event *event)
{
	const bool one = event->general && !(event->general & (event->general - 1));

	if (!event->general)
		to->config = event->fixed & 1 ? 0x50000 | PMC5_CODE : 0x60000 | PMC6_CODE;
	to->config |= one ? (__builtin_ctzll(event->general) + UINT64_C(1)) << 16 : 0;
}

/* ---- events that share fields ------------------------------------------------------------ */

/* Return the fields in which all counters must have what this event has: see the driver. */
static uint64_t shared_fields(uint64_t code, unsigned int power)
{
	uint64_t fields = 0;

	if (!is_of_cache(code))
		fields |= power > 8 || code & CACHE_IS_L1 ? CACHE : 0;
	else if (power == 9)
		fields |= SELECTOR;
	else if (power == 10 && unit_of(code) == 6)
		fields |= L2L3;
	if (power == 10)
		fields |= RADIX_SCOPE;
	return fields;
}

/* True if two events need different values in a field. */
static bool disagree(uint64_t a, uint64_t b, unsigned int power)
{
	return (a ^ b) & shared_fields(a, power) & shared_fields(b, power);
}

static bool is_general(uint32_t counter)
{
	return counter < 4;
}

/*
 * Return an event of POWER9's cache if PMC4, which chooses the bank, has none of the cache.  Return
 * nr if all is well.
 */
static unsigned int find_without_bank(const struct vperfctr_event *event, unsigned int nr,
				      const uint32_t *counter_of)
{
	unsigned int i, found = nr;

	for (i = 0; i < nr; i++) {
		if (!is_general(counter_of[i]) || !is_of_cache(event[i].code))
			continue;
		if (counter_of[i] == 3)
			return nr;
		found = i;
	}
	return found;
}

/* Refuse events that do not fit together on the counters that they have. */
static int place(const struct vperfctr_event *event, unsigned int nr, uint32_t *counter_of,
		 uint64_t *code_of, const struct vperfctr_info *info, struct vperfctr_why *why)
{
	const unsigned int power = version(info);
	unsigned int i, k;

	(void)code_of;
	/* The counters are perf_event's, which finds it out itself. */
	if (!power)
		return 0;
	for (i = 0; i < nr; i++) {
		if (!is_general(counter_of[i]))
			continue;
		/* The name may have had the counter behind '@'. */
		if (is_broken(event[i].code, counter_of[i] + 1, info))
			return refuse_broken(event[i].name, why);
		if (is_marked(event[i].code, counter_of[i] + 1, power))
			return refuse_marked(event[i].name, why);
		for (k = 0; k < i; k++)
			if (is_general(counter_of[k]) && disagree(event[i].code, event[k].code, power))
				return __vperfctr_refuse(why, -ENOSPC,
							 "too many events: no room for %s, which needs another value than %s in a field that all counters share",
							 event[i].name, event[k].name);
	}
	i = power == 9 ? find_without_bank(event, nr, counter_of) : nr;
	if (i == nr)
		return 0;
	return __vperfctr_refuse(why, -EINVAL,
				 "POWER9 counts '%s' only together with the event of the same bank of the cache on PMC4: name r4%04llx before it",
				 event[i].name,
				 (unsigned long long)(event[i].code & (UNIT | COMBINE | SELECTOR)));
}

/* ---- the family -------------------------------------------------------------------------- */

static int take_pfm(struct vperfctr_event *event, const struct pfm_event *pfm,
		    struct vperfctr_why *why)
{
	(void)why;
	event->code = pfm->codes[0];
	return 0;
}

/* Allow all counters: the code says which one it needs, see take_counter(). */
static bool counters(const struct vperfctr_info *info, uint64_t code, uint64_t *general)
{
	(void)info;
	(void)code;
	*general = ANY_COUNTER;
	return true;
}

static const struct generic_event generic[] = {
	{ VPERFCTR_EVENT_INSTRUCTIONS, POWER_INSTRUCTIONS, .general = ANY_COUNTER, .fixed = 1 },
	{ VPERFCTR_EVENT_CYCLES, POWER_CYCLES, .general = ANY_COUNTER, .fixed = 2 },
	{ .arch = 0 },
};

const struct family __vperfctr_power = {
	.cpu_type = VPERFCTR_CPU_POWER8,
	.generic = generic,
	.user = POWER_NOT_USER,
	.kernel = POWER_NOT_KERNEL,
	.fixed_user = POWER_NOT_USER,
	.fixed_kernel = POWER_NOT_KERNEL,
	.excludes = true,
	.fields_of = fields_of,
	.fields_text = "the fields of perf's codes for this processor, without sampling, EBB and BHRB",
	.modes_text = "not user (62), not kernel (63) and ",
	.raw_text = "rPUCEE, the counter (1-6), unit, combination and selector",
	.example = "r02@0",
	.take_pfm = take_pfm,
	.counters = counters,
	.finish = take_counter,
	.to_perf = to_perf,
	.place = place,
};
