// SPDX-License-Identifier: GPL-2.0
/*
 * Intel architectural performance monitoring, version 1 and later: general and fixed
 * counters of the number and width that CPUID leaf 0AH reports.  Errata are in
 * intel-quirks.c.
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
#define MSR_FULL_PMC0		0x4c1	/* the same counters, written in full width */
#define MSR_EVNTSEL0		0x186
#define MSR_DEBUGCTL		0x1d9
#define MSR_FIXED_CTR0		0x309
#define MSR_METRICS		0x329
#define MSR_PERF_CAPABILITIES	0x345
#define MSR_FIXED_CTR_CTRL	0x38d
#define MSR_GLOBAL_STATUS	0x38e
#define MSR_GLOBAL_CTRL		0x38f
#define MSR_GLOBAL_OVF_CTRL	0x390	/* version 4: GLOBAL_STATUS_RESET, same use */
#define MSR_PEBS_ENABLE		0x3f1

#define CAPABILITIES_FULL_WRITE	BIT_ULL(13)
#define CAPABILITIES_METRICS	BIT_ULL(15)
#define CPUID_1_ECX_PDCM	BIT(15)

#define CPUID_LEAF_HYBRID	0x1a

#define CPUID_7_1_EAX_PERFMON_EXT BIT(8)
#define CPUID_LEAF_PERFMON_EXT	0x23
#define CPUID_23_COUNTERS	1	/* sub-leaf */
#define CPUID_23_EBX_UMASK2	BIT(0)	/* of sub-leaf 0 */
#define CPUID_23_EBX_EQ		BIT(1)

/* Bits of event selects that these report. */
#define EVNTSEL_UMASK2		GENMASK_ULL(47, 40)
#define EVNTSEL_EQ		BIT_ULL(36)

/* Architectural events: the bits in CPUID.0AH:EBX are those of VPERFCTR_EVENT_*. */
#define NR_ARCH_EVENTS		7

static struct perfctr_x86_pmu *const pmu = &perfctr_x86_pmu;

/* The counters of this CPU, as CPUID reports them. */
struct found {
	u8 version;
	unsigned int width, fixed_width;
	u64 pmc_mask, fixed_mask;
	u32 arch_events;
	u32 core_type;
	u32 write_pmc0;
	u64 select_bits;		/* EVNTSEL_* that event selects have */
};

/* The select_bits of the known kinds of CPUs: of Atoms, and of all others. */
static u64 select_bits[2];

/* Return IA32_PERF_CAPABILITIES, or 0. */
static u64 read_capabilities(void)
{
	u32 eax, ebx, ecx, edx;
	u64 caps;

	perfctr_cpuid(1, &eax, &ebx, &ecx, &edx);
	if (!(ecx & CPUID_1_ECX_PDCM) || perfctr_rdmsr_safe(MSR_PERF_CAPABILITIES, &caps))
		return 0;
	return caps;
}

/* Find the registers that set all bits of a general counter. */
static u32 find_write_pmc0(void)
{
	if ((read_capabilities() & CAPABILITIES_FULL_WRITE) && perfctr_x86_readable(MSR_FULL_PMC0))
		return MSR_FULL_PMC0;
	return MSR_PMC0;
}

/*
 * Get the masks of all counters from leaf 23H.  Leaf 0AH has only the number of contiguous
 * ones.  SDM volume 2, "CPUID".
 */
