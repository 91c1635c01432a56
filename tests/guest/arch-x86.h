/* SPDX-License-Identifier: GPL-2.0 */
/* Properties of x86 processors: see common.h. */
#ifndef GUEST_ARCH_X86_H
#define GUEST_ARCH_X86_H

#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <sys/utsname.h>
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
/* The one that Intel's NMI watchdog has. */
#define WATCHDOG_FIXED	FIXED(1)

/* The counter of i-mode tests, its event, and perf's name of the event. */
#define IMODE_MAP	0
#define SHORTEST_PERIOD	2
#define IMODE_USER	INSNS_USER
#define IMODE_BOTH	INSNS_BOTH
#define IMODE_PERF	PERF_COUNT_HW_INSTRUCTIONS
/* An overflow of any counter is reported at the same instruction. */
#define IMODE_ALL	true
/* Also in kernel mode, as the interrupt is an NMI; otherwise up to IMODE_LATE later. */
#define IMODE_NMI	true
#define IMODE_LATE	2000
#define have_fixed_insns()	(nr_fixed() > 0)
#define FIXED_INSNS		FIXED(0)

/* Cycles: the only event here whose code differs between processors. */
#define CYCLES		(info.cpu_type == VPERFCTR_CPU_AMD ? 0x76 : \
			 info.cpu_type == VPERFCTR_CPU_INTEL_P6 ? 0x79 : 0x3c)
#define CYCLES_USER	(SEL_USER | CYCLES)

/* The most instructions of a read of one counter in user mode. */
#define READ_INSNS	(sizeof(long) == 8 ? 16 : 40)

/* An instruction takes more than one cycle of the emulator. */
#define SLOW_INSNS	(info.cpu_type != VPERFCTR_CPU_INTEL_P4)

/* The emulated PMU can trace places: see ../pmu-model/README.md. */
#define EMULATOR_TRACES		true

/* Each CPU counts its own instructions only. */
#define COUNTS_APART		true

#define is_cpu_type(type)	((type) == VPERFCTR_CPU_INTEL_ARCH || (type) == VPERFCTR_CPU_AMD || \
				 (type) == VPERFCTR_CPU_INTEL_P6 || (type) == VPERFCTR_CPU_INTEL_P4 || \
				 (type) == VPERFCTR_CPU_INTEL_P5 || (type) == VPERFCTR_CPU_CYRIX)

static inline bool has_cesr(void)
{
	return info.cpu_type == VPERFCTR_CPU_INTEL_P5 || info.cpu_type == VPERFCTR_CPU_CYRIX;
}

#define has_interrupt()		(!has_cesr())
/*
 * True if Linux's perf counts rightly.  It has no driver for CESR.  From 5.11 on its driver of the
 * Pentium 4 loads wrong periods, so its counts are too large.  This is for programs without
 * libcheck, too.
 */
static inline bool has_perf(void)
{
	unsigned int version = 0, patch = 0;
	struct utsname name;

	if (has_cesr())
		return false;
	if (info.cpu_type != VPERFCTR_CPU_INTEL_P4)
		return true;
	return !uname(&name) && sscanf(name.release, "%u.%u", &version, &patch) == 2 &&
	       (version < 5 || (version == 5 && patch < 11));
}

/* True if the instruction exists.  The Pentium without MMX (CPUID.1:EDX bit 23) lacks it. */
static inline bool has_rdpmc_instruction(void)
{
	unsigned int eax, ebx, ecx, edx = 0;

	__get_cpuid(1, &eax, &ebx, &ecx, &edx);
	return info.cpu_type != VPERFCTR_CPU_INTEL_P5 || (edx & 1 << 23);
}

/*
 * True if user mode can have the right to use it.  Erratum 26 of the Pentium Pro before
 * stepping 9 rules that out.
 */
