// SPDX-License-Identifier: GPL-2.0
/*
 * Overflow: from the interrupt to the signal, or to the ring.
 *
 * The interrupt may be an NMI.  It may change a state only if it interrupted
 * user mode, for then nobody on this CPU is doing anything to it.  Otherwise the
 * counters stay stopped, and an irq_work of this CPU sees to whom it finds there
 * as soon as interrupts are enabled.  Should that be somebody else, because the
 * owner was switched out before, then the owner's suspend has kept what the
 * counters say, and its next resume, on whatever CPU, reports the overflow again.
 * The works belong to CPUs, not to states: that of a state could still be pending
 * where the owner has come from.
 *
 * A signal is sent with its receiver as current: else the sender's PID namespace
 * would decide whether the mask, which is where others have si_pid, gets through.
 */
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/irq_work.h>
#include <linux/percpu.h>
#include <linux/poll.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>

#include "compat/hrtimer.h"
#include "state.h"

/* ---- telling ------------------------------------------------------------ */

/* Where a signal could not be queued: how soon to try again. */
#define RETRY_NS	(10 * NSEC_PER_MSEC)

static DEFINE_PER_CPU(struct hrtimer, retry_timer);

/* Interrupts are disabled, current is the owner. */
static bool send_signal(struct vperfctr_state *st)
{
	struct kernel_siginfo info;

	if (!(st->checks & STATE_CHECK_SIGNAL))
		return true;
	clear_siginfo(&info);
	info.si_signo = st->si_signo;
	info.si_code = SI_PMC_OVF;
	info.si_pmc_ovf_mask = st->overflow;
	/* Fails if the queue of real-time signals is full. */
	if (send_sig_info(st->si_signo, &info, current))
		return false;
	st->checks &= ~STATE_CHECK_SIGNAL;
	return true;
}

static enum hrtimer_restart retry(struct hrtimer *timer)
{
	struct vperfctr_state *st = vperfctr_of(current);

	/* If it is elsewhere, its next switch-in tries.  Timers of CPUs that went offline end. */
	if (!st || timer != this_cpu_ptr(&retry_timer) || send_signal(st))
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(RETRY_NS));
	return HRTIMER_RESTART;
}

static void send_or_retry(struct vperfctr_state *st)
{
	struct hrtimer *timer = this_cpu_ptr(&retry_timer);

	/* Perhaps again: it may be queued on a CPU to which it went when this one was offline. */
	if (!send_signal(st))
		hrtimer_start(timer, ns_to_ktime(RETRY_NS), HRTIMER_MODE_REL_PINNED_HARD);
}

/* Whoever polls is to look.  PRE: what there is to see has been written. */
static void tell(struct vperfctr_state *st)
{
	/* Has a memory barrier that pairs with poll's. */
	if (wq_has_sleeper(&st->wait))
		vperfctr_queue(st, &st->wake_work);
}

static void wake(struct irq_work *work)
{
	struct vperfctr_state *st = container_of(work, struct vperfctr_state, wake_work);

	wake_up_poll(&st->wait, EPOLLIN | EPOLLRDNORM);
}

/* ---- taking an overflow ------------------------------------------------- */

/* Does an overflow make a sample?  Otherwise counters are held. */
static bool has_ring(const struct vperfctr_state *st)
{
	return st->flags & VPERFCTR_CONTROL_RING;
}

static unsigned int shift_of(const struct vperfctr_state *st)
{
	return has_ring(st) ? st->ring_shift : 0;
}

/* PRE: the sums are up to date, and nobody else is doing anything to the state. */
static __always_inline void note_overflow(struct vperfctr_state *st, u64 ip,
					  struct perfctr_overflow overflow)
{
	if (unlikely(!overflow.ctrs))
		return;
	if (has_ring(st)) {
		if (vperfctr_ring_add(st, ip, overflow))
			tell(st);
		return;
	}
	WRITE_ONCE(st->overflow, st->overflow | overflow.ctrs);
	if (st->si_signo)
		st->checks |= STATE_CHECK_SIGNAL;
	tell(st);
}

/* Of a state that runs here, and whose counters were stopped for it. */
static void take_here(struct vperfctr_state *st, u64 ip)
{
	bool kernel = vperfctr_ring_counts_kernel(st);

	if (unlikely(kernel))
		vperfctr_ring_begin_kernel(st);
	note_overflow(st, ip, perfctr_cpu_take_overflow(&st->cpu_state, !has_ring(st), shift_of(st)));
	perfctr_cpu_go_on(&st->cpu_state);
	if (unlikely(kernel))
		vperfctr_ring_end_kernel(st);
}

