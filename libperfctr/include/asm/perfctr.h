/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * perfctr 2.6's source interface: the part that depends on the processor, for x86.
 *
 * For programs written for perfctr.  They include <libperfctr.h>.
 */
#ifndef _ASM_PERFCTR_H
#define _ASM_PERFCTR_H

/*
 * cpu_type of struct perfctr_info.  Later processors are reported as INTEL_WSTMR or
 * AMD_FAM10H.
 */
#define PERFCTR_X86_GENERIC		0	/* no counters, only the TSC */
#define PERFCTR_X86_INTEL_P5		1
#define PERFCTR_X86_INTEL_P5MMX		2
#define PERFCTR_X86_INTEL_P6		3
#define PERFCTR_X86_INTEL_PII		4
#define PERFCTR_X86_INTEL_PIII		5
#define PERFCTR_X86_CYRIX_MII		6
#define PERFCTR_X86_WINCHIP_C6		7
#define PERFCTR_X86_WINCHIP_2		8
#define PERFCTR_X86_AMD_K7		9
#define PERFCTR_X86_VIA_C3		10
#define PERFCTR_X86_INTEL_P4		11
#define PERFCTR_X86_INTEL_P4M2		12
#define PERFCTR_X86_AMD_K8		13
#define PERFCTR_X86_INTEL_PENTM		14
#define PERFCTR_X86_AMD_K8C		15
#define PERFCTR_X86_INTEL_P4M3		16
#define PERFCTR_X86_INTEL_CORE		17
#define PERFCTR_X86_INTEL_CORE2		18
#define PERFCTR_X86_AMD_FAM10H		19
#define PERFCTR_X86_INTEL_ATOM		20
#define PERFCTR_X86_INTEL_NHLM		21
#define PERFCTR_X86_INTEL_WSTMR		22
#define PERFCTR_X86_INTEL_SNB		23	/* no processor is reported as this one */

/* The first names of two of them: programs test whether these are defined. */
#define PERFCTR_X86_AMD_FAM10		PERFCTR_X86_AMD_FAM10H
#define PERFCTR_X86_INTEL_COREI7	PERFCTR_X86_INTEL_NHLM

/* The processor's part of PERFCTR_ABI_VERSION: 5.1. */
#define PERFCTR_CPU_VERSION		0x0501

/* C89 and C++98 have no long long, but this interface has always used it. */
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wlong-long"
__extension__ typedef unsigned long long __perfctr_ull;
#pragma GCC diagnostic pop
/* Nor do they have anonymous unions. */
#define __perfctr_extension	__extension__
#else
typedef unsigned long long __perfctr_ull;
#define __perfctr_extension
#endif

struct perfctr_sum_ctrs {
	__perfctr_ull tsc;
	__perfctr_ull pmc[18];		/* in the control's order */
};

struct perfctr_cpu_control {
	unsigned int tsc_on;
	unsigned int nractrs;		/* a-mode counters come first, */
	unsigned int nrictrs;		/* then i-mode ones */
	unsigned int pmc_map[18];	/* counter; 0x40000000 + n: fixed counter n */
	unsigned int evntsel[18];
	/* The processor decides which of these is used. */
	__perfctr_extension union {
		struct {
			unsigned int escr[18];
			unsigned int pebs_enable;
			unsigned int pebs_matrix_vert;
		} p4;
		/* AMD family 10h and later: bits 32 to 63 of the event select; elsewhere 0 */
		unsigned int evntsel_high[18];
		/* Intel: for the events 0x01B7 and 0x01BB */
		struct {
			unsigned int _padding[18];
			unsigned int offcore_rsp[2];
		} nhlm;
	};
	int ireset[18];			/* of i-mode counters: minus the period */
	unsigned int _reserved1;
	unsigned int _reserved2;
	unsigned int _reserved3;
	unsigned int _reserved4;
};

#endif /* _ASM_PERFCTR_H */
