/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading the counters and the generic timer in user mode: 64-bit Arm. */
#ifndef VPERFCTR_ARCH_ARM64_H
#define VPERFCTR_ARCH_ARM64_H

#define VPERFCTR_HAVE_RDPMC	1
#define VPERFCTR_HAVE_RDTSC	1

/*
 * The reader and whoever changes the page under it, the kernel at a context
 * switch, are one thread: the compiler must keep the order.  The processor does,
 * as taking an interrupt and returning from it are synchronizations.
 */
#define __vperfctr_barrier()	__asm__ __volatile__("" : : : "memory")

/* The same, and x has been computed by now. */
#define __vperfctr_barrier_value(x)	__asm__ __volatile__("" : "+r"(x) : : "memory")

/*
 * The calling thread: a number that no two living threads of a process have in
 * common.  It is the address of its thread control block, which the psABI has in
 * the thread pointer.
 */
static inline uintptr_t __vperfctr_thread(void)
{
	uintptr_t thread;

	__asm__ __volatile__("mrs %0, tpidr_el0" : "=r"(thread));
	return thread;
}

/* Into x its bits that differ from another's: 0 if it is the same.  A barrier. */
#define __vperfctr_thread_xor(x, other) do {					\
	__asm__ __volatile__("mrs %0, tpidr_el0" : "=r"(x) : : "memory");	\
	(x) ^= (other);								\
} while (0)

/* PMUSERENR_EL0 is a thread's own: for a foreign one it is as if the counters did not run. */
#define __VPERFCTR_FLIP(word, flips)	((flips) ? 0 : (word))

#define __VPERFCTR_READ(name, value)	__asm__ __volatile__("mrs %0, " name : "=r"(value))

/*
 * The number of a counter is part of the instruction.  (PMXEVCNTR_EL0, which reads
 * the one that PMSELR_EL0 selects, would take a synchronization between the two.)
 */
static inline uint64_t __vperfctr_rdpmc(uint32_t map)
{
	uint64_t value = 0;

	switch (map) {
	case 0:
		__VPERFCTR_READ("pmevcntr0_el0", value);
		break;
	case 1:
		__VPERFCTR_READ("pmevcntr1_el0", value);
		break;
	case 2:
		__VPERFCTR_READ("pmevcntr2_el0", value);
		break;
	case 3:
		__VPERFCTR_READ("pmevcntr3_el0", value);
		break;
	case 4:
		__VPERFCTR_READ("pmevcntr4_el0", value);
		break;
	case 5:
		__VPERFCTR_READ("pmevcntr5_el0", value);
		break;
	case 6:
		__VPERFCTR_READ("pmevcntr6_el0", value);
		break;
	case 7:
		__VPERFCTR_READ("pmevcntr7_el0", value);
		break;
	case 8:
		__VPERFCTR_READ("pmevcntr8_el0", value);
		break;
	case 9:
		__VPERFCTR_READ("pmevcntr9_el0", value);
		break;
	case 10:
		__VPERFCTR_READ("pmevcntr10_el0", value);
		break;
	case 11:
		__VPERFCTR_READ("pmevcntr11_el0", value);
		break;
	case 12:
		__VPERFCTR_READ("pmevcntr12_el0", value);
		break;
	case 13:
		__VPERFCTR_READ("pmevcntr13_el0", value);
		break;
	case 14:
		__VPERFCTR_READ("pmevcntr14_el0", value);
		break;
	case 15:
		__VPERFCTR_READ("pmevcntr15_el0", value);
		break;
	case 16:
		__VPERFCTR_READ("pmevcntr16_el0", value);
		break;
	case 17:
		__VPERFCTR_READ("pmevcntr17_el0", value);
		break;
	case 18:
		__VPERFCTR_READ("pmevcntr18_el0", value);
		break;
	case 19:
		__VPERFCTR_READ("pmevcntr19_el0", value);
		break;
	case 20:
		__VPERFCTR_READ("pmevcntr20_el0", value);
		break;
	case 21:
		__VPERFCTR_READ("pmevcntr21_el0", value);
		break;
	case 22:
		__VPERFCTR_READ("pmevcntr22_el0", value);
		break;
	case 23:
		__VPERFCTR_READ("pmevcntr23_el0", value);
		break;
	case 24:
		__VPERFCTR_READ("pmevcntr24_el0", value);
		break;
	case 25:
		__VPERFCTR_READ("pmevcntr25_el0", value);
		break;
	case 26:
		__VPERFCTR_READ("pmevcntr26_el0", value);
		break;
	case 27:
		__VPERFCTR_READ("pmevcntr27_el0", value);
		break;
	case 28:
		__VPERFCTR_READ("pmevcntr28_el0", value);
		break;
	case 29:
		__VPERFCTR_READ("pmevcntr29_el0", value);
		break;
	case 30:
		__VPERFCTR_READ("pmevcntr30_el0", value);
		break;
	case VPERFCTR_FIXED:
		__VPERFCTR_READ("pmccntr_el0", value);
		break;
	}
	return value;
}

static inline uint64_t __vperfctr_rdtsc(void)
{
	uint64_t value;

	__VPERFCTR_READ("cntvct_el0", value);
	return value;
}

#undef __VPERFCTR_READ

#endif /* VPERFCTR_ARCH_ARM64_H */