/* Of one that is suspended and not to go on. */
static void take_last(struct vperfctr_state *st, u64 ip)
{
	note_overflow(st, ip, perfctr_cpu_identify_overflow(&st->cpu_state, shift_of(st)));
}

static u64 user_ip(struct task_struct *task)
{
	return instruction_pointer(task_pt_regs(task));
}

static void take_noticed(struct vperfctr_state *st)
{
	u64 ip = st->noticed_at;

	st->noticed = false;
	/*
	 * Where a file that gives privileges begins is not to be told, and that is in the
	 * registers before the exec has got to where the counting ends.
	 */
	if (!ip && !current->in_execve)
		ip = user_ip(current);
	if (st->cpu >= 0)
		take_here(st, ip);
}

/* An interrupt, hence at a moment when there may be one. */
static void overflow_work(struct irq_work *work)
{
	struct vperfctr_state *st = vperfctr_of(current);

	if (!st)
		return;
	if (st->noticed)
		take_noticed(st);
	send_or_retry(st);
}

static DEFINE_PER_CPU(struct irq_work, overflow_works);

/* Have it done as soon as interrupts are enabled on this CPU. */
void vperfctr_overflow_later(void)
{
	irq_work_queue(this_cpu_ptr(&overflow_works));
}

/* Where in the kernel?  Only for a ring that is to have it; 0: say where in user mode. */
static u64 kernel_ip(const struct vperfctr_state *st, struct pt_regs *regs)
{
	if (!regs || !st->cpu_state.control.kernel || !vperfctr_ring_has_kernel(st))
		return 0;
	return instruction_pointer(regs);
}

/* The low-level driver's handler: see perfctr_ihandler. */
static void overflowed(struct perfctr_cpu_state *state, struct pt_regs *regs)
{
	struct vperfctr_state *st = container_of(state, struct vperfctr_state, cpu_state);

	if (regs && user_mode(regs)) {
		take_here(st, instruction_pointer(regs));
		if (!(st->checks & STATE_CHECK_SIGNAL))
			return;
	} else if (!st->noticed) {
		st->noticed_at = kernel_ip(st, regs);
		st->noticed = true;
	}
	vperfctr_overflow_later();
}

/* What has overflowed is in READ or in the ring, but there is nothing to resume, and no signal. */
void vperfctr_overflow_end(struct vperfctr_state *st)
{
	/* Where a file that gives privileges begins is not to be told. */
	take_last(st, test_bit(STATE_PRIVILEGED, &st->bits) ? 0 : user_ip(st->owner));
	if (st->flags & VPERFCTR_CONTROL_RING)
		vperfctr_ring_drop(st, perfctr_cpu_skipped(&st->cpu_state));
	perfctr_cpu_unhold_pmcs(&st->cpu_state);
	st->checks &= ~STATE_CHECK_SIGNAL;
	st->noticed = false;
}

/* Nothing waits any more. */
void vperfctr_overflow_forget(struct vperfctr_state *st)
{
	st->checks &= ~STATE_CHECK_SIGNAL;
	st->noticed = false;
	WRITE_ONCE(st->overflow, 0);
}

/* ---- going on ----------------------------------------------------------- */

/* An operation: see vperfctr_apply(). */
static int op_iresume(struct vperfctr_state *st, void *arg)
{
	if (!vperfctr_is_held(st))
		return -EPERM;
	vperfctr_overflow_forget(st);
	if (likely(st->cpu >= 0)) {
		perfctr_cpu_iresume(&st->cpu_state);
		return 0;
	}
	perfctr_cpu_unhold_pmcs(&st->cpu_state);
	if (st->owner == current)
		vperfctr_start(st);
	return 0;
}

int vperfctr_iresume(struct vperfctr_state *st)
{
	return vperfctr_apply(st, op_iresume, NULL);
}

/* ---- init --------------------------------------------------------------- */

void vperfctr_overflow_attach(struct vperfctr_state *st)
{
	init_irq_work(&st->wake_work, wake);
}

void vperfctr_overflow_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		hrtimer_setup(per_cpu_ptr(&retry_timer, cpu), retry, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
		init_irq_work(per_cpu_ptr(&overflow_works, cpu), overflow_work);
	}
	if (!STATE_ON_RT)
		perfctr_cpu_set_ihandler(overflowed);
}

/* There are no states. */
void vperfctr_overflow_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		irq_work_sync(per_cpu_ptr(&overflow_works, cpu));
		hrtimer_cancel(per_cpu_ptr(&retry_timer, cpu));
	}
}
