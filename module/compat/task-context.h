/* SPDX-License-Identifier: GPL-2.0 */
/* 6.2: a thread has one context for all its events; before, one for those of the hardware, too. */
#ifndef VPERFCTR_COMPAT_TASK_CONTEXT_H
#define VPERFCTR_COMPAT_TASK_CONTEXT_H

#include <linux/perf_event.h>
#include <linux/sched.h>

/* Return the context of a thread's hardware events, or NULL.  Context: RCU. */
static inline const struct perf_event_context *
perfctr_perf_task_context(const struct task_struct *task)
{
#if defined(PERFCTR_HAVE_PMU_CONTEXT_POINTERS) || defined(PERFCTR_HAVE_PMU_CONTEXTS)
	return READ_ONCE(task->perf_event_ctxp);
#else
	return READ_ONCE(task->perf_event_ctxp[perf_hw_context]);
#endif
}

#endif /* VPERFCTR_COMPAT_TASK_CONTEXT_H */
