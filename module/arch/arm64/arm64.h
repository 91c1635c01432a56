/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the arm64 low-level drivers. */
#ifndef VPERFCTR_ARM64_H
#define VPERFCTR_ARM64_H

#include "../common/claim.h"

/* arm-pmu.c: return the name that perf's driver of this CPU has for its counters, or "". */
const char *perfctr_arm64_perf_name(void);

/* arm-pmu.c: true if perf has a driver for this CPU's counters, and may use them. */
bool perfctr_arm64_has_perf(void);

/*
 * pmuserenr.c: true while any process has mapped a page, with isolation.  Then no counter may show
 * what it has counted for others.
 */
extern bool perfctr_arm64_hides;

/*
 * pmuserenr.c: left_open: PMUSERENR_EL0 of this CPU is to be closed when it is not KVM's any more.
 * From here on perfctr_arm64_hides is true, until close_left has returned true there.
 * close_reads: see struct perfctr_arch.
 *
 * Context: left_open: interrupts disabled.
 */
void perfctr_arm64_left_open(void);
bool perfctr_arm64_close_reads(void);

/*
 * pmuv3.c: close it, if that can be.
 *
 * Context: interrupts disabled; no state is resumed here.
 * Return: true if it is closed.
 */
bool perfctr_arm64_close_left(void);

/* pmuserenr.c: the module ends.  Context: may sleep. */
void perfctr_arm64_users_exit(void);

/*
 * pmuv3.c: perfctr_arm64_hides has become true.  Change the start values that pages show now.
 *
 * Context: may sleep; mmap_lock may be held.
 */
void perfctr_arm64_hide_counts(void);

/* arm-pmu.c: see has_kinds of struct perfctr_driver. */
bool perfctr_arm64_perf_has_kinds(unsigned int cpu);

#endif /* VPERFCTR_ARM64_H */
