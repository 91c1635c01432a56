/* SPDX-License-Identifier: GPL-2.0 */
/* 7.1: the property that a task may be dumped and traced is no longer its mm's. */
#ifndef VPERFCTR_COMPAT_DUMPABLE_H
#define VPERFCTR_COMPAT_DUMPABLE_H

#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/coredump.h>

#ifdef PERFCTR_HAVE_EXEC_STATE
#include <linux/sched/exec_state.h>

/* task_exec_state_get_dumpable() is not exported. */
static inline bool perfctr_current_dumpable(void)
{
	bool ret;

	rcu_read_lock();
	ret = READ_ONCE(rcu_dereference(current->exec_state)->dumpable) == TASK_DUMPABLE_OWNER;
	rcu_read_unlock();
	return ret;
}
#else
static inline bool perfctr_current_dumpable(void)
{
	return get_dumpable(current->mm) == SUID_DUMP_USER;
}
#endif

#endif /* VPERFCTR_COMPAT_DUMPABLE_H */
