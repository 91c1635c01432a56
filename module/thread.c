// SPDX-License-Identifier: GPL-2.0
/*
 * A thread and its state: attaching and detaching, and what the thread's context
 * switches do to the state.
 *
 * The task has no pointer to the state: the link is the state's preempt notifier on
 * the task's list.  If a thread has several states, only the notifier of one is there, the
 * lead.  Those of the others are in a list of the lead, so that the kernel calls one for all.
 * A remote call (remote.c) that detaches a running thread's state may leave the notifier
 * linked, with a state that has no owner.  The thread removes it when it is next switched
 * out, or makes another state.
 *
 * The kernel has no lock for the task's list.  KVM changes that of current, in process
 * context with preemption disabled.  The kernel threads of arch/x86/cr4-pce.c, which have no
 * states, do the same.  So each change, also of the lead's list, must exclude two kinds of
 * others.
 *
 * The thread's own, and its walks:
 *
 *	the thread itself, and the interrupts that come where it can be preempted.
 *
 *	a remote call by another thread: the owner does not run.  It may be switched in, and
 *	then waits for the call before it runs code of its own.  See remote.c.
 *
 *	stop_machine(), under which no thread runs.
 *
 *	the fork probe of the parent: the child runs later.
 *
 * Those of other CPUs while the thread does not run, which exclude only the thread: the
 * lock of its bucket.  A remote call may come at the same time as the fork probe, if
 * VPERFCTR_ATTACH has given the child a state before the probe.  It may also come at the
 * same time as a remote call of the state that the probe has then given, and as the
 * switch-in that executes that one.  So each change holds this lock.
 *
 * tests/sim/notifiers.c checks each change for all of this.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cache.h>
#include <linux/cpumask.h>
#include <linux/hash.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>
#include <linux/topology.h>

#include "compat/hrtimer.h"
#include "family.h"
#include "overflow.h"
#include "remote.h"
#include "reservation.h"
#include "ring.h"
#include "software.h"
#include "state.h"
#include "thread.h"

/* Finishes a detachment where the thread cannot sleep; drained before unload. */
static struct workqueue_struct *vperfctr_wq __ro_after_init;

/* ---- narrow counters ---------------------------------------------------- */

/*
 * A counter of 32 bits can wrap more than once between two context switches, and
 * then its difference is wrong.  Where counters are narrow, a timer on each CPU that
 * runs a state samples it often enough.  The timer stops when it finds no state to
 * sample.
 */
static DEFINE_PER_CPU(struct hrtimer, sampling_timer);

static enum hrtimer_restart sampling_tick(struct hrtimer *timer)
{
	struct vperfctr_state *st;
	bool sampled = false;

	/* The timer of a CPU that went offline expires on another, which has its own. */
	if (timer != this_cpu_ptr(&sampling_timer))
		return HRTIMER_NORESTART;
	for (st = vperfctr_of_current(); st; st = vperfctr_next_of_current(st)) {
		if (vperfctr_cpu_of(st) < 0)
			continue;
		vperfctr_sample_here(st);
		sampled = true;
	}
	if (!sampled)
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(perfctr_cpu_sampling_ns));
	return HRTIMER_RESTART;
}

/* Start the timer that samples narrow counters on this CPU.  Context: interrupts disabled. */
static void start_sampling(void)
{
	struct hrtimer *timer = this_cpu_ptr(&sampling_timer);

	if (!hrtimer_is_queued_here(timer))
		hrtimer_start(timer, ns_to_ktime(perfctr_cpu_sampling_ns),
			      HRTIMER_MODE_REL_PINNED_HARD);
}

static void sampling_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_setup(per_cpu_ptr(&sampling_timer, cpu), sampling_tick,
			      CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
}

static void sampling_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_cancel(per_cpu_ptr(&sampling_timer, cpu));
}

/* ---- forbidden CPUs ----------------------------------------------------- */

/* True if the CPU has no online hyper-thread sibling: the mask has only online CPUs. */
bool vperfctr_is_alone(int cpu)
{
	return cpumask_weight(topology_sibling_cpumask(cpu)) <= 1;
}

/* True if this CPU must not count the state.  Context: as for vperfctr_start_here(). */
static bool is_forbidden(struct vperfctr_state *st, int cpu)
{
	const struct perfctr_cpu_control *control = &st->cpu_state.control;

	if (control->kinds && !perfctr_cpu_enter_kind(&st->cpu_state))
		return true;
	return cpumask_test_cpu(cpu, perfctr_cpus_forbidden(control->kind)) ||
	       (control->alone && !vperfctr_is_alone(cpu));
}

static void send_sigill(struct irq_work *work)
{
	struct vperfctr_state *st = container_of(work, struct vperfctr_state, sigill_work);
	struct task_struct *owner;

	/* A task that was seen as owner is freed a grace period after it ended. */
	rcu_read_lock();
	owner = READ_ONCE(st->owner);
	if (owner)
		send_sig(SIGILL, owner, 1);
	rcu_read_unlock();
}

/*
 * Do not count the owner on this CPU, which cannot count the control.  If its CONTROL has
 * narrowed its affinity, it was moved after that: stop counting and send SIGILL.
 */
void vperfctr_enter_forbidden_cpu(struct vperfctr_state *st)
{
	set_bit(STATE_FORBIDDEN, &st->bits);
	perfctr_cpu_mark_suspended(&st->cpu_state);
	if (!(st->flags & VPERFCTR_CONTROL_AFFINITY))
		return;
	vperfctr_set_stop(st, st->stop | STATE_STOP_CPU);
	vperfctr_queue(st, &st->sigill_work);
}

