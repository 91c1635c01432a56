/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 5.19: task_is_traced() takes no lock.  With PREEMPT_RT, older kernels take one and
 * enable interrupts, but the module calls it while all CPUs are stopped.
 */
#ifndef VPERFCTR_COMPAT_TRACED_H
#define VPERFCTR_COMPAT_TRACED_H

#include <linux/sched.h>
#include <linux/sched/jobctl.h>

#if IS_ENABLED(CONFIG_PREEMPT_RT) && !defined(JOBCTL_TRACED)
#error "vperfctr needs Linux 5.19 or later for PREEMPT_RT"
#endif

#endif /* VPERFCTR_COMPAT_TRACED_H */
