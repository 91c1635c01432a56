/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loops over the counters of a running state, for the drivers of arm64, RISC-V and PowerPC.
 *
 * The function that reads a counter is a constant, so that it is inlined.
 */
#ifndef VPERFCTR_SUMS_H
#define VPERFCTR_SUMS_H

#include "common.h"
#include "regs.h"	/* in arch/ARCH */

typedef u64 perfctr_read_op(u32 map);

static __always_inline bool perfctr_has_ictrs(const struct perfctr_cpu_state *state)
{
	return state->cstatus & VPERFCTR_CSTATUS_ICTRS;
}

/* Add to the sums what counters that keep running have counted: the first @nr, or none. */
static __always_inline void perfctr_sample_ctrs(struct perfctr_cpu_state *state, unsigned int nr,
						u64 mask, perfctr_read_op *read)
{
	struct vperfctr_page *page = state->page;
	unsigned int i;
	u64 now;

	perfctr_page_begin(page);
	now = perfctr_rdtsc();
	if (state->cstatus & VPERFCTR_CSTATUS_TSC)
		page->tsc_sum += now - page->tsc_start;
	page->tsc_start = now;
	for (i = 0; i < nr; i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];

		now = read(ctr->map);
		ctr->sum += (now - ctr->start) & mask;
		ctr->start = now;
	}
	perfctr_page_end(page);
}

/* ---- i-mode counters whose top bit is set until they overflow: arm64 and RISC-V -- */

/* Return the bits that a counter has. */
static __always_inline u64 perfctr_counter_mask(u32 map)
{
	return perfctr_sign(map) * 2 - 1;
}

static __always_inline bool perfctr_have_overflowed(const struct perfctr_cpu_state *state,
						    perfctr_read_op *read)
{
	const struct vperfctr_page *page = state->page;
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);

	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		u32 map = page->ctr[i].map;

		if (!(read(map) & perfctr_sign(map)))
			return true;
	}
	return false;
}

/* Suspend the i-mode counters, which are already stopped. */
static __always_inline void perfctr_suspend_ictrs(const struct perfctr_cpu_state *state,
						  perfctr_read_op *read)
{
	struct vperfctr_page *page = state->page;
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);

	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];
		u64 now = read(ctr->map);

		ctr->sum += (now - ctr->start) & page->mask;
		ctr->start = now;
	}
}

#endif /* VPERFCTR_SUMS_H */
