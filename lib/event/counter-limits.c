// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which general counters can count an event.
 *
 * libpfm4 has this information for some processors but does not export it.  There are
 * these sources:
 *
 * Intel, from Nehalem and Bonnell on: Intel's lists (counter-lists.h).  An event that a
 * list does not have may be restricted or not, which nothing proves.
 * P6, Core Duo and Core 2: SDM volume 3, "Performance Monitoring Events" (chapter 19 in older
 * editions), which has remarks such as "counter 2 only".
 * AMD's family 15h: BKDG 42301, 3.14 "Core Performance Counter Events", which gives
 * PERF_CTL[n] for each event.  The other families up to 1AH have no restricted events,
 * except the pair of MergeEvent: the BKDGs and PPRs, and Linux's perf, which restricts no
 * others (arch/x86/events/amd/core.c).
 * Arm: PMUv3, whose event counters can all count the same, except CHAIN.
 */
#include <stdlib.h>

#include "event.h"

#define ANY		(-1)	/* unit mask */
#define ALL		(~UINT64_C(0))

/* Bits of event selects of Intel's newest processors. */
#define EVNTSEL_UMASK2	(UINT64_C(0xff) << 40)
#define EVNTSEL_EQ	(UINT64_C(1) << 36)

/* The events of one number in an Intel list. */
struct listed_event {
	uint8_t event;
	uint8_t umasks;		/* bits of all unit masks that the list has */
	uint16_t general;	/* counters that can count all of them */
};

/* A unit mask that more counters can count, or others. */
struct listed_umask {
	uint8_t event, umask;
	uint16_t general;
	uint32_t with;		/* only with this edge, inv and cmask; 0: with any */
};

struct counter_list {
	const char *name;
	uint8_t core;		/* bits 31-24 of core_type, or 0 */
	uint8_t nrevents, nrumasks;
	const struct listed_event *events;
	const struct listed_umask *umasks;
};

struct listed_model {
	uint8_t family, model;
	uint16_t steppings;
	const char *list;
};

#include "counter-lists.h"

/* ---- Intel's processors that are older than the lists, and corrections -------------------- */

/* These have no list: all counters count an event that matches no rule. */
static const struct listed_model old_models[] = {
	{ 6, 0x01, 0xffff, "p6" },
	{ 6, 0x03, 0xffff, "p6" },
	{ 6, 0x05, 0xffff, "p6" },
	{ 6, 0x06, 0xffff, "p6" },
	{ 6, 0x07, 0xffff, "p6" },
	{ 6, 0x08, 0xffff, "p6" },
	{ 6, 0x09, 0xffff, "p6" },
	{ 6, 0x0a, 0xffff, "p6" },
	{ 6, 0x0b, 0xffff, "p6" },
	{ 6, 0x0d, 0xffff, "p6" },
	{ 6, 0x0e, 0xffff, "coreduo" },
	{ 6, 0x0f, 0xffff, "core" },
	{ 6, 0x16, 0xffff, "core" },
	{ 6, 0x17, 0xffff, "core" },
	{ 6, 0x1d, 0xffff, "core" },
};

struct rule {
	const char *list;
	uint8_t core;
	uint8_t first, last;	/* event selects */
	int umask;
	uint16_t counters;
};

/* Only these of the counters that the list names. */
static const struct rule rules[] = {
	/* Pentium Pro, II, III, M */
	{ "p6", 0, 0x10, 0x10, ANY, 0x1 },		/* FP_COMP_OPS_EXE */
	{ "p6", 0, 0x11, 0x13, ANY, 0x2 },		/* FP_ASSIST, MUL, DIV */
	{ "p6", 0, 0x14, 0x14, ANY, 0x1 },		/* CYCLES_DIV_BUSY */
	{ "p6", 0, 0xc1, 0xc1, ANY, 0x1 },		/* FLOPS */

	/* Core Duo */
	{ "coreduo", 0, 0x11, 0x13, ANY, 0x2 },		/* FP_ASSIST, MUL, DIV */
	{ "coreduo", 0, 0x14, 0x14, ANY, 0x1 },		/* CYCLES_DIV_BUSY */
	{ "coreduo", 0, 0x19, 0x19, ANY, 0x2 },		/* DELAYED_BYPASS */
	{ "coreduo", 0, 0xc1, 0xc1, ANY, 0x1 },		/* FP_COMP_INSTR_RET */

	/* Core 2 */
	{ "core", 0, 0x10, 0x10, ANY, 0x1 },		/* FP_COMP_OPS_EXE */
	{ "core", 0, 0x11, 0x13, ANY, 0x2 },		/* FP_ASSIST, MUL, DIV */
	{ "core", 0, 0x14, 0x14, ANY, 0x1 },		/* CYCLES_DIV_BUSY */
	{ "core", 0, 0x18, 0x18, ANY, 0x1 },		/* IDLE_DURING_DIV */
	{ "core", 0, 0x19, 0x19, ANY, 0x2 },		/* DELAYED_BYPASS */
	{ "core", 0, 0xa1, 0xa1, ANY, 0x1 },		/* RS_UOPS_DISPATCHED.PORT */
	{ "core", 0, 0xc9, 0xc9, ANY, 0x1 },		/* ITLB_MISS_RETIRED */
	{ "core", 0, 0xcb, 0xcb, ANY, 0x1 },		/* MEM_LOAD_RETIRED */

	/* Linux's perf allows only these, too (arch/x86/events/intel/core.c) */
	{ "sandybridge", 0, 0x48, 0x48, ANY, 0x4 },	/* L1D_PEND_MISS.FB_FULL */
	{ "jaketown", 0, 0x48, 0x48, ANY, 0x4 },
};

