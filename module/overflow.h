/* SPDX-License-Identifier: GPL-2.0 */
/* From an interrupt, or a timer, to a signal or a sample. */
#ifndef VPERFCTR_OVERFLOW_H
#define VPERFCTR_OVERFLOW_H

#include <linux/wait.h>

#include "state.h"

struct pt_regs;

/* overflow.c */
void vperfctr_handle_overflow(struct perfctr_cpu_state *state, struct pt_regs *regs);
void vperfctr_overflow_init(void);
void vperfctr_overflow_exit(void);
void vperfctr_overflow_attach(struct vperfctr_state *st);
void vperfctr_overflow_later(void);
void vperfctr_retry_later(void);
void vperfctr_overflow_end(struct vperfctr_state *st);
void vperfctr_overflow_forget(struct vperfctr_state *st);
void vperfctr_overflow_suspend(struct vperfctr_state *st);
void vperfctr_overflow_part(struct perfctr_cpu_state *const *part, unsigned int n);
u64 vperfctr_user_ip(const struct task_struct *task);
int vperfctr_iresume(struct vperfctr_state *st);

/*
 * Wake pollers.  The overflow or the sample must already be visible.
 *
 * Context: any interrupt.
 */
static inline void vperfctr_wake_pollers(struct vperfctr_state *st)
{
	/* The memory barrier in it pairs with that of poll(). */
	if (wq_has_sleeper(&st->wait))
		vperfctr_queue(st, &st->wake_work);
}

/*
 * Report the last overflows of counters that have stopped for good or for another
 * control.
 *
 * Context: the state is suspended; current is the owner, or the owner cannot run.
 */
static inline void vperfctr_overflow_last(struct vperfctr_state *st)
{
	if (unlikely(st->cpu_state.control.nrictrs))
		vperfctr_overflow_end(st);
}

/* clock.c */
void vperfctr_clock_init(void);
void vperfctr_clock_exit(void);
bool vperfctr_clock_available(void);
void vperfctr_clock_begin(struct vperfctr_state *st, u64 period, bool kernel);
void vperfctr_clock_spread(struct vperfctr_state *st, u32 part);
void vperfctr_clock_start(const struct vperfctr_state *st);
void vperfctr_clock_end(struct vperfctr_state *st);

/* As vperfctr_overflow_last(), for samples by thread time. */
static inline void vperfctr_clock_last(struct vperfctr_state *st)
{
	if (unlikely(st->clock.period))
		vperfctr_clock_end(st);
}

/* callchain.c */
unsigned int vperfctr_user_chain(u64 *to, unsigned int max);

/* kernel-chain.c */
void vperfctr_save_calls(struct vperfctr_state *st, struct pt_regs *regs, bool clock);

/* user-stack.c */
u64 *vperfctr_user_stack(u64 *to, unsigned int max);

/* rt/signal.c: only on PREEMPT_RT */
void vperfctr_signal_owner(struct vperfctr_state *st);
void vperfctr_signal_exit(void);

#endif /* VPERFCTR_OVERFLOW_H */
