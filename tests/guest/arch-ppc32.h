/* SPDX-License-Identifier: GPL-2.0 */
/* Properties of 32-bit PowerPC, 604 to 7448: see common.h. */
#ifndef GUEST_ARCH_PPC32_H
#define GUEST_ARCH_PPC32_H

#include <signal.h>
#include <ucontext.h>

#include "powerpc/codes.h"

/* The modes that do not count, which all counters share, and the selector of the event. */
#define SEL_USER	(1ULL << 63)
#define SEL_KERNEL	(1ULL << 62)
#define SEL_BOTH	0ULL
#define CYCLES		0x01
#define INSNS		0x02
#define INSNS_USER	(SEL_USER | INSNS)
#define INSNS_KERNEL	(SEL_KERNEL | INSNS)
#define INSNS_BOTH	(SEL_BOTH | INSNS)
#define CYCLES_USER	(SEL_USER | CYCLES)

#define MODES_ARE_SHARED	true

/* There are no fixed counters. */
#define FIXED_KERNEL	SEL_KERNEL
#define FIXED_USER	SEL_USER
#define FIXED_BOTH	SEL_BOTH
#define FIXED(i)	(VPERFCTR_FIXED | (i))

/* The counter of i-mode tests, its event, and perf's name of the event. */
#define IMODE_MAP	0
#define SHORTEST_PERIOD	1
/* An interrupt between lwarx and stwcx. makes code repeat both, in a loop of five instructions. */
#define SHORTEST_IN_LIBC	16
#define IMODE_USER	INSNS_USER
#define IMODE_BOTH	INSNS_BOTH
#define IMODE_PERF	PERF_COUNT_HW_INSTRUCTIONS
#define IMODE_ALL	true
/*
 * An overflow in kernel mode is reported when interrupts are enabled, up to IMODE_LATE
 * instructions later.
 */
#define IMODE_NMI	false
#define IMODE_LATE	25000
#define have_fixed_insns()	false
#define FIXED_INSNS		FIXED(0)

/* The most instructions of a read of one counter in user mode. */
#define READ_INSNS	45

/* With an icount shift, an instruction takes several cycles. */
#define SLOW_INSNS	false

#define EMULATOR_TRACES		false

/* Each CPU counts its own instructions only. */
#define COUNTS_APART		true

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

/* Bit i of arch_events.  The processor does not say which others it has. */
static const u32 arch_events[] __attribute__((unused)) = { 0x01, 0x02 };
#define absent_events_refused()	false

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

/* The evntsel of a fixed counter that counts nothing. */
#define FIXED_NOTHING	(SEL_USER | SEL_KERNEL)

static inline bool needs_merging(u64 evntsel)
{
	(void)evntsel;
	return false;
}

/* True if the module may accept this; for the fuzzer. */
static inline bool valid_evntsel(u64 evntsel, bool fixed)
{
	const u64 modes = 3ULL << 62;

	return (evntsel & modes) != modes && !(evntsel & ~(modes | 0x7f)) &&
	       fixed == !(evntsel & 0xff);
}

static inline bool valid_aux(const struct vperfctr_ctr *ctr, const u64 *registers)
{
	(void)registers;
	return !ctr->aux;
}

/* All threads can always read the counters. */
#define RDPMC_SIGNAL	0
#define RDPMC_FREE_SIGNAL	0
#define RDPMC_WITHOUT_COUNTING	true

/* While states hold the counters, perf_event_open() fails with EBUSY. */
#define PERF_IS_REFUSED	true

/* False: in /proc/interrupts, function calls share a line with other messages. */
#define CALLS_ARE_SHOWN		false

/* True if perf cannot give a process the right to read counters while CPUs are counted. */
#define CPUS_STAY_HIDDEN	true

/* True if one register starts and stops all counters: they then agree in kernel mode. */
static inline bool have_global_ctrl(void)
{
	return true;
}

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

/* Execute 2n instructions. */
static inline void loop(unsigned long n)
{
	asm volatile("1:	addic.	%0, %0, -1\n"
		     "	bne	1b" : "+r" (n) : : "cr0", "xer");
}

/* Execute rounds * (2n + 5) instructions, with a sched_yield() in each round. */
static inline void loop_yielding(unsigned long rounds, unsigned long n)
{
	asm volatile("1:	mr	14, %1\n"
		     "2:	addic.	14, 14, -1\n"
		     "	bne	2b\n"
		     "	li	0, 158\n"	/* __NR_sched_yield */
		     "	sc\n"
		     "	addic.	%0, %0, -1\n"
		     "	bne	1b"
		     : "+r" (rounds) : "r" (n)
		     : "r0", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r14",
		       "ctr", "cr0", "xer", "memory");
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

/* The event of instructions: its code, and a name. */
#define INSNS_RAW	"r02"
#define INSNS_NAME	"instructions"

#endif /* GUEST_ARCH_PPC32_H */
