// SPDX-License-Identifier: LGPL-2.1-or-later
/* Processor types, as programs written for perfctr know them. */
#include "internal.h"

static const char *const names[] = {
	[PERFCTR_X86_GENERIC]		= "Generic x86 with TSC",
	[PERFCTR_X86_INTEL_P5]		= "Intel Pentium",
	[PERFCTR_X86_INTEL_P5MMX]	= "Intel Pentium MMX",
	[PERFCTR_X86_INTEL_P6]		= "Intel Pentium Pro",
	[PERFCTR_X86_INTEL_PII]		= "Intel Pentium II",
	[PERFCTR_X86_INTEL_PIII]	= "Intel Pentium III",
	[PERFCTR_X86_CYRIX_MII]		= "Cyrix 6x86MX/MII",
	[PERFCTR_X86_WINCHIP_C6]	= "WinChip C6",
	[PERFCTR_X86_WINCHIP_2]		= "WinChip 2",
	[PERFCTR_X86_AMD_K7]		= "AMD K7",
	[PERFCTR_X86_VIA_C3]		= "VIA C3",
	[PERFCTR_X86_INTEL_P4]		= "Intel Pentium 4",
	[PERFCTR_X86_INTEL_P4M2]	= "Intel Pentium 4 Model 2",
	[PERFCTR_X86_AMD_K8]		= "AMD K8",
	[PERFCTR_X86_INTEL_PENTM]	= "Intel Pentium M",
	[PERFCTR_X86_AMD_K8C]		= "AMD K8 Revision C",
	[PERFCTR_X86_INTEL_P4M3]	= "Intel Pentium 4 Model 3",
	[PERFCTR_X86_INTEL_CORE]	= "Intel Core",
	[PERFCTR_X86_INTEL_CORE2]	= "Intel Core 2",
	[PERFCTR_X86_AMD_FAM10H]	= "AMD Family 10h or newer",
	[PERFCTR_X86_INTEL_ATOM]	= "Intel Atom",
	[PERFCTR_X86_INTEL_NHLM]	= "Intel Nehalem",
	[PERFCTR_X86_INTEL_WSTMR]	= "Intel Westmere or newer",
	[PERFCTR_X86_INTEL_SNB]		= "Intel Sandy Bridge",
};

const char *perfctr_info_cpu_name(const struct perfctr_info *info)
{
	if (info->cpu_type >= sizeof(names) / sizeof(names[0]))
		return "unknown processor";
	return names[info->cpu_type];
}

unsigned int perfctr_info_nrctrs(const struct perfctr_info *info)
{
	return info->_nrctrs;
}

static unsigned int amd_type(unsigned int family, unsigned int model, unsigned int stepping)
{
	if (family < 15)
		return PERFCTR_X86_AMD_K7;
	if (family > 15)
		return PERFCTR_X86_AMD_FAM10H;
	/* Revision C: from stepping 8 on of models 4 and 5, and all later models. */
	if (model > 5 || (model >= 4 && stepping >= 8))
		return PERFCTR_X86_AMD_K8C;
	return PERFCTR_X86_AMD_K8;
}

/*
 * Do not report Sandy Bridge and later as PERFCTR_X86_INTEL_SNB.  Programs older than
 * that name refuse a type that they do not know.  The others know Westmere, too.
 */
static unsigned int intel_type(unsigned int family, unsigned int model)
{
	/* Family 15 has no later models. */
	if (family == 15)
		return model < 2 ? PERFCTR_X86_INTEL_P4 :
		       model == 2 ? PERFCTR_X86_INTEL_P4M2 : PERFCTR_X86_INTEL_P4M3;
	if (family != 6)
		return PERFCTR_X86_INTEL_WSTMR;
	switch (model) {
	case 0: case 1:
		return PERFCTR_X86_INTEL_P6;
	case 3: case 5: case 6:
		return PERFCTR_X86_INTEL_PII;
	case 7: case 8: case 10: case 11:
		return PERFCTR_X86_INTEL_PIII;
	case 9: case 13:
		return PERFCTR_X86_INTEL_PENTM;
	case 14:
		return PERFCTR_X86_INTEL_CORE;
	case 15: case 22: case 23: case 29:
		return PERFCTR_X86_INTEL_CORE2;
	case 28: case 38: case 39: case 53: case 54:
		return PERFCTR_X86_INTEL_ATOM;
	case 26: case 30: case 31: case 46:
		return PERFCTR_X86_INTEL_NHLM;
	}
	return PERFCTR_X86_INTEL_WSTMR;
}

/*
 * Return the closest type that programs know, for a processor whose counters are used.
 * vendor is EBX, EDX and ECX of CPUID leaf 0, signature EAX of leaf 1.
 */
unsigned int __perfctr_cpu_type(const unsigned int vendor[3], unsigned int signature)
{
	unsigned int family = (signature >> 8) & 0xf;
	unsigned int model = (signature >> 4) & 0xf;

	if (family == 6 || family == 15)
		model |= (signature >> 12) & 0xf0;
	if (family == 15)
		family += (signature >> 20) & 0xff;
	if (!memcmp(vendor, "AuthenticAMD", 12) || !memcmp(vendor, "HygonGenuine", 12))
		return amd_type(family, model, signature & 0xf);
	if (!memcmp(vendor, "CyrixInstead", 12))
		return PERFCTR_X86_CYRIX_MII;
	if (!memcmp(vendor, "CentaurHauls", 12) && family == 6 && model >= 6 && model <= 9)
		return PERFCTR_X86_VIA_C3;
	if (!memcmp(vendor, "CentaurHauls", 12) && family == 5)
		return model == 4 ? PERFCTR_X86_WINCHIP_C6 : PERFCTR_X86_WINCHIP_2;
	if (family == 5)
		return model == 4 || model == 8 ? PERFCTR_X86_INTEL_P5MMX : PERFCTR_X86_INTEL_P5;
	/* Other vendors with Intel's counters have the architectural events, too. */
	return intel_type(family, model);
}
