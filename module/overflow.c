// SPDX-License-Identifier: GPL-2.0
/*
 * Overflow: from the interrupt to the signal, or to the ring.
 *
 * The interrupt may be an NMI.  It may change a state only if it interrupted
 * user mode, for then nobody on this CPU is doing anything to it.  Otherwise the
 * counters stay stopped, and overflow_work sees to it as soon as interrupts are
 * enabled.  Should the owner be switched out before that, its suspend keeps what
 * the counters say, and the next resume reports the overflow again; so nothing
 * hangs on the work's finding the owner there.
 *
 * A signal is sent with its receiver as current: else the sender's PID namespace
 * would decide whether the mask, which is where others have si_pid, gets through.
 */
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/irq_work.h>
#include <linux/poll.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/smp.h>

#include "compat/hrtimer.h"
#include "vperfctr.h"

/* ---- telling ------------------------------------------------------------ */

/* Where a signal could not be queued: how soon to try again. */
#define RETRY_NS	(10 * NSEC_PER_MSEC)

static DEFINE_PER_CPU(struct hrtimer, retry_timer);

/* Interrupts are disabled, current is the owner. */
static bool send_signal(struct vperfctr *st)
{
	struct kernel_siginfo info;

	if (!(st->checks & VPERFCTR_CHECK_SIGNAL))
		return true;
	clear_siginfo(&info);
	info.si_signo = st->si_signo;
	info.si_code = SI_PMC_OVF;
	info.si_pmc_ovf_mask = st->overflow;
	/* Fails if the queue of real-time signals is full. */
	if (send_sig_info(st->si_signo, &info, current))
		return false;
	st->checks &= ~VPERFCTR_CHECK_SIGNAL;
	return true;
}

static enum hrtimer_restart retry(struct hrtimer *timer)
{
	struct vperfctr *st = vperfctr_of(current);

	/* If it is elsewhere, its next switch-in tries. */
	if (!st || send_signal(st))
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(RETRY_NS));
	return HRTIMER_RESTART;
}

static void tell(struct vperfctr *st)
{
	struct hrtimer *timer = this_cpu_ptr(&retry_timer);

	if (READ_ONCE(st->owner) == current && !send_signal(st) && !hrtimer_is_queued(timer))
		hrtimer_start(timer, ns_to_ktime(RETRY_NS), HRTIMER_MODE_REL_PINNED_HARD);
	if (vperfctr_is_held(st) || vperfctr_ring_ready(st))
		wake_up_poll(&st->wait, EPOLLIN | EPOLLRDNORM);
}

/* ---- taking an overflow ------------------------------------------------- */

/*
 * Note what has overflowed and let it start again.  True if somebody is to be
 * told.  PRE: suspended.
 */
static bool take(struct vperfctr *st, u64 ip)
{
	struct vperfctr_buffer *ring = st->flags & VPERFCTR_CONTROL_RING ? st->ring : NULL;
	u64 skipped = 0;
	u32 overflow;

	overflow = perfctr_cpu_identify_overflow(&st->cpu_state,
						 ring ? vperfctr_ring_shift(ring) : 0, &skipped);
	if (!overflow)
		return false;
	if (ring)
		return vperfctr_ring_add(st, ip, overflow, skipped);
	WRITE_ONCE(st->overflow, st->overflow | overflow);
	perfctr_cpu_hold_pmcs(&st->cpu_state);
	return true;
}

/*
 * The same for a state that runs here, whose owner is current, and which nobody
 * else is doing anything to.
 */
static bool take_here(struct vperfctr *st, u64 ip)
{
	bool told;

	perfctr_cpu_suspend(&st->cpu_state);
	told = take(st, ip);
	if (told && st->si_signo)
		st->checks |= VPERFCTR_CHECK_SIGNAL;
	perfctr_cpu_resume(&st->cpu_state);
	return told;
}

static u64 user_ip(struct task_struct *task)
{
	return instruction_pointer(task_pt_regs(task));
}

/* Interrupts are enabled elsewhere: this is one. */
void vperfctr_overflow_work(struct irq_work *work)
{
	struct vperfctr *st = container_of(work, struct vperfctr, overflow_work);

	if (READ_ONCE(st->owner) == current && st->noticed) {
		u64 ip = st->noticed_at;

		st->noticed = false;
		/* Where it was in the kernel is for those only who may count the kernel. */
		if (!ip || !st->cpu_state.control.kernel)
			ip = user_ip(current);
		if (st->cpu >= 0)
			take_here(st, ip);
	}
	tell(st);
}

/* The low-level driver's handler: see perfctr_ihandler. */
static void overflowed(struct perfctr_cpu_state *state, struct pt_regs *regs)
{
	struct vperfctr *st = container_of(state, struct vperfctr, cpu_state);

	if (regs && (user_mode(regs) || !in_nmi())) {
		if (!take_here(st, instruction_pointer(regs)))
			return;
	} else {
		st->noticed_at = regs ? instruction_pointer(regs) : 0;
		st->noticed = true;
	}
	irq_work_queue(&st->overflow_work);
}

/*
 * The counters have stopped for good: what has overflowed is in READ or in the
 * ring, but there is nothing to resume and no signal.  PRE: suspended, by the
 * owner or with the owner kept from running.
 */
void vperfctr_overflow_last(struct vperfctr *st)
{
	/* Where a file that gives privileges begins is not to be told. */
	u64 ip = test_bit(VPERFCTR_PRIVILEGED, &st->bits) ? 0 : user_ip(st->owner);

	if (st->cpu_state.control.nrictrs)
		take(st, ip);
	st->checks &= ~VPERFCTR_CHECK_SIGNAL;
	st->noticed = false;
}

/* Likewise, for a control that is to be replaced. */
void vperfctr_overflow_forget(struct vperfctr *st)
{
	st->checks &= ~VPERFCTR_CHECK_SIGNAL;
	st->noticed = false;
	WRITE_ONCE(st->overflow, 0);
}

/* ---- going on ----------------------------------------------------------- */

/* An operation: see vperfctr_apply(). */
static void op_iresume(struct vperfctr *st, void *arg)
{
	int *err = arg;

	if (!vperfctr_is_held(st)) {
		*err = -EPERM;
		return;
	}
	vperfctr_stop(st);
	vperfctr_overflow_forget(st);
	perfctr_cpu_unhold_pmcs(&st->cpu_state);
	if (st->owner == current)
		vperfctr_start(st);
}

int vperfctr_iresume(struct vperfctr *st)
{
	int err = 0;

	return vperfctr_apply(st, op_iresume, &err) ?: err;
}

/* ---- init --------------------------------------------------------------- */

void vperfctr_overflow_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_setup(per_cpu_ptr(&retry_timer, cpu), retry, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
	perfctr_cpu_set_ihandler(overflowed);
}

void vperfctr_overflow_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_cancel(per_cpu_ptr(&retry_timer, cpu));
}
