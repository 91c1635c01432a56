/* SPDX-License-Identifier: GPL-2.0 */
/* Properties of POWER8 and later: see common.h. */
#ifndef GUEST_ARCH_POWERPC_H
#define GUEST_ARCH_POWERPC_H

#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "powerpc/codes.h"

/* The modes that do not count, as for PMC1 in MMCR2, and the selector of the event. */
#define SEL_USER	(1ULL << 63)
#define SEL_KERNEL	(1ULL << 62)
#define SEL_BOTH	0ULL
#define CYCLES		0x1e
#define INSNS		0x02
#define INSNS_USER	(SEL_USER | INSNS)
#define INSNS_KERNEL	(SEL_KERNEL | INSNS)
#define INSNS_BOTH	(SEL_BOTH | INSNS)
#define CYCLES_USER	(SEL_USER | CYCLES)

/* PMC5 counts instructions, PMC6 cycles. */
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
#define have_fixed_insns()	true
#define FIXED_INSNS		FIXED(0)

/* The most instructions of a read of one counter in user mode. */
#define READ_INSNS	27

/* With an icount shift, an instruction takes several cycles. */
#define SLOW_INSNS	true

#define EMULATOR_TRACES		false

/* Each CPU counts its own instructions only. */
#define COUNTS_APART		true

#define is_cpu_type(type)	((type) == VPERFCTR_CPU_POWER8)

#define has_interrupt()		true
#define has_perf()		true
#define has_rdpmc()		true

static inline void adapt_ctr(struct vperfctr_ctr *ctr)
{
	(void)ctr;
}

/* Bit i of arch_events.  The processor does not say which others it has. */
static const u32 arch_events[] __attribute__((unused)) = { 0x1e, 0x02 };
#define absent_events_refused()	false

/* An evntsel bit that only the kernel sets: FC1P1 of MMCR2. */
#define NOT_THE_USERS	(1ULL << 61)

static inline bool is_processor(const char *name)
{
	return strstr(info.cpu_name, name);
}

/* Bits FIRST to LAST. */
static inline u64 event_bits(unsigned int first, unsigned int last)
{
	return (~0ULL << first) & (~0ULL >> (63 - last));
}

/* The bits of an event: selector, unit, caches, and those of one processor. */
static inline u64 event_fields(void)
{
	const u64 all = event_bits(0, 7) | event_bits(12, 15) | event_bits(20, 21);

	if (is_processor("POWER8"))
		return all | 1ULL << 11 | event_bits(22, 23);
	if (is_processor("POWER9"))
		return all | event_bits(10, 11);
	return all | event_bits(9, 11) | event_bits(40, 59);
}

/*
 * All but the event and FC1S: with FC1P set as well, nothing would be counted.  Some bits of an
 * event have no meaning alone, in an event of unit 0: the cache without the bit that says so, and
 * POWER10's event of the L2 and L3 caches.
 */
static inline u64 refused_bits(void)
{
	const u64 alone = is_processor("POWER8") ? event_bits(20, 21) | 1ULL << 23 :
			  is_processor("POWER9") ? 0 : event_bits(40, 44);

	return ~((1ULL << 63) | event_fields()) | alone;
}

/* No mode; no event; a counter; samples; the L2 or L3 cache with the L1 cache's field. */
static const u64 refused_evntsels[] __attribute__((unused)) = {
	SEL_USER | SEL_KERNEL | INSNS, SEL_USER, 0, SEL_USER | 0xf000, SEL_USER | 0x20000 | INSNS,
	SEL_USER | 0x1000000 | INSNS, SEL_USER | 0x100 | INSNS, SEL_USER | 0x2000000000 | INSNS,
	SEL_USER | 0x506080, SEL_USER | 0x109080,
};
static const u64 accepted_evntsels[] __attribute__((unused)) = {
	SEL_USER | CYCLES, SEL_USER | INSNS, SEL_USER | 0x01, SEL_USER | 0xff, SEL_KERNEL | CYCLES,
	SEL_BOTH | CYCLES, SEL_USER | 0x489c, SEL_USER | 0xf8ff,
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

	return (evntsel & modes) != modes && !(evntsel & ~(modes | (fixed ? 0 : event_fields()))) &&
	       fixed == !(evntsel & 0xff);
}

static inline bool valid_aux(const struct vperfctr_ctr *ctr, const u64 *registers)
{
	(void)registers;
	return !ctr->aux;
}

#define RDPMC_SIGNAL	SIGILL
/* The same while no state uses the counters.  0: the kernel lets all threads read them then. */
#define RDPMC_FREE_SIGNAL	0
/* The right is the thread's, while its own counters run. */
#define RDPMC_WITHOUT_COUNTING	false

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
	u64 i = ((map >> 30) * 4 + (map & 3)) * 8, value;

	asm volatile("	bcl	20, 31, 1f\n"
		     "1:	mflr	%0\n"
		     "	add	%0, %0, %1\n"
		     "	addi	%0, %0, 20\n"
		     "	mtctr	%0\n"
		     "	bctr\n"
		     "	mfspr	%0, 771\n"
		     "	b	2f\n"
		     "	mfspr	%0, 772\n"
		     "	b	2f\n"
		     "	mfspr	%0, 773\n"
		     "	b	2f\n"
		     "	mfspr	%0, 774\n"
		     "	b	2f\n"
		     "	mfspr	%0, 775\n"
		     "	b	2f\n"
		     "	mfspr	%0, 776\n"
		     "	b	2f\n"
		     "2:" : "=&b" (value) : "r" (i) : "memory", "lr", "ctr");
	return value;
}

static inline u64 rdtsc(void)
{
	u64 value;

	asm volatile("mfspr %0, 268" : "=r" (value) : : "memory");
	return value;
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
	{ "attn",		0x00000200, SIGILL },
	{ "privileged",		0x7c8000a6, SIGILL },	/* mfmsr 4 */
	{ "PMC2 is read",	0x7c84c2a6, SIGILL },	/* mfspr 4, 772 */
	{ "PMC2 is written",	0x7c84c3a6, SIGILL },	/* mtspr 772, 4 */
	{ "trap",		0x7fe00008, SIGTRAP },	/* tw 31, 0, 0 */
	{ "condition traps",	0x7c800008, SIGTRAP },	/* tw 4, 0, 0 */
	{ "emulated",		0x7c9f42a6, 0 },	/* mfspr 4, 287: PVR */
	{ "misaligned",		0x7c8124aa, 0 },	/* lswi 4, 1, 4: always so in little-endian mode */
};

/* Instructions for units that the kernel enables when they are used. */
static const u32 unit_codes[] __attribute__((unused)) = {
	0xfc000090,		/* fmr 0, 0 */
	0x10000484,		/* vor 0, 0, 0 */
	0xf0000490,		/* xxlor 0, 0, 0 */
};
#define MAX_DISABLED_UNITS	3
#define has_unit(i)	true

/* The address of the interrupted instruction, and marked_loop()'s loop counter. */
#define CONTEXT_IP(uc)		((uc)->uc_mcontext.gp_regs[32])
#define CONTEXT_COUNTER(uc)	((uc)->uc_mcontext.gp_regs[9])

/* The event of instructions: its code, and a name. */
#define INSNS_RAW	"r02"
#define INSNS_NAME	"instructions"

#endif /* GUEST_ARCH_POWERPC_H */
