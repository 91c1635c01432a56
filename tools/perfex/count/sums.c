// SPDX-License-Identifier: GPL-2.0
/* Read and add sums, and check that they are complete. */
#include <inttypes.h>
#include <stdlib.h>

#include "perfex.h"

void sums_add(struct sums *to, const struct sums *s)
{
	unsigned int i;

	to->tsc += s->tsc;
	for (i = 0; i < VPERFCTR_MAX_CTRS; i++)
		to->pmc[i] += s->pmc[i];
	for (i = 0; i < NR_SOFT; i++)
		to->soft[i] += s->soft[i];
}

void sums_subtract(struct sums *from, const struct sums *s)
{
	unsigned int i;

	from->tsc -= s->tsc;
	for (i = 0; i < VPERFCTR_MAX_CTRS; i++)
		from->pmc[i] -= s->pmc[i];
	for (i = 0; i < NR_SOFT; i++)
		from->soft[i] -= s->soft[i];
}

void counts_add(struct counts *to, const struct counts *c)
{
	sums_add(&to->own, &c->own);
	sums_add(&to->children, &c->children);
	to->missed += c->missed;
	to->status |= c->status;
	to->without_tsc |= c->without_tsc;
	to->replaced |= c->replaced;
	to->cut_off |= c->cut_off;
}

/* True if the state still has the control that perfex gave it. */
static bool same_control(const struct vperfctr_control *a, const struct vperfctr_control *b)
{
	uint32_t nr = (a->nractrs + a->nrictrs) * (a->nrkinds ? a->nrkinds : 1);

	return a->flags == b->flags && a->nrkinds == b->nrkinds && a->nractrs == b->nractrs && a->nrictrs == b->nrictrs &&
	       a->tsc_on == b->tsc_on && a->soft == b->soft && a->clock_period == b->clock_period &&
	       (!nr || !memcmp((const void *)(uintptr_t)a->ctr,
			       (const void *)(uintptr_t)b->ctr,
			       nr * sizeof(struct vperfctr_ctr)));
}

static void copy_soft(const struct vperfctr_soft *soft, struct counts *c)
{
	unsigned int i;

	for (i = 0; i < VPERFCTR_NR_SOFT; i++) {
		c->own.soft[i] = soft->count[i].own;
		c->children.soft[i] = soft->count[i].children;
		if (!(VPERFCTR_SOFT_PAGE_FAULTS >> i & 1))
			continue;
		c->own.soft[SOFT_PAGE_FAULTS] += soft->count[i].own;
		c->children.soft[SOFT_PAGE_FAULTS] += soft->count[i].children;
	}
}

static int read_counts(struct vperfctr *v, const struct vperfctr_control *control,
		       uint32_t flags, struct counts *c)
{
	struct vperfctr_ctr ctr[MAX_KINDS * VPERFCTR_MAX_CTRS];
	struct vperfctr_soft soft = { .size = sizeof(soft) };
	const bool perf = vperfctr_backend(v) == VPERFCTR_BACKEND_PERF;
	struct vperfctr_control now;
	struct vperfctr_read read = {
		.nrctrs = VPERFCTR_MAX_CTRS,
		.flags = flags,
		.sums = (uintptr_t)&c->own,
		.children = (uintptr_t)&c->children,
		.control = (uintptr_t)&now,
	};
	int err;

	memset(c, 0, sizeof(*c));
	if (control->soft || perf)
		read.soft = (uintptr_t)&soft;
	if (perf)
		read.control = 0;
	vperfctr_control_init(&now, ctr);
	now.nrkinds = MAX_KINDS;
	err = vperfctr_read_state(v, &read);
	if (err)
		return err;
	c->status = read.status;
	c->without_tsc = !control->tsc_on;
	c->missed = read.children_missed;
	if (read.soft)
		copy_soft(&soft, c);
	/* The clock of perf_event has a tick per nanosecond, and a state that no thread changes. */
	if (perf) {
		/* One that makes samples stands still while perf_event throttles it. */
		if (soft.soft & VPERFCTR_SOFT_TASK_CLOCK && !control->clock_period)
			c->own.tsc = soft.count[0].own;
		return 0;
	}
	/* Only its own thread can have suspended it. */
	if (!same_control(&now, control) || c->status & VPERFCTR_STATUS_SUSPENDED) {
		memset(c, 0, sizeof(*c));
		c->replaced = true;
	}
	return 0;
}

