// SPDX-License-Identifier: GPL-2.0
/*
 * Intel Pentium, with MMX and without, and Cyrix 6x86MX, MII and III: two counters, which
 * share a control register, CESR.  There is no interrupt.
 *
 * Intel Pentium Processor Family Developer's Manual, "Performance Monitoring"; Pentium
 * Processor Specification Update, erratum 74; Cyrix M II Data Book, "Performance Monitoring".
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/string.h>

#include "regs.h"
#include "simple.h"

#define MSR_CESR		0x11
#define MSR_PMC0		0x12

#define NR_PMCS			2
#define INTEL_WIDTH		40
#define CYRIX_WIDTH		48

/* A half of CESR.  The pin control, bit 9, is refused to all users. */
#define EVENT			0x03fULL
#define KERNEL			0x040ULL
#define USER			0x080ULL
#define CLOCKS			0x100ULL	/* in place of the event */
#define CYRIX_EVENT_HIGH	0x400ULL

#define HALF(i)			(16 * (i))

#define CPUID_1_EDX_MMX		BIT(23)

static struct perfctr_x86_simple *const simple = &perfctr_x86_simple;
static u64 allowed __ro_after_init;	/* in a half */

/*
 * An image is CESR.  A counter must be stopped before its event changes, which simple.c does
 * by an image of zero.
 */
static void p5_write(u64 image, u64 old)
{
	perfctr_wrmsr(MSR_CESR, image);
}

static int check_ctr(struct vperfctr_ctr *ctr, u64 *image)
{
	unsigned int i = ctr->map;

	if (i >= NR_PMCS)
		return -EINVAL;
	i = array_index_nospec(i, NR_PMCS);
	ctr->map = i;
	if ((*image >> HALF(i)) & 0xffff)
		return -EINVAL;		/* twice in the control */
	if ((ctr->evntsel & ~allowed) || !(ctr->evntsel & (KERNEL | USER)) || ctr->aux ||
	    ctr->ireset)
		return -EINVAL;
	*image |= ctr->evntsel << HALF(i);
	return 0;
}

static int p5_check_control(struct perfctr_cpu_control *control)
{
	u64 image = 0;
	unsigned int i;

	if (control->kind || control->global[0] || control->global[1] || control->nrictrs)
		return -EINVAL;
	control->kernel = false;
	control->alone = false;
	memset(&control->regs, 0, sizeof(control->regs));
	for (i = 0; i < control->nractrs; i++) {
		if (check_ctr(&control->ctr[i], &image))
			return -EINVAL;
		if (control->ctr[i].evntsel & KERNEL)
			control->kernel = true;
	}
	control->regs.global_ctrl = image;
	control->mask = perfctr_x86_low_bits(i ? perfctr_cpu_info.pmc_width : 64);
	return 0;
}

struct found {
	const char *name;
	u32 cpu_type;
	bool cyrix, rdpmc, user_rdpmc;
};

/* Erratum 74: RDPMC in user mode.  SDM, "CPUID": the type is in bits 12 and 13. */
static bool has_erratum_74(u32 signature)
{
	u32 model = (signature >> 4) & 0xf, stepping = signature & 0xf;

	return model == 4 && (stepping == 4 || (stepping == 3 && ((signature >> 12) & 3) == 1));
}

static void find_pentium(struct found *f, u32 signature, bool mmx)
{
	u32 model = (signature >> 4) & 0xf;

	/* Later processors of this family, such as Quark, have no such counters. */
	if (!perfctr_x86_is_old_family(signature, 5) || !model || model > 8)
		return;
	f->name = mmx ? "Intel Pentium MMX" : "Intel Pentium";
	f->cpu_type = VPERFCTR_CPU_INTEL_P5;
	f->rdpmc = mmx;
	f->user_rdpmc = mmx && !has_erratum_74(signature);
}

/* Linux changes the model of Cyrix processors: CPUID itself is right. */
static void find_cyrix(struct found *f, u32 signature)
{
	if (!perfctr_x86_is_old_family(signature, 6))
		return;
	f->name = "Cyrix 6x86MX, MII or III";
	f->cpu_type = VPERFCTR_CPU_CYRIX;
	f->cyrix = true;
	f->rdpmc = true;
	f->user_rdpmc = true;
}

static void find_processor(struct found *f)
{
	u32 max, eax, ebx, ecx, edx, vendor[3];

	memset(f, 0, sizeof(*f));
	perfctr_cpuid(0, &max, &vendor[0], &vendor[2], &vendor[1]);
	if (!max)
		return;
	perfctr_cpuid(1, &eax, &ebx, &ecx, &edx);
	if (!memcmp(vendor, "GenuineIntel", sizeof(vendor)))
		find_pentium(f, eax, edx & CPUID_1_EDX_MMX);
	else if (!memcmp(vendor, "CyrixInstead", sizeof(vendor)))
		find_cyrix(f, eax);
}

static int p5_probe(void)
{
	struct vperfctr_info *info = &perfctr_cpu_info;
	struct found f;

	find_processor(&f);
	if (!f.name || perfctr_is_pv_guest() || !perfctr_x86_readable(MSR_CESR))
		return -ENODEV;
	allowed = EVENT | KERNEL | USER | CLOCKS | (f.cyrix ? CYRIX_EVENT_HIGH : 0);
	memset(simple, 0, sizeof(*simple));
	simple->write = p5_write;
	simple->trial = (CLOCKS | KERNEL) << HALF(0) | (CLOCKS | KERNEL) << HALF(1);
	simple->pmc0 = MSR_PMC0;
	simple->no_rdpmc = !f.rdpmc;
	info->pmc_mask = perfctr_x86_low_bits(NR_PMCS);
	if (!perfctr_x86_simple_describe(f.cyrix ? CYRIX_WIDTH : INTEL_WIDTH, 0))
		return -ENODEV;
	if (!f.user_rdpmc)
		info->features &= ~VPERFCTR_FEATURE_RDPMC;
	info->cpu_type = f.cpu_type;
	strscpy(info->cpu_name, f.name, sizeof(info->cpu_name));
	return 0;
}

/* Linux has no driver for these counters, and its reservation does not know the registers. */
const struct perfctr_x86_driver perfctr_x86_p5 = {
	.probe		= p5_probe,
	.check_control	= p5_check_control,
	PERFCTR_X86_SIMPLE_OPS,
};