static inline bool has_rdpmc(void)
{
	unsigned int eax = 0, ebx, ecx, edx;

	__get_cpuid(1, &eax, &ebx, &ecx, &edx);
	if (info.cpu_type == VPERFCTR_CPU_INTEL_P6 && (eax >> 4 & 0xf) == 1 && (eax & 0xf) < 9)
		return false;
	return has_rdpmc_instruction();
}

/* Pentium 4 */
#define P4_CCCR		0x31000		/* enable, and both bits of the active thread */
#define P4_SELECT(n)	((n) << 13)
#define P4_ALWAYS	0xfc0000	/* compare, complement, threshold 15: each cycle */
#define P4_USER		0x4
#define P4_KERNEL	0x8
#define P4_EVENT(event, mask) ((u64)(event) << 25 | (mask) << 9)

/*
 * Most tests write an event select as P6 has it.  Turn it into the Pentium's and Cyrix's, a half
 * of CESR.  Without EN it selects no mode.
 */
static inline u64 adapt_evntsel(u64 evntsel)
{
	if (!has_cesr() || ((evntsel & 0xff) != 0xc0 && (evntsel & 0xff) != 0x3c))
		return evntsel;
	return ((evntsel & 0xff) == 0xc0 ? 0x16 : 0x100) |
	       (evntsel & 0x400000 ? (evntsel & 0x10000) >> 9 | (evntsel & 0x20000) >> 11 : 0) |
	       (evntsel & ~0x4300ffULL);
}

/*
 * Likewise, and into a CCCR and an ESCR of the Pentium 4.  Each counter gets an ESCR of its own, as tests need not care about modes that
 * differ.  The emulator counts a cycle for each instruction: see the processor p4.
 */
static inline void adapt_ctr(struct vperfctr_ctr *ctr)
{
	static const unsigned char selects[18] = {
		0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 2, 1, 2, 4, 4,
	};
	u64 evntsel = ctr->evntsel;

	ctr->evntsel = adapt_evntsel(evntsel);
	if (info.cpu_type != VPERFCTR_CPU_INTEL_P4 || ctr->map >= 18 || ctr->aux ||
	    ((evntsel & 0xff) != 0xc0 && (evntsel & 0xff) != 0x3c))
		return;
	ctr->evntsel = (evntsel & 0x400000 ? P4_CCCR : 0) | P4_ALWAYS | P4_SELECT(selects[ctr->map]) |
		       (evntsel & ~0x4fffffULL);
	ctr->aux = (evntsel & 0x10000 ? P4_USER : 0) | (evntsel & 0x20000 ? P4_KERNEL : 0);
}

/* Bit i of arch_events; on AMD, absent ones are not known to be absent. */
static const u32 arch_events[] __attribute__((unused)) = {
	0x003c, 0x00c0, 0x013c, 0x4f2e, 0x412e, 0x00c4, 0x00c5,
};
#define absent_events_refused()	(info.cpu_type == VPERFCTR_CPU_INTEL_ARCH)

/* An evntsel bit that only the kernel sets: INT. */
#define NOT_THE_USERS	(1ULL << 20)

/* PC, INT, AnyThread, and undefined bits; AMD's event code is longer. */
static inline u64 refused_bits(void)
{
	return 7ULL << 19 | ~0ULL << (info.cpu_type == VPERFCTR_CPU_AMD ? 36 : 32);
}

/* Refused: nothing, no EN, no mode.  Accepted: 0x013d, which is not architectural. */
static const u64 refused_evntsels[] __attribute__((unused)) = {
	0, INSNS_USER & ~(1ULL << 22), INSNS_USER & ~(1ULL << 16),
};
static const u64 accepted_evntsels[] __attribute__((unused)) = {
	SEL_USER | 0x4003c, SEL_USER | 0x80003c, SEL_USER | 0x100003c, SEL_USER | 0x8000003c,
	SEL_USER | 0x013d,
};

/* The evntsel of a fixed counter that counts nothing. */
#define FIXED_NOTHING	0

/* The family of CPUID leaf 1, for example 0x10. */
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