int counts_read(struct vperfctr *v, const struct vperfctr_control *control, struct counts *c)
{
	return read_counts(v, control, 0, c);
}

int counts_read_set(struct vperfctr *v, const struct vperfctr_control *control, struct counts *c)
{
	return read_counts(v, control, VPERFCTR_READ_MEMBERS, c);
}

int counts_finish(struct vperfctr *v, const struct vperfctr_control *control, struct counts *c)
{
	int err = counts_read(v, control, c);

	/* The sums of a descendant are added when it ends, or when the state is unlinked. */
	if (err || !(c->status & VPERFCTR_STATUS_CHILDREN) || vperfctr_unlink(v))
		return err;
	err = counts_read(v, control, c);
	c->cut_off = true;
	return err;
}

/* True if anything was counted: the TSC is, from the first instruction on. */
bool counts_any(const struct counts *c)
{
	if (c->without_tsc)
		return !(c->status & VPERFCTR_STATUS_ARMED);
	return c->own.tsc || c->children.tsc;
}

int counts_check(const struct counts *c, struct error *e)
{
	if (c->replaced)
		return fail_with(e, "the program itself used the counters for something else");
	if (c->status & VPERFCTR_STATUS_PRIVILEGED)
		return fail_with(e, "%s: it gained privileges when executed (set-user-ID?), or you may not read its file",
			    counts_any(c) ? "a program was not counted" :
					    "the command was not counted");
	if (c->status & VPERFCTR_STATUS_FORBIDDEN)
		return fail_with(e, "not all was counted, as some of it ran on CPUs that cannot count (see perfex info): use taskset(1).  If an event disturbs the hyper-thread sibling, 'echo off | sudo tee /sys/devices/system/cpu/smt/control' turns siblings off");
	if (c->missed)
		return fail_with(e, "%" PRIu64 " %s not, or not wholly, in these counts: %s gained privileges when executed (set-user-ID?), used the counters otherwise, ran on forbidden CPUs, or there was no room (memory, or the module's max_states_per_user)",
			    c->missed, c->missed == 1 ? "thread is" : "threads are",
			    c->missed == 1 ? "it" : "they");
	return 0;
}

int result_finish(struct result *r, struct error *e)
{
	r->counted = counts_any(&r->counts);
	r->total = r->counts.own;
	sums_add(&r->total, &r->counts.children);
	r->complete = !counts_check(&r->counts, e);
	return r->complete ? 0 : -1;
}

void result_add_times(struct result *r)
{
	unsigned int i;

	r->total.soft[SOFT_ELAPSED] = nanoseconds(r->elapsed);
	r->total.soft[SOFT_USER] = nanoseconds(r->user);
	r->total.soft[SOFT_SYSTEM] = nanoseconds(r->system);
	/* The parts are counted at the same time. */
	for (i = 0; i < r->nrparts; i++)
		r->parts[i].sums.soft[SOFT_ELAPSED] = r->total.soft[SOFT_ELAPSED];
}

/* The caller fills in the name.  Return: NULL if there is no memory. */
struct part *result_add_part(struct result *r, const struct sums *sums)
{
	struct part *parts = reallocarray(r->parts, r->nrparts + 1, sizeof(*parts));

	if (!parts)
		return NULL;
	r->parts = parts;
	parts += r->nrparts++;
	memset(parts, 0, sizeof(*parts));
	parts->sums = *sums;
	return parts;
}

void result_free(struct result *r)
{
	free(r->parts);
	r->parts = NULL;
	r->nrparts = 0;
}
