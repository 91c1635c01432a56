// SPDX-License-Identifier: GPL-2.0
/*
 * Operations on a struct perfctr_cpu_state that are the same on all processors: controls, sums
 * and overflows of states whose counters are suspended.  For drivers without faster ones, there
 * are also operations on running states.  cpu-lost.c handles a suspend of the system.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>

#include "driver.h"

/* Identities of controls.  0 identifies none. */
static atomic64_t next_id = ATOMIC64_INIT(0);

static void install_control(struct perfctr_cpu_state *state,
			    const struct perfctr_cpu_control *control, u64 id, u64 preserve)
{
	struct vperfctr_page *page = state->page;
	unsigned int i, nrctrs = perfctr_nrctrs(control);
	unsigned int old = perfctr_nrctrs(&state->control);

	/* Copy only the counters that are used. */
	memcpy(&state->control, control, offsetof(struct perfctr_cpu_control, ctr));
	memcpy(state->control.ctr, control->ctr, nrctrs * sizeof(control->ctr[0]));
	state->id = id;
	state->cstatus = perfctr_make_cstatus(control);
	state->control.cstatus = state->cstatus;
	state->special = perfctr_special(control);

	perfctr_page_begin(page);
	page->cstatus = state->cstatus;
	page->mask = control->mask;
	if (!control->tsc_on)
		page->tsc_sum = 0;
	for (i = 0; i < nrctrs; i++) {
		*perfctr_ishift(state, i) = 0;
		page->ctr[i].map = control->ctr[i].map;
		page->ctr[i].start = control->ctr[i].ireset;	/* 0 if a-mode */
		if (!(preserve & BIT_ULL(i)))
			page->ctr[i].sum = 0;
	}
	/* A later control that preserves one of these preserves zero. */
	for (; i < old; i++)
		memset(&page->ctr[i], 0, sizeof(page->ctr[i]));
	perfctr_page_end(page);
}

void perfctr_cpu_update_control(struct perfctr_cpu_state *state,
				const struct perfctr_cpu_control *control, u64 preserve)
{
	u64 id = atomic64_inc_return(&next_id);

	if (unlikely(control->kinds))
		control->kinds->id = id;
	install_control(state, control, id, preserve);
}

void perfctr_cpu_inherit(struct perfctr_cpu_state *state,
			 const struct perfctr_cpu_state *parent)
{
	install_control(state, &parent->control, parent->id, 0);
}

void perfctr_cpu_spread(struct perfctr_cpu_state *state, u32 part)
{
	const struct perfctr_cpu_control *control = &state->control;
	struct vperfctr_page *page = state->page;
	unsigned int i;
	u64 first;

	perfctr_page_begin(page);
	for (i = control->nractrs; i < perfctr_nrctrs(control); i++) {
		first = perfctr_rest_of_period(-(u64)control->ctr[i].ireset, part);
		if (first < perfctr_cpu_info.min_period)
			first = perfctr_cpu_info.min_period;
		page->ctr[i].start = -first;
	}
	perfctr_page_end(page);
}

/* ---- overflow ------------------------------------------------------------ */

/* Return a period 2^shift times as long.  Reduces *shift until it can be loaded. */
static u64 long_period(s64 ireset, u32 *shift)
{
	u64 period = -ireset;
	u32 n;

	for (n = 0; n < *shift && period <= perfctr_cpu_info.max_period / 2; n++)
		period *= 2;
	*shift = n;
	return period;
}

u64 perfctr_long_start(struct perfctr_cpu_state *state, unsigned int i, unsigned int shift)
{
	*perfctr_ishift(state, i) = shift;
	return -long_period(state->control.ctr[i].ireset, perfctr_ishift(state, i));
}

/*
 * The `start` of a suspended i-mode counter is the value that it stopped at.  The value is
 * in the lower half of the range if the counter passed zero since it was loaded.
 */
