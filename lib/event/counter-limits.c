// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which general counters of Intel's processors can count an event.
 *
 * libpfm4 has this information for some processors but does not export it.  There are
 * these sources:
 *
 * Intel, from Nehalem and Bonnell on: Intel's lists (counter-lists.h).  An event that a
 * list does not have may be restricted or not, which nothing proves.
 * P6, Core Duo and Core 2: SDM volume 3, "Performance Monitoring Events" (chapter 19 in older
 * editions), which has remarks such as "counter 2 only".
 */
#include <stdlib.h>

#include "x86.h"

/* Unit masks of rules, besides a single one. */
#define ANY		(-1)
#define WITH(bits)	(0x100 | (bits))	/* all that have one of these bits */

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

/* These models have no list: all counters count an event that matches no rule. */
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
	{ "novalake", 0x20, 0x75, 0x75, WITH(0x01), 0x1 }, /* SERIALIZATION */
	{ "novalake", 0x20, 0x75, 0x75, WITH(0x02), 0x2 },
	{ "novalake", 0x40, 0x47, 0x47, 0x08, 0xf },	/* MEMORY_ACTIVITY */
	{ "novalake", 0x40, 0x76, 0x76, ANY, 0xf },	/* UOPS_DECODED */
	{ "novalake", 0x40, 0x79, 0x79, ANY, 0xf },	/* IDQ */
	{ "novalake", 0x40, 0xb2, 0xb2, WITH(0x03), 0xf }, /* UOPS_DISPATCHED.INT_EU_ALL, ALU */
	{ "novalake", 0x40, 0xd0, 0xd0, ANY, 0xf },	/* MEM_INST_RETIRED */
	{ "novalake", 0x40, 0xdf, 0xdf, ANY, 0xf },
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

void __vperfctr_identify(struct processor *p, const struct vperfctr_info *info)
{
	const char *forced = getenv("LIBPFM_FORCE_PMU");
	struct cpu_signature s;

	memset(p, 0, sizeof(*p));
	if (forced && *forced) {
		set_forced(p, __vperfctr_pfm_processor(info));
		return;
	}
	__vperfctr_cpu_signature(&s);
	p->family = s.family;
	set_intel(p, &s, info);
}

/* ---- its counters ------------------------------------------------------------------ */

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

static bool has_umask(const struct rule *r, int umask)
{
	if (r->umask == ANY || r->umask == umask)
		return true;
	return r->umask >= WITH(0) && (r->umask & umask);
}

uint64_t __vperfctr_intel_counters(const struct processor *p, uint64_t code)
{
	const unsigned int event = (unsigned int)(code & EVNTSEL_EVENT);
	const int umask = (int)((code & EVNTSEL_UMASK) >> 8);
	const struct counter_list *l;
	uint64_t counters;
	unsigned int i;

	/* counter-lists.h has no events with UMASK2, nor with EQ, which is of a later edition. */
	if (!p->list || code & (EVNTSEL_UMASK2 | EVNTSEL_EQ))
		return 0;
	l = find_list(p);
	counters = l ? look_up(l, code) : ANY_COUNTER;
	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		const struct rule *r = &rules[i];

		if (!strcmp(r->list, p->list) && r->core == (l ? l->core : 0) &&
		    event >= r->first && event <= r->last && has_umask(r, umask))
			counters &= r->counters;
	}
	return counters;
}

bool __vperfctr_listed_counters(const struct vperfctr_info *info, uint64_t code, uint64_t *general)
{
	struct processor p;

	__vperfctr_identify(&p, info);
	*general = __vperfctr_intel_counters(&p, code);
	return *general;
}
