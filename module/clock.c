// SPDX-License-Identifier: GPL-2.0
/*
 * Samples by thread time, for controls with a clock_period.  They need no counters.
 *
 * A timer on each CPU interrupts a thread that runs there when its next sample is due.  The
 * switch-in of such a thread programs it.  The timer stops when it finds no such thread, so
 * a switch-out does nothing.  It is a hint only: the thread time in the page says how many
 * periods have passed.  A period without a sample of its own is counted as dropped.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/types.h>

#include <asm/irq_regs.h>

#include "compat/hrtimer.h"
#include "overflow.h"
#include "ring.h"
#include "software.h"
#include "state.h"
#include "thread.h"

static DEFINE_PER_CPU(struct hrtimer, clock_timer);

/*
 * The kernel's clock and the TSC differ by less than 1/1024.  The timer expires that much
 * later, or it would often come too early and have to be programmed again.
 */
#define SLACK_SHIFT	10

/* The owner runs at least that long between two samples, however slow the interrupts are. */
#define MIN_REST_NS	(VPERFCTR_CLOCK_MIN / 2)

/* Throttling lengthens a period by no more than this factor, a power of two. */
#define MAX_SHIFT	20

/* True if controls can have a clock_period. */
bool vperfctr_clock_available(void)
{
	return perfctr_cpu_info.tsc_khz;
}

/* The thread time in nanoseconds, when the sums were last updated. */
static u64 thread_time(const struct vperfctr_state *st)
{
	return vperfctr_ns_of_tsc(st->cpu_state.page->tsc_sum);
}

/*
 * Let the timer of this CPU expire when the next sample of the running state is due.  If it
 * expires before, for a thread that ran here before, it is left as it is, and will be
 * programmed again then.
 *
 * Context: interrupts disabled; the sums are up to date.
 */
static void program_timer(const struct vperfctr_state *st, u64 min_rest)
{
	struct hrtimer *timer = this_cpu_ptr(&clock_timer);
	u64 time = thread_time(st), rest = 0;
	ktime_t at;

	if (time < st->clock.next)
		rest = st->clock.next - time;
	at = ktime_add_ns(ktime_get(), max(rest + (rest >> SLACK_SHIFT), min_rest));
	if (!hrtimer_is_queued_here(timer) || hrtimer_get_expires(timer) > at)
		hrtimer_start(timer, at, HRTIMER_MODE_ABS_PINNED_HARD);
}

/* Program the timer after the owner was switched in, or its counters were started. */
void vperfctr_clock_start(const struct vperfctr_state *st)
{
	/* A driver may have refused the CPU. */
	if (likely(vperfctr_cpu_of(st) >= 0))
		program_timer(st, 0);
}

/* Return the number of periods that have ended at this time, and account for them. */
static u64 take_periods(struct vperfctr_clock *clock, u64 time)
{
	u64 nr = 1;

	if (time < clock->due)
		return 0;
	if (unlikely(time - clock->due >= clock->period))
		nr += div64_u64(time - clock->due, clock->period);
	clock->due += nr * clock->period;
	return nr;
}

static void set_next(struct vperfctr_state *st)
{
	unsigned int shift = min_t(unsigned int, st->ring_shift, MAX_SHIFT);

	st->clock.next = st->clock.due + ((1ULL << shift) - 1) * st->clock.period;
}

/* Add one sample for all periods that have ended. */
static void add_sample(struct vperfctr_state *st, u64 ip, u32 flags)
{
	u64 nr = take_periods(&st->clock, thread_time(st));

	if (vperfctr_ring_add_clock(st, ip, flags, nr - 1))
		vperfctr_wake_pollers(vperfctr_ring_waiters(st));
	set_next(st);
}

static void add_kernel_sample(struct vperfctr_state *st, struct pt_regs *regs)
{
	vperfctr_save_calls(st, regs, true);
	add_sample(st, instruction_pointer(regs), VPERFCTR_SAMPLE_KERNEL);
}

/*
 * Add the sample that an interrupt makes.  In the kernel, the address is the one there only
 * if both the ring and the caller of CONTROL may have it.
 */
static void add_interrupt_sample(struct vperfctr_state *st, struct pt_regs *regs)
{
	if (likely(regs && user_mode(regs)))
		add_sample(st, instruction_pointer(regs), VPERFCTR_SAMPLE_USER);
	else if (regs && st->clock.kernel && vperfctr_ring_has_kernel(st))
		add_kernel_sample(st, regs);
	else if (!current->in_execve)
		add_sample(st, vperfctr_user_ip(current),
			   VPERFCTR_SAMPLE_USER | VPERFCTR_SAMPLE_SYSTEM);
	else	/* the entry point of a file that gives privileges: see handle_pending() */
		add_sample(st, 0, VPERFCTR_SAMPLE_SYSTEM);
}

