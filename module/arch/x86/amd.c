// SPDX-License-Identifier: GPL-2.0
/*
 * AMD, from the K7 on, and Hygon.  There are three generations of registers for the same
 * counters, which CPUID distinguishes:
 *
 *  - four counters, and no register that starts or stops all of them (K7, K8,
 *    family 10h to 14h);
 *  - PerfCtrExtCore: six counters at other addresses (family 15h on);
 *  - PerfMonV2: in addition, global control and status (Zen 4 on).
 *
 * AMD64 Architecture Programmer's Manual, volume 2, "Performance Monitoring
 * Counters"; events and their bits in the BKDG or PPR of each family.
 *
 * These processors do not mask LVTPC when they deliver its interrupt, and the interrupt
 * may arrive after the counters have been stopped: see nmi.c.  Events that some
 * families count wrong are in amd-quirks.c.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "regs.h"
#include "x86.h"

#define MSR_K7_EVNTSEL0		0xc0010000
#define MSR_K7_PMC0		0xc0010004
#define MSR_CORE_EVNTSEL0	0xc0010200	/* event selects and counters alternate */
#define MSR_CORE_PMC0		0xc0010201
#define MSR_V2_GLOBAL_STATUS	0xc0000300
#define MSR_V2_GLOBAL_CTL	0xc0000301
#define MSR_V2_GLOBAL_CLR	0xc0000302
#define MSR_DEBUGCTL		0x1d9

#define CPUID_80000001_ECX_CORE	BIT(23)
#define CPUID_80000022_EAX_V2	BIT(0)
#define CPUID_80000022_EAX_FREEZE BIT(2)	/* DebugCtl can let an overflow stop the counters */

#define NR_K7			4
#define NR_CORE			6
#define WIDTH			48

unsigned int perfctr_amd_family;

static unsigned int get_family(void)
{
	u32 eax, ebx, ecx, edx;
	unsigned int base;

	perfctr_cpuid(1, &eax, &ebx, &ecx, &edx);
	base = (eax >> 8) & 0xf;
	return base == 0xf ? base + ((eax >> 20) & 0xff) : base;
}

static bool is_amd(u32 ebx, u32 ecx, u32 edx)
{
	/* "AuthenticAMD", "HygonGenuine" */
	return (ebx == 0x68747541 && edx == 0x69746e65 && ecx == 0x444d4163) ||
	       (ebx == 0x6f677948 && edx == 0x6e65476e && ecx == 0x656e6975);
}

/* Find the number of the counters and their registers.  Return: the processor's name. */
static const char *find_registers(unsigned int *nr_pmcs)
{
	struct perfctr_x86_pmu *pmu = &perfctr_x86_pmu;
	u32 eax, ebx, ecx, edx, max;

	perfctr_cpuid(0x80000000, &max, &ebx, &ecx, &edx);
	ecx = 0;
	if (max >= 0x80000001)
		perfctr_cpuid(0x80000001, &eax, &ebx, &ecx, &edx);
	if (!(ecx & CPUID_80000001_ECX_CORE)) {
		*nr_pmcs = NR_K7;
		pmu->evntsel0 = MSR_K7_EVNTSEL0;
		pmu->pmc0 = MSR_K7_PMC0;
		pmu->step = 1;
		return perfctr_amd_family < 0xf ? "AMD K7" :
		       perfctr_amd_family == 0xf ? "AMD K8" : "AMD family 10h";
	}
	*nr_pmcs = NR_CORE;
	pmu->evntsel0 = MSR_CORE_EVNTSEL0;
	pmu->pmc0 = MSR_CORE_PMC0;
	pmu->step = 2;
	if (max < 0x80000022)
		return "AMD core counters";
	perfctr_cpuid(0x80000022, &eax, &ebx, &ecx, &edx);
	if (!(eax & CPUID_80000022_EAX_V2))
		return "AMD core counters";
	/* After the sixth, RDPMC reads counters of other kinds. */
	*nr_pmcs = min_t(unsigned int, ebx & 0xf, NR_CORE);
	pmu->global_ctrl = MSR_V2_GLOBAL_CTL;
	pmu->global_status = MSR_V2_GLOBAL_STATUS;
	pmu->global_clear = MSR_V2_GLOBAL_CLR;
	if (eax & CPUID_80000022_EAX_FREEZE)
		pmu->debugctl = MSR_DEBUGCTL;
	return "AMD PerfMonV2";
}

/*
 * True if the registers hold what is written.  In a KVM guest without a PMU, the K7's read as 0,
 * and ignore writes.  A counter in use, whose event select is not 0, needs no test and is not
 * disturbed.
 */
static bool registers_hold(void)
{
	const struct perfctr_x86_pmu *pmu = &perfctr_x86_pmu;
	u64 evntsel, old, now = 0;

	if (perfctr_rdmsr_safe(pmu->evntsel0, &evntsel) || evntsel)
		return true;
	if (perfctr_rdmsr_safe(pmu->pmc0, &old) || perfctr_wrmsr_safe(pmu->pmc0, old ^ 0xff))
		return false;
	perfctr_rdmsr_safe(pmu->pmc0, &now);
	perfctr_wrmsr_safe(pmu->pmc0, old);
	return now == (old ^ 0xff);
}

int perfctr_amd_probe(void)
{
	struct perfctr_x86_pmu *pmu = &perfctr_x86_pmu;
	struct vperfctr_info *info = &perfctr_cpu_info;
	u32 max, ebx, ecx, edx;
	unsigned int nr_pmcs;
	const char *name;

	perfctr_cpuid(0, &max, &ebx, &ecx, &edx);
	if (!is_amd(ebx, ecx, edx) || perfctr_is_pv_guest() || perfctr_is_hybrid())
		return -ENODEV;
	perfctr_amd_family = get_family();
	if (perfctr_amd_family < 6)
		return -ENODEV;

	memset(pmu, 0, sizeof(*pmu));
	name = find_registers(&nr_pmcs);
	info->pmc_mask = perfctr_x86_low_bits(nr_pmcs);
	info->fixed_mask = 0;
	pmu->allowed = PERFCTR_X86_EVNTSEL_P6 |
		       (perfctr_amd_family >= 0x10 ? PERFCTR_AMD_EVENT_HIGH : 0);
	pmu->refuses = perfctr_amd_refuses;
	pmu->doubtful = ~0ULL;
	pmu->write_pmc0 = pmu->pmc0;
	pmu->instructions = 0xc0;
	if (!nr_pmcs || !perfctr_x86_pmc_describe(WIDTH, 0, WIDTH) || !registers_hold())
		return -ENODEV;

	info->cpu_type = VPERFCTR_CPU_AMD;
	/* 76h, C0h, C2h, C3h; the cache events differ in each family. */
	info->arch_events = VPERFCTR_EVENT_CYCLES | VPERFCTR_EVENT_INSTRUCTIONS |
			    VPERFCTR_EVENT_BRANCHES | VPERFCTR_EVENT_BRANCH_MISSES;
	strscpy(info->cpu_name, name, sizeof(info->cpu_name));
	return 0;
}

const struct perfctr_driver perfctr_x86_amd = {
	.probe		= perfctr_amd_probe,
	PERFCTR_X86_PMC_OPS,
	PERFCTR_X86_PMC_RESERVATION,
};
