/* SPDX-License-Identifier: GPL-2.0 */
/* Properties of 32-bit PowerPC, 604 to 7448: see common.h. */
#ifndef GUEST_ARCH_PPC32_H
#define GUEST_ARCH_PPC32_H

#include <signal.h>
#include <ucontext.h>

#include "powerpc/both.h"

#define CYCLES		0x01

/* All counters have the modes of the first. */
#define MODES_ARE_SHARED	true

/* There are no fixed counters. */
#define have_fixed_insns()	false

/* The most instructions of a read of one counter in user mode. */
#define READ_INSNS	45

/* With an icount shift, an instruction takes several cycles. */
#define SLOW_INSNS	false

#define is_cpu_type(type)	((type) == VPERFCTR_CPU_PPC32)

#define has_interrupt()		(info.features & VPERFCTR_FEATURE_PCINT)
#define has_perf()		(nr_general() == 6)	/* only for the 7450 and later */
#define PMC_USER		"/dev/pmc-user"	/* modules/pmc-user.c */
#define MOST_READ_BY_KERNEL	150
#define has_rdpmc()		(info.features & VPERFCTR_FEATURE_RDPMC)

/*
 * PMC5 and PMC6 have cycles, but not instructions.  Where tests let them count instructions,
 * cycles have the same number: the emulator has one for each.
 */
static inline void adapt_ctr(struct vperfctr_ctr *ctr)
{
	if (ctr->map >= 4 && (ctr->evntsel & 0xff) == INSNS)
		ctr->evntsel = (ctr->evntsel & ~0xffULL) | CYCLES;
}

/* Bit i of arch_events. */
static const u32 arch_events[] __attribute__((unused)) = { 0x01, 0x02 };

/* An evntsel bit that has no meaning. */
#define NOT_THE_USERS	(1ULL << 57)

/* All but the event of PMC1 and bit 63: with 62 set as well, nothing would be counted. */
static inline u64 refused_bits(void)
{
	return ~((1ULL << 63) | 0x7f);
}

/* No mode; no event. */
static const u64 refused_evntsels[] __attribute__((unused)) = {
	SEL_USER | SEL_KERNEL | INSNS, SEL_USER, 0,
};
static const u64 accepted_evntsels[] __attribute__((unused)) = {
	SEL_USER | CYCLES, SEL_USER | INSNS, SEL_USER | 0x01, SEL_USER | 0x7f, SEL_KERNEL | CYCLES,
	SEL_BOTH | CYCLES,
};

/* True if the module may accept this; for the fuzzer. */
static inline bool valid_evntsel(u64 evntsel, bool fixed)
{
	const u64 modes = 3ULL << 62;

	return (evntsel & modes) != modes && !(evntsel & ~(modes | 0x7f)) &&
	       fixed == !(evntsel & 0xff);
}

/* All threads can always read the counters. */
#define RDPMC_SIGNAL	0
#define RDPMC_FREE_SIGNAL	0
#define RDPMC_WITHOUT_COUNTING	true

/* True if no thread can read counters while CPUs are counted, or all threads may. */
#define CPUS_STAY_HIDDEN	(!has_rdpmc() || !has(VPERFCTR_FEATURE_ISOLATE))

/* Read a counter, with the same number of instructions for each. */
static inline u64 rdpmc(u32 map)
{
	u32 i = (map & 7) * 8, value;

	asm volatile("	bcl	20, 31, 1f\n"
		     "1:	mflr	%0\n"
		     "	add	%0, %0, %1\n"
		     "	addi	%0, %0, 20\n"
		     "	mtctr	%0\n"
		     "	bctr\n"
		     "	mfspr	%0, 937\n"
		     "	b	2f\n"
		     "	mfspr	%0, 938\n"
		     "	b	2f\n"
		     "	mfspr	%0, 941\n"
		     "	b	2f\n"
		     "	mfspr	%0, 942\n"
		     "	b	2f\n"
		     "	mfspr	%0, 929\n"
		     "	b	2f\n"
		     "	mfspr	%0, 930\n"
		     "	b	2f\n"
		     "2:" : "=&b" (value) : "r" (i) : "memory", "lr", "ctr");
	return value;
}

static inline u64 rdtsc(void)
{
	u32 high, low, again;

	do {
		asm volatile("mftbu %0\n\tmftb %1\n\tmftbu %2"
			     : "=r" (high), "=r" (low), "=r" (again) : : "memory");
	} while (high != again);
	return (u64)high << 32 | low;
}

/* For test_exact. */
static const struct fault fault_insns[] __attribute__((unused)) = {
	{ "load",		0x80800000, SIGSEGV },	/* lwz 4, 0(0) */
	{ "illegal",		0x00000000, SIGILL },
	{ "privileged",		0x7c8000a6, SIGILL },	/* mfmsr 4 */
	{ "trap",		0x7fe00008, SIGTRAP },	/* tw 31, 0, 0 */
	{ "condition traps",	0x7c800008, SIGTRAP },	/* tw 4, 0, 0 */
	{ "emulated",		0x7c9f42a6, 0 },	/* mfspr 4, 287: PVR */
	{ "emulated isel",	0x7c83181e, 0 },	/* isel 4, 3, 3, 0 */
};

/* Instructions for units that the kernel enables when they are used. */
static const u32 unit_codes[] __attribute__((unused)) = {
	0xfc000090,		/* fmr 0, 0 */
	0x10000484,		/* vor 0, 0, 0 */
};
#define MAX_DISABLED_UNITS	2
#define has_unit(i)	(!(i) || strstr(info.cpu_name, "PowerPC 74"))

/* The address of the interrupted instruction, and marked_loop()'s loop counter. */
#define CONTEXT_IP(uc)		((uc)->uc_mcontext.uc_regs->gregs[32])
#define CONTEXT_COUNTER(uc)	((uc)->uc_mcontext.uc_regs->gregs[9])

#endif /* GUEST_ARCH_PPC32_H */
