/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the RISC-V low-level drivers. */
#ifndef VPERFCTR_RISCV_H
#define VPERFCTR_RISCV_H

#include "../common/claim.h"
#include "../common/hide.h"

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

#endif /* VPERFCTR_RISCV_H */
