/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading the counters and the TSC in user mode: x86, 32 and 64 bit. */
#ifndef VPERFCTR_ARCH_X86_H
#define VPERFCTR_ARCH_X86_H

#define VPERFCTR_HAVE_RDPMC	1
#define VPERFCTR_HAVE_RDTSC	1

/*
 * The reader and whoever changes the page under it, the kernel at a context
 * switch, are one thread: the compiler must keep the order, the processor does.
 */
#define __vperfctr_barrier()	__asm__ __volatile__("" : : : "memory")

/*
 * The same, and x has been computed by now: else the compiler keeps every part
 * of it in a register across the barrier, to compute it later.
 */
#ifdef __x86_64__
#define __vperfctr_barrier_value(x)	__asm__ __volatile__("" : "+r"(x) : : "memory")
#else
#define __vperfctr_barrier_value(x)	__vperfctr_barrier()
#endif

/*
 * The calling thread: a number that no two living threads of a process have in common.  It is the
 * address of its thread control block, which the psABIs put at offset 0 of the segment.
 */
static inline uintptr_t __vperfctr_thread(void)
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
 * Into x its bits that differ from another's, which is an lvalue: 0 if it is the same.
 * A barrier.  Compilers would use an instruction more, and a register that RDPMC changes.
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

/* A foreign thread may read counters, if its process may: but not those that it thinks. */
#define __VPERFCTR_FLIP(word, flips)	((word) ^ (flips))

/* Both instructions clear the upper halves where registers have 64 bits. */
static inline uint64_t __vperfctr_rdpmc(uint32_t map)
{
	unsigned long lo, hi;

	__asm__ __volatile__("rdpmc" : "=a"(lo), "=d"(hi) : "c"(map));
	return lo | (uint64_t)hi << 32;
}

static inline uint64_t __vperfctr_rdtsc(void)
{
	unsigned long lo, hi;

	__asm__ __volatile__("rdtsc" : "=a"(lo), "=d"(hi));
	return lo | (uint64_t)hi << 32;
}

#endif /* VPERFCTR_ARCH_X86_H */
