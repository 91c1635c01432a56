/* SPDX-License-Identifier: GPL-2.0 */
/* Properties of x86 for the measuring programs. */
#ifndef BENCH_ARCH_X86_H
#define BENCH_ARCH_X86_H

/* The emulator's TSC counts instructions. */
#define CLOCK_COUNTS_INSNS	true

/* A part that takes longer is ended: seconds in the machine. */
#define CHILD_SECONDS		300

/* Sleep that many ms between looks at another task: see arch-riscv.h. */
#define LOOK_MS			1

static inline u64 now(void)
{
	u32 low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return low | (u64)high << 32;
}

/* The emulator's statistics, see tests/pmu-model/README.md. */
#define HAVE_STATISTICS		true

static inline u64 statistic(unsigned int n)
{
	u32 low, high;

	if (!emulated)
		return 0;
	asm volatile("rdpmc" : "=a" (low), "=d" (high) : "c" (0x7fff0000 + n) : "memory");
	return low | (u64)high << 32;
}

static inline long call3(long nr, long a, long b, long c)
{
	long ret;

	asm volatile("syscall" : "=a" (ret) : "0" (nr), "D" (a), "S" (b), "d" (c)
		     : "rcx", "r11", "memory");
	return ret;
}

static inline long call5(long nr, long a, long b, long c, long d, long e)
{
	register long r8 asm("r8") = e;
	register long r10 asm("r10") = d;
	long ret;

	asm volatile("syscall" : "=a" (ret)
		     : "0" (nr), "D" (a), "S" (b), "d" (c), "r" (r10), "r" (r8)
		     : "rcx", "r11", "memory");
	return ret;
}

static inline long call_open(const char *path, int flags)
{
	return call3(SYS_open, (long)path, flags, 0);
}

/* Execute 2n instructions, one more or less. */
static inline void loop(unsigned long n)
{
	asm volatile("1:	dec	%0\n"
		     "	jnz	1b" : "+r" (n) : : "cc");
}

/* The counter of perf's page. */
static inline u64 read_pmc(u32 index)
{
	u32 low, high;

	asm volatile("rdpmc" : "=a" (low), "=d" (high) : "c" (index));
	return low | (u64)high << 32;
}

/*
 * Instructions, cycles, and events that are not architectural.  perf puts the first
 * two on fixed counters; vperfctr uses general counters.
 */
#define EVENTS_A	0x00c0, 0x003c, 0x01a2, 0x02a2
#define EVENTS_B	0x003c, 0x00c0, 0x04a2, 0x08a2

typedef unsigned short event_code;

static inline u64 user_evntsel(event_code event)
{
	return 0x410000 | event;	/* EN, USR */
}

#define perf_type(event)	PERF_TYPE_RAW
#define perf_config(event)	(event)

/* All but the segment registers, as "perf record --call-graph dwarf" has them. */
#define PERF_REGS	0xff0fffU

#endif /* BENCH_ARCH_X86_H */
