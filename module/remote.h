/* SPDX-License-Identifier: GPL-2.0 */
/* Changes of a state, by its owner or by another thread. */
#ifndef VPERFCTR_REMOTE_H
#define VPERFCTR_REMOTE_H

#include <linux/irqflags.h>
#include <linux/sched.h>

#include "state.h"

/* remote.c */
typedef int vperfctr_op(struct vperfctr_state *st, void *arg);
int vperfctr_apply_monitor(struct vperfctr_state *st, vperfctr_op *op, void *arg);
int vperfctr_apply_any(struct vperfctr_state *st, vperfctr_op *op, void *arg);
int vperfctr_may_attach(const struct task_struct *task, bool observer);
int vperfctr_open_thread(struct task_struct *task, bool creat, struct vperfctr_state **st);
int vperfctr_unlink_monitor(struct vperfctr_state *st);
void vperfctr_detach_abandoned(struct vperfctr_state *st);
void vperfctr_dissolve_members(struct vperfctr_state *root);
void vperfctr_run_call(struct vperfctr_state *st, bool may_unlink);
void vperfctr_run_other_call(struct vperfctr_state *st);

/*
 * Call `op` for an attached state on behalf of its owner or the owner's monitor, with
 * interrupts disabled and with no other code changing the state.
 *
 * Context: may sleep.
 * Return: the result of `op`, or an error of vperfctr_check_access().
 */
static __always_inline int vperfctr_apply(struct vperfctr_state *st, vperfctr_op *op, void *arg)
{
	int err = -ESRCH;

	if (unlikely(READ_ONCE(st->owner) != current))
		return vperfctr_apply_monitor(st, op, arg);
	local_irq_disable();
	smp_rmb();	/* pairs with vperfctr_unlink_notifier() */
	/* The state may have been detached since the first check. */
	if (likely(st->owner == current))
		err = op(st, arg);
	local_irq_enable();
	return err;
}

/*
 * Detach all members of a root's family, and add their counts to the root's children's
 * sums.  A member's list is not empty either, but it is the root's family.
 *
 * Context: may sleep.
 */
static inline void vperfctr_dissolve_family(struct vperfctr_state *root)
{
	/* Pairs with the releases that clear a member's root, after its list is empty. */
	if (unlikely(!smp_load_acquire(&root->root) && !list_empty(&root->family)))
		vperfctr_dissolve_members(root);
}

#endif /* VPERFCTR_REMOTE_H */
