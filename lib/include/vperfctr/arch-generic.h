/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A processor whose counters cannot be read in user mode: the kernel reads them. */
#ifndef VPERFCTR_ARCH_GENERIC_H
#define VPERFCTR_ARCH_GENERIC_H

#define VPERFCTR_HAVE_RDPMC	0
#define VPERFCTR_HAVE_RDTSC	0

#define __vperfctr_barrier()	__asm__ __volatile__("" : : : "memory")
/* Loads before it are executed before those after it. */
#define __vperfctr_read_barrier()	__sync_synchronize()
#define __vperfctr_barrier_value(x)	__vperfctr_barrier()

/* All reads go to the kernel, which knows the thread. */
__VPERFCTR_HELPER uintptr_t __vperfctr_thread(void)
{
	return 0;
}

#define __vperfctr_thread_xor(x, other)	((void)((x) = (other)))

#define __VPERFCTR_FLIP(word, flips)	((word) ^ (flips))

/* Never called: with them the same source compiles everywhere. */
__VPERFCTR_HELPER uint64_t __vperfctr_rdpmc(uint32_t map)
{
	(void)map;
	return 0;
}

#define __vperfctr_rdpmc_ordered(map)	__vperfctr_rdpmc(map)
#define __vperfctr_rdtsc_ordered()	__vperfctr_rdtsc()

__VPERFCTR_HELPER uint64_t __vperfctr_rdtsc(void)
{
	return 0;
}

#endif /* VPERFCTR_ARCH_GENERIC_H */
