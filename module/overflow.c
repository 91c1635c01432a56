// SPDX-License-Identifier: GPL-2.0
/*
 * Overflow: from the interrupt to the signal or to the ring.  ring.c limits the rate of
 * samples.  On x86, arch/x86/nmi.c stops counters that raise NMIs without end.
 *
 * The interrupt may be an NMI.  It may change a state only if it interrupted user
 * mode, as no other code of this CPU can then be in the middle of a change.
 * Otherwise the counters stay stopped, and the handler queues an irq_work of this
 * CPU, which runs as soon as interrupts are enabled.
 *
 * The irq_work may find another thread than the owner, if the owner was switched
 * out before.  The owner's suspend has then saved the counters, and its next
 * resume, on any CPU, reports the overflow again.  The irq_works belong to CPUs and
 * not to states, because a state's could still be pending on the CPU that the owner
 * has left.
 *
 * A signal is sent with its receiver as current.  Otherwise the sender's PID
 * namespace would decide whether the kernel keeps the mask, which lies where other
 * signals have si_pid.  On PREEMPT_RT it is sent by the owner: see rt/signal.c.
 */
#include <linux/bitops.h>
#include <linux/cred.h>
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
#include "overflow.h"
#include "permission.h"
#include "remote.h"
#include "ring.h"
#include "state.h"
#include "thread.h"
#include "user-frame.h"

/* ---- signal and poll ---------------------------------------------------- */

/* A signal that could not be queued is sent again after this time. */
#define RETRY_NS	(10 * NSEC_PER_MSEC)

static DEFINE_PER_CPU(struct hrtimer, retry_timer);

/*
 * A signal that is being sent on this CPU.  On the stack all of it would be cleared each time.  The
 * kernel may change what it is given, also where it fails, so each member that is not 0 for ever
 * is set anew.
 */
static DEFINE_PER_CPU(struct kernel_siginfo, signal_info);

/*
 * Send the signal that is due, if there is one.
 *
 * Context: hard interrupt; current is the owner.
 * Return: false if it could not be queued.
 */
static __always_inline bool send_signal(struct vperfctr_state *st)
{
	struct kernel_siginfo *info;

	if (!(st->checks & STATE_CHECK_SIGNAL))
		return true;
	if (STATE_ON_RT) {
		vperfctr_signal_owner(st);
		return true;
	}
	/*
	 * While a file system or io_uring lends current the credentials of another user
	 * namespace, the kernel would take the mask's high word for a UID and translate it.
	 */
	if (unlikely(current_cred()->user_ns != current_real_cred()->user_ns))
		return false;
	info = this_cpu_ptr(&signal_info);
	info->si_signo = st->si_signo;
	info->si_code = SI_PMC_OVF;
	info->si_pmc_ovf_mask = st->overflow;
	info->si_pmc_ovf_mask_high = 0;
	/* This fails if the queue of real-time signals is full. */
	if (send_sig_info(st->si_signo, info, current))
		return false;
	st->checks &= ~STATE_CHECK_SIGNAL;
	return true;
}

static enum hrtimer_restart retry_signal(struct hrtimer *timer)
{
	struct vperfctr_state *st;
	bool sent = true;

	/*
	 * If the owner has left, its next switch-in sends the signal.  A timer whose own
	 * CPU went offline expires on another one, and ends.
	 */
	if (timer != this_cpu_ptr(&retry_timer))
		return HRTIMER_NORESTART;
	for (st = vperfctr_of_current(); st; st = vperfctr_next_of_current(st))
		sent &= send_signal(st);
	if (sent)
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(RETRY_NS));
	return HRTIMER_RESTART;
}

/*
 * Try again to send the signal of current, in a while.
 *
 * Context: interrupts disabled.
 */