/* SDM and Linux's perf restrict no event of these: all counters count what the list lacks, too. */
static const char *const unrestricted[] = {
	"bonnell", "silvermont", "goldmont", "goldmontplus", "elkhartlake", "snowridgex",
};

/* ---- which processor ------------------------------------------------------------------- */

/* libpfm4's names, where they are not those of the lists. */
static const struct {
	const char *pfm, *list;
	uint8_t core;
} pfm_names[] = {
	{ "adl_glc", "alderlake", 0x40 },
	{ "adl_grt", "alderlake", 0x20 },
	{ "atom", "bonnell", 0 },
	{ "bdw", "broadwell", 0 },
	{ "bdw_ep", "broadwellx", 0 },
	{ "clx", "cascadelakex", 0 },
	{ "core", "core", 0 },
	{ "coreduo", "coreduo", 0 },
	{ "emr", "emeraldrapids", 0 },
	{ "glm", "goldmont", 0 },
	{ "gnr", "graniterapids", 0 },
	{ "hsw", "haswell", 0 },
	{ "hsw_ep", "haswellx", 0 },
	{ "icl", "icelake", 0 },
	{ "icx", "icelakex", 0 },
	{ "ivb", "ivybridge", 0 },
	{ "ivb_ep", "ivytown", 0 },
	{ "knl", "knightslanding", 0 },
	{ "knm", "knightslanding", 0 },
	{ "nhm", "nehalemep", 0 },
	{ "nhm_ex", "nehalemex", 0 },
	{ "p6", "p6", 0 },
	{ "pii", "p6", 0 },
	{ "pm", "p6", 0 },
	{ "ppro", "p6", 0 },
	{ "skl", "skylake", 0 },
	{ "skx", "skylakex", 0 },
	{ "slm", "silvermont", 0 },
	{ "snb", "sandybridge", 0 },
	{ "snb_ep", "jaketown", 0 },
	{ "spr", "sapphirerapids", 0 },
	{ "tmt", "snowridgex", 0 },
	{ "wsm", "westmereep-sp", 0 },
	{ "wsm_dp", "westmereep-dp", 0 },
};

static const char *find_model(const struct listed_model *models, unsigned int nr,
			      const struct cpu_signature *s)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (models[i].family == s->family && models[i].model == s->model &&
		    models[i].steppings >> s->stepping & 1)
			return models[i].list;
	return NULL;
}

static void set_intel(struct processor *p, const struct cpu_signature *s,
		      const struct vperfctr_info *info)
{
	if (strcmp(s->vendor, "GenuineIntel"))
		return;
	p->list = find_model(listed_models, ARRAY_SIZE(listed_models), s);
	if (!p->list)
		p->list = find_model(old_models, ARRAY_SIZE(old_models), s);
	/* core_type is that of one kind of several.  All CPUs may be of one kind, as this one. */
	p->core = (uint8_t)(info->core_type ? info->core_type >> 24 : s->core);
}

static void set_forced(struct processor *p, const char *name)
{
	unsigned int i;
	char *end;

	for (i = 0; name && i < ARRAY_SIZE(pfm_names); i++) {
		if (strcmp(name, pfm_names[i].pfm))
			continue;
		p->list = pfm_names[i].list;
		p->core = pfm_names[i].core;
	}
	if (name && !strncmp(name, "amd64_k", strlen("amd64_k")))
		p->family = name[strlen("amd64_k")] == '7' ? 0x6 : 0xf;
	if (name && !strncmp(name, "amd64_fam", strlen("amd64_fam"))) {
		p->family = (unsigned int)strtoul(name + strlen("amd64_fam"), &end, 16);
		if (*end != 'h')
			p->family = 0;
	}
}

/*
 * Find out which processor this is.  LIBPFM_FORCE_PMU names another one, whose events the
 * user wants.
 */
static void identify(struct processor *p, const struct vperfctr_info *info)
{
	const char *forced = getenv("LIBPFM_FORCE_PMU");
	struct cpu_signature s;

	memset(p, 0, sizeof(*p));
	if (is_arm(info) || is_riscv(info) || is_power(info))
		return;
	if (forced && *forced) {
		set_forced(p, __vperfctr_pfm_processor(info));
		return;
	}
	__vperfctr_cpu_signature(&s);
	if (is_amd(info))
		p->family = s.family;
	else
		set_intel(p, &s, info);
}

