/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the PowerPC low-level drivers. */
#ifndef VPERFCTR_POWERPC_H
#define VPERFCTR_POWERPC_H

#include "../common/common.h"
#include "../common/own-reads.h"

/* The operations of a driver.  reserve.c handles static calls and CPU hotplug. */
struct perfctr_powerpc_driver {
	/*
	 * Detect the processor and fill in perfctr_cpu_info.
	 * Context: any CPU.
	 * Return: 0 or -ENODEV.
	 */
	int (*probe)(void);

	int (*check_control)(struct perfctr_cpu_control *control);
	struct perfctr_cpu_ops ops;

	/* True if there are no counters: the operations below are not called. */
	bool no_counters;

	/* True if this CPU has what probe found on its CPU. */
	bool (*is_alike)(void);

	/*
	 * Context: The CPU concerned, interrupts disabled.
	 * cpu_start: save what perf needs back, stop and clear all counters.
	 * cpu_stop: clear all counters, restore what was saved.
	 * cpu_forget: the registers were lost, clear them again.
	 *
	 * Context: Another CPU.
	 * cpu_lose: as stop, for an offline CPU, whose registers cannot be written.
	 */
	void (*cpu_start)(void);
	void (*cpu_stop)(void);
	void (*cpu_forget)(void);
	void (*cpu_lose)(unsigned int cpu);

	/*
	 * Handle the performance monitor interrupt.
	 * Context: The CPU concerned; an interrupt, or an NMI if interrupts were disabled.
	 */
	void (*overflow)(struct pt_regs *regs);

	/*
	 * cpu_reader: return the mm of the thread that runs on a CPU with the permission to
	 *	read counters, or NULL.  For any CPU.
	 * cpu_close_user: the threads of this mm have lost the permission.  Withdraw it
	 *	from the one that runs on this CPU.
	 * NULL: all threads always have it, or none ever.
	 */
	const struct mm_struct *(*cpu_reader)(unsigned int cpu);
	void (*cpu_close_user)(const struct mm_struct *mm);
};

extern const struct perfctr_powerpc_driver perfctr_powerpc_generic;
extern const struct perfctr_powerpc_driver perfctr_powerpc_power8;
extern const struct perfctr_powerpc_driver perfctr_powerpc_ppc32;

/*
 * perf-pmu.c: the kernel's own driver of the counters.
 *
 * perfctr_powerpc_perf_step_in() - find the driver, and replace its function
 *
 * Context: May sleep.
 * Return: 0, or -EBUSY if the kernel does not reveal whether there is a driver.
 */
int perfctr_powerpc_perf_step_in(void);

/* Restore the function, and wait until no thread executes ours.  Context: may sleep. */
void perfctr_powerpc_perf_step_out(void);

/*
 * Reserve the counters and their interrupt, on all CPUs.
 *
 * Context: May sleep.
 * Return: 0, or -EBUSY if perf has hardware events.
 */
int perfctr_powerpc_perf_reserve(void (*overflow)(struct pt_regs *regs));
void perfctr_powerpc_perf_release(void);

/* reserve.c: true while the hardware is reserved. */
extern bool perfctr_powerpc_reserved;

/*
 * Claim this CPU's counters, and clear them, unless that has been done.
 *
 * Context: Interrupts disabled.
 * Return: 0; -EIO if this CPU is forbidden; -ENODEV if the counters are not reserved.
 */
int perfctr_powerpc_prepare_here(void);

#endif /* VPERFCTR_POWERPC_H */
