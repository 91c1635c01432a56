/* SPDX-License-Identifier: GPL-2.0 */
/* Properties of RISC-V for the measuring programs. */
#ifndef BENCH_ARCH_RISCV_H
#define BENCH_ARCH_RISCV_H

#include <fcntl.h>

/* measure_init() finds how many instructions a tick is. */
#define CLOCK_COUNTS_INSNS	false

/* A part that takes longer is ended: seconds in the machine, where an instruction takes 64 ns. */
#define CHILD_SECONDS		10000

/*
 * A real-time task sleeps that many ms between looks at another task.  If a switch takes longer,
 * which with four counters is a ms here, the other task never runs.
 */
#define LOOK_MS			50

static inline u64 now(void)
{
	u64 time;

	asm volatile("rdtime	%0" : "=r" (time) : : "memory");
	return time;
}

/* The emulator has no statistics. */
#define HAVE_STATISTICS		false

static inline u64 statistic(unsigned int n)
{
	(void)n;
	return 0;
}

static inline long call5(long nr, long a, long b, long c, long d, long e)
{
	register long a0 asm("a0") = a;
	register long a1 asm("a1") = b;
	register long a2 asm("a2") = c;
	register long a3 asm("a3") = d;
	register long a4 asm("a4") = e;
	register long a7 asm("a7") = nr;

	asm volatile("ecall" : "+r" (a0) : "r" (a1), "r" (a2), "r" (a3), "r" (a4), "r" (a7)
		     : "memory");
	return a0;
}

static inline long call3(long nr, long a, long b, long c)
{
	register long a0 asm("a0") = a;
	register long a1 asm("a1") = b;
	register long a2 asm("a2") = c;
	register long a7 asm("a7") = nr;

	asm volatile("ecall" : "+r" (a0) : "r" (a1), "r" (a2), "r" (a7) : "memory");
	return a0;
}

static inline long call_open(const char *path, int flags)
{
	return call5(SYS_openat, AT_FDCWD, (long)path, flags, 0, 0);
}

/* Execute 2n instructions, one more or less. */
static inline void loop(unsigned long n)
{
	asm volatile("1:	addi	%0, %0, -1\n"
		     "	bnez	%0, 1b" : "+r" (n));
}

/* The counter of perf's page, whose CSR is C00H + index. */
static inline u64 read_pmc(u32 index)
{
	u64 value;

	switch (index) {
#define CSR(n)	case n: asm volatile("csrr	%0, %1" : "=r" (value) : "i" (0xc00 + (n))); break
	CSR(0); CSR(2); CSR(3); CSR(4); CSR(5); CSR(6); CSR(7); CSR(8); CSR(9); CSR(10); CSR(11);
	CSR(12); CSR(13); CSR(14); CSR(15); CSR(16); CSR(17); CSR(18); CSR(19); CSR(20); CSR(21);
	CSR(22); CSR(23); CSR(24); CSR(25); CSR(26); CSR(27); CSR(28); CSR(29); CSR(30); CSR(31);
#undef CSR
	default: value = 0;
	}
	return value;
}

/* The SBI's numbers of instructions, cycles, and misses of the TLB by reads and by writes. */
#define EVENTS_A	0x00002, 0x00001, 0x10019, 0x1001b
#define EVENTS_B	0x00001, 0x00002, 0x1001b, 0x10019

typedef u32 event_code;

static inline u64 user_evntsel(event_code event)
{
	return 1ULL << 61 | event;	/* SINH */
}

/* perf's numbers begin at 0, and have a cache's operation and result in bytes of their own. */
static inline u32 perf_type(u32 event)
{
	return event >> 16 ? PERF_TYPE_HW_CACHE : PERF_TYPE_HARDWARE;
}

static inline u64 perf_config(u32 event)
{
	if (!(event >> 16))
		return event - 1;
	return (event >> 3 & 0xff) | (event >> 1 & 3) << 8 | (event & 1) << 16;
}

/* pc and x1 to x31 */
#define PERF_REGS	0xffffffffU

#endif /* BENCH_ARCH_RISCV_H */
