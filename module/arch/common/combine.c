// SPDX-License-Identifier: GPL-2.0
/*
 * Several states that count at the same time, by one more state that has the counters of all
 * of them: the joint state.  A driver knows only that one.  Its control is that of an
 * ordinary state, so a driver that can count the same with one control can do this.
 *
 * The a-mode counters of all parts come first, then the i-mode ones, each in the order of
 * the parts.
 */
#include <linux/errno.h>
#include <linux/string.h>

#include "common.h"

/* True if resume changes `start` of an i-mode counter: if the architecture says so. */
#ifndef PERFCTR_LOADS_OTHER_START
#define PERFCTR_LOADS_OTHER_START	0
#endif

static bool has_ctrs(const struct perfctr_cpu_state *part)
{
	return VPERFCTR_CSTATUS_NRCTRS(part->cstatus);
}

static void add_ctrs(struct perfctr_cpu_control *to, unsigned int *nr,
		     const struct perfctr_cpu_control *from, unsigned int first, unsigned int end)
{
	for (; first < end; first++, ++*nr) {
		to->ctr[*nr] = from->ctr[first];
		to->ctr[*nr].reserved = 0;	/* see perfctr_ishift() */
	}
}

int perfctr_cpu_combine(struct perfctr_cpu_control *to,
			const struct perfctr_cpu_control *const *from, unsigned int n, bool tsc_on)
{
	unsigned int i, nr = 0;

	memset(to, 0, offsetof(struct perfctr_cpu_control, ctr));
	to->tsc_on = tsc_on;
	for (i = 0; i < n; i++) {
		if (from[i]->kind != from[0]->kind || from[i]->global[0] != from[0]->global[0] ||
		    from[i]->global[1] != from[0]->global[1])
			return -EINVAL;
		to->kind = from[0]->kind;
		to->global[0] = from[0]->global[0];
		to->global[1] = from[0]->global[1];
		to->nractrs += from[i]->nractrs;
		to->nrictrs += from[i]->nrictrs;
	}
	if (perfctr_nrctrs(to) > perfctr_cpu_max_ctrs())
		return -EINVAL;
	for (i = 0; i < n; i++)
		add_ctrs(to, &nr, from[i], 0, from[i]->nractrs);
	for (i = 0; i < n; i++)
		add_ctrs(to, &nr, from[i], from[i]->nractrs, perfctr_nrctrs(from[i]));
	return perfctr_cpu_check_control(to);
}

bool perfctr_cpu_join(struct perfctr_cpu_state *joint, struct perfctr_cpu_state *const *part,
		      unsigned int n)
{
	unsigned int i, p, actr = 0, ictr = joint->control.nractrs;
	struct vperfctr_page *page = joint->page;

	for (p = 0; p < n; p++) {
		const struct perfctr_cpu_control *control = &part[p]->control;

		if (!has_ctrs(part[p]))
			continue;
		for (i = 0; i < control->nractrs; i++, actr++) {
			if (page->ctr[actr].map != control->ctr[i].map)
				return false;
		}
		for (; i < perfctr_nrctrs(control); i++, ictr++) {
			if (page->ctr[ictr].map != control->ctr[i].map)
				return false;
			page->ctr[ictr].start = part[p]->page->ctr[i].start;
		}
	}
	return true;
}

void perfctr_cpu_joined(const struct perfctr_cpu_state *joint,
			struct perfctr_cpu_state *const *part, unsigned int n)
{
	const struct vperfctr_page *from = joint->page;
	unsigned int i, p, actr = 0, ictr = joint->control.nractrs;

	for (p = 0; p < n; p++) {
		u32 running = from->cstatus & (VPERFCTR_CSTATUS_RUNNING | VPERFCTR_CSTATUS_RDPMC);
		struct vperfctr_page *page = part[p]->page;

		if (!has_ctrs(part[p]))
			running &= ~VPERFCTR_CSTATUS_RDPMC;
		perfctr_page_begin(page);
		page->cstatus = part[p]->cstatus | running;
		page->tsc_start = from->tsc_start;
		for (i = 0; i < VPERFCTR_CSTATUS_NRACTRS(part[p]->cstatus); i++)
			page->ctr[i].start = from->ctr[actr++].start;
		if (PERFCTR_LOADS_OTHER_START) {
			for (; i < VPERFCTR_CSTATUS_NRCTRS(part[p]->cstatus); i++)
				page->ctr[i].start = from->ctr[ictr++].start;
		}
		perfctr_page_end(page);
	}
}

/* Add what a counter of the joint state has counted, which then starts at zero. */
static void add_sum(struct vperfctr_page_ctr *to, struct vperfctr_page_ctr *from)
{
	to->sum += from->sum;
	from->sum = 0;
	to->start = from->start;
}

void perfctr_cpu_part(struct perfctr_cpu_state *joint, struct perfctr_cpu_state *const *part,
		      unsigned int n)
{
	unsigned int i, p, actr = 0, ictr = joint->control.nractrs;
	struct vperfctr_page *from = joint->page;

	for (p = 0; p < n; p++) {
		struct vperfctr_page *page = part[p]->page;
		u32 cstatus = part[p]->cstatus;

		perfctr_page_begin(page);
		if (cstatus & VPERFCTR_CSTATUS_TSC)
			page->tsc_sum += from->tsc_sum;
		page->tsc_start = from->tsc_start;
		for (i = 0; i < VPERFCTR_CSTATUS_NRACTRS(cstatus); i++)
			add_sum(&page->ctr[i], &from->ctr[actr++]);
		for (; i < VPERFCTR_CSTATUS_NRCTRS(cstatus); i++)
			add_sum(&page->ctr[i], &from->ctr[ictr++]);
		perfctr_page_end(page);
	}
	from->tsc_sum = 0;
}