/*
 * Prepare the joint state for the driver, which stops and starts the counters of this CPU, and
 * update it afterwards.
 *
 * Context: interrupts disabled.
 */
static void restarting(struct perfctr_cpu_state *state)
{
	if (state == &vperfctr_joint_here()->cpu_state)
		vperfctr_joint_restarting();
}

static void restarted(struct perfctr_cpu_state *state)
{
	if (state == &vperfctr_joint_here()->cpu_state)
		vperfctr_joint_restarted();
}

/* ---- the counters of current -------------------------------------------- */

/* True if the state, which is stopped, may count on this CPU. */
bool vperfctr_enters_cpu(struct vperfctr_state *st, int cpu)
{
	if (likely(!(st->checks & STATE_CHECK_CPU) || !is_forbidden(st, cpu)))
		return true;
	vperfctr_enter_forbidden_cpu(st);
	return false;
}

/* Start the timers of a state whose counters have been started. */
void vperfctr_started(struct vperfctr_state *st)
{
	if (perfctr_cpu_sampling_ns)
		start_sampling();
	if (st->checks & STATE_CHECK_CLOCK)
		vperfctr_clock_start(st);
}

/* The slow path of vperfctr_start(), and of the switch-in. */
void vperfctr_start_other(struct vperfctr_state *st, int cpu)
{
	if (st->checks & STATE_CHECK_SIGNAL)
		vperfctr_overflow_later();
	/* Another state of the thread may have started it, too. */
	if (st->stop || vperfctr_is_joint(st) || !vperfctr_enters_cpu(st, cpu))
		return;
	if ((st->checks & STATE_CHECK_JOINT) && perfctr_nrctrs(&st->cpu_state.control)) {
		vperfctr_joint_start(st);
		return;
	}
	vperfctr_start_here(st, cpu);
	vperfctr_started(st);
}

/*
 * Update the sums of a state.
 *
 * Context: interrupts disabled; its counters run on this CPU.
 */
void vperfctr_sample_here(struct vperfctr_state *st)
{
	if (likely(st->cpu >= 0))
		perfctr_cpu_sample(&st->cpu_state);
	else
		vperfctr_joint_sample();
	if (unlikely(st->soft))
		vperfctr_soft_sample(st);
}

static void sample_if_here(void *arg)
{
	struct vperfctr_state *st = arg;

	if (vperfctr_cpu_of(st) == smp_processor_id())
		vperfctr_sample_here(st);
}

/*
 * Bring the sums of a running owner up to date, for a reader.  If the owner stops
 * running before the interrupt arrives, its suspend has updated them after the start
 * of this call.
 *
 * Context: may sleep.
 */
void vperfctr_sample_owner(struct vperfctr_state *st)
{
	int cpu = vperfctr_cpu_of(st);

	/* An error means that the CPU is offline: the owner left it before. */
	if (cpu >= 0)
		smp_call_function_single(cpu, sample_if_here, st, 1);
}

/* ---- the list of notifiers ---------------------------------------------- */

static void vperfctr_sched_out(struct preempt_notifier *notifier, struct task_struct *next);
static void vperfctr_sched_in(struct preempt_notifier *notifier, int cpu);

/*
 * The operations of a lead: it is the thread's only state, or one of several.  The notifiers of
 * the others have none.  If perfctr_remembers, both announce a switch.
 */
static struct preempt_ops alone_ops __ro_after_init = {
	.sched_in	= vperfctr_sched_in,
	.sched_out	= vperfctr_sched_out,
};

static struct preempt_ops several_ops __ro_after_init = {
	.sched_in	= vperfctr_joint_sched_in,
	.sched_out	= vperfctr_joint_sched_out,
};

/*
 * Find the state that has its notifier in a thread's list.  It may be detached.
 *
 * Context: as for vperfctr_of(); KVM could otherwise change the list meanwhile.
 */
struct vperfctr_state *vperfctr_lead_of(const struct task_struct *task)
{
	struct hlist_node *node = READ_ONCE(task->preempt_notifiers.first);
	const struct preempt_ops *ops;

	for (; node; node = READ_ONCE(node->next)) {
		ops = READ_ONCE(hlist_entry(node, struct preempt_notifier, link)->ops);
		if (likely(ops == &alone_ops) || ops == &several_ops)
			return vperfctr_of_node(node);
	}
	return NULL;
}

/*
 * Return the state whose notifier is linked after that of this one, or NULL.
 *
 * An interrupt before the sched_in may come here while a remote call lets this state take the place
 * of the lead, which has no owner any more.  It sees the old link, or the operations of a lead, or
 * both, and then all that second_to_lead() has changed before.
 */
static __always_inline struct vperfctr_state *linked_after(const struct vperfctr_state *st)
{
	/* Acquire: the operations that came before a new link. */
	struct hlist_node *node = smp_load_acquire(&st->notifier.link.next);

	/* Acquire: the list that came before a lead's operations. */
	if (smp_load_acquire(&st->notifier.ops))
		node = READ_ONCE(st->others.first);
	return node ? vperfctr_of_node(node) : NULL;
}

/* Return the first state from this one on that is attached, or NULL. */
static __always_inline struct vperfctr_state *attached_from(struct vperfctr_state *st)
{
	while (st && unlikely(!READ_ONCE(st->owner)))
		st = linked_after(st);
	return st;
}

/* ---- context switches --------------------------------------------------- */

