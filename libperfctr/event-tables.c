// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Events for programs that ask the library for them.  These are Intel's architectural
 * events (SDM volume 3, "Pre-defined Architectural Performance Events"), the same of P6, and those
 * that AMD's processors have had unchanged since the K7.  The kernel refuses an architectural event
 * that a processor does not have.
 */
#include "internal.h"

#define NR(array)	(sizeof(array) / sizeof((array)[0]))

/* The counters that can count them: all general ones, or the only one. */
#define TWO	0x3
#define SECOND	0x2
#define FOUR	0xf

#define MASK(id, um, text)						\
	static const struct perfctr_unit_mask mask_##id = {		\
		.default_value = (um), .type = perfctr_um_type_fixed,	\
		.nvalues = 1, .values = { { (um), text } },		\
	}

MASK(reference, 0x01, "at the rate of a reference clock");
MASK(llc_reference, 0x4f, "all references");
MASK(llc_miss, 0x41, "all misses");

#define ARCHITECTURAL(counters)	{					\
	{ 0x3c, counters, NULL, "UNHALTED_CORE_CYCLES",			\
	  "cycles of a core that is not halted" },			\
	{ 0xc0, counters, NULL, "INSTRUCTIONS_RETIRED",			\
	  "instructions retired" },					\
	{ 0x3c, counters, &mask_reference, "UNHALTED_REFERENCE_CYCLES",	\
	  "reference cycles of a core that is not halted" },		\
	{ 0x2e, counters, &mask_llc_reference, "LLC_REFERENCES",	\
	  "references to the last level of cache" },			\
	{ 0x2e, counters, &mask_llc_miss, "LLC_MISSES",			\
	  "misses in the last level of cache" },			\
	{ 0xc4, counters, NULL, "BRANCH_INSTRUCTIONS_RETIRED",		\
	  "branches retired" },						\
	{ 0xc5, counters, NULL, "MISPREDICTED_BRANCHES_RETIRED",	\
	  "branches retired that had been mispredicted" },		\
}

static const struct perfctr_event two_counters[] = ARCHITECTURAL(TWO);
static const struct perfctr_event four_counters[] = ARCHITECTURAL(FOUR);

/* These have no code for cycles: a bit of evntsel counts them in place of the event. */
static const struct perfctr_event p5[] = {
	{ 0x16, TWO, NULL, "INSTRUCTIONS_EXECUTED", "instructions executed" },
};

static const struct perfctr_event winchip_c6[] = {
	{ 0x00, TWO, NULL, "INTERNAL_CLOCK", "cycles" },
	{ 0x02, TWO, NULL, "INSTRUCTIONS_EXECUTED", "instructions executed" },
};

static const struct perfctr_event winchip_2[] = {
	{ 0x3f, TWO, NULL, "INTERNAL_CLOCK", "cycles" },
	{ 0x16, TWO, NULL, "INSTRUCTIONS_EXECUTED", "instructions executed" },
};

static const struct perfctr_event c3[] = {
	{ 0x79, SECOND, NULL, "CPU_CLK_UNHALTED", "cycles" },
	{ 0xc0, SECOND, NULL, "INSTRUCTIONS_EXECUTED", "instructions executed" },
};

static const struct perfctr_event p6[] = {
	{ 0x79, TWO, NULL, "CPU_CLK_UNHALTED", "cycles of a core that is not halted" },
	{ 0xc0, TWO, NULL, "INST_RETIRED", "instructions retired" },
	{ 0xc4, TWO, NULL, "BR_INST_RETIRED", "branches retired" },
	{ 0xc5, TWO, NULL, "BR_MISS_PRED_RETIRED", "branches retired that had been mispredicted" },
};

static const struct perfctr_event amd[] = {
	{ 0x76, FOUR, NULL, "CPU_CLK_UNHALTED", "cycles of a core that is not halted" },
	{ 0xc0, FOUR, NULL, "RETIRED_INSTRUCTIONS", "instructions retired" },
	{ 0xc2, FOUR, NULL, "RETIRED_BRANCHES", "branches retired" },
	{ 0xc3, FOUR, NULL, "RETIRED_MISPREDICTED_BRANCHES",
	  "branches retired that had been mispredicted" },
};

#define SET(type, prefix, list)	{					\
	.cpu_type = (type), .event_prefix = (prefix),			\
	.nevents = NR(list), .events = (list),				\
}

/* Only processors that the kernel has a driver for. */
static const struct perfctr_event_set sets[] = {
	{ .cpu_type = PERFCTR_X86_GENERIC, .event_prefix = "" },
	SET(PERFCTR_X86_INTEL_P5, "P5_", p5),
	SET(PERFCTR_X86_INTEL_P5MMX, "P5MMX_", p5),
	SET(PERFCTR_X86_CYRIX_MII, "MII_", p5),
	SET(PERFCTR_X86_WINCHIP_C6, "WCC6_", winchip_c6),
	SET(PERFCTR_X86_WINCHIP_2, "WC2_", winchip_2),
	SET(PERFCTR_X86_VIA_C3, "VC3_", c3),
	SET(PERFCTR_X86_INTEL_P6, "P6_", p6),
	SET(PERFCTR_X86_INTEL_PII, "PII_", p6),
	SET(PERFCTR_X86_INTEL_PIII, "PIII_", p6),
	SET(PERFCTR_X86_INTEL_PENTM, "PENTM_", p6),
	SET(PERFCTR_X86_AMD_K7, "K7_", amd),
	SET(PERFCTR_X86_AMD_K8, "K8_", amd),
	SET(PERFCTR_X86_AMD_K8C, "K8_", amd),
	SET(PERFCTR_X86_AMD_FAM10H, "FAM10H_", amd),
	SET(PERFCTR_X86_INTEL_CORE, "CORE_", two_counters),
	SET(PERFCTR_X86_INTEL_CORE2, "CORE2_", two_counters),
	SET(PERFCTR_X86_INTEL_ATOM, "ATOM_", two_counters),
	SET(PERFCTR_X86_INTEL_NHLM, "NHLM_", four_counters),
	SET(PERFCTR_X86_INTEL_WSTMR, "WSTMR_", four_counters),
	SET(PERFCTR_X86_INTEL_SNB, "SNB_", four_counters),
};

const struct perfctr_event_set *perfctr_cpu_event_set(unsigned int cpu_type)
{
	unsigned int i;

	for (i = 0; i < NR(sets); i++) {
		if (sets[i].cpu_type == cpu_type)
			return &sets[i];
	}
	return NULL;
}
