/* SPDX-License-Identifier: GPL-2.0 */
/* The states of a thread: which there are, and their starts and stops. */
#ifndef VPERFCTR_THREAD_H
#define VPERFCTR_THREAD_H

#include <linux/lockdep.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "state.h"

/* thread.c */
int vperfctr_thread_init(void);
void vperfctr_thread_exit(void);
struct vperfctr_state *vperfctr_lead_of(const struct task_struct *task);
struct vperfctr_state *vperfctr_of(struct task_struct *task);
struct vperfctr_state *vperfctr_next_of(struct vperfctr_state *st);
struct vperfctr_state *vperfctr_next_of_current(struct vperfctr_state *st);
struct vperfctr_state *vperfctr_of_current(void);
struct vperfctr_state *vperfctr_find(struct task_struct *task);
struct vperfctr_state *vperfctr_find_member(const struct vperfctr_state *root,
					    struct task_struct *task);
int vperfctr_may_open(const struct task_struct *task, bool observer);
int vperfctr_may_attach_to(struct task_struct *task, bool observer);
int vperfctr_may_join(const struct vperfctr_state *parent, const struct task_struct *task);
int vperfctr_joins(const struct vperfctr_state *parent, struct task_struct *task,
		   struct vperfctr_ctr_set *used);
int vperfctr_check_beside(struct vperfctr_state *st, const struct perfctr_cpu_control *control);
int vperfctr_used_ctrs(const struct vperfctr_state *of, struct vperfctr_ctr_set *own,
		       struct vperfctr_ctr_set *observers);
void vperfctr_attach(struct vperfctr_state *st, struct task_struct *task);
void vperfctr_detach(struct vperfctr_state *st, bool missed);
void vperfctr_detach_current(struct vperfctr_state *st, bool missed);
bool vperfctr_unlink_notifier(struct vperfctr_state *st, struct task_struct *task);
void vperfctr_reap_current(void);
void vperfctr_put_attachment(struct vperfctr_state *st);
void vperfctr_put_later(struct vperfctr_state *st);
void vperfctr_finish_detach(struct vperfctr_state *st, struct vperfctr_state *root);
void vperfctr_finish_detach_work(struct work_struct *work);
void vperfctr_finish_detach_later(struct vperfctr_state *st);
void vperfctr_flush_detached(struct vperfctr_state *st);
void vperfctr_flush_all_detached(void);
void vperfctr_start_other(struct vperfctr_state *st, int cpu);
void vperfctr_started(struct vperfctr_state *st);
void vperfctr_several_sched_in(struct vperfctr_state *lead, int cpu);
void vperfctr_several_sched_out(struct vperfctr_state *lead);
bool vperfctr_enters_cpu(struct vperfctr_state *st, int cpu);
void vperfctr_enter_forbidden_cpu(struct vperfctr_state *st);
void vperfctr_sample_here(struct vperfctr_state *st);
void vperfctr_sample_owner(struct vperfctr_state *st);
bool vperfctr_is_alone(int cpu);

/* exec-fork-exit.c */
int vperfctr_probes_init(void);
void vperfctr_probes_exit(void);

/* cpu-lost.c */
void vperfctr_cpu_lost_init(void);
void vperfctr_cpu_lost_exit(void);

/* joint.c */
int vperfctr_joint_init(void);
void vperfctr_joint_exit(void);
void vperfctr_joint_start(struct vperfctr_state *st);
void vperfctr_joint_stop(struct vperfctr_state *st);
void vperfctr_joint_leave(void);
void vperfctr_joint_attached(void);
void vperfctr_joint_sched_in(struct preempt_notifier *notifier, int cpu);
void vperfctr_joint_sched_out(struct preempt_notifier *notifier, struct task_struct *next);
void vperfctr_joint_sample(void);
void vperfctr_joint_refused(void);
void vperfctr_joint_restarted(void);
void vperfctr_joint_restarting(void);
unsigned int vperfctr_joint_members(struct perfctr_cpu_state ***part);
void vperfctr_joint_pause(void);
void vperfctr_joint_continue(void);
struct vperfctr_state *vperfctr_joint_here(void);
bool vperfctr_can_combine(const struct perfctr_cpu_control *const *controls, unsigned int n);
struct vperfctr_ctr_set vperfctr_ctrs_of(const struct perfctr_cpu_control *control);

/* Return the state of a link in a list of notifiers, which is one of ours. */
static __always_inline struct vperfctr_state *vperfctr_of_node(struct hlist_node *node)
{
	return container_of(node, struct vperfctr_state, notifier.link);
}

/* Return the state that a member of a joint state belongs to. */
static __always_inline struct vperfctr_state *vperfctr_member(struct perfctr_cpu_state *state)
{
	return container_of(state, struct vperfctr_state, cpu_state);
}

/* True if the state counts together with others.  Context: as for vperfctr_start_here(). */
static __always_inline bool vperfctr_is_joint(const struct vperfctr_state *st)
{
	return st->cpu < -1;
}

/*
 * Start the counters of a state.
 *
 * Context: current is the owner.  Interrupts are disabled: an interrupt that reads
 * st->cpu must not come between its change and the resume.
 */
static __always_inline void vperfctr_start_here(struct vperfctr_state *st, int cpu)
{
	WRITE_ONCE(st->cpu, cpu);
	perfctr_cpu_resume(&st->cpu_state);
}

/* True if the counters start with nothing else to do. */
static __always_inline bool vperfctr_starts_fast(const struct vperfctr_state *st)
{
	/* Acquire: if a remote call is over, its control is visible.  See remote_call(). */
	return likely(!smp_load_acquire(&st->slow));
}

/* Start the counters, unless they run or must not.  Context: as for vperfctr_start_here(). */
static __always_inline void vperfctr_start(struct vperfctr_state *st)
{
	lockdep_assert_irqs_disabled();
	if (st->cpu >= 0)
		return;
	if (vperfctr_starts_fast(st))
		vperfctr_start_here(st, smp_processor_id());
	else
		vperfctr_start_other(st, smp_processor_id());
}

/*
 * Stop the counters of a state, unless they are stopped.
 *
 * Context: as for vperfctr_start_here().
 */
static __always_inline void vperfctr_stop(struct vperfctr_state *st)
{
	lockdep_assert_irqs_disabled();
	if (st->cpu < 0) {
		if (unlikely(vperfctr_is_joint(st)))
			vperfctr_joint_stop(st);
		return;
	}
	perfctr_cpu_suspend(&st->cpu_state);
	/* A CPU that sees -1 must also see the final sums. */
	smp_store_release(&st->cpu, -1);
}

#endif /* VPERFCTR_THREAD_H */
