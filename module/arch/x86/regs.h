/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every access of the x86 drivers to a register goes through here, so that a
 * build in user space can put a model of the registers in its place.
 */
#ifndef VPERFCTR_X86_REGS_H
#define VPERFCTR_X86_REGS_H

#include <linux/errno.h>
#include <asm/apic.h>
#include <asm/asm.h>
#include <asm/processor.h>
#include <asm/special_insns.h>
#include <asm/tsc.h>

#include "../../compat/cpufeature.h"
#include "../../compat/cpuid.h"
#include "../../compat/msr.h"
#include "../../compat/perfmon.h"

/*
 * RDPMC rather than RDMSR: a third of the cost, and the same number that
 * user space gets.  The kernel's own wrapper has a tracepoint in it.
 */
static __always_inline u64 perfctr_rdpmc(u32 index)
{
	unsigned long low, high;	/* no halves to be cleared for the compiler */

	asm volatile("rdpmc" : "=a" (low), "=d" (high) : "c" (index));
	return low | (u64)high << 32;
}

/* -EIO: it faults. */
static inline int perfctr_rdpmc_safe(u32 index, u64 *value)
{
	unsigned long low = 0, high = 0;
	int err = -EIO;

	asm volatile("1:	rdpmc\n"
		     "	xorl	%[err], %[err]\n"
		     "2:\n"
		     _ASM_EXTABLE(1b, 2b)
		     : "+a" (low), "+d" (high), [err] "+r" (err) : "c" (index));
	*value = low | (u64)high << 32;
	return err;
}

/* Some thousand cycles, and a few hundred instructions. */
static inline void perfctr_pass_time(void)
{
	unsigned int i;

	for (i = 0; i < 100; i++)
		cpu_relax();
}

static __always_inline u64 perfctr_rdtsc(void)
{
	return rdtsc();
}

/*
 * Writes a register that the probe found to be there.  Should it fault all
 * the same, the kernel's exception table makes that one warning in the log.
 */
static __always_inline void perfctr_wrmsr(u32 msr, u64 value)
{
	native_wrmsrq(msr, value);
}

static inline int perfctr_rdmsr_safe(u32 msr, u64 *value)
{
	return rdmsrq_safe(msr, value);
}

static inline int perfctr_wrmsr_safe(u32 msr, u64 value)
{
	return wrmsrq_safe(msr, value);
}

/* CR4.PCE: may user mode RDPMC on this CPU, as it is now? */
static __always_inline bool perfctr_user_rdpmc(void)
{
	return native_read_cr4() & X86_CR4_PCE;
}

/*
 * The local APIC's entry for the counters' interrupt, on this CPU.  Through the
 * driver's table of functions: apic_write() is inline, and takes static calls
 * that are not exported.
 */
static inline bool perfctr_has_lvtpc(void)
{
	return boot_cpu_has(X86_FEATURE_APIC);
}

static inline u32 perfctr_read_lvtpc(void)
{
	return apic->read(APIC_LVTPC);
}

static inline void perfctr_write_lvtpc(u32 value)
{
	apic->write(APIC_LVTPC, value);
}

static inline void perfctr_cpuid_count(u32 leaf, u32 subleaf, u32 *eax, u32 *ebx, u32 *ecx,
				       u32 *edx)
{
	cpuid_count(leaf, subleaf, eax, ebx, ecx, edx);
}

static inline void perfctr_cpuid(u32 leaf, u32 *eax, u32 *ebx, u32 *ecx, u32 *edx)
{
	perfctr_cpuid_count(leaf, 0, eax, ebx, ecx, edx);
}

/* Two kinds of CPUs, with different counters. */
static inline bool perfctr_is_hybrid(void)
{
	return boot_cpu_has(X86_FEATURE_HYBRID_CPU);
}

/* Xen PV traps and emulates what we would write. */
static inline bool perfctr_is_pv_guest(void)
{
	return boot_cpu_has(X86_FEATURE_XENPV);
}

#endif /* VPERFCTR_X86_REGS_H */
