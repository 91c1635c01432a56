/* SPDX-License-Identifier: GPL-2.0 */
/* The RISC-V drivers' part of struct perfctr_cpu_control. */
#ifndef VPERFCTR_RISCV_CPU_ARCH_H
#define VPERFCTR_RISCV_CPU_ARCH_H

/* The name of the CPU without counters. */
#define PERFCTR_GENERIC_NAME	"generic RISC-V, timer only"

/* Derived from a control.  Counters have the numbers that the firmware gives them. */
struct perfctr_cpu_regs {
	u64 all;		/* all counters used */
	u64 intr;		/* the i-mode counters */
};

#endif /* VPERFCTR_RISCV_CPU_ARCH_H */
