// SPDX-License-Identifier: GPL-2.0
/*
 * A thread and its state: attaching and detaching, and what the thread's context
 * switches do to the state.
 *
 * The task has no pointer to the state: the link is the state's preempt notifier on
 * the task's list.  While the task can run, only the task itself changes and walks
 * that list.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cache.h>
#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>
#include <linux/topology.h>

#include "compat/hrtimer.h"
#include "compat/syscore.h"
#include "state.h"

/* Finishes a detachment where the thread cannot sleep; drained before unload. */
static struct workqueue_struct *vperfctr_wq __ro_after_init;

/* ---- narrow counters ---------------------------------------------------- */

/*
 * A counter of 32 bits can wrap more than once between two context switches, and
 * then its difference is wrong.  Where counters are narrow, a timer on each CPU that
 * runs a state samples it often enough.  The timer stops when it finds no state to
 * sample.  A CPU that goes offline and returns within one period finds its timer
 * queued on another CPU, and samples from its next switch on.
 */
static DEFINE_PER_CPU(struct hrtimer, sampling_timer);

static void sample_here(void *arg);

static enum hrtimer_restart sampling_tick(struct hrtimer *timer)
{
	struct vperfctr_state *st = vperfctr_of(current);

	/* The timer of a CPU that went offline expires on another, which has its own. */
	if (!st || READ_ONCE(st->cpu) < 0 || timer != this_cpu_ptr(&sampling_timer))
		return HRTIMER_NORESTART;
	sample_here(st);
	hrtimer_forward_now(timer, ns_to_ktime(perfctr_cpu_sampling_ns));
	return HRTIMER_RESTART;
}

