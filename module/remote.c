// SPDX-License-Identifier: GPL-2.0
/*
 * Changes to another thread's state.
 *
 * An operation on the state of another thread, the owner, is a remote call.  The caller
 * posts it in the state, sets `remote`, and interrupts the CPU on which the owner may
 * run.  It is executed once, under remote_lock with interrupts disabled, by
 *
 *	the interrupt, if it finds the owner as current.  This is the same context as that
 *	of the owner's own calls, which disable interrupts.
 *
 *	the owner's next switch-in, which sees that `remote` is set.
 *
 *	the caller, if neither has done it after the interrupt.  The owner does not run
 *	then.  If it is switched in meanwhile, it waits for remote_lock before its counters
 *	start and before it runs code of its own.
 *
 * Why the owner cannot run with counters while the caller executes the call:
 *
 *	caller			the CPU that switches to the owner
 *	------			----------------------------------
 *	remote = 1		on_rq = 1, cpu = this CPU (or by the CPU that woke it,
 *	smp_mb()		  under the run-queue lock)
 *	read on_rq, on_cpu, cpu	smp_mb__after_spinlock() in __schedule()
 *	interrupt that cpu	switch to the owner
 *				read remote in sched_in
 *
 * Either the switch-in sees `remote`, or the caller sees the thread on the run queue of
 * that CPU, and interrupts it.  If the interrupt then finds another thread as current, the
 * owner has been switched out there, and each later switch-in, anywhere, sees `remote`.
 * A thread that is neither on a run queue nor on a CPU needs no interrupt: on_rq is read
 * first, as a thread leaves the run queue only while it is on a CPU.  Interrupts are
 * disabled from the start of __schedule() to the switch, so the interrupt comes before
 * the owner's sched_out or after the switch.
 *
 * An offline CPU needs no interrupt either: no thread runs there, and one that comes to
 * run after it is online again sees `remote`.
 *
 * Between the switch and sched_in interrupts are enabled.  The counters must then not
 * start twice: see STATE_CHECK_STARTED.  Other interrupts may come there, too, while the
 * caller executes the call: see vperfctr_of_current().
 *
 * The kernel has no lock for the list of notifiers: see thread.c.  A thread changes its
 * list with preemption disabled, but not interrupts.  So an interrupt unlinks the notifier
 * of a detached state only where it has interrupted code that could be preempted.
 * Otherwise the owner does so when it is switched out.  To attach to another thread, all
 * CPUs are stopped: there is no state yet that could stop the thread.
 *
 * An owner that has never run is not on a run queue.  Its parent may be in the fork probe,
 * and give it another state as soon as this one is detached.
 */
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/stop_machine.h>

#include "account.h"
#include "permission.h"
#include "remote.h"
#include "state.h"
#include "thread.h"

/* True if this thread has passed its exit probe, or is about to. */
static bool is_ending(const struct task_struct *task)
{
	return task->exit_state || (task->flags & PF_EXITING);
}

/* ---- remote calls ------------------------------------------------------- */

struct vperfctr_call {
	vperfctr_op *op;
	void *arg;
	const struct task_struct *monitor;	/* NULL: the caller need not be one */
	int err;
	bool done;
	bool unlinked;		/* the caller must put the attachment */
	struct vperfctr_state *root;	/* of the state that was detached: the caller must put it */
};

/*
 * Execute a call that has not been executed.
 *
 * Context: remote_lock held, interrupts disabled; the owner is current, or excluded.
 */
static void execute_call(struct vperfctr_state *st, struct vperfctr_call *call, bool may_unlink)
{
	struct task_struct *owner = st->owner;

	call->done = true;
	if (!owner)
		call->err = -ESRCH;
	else if (call->monitor && !vperfctr_may_monitor(owner, call->monitor))
		call->err = -EPERM;
	else
		call->err = call->op(st, call->arg);
	if (call->err || st->owner)
		return;
	/* The notifier's removal, which may come before the caller goes on, forgets the root. */
	call->root = st->root;
	if (call->root)
		vperfctr_get(call->root);
	if (!may_unlink)
		return;
	/* The owner may be walking its list. */
	set_bit(STATE_LATE_FREE, &st->bits);
	call->unlinked = vperfctr_unlink_notifier(st, owner);
}