/* ---- Intel -------------------------------------------------------------------------- */

static const struct counter_list *find_list(const struct processor *p)
{
	const struct counter_list *found = NULL;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counter_lists); i++) {
		const struct counter_list *l = &counter_lists[i];

		if (strcmp(l->name, p->list) || (l->core && p->core && l->core != p->core))
			continue;
		/* The larger cores come last, and are there if a processor has one kind. */
		found = l;
	}
	return found;
}

/* Return the counters that the list names for a code, or 0. */
static uint64_t look_up(const struct counter_list *l, uint64_t code)
{
	const uint64_t with = code & (EVNTSEL_EDGE | EVNTSEL_INV | EVNTSEL_CMASK);
	const uint8_t event = (uint8_t)(code & EVNTSEL_EVENT);
	const uint8_t umask = (uint8_t)((code & EVNTSEL_UMASK) >> 8);
	unsigned int i;

	for (i = 0; i < l->nrumasks; i++) {
		const struct listed_umask *u = &l->umasks[i];

		if (u->event == event && u->umask == umask && (!u->with || u->with == with))
			return u->general;
	}
	for (i = 0; i < l->nrevents; i++)
		if (l->events[i].event == event && !(umask & ~l->events[i].umasks))
			return l->events[i].general;
	for (i = 0; i < ARRAY_SIZE(unrestricted); i++)
		if (!strcmp(l->name, unrestricted[i]))
			return l->events[0].general;
	return 0;
}

uint64_t __vperfctr_intel_counters(const struct processor *p, uint64_t code)
{
	const unsigned int event = (unsigned int)(code & EVNTSEL_EVENT);
	const int umask = (int)((code & EVNTSEL_UMASK) >> 8);
	const struct counter_list *l;
	uint64_t counters;
	unsigned int i;

	/* The lists' events with UMASK2 are left out, and EQ is of a newer edition. */
	if (!p->list || code & (EVNTSEL_UMASK2 | EVNTSEL_EQ))
		return 0;
	l = find_list(p);
	counters = l ? look_up(l, code) : ALL;
	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		const struct rule *r = &rules[i];

		if (!strcmp(r->list, p->list) && r->core == (l ? l->core : 0) &&
		    event >= r->first && event <= r->last && (r->umask == ANY || r->umask == umask))
			counters &= r->counters;
	}
	return counters;
}

/* ---- AMD ---------------------------------------------------------------------------- */

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

/* The unit of the processor that has the event decides, except for those above. */
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
	/* It can have one unit mask at a time. */
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
	return ALL;
}

/* ---- all ---------------------------------------------------------------------------- */

bool __vperfctr_event_counters(const struct vperfctr_info *info, uint64_t code,
			       uint64_t *general)
{
	struct processor p;

	identify(&p, info);
	if (is_arm(info)) {
		/* The module refuses CHAIN. */
		*general = (code & ARM_EVENT) == ARM_CHAIN ? 0 : ALL;
		return true;
	}
	/* The firmware knows which counters can count it, and the module asks it. */
	if (is_riscv(info)) {
		*general = ALL;
		return true;
	}
	if (is_ppc32(info)) {
		*general = code == POWER_INSTRUCTIONS ? PPC32_WITH_INSTRUCTIONS : ALL;
		return code == POWER_INSTRUCTIONS || code == PPC32_CYCLES;
	}
	if (is_amd(info)) {
		*general = __vperfctr_amd_counters(p.family, code);
		return !*general || (p.family >= FIRST_AMD && p.family <= LAST_AMD);
	}
	*general = __vperfctr_intel_counters(&p, code);
	return *general;
}

/* True if word is one of words. */
static bool is_among(const char *word, const char *words)
{
	size_t len = strlen(word);
	const char *p = words;

	while ((p = strstr(p, word))) {
		if ((p == words || p[-1] == ' ') && (!p[len] || p[len] == ' '))
			return true;
		p += len;
	}
	return false;
}

/*
 * OFFCORE_RESPONSE_0 and _1 are the same event with two registers that select responses:
 * MSR_OFFCORE_RSP_0 and MSR_OFFCORE_RSP_1.
 */
uint64_t __vperfctr_event_twin(const struct vperfctr_info *info, uint64_t code)
{
	static const char both[] = "wsm wsm_dp snb snb_ep ivb ivb_ep hsw hsw_ep bdw bdw_ep skl skx clx icl icx";
	const uint64_t select = code & (EVNTSEL_UMASK | EVNTSEL_EVENT);
	const char *processor = __vperfctr_pfm_processor(info);
	uint64_t general, twins;

	if (!processor || !is_among(processor, both) || (select != 0x01b7 && select != 0x01bb))
		return code;
	/* The counter has been chosen for the code. */
	if (!__vperfctr_event_counters(info, code, &general) ||
	    !__vperfctr_event_counters(info, code ^ (0x01b7 ^ 0x01bb), &twins) || general != twins)
		return code;
	return code ^ (0x01b7 ^ 0x01bb);
}
