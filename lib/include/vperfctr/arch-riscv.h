/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Read the counters and the timer in user mode: 64-bit RISC-V. */
#ifndef VPERFCTR_ARCH_RISCV_H
#define VPERFCTR_ARCH_RISCV_H

#define VPERFCTR_HAVE_RDPMC	1
#define VPERFCTR_HAVE_RDTSC	1

/*
 * The kernel changes the page at a context switch of the very thread that reads it.
 * So only the compiler must keep the order: a hart sees its own accesses in order, and reads
 * CSRs in program order.
 */
#define __vperfctr_barrier()	__asm__ __volatile__("" : : : "memory")

/* The barrier, before which the compiler must have computed x. */
#define __vperfctr_barrier_value(x)	__asm__ __volatile__("" : "+r"(x) : : "memory")

/*
 * Loads before it are executed before those after it.  (gcc refuses __atomic_thread_fence()
 * with -fsanitize=thread.)
 */
#define __vperfctr_read_barrier()	__asm__ __volatile__("fence r,r" : : : "memory")

/*
 * Return a number that identifies the calling thread among the living threads of the
 * process: the thread pointer, which the psABI keeps in tp.
 */
__VPERFCTR_HELPER uintptr_t __vperfctr_thread(void)
{
	uintptr_t thread;

	__asm__ __volatile__("mv %0, tp" : "=r"(thread));
	return thread;
}

/* Set x to the bits in which this thread's number differs from other.  A barrier. */
#define __vperfctr_thread_xor(x, other)						\
	__asm__ __volatile__("xor %0, tp, %1" : "=r"(x) : "r"(other) : "memory")

/*
 * scounteren is per thread, so a foreign thread may fault when it reads a counter: for it the
 * counters do not run.
 */
#define __VPERFCTR_FLIP(word, flips)	((flips) ? 0 : (word))

#define __VPERFCTR_READ(csr) __extension__ ({					\
	uint64_t __vperfctr_value;						\
										\
	__asm__ __volatile__("csrr %0, " #csr : "=r"(__vperfctr_value));	\
	__vperfctr_value;							\
})

/*
 * The CSR's number is part of the instruction, so jump to one of them: to those of hpmcounter3
 * to 31 by general counters, and to cycle and instret by fixed ones, 32 and 33 of the table.
 * No helper: without optimization each of many copies would have the table, and branches would
 * not reach across them.
 */
static inline uint64_t __vperfctr_rdpmc(uint32_t map)
{
	uint64_t entry = map | map >> 25, value;

	entry &= 63;
	if (entry > 33)
		return 0;
	__asm__ __volatile__(".option push\n\t"
			     ".option norvc\n\t"
			     "auipc	%0, 0\n\t"
			     "add	%0, %0, %1\n\t"
			     "jr	12(%0)\n\t"
			     /* clang's assembler takes a number for a CSR, but no symbol. */
			     ".irp	csr, 0xc03, 0xc04, 0xc05, 0xc06, 0xc07, 0xc08, 0xc09, 0xc0a, "
			     "0xc0b, 0xc0c, 0xc0d, 0xc0e, 0xc0f, 0xc10, 0xc11, 0xc12, 0xc13, "
			     "0xc14, 0xc15, 0xc16, 0xc17, 0xc18, 0xc19, 0xc1a, 0xc1b, 0xc1c, "
			     "0xc1d, 0xc1e, 0xc1f\n\t"
			     "csrr	%0, \\csr\n\t"
			     "j		99f\n\t"
			     ".endr\n\t"
			     ".rept	3\n\t"
			     "li	%0, 0\n\t"
			     "j		99f\n\t"
			     ".endr\n\t"
			     "csrr	%0, 0xc00\n\t"
			     "j		99f\n\t"
			     "csrr	%0, 0xc02\n\t"
			     "99:\n\t"
			     ".option pop"
			     : "=&r"(value) : "r"(entry * 8));
	return value;
}

/* A hart reads CSRs in program order. */
#define __vperfctr_rdpmc_ordered(map)	__vperfctr_rdpmc(map)
#define __vperfctr_rdtsc_ordered()	__vperfctr_rdtsc()

__VPERFCTR_HELPER uint64_t __vperfctr_rdtsc(void)
{
	return __VPERFCTR_READ(0xc01);
}

#undef __VPERFCTR_READ

#endif /* VPERFCTR_ARCH_RISCV_H */
