/* SPDX-License-Identifier: GPL-2.0 */
/* The arguments of tracepoints' probes. */
#ifndef VPERFCTR_COMPAT_TRACEPOINT_H
#define VPERFCTR_COMPAT_TRACEPOINT_H

#include <linux/tracepoint.h>

/* 6.16: sched_process_exit reports whether the whole group is dead. */
#ifndef PERFCTR_HAVE_PROBE_EXIT_GROUP_DEAD
#define PERFCTR_PROBE_EXIT_ARGS	void *unused, struct task_struct *task
#else
#define PERFCTR_PROBE_EXIT_ARGS	void *unused, struct task_struct *task, bool group_dead
#endif

/* 5.18: sched_switch has the state of the previous task. */
#ifndef PERFCTR_HAVE_PROBE_SWITCH_STATE
#define PERFCTR_PROBE_SWITCH_ARGS	void *unused, bool preempt, struct task_struct *prev, \
					struct task_struct *next
#else
#define PERFCTR_PROBE_SWITCH_ARGS	void *unused, bool preempt, struct task_struct *prev, \
					struct task_struct *next, unsigned int prev_state
#endif

#endif /* VPERFCTR_COMPAT_TRACEPOINT_H */
