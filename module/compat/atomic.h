/* SPDX-License-Identifier: GPL-2.0 */
/* 5.17: atomic64_read_acquire() compiles on 32 bits, too. */
#ifndef VPERFCTR_COMPAT_ATOMIC_H
#define VPERFCTR_COMPAT_ATOMIC_H

#include <linux/atomic.h>

#if BITS_PER_LONG == 32
static __always_inline s64 perfctr_atomic64_read_acquire(const atomic64_t *v)
{
	s64 value = atomic64_read(v);

	smp_mb();	/* more than an acquire: the caller's other half pairs with it */
	return value;
}

#undef atomic64_read_acquire
#define atomic64_read_acquire perfctr_atomic64_read_acquire
#endif

#endif /* VPERFCTR_COMPAT_ATOMIC_H */
