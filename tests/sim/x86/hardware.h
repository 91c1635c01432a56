/* SPDX-License-Identifier: GPL-2.0 */
/* The simulated x86 processors. */
#ifndef SIM_HARDWARE_H
#define SIM_HARDWARE_H

#include "sim.h"
#include "../../unit/driver/model.h"

#define SIM_X86
/* The callers of user mode are found by its frame pointers. */
#define SIM_HAS_FRAMES	(BITS_PER_LONG == 64)

/* Registers of user mode in a sample, their mode, and the places of two of them. */
#define SIM_USER_REGS	VPERFCTR_X86_REGS
#if BITS_PER_LONG == 32
#define SIM_USER_MODE	VPERFCTR_USER_32
#define SIM_DWARF_SP	4
#define SIM_DWARF_IP	8
#else
#define SIM_USER_MODE	VPERFCTR_USER_64
#define SIM_DWARF_SP	7
#define SIM_DWARF_IP	16
#endif

/* Configurations, in the table of scenarios.  Two kinds of CPUs have the first two. */
void sim_big_core(struct model_config *config);
void sim_small_core(struct model_config *config);
void sim_eight_counters(struct model_config *config);
void sim_unmasked(struct model_config *config);
void sim_level(struct model_config *config);
void sim_no_global(struct model_config *config);
void sim_ivy_bridge(struct model_config *config);
void sim_skylake(struct model_config *config);
void sim_version_6(struct model_config *config);
void sim_amd_k7(struct model_config *config);
void sim_amd_core(struct model_config *config);
void sim_amd_v2(struct model_config *config);
void sim_p6(struct model_config *config);
void sim_no_counters(struct model_config *config);

void sim_shut_down(void);

/*
 * perf.c: its driver and events, and what it does when an event of its PMU is mapped.  The NMI
 * watchdog has a fixed counter.
 */
#define SIM_WATCHDOG_FIXED	1
struct perf_event;
void sim_start_perf(void);
bool sim_perf_handles_nmi(void);
void sim_check_perf(unsigned int cpu);
void sim_pmu_mapped(struct perf_event *event, struct mm_struct *mm);
void sim_pmu_unmapped(struct perf_event *event, struct mm_struct *mm);

/* scenarios */
void sim_perf_competes(void);
void sim_perf_competes_on(void);
void sim_end_competition(void);
void sim_watchdog_begins(void);
void sim_virtual_machines(void);
void sim_begin_maps(void);
void sim_end_maps(void);
void sim_count_beside_maps(void);
void sim_perf_maps(void);

/* How many instructions this CPU has executed. */
u64 sim_executed_here(void);

/* An event of perf's in the current process. */
void sim_perf_map(void);
void sim_perf_unmap(void);
void sim_perf_counts(void);

/* Tell how many processes with mappings of perf's the module has found; 0: the last has ended. */
void sim_perf_was_mapped(unsigned int nr);

bool sim_believes_always(void);		/* the module infers rdpmc=2 */

/* rdpmc=2 or rdpmc=1. */
void sim_let_all_read(bool all);

/* A right that perf has forgotten: whether the module knows one, how often it has looked for it. */
bool sim_knows_forgotten(void);
unsigned int sim_looks_for_forgotten(void);

#endif /* SIM_HARDWARE_H */
