// SPDX-License-Identifier: GPL-2.0
/*
 * Intel Pentium, with MMX and without, Cyrix 6x86MX, MII and III, and IDT WinChip: two
 * counters, which share a control register, CESR.  There is no interrupt.
 *
 * The counters of a WinChip count in all modes, always.  Its TSC is made of their low halves,
 * so a write of CESR ruins it.  They are used only if the kernel does not use the TSC.
 *
 * Intel Pentium Processor Family Developer's Manual, "Performance Monitoring"; Pentium
 * Processor Specification Update, erratum 74; Cyrix M II Data Book, "Performance Monitoring";
 * IDT WinChip C6 and WinChip 2 Data Sheets, "Performance Counters"; perfctr 2.6, x86.c.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/printk.h>
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
#define WINCHIP_EVENT		0x0ffULL	/* and nothing else */

#define HALF(i)			(16 * (i))

#define CPUID_1_EDX_MMX		BIT(23)

static struct perfctr_x86_simple *const simple = &perfctr_x86_simple;
static u64 allowed __ro_after_init;	/* in a half */
static bool has_modes __ro_after_init;

/*
 * An image is CESR.  A counter must be stopped before its event changes, which simple.c does
 * by an image of zero.  A WinChip has no such rule.
 */
static void p5_write(u64 image, u64 old)
{
	perfctr_wrmsr(MSR_CESR, image);
}

/* True if kernel mode is counted, as always on a WinChip, where the bit is one of the event's. */
static bool counts_kernel(u64 evntsel)
{
	return !has_modes || (evntsel & KERNEL);
}

static int check_ctr(struct vperfctr_ctr *ctr, u64 *image, u32 *used)
{
	unsigned int i = ctr->map;

	if (i >= NR_PMCS)
		return -EINVAL;
	i = array_index_nospec(i, NR_PMCS);
	ctr->map = i;
	if (*used & BIT(i))
		return -EINVAL;		/* twice in the control */
	if ((ctr->evntsel & ~allowed) || (has_modes && !(ctr->evntsel & (KERNEL | USER))) ||
	    ctr->aux || ctr->ireset)
		return -EINVAL;
	*used |= BIT(i);
	*image |= ctr->evntsel << HALF(i);
	return 0;
}

static int p5_check_control(struct perfctr_cpu_control *control)
{
	unsigned int i;
	u64 image = 0;
	u32 used = 0;

	if (control->kind || control->global[0] || control->global[1] || control->nrictrs)
		return -EINVAL;
	control->kernel = false;
	control->alone = false;
	memset(&control->regs, 0, sizeof(control->regs));
	for (i = 0; i < control->nractrs; i++) {
		if (check_ctr(&control->ctr[i], &image, &used))
			return -EINVAL;
		if (counts_kernel(control->ctr[i].evntsel))
			control->kernel = true;
	}
	control->regs.enable = image;
	control->mask = perfctr_x86_low_bits(i ? perfctr_cpu_info.pmc_width : 64);
	return 0;
}

struct found {
	const char *name;
	u32 cpu_type;
	unsigned int width;
	u64 allowed;
	u64 trial;			/* in a half: counts in kernel mode */
	bool never_stops, rdpmc, user_rdpmc;
};

/* True if RDPMC in user mode has erratum 74.  SDM, "CPUID": the type is in bits 12 and 13. */
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
	f->width = INTEL_WIDTH;
	f->allowed = EVENT | KERNEL | USER | CLOCKS;
	f->trial = CLOCKS | KERNEL;
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
	f->width = CYRIX_WIDTH;
	f->allowed = EVENT | KERNEL | USER | CLOCKS | CYRIX_EVENT_HIGH;
	f->trial = CLOCKS | KERNEL;
	f->rdpmc = true;
	f->user_rdpmc = true;
}

/* Models 4: C6, 8: WinChip 2, 9: WinChip 3.  The events for clocks differ. */
static void find_winchip(struct found *f, u32 signature)
{
	u32 model = (signature >> 4) & 0xf;

	if (!perfctr_x86_is_old_family(signature, 5) || (model != 4 && model != 8 && model != 9))
		return;
	if (perfctr_has_tsc()) {
		pr_info("the counters of a WinChip ruin its TSC: they need a kernel that does not use it (without CONFIG_X86_TSC, booted with \"notsc\")\n");
		return;
	}
	f->name = model == 4 ? "WinChip C6, never stops" : "WinChip 2 or 3, never stops";
	f->cpu_type = VPERFCTR_CPU_WINCHIP;
	f->width = INTEL_WIDTH;
	f->allowed = WINCHIP_EVENT;
	f->trial = model == 4 ? 0x00 : 0x3f;
	f->never_stops = true;
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
	else if (!memcmp(vendor, "CentaurHauls", sizeof(vendor)))
		find_winchip(f, eax);
}

static int p5_probe(void)
{
	struct vperfctr_info *info = &perfctr_cpu_info;
	struct found f;

	find_processor(&f);
	if (!f.name || perfctr_is_pv_guest() || !perfctr_x86_readable(MSR_CESR))
		return -ENODEV;
	allowed = f.allowed;
	has_modes = !f.never_stops;
	memset(simple, 0, sizeof(*simple));
	simple->write = p5_write;
	simple->keep = f.never_stops ? ~0ULL : 0;
	simple->trial = f.trial << HALF(0) | f.trial << HALF(1);
	simple->pmc0 = MSR_PMC0;
	simple->no_rdpmc = !f.rdpmc;
	info->pmc_mask = perfctr_x86_low_bits(NR_PMCS);
	if (!perfctr_x86_simple_describe(f.width, 0))
		return -ENODEV;
	if (!f.user_rdpmc)
		info->features &= ~VPERFCTR_FEATURE_RDPMC;
	info->cpu_type = f.cpu_type;
	info->arch_events = VPERFCTR_EVENT_CYCLES | VPERFCTR_EVENT_INSTRUCTIONS;
	strscpy(info->cpu_name, f.name, sizeof(info->cpu_name));
	return 0;
}

/* Linux has no driver for these counters, and its reservation does not know the registers. */
const struct perfctr_driver perfctr_x86_p5 = {
	.probe		= p5_probe,
	.check_control	= p5_check_control,
	PERFCTR_X86_SIMPLE_OPS,
};