/*
 * Execute the call that waits, if there is one.  `may_unlink`: the owner is not in the
 * middle of a change of its list.
 *
 * Context: interrupts disabled; the owner is current.
 */
static void run_call(struct vperfctr_state *st, bool may_unlink, int subclass)
{
	struct vperfctr_call *call;

	raw_spin_lock_nested(&st->remote_lock, subclass);
	call = st->call;
	if (call && !call->done) {
		/* The counters may start. */
		WRITE_ONCE(st->remote, 0);
		execute_call(st, call, may_unlink);
		if (st->cpu >= 0)
			st->checks |= STATE_CHECK_STARTED;
	}
	raw_spin_unlock(&st->remote_lock);
}

void vperfctr_run_call(struct vperfctr_state *st, bool may_unlink)
{
	run_call(st, may_unlink, 0);
}

/*
 * Execute the call of a second state of current, while a call of the first one may be executed.
 *
 * Context: interrupts disabled.
 */
void vperfctr_run_other_call(struct vperfctr_state *st)
{
	run_call(st, false, SINGLE_DEPTH_NESTING);
}

static void interrupt_owner(void *arg)
{
	struct vperfctr_state *st = arg;

	/* True if the interrupted code could be preempted; false also if that is not known. */
	bool preemptible = IS_ENABLED(CONFIG_PREEMPT_COUNT) && preempt_count() == HARDIRQ_OFFSET;

	if (READ_ONCE(st->owner) == current)
		vperfctr_run_call(st, preemptible);
}

/* True if the thread may run or wait for a CPU.  See above. */
static bool may_run(const struct task_struct *task)
{
	if (READ_ONCE(task->on_rq))
		return true;
#ifdef CONFIG_SMP
	smp_rmb();	/* on_cpu is read last */
	return smp_load_acquire(&task->on_cpu);
#else
	return false;
#endif
}

/* Return the owner with a reference, or NULL if there is none.  Context: may sleep. */
static struct task_struct *get_owner(struct vperfctr_state *st)
{
	struct task_struct *owner;

	/* A task that was seen as owner is freed a grace period after it ended. */
	rcu_read_lock();
	owner = READ_ONCE(st->owner);
	if (owner)
		get_task_struct(owner);
	rcu_read_unlock();
	return owner;
}

/*
 * Call `op` for a state whose owner may be any thread.  If it detaches the state, the
 * caller must call vperfctr_finish_detach().
 *
 * Context: may sleep; the caller has a reference to the state.
 * Return: the result of `op`; -ESRCH if the state is detached; -EPERM if the call needs a
 * monitor and the caller is none.
 */
static int remote_call(struct vperfctr_state *st, struct vperfctr_call *call)
{
	struct task_struct *owner = get_owner(st);

	if (!owner)
		return -ESRCH;
	mutex_lock(&st->call_mutex);
	raw_spin_lock_irq(&st->remote_lock);
	st->call = call;
	WRITE_ONCE(st->remote, 1);
	raw_spin_unlock_irq(&st->remote_lock);

	smp_mb();	/* pairs with the one in __schedule(): see above */
	if (owner != current && may_run(owner) &&
	    smp_call_function_single(task_cpu(owner), interrupt_owner, st, 1))
		smp_rmb();	/* offline: what ran there before is visible */

	raw_spin_lock_irq(&st->remote_lock);
	if (!call->done)
		execute_call(st, call, true);
	st->call = NULL;
	/* An interrupt that does not see it set sees what the call has done. */
	smp_store_release(&st->remote, 0);
	raw_spin_unlock_irq(&st->remote_lock);
	mutex_unlock(&st->call_mutex);
	put_task_struct(owner);
	return call->err;
}