/*
 * Remove the notifier of a detached state.  The rest must wait: a worker cannot be woken
 * while the run queue is locked.
 *
 * Context: interrupts disabled; the thread is current.
 */
static noinline void reap_notifier(struct vperfctr_state *st)
{
	/* The walk of the task's list, or the lead's, that has found it continues. */
	set_bit(STATE_LATE_FREE, &st->bits);
	set_bit(STATE_REAPED, &st->bits);
	if (vperfctr_unlink_notifier(st, current))
		vperfctr_queue(st, &st->reap_work);
}

static void reap_work(struct irq_work *work)
{
	vperfctr_finish_detach_later(container_of(work, struct vperfctr_state, reap_work));
}

static __always_inline void switch_out(struct vperfctr_state *st)
{
	if (likely(st->cpu >= 0))
		vperfctr_stop(st);
	else if (unlikely(!READ_ONCE(st->owner)))
		reap_notifier(st);
}

/*
 * Stop the counters when the owner is switched out, which has no other state.
 *
 * Context: run-queue lock held, interrupts disabled; current is still the owner.
 */
static void vperfctr_sched_out(struct preempt_notifier *notifier, struct task_struct *next)
{
	switch_out(container_of(notifier, struct vperfctr_state, notifier));
}

/* Stop the counters of all states of a thread, by the slow path.  Context: as above. */
void vperfctr_several_sched_out(struct vperfctr_state *lead)
{
	struct vperfctr_state *st, *next;

	vperfctr_joint_leave();
	for (st = lead; st; st = next) {
		next = linked_after(st);	/* this one may be unlinked */
		switch_out(st);
	}
}

/* Switch in a state by the slow path.  An interrupt may have started the counters before. */
static noinline void sched_in_slowly(struct vperfctr_state *st, int cpu)
{
	/* Acquire: if the call is over, all of it is visible, also a change of the lead. */
	if (smp_load_acquire(&st->remote))
		vperfctr_run_call(st, true);
	st->checks &= ~STATE_CHECK_STARTED;
	if (st->cpu < 0)
		vperfctr_start_other(st, cpu);
}

/*
 * Switch in all states of a thread by the slow path.  A remote call may unlink some of them, while
 * this waits for it: their links remain, also that of a lead to the next one.
 *
 * Context: as for vperfctr_start_here().
 */
void vperfctr_several_sched_in(struct vperfctr_state *lead, int cpu)
{
	struct vperfctr_state *st;

	for (st = lead; st; st = linked_after(st))
		sched_in_slowly(st, cpu);
}

/*
 * Start the counters when the owner has been switched in, which has no other state.
 *
 * Context: preemption disabled, interrupts enabled.  An interrupt may come before this:
 * it finds the owner as current, and its counters not resumed.
 */
static void vperfctr_sched_in(struct preempt_notifier *notifier, int cpu)
{
	struct vperfctr_state *st = container_of(notifier, struct vperfctr_state, notifier);

	local_irq_disable();
	if (vperfctr_starts_fast(st))
		vperfctr_start_here(st, cpu);
	else
		sched_in_slowly(st, cpu);
	local_irq_enable();
}

static void announced_sched_out(struct preempt_notifier *notifier, struct task_struct *next)
{
	perfctr_cpu_switching(true);
	vperfctr_sched_out(notifier, next);
	perfctr_cpu_switching(false);
}

/* An interrupt in between may start the counters, too: user mode has not run before it, either. */
static void announced_sched_in(struct preempt_notifier *notifier, int cpu)
{
	perfctr_cpu_switching(true);
	vperfctr_sched_in(notifier, cpu);
	perfctr_cpu_switching(false);
}

static void announced_joint_sched_out(struct preempt_notifier *notifier, struct task_struct *next)
{
	perfctr_cpu_switching(true);
	vperfctr_joint_sched_out(notifier, next);
	perfctr_cpu_switching(false);
}

static void announced_joint_sched_in(struct preempt_notifier *notifier, int cpu)
{
	perfctr_cpu_switching(true);
	vperfctr_joint_sched_in(notifier, cpu);
	perfctr_cpu_switching(false);
}

static void __init announce_switches(void)
{
	alone_ops.sched_in = announced_sched_in;
	alone_ops.sched_out = announced_sched_out;
	several_ops.sched_in = announced_joint_sched_in;
	several_ops.sched_out = announced_joint_sched_out;
}

/* ---- attaching and detaching -------------------------------------------- */

/*
 * The attached states by owner, for calls that name a thread.  Buckets are many, so that
 * forks and exits on different CPUs seldom meet in one.
 */
#define OWNER_BITS	8

static struct owner_bucket {
	raw_spinlock_t lock;
	struct hlist_head states;
} ____cacheline_aligned_in_smp owners[1 << OWNER_BITS];

static struct owner_bucket *bucket_of(const struct task_struct *task)
{
	return &owners[hash_ptr(task, OWNER_BITS)];
}

static void owners_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(owners); i++)
		raw_spin_lock_init(&owners[i].lock);
}

/*
 * Find the own state of any thread or, with `root`, the one that is a member of its family.
 *
 * Context: the caller has a reference to the thread.
 * Return: the state, with a reference, or NULL.
 */
struct vperfctr_state *vperfctr_find_member(const struct vperfctr_state *root,
					    struct task_struct *task)
{
	struct owner_bucket *bucket = bucket_of(task);
	struct vperfctr_state *st, *found = NULL;
	unsigned long flags;

