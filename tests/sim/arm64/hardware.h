/* SPDX-License-Identifier: GPL-2.0 */
/* The simulated arm64 processors. */
#ifndef SIM_HARDWARE_H
#define SIM_HARDWARE_H

#include "sim.h"
#include "../../unit/arm64/model.h"

#define SIM_ARM64
#define SIM_HAS_FRAMES	0

/* Registers of user mode in a sample, their mode, and the places of two of them. */
#define SIM_USER_REGS	VPERFCTR_ARM64_REGS
#define SIM_USER_MODE	VPERFCTR_USER_64
#define SIM_DWARF_SP	31
#define SIM_DWARF_IP	32

struct model_config {
	unsigned int version;		/* PMUVer */
	unsigned int nr;		/* event counters */
	bool vhe;
	bool one_driver;		/* perf has one driver for both kinds of CPUs */
	bool irq;			/* the interrupt is none of the GIC's pseudo-NMIs */
};

/* Configurations, in the table of scenarios.  Two kinds of CPUs have the first two. */
void sim_big_core(struct model_config *config);
void sim_small_core(struct model_config *config);
void sim_eight_counters(struct model_config *config);
void sim_wide(struct model_config *config);
void sim_irq(struct model_config *config);
void sim_no_counters(struct model_config *config);
void sim_one_driver(struct model_config *config);
void sim_shares(struct model_config *config);
void sim_no_interrupt(struct model_config *config);

/* Instructions that this CPU has executed. */
u64 sim_executed_here(void);

/* perf.c */
void sim_perf_competes(void);		/* scenarios */
void sim_perf_waits(void);
void sim_perf_elsewhere(void);
void sim_forbid_last(void);

/* perf and its driver of the counters. */
extern int sim_perf_irq;		/* of its driver's; 0: none */
void sim_start_perf(u32 others);
void sim_check_perf(void);
void sim_perf_resets(void *unused);
void sim_perf_sleeps(void);
void sim_perf_wakes(void);
bool sim_perf_interrupt(void);

#endif /* SIM_HARDWARE_H */
