// SPDX-License-Identifier: GPL-2.0
/*
 * Changes to another thread's state.
 *
 * A monitored thread is stopped under ptrace, but SIGKILL can wake it at any moment.
 * Its list of notifiers has no lock that the module can acquire.  So another
 * thread's state is changed only under stop_machine().  No thread runs then, and
 * each has been through its sched_out.  None is in the middle of a change of its list,
 * as preemption is disabled for that.  A condition that is checked there remains true
 * until the change is made.
 */
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/sched.h>
#include <linux/stop_machine.h>

#include "state.h"

/* True if this thread has passed its exit probe, or is about to. */
static bool is_ending(const struct task_struct *task)
{
	return task->exit_state || (task->flags & PF_EXITING);
}

/* ---- calls on a state --------------------------------------------------- */

struct remote_call {
	struct vperfctr_state *st;
	vperfctr_op *op;
	void *arg;
	struct task_struct *monitor;
};

static int apply_remote(void *arg)
{
	struct remote_call *call = arg;
	struct task_struct *owner = call->st->owner;

	if (!owner)
		return -ESRCH;
	if (!vperfctr_may_monitor(owner, call->monitor))
		return -EPERM;
	return call->op(call->st, call->arg);
}

/* See vperfctr_apply(). */
int vperfctr_apply_monitor(struct vperfctr_state *st, vperfctr_op *op, void *arg)
{
	struct remote_call call = { .st = st, .op = op, .arg = arg, .monitor = current };

	return vperfctr_check_user(st) ?: stop_machine(apply_remote, &call, NULL);
}

/* ---- open --------------------------------------------------------------- */

struct remote_open {
	struct task_struct *task;
	struct task_struct *monitor;
	struct vperfctr_state *st;	/* to be attached; NULL: find the state */
	bool kernel;			/* the state that was found counts kernel mode */
};

static int open_remote(void *arg)
{
	struct remote_open *open = arg;
	struct vperfctr_state *st;

	if (is_ending(open->task))
		return -ESRCH;
	if (!vperfctr_may_monitor(open->task, open->monitor))
		return -EPERM;
	st = vperfctr_of(open->task);
	if (open->st) {
		if (st)
			return -EEXIST;
		vperfctr_attach(open->st, open->task);
		return 0;
	}
	if (!st)
		return -ENOENT;
	vperfctr_get(st);
	open->st = st;
	open->kernel = st->cpu_state.control.kernel;
	return 0;
}

static int open_current(bool creat, struct vperfctr_state **st, bool *kernel)
{
	struct vperfctr_state *found;
	int err = 0;

	preempt_disable();
	found = vperfctr_of(current);
	if (creat && found) {
		err = -EEXIST;
	} else if (creat) {
		vperfctr_attach(*st, current);
	} else if (!found) {
		err = -ENOENT;
	} else {
		vperfctr_get(found);
		*st = found;
		*kernel = found->cpu_state.control.kernel;
	}
	preempt_enable();
	return err;
}

/*
 * Attach *st to a thread that has no state (`creat`), or store its state in *st, with a
 * reference.
 *
 * Context: may sleep.
 * Return: 0; -EEXIST or -ENOENT; -ESRCH if the thread is ending; -EPERM if it is neither
 * current nor stopped under current's ptrace, if the state counts kernel mode and current
 * may not, or if another user made the state; or an error of vperfctr_stop_ration().
 */
int vperfctr_open_thread(struct task_struct *task, bool creat, struct vperfctr_state **st)
{
	struct remote_open open = {
		.task = task,
		.monitor = current,
		.st = creat ? *st : NULL,
	};
	int err;

	if (task == current) {
		err = open_current(creat, st, &open.kernel);
	} else {
		/* The exact check is in open_remote(); a dead thread gets -ESRCH. */
		if (!vperfctr_may_monitor(task, current))
			return is_ending(task) ? -ESRCH : -EPERM;
		err = creat ? vperfctr_stop_ration((*st)->account) : 0;
		if (!err)
			err = stop_machine(open_remote, &open, NULL);
		if (!err)
			*st = open.st;
	}
	/*
	 * The thread must not read from a monitor's control what it may not count itself.
	 * A descriptor of the thread would also keep that control counting for ever.
	 */
	if (!err && open.kernel && !vperfctr_may_count_kernel())
		err = -EPERM;
	else if (!err && !creat)
		err = vperfctr_check_open(*st);
	else
		return err;
	if (err)
		vperfctr_put(*st);
	return err;
}

/* ---- detaching ---------------------------------------------------------- */

static int detach_abandoned(void *arg)
{
	struct vperfctr_state *st = arg;

	/* Since the last close, the owner may have ended, or the state been opened. */
	if (!st->owner || atomic_read(&st->files))
		return 0;
	vperfctr_detach(st, false);
	return 1;
}

/*
 * Detach a transient state that has lost its last descriptor.
 *
 * Context: may sleep.
 */
void vperfctr_detach_abandoned(struct vperfctr_state *st)
{
	struct task_struct *owner = READ_ONCE(st->owner);
	unsigned long flags;
	int detached;

	if (!owner)
		return;
	if (owner == current) {
		local_irq_save(flags);
		detached = detach_abandoned(st);
		local_irq_restore(flags);
	} else {
		detached = stop_machine(detach_abandoned, st, NULL);
	}
	if (detached)
		vperfctr_finish_detach(st);
}

/* Each member stops all CPUs for about a microsecond. */
#define DISSOLVE_AT_ONCE	64

struct dissolve {
	struct vperfctr_state *root;
	struct list_head members;
};

static int detach_some_members(void *arg)
{
	struct dissolve *d = arg;
	struct vperfctr_state *st, *next;
	unsigned int n = 0;

	/* Detaching removes a member from the list, which needs no lock here. */
	list_for_each_entry_safe(st, next, &d->root->family, family) {
		if (n++ == DISSOLVE_AT_ONCE)
			break;
		vperfctr_detach(st, false);
		list_add(&st->family, &d->members);
	}
	return 0;
}

/* See vperfctr_dissolve_family(). */
void vperfctr_dissolve_members(struct vperfctr_state *root)
{
	struct dissolve d = { .root = root, .members = LIST_HEAD_INIT(d.members) };
	struct vperfctr_state *st, *next;

	/* Admit no more members, so that this ends however fast they fork. */
	set_bit(STATE_CLOSED, &root->bits);
	do {
		stop_machine(detach_some_members, &d, NULL);
		list_for_each_entry_safe(st, next, &d.members, family) {
			list_del_init(&st->family);
			vperfctr_finish_detach(st);
		}
		cond_resched();
	} while (!list_empty(&root->family));
	clear_bit(STATE_CLOSED, &root->bits);
}
