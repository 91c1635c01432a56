/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the architectures whose counters belong to a driver of perf's, arm64 and RISC-V. */
#ifndef VPERFCTR_CLAIM_H
#define VPERFCTR_CLAIM_H

#include "common.h"
#include "own-reads.h"

/* The operations of a driver.  claim.c handles static calls and CPU hotplug. */
struct perfctr_claim_driver {
	/*
	 * Detect the processor and fill in perfctr_cpu_info.
	 * Context: the CPU concerned, interrupts disabled; perf's driver there was looked for.
	 * Return: 0 or -ENODEV.
	 */
	int (*probe)(void);

	/*
	 * Find out which events exist; NULL: probe does.
	 * Context: may sleep; @cpu is the one that was probed.
	 */
	void (*probe_events)(unsigned int cpu);

	int (*check_control)(struct perfctr_cpu_control *control);
	struct perfctr_cpu_ops ops;

	/* True if there are no counters: the operations below are not called. */
	bool no_counters;

	/* True if this CPU has what probe found on its CPU.  Context: as probe. */
	bool (*is_alike)(void);

	/*
	 * For several kinds of CPUs: see perfctr_init_kinds().  NULL: there is one kind.
	 * has_kinds: true if perf has different drivers for the CPUs that are present.
	 */
	perfctr_probe_kind *probe_kind;
	perfctr_new_kind *new_kind;
	bool (*has_kinds)(unsigned int cpu);

	/*
	 * Context: The CPU concerned, interrupts disabled.
	 * cpu_start: save what perf needs back, stop and clear all counters.
	 * cpu_stop: clear all counters, restore what was saved.
	 * cpu_released: set up the unit for perf after the release; or NULL.
	 * cpu_forget: the registers were lost, clear them again.
	 *
	 * Context: Another CPU.
	 * cpu_lose: as stop, for an offline CPU, whose registers cannot be written.
	 */
	void (*cpu_start)(void);
	void (*cpu_stop)(void);
	void (*cpu_released)(void);
	void (*cpu_forget)(void);
	void (*cpu_lose)(unsigned int cpu);

	/* The module ends: undo what mappings have started; or NULL.  Context: may sleep. */
	void (*end)(void);

	/*
	 * Handle the counters' interrupt.
	 * Context: The CPU concerned, interrupt or NMI.
	 * Return: true if a state with i-mode counters runs here.
	 */
	bool (*overflow)(struct pt_regs *regs);

	/*
	 * cpu_reader: return the mm of the thread that runs on a CPU with the permission to
	 *	read counters, or NULL.  For any CPU.
	 * cpu_close_user: the threads of this mm have lost the permission.  Withdraw it
	 *	from the one that runs on this CPU.
	 * user_reads: true if user mode can read counters on this CPU now; NULL: it cannot,
	 *	unless cpu_reader says so.
	 */
	const struct mm_struct *(*cpu_reader)(unsigned int cpu);
	void (*cpu_close_user)(const struct mm_struct *mm);
	bool (*user_reads)(void);
};

/* timer-only.c, and the architecture's driver of counters. */
extern const struct perfctr_claim_driver perfctr_timer_only;
extern const struct perfctr_claim_driver perfctr_claim_pmu;

/*
 * arm-pmu.c, riscv-pmu.c: the kernel's own driver of the counters.
 *
 * perfctr_perf_find() - find the driver of a CPU
 * @cpu: an online CPU
 * @intr: set to true if the driver has an interrupt for this CPU, else to false
 *
 * Context: May sleep.
 * Return: 0, or -EBUSY if the kernel does not reveal whether there is a driver.
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
bool perfctr_perf_step_in(unsigned int cpu, bool (*overflow)(struct pt_regs *regs));
void perfctr_perf_step_out(void);

/* claim.c: true while perf must not begin to use counters. */
extern bool perfctr_reserved;

/*
 * Claim this CPU's counters, and clear them, unless that has been done.
 *
 * Context: Interrupts disabled.
 * Return: 0; -EIO if this CPU is forbidden; -EBUSY if perf has events on them; -ENODEV
 * if they are not reserved.
 */
int perfctr_prepare_here(void);

#endif /* VPERFCTR_CLAIM_H */
