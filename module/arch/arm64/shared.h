/* SPDX-License-Identifier: GPL-2.0 */
/* CPUs of which perf keeps some counters: see shared.c. */
#ifndef VPERFCTR_ARM64_SHARED_H
#define VPERFCTR_ARM64_SHARED_H

#include <linux/types.h>

/* True if the administrator wants perf to keep counters. */
bool perfctr_arm64_shares(void);

/*
 * Return the counters of a CPU that perf keeps, as bits of PMCNTENSET_EL0; 0: none.
 * @nr: the number of its event counters
 * @has_cycles: the cycle counter counts what the event CPU_CYCLES does
 *
 * Context: the CPU concerned; perf's driver there was looked for.
 */
u64 perfctr_arm64_kept(unsigned int nr, bool has_cycles);

/*
 * For perf's driver on a shared CPU, with interrupts disabled.
 *
 * begin: the CPU is claimed; @kept: perf's counters.
 * start, stop: start and stop perf's counters.
 * enabled: the driver has enabled the counter of an event.
 * disabled: the driver has disabled these counters.
 * overflows: return perf's counters that have overflowed.
 */
void perfctr_arm64_shared_begin(u64 kept);
void perfctr_arm64_shared_start(void);
void perfctr_arm64_shared_stop(void);
void perfctr_arm64_shared_enabled(void);
void perfctr_arm64_shared_disabled(u64 counters);
u64 perfctr_arm64_shared_overflows(void);

/*
 * arm-pmu.c: perf's counters of this CPU, as bits of PMCNTENSET_EL0, and whether perf uses
 * none of them now.  Context: interrupts disabled.
 */
u64 perfctr_arm64_kept_here(void);
bool perfctr_arm64_kept_idle(void);

/* pmuv3.c: the same, before the CPU is used. */
u64 perfctr_arm64_kept_by_perf(void);

/* pmuv3.c: true if PMUSERENR_EL0 is KVM's, for the guest whose vCPU is loaded. */
bool perfctr_arm64_user_is_kvms(void);

/* pmuv3.c: perf is about to use a counter of this claimed CPU.  Context: interrupts disabled. */
void perfctr_arm64_perf_comes(void);

#endif /* VPERFCTR_ARM64_SHARED_H */
