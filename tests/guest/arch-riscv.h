/* SPDX-License-Identifier: GPL-2.0 */
/* Properties of RISC-V processors with Sscofpmf: see common.h. */
#ifndef GUEST_ARCH_RISCV_H
#define GUEST_ARCH_RISCV_H

#include <signal.h>
#include <ucontext.h>

/* The modes that do not count, as in mhpmevent, and the SBI's number of the event. */
#define SEL_USER	(1ULL << 61)
#define SEL_KERNEL	(1ULL << 60)
#define SEL_BOTH	0ULL
#define CYCLES		0x1
#define INSNS		0x2
#define INSNS_USER	(SEL_USER | INSNS)
#define INSNS_KERNEL	(SEL_KERNEL | INSNS)
#define INSNS_BOTH	(SEL_BOTH | INSNS)
#define CYCLES_USER	(SEL_USER | CYCLES)

/* cycle and instret count in all modes, the firmware's included. */
#define FIXED_KERNEL	0ULL
#define FIXED_USER	0ULL
#define FIXED_BOTH	0ULL
#define FIXED(i)	(VPERFCTR_FIXED | (i))

/* The counter of i-mode tests, its event, and perf's name of the event. */
#define IMODE_MAP	0
#define SHORTEST_PERIOD	1
#define IMODE_USER	INSNS_USER
#define IMODE_BOTH	INSNS_BOTH
#define IMODE_PERF	PERF_COUNT_HW_INSTRUCTIONS
#define IMODE_ALL	true
/*
 * In kernel mode an overflow is reported when interrupts are enabled, up to IMODE_LATE
 * instructions later.
 */
#define IMODE_NMI	false
#define IMODE_LATE	25000
#define have_fixed_insns()	false
#define FIXED_INSNS		FIXED(1)

/* The most instructions of a read of one counter in user mode. */
#define READ_INSNS	27

/* With an icount shift, an instruction takes several cycles. */
#define SLOW_INSNS	true

#define EMULATOR_TRACES		false

/* Each CPU counts its own instructions only. */
#define COUNTS_APART		true

#define is_cpu_type(type)	((type) == VPERFCTR_CPU_RISCV_SBI)

#define has_interrupt()		true
#define has_perf()		true
#define has_rdpmc()		true
#define MOST_READ		55

static inline void adapt_ctr(struct vperfctr_ctr *ctr)
{
	(void)ctr;
}

/* Bit i of arch_events. */
static const u32 arch_events[] __attribute__((unused)) = { 1, 2, 10, 3, 4, 5, 6 };
#define absent_events_refused()	true

/* An evntsel bit that only the kernel sets: OF. */
#define NOT_THE_USERS	(1ULL << 63)

/* All but the event and SINH: with UINH set as well as SINH, nothing would be counted. */
static inline u64 refused_bits(void)
{
	return ~((1ULL << 61) | 0xfffff);
}

/*
 * No mode; no event; events that the emulator does not have, of each type; the firmware's
 * events; and codes and types that do not exist.
 */
static const u64 refused_evntsels[] __attribute__((unused)) = {
	SEL_USER | SEL_KERNEL | INSNS, SEL_USER, SEL_USER | 5, SEL_USER | 11, SEL_USER | 0xffff,
	SEL_USER | 0x10000, SEL_USER | 0x10006, SEL_USER | 0x10038, SEL_USER | 0x20000,
	SEL_USER | 0x20001, SEL_USER | 0x30000, SEL_USER | 0xf0000,
};
static const u64 accepted_evntsels[] __attribute__((unused)) = {
	SEL_USER | CYCLES, SEL_USER | INSNS, SEL_USER | 0x10019, SEL_USER | 0x1001b,
	SEL_USER | 0x10021, SEL_KERNEL | CYCLES, SEL_BOTH | CYCLES,
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
	const u64 modes = 3ULL << 60;

	if (fixed)
		return !evntsel;
	return (evntsel & modes) != modes && !(evntsel & ~(modes | 0xfffff));
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
	return false;
}

/*
 * Read a counter, with the same number of instructions for each.  The emulator has
 * hpmcounter3 to 18.
 */
