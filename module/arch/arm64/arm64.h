/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the arm64 low-level drivers. */
#ifndef VPERFCTR_ARM64_H
#define VPERFCTR_ARM64_H

#include "../common/claim.h"
#include "../common/hide.h"

/* arm-pmu.c: return the name that perf's driver of this CPU has for its counters, or "". */
const char *perfctr_arm64_perf_name(void);

/* arm-pmu.c: true if perf has a driver for this CPU's counters, and may use them. */
bool perfctr_arm64_has_perf(void);

/*
 * left-open.c: left_open: PMUSERENR_EL0 of this CPU is to be closed when it is not KVM's any more.
 * From here on perfctr_hides is true, until close_left has returned true there.
 * close_reads, reads_left: see struct perfctr_arch.
 * begin, end: the module begins, and ends, after perfctr_hide_end().
 *
 * Context: left_open: interrupts disabled, no NMI.  begin, end: may sleep.
 */
void perfctr_arm64_left_open(void);
bool perfctr_arm64_close_reads(void);
bool perfctr_arm64_reads_left(void);
void perfctr_arm64_left_open_begin(void);
void perfctr_arm64_left_open_end(void);

/*
 * pmuv3.c: close it, if that can be.
 *
 * Context: interrupts disabled; no state is resumed here.
 * Return: true if it is closed.
 */
bool perfctr_arm64_close_left(void);

/* arm-pmu.c: true if perf has different drivers for the CPUs that are present. */
bool perfctr_arm64_perf_has_kinds(unsigned int cpu);

/* arm-pmu.c: true if perf keeps the counter with this index. */
bool perfctr_arm64_is_kept(unsigned int cpu, int idx);

#endif /* VPERFCTR_ARM64_H */