static void find_masks(struct found *f, u32 max_leaf)
{
	u32 eax, ebx, ecx, edx;

	if (max_leaf < CPUID_LEAF_PERFMON_EXT)
		return;
	perfctr_cpuid(7, &eax, &ebx, &ecx, &edx);
	if (!eax)
		return;
	perfctr_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx);
	if (!(eax & CPUID_7_1_EAX_PERFMON_EXT))
		return;
	perfctr_cpuid(CPUID_LEAF_PERFMON_EXT, &eax, &ebx, &ecx, &edx);
	f->select_bits = (ebx & CPUID_23_EBX_UMASK2 ? EVNTSEL_UMASK2 : 0) |
			 (ebx & CPUID_23_EBX_EQ ? EVNTSEL_EQ : 0);
	if (!(eax & BIT(CPUID_23_COUNTERS)))
		return;
	perfctr_cpuid_count(CPUID_LEAF_PERFMON_EXT, CPUID_23_COUNTERS, &eax, &ebx, &ecx, &edx);
	f->pmc_mask = eax & perfctr_x86_low_bits(PERFCTR_X86_MAX_PMC);
	f->fixed_mask = ebx & perfctr_x86_low_bits(PERFCTR_X86_MAX_FIXED);
}

/*
 * CPUID of some Core 2 reports no fixed counters, although they exist.  perf assumes three
 * for versions 2 to 4, except under a hypervisor.  Use those of them whose registers exist.
 */
static void find_hidden(struct found *f)
{
	unsigned int i;

	if (f->version < 2 || f->version > 4 || f->fixed_mask || perfctr_is_guest() ||
	    !perfctr_x86_readable(MSR_FIXED_CTR_CTRL))
		return;
	for (i = 0; i < 3 && perfctr_x86_readable(MSR_FIXED_CTR0 + i); i++)
		f->fixed_mask |= BIT_ULL(i);
	f->fixed_width = f->width;
}

/* Find the counters of this CPU.  Return: false if there are none that can be used. */
static bool find_counters(struct found *f)
{
	u32 eax, ebx, ecx, edx, max;

	memset(f, 0, sizeof(*f));
	perfctr_cpuid(0, &max, &ebx, &ecx, &edx);
	if (max < 0xa)
		return false;
	perfctr_cpuid(0xa, &eax, &ebx, &ecx, &edx);
	f->version = eax & 0xff;
	f->width = (eax >> 16) & 0xff;
	f->pmc_mask = perfctr_x86_low_bits(min_t(unsigned int, (eax >> 8) & 0xff,
						 PERFCTR_X86_MAX_PMC));
	f->arch_events = ~ebx & perfctr_x86_low_bits(min_t(unsigned int, eax >> 24,
							   NR_ARCH_EVENTS));
	if (perfctr_intel_pmc3_is_microcodes(max))
		f->pmc_mask &= ~BIT_ULL(3);
	if (f->version >= 2) {
		f->fixed_mask = perfctr_x86_low_bits(min_t(unsigned int, edx & 0x1f,
							   PERFCTR_X86_MAX_FIXED));
		f->fixed_width = (edx >> 5) & 0xff;
	}
	if (f->version >= 5) {	/* the number covers contiguous counters, the mask all */
		f->fixed_mask |= ecx & perfctr_x86_low_bits(PERFCTR_X86_MAX_FIXED);
		find_masks(f, max);
	}
	find_hidden(f);
	if (!f->version || !f->pmc_mask || f->width < 32 || f->width > 64)
		return false;
	if (f->fixed_width < 32 || f->fixed_width > 64)
		f->fixed_mask = 0;
	if (perfctr_is_hybrid() && max >= CPUID_LEAF_HYBRID)
		perfctr_cpuid(CPUID_LEAF_HYBRID, &f->core_type, &ebx, &ecx, &edx);
	f->write_pmc0 = find_write_pmc0();
	return true;
}

static const char *core_name(u32 core_type)
{
	switch (PERFCTR_INTEL_CORE_TYPE(core_type)) {
	case PERFCTR_INTEL_ATOM:
		return ", Atom";
	case PERFCTR_INTEL_CORE:
		return ", Core";
	}
	return "";
}

static bool is_atom(u32 core_type)
{
	return PERFCTR_INTEL_CORE_TYPE(core_type) == PERFCTR_INTEL_ATOM;
}