struct perfctr_overflow perfctr_cpu_identify_overflow(struct perfctr_cpu_state *state,
						      unsigned int shift)
{
	const struct perfctr_cpu_control *control = &state->control;
	struct perfctr_overflow overflow = { };
	struct vperfctr_page *page = state->page;
	unsigned int i;

	perfctr_page_begin(page);
	for (i = control->nractrs; i < perfctr_nrctrs(control); i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];

		if (!(ctr->start & perfctr_sign(ctr->map)))
			ctr->start = perfctr_reset_ictr(state, i, shift, &overflow);
	}
	perfctr_page_end(page);
	return overflow;
}

bool perfctr_cpu_has_overflow(const struct perfctr_cpu_state *state)
{
	const struct vperfctr_page *page = state->page;
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);

	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		if (!(page->ctr[i].start & perfctr_sign(page->ctr[i].map)))
			return true;
	}
	return false;
}

/* The operations on a running state for drivers that have no faster way. */
struct perfctr_overflow perfctr_generic_take_overflow(struct perfctr_cpu_state *state,
						      unsigned int shift)
{
	perfctr_cpu_suspend(state);
	return perfctr_cpu_identify_overflow(state, shift);
}

void perfctr_generic_restart(struct perfctr_cpu_state *state)
{
	perfctr_cpu_resume(state);
}

u32 perfctr_generic_hold_overflow(struct perfctr_cpu_state *state)
{
	u32 ctrs;

	perfctr_cpu_suspend(state);
	ctrs = perfctr_cpu_identify_overflow(state, 0).ctrs;
	if (ctrs)
		perfctr_cpu_hold_pmcs(state);
	perfctr_cpu_resume(state);
	return ctrs;
}

void perfctr_generic_iresume(struct perfctr_cpu_state *state)
{
	perfctr_cpu_suspend(state);
	perfctr_cpu_unhold_pmcs(state);
	perfctr_cpu_resume(state);
}

/* For drivers without perfctr_has_parts_ops: the service never calls it. */
void perfctr_generic_parts(struct perfctr_cpu_state *joint, struct perfctr_cpu_state *const *part)
{
}

bool perfctr_may_use_counters(struct perfctr_cpu_state *state)
{
	if (!VPERFCTR_CSTATUS_NRCTRS(state->cstatus)) {
		/* An overflow may hold the counters of a state that shows none. */
		if (VPERFCTR_CSTATUS_NRCTRS(state->control.cstatus) && perfctr_driver->open_held &&
		    !perfctr_prepare_here())
			perfctr_driver->open_held();
		perfctr_generic_resume(state);
		return false;
	}
	if (!perfctr_prepare_here())
		return true;
	perfctr_refused(state);
	return false;
}

u64 perfctr_cpu_skipped(struct perfctr_cpu_state *state)
{
	const struct perfctr_cpu_control *control = &state->control;
	u64 skipped = 0;
	unsigned int i;

	for (i = control->nractrs; i < perfctr_nrctrs(control); i++) {
		const struct vperfctr_page_ctr *ctr = &state->page->ctr[i];
		u64 left = -ctr->start & (perfctr_sign(ctr->map) * 2 - 1);
		u64 period = -control->ctr[i].ireset;
		u32 *shift = perfctr_ishift(state, i);

		if (*shift)
			skipped += div64_u64((period << *shift) - left, period);
		*shift = 0;
	}
	return skipped;
}

void perfctr_cpu_hold_pmcs(struct perfctr_cpu_state *state)
{
	state->cstatus &= VPERFCTR_CSTATUS_TSC;
	perfctr_cpu_mark_suspended(state);
}

void perfctr_cpu_unhold_pmcs(struct perfctr_cpu_state *state)
{
	state->cstatus = state->control.cstatus;
	perfctr_cpu_mark_suspended(state);
}

void perfctr_cpu_mark_suspended(struct perfctr_cpu_state *state)
{
	struct vperfctr_page *page = state->page;

	perfctr_page_begin(page);
	page->cstatus = state->cstatus;
	perfctr_page_end(page);
}
