/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All accesses of the PowerPC drivers to registers.
 *
 * Counters are numbered from 0: PMC1 is 0, PMC6 is 5.
 */
#ifndef VPERFCTR_POWERPC_REGS_H
#define VPERFCTR_POWERPC_REGS_H

#include <linux/time.h>
#include <asm/barrier.h>
#include <asm/pmc.h>
#include <asm/reg.h>
#include <asm/synch.h>
#include <asm/time.h>

#include "../../cpu.h"

#define PERFCTR_NR_PMCS		6

/* The instruction encodes the number of the register, so each has a case. */
static __always_inline u32 perfctr_read_pmc(unsigned int n)
{
	switch (n) {
	case 0: return mfspr(SPRN_PMC1);
	case 1: return mfspr(SPRN_PMC2);
	case 2: return mfspr(SPRN_PMC3);
	case 3: return mfspr(SPRN_PMC4);
	case 4: return mfspr(SPRN_PMC5);
	case 5: return mfspr(SPRN_PMC6);
	}
	return 0;
}

static __always_inline void perfctr_write_pmc(unsigned int n, u32 value)
{
	switch (n) {
	case 0:
		mtspr(SPRN_PMC1, value);
		break;
	case 1:
		mtspr(SPRN_PMC2, value);
		break;
	case 2:
		mtspr(SPRN_PMC3, value);
		break;
	case 3:
		mtspr(SPRN_PMC4, value);
		break;
	case 4:
		mtspr(SPRN_PMC5, value);
		break;
	case 5:
		mtspr(SPRN_PMC6, value);
		break;
	}
}

static __always_inline u64 perfctr_read_mmcr0(void)
{
	return mfspr(SPRN_MMCR0);
}

static __always_inline void perfctr_write_mmcr0(u64 value)
{
	mtspr(SPRN_MMCR0, value);
}

static __always_inline u64 perfctr_read_mmcr1(void)
{
	return mfspr(SPRN_MMCR1);
}

static __always_inline void perfctr_write_mmcr1(u64 value)
{
	mtspr(SPRN_MMCR1, value);
}

static __always_inline u64 perfctr_read_mmcr2(void)
{
	return mfspr(SPRN_MMCR2);
}

static __always_inline void perfctr_write_mmcr2(u64 value)
{
	mtspr(SPRN_MMCR2, value);
}

/*
 * Complete earlier instructions and the effects of earlier register writes before any later
 * instruction.
 */
static __always_inline void perfctr_sync(void)
{
	mb();	/* the write has been executed */
	isync();
}

/* True if there is a counter of time, which only x86 can lack. */
#define perfctr_has_tsc()	true

/* Read the time base, as user mode does. */
static __always_inline u64 perfctr_rdtsc(void)
{
	return get_tb();
}

static inline u32 perfctr_tsc_khz(void)
{
	return tb_ticks_per_sec / 1000;
}

/* Return the processor version, without its revision. */
static inline u32 perfctr_processor(void)
{
	return PVR_VER(mfspr(SPRN_PVR));
}

/* Return the processor's version and its revision. */
static inline u32 perfctr_revision(void)
{
	return mfspr(SPRN_PVR);
}

#ifdef CONFIG_PPC64

static __always_inline u64 perfctr_read_mmcra(void)
{
	return mfspr(SPRN_MMCRA);
}

static __always_inline void perfctr_write_mmcra(u64 value)
{
	mtspr(SPRN_MMCRA, value);
}

/* Clear the addresses of instruction and data that an overflow has left. */
static inline void perfctr_clear_addresses(void)
{
	mtspr(SPRN_SIAR, 0);
	mtspr(SPRN_SDAR, 0);
}

/* POWER10 and later. */
static __always_inline u64 perfctr_read_mmcr3(void)
{
	return mfspr(SPRN_MMCR3);
}

static __always_inline void perfctr_write_mmcr3(u64 value)
{
	mtspr(SPRN_MMCR3, value);
}

/* True if this kernel is the hypervisor, or runs without one. */
static inline bool perfctr_is_hypervisor(void)
{
	return mfmsr() & MSR_HV;
}

/*
 * Let this CPU's counters be used, or not: a hypervisor, or this kernel when it runs a guest,
 * keeps their values only if they are.
 */
static inline void perfctr_set_used(bool used)
{
	if (used)
		ppc_enable_pmcs();
	ppc_set_pmu_inuse(used);
}

#endif

#endif /* VPERFCTR_POWERPC_REGS_H */
