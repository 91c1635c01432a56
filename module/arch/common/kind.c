// SPDX-License-Identifier: GPL-2.0
/*
 * Kinds of CPUs.  A hybrid processor has CPUs with different counters and events.  Only
 * code on a CPU can find out what that CPU has.  So kinds are found as CPUs come online,
 * when the module is loaded or later, and are numbered in that order.  Until then a
 * CPU is forbidden to all kinds.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/percpu.h>
#include <linux/string.h>

#include "common.h"

#define MAX_KINDS	PERFCTR_MAX_KINDS

static struct vperfctr_info more_kinds[MAX_KINDS - 1];	/* the kinds after perfctr_cpu_info */
static struct cpumask forbidden[MAX_KINDS];

/* NULL: there is one kind of CPUs. */
static perfctr_probe_kind *probe_kind;
static perfctr_new_kind *new_kind;

static DEFINE_PER_CPU(const struct vperfctr_info *, kind_here);

const struct vperfctr_info *perfctr_kind_here(void)
{
	return probe_kind ? *this_cpu_ptr(&kind_here) : &perfctr_cpu_info;
}

/* Return the number of this CPU's kind, or -1. */
static int number_here(void)
{
	const struct vperfctr_info *info = perfctr_kind_here();

	if (info == &perfctr_cpu_info)
		return 0;
	return info ? info - more_kinds + 1 : -1;
}

static struct vperfctr_info *info_of(unsigned int kind)
{
	return kind ? &more_kinds[kind - 1] : &perfctr_cpu_info;
}

const struct vperfctr_info *perfctr_cpu_other_kind(unsigned int kind)
{
	/* Pairs with the release in perfctr_learn_kind(). */
	if (kind >= smp_load_acquire(&perfctr_cpu_info.nrkinds))
		return NULL;
	return info_of(array_index_nospec(kind, MAX_KINDS));
}

unsigned int perfctr_cpu_max_ctrs(void)
{
	/* A kind that is not known yet may have more counters than those that are. */
	return probe_kind ? VPERFCTR_MAX_CTRS : perfctr_cpu_info.nrctrs;
}

const struct cpumask *perfctr_cpus_forbidden(unsigned int kind)
{
	return probe_kind ? &forbidden[array_index_nospec(kind, MAX_KINDS)] : &perfctr_forbid_cpus;
}

static bool is_same_kind(const struct vperfctr_info *a, const struct vperfctr_info *b)
{
	return a->core_type == b->core_type && a->arch_events == b->arch_events &&
	       a->pmc_mask == b->pmc_mask && a->fixed_mask == b->fixed_mask &&
	       !strcmp(a->cpu_name, b->cpu_name);
}

void perfctr_learn_kind(unsigned int cpu)
{
	struct vperfctr_info info = perfctr_cpu_info;
	unsigned int kind;

	if (!probe_kind)
		return;
	if (probe_kind(&info)) {
		pr_warn("CPU %u is not used: its counters are too different from other CPUs'\n",
			cpu);
		return;
	}
	for (kind = 0; kind < perfctr_cpu_info.nrkinds; kind++) {
		if (is_same_kind(&info, info_of(kind)))
			break;
	}
	if (kind == MAX_KINDS) {
		pr_warn("CPU %u is not used: there are more kinds of CPUs than %u\n", cpu,
			MAX_KINDS);
		return;
	}
	if (kind == perfctr_cpu_info.nrkinds) {
		*info_of(kind) = info;
		if (new_kind)
			new_kind(kind);
		/* Pairs with perfctr_cpu_other_kind(): a new number comes after its kind. */
		smp_store_release(&perfctr_cpu_info.nrkinds, kind + 1);
	}
	*this_cpu_ptr(&kind_here) = info_of(kind);
	if (!cpumask_test_cpu(cpu, &perfctr_forbid_cpus))
		cpumask_clear_cpu(cpu, &forbidden[kind]);
}

void perfctr_init_kinds(perfctr_probe_kind *probe, perfctr_new_kind *new)
{
	unsigned int kind;

	for (kind = 0; kind < MAX_KINDS; kind++)
		cpumask_copy(&forbidden[kind], cpu_possible_mask);
	new_kind = new;
	probe_kind = probe;
}

/* ---- controls for any kind -------------------------------------------------- */

/* True if all kinds that the control has tables for have this counter. */
static bool all_have(const struct perfctr_cpu_kinds *kinds, u32 map)
{
	unsigned int kind;

	for (kind = 0; kind < kinds->nr; kind++) {
		const struct vperfctr_info *info = info_of(kind);
		u64 mask = map & VPERFCTR_FIXED ? info->fixed_mask : info->pmc_mask;

		/* A map may have other bits than the number and VPERFCTR_FIXED. */
		if (!(mask & BIT_ULL(map % 64)))
			return false;
	}
	return true;
}

int perfctr_cpu_check_kinds(struct perfctr_cpu_kinds *kinds)
{
	const struct perfctr_cpu_control *first = &kinds->control[0];
	bool kernel = false;
	unsigned int i, kind;
	int err;

	for (kind = 0; kind < kinds->nr; kind++) {
		struct perfctr_cpu_control *control = &kinds->control[kind];

		err = perfctr_cpu_check_control(control);
		if (err)
			return err;
		for (i = 0; i < perfctr_nrctrs(control); i++) {
			/* A period may begin on one kind and end on another. */
			if (!all_have(kinds, control->ctr[i].map) ||
			    control->ctr[i].ireset != first->ctr[i].ireset)
				return -EINVAL;
		}
		kernel |= control->kernel;
	}
	for (kind = 0; kind < kinds->nr; kind++)
		kinds->control[kind].kernel = kernel;
	return 0;
}

/* Extend the value of a suspended counter to 64 bits, for a counter of another width. */
static u64 extend(u64 value, u32 map)
{
	u64 sign = perfctr_sign(map);

	value &= sign * 2 - 1;
	return (value ^ sign) - sign;
}

static void install_table(struct perfctr_cpu_state *state, const struct perfctr_cpu_control *from)
{
	struct perfctr_cpu_control *control = &state->control;
	struct vperfctr_page *page = state->page;
	unsigned int i;

	/* Other CPUs may read the rest, which is the same. */
	control->regs = from->regs;
	control->mask = from->mask;
	control->kind = from->kind;
	control->alone = from->alone;
	state->special = perfctr_special(from);
	/* The old kind's registers may have given the state another identity. */
	state->id = from->kinds->id;

	perfctr_page_begin(page);
	page->mask = from->mask;
	for (i = 0; i < perfctr_nrctrs(from); i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];
		u32 shift = *perfctr_ishift(state, i);

		control->ctr[i] = from->ctr[i];
		*perfctr_ishift(state, i) = shift;
		if (i >= from->nractrs)
			ctr->start = extend(ctr->start, ctr->map);
		ctr->map = from->ctr[i].map;
	}
	perfctr_page_end(page);
}

bool perfctr_cpu_enter_kind(struct perfctr_cpu_state *state)
{
	const struct perfctr_cpu_kinds *kinds = state->control.kinds;
	unsigned int kind = number_here();

	if (kind >= kinds->nr)
		return false;
	if (kind != state->control.kind)
		install_table(state, &kinds->control[kind]);
	return true;
}
