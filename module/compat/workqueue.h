/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 6.17: a workqueue says that it belongs to CPUs; before, it did unless it was WQ_UNBOUND.
 * That of the system which is unbound has another name, of which 7.x warns.
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
