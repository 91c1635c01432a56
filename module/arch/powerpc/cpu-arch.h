/* SPDX-License-Identifier: GPL-2.0 */
/* The PowerPC drivers' part of struct perfctr_cpu_control. */
#ifndef VPERFCTR_POWERPC_CPU_ARCH_H
#define VPERFCTR_POWERPC_CPU_ARCH_H

/* The name of the CPU without counters. */
#define PERFCTR_GENERIC_NAME	(IS_ENABLED(CONFIG_PPC64) ? "generic POWER, time base only" : \
				 "generic PowerPC, time base only")

/* Resume changes `start` of i-mode counters: see counters.h. */
#define PERFCTR_LOADS_OTHER_START	1

/* Register images derived from a control. */
struct perfctr_cpu_regs {
	u64 mmcr1;		/* the events of PMC1 to PMC4; of 32 bits: of PMC3 to PMC6 */
	u64 mmcr2;		/* the modes that each counter leaves out; of 32 bits: global[1] */
	u64 mmcr3;		/* of 64 bits; POWER10: sources of data */
	u32 mmcr0;		/* of 32 bits: the events of PMC1 and PMC2, and global[0] */
};

#endif /* VPERFCTR_POWERPC_CPU_ARCH_H */