	raw_spin_lock_irqsave(&bucket->lock, flags);
	hlist_for_each_entry(st, &bucket->states, by_owner) {
		if (READ_ONCE(st->owner) != task ||
		    (root ? READ_ONCE(st->root) != root : st->observer))
			continue;
		vperfctr_get(st);
		found = st;
		break;
	}
	raw_spin_unlock_irqrestore(&bucket->lock, flags);
	return found;
}

/* Find the own state of any thread: see above. */
struct vperfctr_state *vperfctr_find(struct task_struct *task)
{
	return vperfctr_find_member(NULL, task);
}

/* ---- beside other states -------------------------------------------------- */

/* The states of a thread, as far as they matter for one more. */
struct beside {
	const struct vperfctr_state *root;	/* of the family that it would join, or NULL */
	bool member;		/* out: the thread has a state of that family */
	bool own;		/* out: it has a state of its own */
	unsigned int nr;	/* out: their number */
};

static void note_beside(struct beside *b, const struct vperfctr_state *st)
{
	if (b->root && READ_ONCE(st->root) == b->root)
		b->member = true;
	if (!st->observer)
		b->own = true;
	b->nr++;
}

/* Look at any thread, which may change its states at once.  Context: RCU, or a reference. */
static void look_beside(struct beside *b, const struct task_struct *task)
{
	struct owner_bucket *bucket = bucket_of(task);
	const struct vperfctr_state *st;
	unsigned long flags;

	/* An attached state has its notifier there, or the lead has. */
	if (hlist_empty(&task->preempt_notifiers))
		return;
	raw_spin_lock_irqsave(&bucket->lock, flags);
	hlist_for_each_entry(st, &bucket->states, by_owner) {
		if (READ_ONCE(st->owner) == task)
			note_beside(b, st);
	}
	raw_spin_unlock_irqrestore(&bucket->lock, flags);
}

/*
 * The controls that have counters, of a thread's states.  A state that has stopped for good
 * uses none.
 */
struct controls {
	const struct perfctr_cpu_control *control[VPERFCTR_MAX_STATES + 1];
	unsigned int n;
	struct vperfctr_ctr_set used;	/* the counters of all of them */
};

static void add_ctrs(struct vperfctr_ctr_set *to, const struct vperfctr_ctr_set *from)
{
	to->pmcs |= from->pmcs;
	to->fixed |= from->fixed;
}

static void note_control(struct controls *c, const struct vperfctr_state *st)
{
	const struct perfctr_cpu_control *control = &st->cpu_state.control;
	struct vperfctr_ctr_set set;

	/* A remote call may be detaching it: see look_at_list(). */
	if ((READ_ONCE(st->stop) & STATE_STOP_IDLE) || !perfctr_nrctrs(control) ||
	    c->n == VPERFCTR_MAX_STATES)
		return;
	c->control[c->n++] = control;
	set = vperfctr_ctrs_of(control);
	add_ctrs(&c->used, &set);
}

/*
 * Look at a thread that cannot change its list.
 *
 * Context: interrupts disabled; the thread is current, or has not run yet, or a remote call
 * excludes it; or stop_machine().  The bucket's lock is held, and must be while the controls
 * are used: a remote call may be detaching one, see the top of this file.
 */
static void look_at_list(struct beside *b, struct controls *c, struct task_struct *task,
			 const struct vperfctr_state *except)
{
	struct vperfctr_state *st;

	for (st = vperfctr_of(task); st; st = vperfctr_next_of(st)) {
		if (st == except)
			continue;
		note_beside(b, st);
		note_control(c, st);
	}
}

static int judge_state(const struct beside *b, bool observer)
{
	if (b->member)
		return -EALREADY;
	if (b->own && !observer)
		return -EEXIST;
	return b->nr < VPERFCTR_MAX_STATES ? 0 : -EMLINK;
}

/*
 * Check a control against those of the other states.
 *
 * Return: 0; -EADDRINUSE or -EXFULL if it cannot count beside them.
 */
static int judge_control(struct controls *c, const struct perfctr_cpu_control *control)
{
	struct vperfctr_ctr_set set = vperfctr_ctrs_of(control);

	if (!c->n || !perfctr_nrctrs(control))
		return 0;
	if ((c->used.pmcs & set.pmcs) || (c->used.fixed & set.fixed))
		return -EADDRINUSE;
	c->control[c->n] = control;
	return vperfctr_can_combine(c->control, c->n + 1) ? 0 : -EXFULL;
}

/*
 * Check that a thread may get one more state without a control.  The answer may change at once.
 *
 * Context: RCU, or the caller has a reference to the thread.
 * Return: 0; -EEXIST if it is not an observer's, and the thread has its own; -EMLINK if the
 * thread has as many states as it can.
 */
int vperfctr_may_open(const struct task_struct *task, bool observer)
{
	struct beside b = { };

	look_beside(&b, task);
	return judge_state(&b, observer);
}

/*
 * Check what vperfctr_may_open() checks, with an answer that stays true.
 *
 * Context: as for vperfctr_attach().
 */
int vperfctr_may_attach_to(struct task_struct *task, bool observer)
{
	struct owner_bucket *bucket = bucket_of(task);
	struct controls c = { };
	struct beside b = { };

	raw_spin_lock(&bucket->lock);
	look_at_list(&b, &c, task, NULL);
	raw_spin_unlock(&bucket->lock);
	return judge_state(&b, observer);
}

/*
 * Check that a thread may get a state that inherits from `parent`.  The answer may change at
 * once.  Whether its counters are free is not looked at.
 *
 * Context: RCU, or the caller has a reference to the thread.
 * Return: as vperfctr_may_open(); -EALREADY if it is a member of the family.
 */
