/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 6.17: a per-CPU workqueue has the flag WQ_PERCPU; before, every workqueue without
 * WQ_UNBOUND was one.  The unbound system workqueue has a new name, and 7.x warns of
 * the old one.
 */
#ifndef VPERFCTR_COMPAT_WORKQUEUE_H
#define VPERFCTR_COMPAT_WORKQUEUE_H

#include <linux/workqueue.h>

#ifndef PERFCTR_HAVE_WQ_PERCPU
#define WQ_PERCPU	0
#endif

#ifndef PERFCTR_HAVE_SYSTEM_DFL_WQ
#define system_dfl_wq	system_unbound_wq
#endif

#endif /* VPERFCTR_COMPAT_WORKQUEUE_H */