static void describe_kind(struct vperfctr_info *info, const struct found *f)
{
	select_bits[is_atom(f->core_type)] = f->select_bits;
	info->pmc_mask = f->pmc_mask;
	info->fixed_mask = f->fixed_mask;
	info->arch_events = f->arch_events;
	info->core_type = f->core_type;
	snprintf(info->cpu_name, sizeof(info->cpu_name),
		 "Intel architectural performance monitoring, version %u%s", f->version,
		 core_name(f->core_type));
}

/* The self-test counts this event. */
#define EVENT_INSTRUCTIONS	0x00c0

/* Return the VPERFCTR_EVENT_* of an event select, or 0 for other events. */
static u32 arch_event(u64 evntsel)
{
	switch (evntsel & 0xffff) {
	case 0x003c:
		return VPERFCTR_EVENT_CYCLES;
	case EVENT_INSTRUCTIONS:
		return VPERFCTR_EVENT_INSTRUCTIONS;
	case 0x013c:
		return VPERFCTR_EVENT_REF_CYCLES;
	case 0x4f2e:
		return VPERFCTR_EVENT_CACHE_REFS;
	case 0x412e:
		return VPERFCTR_EVENT_CACHE_MISSES;
	case 0x00c4:
		return VPERFCTR_EVENT_BRANCHES;
	case 0x00c5:
		return VPERFCTR_EVENT_BRANCH_MISSES;
	}
	return 0;
}

/*
 * True if this is an architectural event that this kind does not have: it would count nothing.
 * Also if its event selects lack a bit.
 */
static bool event_absent(const struct vperfctr_info *kind, u64 evntsel)
{
	u64 rare = evntsel & (EVNTSEL_UMASK2 | EVNTSEL_EQ);

	if (unlikely(rare) && (rare & ~select_bits[is_atom(kind->core_type)]))
		return true;
	return arch_event(evntsel) & ~kind->arch_events;
}

/* Say which event selects a control may have, and of which event_absent() must be asked. */
static void limit_events(const struct found *f)
{
	static const u16 known[NR_ARCH_EVENTS] = {
		0x003c, EVENT_INSTRUCTIONS, 0x013c, 0x4f2e, 0x412e, 0x00c4, 0x00c5,
	};
	unsigned int i;

	pmu->refuses = event_absent;
	/* Kinds that are not known yet may have less. */
	if (perfctr_is_hybrid()) {
		pmu->allowed = PERFCTR_X86_EVNTSEL_P6 | EVNTSEL_UMASK2 | EVNTSEL_EQ;
		pmu->doubtful = ~0ULL;
		return;
	}
	pmu->allowed = PERFCTR_X86_EVNTSEL_P6 | f->select_bits;
	for (i = 0; i < NR_ARCH_EVENTS; i++) {
		if (arch_event(known[i]) & ~f->arch_events)
			pmu->doubtful |= perfctr_x86_doubt(known[i]);
	}
}

/* True if the processor is Intel's: Zhaoxin's have the leaf, too. */
static bool is_intel(void)
{
	u32 max, ebx, ecx, edx;

	perfctr_cpuid(0, &max, &ebx, &ecx, &edx);
	return ebx == 0x756e6547 && edx == 0x49656e69 && ecx == 0x6c65746e;
}

/* Return the model of a processor of family 6, PERFCTR_INTEL_MODEL(), or PERFCTR_INTEL_NO_MODEL. */
static unsigned int get_model(void)
{
	unsigned int family, model;
	u32 eax, ebx, ecx, edx;

	if (!is_intel())
		return PERFCTR_INTEL_NO_MODEL;
	perfctr_cpuid(1, &eax, &ebx, &ecx, &edx);
	family = (eax >> 8) & 0xf;
	model = ((eax >> 12) & 0xf0) | ((eax >> 4) & 0xf);
	if (family == 0xf)
		family += (eax >> 20) & 0xff;
	return family == 6 ? model : PERFCTR_INTEL_MODEL(family, model);
}

/* True if the kernel's reservation knows the registers of the processor that was probed. */
static bool can_reserve __ro_after_init;

