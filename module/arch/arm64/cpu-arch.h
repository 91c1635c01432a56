/* SPDX-License-Identifier: GPL-2.0 */
/* The arm64 drivers' part of struct perfctr_cpu_control. */
#ifndef VPERFCTR_ARM64_CPU_ARCH_H
#define VPERFCTR_ARM64_CPU_ARCH_H

/* The name of the CPU without counters. */
#define PERFCTR_GENERIC_NAME	"generic arm64, timer only"

/* Register images derived from a control, with the bits of PMCNTENSET_EL0. */
struct perfctr_cpu_regs {
	u64 enable;		/* all counters used */
	u64 intr;		/* the i-mode counters */
};

#endif /* VPERFCTR_ARM64_CPU_ARCH_H */
