/* SPDX-License-Identifier: GPL-2.0 */
/* Properties of arm64 processors: see common.h. */
#ifndef GUEST_ARCH_ARM64_H
#define GUEST_ARCH_ARM64_H

#include <signal.h>
#include <ucontext.h>

/* PMEVTYPERn_EL0: the modes that do not count, and the event. */
#define SEL_USER	0x80000000ULL
#define SEL_KERNEL	0x40000000ULL
#define SEL_BOTH	0ULL
/* Instructions: the emulator counts them with icount only; otherwise use cycles. */
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
 * The counter of i-mode tests, its event, and perf's name of the event: cycles, one for
 * each instruction with icount=0.  The emulator reports overflows of all other counters
 * up to a tick of the kernel's clock late.
 */
#define IMODE_MAP	FIXED(0)
#define SHORTEST_PERIOD	1
#define IMODE_USER	FIXED_USER
#define IMODE_BOTH	FIXED_BOTH
#define IMODE_PERF	PERF_COUNT_HW_CPU_CYCLES
#define IMODE_ALL	false
/*
 * In kernel mode an overflow is reported when interrupts are enabled, up to IMODE_LATE
 * instructions later.  Measured in a thread switch: 5,600 with Linux 6.1, 17,000 with 7.2.
 */
#define IMODE_NMI	false
#define IMODE_LATE	25000
#define have_fixed_insns()	false
#define FIXED_INSNS		FIXED(0)

/* The fixed counter that the NMI watchdog has. */
#define WATCHDOG_FIXED		FIXED(0)

/* The most instructions of a read of one counter in user mode. */
#define READ_INSNS	25

#define SLOW_INSNS	true

#define EMULATOR_TRACES		false

/* The emulator counts the instructions of all CPUs together. */
#define COUNTS_APART		false

#define is_cpu_type(type)	((type) == VPERFCTR_CPU_ARM_PMUV3)

#define has_interrupt()		true
#define has_perf()		true
#define has_rdpmc()		true

static inline void adapt_ctr(struct vperfctr_ctr *ctr)
{
	(void)ctr;
}

/* Bit i of arch_events. */
static const u32 arch_events[] __attribute__((unused)) = {
	0x0011, 0x0008, 0x4004, 0x0004, 0x0003, 0x0021, 0x0010,
};
#define absent_events_refused()	true

/* An evntsel bit that only the kernel sets: NSH. */
#define NOT_THE_USERS	(1ULL << 27)

/* All but the event and P: with U set as well as P, nothing would be counted. */
static inline u64 refused_bits(void)
{
	return ~0x8000ffffULL;
}

/* No mode; CHAIN; events that the processor reports as absent. */
static const u64 refused_evntsels[] __attribute__((unused)) = {
	SEL_USER | SEL_KERNEL | 0x08, SEL_USER | 0x1e, SEL_USER | 0x3f, SEL_USER | 0x4000,
};
static const u64 accepted_evntsels[] __attribute__((unused)) = {
	SEL_USER, SEL_USER | 0x08, SEL_USER | 0x40, SEL_USER | 0x3ff, SEL_USER | 0xffff,
	SEL_KERNEL | 0x11, SEL_BOTH | 0x11,
};

/* The evntsel of a fixed counter that counts nothing. */
#define FIXED_NOTHING	(FIXED_USER | FIXED_KERNEL)

static inline bool needs_merging(u64 evntsel)
{
	(void)evntsel;
	return false;
}

/* True if the module may accept this; for the fuzzer.  A fixed counter has no event code. */
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
/* The same while no state uses the counters. */
#define RDPMC_FREE_SIGNAL	RDPMC_SIGNAL
/* The right is the thread's, while its own counters run. */
#define RDPMC_WITHOUT_COUNTING	false

/* While states hold the counters, perf opens events that do not count. */
#define PERF_IS_REFUSED	false

/* True if perf cannot give a process the right to read counters while CPUs are counted. */
#define CPUS_STAY_HIDDEN	true

/* True if one register starts and stops all counters: they then agree in kernel mode. */
static inline bool have_global_ctrl(void)
{
	return true;
}

/*
 * Read a counter, with the same number of instructions for each.  The emulator's
 * processors have six event counters.
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

/* Execute 2n instructions. */
static inline void loop(unsigned long n)
{
	asm volatile("1:	subs	%0, %0, #1\n"
		     "	b.ne	1b" : "+r" (n) : : "cc");
}

/* Execute rounds * (2n + 5) instructions, with a sched_yield() in each round. */
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

/* The address of the interrupted instruction, and marked_loop()'s loop counter. */
#define CONTEXT_IP(uc)		((uc)->uc_mcontext.pc)
#define CONTEXT_COUNTER(uc)	((uc)->uc_mcontext.regs[9])

/* The event of instructions: its code, and a name; libpfm4 lacks some processors. */
#define INSNS_RAW	"r0008"
#define INSNS_NAME	"instructions"

#endif /* GUEST_ARCH_ARM64_H */
