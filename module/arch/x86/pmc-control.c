// SPDX-License-Identifier: GPL-2.0
/*
 * The capabilities of the counters of pmc.c: which registers exist, and the check of
 * the controls that user space asks for.  The service has checked the number of counters:
 * see control.c.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/string.h>

#include "regs.h"
#include "x86.h"
#include "pmc.h"

/* ---- detection ---------------------------------------------------------- */

bool perfctr_x86_readable(u32 msr)
{
	u64 value;

	return !perfctr_rdmsr_safe(msr, &value);
}

u64 perfctr_x86_low_bits(unsigned int n)
{
	return n ? GENMASK_ULL(n - 1, 0) : 0;
}

/* True if all registers that CPUID promises exist.  Under a hypervisor they may not. */
static bool registers_exist(const struct vperfctr_info *kind)
{
	unsigned int i;

	for (i = 0; i < PERFCTR_X86_MAX_PMC; i++) {
		if ((kind->pmc_mask & BIT_ULL(i)) &&
		    (!perfctr_x86_readable(evntsel_msr(i)) || !perfctr_x86_readable(pmc_msr(i))))
			return false;
	}
	for (i = 0; i < PERFCTR_X86_MAX_FIXED; i++) {
		if ((kind->fixed_mask & BIT_ULL(i)) && !perfctr_x86_readable(pmu->fixed0 + i))
			return false;
	}
	if (kind->fixed_mask && !perfctr_x86_readable(pmu->fixed_ctrl))
		return false;
	/* The last one is for writing, and may not be readable. */
	return !pmu->global_ctrl || (perfctr_x86_readable(pmu->global_ctrl) &&
				     perfctr_x86_readable(pmu->global_status) &&
				     !perfctr_wrmsr_safe(pmu->global_clear, 0));
}

/*
 * Leave out the counters that do not exist at the old addresses.  Version 6 has other ones for
 * all registers of a counter, which perf uses.
 */
static void leave_out_absent(struct vperfctr_info *info)
{
	unsigned int i;

	for (i = 0; i < PERFCTR_X86_MAX_PMC; i++) {
		if ((info->pmc_mask & BIT_ULL(i)) &&
		    (!perfctr_x86_readable(evntsel_msr(i)) || !perfctr_x86_readable(pmc_msr(i)) ||
		     !perfctr_x86_readable(pmu->write_pmc0 + pmu->step * i)))
			info->pmc_mask &= ~BIT_ULL(i);
	}
	for (i = 0; i < PERFCTR_X86_MAX_FIXED; i++) {
		if ((info->fixed_mask & BIT_ULL(i)) && !perfctr_x86_readable(pmu->fixed0 + i))
			info->fixed_mask &= ~BIT_ULL(i);
	}
}

bool perfctr_x86_pmc_describe_kind(struct vperfctr_info *info)
{
	if (pmu->has_cfg)
		leave_out_absent(info);
	info->nrctrs = min_t(unsigned int, VPERFCTR_MAX_CTRS,
			     hweight64(info->pmc_mask) + hweight64(info->fixed_mask));
	return info->nrctrs && registers_exist(info);
}

/*
 * perf loads no value of which one event is left, because some processors, which it does
 * not name, mishandle it.  KVM counts with perf, so its guests get such an overflow one
 * event too late.
 *
 * The rest of a period that a context switch interrupted is loaded, however short it is.
 * If its interrupt does not come, the next switch or sample finds the overflow.
 */
#define MIN_PERIOD	2

bool perfctr_x86_pmc_describe(unsigned int width, unsigned int fixed_width,
			      unsigned int write_width)
{
	struct vperfctr_info *info = &perfctr_cpu_info;
	unsigned int narrowest = info->fixed_mask ? min(width, fixed_width) : width;

	if (!perfctr_x86_pmc_describe_kind(info))
		return false;
	perfctr_cpu_sampling_ns = perfctr_sampling_ns(narrowest);
	perfctr_has_parts_ops = pmu->global_ctrl;
	info->features = VPERFCTR_FEATURE_RDPMC | VPERFCTR_FEATURE_RDTSC |
			 VPERFCTR_FEATURE_CPUS | (perfctr_isolate ? VPERFCTR_FEATURE_ISOLATE : 0);
	info->nrkinds = 1;
	info->tsc_khz = tsc_khz;
	info->pmc_width = width;
	info->fixed_width = info->fixed_mask ? fixed_width : 0;
	perfctr_x86_pmu.sign[0] = perfctr_sign(0);
	perfctr_x86_pmu.sign[1] = info->fixed_mask ? perfctr_sign(VPERFCTR_FIXED) : 0;
	if (perfctr_has_lvtpc()) {
		info->features |= VPERFCTR_FEATURE_PCINT;
		/* The top bit is set until the overflow, so it must be set in the start value. */
		info->max_period = BIT_ULL(min(narrowest, write_width) - 1) - 1;
		info->min_period = max_t(u32, pmu->min_period, MIN_PERIOD);
	}
	return true;
}

