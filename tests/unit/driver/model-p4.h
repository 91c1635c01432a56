/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Pentium 4 in the model, written from the SDM, volume 3, "Performance Monitoring
 * (Processors Based on Intel NetBurst Microarchitecture)", and the specification updates.
 */
#ifndef MODEL_P4_H
#define MODEL_P4_H

#include "model.h"

/* CCCRs */
#define CCCR_EXT	BIT_ULL(11)
#define CCCR_EN		BIT_ULL(12)
#define CCCR_SEL(n)	((u64)(n) << 13)
#define CCCR_ALL_THREADS BIT_ULL(16) | BIT_ULL(17)
#define CCCR_FORCE	BIT_ULL(25)
#define CCCR_PMI_T0	BIT_ULL(26)
#define CCCR_PMI_T1	BIT_ULL(27)
#define CCCR_CASCADE	BIT_ULL(30)
#define CCCR_OVF	BIT_ULL(31)

/* ESCRs */
#define ESCR_T0_USR	BIT_ULL(2)
#define ESCR_T0_OS	BIT_ULL(3)
#define ESCR_EVENT(event, mask)	((u64)(event) << 25 | (u64)(mask) << 9)

#define P4_FAST_READ	BIT_ULL(31)

/* The event of instructions: on counters 12 to 17 by select 4. */
#define P4_INSTRUCTIONS	ESCR_EVENT(2, 1)
#define P4_INSN_CCCR	(CCCR_EN | (CCCR_ALL_THREADS) | CCCR_SEL(4))
/* Cycles: on counters 0 to 3 by select 6. */
#define P4_CYCLES	ESCR_EVENT(0x13, 1)
#define P4_CYC_CCCR	(CCCR_EN | (CCCR_ALL_THREADS) | CCCR_SEL(6))

/* The MSR of the ESCR that a counter can select, or 0. */
u32 p4_escr_msr(unsigned int counter, unsigned int select);

/* Hooks of model.c. */
u64 *p4_find_msr(struct model_cpu *cpu, u32 msr, enum model_reg *reg);
u64 p4_valid_bits(enum model_reg reg, u32 msr);
bool p4_is_redundant(const struct model_cpu *cpu, u32 msr, enum model_reg reg);
void p4_wrote(struct model_cpu *cpu, u32 msr, enum model_reg reg);
u64 p4_counting(const struct model_cpu *cpu);
u64 p4_interrupting(const struct model_cpu *cpu);
u64 p4_counts(u64 cccr, u64 escr, const struct work *work);
void p4_run(struct model_cpu *cpu, const struct work *work);
bool p4_requests_interrupt(const struct model_cpu *cpu);
void p4_cpuid(u32 leaf, u32 *eax, u32 *ebx, u32 *ecx, u32 *edx);

#endif /* MODEL_P4_H */
