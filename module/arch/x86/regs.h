/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every register access of the x86 drivers.  The unit tests replace this header by a
 * model of the registers.
 */
#ifndef VPERFCTR_X86_REGS_H
#define VPERFCTR_X86_REGS_H

#include <linux/errno.h>
#include <asm/apic.h>
#include <asm/asm.h>
#include <asm/hypervisor.h>
#include <asm/processor.h>
#include <asm/special_insns.h>
#include <asm/tsc.h>

#include "../../compat/cpufeature.h"
#include "../../compat/cpuid.h"
#include "../../compat/extable.h"
#include "../../compat/msr.h"
#include "../../compat/perfmon.h"

/*
 * Read a counter.  RDPMC costs a third of RDMSR, and its result is the same in user mode.
 * The kernel's own wrapper contains a tracepoint.
 *
 * It faults if a virtual machine has moved to a host without a PMU.  The counts are lost
 * then, and the log has a line about an unchecked MSR access, but the kernel lives.  There
 * is one exception.  Without global control, the zero that is returned looks like an
 * overflow each time that a counter is started.  A thread with a ring then makes no progress.
 */
static __always_inline u64 perfctr_rdpmc(u32 index)
{
	unsigned long low, high;	/* u32 would cost the clearing of upper halves */

	asm volatile("1:	rdpmc\n"
		     "2:\n"
		     PERFCTR_EXTABLE_READ(1b, 2b)
		     : "=a" (low), "=d" (high) : "c" (index));
	return low | (u64)high << 32;
}

/* Read a counter that may not exist; then *value is 0.  Return: 0, or -EIO if RDPMC faults. */
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

/* Spend some thousand cycles and a few hundred instructions. */
static inline void perfctr_pass_time(void)
{
	unsigned int i;

	for (i = 0; i < 100; i++)
		cpu_relax();
}

/* True if the kernel uses the TSC: known at compile time, but for kernels that run without one. */
static __always_inline bool perfctr_has_tsc(void)
{
	return !IS_ENABLED(CONFIG_X86_32) || IS_ENABLED(CONFIG_X86_TSC) ||
	       boot_cpu_has(X86_FEATURE_TSC);
}

static __always_inline u64 perfctr_rdtsc(void)
{
	return perfctr_has_tsc() ? rdtsc() : 0;
}

static inline u32 perfctr_tsc_khz(void)
{
	return perfctr_has_tsc() ? tsc_khz : 0;
}

/*
 * Write a register that the probe has found.  If the write faults all the same, the
 * kernel's exception table turns the fault into one warning in the log.
 */
static __always_inline void perfctr_wrmsr(u32 msr, u64 value)
{
	native_wrmsrq(msr, value);
}

/*
 * Write a register as perfctr_wrmsr() does, for a caller that has the halves of the value: to
 * join them would cost two instructions.
 */
static __always_inline void perfctr_wrmsr_halves(u32 msr, u32 low, u32 high)
{
	native_wrmsr(msr, low, high);
}

static inline int perfctr_rdmsr_safe(u32 msr, u64 *value)
{
	return rdmsrq_safe(msr, value);
}

static inline int perfctr_wrmsr_safe(u32 msr, u64 value)
{
	return wrmsrq_safe(msr, value);
}

/* True if user mode may RDPMC on this CPU at the moment (CR4.PCE). */
static __always_inline bool perfctr_user_rdpmc(void)
{
	return native_read_cr4() & X86_CR4_PCE;
}

/*
 * True if there is LVTPC, the local APIC's entry for the counters' interrupt, on this CPU.  The
 * accesses use the APIC driver's table of functions, as apic_write() is inline and needs static
 * calls that are not exported.
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

/* True if there are two kinds of CPUs, with different counters. */
static inline bool perfctr_is_hybrid(void)
{
	return boot_cpu_has(X86_FEATURE_HYBRID_CPU);
}

/* True if CPUID reports a hypervisor. */
static inline bool perfctr_is_guest(void)
{
	return boot_cpu_has(X86_FEATURE_HYPERVISOR);
}

/* True if a hypervisor makes an access to a counter an exit.  QEMU's emulator has none. */
static inline bool perfctr_exits_to_hypervisor(void)
{
	return !hypervisor_is_type(X86_HYPER_NATIVE);
}

/* True if this is a guest of Xen PV, which traps and emulates register writes. */
static inline bool perfctr_is_pv_guest(void)
{
	return boot_cpu_has(X86_FEATURE_XENPV);
}

#endif /* VPERFCTR_X86_REGS_H */
