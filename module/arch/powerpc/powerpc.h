/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the PowerPC low-level drivers. */
#ifndef VPERFCTR_POWERPC_H
#define VPERFCTR_POWERPC_H

#include "../common/driver.h"
#include "../common/own-reads.h"

extern const struct perfctr_driver perfctr_powerpc_power8;
extern const struct perfctr_driver perfctr_powerpc_ppc32;

/*
 * perf-pmu.c: operations of the drivers, by the kernel's own driver of the counters.
 *
 * step_in: find that driver, and replace its function.  Return: -EBUSY if the kernel does not
 *	reveal whether there is one.
 * step_out: restore the function, and wait until no thread executes ours.
 * reserve: @overflow handles the performance monitor interrupt.  Context: the CPU concerned; an
 *	interrupt, or an NMI if interrupts were disabled.
 */
int perfctr_powerpc_perf_step_in(unsigned int cpu);
void perfctr_powerpc_perf_step_out(void);
int perfctr_powerpc_perf_reserve(void (*overflow)(struct pt_regs *regs));
void perfctr_powerpc_perf_release(void);

#define PERFCTR_POWERPC_PERF					\
	.begin		= perfctr_powerpc_perf_step_in,		\
	.end		= perfctr_powerpc_perf_step_out,	\
	.release	= perfctr_powerpc_perf_release

#endif /* VPERFCTR_POWERPC_H */
