// SPDX-License-Identifier: GPL-2.0
/*
 * Intel P6: Pentium Pro, II, III and M.  Core Duo and later processors describe their
 * counters by CPUID leaf 0AH, and have the driver intel.c.
 *
 * There are two counters.  The bit that enables both is in the first event select.  A
 * counter has 40 bits, and a write sets 32 of them and extends the sign.
 *
 * SDM volume 3, "Performance Monitoring (P6 Family Processor)".  Pentium Pro Processor
 * Specification Update, erratum 26.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/string.h>

#include "regs.h"
#include "simple.h"

#define MSR_PMC0		0x0c1
#define MSR_EVNTSEL0		0x186
#define MSR_EVNTSEL1		0x187
#define MSR_MISC_ENABLE		0x1a0

#define MISC_PERF_AVAILABLE	BIT_ULL(7)

#define NR_PMCS			2
#define WIDTH			40
#define WRITE_WIDTH		32

#define EVENT_INSTRUCTIONS	0xc0

static struct perfctr_x86_simple *const simple = &perfctr_x86_simple;

/*
 * An image is both event selects, the second one in the upper half.  The enable bit is in
 * the lower half, as in the registers.  A select of zero counts in no mode.
 */
static void p6_write(u64 image, u64 old)
{
	if ((image ^ old) >> 32)
		perfctr_wrmsr(MSR_EVNTSEL1, image >> 32);
	if ((u32)(image ^ old))
		perfctr_wrmsr(MSR_EVNTSEL0, (u32)image);
}

/* True if only the other counter can count the event.  SDM, "P6 Family Events". */
static bool is_for_other(unsigned int i, u64 evntsel)
{
	switch (evntsel & 0xff) {
	case 0xc1:	/* FLOPS */
	case 0x10:	/* FP_COMP_OPS_EXE */
	case 0x14:	/* CYCLES_DIV_BUSY */
		return i == 1;
	case 0x11:	/* FP_ASSIST */
	case 0x12:	/* MUL */
	case 0x13:	/* DIV */
		return i == 0;
	}
	return false;
}

/*
 * In the second event select the enable bit is reserved.  A control may have it or not, so
 * that both counters can have the same evntsel.
 */
static int check_ctr(struct vperfctr_ctr *ctr, u64 *image, bool imode)
{
	u64 evntsel = ctr->evntsel;
	unsigned int i = ctr->map;

	if (i >= NR_PMCS)
		return -EINVAL;
	i = array_index_nospec(i, NR_PMCS);
	ctr->map = i;
	if ((u32)(*image >> (32 * i)))
		return -EINVAL;		/* twice in the control */
	if ((evntsel & ~PERFCTR_X86_EVNTSEL_P6) || is_for_other(i, evntsel) ||
	    !(evntsel & (PERFCTR_X86_EVNTSEL_USR | PERFCTR_X86_EVNTSEL_OS)) ||
	    (i == 0 && !(evntsel & PERFCTR_X86_EVNTSEL_EN)) || ctr->aux ||
	    !perfctr_is_valid_ireset(ctr->ireset, imode))
		return -EINVAL;
	evntsel &= ~PERFCTR_X86_EVNTSEL_EN;
	*image |= (evntsel | (imode ? PERFCTR_X86_EVNTSEL_INT : 0)) << (32 * i);
	return 0;
}

static int p6_check_control(struct perfctr_cpu_control *control)
{
	u64 image = 0;
	unsigned int i;

	if (control->kind || control->global[0] || control->global[1])
		return -EINVAL;
	control->kernel = false;
	control->alone = false;
	memset(&control->regs, 0, sizeof(control->regs));
	for (i = 0; i < perfctr_nrctrs(control); i++) {
		struct vperfctr_ctr *ctr = &control->ctr[i];

		if (check_ctr(ctr, &image, i >= control->nractrs))
			return -EINVAL;
		if (ctr->evntsel & PERFCTR_X86_EVNTSEL_OS)
			control->kernel = true;
	}
	control->regs.enable = image ? image | PERFCTR_X86_EVNTSEL_EN : 0;
	control->mask = perfctr_x86_low_bits(i ? WIDTH : 64);
	return 0;
}

