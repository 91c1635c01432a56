/* SPDX-License-Identifier: GPL-2.0 */
/* CPUs of which perf keeps some counters: see shared.c. */
#ifndef VPERFCTR_ARM64_SHARED_H
#define VPERFCTR_ARM64_SHARED_H

#include <linux/types.h>

struct perf_event;
struct pmu;

/* True if perf keeps counters: by the administrator's wish, or that of the watchdog. */
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

/* arm-pmu.c: perf's PMU of a CPU, which was looked for; or NULL. */
struct pmu *perfctr_arm64_pmu(unsigned int cpu);

/*
 * watchdog.c: the NMI watchdog's counter, where perf keeps no other.
 *
 * find: look whether the watchdog runs on this CPU, as the module is loaded.  keeps: what find has
 *	found.
 * may_begin: true if perf's filter must let the watchdog's event begin, and no other waits that
 *	perf would give up.  Context: interrupts disabled.
 * cpu_known: this CPU has come online for the first time.  Context: that CPU.
 * is_trigger: true for an event that must not be added.
 * settle: before a reservation.  end: when perf's functions are restored.
 */
void perfctr_arm64_find_watchdog(void);
bool perfctr_arm64_keeps_watchdog(void);
bool perfctr_arm64_watchdog_may_begin(const struct pmu *pmu);
void perfctr_arm64_watchdog_cpu_known(unsigned int cpu);
bool perfctr_arm64_is_trigger(const struct perf_event *event);
void perfctr_arm64_watchdog_settle(void);
void perfctr_arm64_watchdog_end(void);

/* pmuv3.c: true if PMUSERENR_EL0 is KVM's, for the guest whose vCPU is loaded. */
bool perfctr_arm64_user_is_kvms(void);

/* pmuv3.c: perf is about to use a counter of this claimed CPU.  Context: interrupts disabled. */
void perfctr_arm64_perf_comes(void);

#endif /* VPERFCTR_ARM64_SHARED_H */
