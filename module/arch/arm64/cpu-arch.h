/* SPDX-License-Identifier: GPL-2.0 */
/* What arm64 drivers add to the low-level API's types. */
#ifndef VPERFCTR_ARM64_CPU_ARCH_H
#define VPERFCTR_ARM64_CPU_ARCH_H

/* Derived from a control: bits as in PMCNTENSET_EL0 and its relatives. */
struct perfctr_cpu_regs {
	u64 enable;		/* counters used */
	u64 intr;		/* of these, the i-mode ones */
};

#endif /* VPERFCTR_ARM64_CPU_ARCH_H */