int vperfctr_may_join(const struct vperfctr_state *parent, const struct task_struct *task)
{
	struct beside b = { .root = parent->root ?: parent };

	look_beside(&b, task);
	return judge_state(&b, parent->observer);
}

static noinline int joins_others(const struct vperfctr_state *parent, struct task_struct *task,
				 struct vperfctr_ctr_set *used)
{
	struct owner_bucket *bucket = bucket_of(task);
	struct beside b = { .root = parent->root ?: parent };
	struct controls c = { };
	int err;

	raw_spin_lock(&bucket->lock);
	look_at_list(&b, &c, task, NULL);
	err = judge_state(&b, parent->observer) ?:
	      judge_control(&c, &parent->cpu_state.control);
	raw_spin_unlock(&bucket->lock);
	/* The counters of a member are those of the family itself. */
	if (used && err != -EALREADY)
		add_ctrs(used, &c.used);
	return err;
}

/*
 * Check what vperfctr_may_join() and vperfctr_check_beside() check, with an answer that stays
 * true.  `used`: add the counters that other states of the thread have, or NULL.
 *
 * Context: as for vperfctr_attach().
 */
int vperfctr_joins(const struct vperfctr_state *parent, struct task_struct *task,
		   struct vperfctr_ctr_set *used)
{
	/* If there is no notifier now, there will be none: VPERFCTR_ATTACH stops this CPU. */
	return likely(hlist_empty(&task->preempt_notifiers)) ? 0 :
	       joins_others(parent, task, used);
}

/*
 * Check that a state can get a control beside its owner's other states.
 *
 * Until the end of the operation, no other state of the owner gets a counter.  A control comes
 *
 *	from the owner or its monitor.  The owner does not run code of its own while the monitor's
 *	call is executed.  A thread has one monitor, which makes one call at a time, and which
 *	cannot end while it waits for it.
 *
 *	from VPERFCTR_ATTACH, under stop_machine(), or from the parent in the fork probe, when
 *	the owner has not run: it has no monitor then.
 *
 * No other remote call gives a state counters.
 *
 * CONTROL checks twice: it may sleep between the first check, before the family is dissolved,
 * and the operation that checks again and sets the control.  An attachment may come between, and
 * CONTROL then fails without the family.  Counters that are held for a control which is still to
 * come would avoid that, but would refuse observers for a call that may fail itself.
 *
 * Context: a vperfctr_op.
 * Return: 0; -EADDRINUSE if another state has one of the counters; -EXFULL if the processor
 * cannot count all of them at the same time.
 */
int vperfctr_check_beside(struct vperfctr_state *st, const struct perfctr_cpu_control *control)
{
	struct owner_bucket *bucket = bucket_of(st->owner);
	struct controls c = { };
	struct beside b = { };
	int err;

	raw_spin_lock(&bucket->lock);
	look_at_list(&b, &c, st->owner, st);
	err = judge_control(&c, control);
	raw_spin_unlock(&bucket->lock);
	return err;
}

/*
 * Get the states of the owner of a state, or with NULL those of current, with a reference to each.
 *
 * The owner may be ending, so this uses its address only.  No other thread has that address: a
 * task that was seen as owner is freed a grace period after it ended.
 *
 * Return: their number; 0 if there is no owner.
 */
static unsigned int get_states(const struct vperfctr_state *of,
			       struct vperfctr_state *states[VPERFCTR_MAX_STATES])
{
	const struct task_struct *owner;
	struct owner_bucket *bucket;
	struct vperfctr_state *st;
	unsigned int n = 0;

	rcu_read_lock();
	owner = of ? READ_ONCE(of->owner) : current;
	if (owner) {
		bucket = bucket_of(owner);
		raw_spin_lock_irq(&bucket->lock);
		hlist_for_each_entry(st, &bucket->states, by_owner) {
			if (READ_ONCE(st->owner) != owner || n == VPERFCTR_MAX_STATES)
				continue;
			vperfctr_get(st);
			states[n++] = st;
		}
		raw_spin_unlock_irq(&bucket->lock);
	}
	rcu_read_unlock();
	return n;
}

/* Add the counters of a state to those of its kind.  A state that has stopped for good has none. */
static int add_used(struct vperfctr_state *st, struct vperfctr_ctr_set *own,
		    struct vperfctr_ctr_set *observers)
{
	struct vperfctr_ctr_set set;

	if (mutex_lock_killable(&st->lock))
		return -EINTR;
	/* A detachment, which does not acquire the lock, stops it and keeps its control. */
	if (!(READ_ONCE(st->stop) & STATE_STOP_IDLE)) {
		set = vperfctr_ctrs_of(&st->cpu_state.control);
		add_ctrs(st->observer ? observers : own, &set);
	}
	mutex_unlock(&st->lock);
	return 0;
}

/*
 * Get the counters that the own state of a thread has, and those that observers have.  `of`: the
 * thread is the owner of this state; NULL: it is current.  Without an owner, there are none.
 *
 * The owner may run, and give its states other controls at any time.  So the lock of each state
 * keeps its control unchanged, as for READ, and no CPU is interrupted.  A monitor's CONTROL, or a
 * READ of all members, may hold that lock for a while.  This looks at the states one after the
 * other: if their controls change meanwhile, the answer is outdated anyway.
 *
 * Context: may sleep.
 * Return: 0; -EINTR if the caller is killed.
 */
