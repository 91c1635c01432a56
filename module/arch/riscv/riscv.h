/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the RISC-V low-level drivers. */
#ifndef VPERFCTR_RISCV_H
#define VPERFCTR_RISCV_H

#include "../common/claim.h"

/* riscv-pmu.c: true if perf uses this counter of this CPU.  Context: interrupts disabled. */
bool perfctr_riscv_perf_uses(unsigned int counter);

/*
 * sbi-pmu.c: let the counts of all states that are resumed now, up to now, be visible no more.
 *
 * Context: may sleep.
 */
void perfctr_riscv_hide_counts(void);

/* scounteren.c: true if resume must hide what the counters held.  Context: as for resume. */
bool perfctr_riscv_must_hide(void);

#endif /* VPERFCTR_RISCV_H */
