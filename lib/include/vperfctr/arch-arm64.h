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

/* The barrier, before which the compiler must have computed x. */
#define __vperfctr_barrier_value(x)	__asm__ __volatile__("" : "+r"(x) : : "memory")

/*
 * Loads before it are executed before those after it.  (gcc refuses __atomic_thread_fence()
 * with -fsanitize=thread.)
 */
#define __vperfctr_read_barrier()	__asm__ __volatile__("dmb ishld" : : : "memory")

/*
 * Return a number that identifies the calling thread among the living threads of the
 * process.  It is the address of the thread control block, which the psABI keeps in
 * the thread pointer.
 */
__VPERFCTR_HELPER uintptr_t __vperfctr_thread(void)
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

#define __VPERFCTR_READ(name) __extension__ ({					\
	uint64_t __vperfctr_value;						\
										\
	__asm__ __volatile__("mrs %0, " name : "=r"(__vperfctr_value));		\
	__vperfctr_value;							\
})

#define __VPERFCTR_COUNTER(n)	__VPERFCTR_READ("pmevcntr" #n "_el0")

/*
 * The counter's number is part of the instruction.  PMXEVCNTR_EL0 reads the counter that
 * PMSELR_EL0 selects, but needs a synchronization between the two accesses.
 */
__VPERFCTR_HELPER uint64_t __vperfctr_rdpmc(uint32_t map)
{
	switch (map) {
	case 0: return __VPERFCTR_COUNTER(0);
	case 1: return __VPERFCTR_COUNTER(1);
	case 2: return __VPERFCTR_COUNTER(2);
	case 3: return __VPERFCTR_COUNTER(3);
	case 4: return __VPERFCTR_COUNTER(4);
	case 5: return __VPERFCTR_COUNTER(5);
	case 6: return __VPERFCTR_COUNTER(6);
	case 7: return __VPERFCTR_COUNTER(7);
	case 8: return __VPERFCTR_COUNTER(8);
	case 9: return __VPERFCTR_COUNTER(9);
	case 10: return __VPERFCTR_COUNTER(10);
	case 11: return __VPERFCTR_COUNTER(11);
	case 12: return __VPERFCTR_COUNTER(12);
	case 13: return __VPERFCTR_COUNTER(13);
	case 14: return __VPERFCTR_COUNTER(14);
	case 15: return __VPERFCTR_COUNTER(15);
	case 16: return __VPERFCTR_COUNTER(16);
	case 17: return __VPERFCTR_COUNTER(17);
	case 18: return __VPERFCTR_COUNTER(18);
	case 19: return __VPERFCTR_COUNTER(19);
	case 20: return __VPERFCTR_COUNTER(20);
	case 21: return __VPERFCTR_COUNTER(21);
	case 22: return __VPERFCTR_COUNTER(22);
	case 23: return __VPERFCTR_COUNTER(23);
	case 24: return __VPERFCTR_COUNTER(24);
	case 25: return __VPERFCTR_COUNTER(25);
	case 26: return __VPERFCTR_COUNTER(26);
	case 27: return __VPERFCTR_COUNTER(27);
	case 28: return __VPERFCTR_COUNTER(28);
	case 29: return __VPERFCTR_COUNTER(29);
	case 30: return __VPERFCTR_COUNTER(30);
	case VPERFCTR_FIXED: return __VPERFCTR_READ("pmccntr_el0");
	default: return 0;
	}
}

/*
 * Read a counter when it has counted all instructions before, as exactly as the processor counts.
 * Without the barrier it may be read before these have ended.
 */
__VPERFCTR_HELPER uint64_t __vperfctr_rdpmc_ordered(uint32_t map)
{
	__asm__ __volatile__("isb" : : : "memory");
	return __vperfctr_rdpmc(map);
}

__VPERFCTR_HELPER uint64_t __vperfctr_rdtsc(void)
{
	return __VPERFCTR_READ("cntvct_el0");
}

/* Read the timer when the instructions before have ended. */
__VPERFCTR_HELPER uint64_t __vperfctr_rdtsc_ordered(void)
{
	__asm__ __volatile__("isb" : : : "memory");
	return __vperfctr_rdtsc();
}

#undef __VPERFCTR_COUNTER
#undef __VPERFCTR_READ

#endif /* VPERFCTR_ARCH_ARM64_H */
