/* SPDX-License-Identifier: GPL-2.0 */
/* 5.11, and 5.10.5: an exec changes the mm with a semaphore held, which was a mutex before. */
#ifndef VPERFCTR_COMPAT_EXEC_LOCK_H
#define VPERFCTR_COMPAT_EXEC_LOCK_H

#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/sched/signal.h>

static inline bool perfctr_exec_locked(const struct task_struct *process)
{
#ifdef PERFCTR_HAVE_EXEC_UPDATE_LOCK
	return rwsem_is_locked(&process->signal->exec_update_lock);
#else
	return mutex_is_locked(&process->signal->exec_update_mutex);
#endif
}

#endif /* VPERFCTR_COMPAT_EXEC_LOCK_H */
