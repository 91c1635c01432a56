/* SPDX-License-Identifier: GPL-2.0 */
/* 6.16: the tracepoint sched_process_exit reports whether the whole group is dead. */
#ifndef VPERFCTR_COMPAT_TRACEPOINT_H
#define VPERFCTR_COMPAT_TRACEPOINT_H

#include <linux/tracepoint.h>

#ifndef PERFCTR_HAVE_PROBE_EXIT_GROUP_DEAD
#define PERFCTR_PROBE_EXIT_ARGS	void *unused, struct task_struct *task
#else
#define PERFCTR_PROBE_EXIT_ARGS	void *unused, struct task_struct *task, bool group_dead
#endif

#endif /* VPERFCTR_COMPAT_TRACEPOINT_H */