bool perfctr_intel_can_reserve(void)
{
	return can_reserve;
}

int perfctr_intel_probe(bool claims)
{
	struct vperfctr_info *info = &perfctr_cpu_info;
	struct found f;

	if (perfctr_is_pv_guest() || !find_counters(&f))
		return -ENODEV;
	/* If perf is not kept from using the counters, they count wrong. */
	can_reserve = perfctr_can_reserve(f.version);
	if (!can_reserve && !claims)
		return -ENODEV;
	/* Beside the watchdog, GLOBAL_CTRL must start and stop ours, and be writable. */
	if (can_reserve && claims && (f.version < 2 || !is_intel()))
		return -ENODEV;
	/* All kinds must have the same registers, and perfctr_intel_probe_kind() requires these. */
	if (perfctr_is_hybrid() && f.version < 2)
		return -ENODEV;

	memset(pmu, 0, sizeof(*pmu));
	limit_events(&f);
	perfctr_intel_set_quirks(pmu, get_model(), f.version, f.pmc_mask);
	pmu->instructions = EVENT_INSTRUCTIONS;
	pmu->evntsel0 = MSR_EVNTSEL0;
	pmu->pmc0 = MSR_PMC0;
	pmu->write_pmc0 = f.write_pmc0;
	pmu->step = 1;
	if (f.version >= 2) {
		pmu->fixed0 = MSR_FIXED_CTR0;
		pmu->fixed_ctrl = MSR_FIXED_CTR_CTRL;
		pmu->global_ctrl = MSR_GLOBAL_CTRL;
		pmu->global_status = MSR_GLOBAL_STATUS;
		pmu->global_clear = MSR_GLOBAL_OVF_CTRL;
		pmu->debugctl = MSR_DEBUGCTL;
		pmu->pebs_enable = MSR_PEBS_ENABLE;
		pmu->has_cfg = f.version >= 6;
		/* The CPU that was probed may be of a kind without it. */
		if (perfctr_is_hybrid() || (read_capabilities() & CAPABILITIES_METRICS))
			pmu->metrics = MSR_METRICS;
	}
	describe_kind(info, &f);
	pmu->has_extra_events = true;
	pmu->nr_extra = perfctr_intel_probe_extra(get_model(), f.core_type);
	/* A write to MSR_PMC0 sets 32 bits and extends their sign. */
	if (!perfctr_x86_pmc_describe(f.width, f.fixed_width, f.write_pmc0 == MSR_PMC0 ? 32 : 64))
		return -ENODEV;
	info->cpu_type = VPERFCTR_CPU_INTEL_ARCH;
	/* Zhaoxin's accept a write to GLOBAL_OVF_CTRL only while GLOBAL_CTRL enables counters. */
	if (!is_intel()) {
		info->features &= ~VPERFCTR_FEATURE_PCINT;
		info->max_period = 0;
		info->min_period = 0;
	}
	return 0;
}

/*
 * Kinds may differ in the number of counters, but not in their width and registers: a
 * thread that moves between CPUs has one state.
 */
int perfctr_intel_probe_kind(struct vperfctr_info *info)
{
	struct found f;

	if (!find_counters(&f) || f.version < 2 || f.width != info->pmc_width ||
	    (f.fixed_mask && f.fixed_width != info->fixed_width) ||
	    f.write_pmc0 != pmu->write_pmc0)
		return -ENODEV;
	describe_kind(info, &f);
	perfctr_intel_probe_extra(get_model(), f.core_type);
	return perfctr_x86_pmc_describe_kind(info) ? 0 : -ENODEV;
}

static int intel_probe(void)
{
	return perfctr_intel_probe(false);
}

const struct perfctr_driver perfctr_x86_intel = {
	.probe		= intel_probe,
	.probe_kind	= perfctr_intel_probe_kind,
	PERFCTR_X86_PMC_OPS,
	PERFCTR_X86_PMC_RESERVATION,
};
