// SPDX-License-Identifier: GPL-2.0
/*
 * Are the registers what CPUID says?  A hypervisor may let them be read and not
 * written, have counters but no RDPMC of them, or take everything and count nothing.
 * Each CPU tries them whenever the hardware is taken, in ways that survive a fault;
 * after that they are relied on.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/smp.h>

#include "regs.h"
#include "x86.h"

/* Kernel mode, in the fixed counters' control register. */
#define FIXED_OS(i)	(1ULL << (4 * (i)))

static const struct perfctr_x86_pmu *const pmu = &perfctr_x86_pmu;

static int program(const struct vperfctr_info *kind, u64 evntsel, u64 fixed_ctrl, u64 global_ctrl)
{
	unsigned int i;
	int err = 0;

	if (pmu->global_ctrl) {
		err |= perfctr_wrmsr_safe(pmu->global_ctrl, 0);
		err |= perfctr_wrmsr_safe(pmu->global_clear,
					  kind->pmc_mask | kind->fixed_mask << 32);
	}
	for (i = 0; i < PERFCTR_X86_MAX_PMC; i++) {
		if (kind->pmc_mask & BIT_ULL(i))
			err |= perfctr_wrmsr_safe(pmu->evntsel0 + pmu->step * i, evntsel);
	}
	if (kind->fixed_mask)
		err |= perfctr_wrmsr_safe(pmu->fixed_ctrl, fixed_ctrl);
	if (pmu->global_ctrl)
		err |= perfctr_wrmsr_safe(pmu->global_ctrl, global_ctrl);
	return err ? -EIO : 0;
}

/* PRE: it stands. */
static bool holds(u32 map, u64 value)
{
	u64 mask = perfctr_sign(map) * 2 - 1, now;
	u32 msr = pmu->write_pmc0 + pmu->step * map;

	if (map & VPERFCTR_FIXED)
		msr = pmu->fixed0 + (map & ~VPERFCTR_FIXED);
	return !perfctr_wrmsr_safe(msr, value & mask) && !perfctr_rdpmc_safe(map, &now) &&
	       !((now ^ value) & mask);
}

/* i-mode counters start from below zero. */
static bool can_be_set(u32 map)
{
	return holds(map, -2) && holds(map, 0);
}

static bool has_counted(u32 map)
{
	u64 now;

	return !perfctr_rdpmc_safe(map, &now) && now;
}

/* Each of these counters, bits of GLOBAL_CTRL. */
static int try_each(u64 counters, bool (*works)(u32 map), const char *otherwise)
{
	unsigned int bit;

	for (bit = 0; bit < 64; bit++) {
		u32 map = bit < 32 ? bit : VPERFCTR_FIXED | (bit - 32);

		if ((counters & BIT_ULL(bit)) && !works(map)) {
			pr_warn_once("CPU %u: counter %#x %s\n", smp_processor_id(), map,
				     otherwise);
			return -EIO;
		}
	}
	return 0;
}

int perfctr_x86_selftest(const struct vperfctr_info *kind)
{
	u64 all = kind->pmc_mask | kind->fixed_mask << 32;
	/* Instructions and cycles; others may have nothing to count. */
	u64 fixed = kind->fixed_mask & (BIT_ULL(0) | BIT_ULL(1));
	u64 counting = fixed << 32, evntsel = 0;

	if (kind->arch_events & VPERFCTR_EVENT_CYCLES) {
		evntsel = PERFCTR_X86_EVNTSEL_EN | PERFCTR_X86_EVNTSEL_OS | pmu->cycles;
		counting |= kind->pmc_mask;
	}
	if (program(kind, 0, 0, 0)) {
		pr_warn_once("CPU %u: counters' control registers cannot be written\n",
			     smp_processor_id());
		return -EIO;
	}
	if (try_each(all, can_be_set, "does not hold what it is set to"))
		return -EIO;
	/* Nothing reserved is written: these can only fail as they have not failed before. */
	program(kind, evntsel, (fixed & BIT_ULL(0) ? FIXED_OS(0) : 0) |
			       (fixed & BIT_ULL(1) ? FIXED_OS(1) : 0), all);
	perfctr_pass_time();
	program(kind, 0, 0, 0);
	return try_each(counting, has_counted, "does not count");
}