int vperfctr_used_ctrs(const struct vperfctr_state *of, struct vperfctr_ctr_set *own,
		       struct vperfctr_ctr_set *observers)
{
	struct vperfctr_state *states[VPERFCTR_MAX_STATES];
	unsigned int i, n = get_states(of, states);
	int err = 0;

	*own = (struct vperfctr_ctr_set) { };
	*observers = *own;
	for (i = 0; i < n; i++) {
		if (!err)
			err = add_used(states[i], own, observers);
		vperfctr_put(states[i]);
	}
	return err;
}

/* ---- the states of a thread ----------------------------------------------- */

/*
 * Find the first state of a thread by its list of notifiers, and the next one.
 *
 * Context: the thread is current, with interrupts disabled, as a remote call could
 * otherwise detach the state; or stop_machine(); or the list cannot change.
 * Return: the state, or NULL.
 */
struct vperfctr_state *vperfctr_of(struct task_struct *task)
{
	return attached_from(vperfctr_lead_of(task));
}

struct vperfctr_state *vperfctr_next_of(struct vperfctr_state *st)
{
	return attached_from(linked_after(st));
}

/* True if the state is still attached after the call that waits for it, if there is one. */
static __always_inline bool stays(struct vperfctr_state *st)
{
	/* Acquire: if the call is over, all of it is visible.  See remote_call(). */
	if (unlikely(smp_load_acquire(&st->remote)))
		vperfctr_run_call(st, false);
	return likely(READ_ONCE(st->owner));
}

/*
 * Find the next state of current.  An interrupt may come between the switch to the thread and
 * its sched_in.  Then it must not come between a remote call and that.
 *
 * Context: interrupts disabled.
 */
struct vperfctr_state *vperfctr_next_of_current(struct vperfctr_state *st)
{
	do {
		st = vperfctr_next_of(st);
	} while (st && !stays(st));
	return st;
}

/* Find the first state of current.  Context: as for vperfctr_next_of_current(). */
struct vperfctr_state *vperfctr_of_current(void)
{
	struct vperfctr_state *st = vperfctr_of(current);

	return likely(!st || stays(st)) ? st : vperfctr_next_of_current(st);
}

/*
 * Remove the notifiers of detached states from the lists of current and its lead.
 *
 * Context: process context, interrupts disabled.
 */
void vperfctr_reap_current(void)
{
	struct vperfctr_state *st, *next;

	for (st = vperfctr_lead_of(current); st; st = next) {
		next = linked_after(st);
		if (!READ_ONCE(st->owner))
			reap_notifier(st);
	}
}

/* Let the states of a thread count together with one that is about to be attached. */
static void begin_joint(struct vperfctr_state *st, struct task_struct *task)
{
	struct vperfctr_state *other;

	for (other = vperfctr_of(task); other; other = vperfctr_next_of(other)) {
		other->checks |= STATE_CHECK_JOINT;
		other->joint = true;
		st->checks |= STATE_CHECK_JOINT;
		st->joint = true;
	}
}

/*
 * Link the notifier of a state as the last one in the list of the thread's lead, if there is one.
 * So the threads of a program, which inherit the same states, have them in the same order.
 *
 * Context: as for link_notifier().
 */
static noinline bool link_beside(struct vperfctr_state *st, struct task_struct *task)
{
	struct vperfctr_state *lead = vperfctr_lead_of(task);
	struct hlist_node **place;

	if (!lead)
		return false;
	for (place = &lead->others.first; *place; place = &(*place)->next)
		;
	st->notifier.ops = NULL;
	st->notifier.link.pprev = place;
	/* As in link_notifier(): a walk that finds the node finds that it ends there. */
	smp_store_release(place, &st->notifier.link);
	WRITE_ONCE(lead->notifier.ops, &several_ops);
	begin_joint(st, task);		/* passes over this one, which has no owner yet */
	if (task == current)
		vperfctr_joint_attached();
	return true;
}

/*
 * Link the notifier of a state as the first one in the list of a thread, unless that has others.
 * Its pprev is set already.  preempt_notifier_register() supports only current, and has no lock.
 * See the top of this file for what excludes other changes.
 *
 * Context: the bucket's lock is held.
 */
static __always_inline void link_notifier(struct vperfctr_state *st, struct task_struct *task)
{
	struct hlist_node *first = task->preempt_notifiers.first;

	if (unlikely(first)) {
		if (link_beside(st, task))
			return;
		WRITE_ONCE(first->pprev, &st->notifier.link.next);
	}
	st->notifier.link.next = first;
	/* A walk that finds the node finds its link to the next one. */
	smp_store_release(&task->preempt_notifiers.first, &st->notifier.link);
}

/*
 * Attach a state to a thread, which may have others: see vperfctr_may_attach_to().  The
 * thread gets a reference.
 *
 * Context: interrupts disabled; the thread is current, or has not run yet and current is
 * its parent; or stop_machine().
 */
void vperfctr_attach(struct vperfctr_state *st, struct task_struct *task)
{
	struct owner_bucket *bucket = bucket_of(task);

	lockdep_assert_irqs_disabled();
	vperfctr_get(st);
	preempt_notifier_init(&st->notifier, &alone_ops);
	init_irq_work(&st->sigill_work, send_sigill);
	/* Hard: sched_out queues it, and must not wake the thread that would call it. */
	vperfctr_init_hard_work(&st->reap_work, reap_work);
	vperfctr_overflow_attach(st);
	if (!STATE_ON_RT)
		INIT_WORK(&st->detach_work, vperfctr_finish_detach_work);
	/* Threads of all users meet at the lock: what needs none comes before. */
	st->notifier.link.pprev = &task->preempt_notifiers.first;
	raw_spin_lock(&bucket->lock);
	link_notifier(st, task);
	WRITE_ONCE(st->owner, task);
	hlist_add_head(&st->by_owner, &bucket->states);
	raw_spin_unlock(&bucket->lock);
}

