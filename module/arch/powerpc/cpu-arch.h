/* SPDX-License-Identifier: GPL-2.0 */
/* The POWER drivers' part of struct perfctr_cpu_control. */
#ifndef VPERFCTR_POWERPC_CPU_ARCH_H
#define VPERFCTR_POWERPC_CPU_ARCH_H

/* Register images derived from a control. */
struct perfctr_cpu_regs {
	u64 mmcr1;		/* the events of PMC1 to PMC4 */
	u64 mmcr2;		/* the modes that each counter leaves out */
};

#endif /* VPERFCTR_POWERPC_CPU_ARCH_H */
