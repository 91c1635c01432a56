/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 6.13: hrtimer_setup() replaces hrtimer_init() and sets the function.
 * 7.3: a header of its own defines the base of a timer, and <linux/hrtimer.h> only names it.
 * No kernel has hrtimer_is_queued_here().
 */
#ifndef VPERFCTR_COMPAT_HRTIMER_H
#define VPERFCTR_COMPAT_HRTIMER_H

#include <linux/hrtimer.h>
#ifdef PERFCTR_HAVE_HRTIMER_BASES
#include <linux/hrtimer_bases.h>
#endif
#include <linux/smp.h>

#ifndef PERFCTR_HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/*
 * True if this CPU's pinned timer is queued on this CPU.  When the CPU went offline, the
 * kernel moved the timer to another one, where it may still be queued.
 *
 * Context: interrupts disabled; only this CPU starts the timer.
 */
static inline bool hrtimer_is_queued_here(struct hrtimer *timer)
{
	return hrtimer_is_queued(timer) &&
	       READ_ONCE(timer->base)->cpu_base->cpu == smp_processor_id();
}

#endif /* VPERFCTR_COMPAT_HRTIMER_H */
