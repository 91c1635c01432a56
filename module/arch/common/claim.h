/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the architectures whose counters belong to a driver of perf's, arm64 and RISC-V. */
#ifndef VPERFCTR_CLAIM_H
#define VPERFCTR_CLAIM_H

#include "driver.h"
#include "own-reads.h"
#include "perf-wait.h"

/*
 * claim.c: operations of the drivers.  begin: find out which features all online CPUs have, and
 * whether there are several kinds.
 */
int perfctr_claim_find(unsigned int cpu);
int perfctr_claim_begin(unsigned int cpu);
void perfctr_claim_ready(void);		/* of struct perfctr_arch */
void perfctr_claim_end(void);
bool perfctr_claim_accepts(unsigned int cpu);
int perfctr_claim_reserve(void);
void perfctr_claim_release(void);

#define PERFCTR_CLAIM						\
	.find		= perfctr_claim_find,			\
	.accepts	= perfctr_claim_accepts,		\
	.tells_refusals	= true,					\
	.reserve	= perfctr_claim_reserve,		\
	.release	= perfctr_claim_release,		\
	.claim		= perfctr_perf_claim,			\
	.unclaim	= perfctr_perf_release

/*
 * arm-pmu.c, riscv-pmu.c: the kernel's own driver of the counters.
 *
 * perfctr_perf_find() - find the driver of a CPU
 * @cpu: an online CPU
 * @intr: set to true if the driver has an interrupt for this CPU, else to false
 *
 * Context: May sleep.
 * Return: 0, or -EBUSY if the kernel does not reveal whether there is a driver, or -ENOMEM.
 */
int perfctr_perf_find(unsigned int cpu, bool *intr);

/*
 * True if perf has events on a CPU, which is not claimed.
 *
 * Context: Any CPU.  Unless the counters are reserved, the answer may change at any time.
 */
bool perfctr_perf_is_busy(unsigned int cpu);

/*
 * Claim this CPU's counters.
 *
 * Context: Interrupts disabled.
 * Return: false if perf has events on them.
 */
bool perfctr_perf_claim(void);

/*
 * Release a CPU's counters.
 *
 * Context: That CPU with interrupts disabled, or the CPU is offline.
 */
void perfctr_perf_release(unsigned int cpu);

/*
 * step_in: replace the functions of a CPU's driver and the interrupt's handler, unless
 * this has been done.  Returns false if they are not those of the other drivers.
 * step_out: restore them, for all drivers, when no CPU is claimed.
 *
 * Other CPUs may still run the functions from before.  After a grace period they
 * do not.
 */
bool perfctr_perf_step_in(unsigned int cpu);
void perfctr_perf_step_out(void);

/*
 * claim.c: true while perf must not begin to use counters, on all CPUs but the forbidden ones: from
 * before perfctr_reserved to when no CPU is claimed.
 */
extern bool perfctr_perf_waits;

/*
 * Where perf keeps counters: the others are about to be reserved, or no CPU is claimed any more.
 *
 * Context: may sleep; cpus_read_lock().
 */
void perfctr_perf_divide(bool reserve);

/* perf-counters.c: the number of counters that perf keeps while others are reserved; 0: none. */
extern unsigned int perfctr_perf_counters;

#endif /* VPERFCTR_CLAIM_H */