/* ---- control ------------------------------------------------------------ */

static int check_fixed(struct vperfctr_ctr *ctr, struct perfctr_cpu_control *control,
		       const struct vperfctr_info *kind, bool imode)
{
	struct perfctr_cpu_regs *regs = &control->regs;
	unsigned int i = fixed_index(ctr->map);

	if (i >= PERFCTR_X86_MAX_FIXED)
		return -EINVAL;
	i = array_index_nospec(i, PERFCTR_X86_MAX_FIXED);
	ctr->map = VPERFCTR_FIXED | i;
	if (!(kind->fixed_mask & BIT_ULL(i)) || (regs->global_ctrl & BIT_ULL(32 + i)))
		return -EINVAL;
	if (!ctr->evntsel || (ctr->evntsel & ~(FIXED_OS | FIXED_USR)) || ctr->aux)
		return -EINVAL;
	if (ctr->evntsel & FIXED_OS)
		control->kernel = true;
	regs->global_ctrl |= BIT_ULL(32 + i);
	regs->fixed_ctrl |= FIXED_FIELD(i, ctr->evntsel | (imode ? FIXED_PMI : 0));
	regs->fixed_used |= FIXED_FIELD(i, 0xf);
	return 0;
}

static bool is_refused_imode(u64 evntsel)
{
	return pmu->no_imode_event && (evntsel & 0xffff) == pmu->no_imode_event;
}

static int check_general(struct vperfctr_ctr *ctr, struct perfctr_cpu_control *control,
			 const struct vperfctr_info *kind, bool imode)
{
	struct perfctr_cpu_regs *regs = &control->regs;
	unsigned int i = ctr->map;

	if (i >= PERFCTR_X86_MAX_PMC)
		return -EINVAL;
	i = array_index_nospec(i, PERFCTR_X86_MAX_PMC);
	ctr->map = i;
	if (!(kind->pmc_mask & BIT_ULL(i)) || (regs->global_ctrl & BIT_ULL(i)))
		return -EINVAL;
	if ((ctr->evntsel & ~pmu->allowed) || !(ctr->evntsel & PERFCTR_X86_EVNTSEL_EN) ||
	    !(ctr->evntsel & (PERFCTR_X86_EVNTSEL_USR | PERFCTR_X86_EVNTSEL_OS)) ||
	    ((pmu->doubtful & perfctr_x86_doubt(ctr->evntsel)) &&
	     pmu->refuses(kind, ctr->evntsel)) ||
	    (imode && is_refused_imode(ctr->evntsel)))
		return -EINVAL;
	if (ctr->evntsel & PERFCTR_X86_EVNTSEL_OS)
		control->kernel = true;
	if (pmu->alone_mask && (ctr->evntsel & pmu->alone_mask) == pmu->alone_event)
		control->alone = true;
	regs->global_ctrl |= BIT_ULL(i);
	return perfctr_x86_may_have_extra(ctr) ? perfctr_x86_check_extra(ctr, control, kind) : 0;
}

int perfctr_x86_pmc_check_control(struct perfctr_cpu_control *control)
{
	const struct vperfctr_info *kind = perfctr_cpu_kind(control->kind);
	unsigned int i, width = 64;

	if (!kind || control->global[0] || control->global[1])
		return -EINVAL;

	control->kernel = false;
	control->alone = false;
	memset(&control->regs, 0, sizeof(control->regs));
	for (i = 0; i < perfctr_nrctrs(control); i++) {
		struct vperfctr_ctr *ctr = &control->ctr[i];
		bool imode = i >= control->nractrs;
		int err;

		if (!perfctr_is_valid_ireset(ctr->ireset, imode))
			return -EINVAL;
		if (is_fixed(ctr->map)) {
			err = check_fixed(ctr, control, kind, imode);
			width = min(width, perfctr_cpu_info.fixed_width);
		} else {
			err = check_general(ctr, control, kind, imode);
			width = min(width, perfctr_cpu_info.pmc_width);
		}
		if (err)
			return err;
	}
	control->mask = perfctr_x86_low_bits(width);
	control->regs.enable = control->regs.global_ctrl | pmu->kept;
	return 0;
}
