// SPDX-License-Identifier: GPL-2.0
/* Permissions of a caller: to count kernel mode, and to use another thread's or user's state. */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/jobctl.h>
#include <linux/uidgid.h>

#include "compat/traced.h"
#include "permission.h"
#include "state.h"

static bool allow_kernel;
module_param(allow_kernel, bool, 0644);
MODULE_PARM_DESC(allow_kernel, "let every user of the device count kernel mode");

/* True if the caller may count kernel mode.  Otherwise the caller of this function refuses that. */
bool vperfctr_may_count_kernel(void)
{
	return READ_ONCE(allow_kernel) || perfmon_capable();
}

/* The same where nothing is refused, and so without a denial in the audit log. */
bool vperfctr_could_count_kernel(void)
{
	return READ_ONCE(allow_kernel) || vperfctr_may_disturb();
}

/*
 * True if the caller may count all CPUs, and so need not wait before it disturbs them.  This is
 * perfmon_capable() without a denial in the audit log: no call is refused.
 */
bool vperfctr_may_disturb(void)
{
	return ns_capable_noaudit(&init_user_ns, CAP_PERFMON) ||
	       ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN);
}

/*
 * True if `monitor` has the task stopped under ptrace.  This is exact in a remote call
 * and under stop_machine().  Elsewhere it may be outdated at once, and serves to refuse most
 * other callers early.
 */
bool vperfctr_may_monitor(const struct task_struct *task, const struct task_struct *monitor)
{
	return task->ptrace && rcu_access_pointer(task->parent) == monitor &&
	       task_is_traced(task);
}

static bool is_same_user(const struct cred *a, const struct cred *b)
{
	return uid_eq(a->uid, b->uid) && uid_eq(a->euid, b->euid) && uid_eq(a->suid, b->suid) &&
	       a->user_ns == b->user_ns;
}

/*
 * True if the caller is the user who made the state, or may count all users in the
 * namespace of that one.  The state's thread may have become another user since: that one
 * must not see, stop or charge what the creator counts.
 *
 * Real, effective and saved ids must be the same.  A set-user-id program runs as the user
 * who started it, by some of them, and has counted with more rights than that user's.
 *
 * Context: RCU, and the state is attached; or the state has STATE_GLOBAL.
 */
bool vperfctr_may_use(const struct vperfctr_state *st)
{
	return vperfctr_may_use_of(st->creator);
}

/*
 * True if the caller is the user with these credentials, or may count all users in the
 * namespace of that user: see vperfctr_may_use().
 */
bool vperfctr_may_use_of(const struct cred *creator)
{
	return is_same_user(current_cred(), creator) ||
	       ns_capable_noaudit(creator->user_ns, CAP_PERFMON) ||
	       ns_capable_noaudit(creator->user_ns, CAP_SYS_ADMIN);
}

/*
 * Check that the caller may have a descriptor of a state that it has found.
 *
 * Return: 0; -EPERM; -ENOENT if the state has been detached since.
 */
int vperfctr_check_open(const struct vperfctr_state *st)
{
	int err = 0;

	rcu_read_lock();
	if (!READ_ONCE(st->owner) && !test_bit(STATE_GLOBAL, &st->bits))
		err = -ENOENT;
	else if (!vperfctr_may_use(st))
		err = -EPERM;
	rcu_read_unlock();
	return err;
}

/*
 * The slow path of vperfctr_check_access().  It also keeps holders of a descriptor from
 * interrupting the owner at will.
 */
int vperfctr_check_user(struct vperfctr_state *st)
{
	struct task_struct *owner;
	int err = 0;

	/* A detached state's creator is freed a grace period later, or not before the state. */
	rcu_read_lock();
	owner = READ_ONCE(st->owner);
	if (!owner)
		err = -ESRCH;
	else if (owner == current ? vperfctr_is_locked(st) : !vperfctr_may_monitor(owner, current))
		err = -EPERM;
	else if (!vperfctr_may_use(st))
		err = -EPERM;
	rcu_read_unlock();
	return err;
}

/*
 * Check that the caller may UNLINK a state.  A thread that has a descriptor may give the state
 * up, whatever user it has become, to make one of its own.
 */
int vperfctr_check_unlink(struct vperfctr_state *st)
{
	if (READ_ONCE(st->owner) == current)
		return vperfctr_is_locked(st) ? -EPERM : 0;
	return vperfctr_check_access(st);
}
