/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * perfctr 2.6's source interface: types and constants.
 *
 * For programs written for perfctr, which include <libperfctr.h>.  The kernel's interface
 * is another one, <linux/vperfctr.h>.  Both have a struct vperfctr_control, so a program
 * includes only one of them.
 */
#ifndef _LINUX_PERFCTR_H
#define _LINUX_PERFCTR_H

#ifdef _UAPI_LINUX_VPERFCTR_H
#error "<linux/perfctr.h> and <linux/vperfctr.h> are two interfaces: include one of them"
#endif

#include <asm/perfctr.h>

/* 5.2, and the processor's part in the lower half.  Equal major numbers are compatible. */
#define PERFCTR_API_VERSION	0x0502
#define PERFCTR_ABI_VERSION	((PERFCTR_API_VERSION << 16) | PERFCTR_CPU_VERSION)

struct perfctr_info {
	unsigned int abi_version;
	char driver_version[32];
	unsigned int cpu_type;		/* PERFCTR_X86_* */
	unsigned int cpu_features;	/* PERFCTR_FEATURE_* */
	unsigned int cpu_khz;		/* of the TSC, times tsc_to_cpu_mult; 0: not known */
	unsigned int tsc_to_cpu_mult;
	unsigned int _nrctrs;		/* for perfctr_info_nrctrs() */
	unsigned int _reserved3;
	unsigned int _reserved4;
};

#define PERFCTR_FEATURE_RDPMC	0x01	/* user-mode reads of counters */
#define PERFCTR_FEATURE_RDTSC	0x02	/* and of the TSC */
#define PERFCTR_FEATURE_PCINT	0x04	/* i-mode counters */

/* CPU n is bit n % 32 of word n / 32. */
struct perfctr_cpu_mask {
	unsigned int nrwords;
	unsigned int mask[1];		/* of nrwords */
};

struct vperfctr_control {
	int si_signo;			/* sent at overflows of i-mode counters */
	struct perfctr_cpu_control cpu_control;
	unsigned int preserve;		/* bit i: do not zero the sum of counter i */
	unsigned int flags;		/* VPERFCTR_CONTROL_* */
	unsigned int _reserved1;
	unsigned int _reserved2;
	unsigned int _reserved3;
	unsigned int _reserved4;
};

#define VPERFCTR_CONTROL_CLOEXEC	0x01	/* exec ends the state */

struct gperfctr_cpu_control {
	unsigned int cpu;
	struct perfctr_cpu_control cpu_control;
	unsigned int _reserved1;
	unsigned int _reserved2;
	unsigned int _reserved3;
	unsigned int _reserved4;
};

struct gperfctr_cpu_state {
	unsigned int cpu;
	struct perfctr_cpu_control cpu_control;
	struct perfctr_sum_ctrs sum;
	unsigned int _reserved1;
	unsigned int _reserved2;
	unsigned int _reserved3;
	unsigned int _reserved4;
};

/* For the handler of si_signo: si_code, and bit i for each counter i that overflowed. */
#ifndef SI_PMC_OVF
#define SI_PMC_OVF		'P'
#define si_pmc_ovf_mask		si_pid	/* the first word after si_signo, si_errno, si_code */
#endif

#endif /* _LINUX_PERFCTR_H */
