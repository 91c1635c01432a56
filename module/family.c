// SPDX-License-Identifier: GPL-2.0
/*
 * Inheritance: a thread that is started by one whose control has INHERIT gets
 * a state with the same control and zero sums.  When it ends, what it counted
 * is added to the children's sums of the root, the state that the control was
 * given to; never to anybody's own sums.
 *
 * A state's members never outlive its control: before that is changed, stopped
 * or unlinked they are detached (vperfctr_dissolve_family()).
 */
#include <linux/err.h>
#include <linux/gfp.h>
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
 * In the fork of a thread with a state, preemption disabled.  The child is not
 * running yet.  A fork cannot fail because of us: a child that cannot be given
 * a state is counted as missed.
 */
void vperfctr_inherit(struct vperfctr_state *parent, struct task_struct *child)
{
	struct vperfctr_state *root = parent->root ?: parent;
	struct vperfctr_state *st;
	unsigned long flags;

	if (!(parent->flags & VPERFCTR_CONTROL_INHERIT) || parent->stop ||
	    test_bit(STATE_CLOSED, &root->bits))
		return;
	/* Not GFP_NOWAIT: that fails when there is merely nothing free at hand. */
	st = vperfctr_state_create(parent, GFP_ATOMIC | __GFP_NOWARN);
	if (IS_ERR(st)) {
		count_missed(root);
		return;
	}
	perfctr_cpu_inherit(&st->cpu_state, &parent->cpu_state);
	st->flags = parent->flags;
	st->preserve = parent->preserve;
	st->checks = parent->checks & STATE_CHECK_CPU;
	st->stop = 0;
	if (test_bit(STATE_HARDWARE, &parent->bits))
		vperfctr_share_hardware(st);

	vperfctr_get(root);
	st->root = root;
	raw_spin_lock_irqsave(&root->family_lock, flags);
	list_add(&st->family, &root->family);
	raw_spin_unlock_irqrestore(&root->family_lock, flags);

	vperfctr_attach(st, child);
	vperfctr_put(st);	/* not the last one: the child keeps its own */
}

/*
 * A member has stopped for good: hand in what it counted.  `missed`: its
 * thread goes on uncounted.  Interrupts are disabled.  The reference to the
 * root stays, to be given back where that may sleep.
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
		if (missed || test_bit(STATE_FORBIDDEN, &st->bits))
			root->children_missed++;
		list_del_init(&st->family);
	}
	raw_spin_unlock(&root->family_lock);
}

/* For a new control.  PRE: no members.  Interrupts are disabled. */
void vperfctr_reset_family(struct vperfctr_state *root)
{
	raw_spin_lock(&root->family_lock);
	memset(root->children, 0, sizeof(root->children));
	root->children_missed = 0;
	raw_spin_unlock(&root->family_lock);
}

/*
 * The children's sums, TSC first, and whether there are more to come.  The control
 * stays, as for vperfctr_snapshot().
 */
bool vperfctr_read_family(struct vperfctr_state *st, u64 *sums, unsigned int n, u64 *missed)
{
	unsigned long flags;
	bool more;

	raw_spin_lock_irqsave(&st->family_lock, flags);
	memcpy(sums, st->children, n * sizeof(*sums));
	*missed = st->children_missed;
	more = !st->root && !list_empty(&st->family);
	raw_spin_unlock_irqrestore(&st->family_lock, flags);
	return more;
}