/* Context: interrupts disabled. */
static void start_sampling(void)
{
	struct hrtimer *timer = this_cpu_ptr(&sampling_timer);

	if (!hrtimer_is_queued(timer))
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

static bool is_forbidden(const struct vperfctr_state *st, int cpu)
{
	const struct perfctr_cpu_control *control = &st->cpu_state.control;

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
 * The owner has come to a CPU that cannot count it, and is not counted there.  If its
 * CONTROL has narrowed its affinity, it was moved after that: stop counting and send
 * SIGILL.
 */
static void enter_forbidden_cpu(struct vperfctr_state *st)
{
	set_bit(STATE_FORBIDDEN, &st->bits);
	perfctr_cpu_mark_suspended(&st->cpu_state);
	if (!(st->flags & VPERFCTR_CONTROL_AFFINITY))
		return;
	vperfctr_set_stop(st, st->stop | STATE_STOP_CPU);
	vperfctr_queue(st, &st->sigill_work);
}

/* ---- the counters of current -------------------------------------------- */

/* The slow path of vperfctr_switch_in(). */
void vperfctr_start_other(struct vperfctr_state *st, int cpu)
{
	if (st->checks & STATE_CHECK_SIGNAL)
		vperfctr_overflow_later();
	if (st->stop)
		return;
	if ((st->checks & STATE_CHECK_CPU) && is_forbidden(st, cpu)) {
		enter_forbidden_cpu(st);
		return;
	}
	vperfctr_start_here(st, cpu);
	if (perfctr_cpu_sampling_ns)
		start_sampling();
}

static void sample_here(void *arg)
{
	struct vperfctr_state *st = arg;

	if (READ_ONCE(st->cpu) != smp_processor_id())
		return;
	perfctr_cpu_sample(&st->cpu_state);
	if (unlikely(st->soft))
		vperfctr_soft_sample(st);
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
	int cpu = smp_load_acquire(&st->cpu);	/* see vperfctr_stop() */

	/* An error means that the CPU is offline: the owner left it before. */
	if (cpu >= 0)
		smp_call_function_single(cpu, sample_here, st, 1);
}

/* ---- context switches --------------------------------------------------- */

/* Context: run-queue lock held, interrupts disabled; current is still the owner. */
static void vperfctr_sched_out(struct preempt_notifier *notifier, struct task_struct *next)
{
	vperfctr_stop(container_of(notifier, struct vperfctr_state, notifier));
}

/*
 * Context: preemption disabled, interrupts enabled.  An interrupt may come before this:
 * it finds the owner as current, and its counters not resumed.
 */
static void vperfctr_sched_in(struct preempt_notifier *notifier, int cpu)
{
	struct vperfctr_state *st = container_of(notifier, struct vperfctr_state, notifier);

	local_irq_disable();
	vperfctr_switch_in(st, cpu);
	local_irq_enable();
}

static struct preempt_ops vperfctr_preempt_ops = {
	.sched_in	= vperfctr_sched_in,
	.sched_out	= vperfctr_sched_out,
};

/* ---- attaching and detaching -------------------------------------------- */

static void finish_detach_work(struct work_struct *work);

/*
 * Find the state of a thread.
 *
 * Context: the thread is current, with preemption disabled, as remote.c could
 * otherwise detach the state; or the thread cannot run.
 * Return: the state, or NULL.
 */
struct vperfctr_state *vperfctr_of(struct task_struct *task)
{
	struct preempt_notifier *notifier;

	hlist_for_each_entry(notifier, &task->preempt_notifiers, link) {
		if (notifier->ops == &vperfctr_preempt_ops)
			return container_of(notifier, struct vperfctr_state, notifier);
	}
	return NULL;
}

/*
 * Attach a state to a thread that has none.  The thread gets a reference.
 *
 * Context: the thread is current, or cannot run.
 */
void vperfctr_attach(struct vperfctr_state *st, struct task_struct *task)
{
	vperfctr_get(st);
	preempt_notifier_init(&st->notifier, &vperfctr_preempt_ops);
	init_irq_work(&st->sigill_work, send_sigill);
	vperfctr_overflow_attach(st);
	INIT_WORK(&st->detach_work, finish_detach_work);
	preempt_disable();
	WRITE_ONCE(st->owner, task);
	/* preempt_notifier_register() supports only current. */
	hlist_add_head(&st->notifier.link, &task->preempt_notifiers);
	preempt_enable();
}

/*
 * Stop the counters and separate the state from its thread.  `missed`: the thread
 * continues uncounted, and its family must count it as missed.
 * vperfctr_finish_detach() must follow.
 *
 * Context: interrupts disabled; the thread is current, or cannot run.
 */
void vperfctr_detach(struct vperfctr_state *st, bool missed)
{
	lockdep_assert_irqs_disabled();
	vperfctr_stop(st);
	vperfctr_overflow_last(st);
	preempt_notifier_unregister(&st->notifier);
	vperfctr_set_stop(st, STATE_STOP_IDLE);
	perfctr_cpu_mark_suspended(&st->cpu_state);
	vperfctr_leave_family(st, missed);
	/* A CPU that sees it detached may release the hardware: the stop comes first. */
	smp_store_release(&st->owner, NULL);
}

/*
 * Finish a detachment: release the hardware unless a family counts by it, wake pollers,
 * and put the references of the thread and of a family's member.
 *
 * Context: may sleep.
 */
void vperfctr_finish_detach(struct vperfctr_state *st)
{
	struct vperfctr_state *root = st->root;

	vperfctr_release_unused(st);
	wake_up_poll(&st->wait, EPOLLHUP);
	if (root) {
		st->root = NULL;
		vperfctr_release_unused(root);
		if (vperfctr_is_set(root) && list_empty(&root->family))
			wake_up_poll(&root->wait, EPOLLHUP);
		vperfctr_put(root);
	}
	/* Descendants whose sums no descriptor can read must not keep the hardware. */
	if (!atomic_read(&st->files))
		vperfctr_dissolve_family(st);
	vperfctr_put(st);
}

static void finish_detach_work(struct work_struct *work)
{
	vperfctr_finish_detach(container_of(work, struct vperfctr_state, detach_work));
}

/* Let a worker call vperfctr_finish_detach(), for a thread that cannot sleep. */
void vperfctr_finish_detach_later(struct vperfctr_state *st)
{
	queue_work(vperfctr_wq, &st->detach_work);
}

/*
 * Wait until the detachments of threads that ended before this call are finished.
 *
 * Context: may sleep.
 */
void vperfctr_flush_detached(void)
{
	flush_workqueue(vperfctr_wq);
}

/* ---- suspend to RAM ------------------------------------------------------ */

/*
 * Context: one CPU is online, with interrupts disabled; current is the thread that asked
 * for the suspend, and may have a state.
 */
static int system_suspend(void *data)
{
	struct vperfctr_state *st = vperfctr_of(current);

	if (st)
		vperfctr_stop(st);
	/* The interrupt of a pending irq_work is lost, and no later one would be raised. */
	irq_work_run();
	perfctr_cpu_sleep();
	return 0;
}

static void system_resume(void *data)
{
	struct vperfctr_state *st = vperfctr_of(current);

	perfctr_cpu_forget();
	if (st)
		vperfctr_start(st);
}

static const struct syscore_ops syscore_ops = {
	.suspend	= system_suspend,
	.resume		= system_resume,
};

static struct syscore syscore = { .ops = &syscore_ops };

int __init vperfctr_thread_init(void)
{
	int err;

	vperfctr_wq = alloc_workqueue("vperfctr", WQ_UNBOUND, 0);
	if (!vperfctr_wq)
		return -ENOMEM;
	sampling_init();
	err = vperfctr_probes_init();
	if (err) {
		destroy_workqueue(vperfctr_wq);
		return err;
	}
	register_syscore(&syscore);
	return 0;
}

/* Context: no states exist, but the work that put the last one may not have returned. */
void vperfctr_thread_exit(void)
{
	unregister_syscore(&syscore);
	vperfctr_probes_exit();
	destroy_workqueue(vperfctr_wq);
	sampling_exit();
}