/* Stop a state that is about to be detached, and let it leave its family. */
static void stop_for_good(struct vperfctr_state *st, bool missed)
{
	lockdep_assert_irqs_disabled();
	vperfctr_stop(st);
	vperfctr_overflow_last(st);
	if (unlikely(st->sampler)) {
		vperfctr_clock_last(st);
		vperfctr_ring_detach(st);
	}
	vperfctr_set_stop(st, STATE_STOP_IDLE);
	perfctr_cpu_mark_suspended(&st->cpu_state);
	vperfctr_leave_family(st, missed);
}

/* Forget the owner of a state that has stopped.  Context: the bucket's lock is held. */
static void forget_owner(struct vperfctr_state *st)
{
	__hlist_del(&st->by_owner);
	/* A CPU that sees it detached may release the hardware: the stop comes first. */
	smp_store_release(&st->owner, NULL);
}

/*
 * Stop the counters and separate the state from its thread, except for the notifier.
 * `missed`: the thread continues uncounted, and its family must count it as missed.
 * vperfctr_finish_detach() must follow, and vperfctr_put_attachment() when the notifier
 * has been unlinked.
 *
 * Context: interrupts disabled; the thread is current, or a remote call excludes it.
 */
void vperfctr_detach(struct vperfctr_state *st, bool missed)
{
	struct owner_bucket *bucket = bucket_of(st->owner);

	stop_for_good(st, missed);
	raw_spin_lock(&bucket->lock);
	forget_owner(st);
	raw_spin_unlock(&bucket->lock);
}

/*
 * Prepare the second of several states to take the place of the lead.
 *
 * Return: the link of its notifier.
 */
static noinline struct hlist_node *second_to_lead(struct vperfctr_state *lead)
{
	struct hlist_node *node = lead->others.first, *third = node->next;
	struct vperfctr_state *st = vperfctr_of_node(node);

	WRITE_ONCE(st->others.first, third);
	if (third)
		third->pprev = &st->others.first;
	/* Released, as the next store: see linked_after(). */
	smp_store_release(&st->notifier.ops, third ? &several_ops : &alone_ops);
	/* A walk that finds this link finds the operations. */
	smp_store_release(&node->next, lead->notifier.link.next);
	if (node->next)
		WRITE_ONCE(node->next->pprev, &node->next);
	return node;
}

/*
 * Replace the link to a notifier by that to the next one.
 *
 * The thread does not wait for a remote call that it does not see any more.  So all of the
 * detachment comes first: see vperfctr_apply().
 */
static __always_inline void unlink_to(struct vperfctr_state *st, struct hlist_node *next)
{
	struct hlist_node **pprev = st->notifier.link.pprev;

	st->notifier.link.pprev = NULL;
	if (next)
		WRITE_ONCE(next->pprev, pprev);
	/* Released, as what is said above. */
	smp_store_release(pprev, next);
}

/* Unlink the notifier of one of several states: the lead's, or another one's. */
static noinline void unlink_of_several(struct vperfctr_state *st, struct task_struct *task)
{
	struct vperfctr_state *lead;

	if (st->notifier.ops) {
		unlink_to(st, second_to_lead(st));
		return;
	}
	lead = vperfctr_lead_of(task);	/* later the thread may run, and change its list */
	unlink_to(st, st->notifier.link.next);
	if (hlist_empty(&lead->others)) {
		/* A switch-in that finds the lead alone does not look for others. */
		smp_store_release(&lead->notifier.ops, &alone_ops);
	}
}

/* Unlink a notifier: see vperfctr_unlink_notifier().  Context: the bucket's lock is held. */
static __always_inline bool unlink_notifier(struct vperfctr_state *st, struct task_struct *task)
{
	if (!st->notifier.link.pprev)
		return false;
	if (likely(st->notifier.ops == &alone_ops))
		unlink_to(st, st->notifier.link.next);
	else
		unlink_of_several(st, task);
	return true;
}

/*
 * Unlink the notifier of a detached state from the list of the thread that it was attached
 * to.  Its own link remains, as the thread may be in the middle of a walk that has found it, and
 * so does a lead's link to the next one.
 *
 * Context: interrupts disabled; the thread is current and not in the middle of a change of
 * its list, or a remote call excludes it.
 * Return: false if it was not linked.  Otherwise the caller must put the attachment.
 */
bool vperfctr_unlink_notifier(struct vperfctr_state *st, struct task_struct *task)
{
	struct owner_bucket *bucket = bucket_of(task);
	bool linked;

	lockdep_assert_irqs_disabled();
	/* Other CPUs may change the list of a thread that does not run: see the top. */
	raw_spin_lock(&bucket->lock);
	linked = unlink_notifier(st, task);
	raw_spin_unlock(&bucket->lock);
	return linked;
}

/* Detach the state of current.  Context: a call or a probe, interrupts disabled. */
void vperfctr_detach_current(struct vperfctr_state *st, bool missed)
{
	struct owner_bucket *bucket = bucket_of(current);

	stop_for_good(st, missed);
	raw_spin_lock(&bucket->lock);
	forget_owner(st);
	unlink_notifier(st, current);
	raw_spin_unlock(&bucket->lock);
}