static bool ticks(const struct vperfctr_state *st)
{
	return (st->checks & STATE_CHECK_CLOCK) && vperfctr_cpu_of(st) >= 0;
}

typedef void tick_func(struct vperfctr_state *st);

/* Call a function for the states of current that ticks concern. */
static __always_inline void call_ticking(tick_func *func)
{
	struct vperfctr_state *st;

	for (st = vperfctr_of_current(); st; st = vperfctr_next_of_current(st)) {
		if (ticks(st))
			func(st);
	}
}

static void add_due_sample(struct vperfctr_state *st)
{
	if (thread_time(st) >= st->clock.next)
		add_interrupt_sample(st, get_irq_regs());
}

static bool any_is_due(void)
{
	struct vperfctr_state *st;
	bool due = false;

	for (st = vperfctr_of_current(); st; st = vperfctr_next_of_current(st))
		due |= ticks(st) && thread_time(st) >= st->clock.next;
	return due;
}

static void program_next(struct vperfctr_state *st)
{
	program_timer(st, 0);
}

static void program_after_rest(struct vperfctr_state *st)
{
	program_timer(st, MIN_REST_NS);
}

/*
 * Handle a tick of the timer, which is that of all states of the thread.  The thread must come
 * forward between two ticks.  So the handling of one state's sample is not time of the thread for
 * another state, and the rest begins when all have been handled.
 */
static enum hrtimer_restart clock_tick(struct hrtimer *timer)
{
	struct vperfctr_state *first = vperfctr_of_current();

	/* The timer of a CPU that went offline expires on another, which has its own. */
	if (timer != this_cpu_ptr(&clock_timer))
		return HRTIMER_NORESTART;
	call_ticking(vperfctr_sample_here);
	if (any_is_due()) {
		call_ticking(vperfctr_ring_begin_kernel);
		call_ticking(add_due_sample);
		call_ticking(program_after_rest);
		call_ticking(vperfctr_ring_end_kernel);
	} else if (first && vperfctr_next_of(first)) {
		call_ticking(program_after_rest);
	} else {
		call_ticking(program_next);
	}
	return HRTIMER_NORESTART;	/* it has been started */
}

/*
 * Account for the periods since the last sample, when the state has stopped for good or for
 * another control.
 *
 * Context: the state is suspended; current is the owner, or the owner cannot run.
 */
void vperfctr_clock_end(struct vperfctr_state *st)
{
	u64 time = thread_time(st);

	if (time < st->clock.next)
		vperfctr_ring_drop(st, take_periods(&st->clock, time));
	else if (test_bit(STATE_PRIVILEGED, &st->bits) || st->owner->in_execve)
		add_sample(st, 0, VPERFCTR_SAMPLE_SYSTEM);
	else
		add_sample(st, vperfctr_user_ip(st->owner),
			   VPERFCTR_SAMPLE_USER | VPERFCTR_SAMPLE_SYSTEM);
}

/*
 * Begin a period of a new control, or of a new member of a family.  `kernel`: samples may
 * have addresses in the kernel.
 *
 * Context: the state is suspended, and has the control.
 */
void vperfctr_clock_begin(struct vperfctr_state *st, u64 period, bool kernel)
{
	st->clock.period = period;
	st->clock.kernel = kernel;
	if (likely(!period))
		return;
	/* A control keeps the sum of the TSC. */
	st->clock.due = thread_time(st) + period;
	st->clock.next = st->clock.due;
	st->checks |= STATE_CHECK_CLOCK;
}

/*
 * Shorten the first period to a part of it.
 *
 * Context: the period has begun, and the owner does not run yet.
 */
void vperfctr_clock_spread(struct vperfctr_state *st, u32 part)
{
	st->clock.due -= st->clock.period - perfctr_rest_of_period(st->clock.period, part);
	st->clock.next = st->clock.due;
}

void vperfctr_clock_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_setup(per_cpu_ptr(&clock_timer, cpu), clock_tick, CLOCK_MONOTONIC,
			      HRTIMER_MODE_ABS_PINNED_HARD);
}

/* Context: no states exist. */
void vperfctr_clock_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_cancel(per_cpu_ptr(&clock_timer, cpu));
}
