/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Read the counters and the TSC in user mode: x86, 32 and 64 bits. */
#ifndef VPERFCTR_ARCH_X86_H
#define VPERFCTR_ARCH_X86_H

#define VPERFCTR_HAVE_RDPMC	1
#define VPERFCTR_HAVE_RDTSC	1

/*
 * The kernel changes the page at a context switch of the very thread that reads it.
 * So only the compiler must keep the order.
 */
#define __vperfctr_barrier()	__asm__ __volatile__("" : : : "memory")

/*
 * The barrier, before which the compiler must have computed x.  Otherwise it keeps each
 * part of x in a register across the barrier and computes x later.
 */
#ifdef __x86_64__
#define __vperfctr_barrier_value(x)	__asm__ __volatile__("" : "+r"(x) : : "memory")
#else
#define __vperfctr_barrier_value(x)	__vperfctr_barrier()
#endif

/*
 * Loads before it are executed before those after it: the processor keeps their order.  (gcc
 * refuses __atomic_thread_fence() with -fsanitize=thread.)
 */
#define __vperfctr_read_barrier()	__vperfctr_barrier()

/*
 * Return a number that identifies the calling thread among the living threads of the
 * process.  It is the address of the thread control block, which the psABIs put at
 * offset 0 of the segment.
 */
__VPERFCTR_HELPER uintptr_t __vperfctr_thread(void)
{
	uintptr_t thread;

#ifdef __x86_64__
	__asm__ __volatile__("mov %%fs:0, %0" : "=r"(thread));
#else
	__asm__ __volatile__("mov %%gs:0, %0" : "=r"(thread));
#endif
	return thread;
}

/*
 * Set x to the bits in which this thread's number differs from other, an lvalue.  A
 * barrier.  Without asm, compilers use one more instruction, and a register that RDPMC
 * clobbers.
 */
#ifdef __x86_64__
#define __vperfctr_thread_xor(x, other) do {					\
	register uintptr_t __vperfctr_xored __asm__("r11");			\
	__asm__ __volatile__("mov %%fs:0, %0\n\txor %1, %0"			\
			     : "=&r"(__vperfctr_xored) : "m"(other) : "cc", "memory"); \
	(x) = __vperfctr_xored;							\
} while (0)
#else
#define __vperfctr_thread_xor(x, other)						\
	__asm__ __volatile__("mov %%gs:0, %0\n\txor %1, %0"			\
			     : "=&r"(x) : "m"(other) : "cc", "memory")
#endif

/* In a foreign thread RDPMC does not fault, but reads other counters than its owner's. */
#define __VPERFCTR_FLIP(word, flips)	((word) ^ (flips))

/* In 64-bit mode both instructions clear the upper halves of the registers. */
__VPERFCTR_HELPER uint64_t __vperfctr_rdpmc(uint32_t map)
{
	unsigned long lo, hi;

	__asm__ __volatile__("rdpmc" : "=a"(lo), "=d"(hi) : "c"(map));
	return lo | (uint64_t)hi << 32;
}

__VPERFCTR_HELPER uint64_t __vperfctr_rdtsc(void)
{
	unsigned long lo, hi;

	__asm__ __volatile__("rdtsc" : "=a"(lo), "=d"(hi));
	return lo | (uint64_t)hi << 32;
}

/*
 * Read a counter when it has counted all instructions before, or the TSC when they have ended.
 * RDPMC and RDTSC are ordered with no other instruction (SDM volume 2 and APM volume 3): they may
 * be executed before some have ended.  LFENCE waits for them.  32-bit processors need not have it.
 */
#ifdef __x86_64__
__VPERFCTR_HELPER uint64_t __vperfctr_rdpmc_ordered(uint32_t map)
{
	unsigned long lo, hi;

	__asm__ __volatile__("lfence\n\trdpmc" : "=a"(lo), "=d"(hi) : "c"(map) : "memory");
	return lo | (uint64_t)hi << 32;
}

__VPERFCTR_HELPER uint64_t __vperfctr_rdtsc_ordered(void)
{
	unsigned long lo, hi;

	__asm__ __volatile__("lfence\n\trdtsc" : "=a"(lo), "=d"(hi) : : "memory");
	return lo | (uint64_t)hi << 32;
}
#else
#define __vperfctr_rdpmc_ordered(map)	__vperfctr_rdpmc(map)
#define __vperfctr_rdtsc_ordered()	__vperfctr_rdtsc()
#endif

#endif /* VPERFCTR_ARCH_X86_H */