void vperfctr_retry_later(void)
{
	/* The timer may be queued on the CPU that got it while this one was offline. */
	hrtimer_start(this_cpu_ptr(&retry_timer), ns_to_ktime(RETRY_NS),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

static __always_inline void send_signal_or_retry(struct vperfctr_state *st)
{
	if (unlikely(!send_signal(st)))
		vperfctr_retry_later();
}

static void wake_pollers_work(struct irq_work *work)
{
	struct vperfctr_state *st = container_of(work, struct vperfctr_state, wake_work);

	wake_up_poll(&st->wait, EPOLLIN | EPOLLRDNORM);
}

/* ---- handling an overflow ----------------------------------------------- */

/* True if an overflow makes a sample.  Otherwise it holds the counters. */
static bool makes_samples(const struct vperfctr_state *st)
{
	return st->flags & VPERFCTR_CONTROL_RING;
}

/*
 * Add a sample to the ring.
 *
 * Context: the sums are up to date, and no other code changes the state.
 */
static __always_inline void add_sample(struct vperfctr_state *st, u64 ip,
				       struct perfctr_overflow overflow)
{
	if (likely(overflow.ctrs) && vperfctr_ring_add(st, ip, overflow))
		vperfctr_wake_pollers(vperfctr_ring_waiters(st));
}

/* Record the overflow for READ, the signal and poll().  Context: as for add_sample(). */
static __always_inline void record_overflow(struct vperfctr_state *st, u32 ctrs)
{
	if (unlikely(!ctrs))
		return;
	WRITE_ONCE(st->overflow, st->overflow | ctrs);
	if (st->si_signo)
		st->checks |= STATE_CHECK_SIGNAL;
	vperfctr_wake_pollers(st);
}

/*
 * Handle the overflows of a member of the joint state, which is suspended.  `ip`: where the thread
 * is in user mode, which counts unless an interrupt in kernel mode has noted its own place.
 */
static void handle_member(struct vperfctr_state *st, u64 ip)
{
	u32 ctrs;

	if (!(st->cpu_state.cstatus & VPERFCTR_CSTATUS_ICTRS))
		return;		/* or they are held already */
	if (st->pending && st->pending_ip)
		ip = st->pending_ip;
	st->pending = false;
	if (makes_samples(st)) {
		add_sample(st, ip, perfctr_cpu_identify_overflow(&st->cpu_state, st->ring_shift));
		return;
	}
	ctrs = perfctr_cpu_identify_overflow(&st->cpu_state, 0).ctrs;
	if (ctrs)
		perfctr_cpu_hold_pmcs(&st->cpu_state);
	record_overflow(st, ctrs);
}

/*
 * The same as handle_running() for the joint state: each of its members may have overflowed.
 * Context: as for perfctr_ihandler.
 */
static noinline void handle_joint(struct vperfctr_state *joint, u64 ip)
{
	struct perfctr_cpu_state **part;
	unsigned int i, n;

	n = vperfctr_joint_members(&part);
	/* The time of all that follows is not the thread's: it limits samples of kernel mode. */
	for (i = 0; i < n; i++) {
		if (vperfctr_ring_counts_kernel(vperfctr_member(part[i])))
			vperfctr_ring_begin_kernel(vperfctr_member(part[i]));
	}
	vperfctr_joint_pause();
	joint->checks = 0;
	for (i = 0; i < n; i++) {
		struct vperfctr_state *st = vperfctr_member(part[i]);

		handle_member(st, ip);
		joint->checks |= st->checks & STATE_CHECK_SIGNAL;
	}
	/* The members are the thread's states, also if the CPU is refused here. */
	vperfctr_joint_continue();
	for (i = 0; i < n; i++) {
		if (vperfctr_ring_counts_kernel(vperfctr_member(part[i])))
			vperfctr_ring_end_kernel(vperfctr_member(part[i]));
	}
}

/* The same as handle_running() for overflows that make samples. */
static noinline void add_samples(struct vperfctr_state *st, u64 ip)
{
	bool kernel = vperfctr_ring_counts_kernel(st);

	if (unlikely(kernel)) {
		/* The joint state's control says so, whatever its members count. */
		if (st->flags & STATE_FLAG_JOINT) {
			handle_joint(st, ip);
			return;
		}
		vperfctr_ring_begin_kernel(st);
	}
	add_sample(st, ip, perfctr_cpu_take_overflow(&st->cpu_state, st->ring_shift));
	perfctr_cpu_restart(&st->cpu_state);
	if (unlikely(kernel))
		vperfctr_ring_end_kernel(st);
}

/* Handle the overflow of a state that runs on this CPU and whose counters are stopped. */
static __always_inline void handle_running(struct vperfctr_state *st, u64 ip)
{
	if (makes_samples(st))
		add_samples(st, ip);
	else
		record_overflow(st, perfctr_cpu_hold_overflow(&st->cpu_state));
}

/* Handle the overflow of a state that is suspended and will not be resumed. */
static void handle_last(struct vperfctr_state *st, u64 ip)
{
	if (makes_samples(st))
		add_sample(st, ip, perfctr_cpu_identify_overflow(&st->cpu_state, st->ring_shift));
	else
		record_overflow(st, perfctr_cpu_identify_overflow(&st->cpu_state, 0).ctrs);
}

/* Where a thread entered the kernel from user mode. */
u64 vperfctr_user_ip(const struct task_struct *task)
{
	return instruction_pointer(task_pt_regs((struct task_struct *)task));
}

/* Handle the overflow that an interrupt of kernel mode left pending. */
static void handle_pending(struct vperfctr_state *st)
{
	u64 ip = st->pending_ip;

	/* Its counters are suspended: the next resume reports the overflow again. */
	if (unlikely(st->cpu < 0))
		return;
	st->pending = false;
	/*
	 * The entry point of a file that gives privileges must not be reported.  An
	 * exec puts it into the registers before it reaches the end of the counting.
	 */
	if (!ip && !current->in_execve)
		ip = vperfctr_user_ip(current);
	handle_running(st, ip);
}

/* Handle the pending overflows of a thread with several states. */
static noinline void overflow_work_joint(void)
{
	struct vperfctr_state *st = vperfctr_joint_here();

	/*
	 * Only members that count on this CPU leave this pending, and those are of current.  It
	 * ends when they are suspended; an interrupt after the resume may leave the next one.
	 */
	if (st->pending)
		handle_joint(st, current->in_execve ? 0 : vperfctr_user_ip(current));
	for (st = vperfctr_of_current(); st; st = vperfctr_next_of_current(st)) {
		if (st->pending)
			handle_pending(st);
		send_signal_or_retry(st);
	}
}

static noinline void handle_waiting(struct vperfctr_state *st)
{
	if (unlikely(st->joint))
		overflow_work_joint();
	else
		handle_pending(st);
}

/* Context: hard interrupt, hence no code of this CPU is in the middle of a change. */
static void overflow_work(struct irq_work *work)
{
	struct vperfctr_state *st = vperfctr_of_current();

	if (!st)
		return;
	if (st->waiting)
		handle_waiting(st);
	send_signal_or_retry(st);
}

static DEFINE_PER_CPU(struct irq_work, overflow_works);

/* Run overflow_work() as soon as interrupts are enabled on this CPU. */
void vperfctr_overflow_later(void)
{
	irq_work_queue(this_cpu_ptr(&overflow_works));
}

/*
 * The address in the kernel if the ring may have it, with its calls saved.  0: use the one
 * in user mode.
 */
static noinline u64 kernel_ip(struct vperfctr_state *st, struct pt_regs *regs)
{
	if (!regs || !st->cpu_state.control.kernel || !vperfctr_ring_has_kernel(st))
		return 0;
	/* On 32 bits, this is also called for user mode, which has no calls in the kernel. */
	if (!PERFCTR_NMI_HAS_USER_REGS && user_mode(regs))
		return 0;
	vperfctr_save_calls(st, regs, false);
	return instruction_pointer(regs);
}

/*
 * Note where an interrupt has come, for each member of the joint state.  Which of them have
 * overflowed is known later: see vperfctr_overflow_part().
 *
 * The joint state counts, as the driver has found it.  So this CPU is not about to change what its
 * members are, or a member.
 */
static noinline void note_members(struct pt_regs *regs)
{
	struct perfctr_cpu_state **part;
	unsigned int i, n;

	n = vperfctr_joint_members(&part);
	for (i = 0; i < n; i++) {
		struct vperfctr_state *st = vperfctr_member(part[i]);

		/* An earlier overflow may be waiting for its sample. */
		if (st->pending || !(part[i]->cstatus & VPERFCTR_CSTATUS_ICTRS))
			continue;
		st->pending_ip = kernel_ip(st, regs);
		st->pending = true;
	}
}

/* Forget a pending overflow, and the calls that are saved for its sample. */
static void forget_pending(struct vperfctr_state *st)
{
	st->pending = false;
	if (st->sampler)
		vperfctr_ring_suspend(st);
}

/*
 * Forget what note_members() has noted for members that have not overflowed.
 *
 * Context: the joint state has been suspended, and its members are up to date.
 */
void vperfctr_overflow_part(struct perfctr_cpu_state *const *part, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (vperfctr_member(part[i])->pending && !perfctr_cpu_has_overflow(part[i]))
			forget_pending(vperfctr_member(part[i]));
	}
}

/*
 * Handle an overflow: the low-level driver calls this while threads are counted, see
 * perfctr_ihandler.
 */
void vperfctr_handle_overflow(struct perfctr_cpu_state *state, struct pt_regs *regs)
{
	struct vperfctr_state *st = container_of(state, struct vperfctr_state, cpu_state);

	if (PERFCTR_NMI_HAS_USER_REGS && regs && user_mode(regs)) {
		handle_running(st, instruction_pointer(regs));
		if (!(st->checks & STATE_CHECK_SIGNAL))
			return;
	} else if (!st->pending) {
		if (unlikely(st->flags & STATE_FLAG_JOINT))
			note_members(regs);
		else
			st->pending_ip = kernel_ip(st, regs);
		st->pending = true;
	}
	vperfctr_overflow_later();
}

/*
 * Record the last overflows of counters that have stopped for good, or for another
 * control.  They go to READ or to the ring.  No signal is sent, and nothing resumes.
 */
void vperfctr_overflow_end(struct vperfctr_state *st)
{
	u64 ip = st->pending ? st->pending_ip : 0;

	/*
	 * The entry point of a file that gives privileges must not be reported: see also
	 * handle_pending().  The owner may have been stopped before its exec is over.
	 */
	if (!ip && !test_bit(STATE_PRIVILEGED, &st->bits) && !st->owner->in_execve)
		ip = vperfctr_user_ip(st->owner);
	handle_last(st, ip);
	if (st->flags & VPERFCTR_CONTROL_RING)
		vperfctr_ring_drop(st, perfctr_cpu_skipped(&st->cpu_state));
	perfctr_cpu_unhold_pmcs(&st->cpu_state);
	st->checks &= ~STATE_CHECK_SIGNAL;
	st->pending = false;
}

/*
 * An overflow was pending when the counters were suspended.  Its sample, after the resume, has the
 * place in the kernel, but not the calls: meanwhile others may need their memory.
 */
void vperfctr_overflow_suspend(struct vperfctr_state *st)
{
	if (st->sampler)
		vperfctr_ring_suspend(st);
}

/* Forget the overflows that wait for IRESUME. */
void vperfctr_overflow_forget(struct vperfctr_state *st)
{
	st->checks &= ~STATE_CHECK_SIGNAL;
	st->pending = false;
	if (STATE_ON_RT)
		clear_bit(STATE_RETRYING, &st->bits);
	WRITE_ONCE(st->overflow, 0);
}

/* ---- iresume ------------------------------------------------------------ */

/* Continue after an overflow.  A vperfctr_op: see vperfctr_apply(). */
static __always_inline int op_iresume(struct vperfctr_state *st, void *arg)
{
	if (!vperfctr_is_held(st))
		return -ENODATA;
	vperfctr_overflow_forget(st);
	if (likely(st->cpu >= 0)) {
		perfctr_cpu_iresume(&st->cpu_state);
		return 0;
	}
	vperfctr_stop(st);	/* it may count together with others, without its counters */
	perfctr_cpu_unhold_pmcs(&st->cpu_state);
	if (st->owner == current)
		vperfctr_start(st);
	return 0;
}

int vperfctr_iresume(struct vperfctr_state *st)
{
	if (unlikely(vperfctr_is_locked(st)) && READ_ONCE(st->owner) == current)
		return -EPERM;
	return vperfctr_apply(st, op_iresume, NULL);
}

/* ---- init --------------------------------------------------------------- */

void vperfctr_overflow_attach(struct vperfctr_state *st)
{
	init_irq_work(&st->wake_work, wake_pollers_work);
}

void vperfctr_overflow_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		hrtimer_setup(per_cpu_ptr(&retry_timer, cpu), retry_signal, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
		vperfctr_init_hard_work(per_cpu_ptr(&overflow_works, cpu), overflow_work);
	}
	perfctr_cpu_set_ihandler(vperfctr_handle_overflow);
}

/* Context: no states exist. */
void vperfctr_overflow_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		irq_work_sync(per_cpu_ptr(&overflow_works, cpu));
		hrtimer_cancel(per_cpu_ptr(&retry_timer, cpu));
	}
	if (STATE_ON_RT)
		vperfctr_signal_exit();
}
