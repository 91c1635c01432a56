/* SPDX-License-Identifier: GPL-2.0 */
/* 6.13: hrtimer_setup() replaces hrtimer_init() and sets the function. */
#ifndef VPERFCTR_COMPAT_HRTIMER_H
#define VPERFCTR_COMPAT_HRTIMER_H

#include <linux/hrtimer.h>

#ifndef PERFCTR_HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

#endif /* VPERFCTR_COMPAT_HRTIMER_H */
