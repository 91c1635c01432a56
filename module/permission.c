// SPDX-License-Identifier: GPL-2.0
/* Permissions of a caller: to count kernel mode, and to change another thread's state. */
#include <linux/capability.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/jobctl.h>

#include "compat/traced.h"
#include "state.h"

static bool allow_kernel;
module_param(allow_kernel, bool, 0644);
MODULE_PARM_DESC(allow_kernel, "let every user of the device count kernel mode");

bool vperfctr_may_count_kernel(void)
{
	return READ_ONCE(allow_kernel) || perfmon_capable();
}

/*
 * True if `monitor` has the task stopped under ptrace.  This is exact under
 * stop_machine().  Elsewhere it may be outdated at once, and serves to refuse most
 * other callers early.
 */
bool vperfctr_may_monitor(const struct task_struct *task, const struct task_struct *monitor)
{
	return task->ptrace && rcu_access_pointer(task->parent) == monitor &&
	       task_is_traced(task);
}

/*
 * The slow path of vperfctr_check_access().  It also keeps holders of a descriptor from
 * calling stop_machine() at will.
 */
int vperfctr_check_monitor(struct vperfctr_state *st)
{
	struct task_struct *owner;
	int err = 0;

	rcu_read_lock();
	owner = READ_ONCE(st->owner);
	if (!owner)
		err = -ESRCH;
	else if (owner != current && !vperfctr_may_monitor(owner, current))
		err = -EPERM;
	rcu_read_unlock();
	return err;
}
