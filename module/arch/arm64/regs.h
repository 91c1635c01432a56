/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All accesses of the arm64 drivers to registers.  Unit tests in user space replace
 * this file by a model of the registers.
 *
 * Counters are numbered as in a control: event counter i is i, the cycle counter is
 * VPERFCTR_FIXED.  Masks have bit i for event counter i, and bit 31 for the cycle
 * counter.
 */
#ifndef VPERFCTR_ARM64_REGS_H
#define VPERFCTR_ARM64_REGS_H

#include <linux/arch_topology.h>
#include <linux/smp.h>
#include <asm/arch_timer.h>
#include <asm/barrier.h>
#include <asm/cputype.h>
#include <asm/sysreg.h>
#include <asm/virt.h>

#include "../../cpu.h"

enum event_counter_access { READ_COUNTER, WRITE_COUNTER, WRITE_TYPE };

#define ACCESS(n)						\
({								\
	if (access == READ_COUNTER)				\
		value = read_sysreg(pmevcntr##n##_el0);		\
	else if (access == WRITE_COUNTER)			\
		write_sysreg(value, pmevcntr##n##_el0);		\
	else							\
		write_sysreg(value, pmevtyper##n##_el0);	\
	value;							\
})

/* The instruction encodes the number of the event counter, so each has a case. */
static __always_inline u64 access_event_counter(u32 i, enum event_counter_access access, u64 value)
{
	switch (i) {
	case 0: return ACCESS(0);
	case 1: return ACCESS(1);
	case 2: return ACCESS(2);
	case 3: return ACCESS(3);
	case 4: return ACCESS(4);
	case 5: return ACCESS(5);
	case 6: return ACCESS(6);
	case 7: return ACCESS(7);
	case 8: return ACCESS(8);
	case 9: return ACCESS(9);
	case 10: return ACCESS(10);
	case 11: return ACCESS(11);
	case 12: return ACCESS(12);
	case 13: return ACCESS(13);
	case 14: return ACCESS(14);
	case 15: return ACCESS(15);
	case 16: return ACCESS(16);
	case 17: return ACCESS(17);
	case 18: return ACCESS(18);
	case 19: return ACCESS(19);
	case 20: return ACCESS(20);
	case 21: return ACCESS(21);
	case 22: return ACCESS(22);
	case 23: return ACCESS(23);
	case 24: return ACCESS(24);
	case 25: return ACCESS(25);
	case 26: return ACCESS(26);
	case 27: return ACCESS(27);
	case 28: return ACCESS(28);
	case 29: return ACCESS(29);
	case 30: return ACCESS(30);
	}
	return 0;
}

#undef ACCESS

static inline u64 perfctr_read_counter(u32 map)
{
	if (map == VPERFCTR_FIXED)
		return read_sysreg(pmccntr_el0);
	return access_event_counter(map, READ_COUNTER, 0);
}

static inline void perfctr_write_counter(u32 map, u64 value)
{
	if (map == VPERFCTR_FIXED)
		write_sysreg(value, pmccntr_el0);
	else
		access_event_counter(map, WRITE_COUNTER, value);
}

/* Write PMEVTYPERn_EL0 or, for the cycle counter, PMCCFILTR_EL0. */
static inline void perfctr_write_type(u32 map, u64 value)
{
	if (map == VPERFCTR_FIXED)
		write_sysreg(value, pmccfiltr_el0);
	else
		access_event_counter(map, WRITE_TYPE, value);
}

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

/* The counters that are enabled. */
static __always_inline u64 perfctr_read_enabled(void)
{
	return read_sysreg(pmcntenset_el0);
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

/* The counters that have overflowed. */
static __always_inline u64 perfctr_read_overflow(void)
{
	return read_sysreg(pmovsset_el0);
}

/* PMUSERENR_EL0: the accesses that user mode has. */
static __always_inline u64 perfctr_read_user(void)
{
	return read_sysreg(pmuserenr_el0);
}

static __always_inline void perfctr_write_user(u64 value)
{
	write_sysreg(value, pmuserenr_el0);
}

static __always_inline void perfctr_write_selr(u64 value)
{
	write_sysreg(value, pmselr_el0);
}

/* Complete the effects of earlier register writes before any later register read. */
static __always_inline void perfctr_sync(void)
{
	isb();
}

/*
 * Mask IRQs by PSTATE, and so pseudo-NMIs, which pass the usual mask of interrupts.
 * Return: what unmasks them if they were not masked before
 */
static __always_inline u64 perfctr_mask_nmis(void)
{
	const u64 flags = read_sysreg(daif);

	asm volatile("msr daifset, #2" ::: "memory");
	return flags;
}

static __always_inline void perfctr_unmask_nmis(u64 flags)
{
	asm volatile("msr daif, %0" :: "r" (flags) : "memory");
}

/* True if there is a counter of time, which only x86 can lack. */
#define perfctr_has_tsc()	true

/* Read the generic timer's virtual counter, as user mode does. */
static __always_inline u64 perfctr_rdtsc(void)
{
	return arch_timer_read_counter();
}

static inline u32 perfctr_tsc_khz(void)
{
	return arch_timer_get_cntfrq() / 1000;
}

/* Read ID_AA64DFR0_EL1.PMUVer. */
static inline unsigned int perfctr_pmuver(void)
{
	return (read_cpuid(ID_AA64DFR0_EL1) >> 8) & 0xf;
}

/* Bit i of @common: event i exists.  Bit i of @extended: event 0x4000 + i exists. */
static inline void perfctr_read_ceid(u64 *common, u64 *extended)
{
	u64 id0 = read_sysreg(pmceid0_el0), id1 = read_sysreg(pmceid1_el0);

	*common = (u32)id0 | (u64)(u32)id1 << 32;
	*extended = id0 >> 32 | (id1 & ~0xffffffffULL);
}

/* The CPU model, without its revision. */
static inline u32 perfctr_midr(void)
{
	return read_cpuid_id() & MIDR_CPU_MODEL_MASK;
}

/* True if ID_AA64PFR0_EL1 reports SVE, whether or not the kernel lets user mode use it. */
static inline bool perfctr_has_sve(void)
{
	return (read_cpuid(ID_AA64PFR0_EL1) >> 32) & 0xf;
}

/* True if this CPU is one of several threads of a core, whether or not the others are online. */
static inline bool perfctr_has_smt(void)
{
	return cpu_topology[smp_processor_id()].thread_id != -1;
}

/* True if the kernel runs in EL2, and EL1 is for guests. */
static inline bool perfctr_is_vhe(void)
{
	return is_kernel_in_hyp_mode();
}

#endif /* VPERFCTR_ARM64_REGS_H */