/* Do what remote_call() does, for an operation that detaches the state. */
static int remote_detach(struct vperfctr_state *st, struct vperfctr_call *call)
{
	int err = remote_call(st, call);

	if (!err)
		vperfctr_finish_detach(st, call->root);
	if (call->unlinked)
		vperfctr_put_attachment(st);
	if (call->root)
		vperfctr_put(call->root);
	return err;
}

/* Apply an operation for the caller, which must be the monitor.  See vperfctr_apply(). */
int vperfctr_apply_monitor(struct vperfctr_state *st, vperfctr_op *op, void *arg)
{
	struct vperfctr_call call = { .op = op, .arg = arg, .monitor = current };

	return vperfctr_check_user(st) ?: remote_call(st, &call);
}

/*
 * Call `op` for a state that may have any owner or none, on behalf of any thread.
 *
 * Context: may sleep.
 * Return: the result of `op`.
 */
int vperfctr_apply_any(struct vperfctr_state *st, vperfctr_op *op, void *arg)
{
	struct vperfctr_call call = { .op = op, .arg = arg };
	int err = -ESRCH;

	if (likely(READ_ONCE(st->owner) == current)) {
		local_irq_disable();
		smp_rmb();	/* pairs with vperfctr_unlink_notifier() */
		if (likely(st->owner == current))
			err = op(st, arg);
		local_irq_enable();
	} else {
		err = remote_call(st, &call);
	}
	if (likely(err != -ESRCH))
		return err;
	/* The state is detached for good.  The mutex excludes calls like this one. */
	mutex_lock(&st->call_mutex);
	local_irq_disable();
	smp_rmb();	/* pairs with forget_owner(): it has changed the state before */
	err = op(st, arg);
	local_irq_enable();
	mutex_unlock(&st->call_mutex);
	return err;
}

/* ---- open --------------------------------------------------------------- */

/*
 * Refuse early what vperfctr_open_thread() will refuse, before there is any cost for others.
 * The exact check is in open_remote().
 *
 * Return: 0; -EEXIST, -EMLINK, -ESRCH or -EPERM.
 */
int vperfctr_may_attach(const struct task_struct *task, bool observer)
{
	if (task != current && !vperfctr_may_monitor(task, current))
		return is_ending(task) ? -ESRCH : -EPERM;
	return vperfctr_may_open(task, observer);
}

struct remote_open {
	struct task_struct *task;
	struct task_struct *monitor;
	struct vperfctr_state *st;	/* to be attached */
};

static int open_remote(void *arg)
{
	struct remote_open *open = arg;
	int err = 0;

	if (is_ending(open->task))
		return -ESRCH;
	if (!vperfctr_may_monitor(open->task, open->monitor))
		return -EPERM;
	if (vperfctr_of(open->task))
		err = vperfctr_may_attach_to(open->task, open->st->observer);
	if (!err)
		vperfctr_attach(open->st, open->task);
	return err;
}

static int create_remote(struct task_struct *task, struct vperfctr_state *st)
{
	struct remote_open open = { .task = task, .monitor = current, .st = st };
	int err = vperfctr_may_attach(task, st->observer);

	if (err)
		return err;
	return vperfctr_limit_stops(st->account, 1, 0) ?: stop_machine(open_remote, &open, NULL);
}

static int create_own(struct vperfctr_state *st)
{
	struct vperfctr_state *other;
	int err = 0;

	local_irq_disable();
	other = vperfctr_of_current();
	if (other) {
		/* A remote call may be about to detach one of the others. */
		while (other)
			other = vperfctr_next_of_current(other);
		err = vperfctr_may_attach_to(current, st->observer);
	}
	if (!err) {
		vperfctr_reap_current();
		vperfctr_attach(st, current);
	}
	local_irq_enable();
	return err;
}

static int find_state(struct task_struct *task, struct vperfctr_state **st)
{
	struct vperfctr_state *found = vperfctr_find(task);
	int err;

	if (!found)
		return task != current && is_ending(task) ? -ESRCH : -ENOENT;
	/*
	 * The thread must not read from a monitor's control what it may not count itself.
	 * A descriptor of the thread would also keep that control counting for ever.
	 */
	if (found->cpu_state.control.kernel && !vperfctr_may_count_kernel())
		err = -EPERM;
	else
		err = vperfctr_check_open(found);
	if (err)
		vperfctr_put(found);
	else
		*st = found;
	return err;
}

