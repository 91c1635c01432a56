// SPDX-License-Identifier: GPL-2.0
/*
 * The inline read as another compiler makes it, or for other options: the Makefile builds this
 * file, which is C and C++, once for each.  BY names the one.
 */
#include <stdint.h>
#include <vperfctr.h>

#define NAME(n)			PASTE(BY, n)
#define PASTE(by, n)		PASTE_(by, n)
#define PASTE_(by, n)		reads_by_##by##_##n

#ifdef __cplusplus
extern "C" {
#endif

static inline uint64_t now(void)
{
	uint32_t low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return low | (uint64_t)high << 32;
}

/* Put the times of that many executions of the statement into an array. */
#define READS(n, statement)							\
void NAME(n)(struct vperfctr *v, uint64_t *time, unsigned int repeats);		\
void NAME(n)(struct vperfctr *v, uint64_t *time, unsigned int repeats)		\
{										\
	uint64_t values[4] = { 0, 0, 0, 0 };					\
	unsigned int i;								\
										\
	for (i = 0; i < repeats; i++) {						\
		uint64_t t = now();						\
										\
		statement;							\
		time[i] = now() - t;						\
		asm volatile("" : : "r" (values), "r" (v) : "memory");		\
	}									\
}

READS(0, (void)v)
READS(1, vperfctr_read(v, 0, values, 1))
READS(4, vperfctr_read(v, 0, values, 4))

#ifdef __cplusplus
}
#endif
