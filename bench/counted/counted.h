/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The compiler includes this file before each source of the module, for a build that
 * counts what it does to the rest of the machine: see counted.c.
 *
 * A lock is global unless it belongs to one state or to one process.  So a new lock counts
 * as global until its name is added here.
 */
#ifndef BENCH_COUNTED_H
#define BENCH_COUNTED_H

#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/stop_machine.h>
#include <linux/string.h>

void counted_begin(void);
void counted_end(void);
int counted_call_single(int cpu, smp_call_func_t func, void *info, int wait);
void counted_call_mask(const struct cpumask *mask, smp_call_func_t func, void *info, bool wait);
void counted_call_cond(smp_cond_func_t cond, smp_call_func_t func, void *info, bool wait);
int counted_stop_machine(cpu_stop_fn_t fn, void *data, const struct cpumask *cpus);

#ifndef COUNTED_ITSELF

/* Constant for the compiler. */
#define counted_is_global(name)			\
	(__builtin_strncmp(name, "&st->", 5) &&	\
	 __builtin_strncmp(name, "&root->", 7) &&	\
	 __builtin_strncmp(name, "&user->", 7))

#define counted_acquired(name)			\
do {						\
	if (counted_is_global(name))		\
		counted_begin();		\
} while (0)

#define counted_released(name)			\
do {						\
	if (counted_is_global(name))		\
		counted_end();			\
} while (0)

#undef raw_spin_lock
#define raw_spin_lock(l)			\
do {						\
	_raw_spin_lock(l);			\
	counted_acquired(#l);			\
} while (0)

#undef raw_spin_unlock
#define raw_spin_unlock(l)			\
do {						\
	counted_released(#l);			\
	_raw_spin_unlock(l);			\
} while (0)

#undef raw_spin_lock_irq
#define raw_spin_lock_irq(l)			\
do {						\
	_raw_spin_lock_irq(l);			\
	counted_acquired(#l);			\
} while (0)

#undef raw_spin_unlock_irq
#define raw_spin_unlock_irq(l)			\
do {						\
	counted_released(#l);			\
	_raw_spin_unlock_irq(l);		\
} while (0)

#undef raw_spin_lock_irqsave
#define raw_spin_lock_irqsave(l, flags)		\
do {						\
	flags = _raw_spin_lock_irqsave(l);	\
	counted_acquired(#l);			\
} while (0)

#undef raw_spin_unlock_irqrestore
#define raw_spin_unlock_irqrestore(l, flags)	\
do {						\
	counted_released(#l);			\
	_raw_spin_unlock_irqrestore(l, flags);	\
} while (0)

#define spin_lock(l)				\
do {						\
	(spin_lock)(l);				\
	counted_acquired(#l);			\
} while (0)

#define spin_unlock(l)				\
do {						\
	counted_released(#l);			\
	(spin_unlock)(l);			\
} while (0)

#undef mutex_lock
#define mutex_lock(l)				\
do {						\
	(mutex_lock)(l);			\
	counted_acquired(#l);			\
} while (0)

#define mutex_unlock(l)				\
do {						\
	counted_released(#l);			\
	(mutex_unlock)(l);			\
} while (0)

#undef mutex_lock_killable
#define mutex_lock_killable(l)			\
({						\
	int counted_err = (mutex_lock_killable)(l);	\
	if (!counted_err)			\
		counted_acquired(#l);		\
	counted_err;				\
})

#define refcount_dec_and_mutex_lock(r, l)	\
({						\
	bool counted_last = (refcount_dec_and_mutex_lock)(r, l);	\
	if (counted_last)			\
		counted_acquired(#l);		\
	counted_last;				\
})

#define smp_call_function_single	counted_call_single
#define on_each_cpu_mask		counted_call_mask
#define on_each_cpu_cond		counted_call_cond
#define stop_machine			counted_stop_machine

#endif /* COUNTED_ITSELF */

#endif /* BENCH_COUNTED_H */
