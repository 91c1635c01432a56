/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of 32 bits that overflow at bit 31, for the drivers of POWER and of 32-bit PowerPC.
 */
#ifndef VPERFCTR_POWERPC_COUNTERS_H
#define VPERFCTR_POWERPC_COUNTERS_H

#include <linux/bits.h>
#include <linux/ptrace.h>

#include "powerpc.h"
#include "regs.h"
#include "../common/sums.h"

/*
 * Elsewhere an i-mode counter has overflowed when its top bit has become 0.  Here it has
 * overflowed when that bit has become 1, so a register has the opposite of the bit of `start`.
 */
#define IMODE_SIGN		BIT(31)

/* The driver has these two, as each has other numbers for its counters. */
static __always_inline u32 read_counter(u32 map);
static __always_inline void write_counter(u32 map, u32 value);

/* True if a counter's top bit is set, also of one in a-mode: it raises the interrupt, too. */
static bool have_overflowed(const struct perfctr_cpu_state *state)
{
	unsigned int i;

	for (i = 0; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		if (read_counter(state->page->ctr[i].map) & IMODE_SIGN)
			return true;
	}
	return false;
}

/*
 * Return what the handler may know of the interrupt's place: all of it, or NULL if the kernel was
 * interrupted for counters in a-mode alone.  No sample has that place.  The owner may be switched
 * out before the handler runs, and the next sample must not have it, either.
 */
static struct pt_regs *find_place(const struct perfctr_cpu_state *state, struct pt_regs *regs)
{
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);

	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		if (read_counter(state->page->ctr[i].map) & IMODE_SIGN)
			return regs;
	}
	return user_mode(regs) ? regs : NULL;
}

/* True if an i-mode counter had already overflowed when the state was suspended. */
static bool is_overflow_left(const struct perfctr_cpu_state *state)
{
	const struct vperfctr_page *page = state->page;
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);

	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		if (!(page->ctr[i].start & IMODE_SIGN))
			return true;
	}
	return false;
}

/* Suspend the i-mode counters, which are stopped. */
static noinline void suspend_ictrs(const struct perfctr_cpu_state *state)
{
	struct vperfctr_page *page = state->page;
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);

	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];
		u32 now = read_counter(ctr->map);

		ctr->sum += (u32)(now - ctr->start);
		ctr->start = now ^ IMODE_SIGN;
		write_counter(ctr->map, 0);
	}
}

/* Load the counters of a state with i-mode counters, all of which are stopped. */
static void load_ictrs(const struct perfctr_cpu_state *state)
{
	struct vperfctr_page *page = state->page;
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);

	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];

		ctr->start = (u32)ctr->start ^ IMODE_SIGN;
		write_counter(ctr->map, ctr->start);
	}
}

/*
 * Start the time of a state with i-mode counters and load these, unless one has overflowed.  *idle:
 * it has, and is handled before the owner returns to user mode.
 *
 * Return: true if the counters must be started.
 */
static __always_inline bool begin_with_ictrs(struct perfctr_cpu_state *state, u32 cstatus,
					     bool *idle)
{
	struct vperfctr_page *page = state->page;

	*idle = is_overflow_left(state);

	perfctr_page_begin(page);
	page->cstatus = cstatus;
	page->tsc_start = perfctr_rdtsc();
	if (!*idle)
		load_ictrs(state);
	perfctr_page_end(page);

	if (!*idle)
		return true;
	perfctr_overflowed(state, NULL);
	return false;
}

/* Start the time of a state without i-mode counters, whose counters are about to start. */
static __always_inline void begin_actrs(struct perfctr_cpu_state *state, u32 cstatus)
{
	struct vperfctr_page *page = state->page;
	unsigned int i, nrctrs = VPERFCTR_CSTATUS_NRCTRS(state->cstatus);

	perfctr_page_begin(page);
	page->cstatus = cstatus;
	page->tsc_start = perfctr_rdtsc();
	/* With isolation, suspend has cleared the counters, and `start`. */
	if (!perfctr_isolate) {
		for (i = 0; i < nrctrs; i++)
			page->ctr[i].start = read_counter(page->ctr[i].map);
	}
	perfctr_page_end(page);
}

/*
 * Add to the sums what the time and the counters have counted, of which the first @nractrs are in
 * a-mode.  *idle: as begin_with_ictrs() has set it.
 */
static __always_inline void end_ctrs(struct perfctr_cpu_state *state, unsigned int nractrs,
				     bool *idle)
{
	struct vperfctr_page *page = state->page;
	unsigned int i;

	perfctr_page_begin(page);
	if (state->cstatus & VPERFCTR_CSTATUS_TSC)
		page->tsc_sum += perfctr_rdtsc() - page->tsc_start;
	/* The counters of an idle state have been cleared. */
	for (i = 0; i < nractrs; i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];

		ctr->sum += (u32)(read_counter(ctr->map) - ctr->start);
		ctr->start = 0;
		if (perfctr_isolate)
			write_counter(ctr->map, 0);
	}
	if (unlikely(perfctr_has_ictrs(state)) && !*idle)
		suspend_ictrs(state);
	*idle = false;
	perfctr_page_end(page);
}

static __always_inline u64 read_actr(u32 map)
{
	return read_counter(map);
}

/* Sample a running state without i-mode counters. */
static __always_inline void sample_actrs(struct perfctr_cpu_state *state)
{
	perfctr_sample_ctrs(state, VPERFCTR_CSTATUS_NRCTRS(state->cstatus), U32_MAX, read_actr);
}

/*
 * Let the a-mode counters start from zero again, before the top bit of one is set.  The time
 * base does not stop: its sum goes on from where it was.
 */
static __always_inline void sample_with_ictrs(struct perfctr_cpu_state *state, bool idle,
					      perfctr_cpu_op *suspend, perfctr_cpu_op *resume)
{
	struct vperfctr_page *page = state->page;
	u64 sum = page->tsc_sum, start = page->tsc_start;

	if (idle) {
		perfctr_generic_sample(state);
		return;
	}
	suspend(state);
	resume(state);
	if (state->cstatus & VPERFCTR_CSTATUS_TSC) {
		perfctr_page_begin(page);
		page->tsc_sum = sum + page->tsc_start - start;
		perfctr_page_end(page);
	}
}

#endif /* VPERFCTR_POWERPC_COUNTERS_H */
