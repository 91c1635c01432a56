// SPDX-License-Identifier: GPL-2.0
/*
 * Events that are refused because AMD's processors count them wrong: northbridge
 * events of the K8 and family 10h to 14h, and events that need a pair of counters.
 */
#include "regs.h"
#include "x86.h"

/* Northbridge events up to family 14h: E0H to FFH, whatever the high bits. */
#define NB_EVENT		0xe0

/*
 * An event that happens up to 64 times in a cycle, of which one counter alone counts too
 * few.  The next counter must then count EVENT_MERGE, which perf sets up (PPR of family
 * 17h, "Large Increment per Cycle Events").
 */
#define EVENT_FLOPS		0x003
#define EVENT_MERGE		0xfff

/*
 * True if the event counts what all cores of the node do.  It goes wrong if two cores count it at
 * the same time (BKDG of family 10h, "Performance Monitor Events").  Later processors have
 * separate counters for the northbridge.
 */
static bool counts_northbridge(u64 evntsel)
{
	return perfctr_amd_family < 0x15 && (evntsel & NB_EVENT) == NB_EVENT;
}

/* True if the event needs a pair of counters, or is the second counter's. */
static bool needs_merging(u64 evntsel)
{
	u64 event = (evntsel & 0xff) | ((evntsel & PERFCTR_AMD_EVENT_HIGH) >> 24);

	return perfctr_amd_family >= 0x17 && (event == EVENT_FLOPS || event == EVENT_MERGE);
}

bool perfctr_amd_refuses(const struct vperfctr_info *kind, u64 evntsel)
{
	return counts_northbridge(evntsel) || needs_merging(evntsel);
}
