/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Read the counters and the generic timer in user mode: 64-bit Arm. */
#ifndef VPERFCTR_ARCH_ARM64_H
#define VPERFCTR_ARCH_ARM64_H

#define VPERFCTR_HAVE_RDPMC	1
#define VPERFCTR_HAVE_RDTSC	1

/*
 * The kernel changes the page at a context switch of the very thread that reads it.
 * So only the compiler must keep the order: for the processor, taking an interrupt
 * and returning from it are synchronization events.
 */
#define __vperfctr_barrier()	__asm__ __volatile__("" : : : "memory")

/* The same, and x must have been computed before. */
#define __vperfctr_barrier_value(x)	__asm__ __volatile__("" : "+r"(x) : : "memory")

/*
 * Return a number that identifies the calling thread among the living threads of the
 * process: the address of its thread control block, which the psABI keeps in the
 * thread pointer.
 */
static inline uintptr_t __vperfctr_thread(void)
{
	uintptr_t thread;

	__asm__ __volatile__("mrs %0, tpidr_el0" : "=r"(thread));
	return thread;
}

/* Set x to the bits in which this thread's number differs from other.  A barrier. */
#define __vperfctr_thread_xor(x, other) do {					\
	__asm__ __volatile__("mrs %0, tpidr_el0" : "=r"(x) : : "memory");	\
	(x) ^= (other);								\
} while (0)

/*
 * PMUSERENR_EL0 is per thread, so a foreign thread may fault when it reads a counter: for
 * it the counters do not run.
 */
#define __VPERFCTR_FLIP(word, flips)	((flips) ? 0 : (word))

#define __VPERFCTR_READ(name, value)	__asm__ __volatile__("mrs %0, " name : "=r"(value))

#define __VPERFCTR_CASE(n)	case n: __VPERFCTR_READ("pmevcntr" #n "_el0", value); break;

/*
 * The counter's number is part of the instruction.  PMXEVCNTR_EL0 reads the counter that
 * PMSELR_EL0 selects, but needs a synchronization between the two accesses.
 */
static inline uint64_t __vperfctr_rdpmc(uint32_t map)
{
	uint64_t value = 0;

	switch (map) {
	__VPERFCTR_CASE(0)
	__VPERFCTR_CASE(1)
	__VPERFCTR_CASE(2)
	__VPERFCTR_CASE(3)
	__VPERFCTR_CASE(4)
	__VPERFCTR_CASE(5)
	__VPERFCTR_CASE(6)
	__VPERFCTR_CASE(7)
	__VPERFCTR_CASE(8)
	__VPERFCTR_CASE(9)
	__VPERFCTR_CASE(10)
	__VPERFCTR_CASE(11)
	__VPERFCTR_CASE(12)
	__VPERFCTR_CASE(13)
	__VPERFCTR_CASE(14)
	__VPERFCTR_CASE(15)
	__VPERFCTR_CASE(16)
	__VPERFCTR_CASE(17)
	__VPERFCTR_CASE(18)
	__VPERFCTR_CASE(19)
	__VPERFCTR_CASE(20)
	__VPERFCTR_CASE(21)
	__VPERFCTR_CASE(22)
	__VPERFCTR_CASE(23)
	__VPERFCTR_CASE(24)
	__VPERFCTR_CASE(25)
	__VPERFCTR_CASE(26)
	__VPERFCTR_CASE(27)
	__VPERFCTR_CASE(28)
	__VPERFCTR_CASE(29)
	__VPERFCTR_CASE(30)
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

#undef __VPERFCTR_CASE
#undef __VPERFCTR_READ

#endif /* VPERFCTR_ARCH_ARM64_H */
