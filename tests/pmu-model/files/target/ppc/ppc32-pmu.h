/*
 * Performance monitor of 32-bit PowerPCs: 604, 604e, 7xx, 74xx
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef PPC32_PMU_H
#define PPC32_PMU_H

#if !defined(TARGET_PPC64) && !defined(CONFIG_USER_ONLY)
void cpu_ppc32_pmu_init(CPUPPCState *env);
void ppc32_pmu_update(CPUPPCState *env);
void ppc32_pmu_mode_changed(CPUPPCState *env);
void ppc32_pmu_delivered(CPUPPCState *env);
#else
static inline void cpu_ppc32_pmu_init(CPUPPCState *env) { }
static inline void ppc32_pmu_update(CPUPPCState *env) { }
static inline void ppc32_pmu_mode_changed(CPUPPCState *env) { }
static inline void ppc32_pmu_delivered(CPUPPCState *env) { }
#endif

#endif
