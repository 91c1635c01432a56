// SPDX-License-Identifier: GPL-2.0
/*
 * Doing things to another thread's state.
 *
 * A monitor's thread is stopped under its ptrace, but SIGKILL can wake it at
 * any moment, and its list of notifiers has no lock that we could take.  So
 * what changes a state of another thread happens under stop_machine(): no
 * thread runs anywhere, each has been through its sched_out, and none is in
 * the middle of changing its list, as that is done with preemption disabled.
 * What was checked there stays true until the change is made.
 */
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/sched.h>
#include <linux/stop_machine.h>

#include "state.h"

/* Has this thread been, or is it about to be, through its exit probe? */
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

	return vperfctr_check_monitor(st) ?: stop_machine(apply_remote, &call, NULL);
}

/* ---- open --------------------------------------------------------------- */

struct remote_open {
	struct task_struct *task;
	struct task_struct *monitor;
	struct vperfctr_state *st;		/* to be attached; NULL: find what there is */
	bool kernel;			/* what was found counts kernel mode */
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
 * Attach *st to a thread that has no state (`creat`), or find the state that
 * it has, with a reference.  The thread is current or stopped under current's
 * ptrace.  May sleep.
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
		/* As above; a dead thread is to be called dead, though. */
		if (!vperfctr_may_monitor(task, current))
			return is_ending(task) ? -ESRCH : -EPERM;
		err = stop_machine(open_remote, &open, NULL);
		if (!err)
			*st = open.st;
	}
	/*
	 * A monitor's control must not tell the thread what it may not count itself,
	 * nor go on for ever because that has the state as well.
	 */
	if (!err && open.kernel && !vperfctr_may_count_kernel()) {
		vperfctr_put(*st);
		return -EPERM;
	}
	return err;
}

/* ---- detaching what nobody wants any more ------------------------------- */

static int detach_abandoned(void *arg)
{
	struct vperfctr_state *st = arg;

	/* The owner may have ended, or somebody else have opened it, since. */
	if (!st->owner || atomic_read(&st->files))
		return 0;
	vperfctr_detach(st, false);
	return 1;
}

/* A transient state has lost its last descriptor.  May sleep. */
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

/* All other CPUs stand still for about a microsecond for each. */
#define DISSOLVE_AT_ONCE	64

struct dissolve {
	struct vperfctr_state *root;
	struct list_head members;
};

static int dissolve(void *arg)
{
	struct dissolve *d = arg;
	struct vperfctr_state *st, *next;
	unsigned int n = 0;

	/* Detaching takes a member off the list; no lock is needed to look at it here. */
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

	/* So that this ends, however fast members fork. */
	set_bit(STATE_CLOSED, &root->bits);
	do {
		stop_machine(dissolve, &d, NULL);
		list_for_each_entry_safe(st, next, &d.members, family) {
			list_del_init(&st->family);
			vperfctr_finish_detach(st);
		}
		cond_resched();
	} while (!list_empty(&root->family));
	clear_bit(STATE_CLOSED, &root->bits);
}
