/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the RISC-V low-level drivers. */
#ifndef VPERFCTR_RISCV_H
#define VPERFCTR_RISCV_H

#include "../common/claim.h"

/*
 * riscv-pmu.c: true if perf has a driver of this CPU's counters; true if it uses this counter
 * of this CPU, or any of those that it keeps.  Context: interrupts disabled.
 */
bool perfctr_riscv_has_perf(void);
bool perfctr_riscv_perf_uses(unsigned int counter);
bool perfctr_riscv_perf_uses_kept(void);

/*
 * sbi-pmu.c: the counters that are not perf's while threads count, by the firmware's numbers:
 * all, unless perf keeps some.
 */
u64 perfctr_riscv_ours(void);

/*
 * sbi-pmu.c: true if an event of perf's, on a counter that it keeps, has overflowed on this
 * CPU.  Context: interrupts disabled.
 */
bool perfctr_riscv_perf_overflowed(void);

/*
 * sbi-pmu.c: let the counts of all states that are resumed now, up to now, be visible no more.
 *
 * Context: may sleep.
 */
void perfctr_riscv_hide_counts(void);

/* scounteren.c: true if resume must hide what the counters held.  Context: as for resume. */
bool perfctr_riscv_must_hide(void);

#endif /* VPERFCTR_RISCV_H */