/*
 * Attach *st to a thread (`creat`), or store the thread's own state in *st, with a
 * reference.
 *
 * Context: may sleep.
 * Return: 0; -EEXIST, -EMLINK or -ENOENT; -ESRCH if the thread is ending; -EPERM if it is neither
 * current nor stopped under current's ptrace, if the state counts kernel mode and current
 * may not, or if another user made the state; or an error of vperfctr_limit_stops().
 */
int vperfctr_open_thread(struct task_struct *task, bool creat, struct vperfctr_state **st)
{
	/* The exact check is in open_remote(); a dead thread gets -ESRCH. */
	if (task != current && !vperfctr_may_monitor(task, current))
		return is_ending(task) ? -ESRCH : -EPERM;
	if (!creat)
		return find_state(task, st);
	return task == current ? create_own(*st) : create_remote(task, *st);
}

/* ---- detaching ---------------------------------------------------------- */

static int op_abandon(struct vperfctr_state *st, void *arg)
{
	/* Since the last close, the state may have been opened. */
	if (atomic_read(&st->files))
		return -EBUSY;
	vperfctr_detach(st, false);
	return 0;
}

/*
 * Detach a transient state that has lost its last descriptor.
 *
 * Context: may sleep.
 */
void vperfctr_detach_abandoned(struct vperfctr_state *st)
{
	struct vperfctr_call call = { .op = op_abandon };
	int err = -ESRCH;

	if (READ_ONCE(st->owner) != current) {
		remote_detach(st, &call);
		return;
	}
	local_irq_disable();
	if (st->owner == current)
		err = atomic_read(&st->files) ? -EBUSY : 0;
	if (!err)
		vperfctr_detach_current(st, false);
	local_irq_enable();
	if (!err) {
		vperfctr_finish_detach(st, st->root);
		vperfctr_put_attachment(st);
	}
}

static int op_unlink(struct vperfctr_state *st, void *arg)
{
	vperfctr_detach(st, true);
	return 0;
}

/*
 * UNLINK by a monitor.
 *
 * Context: may sleep.
 * Return: 0, or an error of vperfctr_apply().
 */
int vperfctr_unlink_monitor(struct vperfctr_state *st)
{
	struct vperfctr_call call = { .op = op_unlink, .monitor = current };

	return vperfctr_check_user(st) ?: remote_detach(st, &call);
}

static int op_dissolve(struct vperfctr_state *st, void *root)
{
	/* Since it was found, a control of its own may have made it leave the family. */
	if (st->root != root)
		return -ENOENT;
	vperfctr_detach(st, false);
	return 0;
}

/* Return a member with a reference, or NULL if there is none. */
static struct vperfctr_state *get_member(struct vperfctr_state *root)
{
	struct vperfctr_state *st;

	raw_spin_lock_irq(&root->family_lock);
	st = list_first_entry_or_null(&root->family, struct vperfctr_state, family);
	if (st)
		vperfctr_get(st);
	raw_spin_unlock_irq(&root->family_lock);
	return st;
}

/* Detach all members of a family, and admit no new one.  See vperfctr_dissolve_family(). */
void vperfctr_dissolve_members(struct vperfctr_state *root)
{
	struct vperfctr_state *st;

	/*
	 * Admit no more members, so that this ends however fast they fork.  The lock: a
	 * fork that has not seen it has added its member.
	 */
	raw_spin_lock_irq(&root->family_lock);
	set_bit(STATE_CLOSED, &root->bits);
	raw_spin_unlock_irq(&root->family_lock);
	while ((st = get_member(root))) {
		struct vperfctr_call call = { .op = op_dissolve, .arg = root };

		remote_detach(st, &call);
		vperfctr_put(st);
		cond_resched();
	}
	clear_bit(STATE_CLOSED, &root->bits);
}
