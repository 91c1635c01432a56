// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which general counters can count an event, if not all can.
 *
 * libpfm4 has this information for some processors but does not export it.  So this table
 * lists the restricted events.  There are two sources for Intel.  SDM volume 3,
 * "Performance Monitoring Events" (chapter 19 in older editions), has remarks such as
 * "counter 2 only".  The event lists at download.01.org/perfmon have a column "Counter".
 * If the two differ, the table has only the counters that both name.  The source for AMD
 * family 15h is BKDG 42301, 3.14 "Core Performance Counter Events", which gives
 * PERF_CTL[n] for each event.
 */
#include "event.h"

#define ANY	(-1)	/* unit mask */

struct rule {
	const char *processors;	/* libpfm4's names */
	uint16_t first, last;	/* event selects */
	int umask;
	uint64_t counters;
};

/* The first matching rule decides.  All counters count an event that matches none. */
static const struct rule rules[] = {
	/* Core Duo */
	{ "coreduo", 0x11, 0x13, ANY, 0x2 },		/* FP_ASSIST, MUL, DIV */
	{ "coreduo", 0x14, 0x14, ANY, 0x1 },		/* CYCLES_DIV_BUSY */
	{ "coreduo", 0x19, 0x19, ANY, 0x2 },		/* DELAYED_BYPASS */
	{ "coreduo", 0xc1, 0xc1, ANY, 0x1 },		/* FP_COMP_INSTR_RET */

	/* Core 2 */
	{ "core", 0x10, 0x10, ANY, 0x1 },		/* FP_COMP_OPS_EXE */
	{ "core", 0x11, 0x13, ANY, 0x2 },		/* FP_ASSIST, MUL, DIV */
	{ "core", 0x14, 0x14, ANY, 0x1 },		/* CYCLES_DIV_BUSY */
	{ "core", 0x18, 0x18, ANY, 0x1 },		/* IDLE_DURING_DIV */
	{ "core", 0x19, 0x19, ANY, 0x2 },		/* DELAYED_BYPASS */
	{ "core", 0xa1, 0xa1, ANY, 0x1 },		/* RS_UOPS_DISPATCHED.PORT */
	{ "core", 0xc9, 0xc9, ANY, 0x1 },		/* ITLB_MISS_RETIRED */
	{ "core", 0xcb, 0xcb, ANY, 0x1 },		/* MEM_LOAD_RETIRED */

	/* Nehalem, Westmere */
	{ "nhm nhm_ex wsm wsm_dp", 0x0b, 0x0b, 0x10, 0x8 },	/* MEM_INST_RETIRED.LATENCY */
	{ "nhm nhm_ex", 0x40, 0x43, ANY, 0x3 },		/* L1D_CACHE_*, L1D_ALL_REF */
	{ "nhm nhm_ex", 0x48, 0x48, ANY, 0x3 },		/* L1D_PEND_MISS */
	{ "wsm wsm_dp", 0x60, 0x60, ANY, 0x1 },	/* OFFCORE_REQUESTS_OUTSTANDING */
	{ "wsm wsm_dp", 0xb3, 0xb3, ANY, 0x1 },	/* SNOOPQ_REQUESTS_OUTSTANDING */
	{ "nhm nhm_ex wsm wsm_dp", 0x4c, 0x4c, ANY, 0x3 },	/* LOAD_HIT_PRE */
	{ "nhm nhm_ex wsm wsm_dp", 0x4e, 0x4e, ANY, 0x3 },	/* L1D_PREFETCH */
	{ "nhm nhm_ex wsm wsm_dp", 0x51, 0x53, ANY, 0x3 },	/* L1D, ..._FB_HIT */
	{ "nhm nhm_ex wsm wsm_dp", 0x63, 0x63, ANY, 0x3 },	/* CACHE_LOCK_CYCLES */

	/* Sandy Bridge to Broadwell: pending L1 misses; retired loads */
	{ "snb snb_ep ivb ivb_ep hsw hsw_ep bdw bdw_ep", 0x48, 0x48, ANY, 0x4 },
	{ "snb snb_ep", 0xa3, 0xa3, 0x02, 0x4 },	/* CYCLE_ACTIVITY.*_L1D_PENDING */
	{ "snb snb_ep", 0xa3, 0xa3, 0x06, 0x4 },
	{ "ivb ivb_ep hsw hsw_ep bdw bdw_ep", 0xa3, 0xa3, 0x08, 0x4 },
	{ "ivb ivb_ep hsw hsw_ep bdw bdw_ep", 0xa3, 0xa3, 0x0c, 0x4 },
	{ "snb snb_ep ivb ivb_ep hsw hsw_ep bdw bdw_ep", 0xa3, 0xa3, ANY, 0xf },
	{ "snb snb_ep ivb ivb_ep hsw hsw_ep bdw bdw_ep", 0xc0, 0xc0, 0x01, 0x2 },	/* PREC_DIST */
	{ "snb snb_ep ivb ivb_ep hsw hsw_ep bdw bdw_ep", 0xcd, 0xcd, ANY, 0x8 },	/* MEM_TRANS_RETIRED */
	{ "snb snb_ep ivb ivb_ep hsw hsw_ep bdw bdw_ep", 0xd0, 0xd3, ANY, 0xf },
	{ "ivb ivb_ep", 0x79, 0x79, 0x02, 0xf },	/* IDQ.EMPTY */
	{ "ivb ivb_ep", 0x9c, 0x9c, 0x01, 0xf },	/* IDQ_UOPS_NOT_DELIVERED.CORE */

	/* Skylake, Cascade Lake */
	{ "skl skx clx", 0xc0, 0xc0, 0x01, 0x2 },	/* INST_RETIRED.PREC_DIST */
	{ "skl skx clx", 0xc6, 0xc6, ANY, 0xf },	/* FRONTEND_RETIRED */
	{ "skl skx clx", 0xcd, 0xcd, ANY, 0xf },	/* MEM_TRANS_RETIRED */
	{ "skl skx clx", 0xd0, 0xd2, ANY, 0xf },	/* MEM_*_RETIRED */

	/* Ice Lake */
	{ "icl icx", 0x03, 0x0a, ANY, 0xf },
	{ "icl icx", 0x1f, 0x28, ANY, 0xf },
	{ "icl icx", 0x32, 0x32, ANY, 0xf },
	{ "icl icx", 0x48, 0x56, ANY, 0xf },
	{ "icl icx", 0x60, 0x8b, ANY, 0xf },
	{ "icl icx", 0xa3, 0xa3, 0x04, 0xff },		/* CYCLE_ACTIVITY.STALLS_TOTAL */
	{ "icl icx", 0xa3, 0xa3, 0x10, 0xff },		/* ... CYCLES_MEM_ANY */
	{ "icl icx", 0xa3, 0xa3, 0x14, 0xff },		/* ... STALLS_MEM_ANY */
	{ "icl icx", 0xa3, 0xa3, ANY, 0xf },
	{ "icl icx", 0xa8, 0xb0, ANY, 0xf },
	{ "icl icx", 0xb7, 0xbd, ANY, 0xf },
	{ "icl icx", 0xd0, 0xe6, ANY, 0xf },
	{ "icl icx", 0xef, 0xf4, ANY, 0xf },

	/* Golden Cove: Sapphire Rapids, Alder Lake */
	{ "spr emr adl_glc", 0x2e, 0x2e, ANY, 0xff },
	{ "spr emr adl_glc", 0x3c, 0x3c, ANY, 0xff },
	{ "spr emr adl_glc", 0x01, 0x8f, ANY, 0xf },
	{ "spr emr adl_glc", 0xa3, 0xa3, 0x04, 0xff },
	{ "spr emr adl_glc", 0xa3, 0xa3, 0x10, 0xff },
	{ "spr emr adl_glc", 0xa3, 0xa3, ANY, 0xf },
	{ "spr emr adl_glc", 0xa4, 0xa4, 0x04, 0x1 },	/* TOPDOWN.BAD_SPEC_SLOTS */
	{ "spr emr adl_glc", 0xa4, 0xa4, 0x08, 0x1 },	/* ... BR_MISPREDICT_SLOTS */
	{ "spr emr adl_glc", 0xcd, 0xcd, 0x01, 0xfe },	/* MEM_TRANS_RETIRED.LOAD_LATENCY */
	{ "spr emr adl_glc", 0xcd, 0xcd, 0x02, 0x1 },	/* ... STORE_SAMPLE */
	{ "spr emr adl_glc", 0xce, 0xce, ANY, 0x1 },
	{ "spr emr adl_glc", 0xd0, 0xdf, ANY, 0xf },

#define FAM15H "amd64_fam15h_interlagos"
#define ZEN "amd64_fam17h amd64_fam17h_zen1 amd64_fam17h_zen2 amd64_fam19h_zen3 " \
	    "amd64_fam19h_zen4 amd64_fam1ah_zen5"
	/* Family 15h: floating point, except as in fam15h_special() */
	{ FAM15H, 0x003, 0x003, ANY, 0x08 },
	{ FAM15H, 0x00b, 0x00b, ANY, 0x08 },
	{ FAM15H, 0x00d, 0x00d, ANY, 0x08 },
	{ FAM15H, 0x000, 0x01f, ANY, 0x38 },
	/* load and store, data cache */
	{ FAM15H, 0x023, 0x023, ANY, 0x07 },
	{ FAM15H, 0x02d, 0x02d, ANY, 0x08 },
	{ FAM15H, 0x02e, 0x02e, ANY, 0x09 },
	{ FAM15H, 0x031, 0x031, ANY, 0x07 },
	{ FAM15H, 0x043, 0x043, ANY, 0x07 },
	{ FAM15H, 0x045, 0x046, ANY, 0x07 },
	{ FAM15H, 0x054, 0x055, ANY, 0x07 },
	{ FAM15H, 0x020, 0x05f, ANY, 0x3f },
	/* bus, L2, instruction cache, decoder */
	{ FAM15H, 0x08f, 0x08f, ANY, 0x01 },
	{ FAM15H, 0x060, 0x09f, ANY, 0x07 },
	{ FAM15H, 0x187, 0x188, ANY, 0x01 },
	{ FAM15H, 0x160, 0x19f, ANY, 0x07 },
	/* execution */
	{ FAM15H, 0x0c0, 0x0cf, ANY, 0x3f },
	{ FAM15H, 0x1c0, 0x1c0, ANY, 0x38 },
	{ FAM15H, 0x1c1, 0x1cf, ANY, 0x3f },
	{ FAM15H, 0x0db, 0x0df, ANY, 0x3f },
	{ FAM15H, 0x1d6, 0x1d6, ANY, 0x3f },
	{ FAM15H, 0x1d8, 0x1d8, ANY, 0x3f },
	{ FAM15H, 0x0d0, 0x0df, ANY, 0x07 },
	{ FAM15H, 0x1d0, 0x1df, ANY, 0x07 },

	/* Zen: retired FLOPS, which need two counters (MergeEvent); the module refuses them */
	{ ZEN, 0x003, 0x003, ANY, 0 },
};

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

