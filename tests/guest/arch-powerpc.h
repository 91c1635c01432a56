/* SPDX-License-Identifier: GPL-2.0 */
/* Properties of POWER8 and later: see common.h. */
#ifndef GUEST_ARCH_POWERPC_H
#define GUEST_ARCH_POWERPC_H

#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "powerpc/both.h"

/* An evntsel has the modes as MMCR2 has them for PMC1.  PMC5 counts instructions, PMC6 cycles. */
#define CYCLES		0x1e
#define have_fixed_insns()	true

/* The most instructions of a read of one counter in user mode. */
#define READ_INSNS	27

/* With an icount shift, an instruction takes several cycles. */
#define SLOW_INSNS	true

#define is_cpu_type(type)	((type) == VPERFCTR_CPU_POWER8)

#define has_interrupt()		true
#define has_perf()		true
#define has_rdpmc()		true

/* True if perf cannot give a process the right to read counters while CPUs are counted. */
#define CPUS_STAY_HIDDEN	true

static inline void adapt_ctr(struct vperfctr_ctr *ctr)
{
	(void)ctr;
}

/* Bit i of arch_events. */
static const u32 arch_events[] __attribute__((unused)) = { 0x1e, 0x02 };

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

/* True if the module may accept this; for the fuzzer. */
static inline bool valid_evntsel(u64 evntsel, bool fixed)
{
	const u64 modes = 3ULL << 62;

	return (evntsel & modes) != modes && !(evntsel & ~(modes | (fixed ? 0 : event_fields()))) &&
	       fixed == !(evntsel & 0xff);
}

#define RDPMC_SIGNAL	SIGILL
/* The same while no state uses the counters.  0: the kernel lets all threads read them then. */
#define RDPMC_FREE_SIGNAL	0
/* The right is the thread's, while its own counters run. */
#define RDPMC_WITHOUT_COUNTING	false

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

#endif /* GUEST_ARCH_POWERPC_H */
