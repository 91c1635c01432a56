/* SPDX-License-Identifier: GPL-2.0 */
/* The x86 part of the low-level API's types. */
#ifndef VPERFCTR_X86_CPU_ARCH_H
#define VPERFCTR_X86_CPU_ARCH_H

/* The name of the CPU without counters. */
#define PERFCTR_GENERIC_NAME \
	(perfctr_has_tsc() ? "generic x86, TSC only" : "generic x86, without a TSC")

#define PERFCTR_X86_NR_EXTRA	3	/* see perfctr_x86_extra_msrs */

/* Images of the registers that counters share, derived from a control. */
struct perfctr_cpu_regs {
	u64 enable;		/* global_ctrl and what is kept; simple.h: the image */
	u32 extra_used;		/* mask of the extra registers that are used */
	u64 global_ctrl;	/* enable bits of the counters used */
	u64 fixed_ctrl;		/* IA32_FIXED_CTR_CTRL */
	u64 fixed_used;		/* mask of the fields of fixed_ctrl that are used */
	u64 extra[PERFCTR_X86_NR_EXTRA];
};

#endif /* VPERFCTR_X86_CPU_ARCH_H */