/* True if the event needs two merged counters: some of AMD's, from family 17h on. */
static inline bool needs_merging(u64 evntsel)
{
	u64 event = (evntsel & 0xff) | (evntsel >> 24 & 0xf00);

	return info.cpu_type == VPERFCTR_CPU_AMD && cpu_family() >= 0x17 &&
	       (event == 0x003 || event == 0xfff);
}

/* True if the module may accept this; for the fuzzer. */
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
 * True if the module may accept this aux.  Among the tested processors, only Sandy
 * Bridge has registers of off-core responses.  Counters of one event must agree on a value.
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

#define RDPMC_SIGNAL	(has_rdpmc_instruction() ? SIGSEGV : SIGILL)
/* The same while no state uses the counters. */
#define RDPMC_FREE_SIGNAL	RDPMC_SIGNAL
/* The right to use RDPMC is the process's, also for threads that count nothing. */
#define RDPMC_WITHOUT_COUNTING	true

/*
 * While states hold the counters, perf_event_open() fails with EBUSY.  But events of
 * version 6 can be opened on kernels from 6.11 on, and do not count.  So it is where the NMI
 * watchdog keeps a counter.
 */
static inline bool perf_is_refused(void)
{
	unsigned int eax = 0, ebx, ecx, edx, major = 0, minor = 0;
	struct utsname name;

	if (info.watchdog_pmc | info.watchdog_fixed)
		return false;
	if (info.cpu_type != VPERFCTR_CPU_INTEL_ARCH || uname(&name) ||
	    sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return true;
	__get_cpuid(0xa, &eax, &ebx, &ecx, &edx);
	return (eax & 0xff) < 6 || major < 6 || (major == 6 && minor < 11);
}

#define PERF_IS_REFUSED	perf_is_refused()

/* True if perf cannot give a process the right to RDPMC while CPUs are counted. */
#define CPUS_STAY_HIDDEN	PERF_IS_REFUSED

/* True if one register starts and stops all counters: they then agree in kernel mode. */
static inline bool have_global_ctrl(void)
{
	unsigned int eax, ebx, ecx, edx;

	if (info.cpu_type == VPERFCTR_CPU_INTEL_P6 || has_cesr())
		return true;
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

/* Execute 2n instructions. */
static inline void loop(unsigned long n)
{
	asm volatile("1:	dec	%0\n"
		     "	jnz	1b" : "+r" (n) : : "cc");
}

#ifdef __x86_64__
/* Execute rounds * (2n + 5) instructions, with a sched_yield() in each round. */
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

/* The address of the interrupted instruction, and marked_loop()'s loop counter. */
#define CONTEXT_IP(uc)		((uc)->uc_mcontext.gregs[REG_RIP])
#define CONTEXT_COUNTER(uc)	((uc)->uc_mcontext.gregs[REG_RCX])
#else
/* As above. */
static inline void loop_yielding(unsigned long rounds, unsigned long n)
{
	asm volatile("1:	mov	%1, %%edx\n"
		     "2:	dec	%%edx\n"
		     "	jnz	2b\n"
		     "	mov	$158, %%eax\n"	/* __NR_sched_yield */
		     "	int	$0x80\n"
		     "	dec	%0\n"
		     "	jnz	1b"
		     : "+r" (rounds) : "r" (n)
		     : "eax", "edx", "memory", "cc");
}

#define CONTEXT_IP(uc)		((unsigned long)(uc)->uc_mcontext.gregs[REG_EIP])
#define CONTEXT_COUNTER(uc)	((unsigned long)(uc)->uc_mcontext.gregs[REG_ECX])
#endif

/* The event of instructions: its code, and libpfm4's name. */
#define INSNS_RAW	"r00c0"
#define INSNS_NAME	(info.cpu_type == VPERFCTR_CPU_AMD ? "RETIRED_INSTRUCTIONS" :	\
			 info.cpu_type == VPERFCTR_CPU_INTEL_P6 ? "INST_RETIRED" : "INST_RETIRED:ANY_P")

#endif /* GUEST_ARCH_X86_H */
