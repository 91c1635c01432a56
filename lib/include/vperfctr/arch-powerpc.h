/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Read the counters and the time base in user mode: POWER, and 32-bit PowerPC. */
#ifndef VPERFCTR_ARCH_POWERPC_H
#define VPERFCTR_ARCH_POWERPC_H

#define VPERFCTR_HAVE_RDPMC	1
#define VPERFCTR_HAVE_RDTSC	1

/*
 * The kernel changes the page at a context switch of the very thread that reads it.
 * So only the compiler must keep the order: a CPU sees its own accesses in order, and an
 * interrupt comes between two instructions as the program has them.
 */
#define __vperfctr_barrier()	__asm__ __volatile__("" : : : "memory")

/* The barrier, before which the compiler must have computed x. */
#define __vperfctr_barrier_value(x)	__asm__ __volatile__("" : "+r"(x) : : "memory")

/*
 * Loads before it are executed before those after it.  (gcc refuses __atomic_thread_fence()
 * with -fsanitize=thread.)
 */
#define __vperfctr_read_barrier()	__asm__ __volatile__("lwsync" : : : "memory")

/* The register in which the ABI keeps the thread pointer. */
#ifdef __powerpc64__
#define __VPERFCTR_THREAD	"13"
#else
#define __VPERFCTR_THREAD	"2"
#endif

/*
 * Return a number that identifies the calling thread among the living threads of the
 * process: the thread pointer.
 */
__VPERFCTR_HELPER uintptr_t __vperfctr_thread(void)
{
	uintptr_t thread;

	__asm__ __volatile__("mr %0, " __VPERFCTR_THREAD : "=r"(thread));
	return thread;
}

/* Set x to the bits in which this thread's number differs from other.  A barrier. */
#define __vperfctr_thread_xor(x, other)						\
	__asm__ __volatile__("xor %0, " __VPERFCTR_THREAD ", %1" : "=r"(x) : "r"(other) : "memory")

/*
 * The permission is per thread, so a foreign thread may fault when it reads a counter: for it
 * the counters do not run.
 */
#define __VPERFCTR_FLIP(word, flips)	((flips) ? 0 : (word))

#define __VPERFCTR_READ(spr) __extension__ ({					\
	unsigned long __vperfctr_value;						\
										\
	__asm__ __volatile__("mfspr %0, " #spr : "=r"(__vperfctr_value));	\
	__vperfctr_value;							\
})

/* The register's number is part of the instruction, so each has a case: UPMC1 to UPMC6. */
__VPERFCTR_HELPER uint64_t __vperfctr_rdpmc(uint32_t map)
{
	switch (map) {
#ifndef __powerpc64__
	case 0: return __VPERFCTR_READ(937);
	case 1: return __VPERFCTR_READ(938);
	case 2: return __VPERFCTR_READ(941);
	case 3: return __VPERFCTR_READ(942);
	case 4: return __VPERFCTR_READ(929);
	case 5: return __VPERFCTR_READ(930);
#else
	case 0: return __VPERFCTR_READ(771);
	case 1: return __VPERFCTR_READ(772);
	case 2: return __VPERFCTR_READ(773);
	case 3: return __VPERFCTR_READ(774);
	case VPERFCTR_FIXED: return __VPERFCTR_READ(775);
	case VPERFCTR_FIXED + 1: return __VPERFCTR_READ(776);
#endif
	}
	return 0;
}

/* Read a counter when the instructions before have completed, for which ISYNC waits. */
__VPERFCTR_HELPER uint64_t __vperfctr_rdpmc_ordered(uint32_t map)
{
	__asm__ __volatile__("isync" : : : "memory");
	return __vperfctr_rdpmc(map);
}

__VPERFCTR_HELPER uint64_t __vperfctr_rdtsc(void)
{
#ifdef __powerpc64__
	return __VPERFCTR_READ(268);
#else
	uint32_t high, low, again;

	/* The lower half may wrap between the reads. */
	do {
		__asm__ __volatile__("mftbu %0\n\tmftb %1\n\tmftbu %2"
				     : "=r"(high), "=r"(low), "=r"(again));
	} while (high != again);
	return (uint64_t)high << 32 | low;
#endif
}

/* Read the time base when the instructions before have completed. */
__VPERFCTR_HELPER uint64_t __vperfctr_rdtsc_ordered(void)
{
	__asm__ __volatile__("isync" : : : "memory");
	return __vperfctr_rdtsc();
}

#undef __VPERFCTR_READ

#endif /* VPERFCTR_ARCH_POWERPC_H */