/*
 * Finish a detachment: release the hardware unless a family counts by it, and wake
 * pollers.  The attachment remains to be put.  `root`: of the family that the state was a
 * member of, or NULL.
 *
 * Context: may sleep.
 */
void vperfctr_finish_detach(struct vperfctr_state *st, struct vperfctr_state *root)
{
	vperfctr_release_unused(st);
	wake_up_poll(&st->wait, EPOLLHUP);
	if (root) {
		vperfctr_release_unused(root);
		vperfctr_wake_if_over(root);
	}
	/* Descendants whose sums no descriptor can read must not keep the hardware. */
	if (!atomic_read(&st->files))
		vperfctr_dissolve_family(st);
}

/*
 * Put the references of the thread and of a family's member.  A member has the module by
 * its root, so both remain while the notifier is linked.
 *
 * Context: may sleep.
 */
void vperfctr_put_attachment(struct vperfctr_state *st)
{
	struct vperfctr_state *root = st->root;

	/* VPERFCTR_MEMBER, and vperfctr_dissolve_family(), may be looking at it. */
	smp_store_release(&st->root, NULL);
	vperfctr_put(st);
	if (root)
		vperfctr_put(root);
}

/* ---- detachments that a worker finishes ---------------------------------- */

/*
 * The state whose close waits until a worker has finished the detachment of this one: the
 * root of its family, or of the family that this root or itself has left.  NULL: none.
 *
 * Context: the state is detached, and its attachment has not been put.
 */
static struct vperfctr_state *topmost_of(const struct vperfctr_state *st)
{
	const struct vperfctr_state *root = st->root;

	return root ? root->topmost ?: st->root : st->topmost;
}

void vperfctr_finish_detach_work(struct work_struct *work)
{
	struct vperfctr_state *st = container_of(work, struct vperfctr_state, detach_work);
	struct vperfctr_state *topmost = topmost_of(st);

	if (!test_bit(STATE_REAPED, &st->bits)) {
		vperfctr_finish_detach(st, st->root);
		if (topmost) {
			smp_mb();	/* a close that does not find it finds it finished */
			raw_spin_lock_irq(&topmost->family_lock);
			list_del(&st->finish);
			raw_spin_unlock_irq(&topmost->family_lock);
		}
	}
	vperfctr_put_attachment(st);
}

/* Let a worker finish a detachment, for a thread that cannot sleep. */
void vperfctr_finish_detach_later(struct vperfctr_state *st)
{
	struct vperfctr_state *topmost = topmost_of(st);
	unsigned long flags;

	if (topmost && !test_bit(STATE_REAPED, &st->bits)) {
		raw_spin_lock_irqsave(&topmost->family_lock, flags);
		st->finish_nr = ++topmost->finish_nr;
		list_add_tail(&st->finish, &topmost->finishing);
		raw_spin_unlock_irqrestore(&topmost->family_lock, flags);
	}
	queue_work(vperfctr_wq, &st->detach_work);
}

/* Let a worker put a member that has never been attached, and its root. */
void vperfctr_put_later(struct vperfctr_state *st)
{
	if (!STATE_ON_RT)
		INIT_WORK(&st->detach_work, vperfctr_finish_detach_work);
	set_bit(STATE_REAPED, &st->bits);
	queue_work(vperfctr_wq, &st->detach_work);
}

/*
 * Wait until the detachments of threads that ended before this call are finished: those of
 * the state's family, and of the families that left it.  Their states may have shares of
 * the hardware.  Other families are not waited for.
 *
 * Context: may sleep; the caller has a file of the state.
 */
void vperfctr_flush_detached(struct vperfctr_state *st)
{
	struct vperfctr_state *topmost = READ_ONCE(st->topmost) ?: st, *first;
	u64 last;

	if (likely(list_empty_careful(&topmost->finishing)))
		return;
	raw_spin_lock_irq(&topmost->family_lock);
	last = topmost->finish_nr;
	for (;;) {
		first = list_first_entry_or_null(&topmost->finishing, struct vperfctr_state,
						 finish);
		if (!first || first->finish_nr > last)
			break;
		/* The state has the reference of its attachment while it is in the list. */
		vperfctr_get(first);
		raw_spin_unlock_irq(&topmost->family_lock);
		/* Does nothing while the work is about to be queued, with interrupts disabled. */
		flush_work(&first->detach_work);
		vperfctr_put(first);
		cond_resched();
		raw_spin_lock_irq(&topmost->family_lock);
	}
	raw_spin_unlock_irq(&topmost->family_lock);
}

/*
 * Wait until the detachments of all threads that ended before this call are finished.
 *
 * Context: may sleep.
 */
void vperfctr_flush_all_detached(void)
{
	flush_workqueue(vperfctr_wq);
}

/* ---- the module ----------------------------------------------------------- */

int __init vperfctr_thread_init(void)
{
	int err;

	vperfctr_wq = alloc_workqueue("vperfctr", WQ_UNBOUND, 0);
	if (!vperfctr_wq)
		return -ENOMEM;
	owners_init();
	sampling_init();
	vperfctr_clock_init();
	perfctr_cpu_set_restart(restarting, restarted);
	if (perfctr_remembers)
		announce_switches();
	err = vperfctr_joint_init();
	if (err)
		destroy_workqueue(vperfctr_wq);
	return err;
}

/* Context: no states exist, but the work that put the last one may not have returned. */
void vperfctr_thread_exit(void)
{
	destroy_workqueue(vperfctr_wq);
	vperfctr_joint_exit();
	sampling_exit();
	vperfctr_clock_exit();
}
