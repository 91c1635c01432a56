/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests must know of x86 processors: see common.h. */
#ifndef GUEST_ARCH_X86_H
#define GUEST_ARCH_X86_H

#include <cpuid.h>
#include <signal.h>
#include <ucontext.h>

/* Event selects, all with EN. */
#define SEL_USER	0x410000
#define SEL_KERNEL	0x420000
#define SEL_BOTH	0x430000
#define INSNS_USER	(SEL_USER | 0xc0)
#define INSNS_KERNEL	(SEL_KERNEL | 0xc0)
#define INSNS_BOTH	(SEL_BOTH | 0xc0)

/* Fields of fixed counters; number 0 counts instructions, 1 cycles. */
#define FIXED_KERNEL	1
#define FIXED_USER	2
#define FIXED_BOTH	3
#define FIXED(i)	(VPERFCTR_FIXED | (i))

/* The counter of i-mode tests, what it counts, and that as perf has it. */
#define IMODE_MAP	0
#define IMODE_USER	INSNS_USER
#define IMODE_BOTH	INSNS_BOTH
#define IMODE_PERF	PERF_COUNT_HW_INSTRUCTIONS
/* All counters' overflows come at once. */
#define IMODE_ALL	true
/* In kernel mode, too: it is an NMI.  Else, as many instructions later. */
#define IMODE_NMI	true
#define IMODE_LATE	2000
#define have_fixed_insns()	(nr_fixed() > 0)
#define FIXED_INSNS		FIXED(0)

/* Cycles: the one event that processors do not agree on. */
#define CYCLES		(info.cpu_type == VPERFCTR_CPU_AMD ? 0x76 : 0x3c)
#define CYCLES_USER	(SEL_USER | CYCLES)

#define is_cpu_type(type)	((type) == VPERFCTR_CPU_INTEL_ARCH || (type) == VPERFCTR_CPU_AMD)

/* Bit i of arch_events; on AMD, absent ones are not known to be absent. */
static const u32 arch_events[] __attribute__((unused)) = {
	0x003c, 0x00c0, 0x013c, 0x4f2e, 0x412e, 0x00c4, 0x00c5,
};
#define absent_events_refused()	(info.cpu_type == VPERFCTR_CPU_INTEL_ARCH)

/* A bit of an evntsel that is the kernel's business: INT. */
#define NOT_THE_USERS	(1ULL << 20)

/* PC, INT, AnyThread, and whatever is not there; AMD has a longer event */
static inline u64 refused_bits(void)
{
	return 7ULL << 19 | ~0ULL << (info.cpu_type == VPERFCTR_CPU_AMD ? 36 : 32);
}

/* EN and one of the modes are missing.  0x013d is no architectural event. */
static const u64 refused_evntsels[] __attribute__((unused)) = {
	0, INSNS_USER & ~(1ULL << 22), INSNS_USER & ~(1ULL << 16),
};
static const u64 accepted_evntsels[] __attribute__((unused)) = {
	SEL_USER | 0x4003c, SEL_USER | 0x80003c, SEL_USER | 0x100003c, SEL_USER | 0x8000003c,
	SEL_USER | 0x013d,
};

/* Of a fixed counter. */
#define FIXED_NOTHING	0

/* As CPUID leaf 1 has it: family 0x10, say. */
static inline unsigned int cpu_family(void)
{
	unsigned int eax = 0, ebx, ecx, edx;

	__get_cpuid(1, &eax, &ebx, &ecx, &edx);
	return (eax >> 8 & 0xf) + ((eax >> 8 & 0xf) == 0xf ? eax >> 20 & 0xff : 0);
}

static inline unsigned int cpu_model(void)
{
	unsigned int eax = 0, ebx, ecx, edx;

	__get_cpuid(1, &eax, &ebx, &ecx, &edx);
	return (eax >> 4 & 0xf) | (eax >> 12 & 0xf0);
}

