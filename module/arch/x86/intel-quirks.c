// SPDX-License-Identifier: GPL-2.0
/*
 * Errata of Intel's processors: counters that microcode uses, events that disturb the
 * hyper-thread sibling, counters that must be restarted, periods that are too short, interrupts
 * that repeat.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>

#include "regs.h"
#include "x86.h"

#define MSR_PMC0		0x0c1
#define MSR_EVNTSEL0		0x186

#define CPUID_7_EDX_RTM_ALWAYS_ABORT BIT(11)
#define CPUID_7_EDX_TSX_FORCE_ABORT BIT(13)

/*
 * True if microcode uses counter 3 for transactional memory.  perf or an administrator
 * can forbid that ("Performance Monitoring Impact of Intel Transactional
 * Synchronization Extension Memory Ordering Issue", Intel 604224).
 */
bool perfctr_intel_pmc3_is_microcodes(u32 max_leaf)
{
	u32 eax, ebx, ecx, edx;

	if (max_leaf < 7)
		return false;
	perfctr_cpuid(7, &eax, &ebx, &ecx, &edx);
	return (edx & CPUID_7_EDX_TSX_FORCE_ABORT) && !(edx & CPUID_7_EDX_RTM_ALWAYS_ABORT);
}

/*
 * Events D0H to D3H (memory uops and loads retired) can make a counter of the
 * hyper-thread sibling count wrong.  Errata BJ122 (Sandy Bridge), BV98 (Ivy Bridge)
 * and HSD29 (Haswell) of Intel's specification updates.
 */
#define DISTURBING_MASK		0xfc
#define DISTURBING_EVENT	0xd0

static bool has_disturbing_events(unsigned int model)
{
	switch (model) {
	case 0x2a: case 0x2d:				/* Sandy Bridge */
	case 0x3a: case 0x3e:				/* Ivy Bridge */
	case 0x3c: case 0x3f: case 0x45: case 0x46:	/* Haswell */
		return true;
	}
	return false;
}

/*
 * General counters may count at the core's frequency, or not at all, unless these three
 * values went through their event selects before.  Errata AAK100, AAP53 (Nehalem), BD53
 * (Westmere), "Performance Monitor Counters May Count Incorrectly".
 */
static void restart_nehalem(void)
{
	const struct perfctr_x86_pmu *pmu = &perfctr_x86_pmu;
	static const u32 values[] = { 0x4300b5, 0x4300d2, 0x4300b1, 0x4300b1 };
	const u64 all = perfctr_x86_low_bits(ARRAY_SIZE(values));
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		perfctr_wrmsr_safe(MSR_EVNTSEL0 + i, values[i]);
		perfctr_wrmsr_safe(MSR_PMC0 + i, 0);
	}
	perfctr_wrmsr_safe(pmu->global_ctrl, all);
	perfctr_wrmsr_safe(pmu->global_ctrl, 0);
	/* The values are not events, but counters count some now and then, and may overflow. */
	perfctr_wrmsr_safe(pmu->global_clear, all);
	for (i = 0; i < ARRAY_SIZE(values); i++)
		perfctr_wrmsr_safe(MSR_EVNTSEL0 + i, 0);
}

static bool needs_restart(unsigned int model)
{
	switch (model) {
	case 0x1a: case 0x1e: case 0x1f: case 0x2e:	/* Nehalem */
	case 0x25: case 0x2c: case 0x2f:		/* Westmere */
		return true;
	}
	return false;
}

static bool is_nehalem(unsigned int model)
{
	return model == 0x1a || model == 0x1e || model == 0x1f || model == 0x2e;
}

static bool is_haswell(unsigned int model)
{
	return model == 0x3c || model == 0x3f || model == 0x45 || model == 0x46;
}

static bool is_broadwell(unsigned int model)
{
	return model == 0x3d || model == 0x47 || model == 0x4f || model == 0x56;
}

/*
 * On Nehalem and Haswell, a counter that restarts with less than 32 events to go may
 * overflow again in the same interrupt, for ever.  perf uses no such periods there.
 *
 * INST_RETIRED.PREC_DIST, event C0H with unit mask 01H, may overflow at a wrong time, and
 * count wrong, if less than 100 events are left (errata HSW11, BDM11), or a number that is
 * no multiple of 64 (BDM55).  A context switch leaves any number.  In a-mode it is right.
 */
#define SHORTEST_PERIOD		32
#define INST_RETIRED_PREC_DIST	0x01c0

static void limit_periods(struct perfctr_x86_pmu *pmu, unsigned int model)
{
	if (is_nehalem(model) || is_haswell(model))
		pmu->min_period = SHORTEST_PERIOD;
	if (is_haswell(model) || is_broadwell(model))
		pmu->no_imode_event = INST_RETIRED_PREC_DIST;
}

/*
 * True if the processor may raise the interrupt of an overflow again if LVTPC is unmasked before
 * the counter is reloaded.  Others are known not to: perf unmasks it first there.  On Haswell and
 * later cores, Tremont and later Atoms, it does it last (late_ack, mid_ack).
 */
static bool raises_again(unsigned int model)
{
	switch (model) {
	case PERFCTR_INTEL_NO_MODEL:			/* of another vendor */
	case 0x0e:					/* Core Duo */
	case 0x0f: case 0x16: case 0x17: case 0x1d:	/* Core 2 */
	case 0x1a: case 0x1e: case 0x1f: case 0x2e:	/* Nehalem */
	case 0x25: case 0x2c: case 0x2f:		/* Westmere */
	case 0x2a: case 0x2d:				/* Sandy Bridge */
	case 0x3a: case 0x3e:				/* Ivy Bridge */
	case 0x1c: case 0x26: case 0x27: case 0x35: case 0x36:	/* Bonnell, Saltwell */
	case 0x37: case 0x4a: case 0x4c: case 0x4d: case 0x5a: case 0x5d: case 0x75:
	case 0x57: case 0x85:				/* Silvermont, Airmont; Xeon Phi */
	case 0x5c: case 0x5f: case 0x7a:		/* Goldmont */
		return false;
	}
	return true;
}

void perfctr_intel_set_quirks(struct perfctr_x86_pmu *pmu, unsigned int model,
			      unsigned int version, u64 pmc_mask)
{
	if (has_disturbing_events(model)) {
		pmu->alone_mask = DISTURBING_MASK;
		pmu->alone_event = DISTURBING_EVENT;
	}
	limit_periods(pmu, model);
	pmu->unmasks_late = raises_again(model);
	/* A hypervisor's PMU may have fewer counters, and need not have these registers. */
	if (needs_restart(model) && version >= 2 && pmc_mask == perfctr_x86_low_bits(4))
		pmu->restart = restart_nehalem;
}
