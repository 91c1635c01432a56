// SPDX-License-Identifier: GPL-2.0
/*
 * The signal of an overflow on PREEMPT_RT.
 *
 * An interrupt cannot send it there: the lock of signals is one that sleeps.  A thread of
 * the kernel could, but a real-time owner would run on until it sleeps, and a receiver in
 * a PID namespace would not get the mask (see overflow.c).  So the interrupt gives the
 * owner a task work, which the owner executes before it returns to user mode.  Its next
 * instruction there is that of the handler, as on other kernels.
 *
 * TIF_NOTIFY_SIGNAL ends a sleep of the owner in a call, as the signal would.  So an
 * overflow in a call also ends the sleep if the owner blocks or ignores the signal.
 */
#include <linux/atomic.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/thread_info.h>

#include "../overflow.h"
#include "../state.h"

/* A task work has been given to a thread since the module was loaded. */
static bool used;

/*
 * Take the signal that is due, if there is one, so that an interrupt can ask for the next.
 *
 * Return: true if it must be sent.
 */
static bool take_signal(struct vperfctr_state *st, struct kernel_siginfo *info)
{
	bool due;

	local_irq_disable();
	due = READ_ONCE(st->owner) == current && (st->checks & STATE_CHECK_SIGNAL);
	if (due) {
		st->checks &= ~STATE_CHECK_SIGNAL;
		clear_siginfo(info);
		info->si_signo = st->si_signo;
		info->si_code = SI_PMC_OVF;
		info->si_pmc_ovf_mask = st->overflow;
	}
	local_irq_enable();
	return due;
}

/* Try later to send a signal that could not be queued.  It may be outdated meanwhile. */
static void retry_signal(struct vperfctr_state *st)
{
	local_irq_disable();
	if (READ_ONCE(st->owner) == current && st->overflow && st->si_signo) {
		st->checks |= STATE_CHECK_SIGNAL;
		set_bit(STATE_RETRYING, &st->bits);
		vperfctr_retry_later();
	}
	local_irq_enable();
}

/*
 * Send the signal of an overflow.
 *
 * Context: the thread that was the owner returns to user mode, or ends.
 */
static void signal_work(struct callback_head *work)
{
	struct vperfctr_state *st = container_of(work, struct vperfctr_state, signal_work);
	struct kernel_siginfo info;

	/* From now on an interrupt may queue the work again. */
	clear_bit(STATE_SIGNALLING, &st->bits);
	if (take_signal(st, &info)) {
		clear_bit(STATE_RETRYING, &st->bits);
		if (send_sig_info(info.si_signo, &info, current))
			retry_signal(st);
	}
	vperfctr_put(st);
	module_put(THIS_MODULE);
}

/*
 * The same as task_work_add(), which is not exported, for current.
 *
 * Context: hard interrupt; current is not ending, and so its list is open.
 */
static void add_task_work(struct callback_head *work)
{
	struct callback_head *head = READ_ONCE(current->task_works);

	do {
		work->next = head;
	} while (!try_cmpxchg(&current->task_works, &head, work));
}

/*
 * Let the owner send itself the signal that is due.
 *
 * Context: hard interrupt; current is the owner.
 */
void vperfctr_signal_owner(struct vperfctr_state *st)
{
	/* A thread that is ending gets no signals. */
	if ((current->flags & PF_EXITING) || test_and_set_bit(STATE_SIGNALLING, &st->bits))
		return;
	WRITE_ONCE(used, true);
	/* A member has the module only by its root. */
	__module_get(THIS_MODULE);
	vperfctr_get(st);
	st->signal_work.func = signal_work;
	add_task_work(&st->signal_work);
	/* While the queue of signals is full, each sleep would end at once. */
	set_thread_flag(test_bit(STATE_RETRYING, &st->bits) ?
			TIF_NOTIFY_RESUME : TIF_NOTIFY_SIGNAL);
}

/* Context: no states exist; but the work that put the last one may not have returned. */
void vperfctr_signal_exit(void)
{
	if (READ_ONCE(used))
		synchronize_rcu_tasks();
}