/* AMD's events that need two counters, from family 17h on. */
static inline bool needs_merging(u64 evntsel)
{
	u64 event = (evntsel & 0xff) | (evntsel >> 24 & 0xf00);

	return info.cpu_type == VPERFCTR_CPU_AMD && cpu_family() >= 0x17 &&
	       (event == 0x003 || event == 0xfff);
}

/* For the fuzzer: could this be accepted? */
static inline bool valid_evntsel(u64 evntsel, bool fixed)
{
	u64 allowed = 0xffc7ffff;

	if (fixed)
		return evntsel && !(evntsel & ~3ULL);
	if (info.cpu_type == VPERFCTR_CPU_AMD && cpu_family() >= 0x10)
		allowed |= 0xfULL << 32;	/* longer event codes */
	return !(evntsel & ~allowed) && (evntsel & 0x30000) && (evntsel & 0x400000) &&
	       !needs_merging(evntsel);
}

/*
 * Sandy Bridge's registers of off-core responses, which other tested processors have
 * not: counters of one event may not ask for two values.
 */
static inline bool valid_aux(const struct vperfctr_ctr *ctr, u64 *registers)
{
	u64 *value;

	if (cpu_family() != 6 || cpu_model() != 42)
		return !ctr->aux;
	switch (ctr->map & VPERFCTR_FIXED ? 0 : ctr->evntsel & 0xffff) {
	case 0x01b7:
		value = &registers[0];
		break;
	case 0x01bb:
		value = &registers[1];
		break;
	default:
		return !ctr->aux;
	}
	if (!ctr->aux || (ctr->aux & ~0x3f807f8fffULL) || (*value && *value != ctr->aux))
		return false;
	*value = ctr->aux;
	return true;
}

#define RDPMC_SIGNAL	SIGSEGV
/* In a process that may, threads that count nothing themselves may, too. */
#define RDPMC_WITHOUT_COUNTING	true

/* While counters are ours, perf gets no events: EBUSY. */
#define PERF_IS_REFUSED	true

/* One register starts and stops all counters, so they agree in kernel mode too. */
static inline bool have_global_ctrl(void)
{
	unsigned int eax, ebx, ecx, edx;

	if (info.cpu_type == VPERFCTR_CPU_AMD)
		return __get_cpuid(0x80000022, &eax, &ebx, &ecx, &edx) && (eax & 1);
	return __get_cpuid(0xa, &eax, &ebx, &ecx, &edx) && (eax & 0xff) >= 2;
}

static inline u64 rdpmc(u32 index)
{
	u32 low, high;

	asm volatile("rdpmc" : "=a" (low), "=d" (high) : "c" (index) : "memory");
	return low | (u64)high << 32;
}

static inline u64 rdtsc(void)
{
	u32 low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return low | (u64)high << 32;
}

/* 2n instructions. */
static inline void loop(unsigned long n)
{
	asm volatile("1:	dec	%0\n"
		     "	jnz	1b" : "+r" (n) : : "cc");
}

#ifdef __x86_64__
/* rounds * (2n + 5) instructions, with sched_yield() in each. */
static inline void loop_yielding(unsigned long rounds, unsigned long n)
{
	asm volatile("1:	mov	%1, %%rdx\n"
		     "2:	dec	%%rdx\n"
		     "	jnz	2b\n"
		     "	mov	$24, %%eax\n"	/* __NR_sched_yield */
		     "	syscall\n"
		     "	dec	%0\n"
		     "	jnz	1b"
		     : "+r" (rounds) : "r" (n)
		     : "rax", "rcx", "rdx", "r11", "memory", "cc");
}

/* The interrupted instruction, and marked_loop()'s counter. */
#define CONTEXT_IP(uc)		((uc)->uc_mcontext.gregs[REG_RIP])
#define CONTEXT_COUNTER(uc)	((uc)->uc_mcontext.gregs[REG_RCX])
#endif

/* Instructions: an event's code, and libpfm4's name on Intel's processors. */
#define INSNS_RAW	"r00c0"
#define INSNS_NAME	"INST_RETIRED:ANY_P"

#endif /* GUEST_ARCH_X86_H */
