/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests must know of arm64 processors: see common.h. */
#ifndef GUEST_ARCH_ARM64_H
#define GUEST_ARCH_ARM64_H

#include <signal.h>
#include <ucontext.h>

/* PMEVTYPERn_EL0: which modes are left out, and the event. */
#define SEL_USER	0x80000000ULL
#define SEL_KERNEL	0x40000000ULL
#define SEL_BOTH	0ULL
/* Instructions; the emulator has them with icount only, else cycles must do. */
#define INSNS		(info.arch_events & VPERFCTR_EVENT_INSTRUCTIONS ? 0x08 : CYCLES)
#define INSNS_USER	(SEL_USER | INSNS)
#define INSNS_KERNEL	(SEL_KERNEL | INSNS)
#define INSNS_BOTH	(SEL_BOTH | INSNS)
#define CYCLES		0x11
#define CYCLES_USER	(SEL_USER | CYCLES)

/* The fixed counter counts cycles. */
#define FIXED_KERNEL	SEL_KERNEL
#define FIXED_USER	SEL_USER
#define FIXED_BOTH	SEL_BOTH
#define FIXED(i)	(VPERFCTR_FIXED | (i))
/*
 * The counter of i-mode tests, what it counts, and that as perf has it: cycles, one for
 * each instruction with icount=0.  In the emulator the overflow of any other counter
 * comes up to a tick of the kernel's clock late.
 */
#define IMODE_MAP	FIXED(0)
#define IMODE_USER	FIXED_USER
#define IMODE_BOTH	FIXED_BOTH
#define IMODE_PERF	PERF_COUNT_HW_CPU_CYCLES
#define IMODE_ALL	false
/*
 * In kernel mode not before interrupts are enabled, so many instructions later: 5,600 were
 * seen with Linux 6.1, 17,000 with 7.2, where a thread is switched.
 */
#define IMODE_NMI	false
#define IMODE_LATE	25000
#define have_fixed_insns()	false
#define FIXED_INSNS		FIXED(0)

#define is_cpu_type(type)	((type) == VPERFCTR_CPU_ARM_PMUV3)

/* Bit i of arch_events. */
static const u32 arch_events[] __attribute__((unused)) = {
	0x0011, 0x0008, 0x4004, 0x0036, 0x0037, 0x0021, 0x0022,
};
#define absent_events_refused()	true

/* A bit of an evntsel that is the kernel's business: NSH. */
#define NOT_THE_USERS	(1ULL << 27)

/* All but the event, and P; with U, too, nothing would be counted. */
static inline u64 refused_bits(void)
{
	return ~0x8000ffffULL;
}

/* Nothing would be counted; CHAIN; an event that the processor says not to have. */
static const u64 refused_evntsels[] __attribute__((unused)) = {
	SEL_USER | SEL_KERNEL | 0x08, SEL_USER | 0x1e, SEL_USER | 0x3f, SEL_USER | 0x4000,
};
static const u64 accepted_evntsels[] __attribute__((unused)) = {
	SEL_USER, SEL_USER | 0x08, SEL_USER | 0x40, SEL_USER | 0x3ff, SEL_USER | 0xffff,
	SEL_KERNEL | 0x11, SEL_BOTH | 0x11,
};

/* Of a fixed counter. */
#define FIXED_NOTHING	(FIXED_USER | FIXED_KERNEL)

static inline bool needs_merging(u64 evntsel)
{
	(void)evntsel;
	return false;
}

/* For the fuzzer: could this be accepted?  The fixed counter has its event already. */
static inline bool valid_evntsel(u64 evntsel, bool fixed)
{
	const u64 modes = 3ULL << 30;

	return (evntsel & modes) != modes && !(evntsel & ~(modes | (fixed ? 0 : 0xffff))) &&
	       (fixed || evntsel != 0x1e);
}

static inline bool valid_aux(const struct vperfctr_ctr *ctr, const u64 *registers)
{
	(void)registers;
	return !ctr->aux;
}

#define RDPMC_SIGNAL	SIGILL
/* It is a thread's right, while its own counters run. */
#define RDPMC_WITHOUT_COUNTING	false

/* While counters are ours, perf's events are there, but do not count. */
#define PERF_IS_REFUSED	false

/* One register starts and stops all counters, so they agree in kernel mode too. */
static inline bool have_global_ctrl(void)
{
	return true;
}

/*
 * The same number of instructions for all counters, of which there are no more than
 * the emulator's processors have: six for events.
 */
static inline u64 rdpmc(u32 map)
{
	u64 i = map == VPERFCTR_FIXED ? 6 : map, value;

	asm volatile("	adr	%0, 1f\n"
		     "	add	%0, %0, %1, lsl #3\n"
		     "	br	%0\n"
		     "1:	mrs	%0, pmevcntr0_el0\n"
		     "	b	2f\n"
		     "	mrs	%0, pmevcntr1_el0\n"
		     "	b	2f\n"
		     "	mrs	%0, pmevcntr2_el0\n"
		     "	b	2f\n"
		     "	mrs	%0, pmevcntr3_el0\n"
		     "	b	2f\n"
		     "	mrs	%0, pmevcntr4_el0\n"
		     "	b	2f\n"
		     "	mrs	%0, pmevcntr5_el0\n"
		     "	b	2f\n"
		     "	mrs	%0, pmccntr_el0\n"
		     "	b	2f\n"
		     "2:" : "=&r" (value) : "r" (i) : "memory");
	return value;
}

static inline u64 rdtsc(void)
{
	u64 value;

	asm volatile("mrs %0, cntvct_el0" : "=r" (value) : : "memory");
	return value;
}

/* 2n instructions. */
static inline void loop(unsigned long n)
{
	asm volatile("1:	subs	%0, %0, #1\n"
		     "	b.ne	1b" : "+r" (n) : : "cc");
}

/* rounds * (2n + 5) instructions, with sched_yield() in each. */
static inline void loop_yielding(unsigned long rounds, unsigned long n)
{
	asm volatile("1:	mov	x9, %1\n"
		     "2:	subs	x9, x9, #1\n"
		     "	b.ne	2b\n"
		     "	mov	x8, #124\n"	/* __NR_sched_yield */
		     "	svc	#0\n"
		     "	subs	%0, %0, #1\n"
		     "	b.ne	1b"
		     : "+r" (rounds) : "r" (n)
		     : "x0", "x8", "x9", "memory", "cc");
}

/* The interrupted instruction, and marked_loop()'s counter. */
#define CONTEXT_IP(uc)		((uc)->uc_mcontext.pc)
#define CONTEXT_COUNTER(uc)	((uc)->uc_mcontext.regs[9])

/* Instructions: an event's code, and a name; libpfm4 does not know all processors. */
#define INSNS_RAW	"r0008"
#define INSNS_NAME	"instructions"

#endif /* GUEST_ARCH_ARM64_H */
