// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Arm's PMUv3.  The event counters can all count the same, except CHAIN, and the only fixed
 * counter counts cycles.
 */
#include "family.h"

/* Fields of PMEVTYPERn_EL0 and PMCCFILTR_EL0; P and U exclude a mode. */
#define ARM_EVENT	UINT64_C(0xffff)
#define ARM_U		(UINT64_C(1) << 30)
#define ARM_P		(UINT64_C(1) << 31)

#define ARM_CHAIN	0x1e	/* the event: overflows of the counter before */

static int take_pfm(struct vperfctr_event *event, const struct pfm_event *pfm,
		    struct vperfctr_why *why)
{
	(void)why;
	/* libpfm4's mode bits are not the register's: this library sets them for :u and :k. */
	event->code = pfm->codes[0] & ARM_EVENT;
	return 0;
}

static bool counters(const struct vperfctr_info *info, uint64_t code, uint64_t *general)
{
	(void)info;
	/* The module refuses CHAIN. */
	*general = (code & ARM_EVENT) == ARM_CHAIN ? 0 : ANY_COUNTER;
	return true;
}

/* perf's choice: the caches are the L1 data cache, and branch misses need not be retired. */
static const struct generic_event generic[] = {
	{ VPERFCTR_EVENT_INSTRUCTIONS, 0x0008, .general = ANY_COUNTER },
	{ VPERFCTR_EVENT_CYCLES, 0x0011, .general = ANY_COUNTER, .fixed = 1 },
	{ VPERFCTR_EVENT_BRANCHES, 0x0021, .general = ANY_COUNTER },
	{ VPERFCTR_EVENT_BRANCH_MISSES, 0x0010, .general = ANY_COUNTER },
	{ VPERFCTR_EVENT_REF_CYCLES, 0x4004, .general = ANY_COUNTER },
	{ VPERFCTR_EVENT_CACHE_REFS, 0x0004, .general = ANY_COUNTER },
	{ VPERFCTR_EVENT_CACHE_MISSES, 0x0003, .general = ANY_COUNTER },
	{ .arch = 0 },
};

const struct family __vperfctr_arm = {
	.cpu_type = VPERFCTR_CPU_ARM_PMUV3,
	.generic = generic,
	.user = ARM_U,
	.kernel = ARM_P,
	.fixed_user = ARM_U,
	.fixed_kernel = ARM_P,
	.excludes = true,
	.fields = ARM_EVENT,
	.fields_text = "an event's number (bits 0-15)",
	.modes_text = "U (30), P (31) and ",
	.raw_text = "rEEEE, the event's number",
	.example = "r0008",
	.take_pfm = take_pfm,
	.counters = counters,
};