/* Return the counters of two events for which the unit mask decides, or 0. */
static uint64_t fam15h_special(unsigned int select, unsigned int umask)
{
	if (select == 0x000 && (umask & 0xf0) && (umask & 0x0f))
		return 0x08;
	if (select == 0x004 && __builtin_popcount(umask) > 1)
		return 0x08;
	return 0;
}

uint64_t __vperfctr_event_counters(const char *processor, uint64_t code)
{
	unsigned int select = (unsigned int)((code & EVNTSEL_EVENT) | (code & AMD_EVENT_HIGH) >> 24);
	unsigned int umask = (unsigned int)((code & EVNTSEL_UMASK) >> 8), i;
	uint64_t special;

	if (!processor)
		return ~UINT64_C(0);
	if (!strcmp(processor, FAM15H)) {
		special = fam15h_special(select, umask);
		if (special)
			return special;
	}
	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		const struct rule *r = &rules[i];

		if (select >= r->first && select <= r->last &&
		    (r->umask == ANY || umask == (unsigned int)r->umask) &&
		    is_among(processor, r->processors))
			return r->counters;
	}
	return ~UINT64_C(0);
}

/*
 * OFFCORE_RESPONSE_0 and _1 are the same event with two registers that select responses:
 * MSR_OFFCORE_RSP_0 and MSR_OFFCORE_RSP_1.
 */
uint64_t __vperfctr_event_twin(const char *processor, uint64_t code)
{
	static const char both[] = "wsm wsm_dp snb snb_ep ivb ivb_ep hsw hsw_ep bdw bdw_ep skl skx clx icl icx";
	const uint64_t select = code & (EVNTSEL_UMASK | EVNTSEL_EVENT);

	if (!processor || !is_among(processor, both) || (select != 0x01b7 && select != 0x01bb))
		return code;
	return code ^ (0x01b7 ^ 0x01bb);
}
