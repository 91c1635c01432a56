/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every access of the arm64 drivers to a register goes through here, so that a
 * build in user space can put a model of the registers in its place.
 *
 * A counter is named as in a control: event counter i is i, the cycle counter is
 * VPERFCTR_FIXED.  Masks have bit i for event counter i, and bit 31 for the cycle
 * counter.
 */
#ifndef VPERFCTR_ARM64_REGS_H
#define VPERFCTR_ARM64_REGS_H

#include <asm/arch_timer.h>
#include <asm/barrier.h>
#include <asm/cputype.h>
#include <asm/sysreg.h>
#include <asm/virt.h>

#include "../../cpu.h"

/* The number of an event counter is part of the instruction that accesses it. */
/* So this does what ACCESS() then is. */
#define ACCESS_EVENT_COUNTER(i)					\
do {								\
	switch (i) {						\
	case 0:							\
		ACCESS(0);					\
		break;						\
	case 1:							\
		ACCESS(1);					\
		break;						\
	case 2:							\
		ACCESS(2);					\
		break;						\
	case 3:							\
		ACCESS(3);					\
		break;						\
	case 4:							\
		ACCESS(4);					\
		break;						\
	case 5:							\
		ACCESS(5);					\
		break;						\
	case 6:							\
		ACCESS(6);					\
		break;						\
	case 7:							\
		ACCESS(7);					\
		break;						\
	case 8:							\
		ACCESS(8);					\
		break;						\
	case 9:							\
		ACCESS(9);					\
		break;						\
	case 10:						\
		ACCESS(10);					\
		break;						\
	case 11:						\
		ACCESS(11);					\
		break;						\
	case 12:						\
		ACCESS(12);					\
		break;						\
	case 13:						\
		ACCESS(13);					\
		break;						\
	case 14:						\
		ACCESS(14);					\
		break;						\
	case 15:						\
		ACCESS(15);					\
		break;						\
	case 16:						\
		ACCESS(16);					\
		break;						\
	case 17:						\
		ACCESS(17);					\
		break;						\
	case 18:						\
		ACCESS(18);					\
		break;						\
	case 19:						\
		ACCESS(19);					\
		break;						\
	case 20:						\
		ACCESS(20);					\
		break;						\
	case 21:						\
		ACCESS(21);					\
		break;						\
	case 22:						\
		ACCESS(22);					\
		break;						\
	case 23:						\
		ACCESS(23);					\
		break;						\
	case 24:						\
		ACCESS(24);					\
		break;						\
	case 25:						\
		ACCESS(25);					\
		break;						\
	case 26:						\
		ACCESS(26);					\
		break;						\
	case 27:						\
		ACCESS(27);					\
		break;						\
	case 28:						\
		ACCESS(28);					\
		break;						\
	case 29:						\
		ACCESS(29);					\
		break;						\
	case 30:						\
		ACCESS(30);					\
		break;						\
	}							\
} while (0)

static inline u64 perfctr_read_counter(u32 map)
{
	u64 value = 0;

	if (map == VPERFCTR_FIXED)
		return read_sysreg(pmccntr_el0);
#define ACCESS(n) (value = read_sysreg(pmevcntr##n##_el0))
	ACCESS_EVENT_COUNTER(map);
#undef ACCESS
	return value;
}

static inline void perfctr_write_counter(u32 map, u64 value)
{
	if (map == VPERFCTR_FIXED)
		write_sysreg(value, pmccntr_el0);
	else
#define ACCESS(n) write_sysreg(value, pmevcntr##n##_el0)
		ACCESS_EVENT_COUNTER(map);
#undef ACCESS
}

/* PMEVTYPERn_EL0 and, of the cycle counter, PMCCFILTR_EL0. */
static inline void perfctr_write_type(u32 map, u64 value)
{
	if (map == VPERFCTR_FIXED)
		write_sysreg(value, pmccfiltr_el0);
	else
#define ACCESS(n) write_sysreg(value, pmevtyper##n##_el0)
		ACCESS_EVENT_COUNTER(map);
#undef ACCESS
}

#undef ACCESS_EVENT_COUNTER

static __always_inline u64 perfctr_read_pmcr(void)
{
	return read_sysreg(pmcr_el0);
}

static __always_inline void perfctr_write_pmcr(u64 value)
{
	write_sysreg(value, pmcr_el0);
}

static __always_inline void perfctr_enable(u64 mask)
{
	write_sysreg(mask, pmcntenset_el0);
}

static __always_inline void perfctr_disable(u64 mask)
{
	write_sysreg(mask, pmcntenclr_el0);
}

static __always_inline void perfctr_enable_intr(u64 mask)
{
	write_sysreg(mask, pmintenset_el1);
}

static __always_inline void perfctr_disable_intr(u64 mask)
{
	write_sysreg(mask, pmintenclr_el1);
}

static __always_inline void perfctr_clear_overflow(u64 mask)
{
	write_sysreg(mask, pmovsclr_el0);
}

/*
 * Of user mode: what it may access.  PMSELR_EL0 becomes writable with that, and is not
 * to tell one thread what another left in it; 31 is valid everywhere.
 */
static __always_inline void perfctr_write_user(u64 value)
{
	write_sysreg(value, pmuserenr_el0);
	write_sysreg(31, pmselr_el0);
}

/*
 * What was written to one register has its effect on others, and what is read of
 * them later is read later.
 */
static __always_inline void perfctr_sync(void)
{
	isb();
}

/* The generic timer's, as user mode reads it. */
static __always_inline u64 perfctr_rdtsc(void)
{
	return arch_timer_read_counter();
}

static inline u32 perfctr_tsc_khz(void)
{
	return arch_timer_get_cntfrq() / 1000;
}

/* ID_AA64DFR0_EL1.PMUVer */
static inline unsigned int perfctr_pmuver(void)
{
	return (read_cpuid(ID_AA64DFR0_EL1) >> 8) & 0xf;
}

/* Bit i of the first: event i is there; of the second: event 0x4000 + i. */
static inline void perfctr_read_ceid(u64 *common, u64 *extended)
{
	u64 id0 = read_sysreg(pmceid0_el0), id1 = read_sysreg(pmceid1_el0);

	*common = (u32)id0 | (u64)(u32)id1 << 32;
	*extended = id0 >> 32 | (id1 & ~0xffffffffULL);
}

/* Which processor it is, but for its revision. */
static inline u32 perfctr_midr(void)
{
	return read_cpuid_id() & MIDR_CPU_MODEL_MASK;
}

/* The kernel runs in EL2, and EL1 is for guests. */
static inline bool perfctr_is_vhe(void)
{
	return is_kernel_in_hyp_mode();
}

#endif /* VPERFCTR_ARM64_REGS_H */