static inline u64 rdpmc(u32 map)
{
	u64 value;
	/* Fixed counters follow as numbers 16 and 17. */
	u32 i = (map | map >> 26) << 3;

	asm volatile("	.option	push\n"
		     "	.option	norvc\n"
		     "	auipc	%0, 0\n"
		     "	add	%0, %0, %1\n"
		     "	jr	12(%0)\n"
		     "1:	csrr	%0, 0xc03\n"
		     "	j	2f\n"
		     "	csrr	%0, 0xc04\n"
		     "	j	2f\n"
		     "	csrr	%0, 0xc05\n"
		     "	j	2f\n"
		     "	csrr	%0, 0xc06\n"
		     "	j	2f\n"
		     "	csrr	%0, 0xc07\n"
		     "	j	2f\n"
		     "	csrr	%0, 0xc08\n"
		     "	j	2f\n"
		     "	csrr	%0, 0xc09\n"
		     "	j	2f\n"
		     "	csrr	%0, 0xc0a\n"
		     "	j	2f\n"
		     "	csrr	%0, 0xc0b\n"
		     "	j	2f\n"
		     "	csrr	%0, 0xc0c\n"
		     "	j	2f\n"
		     "	csrr	%0, 0xc0d\n"
		     "	j	2f\n"
		     "	csrr	%0, 0xc0e\n"
		     "	j	2f\n"
		     "	csrr	%0, 0xc0f\n"
		     "	j	2f\n"
		     "	csrr	%0, 0xc10\n"
		     "	j	2f\n"
		     "	csrr	%0, 0xc11\n"
		     "	j	2f\n"
		     "	csrr	%0, 0xc12\n"
		     "	j	2f\n"
		     "	csrr	%0, 0xc00\n"
		     "	j	2f\n"
		     "	csrr	%0, 0xc02\n"
		     "	j	2f\n"
		     "2:\n"
		     "	.option	pop" : "=&r" (value) : "r" (i) : "memory");
	return value;
}

static inline u64 rdtsc(void)
{
	u64 value;

	asm volatile("rdtime %0" : "=r" (value) : : "memory");
	return value;
}

/* Execute 2n instructions. */
static inline void loop(unsigned long n)
{
	asm volatile("1:	addi	%0, %0, -1\n"
		     "	bnez	%0, 1b" : "+r" (n));
}

/*
 * Execute rounds * (2n + 5) instructions, with a sched_yield() in each round.  The ecall is not
 * counted, as it does not retire; the nop is counted in its place.
 */
static inline void loop_yielding(unsigned long rounds, unsigned long n)
{
	asm volatile("1:	mv	t0, %1\n"
		     "2:	addi	t0, t0, -1\n"
		     "	bnez	t0, 2b\n"
		     "	li	a7, 124\n"	/* __NR_sched_yield */
		     "	nop\n"
		     "	ecall\n"
		     "	addi	%0, %0, -1\n"
		     "	bnez	%0, 1b"
		     : "+r" (rounds) : "r" (n)
		     : "a0", "a7", "t0", "memory");
}

/* Instructions, and those that load the number of a system call, for test_exact. */
#define NOP			0x00000013	/* nop */
#define RETURN			0x00008067	/* ret */
#define SYSTEM_CALL		0x00000073	/* ecall */
#define LOAD_NUMBER(nr)		(0x00000893 | (nr) << 20)	/* li a7, nr */
/* An instruction that raises an exception does not retire, and this is one. */
#define SYSTEM_CALLS_COMPLETE	false

static const struct fault fault_insns[] __attribute__((unused)) = {
	{ "load",		0x00002583, SIGSEGV },	/* lw a1, 0(zero) */
	{ "illegal",		0x00000000, SIGILL },
	{ "privileged",		0x10200073, SIGILL },	/* sret */
	{ "counter is read",	0xc03025f3, SIGILL },	/* csrr a1, hpmcounter3 */
	{ "breakpoint",		0x00100073, SIGTRAP },	/* ebreak */
};

/* The address of the interrupted instruction, and marked_loop()'s loop counter. */
#define CONTEXT_IP(uc)		((uc)->uc_mcontext.__gregs[REG_PC])
#define CONTEXT_COUNTER(uc)	((uc)->uc_mcontext.__gregs[5])

/* The event of instructions: its code, and a name. */
#define INSNS_RAW	"0x2"
#define INSNS_NAME	"instructions"

#endif /* GUEST_ARCH_RISCV_H */
