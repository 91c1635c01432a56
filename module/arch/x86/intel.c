// SPDX-License-Identifier: GPL-2.0
/*
 * Intel architectural performance monitoring, version 1 and later: whatever
 * number and width of general and fixed counters CPUID leaf 0xA reports.
 *
 * Intel SDM volume 3, chapter "Performance Monitoring", "Architectural
 * Performance Monitoring"; register numbers from volume 4.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "regs.h"
#include "x86.h"

#define MSR_PMC0		0x0c1
#define MSR_FULL_PMC0		0x4c1	/* the same, to be written in full width */
#define MSR_EVNTSEL0		0x186
#define MSR_FIXED_CTR0		0x309
#define MSR_PERF_CAPABILITIES	0x345
#define MSR_FIXED_CTR_CTRL	0x38d
#define MSR_GLOBAL_CTRL		0x38f
#define MSR_GLOBAL_OVF_CTRL	0x390	/* version 4: GLOBAL_STATUS_RESET, same use */

#define CAPABILITIES_FULL_WRITE	BIT_ULL(13)
#define CPUID_1_ECX_PDCM	BIT(15)

/* Bit i: event that CPUID.0AH:EBX bit i tells to be absent, bits in VPERFCTR_EVENT_*. */
static const u16 arch_events[] = {
	0x003c, 0x00c0, 0x013c, 0x4f2e, 0x412e, 0x00c4, 0x00c5,
};

static struct {
	unsigned int version;
	unsigned int events_known;	/* bits of CPUID.0AH:EBX that mean something */
	u32 events_absent;
} intel;

static struct perfctr_x86_pmu *const pmu = &perfctr_x86_pmu;

/* Which registers take all bits of a general counter? */
static u32 find_write_pmc0(void)
{
	u32 eax, ebx, ecx, edx;
	u64 caps;

	perfctr_cpuid(1, &eax, &ebx, &ecx, &edx);
	if ((ecx & CPUID_1_ECX_PDCM) && !perfctr_rdmsr_safe(MSR_PERF_CAPABILITIES, &caps) &&
	    (caps & CAPABILITIES_FULL_WRITE) && perfctr_x86_readable(MSR_FULL_PMC0))
		return MSR_FULL_PMC0;
	return MSR_PMC0;
}

/* An architectural event that this processor does not have would count nothing. */
static bool event_absent(u64 evntsel)
{
	u16 event = evntsel & 0xffff;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(arch_events); i++) {
		if (event == arch_events[i])
			return i >= intel.events_known || (intel.events_absent & BIT(i));
	}
	return false;
}

static int intel_probe(void)
{
	struct vperfctr_info *info = &perfctr_cpu_info;
	u32 eax, ebx, ecx, edx, max;
	unsigned int width, nr_fixed, fixed_width = 0;
	bool intel_made;

	/*
	 * Where there is the leaf; Zhaoxin's processors have it too.  It is read
	 * here for one CPU, and holds for all only if there is one kind of them.
	 */
	perfctr_cpuid(0, &max, &ebx, &ecx, &edx);
	intel_made = ebx == 0x756e6547 && edx == 0x49656e69 && ecx == 0x6c65746e;
	if (max < 0xa || perfctr_is_pv_guest() || perfctr_is_hybrid())
		return -ENODEV;
	perfctr_cpuid(0xa, &eax, &ebx, &ecx, &edx);

	memset(pmu, 0, sizeof(*pmu));
	intel.version = eax & 0xff;
	pmu->nr_pmcs = min_t(unsigned int, (eax >> 8) & 0xff, PERFCTR_X86_MAX_PMC);
	width = (eax >> 16) & 0xff;
	intel.events_known = min_t(unsigned int, eax >> 24, ARRAY_SIZE(arch_events));
	intel.events_absent = ebx;
	if (!intel.version || !pmu->nr_pmcs || width < 32 || width > 64)
		return -ENODEV;

	pmu->pmc_mask = perfctr_x86_low_bits(pmu->nr_pmcs);
	if (intel.version >= 2) {
		nr_fixed = min_t(unsigned int, edx & 0x1f, PERFCTR_X86_MAX_FIXED);
		pmu->fixed_mask = perfctr_x86_low_bits(nr_fixed);
		fixed_width = (edx >> 5) & 0xff;
	}
	if (intel.version >= 5)		/* the number is of contiguous ones, the mask of all */
		pmu->fixed_mask |= ecx & perfctr_x86_low_bits(PERFCTR_X86_MAX_FIXED);
	if (pmu->fixed_mask && (fixed_width < 32 || fixed_width > 64))
		pmu->fixed_mask = 0;
	pmu->nr_fixed = fls64(pmu->fixed_mask);
	pmu->allowed = PERFCTR_X86_EVNTSEL_P6;
	pmu->refuses = event_absent;
	pmu->evntsel0 = MSR_EVNTSEL0;
	pmu->pmc0 = MSR_PMC0;
	pmu->write_pmc0 = find_write_pmc0();
	pmu->step = 1;
	if (pmu->fixed_mask) {
		pmu->fixed0 = MSR_FIXED_CTR0;
		pmu->fixed_ctrl = MSR_FIXED_CTR_CTRL;
	}
	if (intel.version >= 2) {
		pmu->global_ctrl = MSR_GLOBAL_CTRL;
		pmu->global_clear = MSR_GLOBAL_OVF_CTRL;
	}
	/* MSR_PMC0 takes 32 bits and extends the sign. */
	if (!perfctr_x86_pmc_describe(width, fixed_width, pmu->write_pmc0 == MSR_PMC0 ? 32 : 64))
		return -ENODEV;
	/* Zhaoxin's take a write to GLOBAL_OVF_CTRL only while GLOBAL_CTRL enables counters. */
	if (!intel_made) {
		info->features &= ~VPERFCTR_FEATURE_PCINT;
		info->max_period = 0;
	}

	info->cpu_type = VPERFCTR_CPU_INTEL_ARCH;
	info->arch_events = ~intel.events_absent & perfctr_x86_low_bits(intel.events_known);
	snprintf(info->cpu_name, sizeof(info->cpu_name),
		 "Intel architectural performance monitoring, version %u", intel.version);
	return 0;
}

const struct perfctr_x86_driver perfctr_x86_intel = {
	.probe		= intel_probe,
	PERFCTR_X86_PMC_OPS,
};
