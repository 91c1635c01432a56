// SPDX-License-Identifier: GPL-2.0
/*
 * VIA C3 (Samuel to Nehemiah).  The second counter only is one: the first one is the TSC.
 * It has 32 bits and an event of 9 bits.  It counts in all modes, always, and raises no
 * interrupt.  So a thread's count is a difference, and has the kernel's part in it.
 *
 * VIA C3 Processor Datasheet, "Performance Counters"; perfctr 2.6, x86.c.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "regs.h"
#include "simple.h"

#define MSR_PMC0		0x0c1	/* an alias of the TSC */
#define MSR_EVNTSEL1		0x187

#define MAP			1
#define WIDTH			32

#define EVENT_BITS		0x1ffULL
#define EVENT_INSTRUCTIONS	0x0c0
#define EVNTSEL_AT_RESET	0x00070079ULL

static struct perfctr_x86_simple *const simple = &perfctr_x86_simple;

/* An image is the event select. */
static void c3_write(u64 image, u64 old)
{
	perfctr_wrmsr(MSR_EVNTSEL1, image);
}

static int c3_check_control(struct perfctr_cpu_control *control)
{
	const struct vperfctr_ctr *ctr = &control->ctr[0];
	unsigned int nrctrs = perfctr_nrctrs(control);

	if (control->kind || control->global[0] || control->global[1] || nrctrs > 1)
		return -EINVAL;
	if (nrctrs && (control->nrictrs || ctr->map != MAP || (ctr->evntsel & ~EVENT_BITS) ||
		       ctr->aux || ctr->ireset))
		return -EINVAL;
	control->kernel = nrctrs;	/* there is no filter */
	control->alone = false;
	memset(&control->regs, 0, sizeof(control->regs));
	control->regs.enable = nrctrs ? ctr->evntsel : 0;
	control->mask = perfctr_x86_low_bits(nrctrs ? WIDTH : 64);
	return 0;
}

/* True if this is a C3.  Later processors of VIA have CPUID leaf 0AH. */
static bool is_c3(void)
{
	u32 max, eax, ebx, ecx, edx, model;

	perfctr_cpuid(0, &max, &ebx, &ecx, &edx);
	if (!max || ebx != 0x746e6543 || edx != 0x48727561 || ecx != 0x736c7561) /* CentaurHauls */
		return false;
	perfctr_cpuid(1, &eax, &ebx, &ecx, &edx);
	model = (eax >> 4) & 0xf;
	return perfctr_x86_is_old_family(eax, 6) && model >= 6 && model <= 9;
}

static int c3_probe(void)
{
	struct vperfctr_info *info = &perfctr_cpu_info;

	if (perfctr_is_pv_guest() || !is_c3() || !perfctr_x86_readable(MSR_EVNTSEL1))
		return -ENODEV;
	memset(simple, 0, sizeof(*simple));
	simple->write = c3_write;
	simple->keep = ~0ULL;
	simple->idle = EVNTSEL_AT_RESET;
	simple->trial = EVENT_INSTRUCTIONS;
	simple->pmc0 = MSR_PMC0;
	info->pmc_mask = BIT_ULL(MAP);
	if (!perfctr_x86_simple_describe(WIDTH, 0))
		return -ENODEV;
	info->cpu_type = VPERFCTR_CPU_VIA_C3;
	info->arch_events = VPERFCTR_EVENT_CYCLES | VPERFCTR_EVENT_INSTRUCTIONS;
	strscpy(info->cpu_name, "VIA C3, never stops", sizeof(info->cpu_name));
	return 0;
}

const struct perfctr_driver perfctr_x86_c3 = {
	.probe		= c3_probe,
	.check_control	= c3_check_control,
	PERFCTR_X86_SIMPLE_OPS,
};
