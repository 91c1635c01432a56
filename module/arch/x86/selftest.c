// SPDX-License-Identifier: GPL-2.0
/*
 * Try the registers that CPUID promises.  Under a hypervisor they may be readable but
 * not writable.  Counters may exist but fault on RDPMC, or accept every write and count
 * nothing.  Each CPU tries them before it first counts after it came online, in ways
 * that survive a fault.  After that the drivers rely on them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/smp.h>

#include "regs.h"
#include "x86.h"

/*
 * perfctr_pass_time() executes more instructions than this, and takes more cycles.  KVM
 * counts the few instructions that it emulates itself, such as WRMSR, on counters that
 * otherwise stand still, because the host has no counter for the guest.
 */
#define MIN_EVENTS	100

/* Kernel mode, in the fixed counters' control register. */
#define FIXED_OS(i)	(1ULL << (4 * (i)))

static const struct perfctr_x86_pmu *const pmu = &perfctr_x86_pmu;

static int clear_controls(const struct vperfctr_info *kind)
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
			err |= perfctr_wrmsr_safe(pmu->evntsel0 + pmu->step * i, 0);
	}
	if (kind->fixed_mask)
		err |= perfctr_wrmsr_safe(pmu->fixed_ctrl, 0);
	return err ? -EIO : 0;
}

/* True if a counter, which is stopped, keeps the value that it is set to. */
static bool counter_holds(u32 map, u64 value)
{
	u64 mask = perfctr_sign(map) * 2 - 1, now;
	u32 msr = pmu->write_pmc0 + pmu->step * map;

	if (map & VPERFCTR_FIXED)
		msr = pmu->fixed0 + (map & ~VPERFCTR_FIXED);
	return !perfctr_wrmsr_safe(msr, value & mask) && !perfctr_rdpmc_safe(map, &now) &&
	       !((now ^ value) & mask);
}

/* True if a counter holds both kinds of start values: negative (i-mode) and zero. */
static bool counter_can_be_set(u32 map)
{
	return counter_holds(map, -2) && counter_holds(map, 0);
}

/*
 * Let these counters, which are bits as in GLOBAL_CTRL, count together for a moment.  Sets
 * no bit that is reserved on any processor.
 */
static void count_for_a_moment(u64 counters)
{
	const u64 select = PERFCTR_X86_EVNTSEL_EN | PERFCTR_X86_EVNTSEL_OS | pmu->instructions;
	u64 fixed_ctrl = 0;
	unsigned int i;

	if ((u32)counters && pmu->restart)
		pmu->restart();
	for (i = 0; i < PERFCTR_X86_MAX_PMC; i++) {
		if (!(counters & BIT_ULL(i)))
			continue;
		perfctr_wrmsr_safe(pmu->write_pmc0 + pmu->step * i, 0);
		perfctr_wrmsr_safe(pmu->evntsel0 + pmu->step * i, select);
	}
	for (i = 0; i < PERFCTR_X86_MAX_FIXED; i++) {
		if (!(counters & BIT_ULL(32 + i)))
			continue;
		perfctr_wrmsr_safe(pmu->fixed0 + i, 0);
		fixed_ctrl |= FIXED_OS(i);
	}
	if (fixed_ctrl)
		perfctr_wrmsr_safe(pmu->fixed_ctrl, fixed_ctrl);
	if (pmu->global_ctrl)
		perfctr_wrmsr_safe(pmu->global_ctrl, counters);
	perfctr_pass_time();
	if (pmu->global_ctrl)
		perfctr_wrmsr_safe(pmu->global_ctrl, 0);
	if (fixed_ctrl)
		perfctr_wrmsr_safe(pmu->fixed_ctrl, 0);
	for (i = 0; i < PERFCTR_X86_MAX_PMC; i++) {
		if (counters & BIT_ULL(i))
			perfctr_wrmsr_safe(pmu->evntsel0 + pmu->step * i, 0);
	}
}

static bool has_counted(u32 map)
{
	u64 now;

	return !perfctr_rdpmc_safe(map, &now) && now >= MIN_EVENTS;
}

/* True if a counter counts alone. */
static bool counter_counts(u32 map)
{
	count_for_a_moment(map & VPERFCTR_FIXED ? BIT_ULL(32 + (map & ~VPERFCTR_FIXED)) :
						  BIT_ULL(map));
	return has_counted(map);
}

/* Try each of these counters, which are bits as in GLOBAL_CTRL. */
static int try_each_counter(u64 counters, bool (*works)(u32 map), const char *failure)
{
	unsigned int bit;

	for (bit = 0; bit < 64; bit++) {
		u32 map = bit < 32 ? bit : VPERFCTR_FIXED | (bit - 32);

		if ((counters & BIT_ULL(bit)) && !works(map)) {
			pr_warn("CPU %u: counter %#x %s\n", smp_processor_id(), map, failure);
			return -EIO;
		}
	}
	return 0;
}

/*
 * Try all counters at once.  A hypervisor that counts with counters of the host may not have
 * enough: the host's NMI watchdog may hold one.  Counters that the hypervisor cannot provide
 * count nothing, and nothing else shows that.
 */
static int try_together(u64 counters)
{
	count_for_a_moment(counters);
	return try_each_counter(counters, has_counted, "does not count while the others do");
}

int perfctr_x86_selftest(const struct vperfctr_info *kind)
{
	/* Fixed counters of instructions and cycles; others may have nothing to count. */
	u64 counting = (kind->fixed_mask & (BIT_ULL(0) | BIT_ULL(1))) << 32;

	if (kind->arch_events & VPERFCTR_EVENT_INSTRUCTIONS)
		counting |= kind->pmc_mask;
	if (clear_controls(kind)) {
		pr_warn("CPU %u: counters' control registers cannot be written\n",
			smp_processor_id());
		return -EIO;
	}
	return try_each_counter(kind->pmc_mask | kind->fixed_mask << 32, counter_can_be_set,
			"does not hold what it is set to") ?:
	       try_each_counter(counting, counter_counts, "does not count") ?:
	       try_together(counting);
}
