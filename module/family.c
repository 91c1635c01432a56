// SPDX-License-Identifier: GPL-2.0
/*
 * Inheritance: a thread that is started by one whose control has INHERIT gets a
 * state with the same control and zero sums.  When it ends, its counts are added to
 * the children's sums of the root, which is the state that CONTROL was called for.
 * They are never added to a state's own sums.
 *
 * Members never outlive the control of their root: vperfctr_dissolve_family() detaches
 * them before the control is changed, stopped or unlinked.
 *
 * A member has a reference to the root until it has been detached.  It counts by the
 * root's share of the hardware, and the root's shares of the module and the notifiers
 * are enough for both.  So a counted fork, and the exit of that thread, write only what
 * belongs to the family and to the user's account.  They take the root's family_lock.
 */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "state.h"

static void count_missed(struct vperfctr_state *root)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&root->family_lock, flags);
	root->children_missed++;
	raw_spin_unlock_irqrestore(&root->family_lock, flags);
}

/*
 * Give the child of a thread with a state one that inherits the control.  The fork
 * cannot fail any more: a child for which there is no memory, or that exceeds the
 * user's limit, is counted as missed.
 *
 * Context: the fork probe of the parent, preemption disabled; the child does not run
 * yet.
 */
void vperfctr_inherit(struct vperfctr_state *parent, struct task_struct *child)
{
	struct vperfctr_state *root = parent->root ?: parent;
	struct vperfctr_state *st;
	unsigned long flags;

	if (!(parent->flags & VPERFCTR_CONTROL_INHERIT) || parent->stop ||
	    test_bit(STATE_CLOSED, &root->bits))
		return;
	/* GFP_NOWAIT would also fail when memory only has to be reclaimed. */
	st = vperfctr_state_create(parent, GFP_ATOMIC | __GFP_NOWARN);
	if (IS_ERR(st)) {
		count_missed(root);
		return;
	}
	perfctr_cpu_inherit(&st->cpu_state, &parent->cpu_state);
	st->flags = parent->flags;
	st->preserve = parent->preserve;
	/* The task's numbers are zero, as soft_start is. */
	st->soft = parent->soft;
	st->checks = parent->checks & STATE_CHECK_CPU;
	st->stop = 0;
	vperfctr_get(root);
	st->root = root;
	raw_spin_lock_irqsave(&root->family_lock, flags);
	list_add(&st->family, &root->family);
	raw_spin_unlock_irqrestore(&root->family_lock, flags);

	vperfctr_attach(st, child);
	vperfctr_put(st);	/* not the last one: the child has its own */
}

/*
 * Add the counts of a member that has stopped for good to its root.  `missed`: its
 * thread continues uncounted.  The reference to the root remains, to be put where
 * that may sleep.
 *
 * Context: interrupts disabled.
 */
void vperfctr_leave_family(struct vperfctr_state *st, bool missed)
{
	const struct vperfctr_page *page = st->cpu_state.page;
	struct vperfctr_state *root = st->root;
	unsigned int i;

	if (!root)
		return;
	raw_spin_lock(&root->family_lock);
	if (!list_empty(&st->family)) {
		root->children[0] += page->tsc_sum;
		for (i = 0; i < perfctr_nrctrs(&st->cpu_state.control); i++)
			root->children[1 + i] += page->ctr[i].sum;
		if (unlikely(st->soft))
			vperfctr_soft_leave(root, st);
		if (missed || test_bit(STATE_FORBIDDEN, &st->bits))
			root->children_missed++;
		if (missed)
			set_bit(STATE_HAD_LEAVER, &root->bits);
		list_del_init(&st->family);
	}
	raw_spin_unlock(&root->family_lock);
}

/*
 * Put the references that a member of a family has and is when its thread ends, unless
 * that may sleep.  Most members are never opened, and end while the family goes on.
 *
 * Context: the member is detached; interrupts disabled.
 * Return: false if vperfctr_finish_detach() must do it.
 */
bool vperfctr_end_member(struct vperfctr_state *st)
{
	struct vperfctr_state *root = st->root;

	if (!root || st->bits || vperfctr_family_is_over(root) ||
	    !refcount_dec_not_one(&root->refs))
		return false;
	st->root = NULL;
	vperfctr_put(st);
	return true;
}

/*
 * True if the state is detached and has no members.
 *
 * The last member leaves, and the root is detached, before they ask.  So at least one of
 * them finds the family over.
 */
bool vperfctr_family_is_over(struct vperfctr_state *st)
{
	unsigned long flags;
	bool over;

	raw_spin_lock_irqsave(&st->family_lock, flags);
	over = !READ_ONCE(st->owner) && list_empty(&st->family);
	raw_spin_unlock_irqrestore(&st->family_lock, flags);
	return over;
}

/*
 * Clear the children's sums, for a new control.
 *
 * Context: the root has no members; interrupts disabled.
 */
void vperfctr_reset_family(struct vperfctr_state *root)
{
	raw_spin_lock(&root->family_lock);
	memset(root->children, 0, sizeof(root->children));
	memset(&root->soft_children, 0, sizeof(root->soft_children));
	root->children_missed = 0;
	raw_spin_unlock(&root->family_lock);
}

/*
 * Copy the first n of the children's sums (the TSC's is first), those of their software
 * counters, and how many children were missed.
 *
 * Context: the control cannot change, as for vperfctr_snapshot().
 * Return: true if descendants still count.
 */
bool vperfctr_read_family(struct vperfctr_state *st, u64 *sums, unsigned int n,
			  struct vperfctr_soft_sums *soft, u64 *missed)
{
	unsigned long flags;
	bool more;

	raw_spin_lock_irqsave(&st->family_lock, flags);
	memcpy(sums, st->children, n * sizeof(*sums));
	*soft = st->soft_children;
	*missed = st->children_missed;
	more = !st->root && !list_empty(&st->family);
	raw_spin_unlock_irqrestore(&st->family_lock, flags);
	return more;
}