/* Return the model of a P6, or 0.  @stepping: set, too */
static unsigned int p6_model(unsigned int *stepping)
{
	u32 max, eax, ebx, ecx, edx;

	perfctr_cpuid(0, &max, &ebx, &ecx, &edx);
	if (!max || ebx != 0x756e6547 || edx != 0x49656e69 || ecx != 0x6c65746e) /* GenuineIntel */
		return 0;
	perfctr_cpuid(1, &eax, &ebx, &ecx, &edx);
	*stepping = eax & 0xf;
	if (!perfctr_x86_is_old_family(eax, 6))
		return 0;
	switch ((eax >> 4) & 0xf) {
	case 1: case 3: case 5: case 6: case 7: case 8: case 9: case 10: case 11: case 13:
		return (eax >> 4) & 0xf;
	}
	return 0;
}

static const char *p6_name(unsigned int model)
{
	switch (model) {
	case 1:
		return "Intel Pentium Pro";
	case 3: case 5: case 6:
		return "Intel Pentium II";
	case 9: case 13:
		return "Intel Pentium M";
	default:
		return "Intel Pentium III";
	}
}

/* True if the counters can be used.  Mobile processors may have them disabled. */
static bool are_available(unsigned int model)
{
	u64 misc;

	if (model != 9 && model != 13)
		return true;
	return !perfctr_rdmsr_safe(MSR_MISC_ENABLE, &misc) && (misc & MISC_PERF_AVAILABLE);
}

static int p6_probe(void)
{
	const u64 trial = EVENT_INSTRUCTIONS | PERFCTR_X86_EVNTSEL_OS;
	struct vperfctr_info *info = &perfctr_cpu_info;
	unsigned int stepping, model = p6_model(&stepping);

	if (!model || perfctr_is_pv_guest() || perfctr_is_hybrid() || !are_available(model) ||
	    !perfctr_x86_readable(MSR_EVNTSEL0) || !perfctr_x86_readable(MSR_EVNTSEL1))
		return -ENODEV;

	memset(simple, 0, sizeof(*simple));
	simple->write = p6_write;
	simple->keep = ~PERFCTR_X86_EVNTSEL_EN;
	simple->trial = trial | trial << 32 | PERFCTR_X86_EVNTSEL_EN;
	simple->pmc0 = MSR_PMC0;
	/* The reservation of pmc.c knows these registers. */
	perfctr_x86_pmu.evntsel0 = MSR_EVNTSEL0;
	perfctr_x86_pmu.pmc0 = MSR_PMC0;
	perfctr_x86_pmu.step = 1;

	info->pmc_mask = perfctr_x86_low_bits(NR_PMCS);
	if (!perfctr_x86_simple_describe(WIDTH, WRITE_WIDTH))
		return -ENODEV;
	/* Erratum 26 is about RDPMC in user mode.  perf does not allow it either. */
	if (model == 1 && stepping < 9)
		info->features &= ~VPERFCTR_FEATURE_RDPMC;
	info->cpu_type = VPERFCTR_CPU_INTEL_P6;
	/* 79H, C0H, C4H and C5H */
	info->arch_events = VPERFCTR_EVENT_CYCLES | VPERFCTR_EVENT_INSTRUCTIONS |
			    VPERFCTR_EVENT_BRANCHES | VPERFCTR_EVENT_BRANCH_MISSES;
	strscpy(info->cpu_name, p6_name(model), sizeof(info->cpu_name));
	return 0;
}

const struct perfctr_driver perfctr_x86_p6 = {
	.probe		= p6_probe,
	.check_control	= p6_check_control,
	.perf_reserves	= true,
	.reserve	= perfctr_x86_pmc_reserve,
	.release	= perfctr_x86_pmc_release,
	PERFCTR_X86_SIMPLE_OPS,
};
