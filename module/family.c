// SPDX-License-Identifier: GPL-2.0
/*
 * Inheritance: a thread that is started by one whose control has INHERIT gets a
 * state with the same control and zero sums.  When it ends, its counts are added to
 * the children's sums of the root, which is the state that CONTROL was called for.
 * They are never added to a state's own sums.  A member's samples go to the root's ring:
 * see ring.c.
 *
 * Members never outlive the control of their root: vperfctr_dissolve_family() detaches
 * them before the control is changed, stopped or unlinked.
 *
 * A member has a reference to the root until it has been detached.  It counts by the
 * root's share of the hardware, and the root's shares of the module and the notifiers
 * are enough for both.  So a counted fork, and the exit of that thread, write only what
 * belongs to the family and to the user's account.  They take the root's family_lock.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/poll.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "family.h"
#include "overflow.h"
#include "page.h"
#include "ring.h"
#include "software.h"
#include "state.h"
#include "thread.h"

/* Count threads that have got no state.  Context: any but NMI. */
void vperfctr_count_missed(struct vperfctr_state *root, unsigned int nr)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&root->family_lock, flags);
	root->children_missed += nr;
	raw_spin_unlock_irqrestore(&root->family_lock, flags);
}

static void count_missed(struct vperfctr_state *root)
{
	vperfctr_count_missed(root, 1);
}

/*
 * Put a reference where the probe may hold the last one.  PREEMPT_RT allows no probe to
 * free memory.
 *
 * Context: no other code uses detach_work if this is the last reference.
 */
static void put_in_probe(struct vperfctr_state *st)
{
	if (!STATE_ON_RT)
		vperfctr_put(st);
	else if (!refcount_dec_not_one(&st->refs))
		vperfctr_put_later(st);
}

/*
 * Return which part of its first period a thread begins with.  Multiples of the golden ratio
 * are spread evenly over the whole, and so are each second, each third and so on of them:
 * programs start threads in turn.
 */
static u32 next_part(void)
{
	static atomic64_t nr = ATOMIC64_INIT(0);

	return (u64)atomic64_inc_return(&nr) * 0x9e3779b97f4a7c15ULL >> 32;
}

/* Begin with a part of a period: see VPERFCTR_CONTROL_SPREAD. */
static noinline void spread_period(struct vperfctr_state *st)
{
	u32 part = next_part();

	if (st->clock.period)
		vperfctr_clock_spread(st, part);
	else
		perfctr_cpu_spread(&st->cpu_state, part);
}

/*
 * Make a state that will inherit the parent's control, with a reference to the root of the
 * family.
 *
 * Context: as for vperfctr_state_create(); the parent's control cannot change.
 * Return: the state, with one reference, or an ERR_PTR().
 */
struct vperfctr_state *vperfctr_make_member(struct vperfctr_state *parent, gfp_t gfp)
{
	struct vperfctr_state *root = parent->root ?: parent;
	struct vperfctr_state *st;

	st = vperfctr_state_create(parent, gfp);
	if (IS_ERR(st))
		return st;
	if (unlikely(vperfctr_ring_is_shared(parent)) && vperfctr_ring_inherit(st, parent, gfp)) {
		put_in_probe(st);
		return ERR_PTR(-ENOMEM);
	}
	perfctr_cpu_inherit(&st->cpu_state, &parent->cpu_state);
	vperfctr_get_kinds(st->cpu_state.control.kinds);
	st->flags = parent->flags & ~STATE_FLAG_SET;
	st->si_signo = parent->si_signo;
	st->preserve = parent->preserve;
	/* A new task's numbers are zero, as soft_start is. */
	st->soft = parent->soft;
	st->checks = parent->checks & (STATE_CHECK_CPU | STATE_CHECK_NARROW);
	st->observer = parent->observer;
	if (unlikely(parent->clock.period))
		vperfctr_clock_begin(st, parent->clock.period, parent->clock.kernel);
	if (unlikely(parent->flags & VPERFCTR_CONTROL_SPREAD))
		spread_period(st);
	st->stop = 0;
	vperfctr_get(root);
	st->root = root;
	return st;
}

/*
 * Attach a member to a thread that may have one more: see vperfctr_joins().
 *
 * Context: the thread cannot run.
 * Return: false if the family is being dissolved, and its last member may have been seen.
 */
bool vperfctr_join_family(struct vperfctr_state *st, struct task_struct *task)
{
	struct vperfctr_state *root = st->root;
	unsigned long flags;

	raw_spin_lock_irqsave(&root->family_lock, flags);
	if (unlikely(test_bit(STATE_CLOSED, &root->bits))) {
		raw_spin_unlock_irqrestore(&root->family_lock, flags);
		return false;
	}
	/* A reading that has begun does not include it: see vperfctr_read_members(). */
	st->round = root->round;
	list_add_tail(&st->family, &root->family);
	raw_spin_unlock_irqrestore(&root->family_lock, flags);

	if (unlikely(st->sampler))
		vperfctr_ring_attach(st, task);
	vperfctr_attach(st, task);
	return true;
}

/* True if the control excludes this child of current. */
static bool is_excluded(const struct vperfctr_state *parent, const struct task_struct *child)
{
	return (parent->flags & VPERFCTR_CONTROL_INHERIT_THREADS) &&
	       child->signal != current->signal;
}

/*
 * Give the child of a thread with a state one that inherits the control.  The fork
 * cannot fail any more: a child for which there is no memory, or that exceeds the
 * user's limit, is counted as missed.
 *
 * VPERFCTR_ATTACH may have given the child a state already: see attach.c.
 *
 * Context: the fork probe of the parent, interrupts disabled; the child does not run
 * yet.
 */
void vperfctr_inherit(struct vperfctr_state *parent, struct task_struct *child)
{
	struct vperfctr_state *root = parent->root ?: parent;
	struct vperfctr_state *st;
	int err;

	if (!(parent->flags & VPERFCTR_CONTROL_INHERIT) || parent->stop ||
	    test_bit(STATE_CLOSED, &root->bits) || is_excluded(parent, child))
		return;
	err = vperfctr_joins(parent, child, NULL);
	if (unlikely(err)) {
		if (err != -EALREADY)
			count_missed(root);
		return;
	}
	/* GFP_NOWAIT would also fail when memory only has to be reclaimed. */
	st = vperfctr_make_member(parent, GFP_ATOMIC | __GFP_NOWARN);
	if (IS_ERR(st)) {
		count_missed(root);
		return;
	}
	if (unlikely(!vperfctr_join_family(st, child))) {
		vperfctr_put_later(st);
		return;
	}
	vperfctr_record_fork(parent, st);
	/* The last one if the family is already dissolved.  It does not sleep. */
	put_in_probe(st);
}

/* Add the sums of a member whose page does not change meanwhile. */
static void add_sums(u64 *sums, const struct vperfctr_state *st)
{
	const struct vperfctr_page *page = st->cpu_state.page;
	unsigned int i;

	sums[0] += page->tsc_sum;
	for (i = 0; i < perfctr_nrctrs(&st->cpu_state.control); i++)
		sums[1 + i] += page->ctr[i].sum;
}

/* The sums that a READ_MEMBERS is collecting. */
struct vperfctr_reader {
	u64 *sums;
	struct vperfctr_soft_sums *soft;
};

/* Add the final sums of a member.  Context: the root's family_lock is held. */
static void add_to_reader(struct vperfctr_reader *reader, const struct vperfctr_state *st)
{
	add_sums(reader->sums, st);
	if (unlikely(st->soft))
		vperfctr_soft_add(reader->soft, &st->soft_sums);
}

/* Give a set the status of a member: the set has no thread of its own. */
static void report_to_set(struct vperfctr_state *root, const struct vperfctr_state *st)
{
	if (test_bit(STATE_PRIVILEGED, &st->bits))
		set_bit(STATE_PRIVILEGED, &root->bits);
	if (test_bit(STATE_FORBIDDEN, &st->bits))
		set_bit(STATE_FORBIDDEN, &root->bits);
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
	struct vperfctr_state *root = st->root;

	if (!root)
		return;
	raw_spin_lock(&root->family_lock);
	if (!list_empty(&st->family)) {
		add_sums(root->children, st);
		if (unlikely(st->soft))
			vperfctr_soft_add(&root->soft_children, &st->soft_sums);
		/* A reading that has not come to it must not miss it. */
		if (root->reader && st->round != root->round)
			add_to_reader(root->reader, st);
		if (missed || test_bit(STATE_FORBIDDEN, &st->bits))
			root->children_missed++;
		if (vperfctr_is_set(root))
			report_to_set(root, st);
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

	/* See put_in_probe(). */
	if (STATE_ON_RT)
		return false;
	if (!root)
		return false;
	/* The end of the owner, then the bits: pairs with vperfctr_share_hardware(). */
	smp_mb();
	if (st->bits || vperfctr_family_is_over(root) || !refcount_dec_not_one(&root->refs))
		return false;
	smp_store_release(&st->root, NULL);	/* see vperfctr_dissolve_family() */
	vperfctr_put(st);
	return true;
}

/*
 * True if the state is detached, has no members, and VPERFCTR_ATTACH adds none.
 *
 * The last member leaves, the root is detached, and VPERFCTR_ATTACH has added the last
 * member, before they ask.  So at least one of them finds the family over.
 */
bool vperfctr_family_is_over(struct vperfctr_state *st)
{
	unsigned long flags;
	bool over;

	raw_spin_lock_irqsave(&st->family_lock, flags);
	over = !READ_ONCE(st->owner) && list_empty(&st->family) &&
	       !test_bit(STATE_ATTACHING, &st->bits);
	raw_spin_unlock_irqrestore(&st->family_lock, flags);
	return over;
}

/* True if the end of such a state is that of its family: poll() waits for it. */
static bool ends_with_family(const struct vperfctr_state *st)
{
	return vperfctr_is_set(st) || vperfctr_ring_is_shared(st);
}

/* True if poll() must report the end of the state. */
bool vperfctr_is_over(struct vperfctr_state *st)
{
	/*
	 * The flags on which the end depends are final when the owner is gone.  A poller that
	 * has looked at them before may be preempted until then.
	 */
	if (smp_load_acquire(&st->owner))	/* pairs with forget_owner() */
		return false;
	return (!ends_with_family(st) || vperfctr_family_is_over(st)) && vperfctr_ring_is_over(st);
}

/*
 * Wake pollers that wait for the last member, after one has left the family, by its end or by a
 * control of its own.
 */
void vperfctr_wake_if_over(struct vperfctr_state *root)
{
	if (ends_with_family(root) && vperfctr_family_is_over(root))
		wake_up_poll(&root->wait, EPOLLHUP | EPOLLIN | EPOLLRDNORM);
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
 * Copy the first n of the children's sums (the TSC's is first; NULL: not wanted), those of
 * their software counters, and how many children were missed.
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
	if (likely(sums)) {
		memcpy(sums, st->children, n * sizeof(*sums));
		*soft = st->soft_children;
	}
	*missed = st->children_missed;
	/* See vperfctr_dissolve_family(). */
	more = !smp_load_acquire(&st->root) && !list_empty(&st->family);
	raw_spin_unlock_irqrestore(&st->family_lock, flags);
	return more;
}

/* ---- living members ----------------------------------------------------- */

/* The lock is released after that many members, for those that end or start. */
#define READ_AT_ONCE	32

struct batch {
	struct vperfctr_state *st[READ_AT_ONCE];
	unsigned int n;
	cpumask_var_t cpus;		/* where they run */
};

/* Take the next members, with references.  Those that this round has read come last. */
static void take_batch(struct vperfctr_state *root, struct batch *b)
{
	struct vperfctr_state *st;
	unsigned long flags;
	int cpu;

	b->n = 0;
	cpumask_clear(b->cpus);
	raw_spin_lock_irqsave(&root->family_lock, flags);
	list_for_each_entry(st, &root->family, family) {
		if (st->round == root->round || b->n == READ_AT_ONCE)
			break;
		vperfctr_get(st);
		b->st[b->n++] = st;
		cpu = vperfctr_cpu_of(st);
		if (cpu >= 0)
			cpumask_set_cpu(cpu, b->cpus);
	}
	raw_spin_unlock_irqrestore(&root->family_lock, flags);
}

/* Sample the counters of current if it is a member.  Context: interrupts disabled. */
static void sample_member(void *arg)
{
	struct vperfctr_state *st;

	for (st = vperfctr_of(current); st; st = vperfctr_next_of(st)) {
		if (READ_ONCE(st->root) == arg && vperfctr_cpu_of(st) == smp_processor_id())
			vperfctr_sample_here(st);
	}
}

/*
 * Add the sums of a member that may be running.
 *
 * Context: the caller holds family_lock, which the member does not need to get out of a
 * change of its page.
 */
static void add_live_sums(struct vperfctr_reader *reader, const struct vperfctr_state *st)
{
	unsigned int i, nr = perfctr_nrctrs(&st->cpu_state.control);
	const struct vperfctr_page *page;
	u64 now[1 + VPERFCTR_MAX_CTRS];
	struct vperfctr_soft_sums soft;
	u32 samplecount;

	for (;;) {
		page = vperfctr_get_page(st);
		samplecount = READ_ONCE(page->samplecount);
		smp_rmb();	/* pairs with the smp_wmb()s of the writer */
		now[0] = READ_ONCE(page->tsc_sum);
		for (i = 0; i < nr; i++)
			now[1 + i] = READ_ONCE(page->ctr[i].sum);
		if (unlikely(st->soft))
			vperfctr_soft_read_other(st, samplecount, &soft);
		smp_rmb();	/* pairs in the same way */
		if (!(samplecount & 1) && !vperfctr_page_changed(st, page, samplecount))
			break;
		cpu_relax();
	}
	for (i = 0; i < 1 + nr; i++)
		reader->sums[i] += now[i];
	if (unlikely(st->soft))
		vperfctr_soft_add(reader->soft, &soft);
}

/*
 * True if the state is a member of this family.  Otherwise it has left, and
 * vperfctr_leave_family() has added its sums.
 *
 * The list first: that of a state that has left is the list of its own family, which has no member
 * before the state has no root.  The locks that a fork takes in between order the two stores.
 *
 * Context: the root's family_lock is held.
 */
static bool is_member(const struct vperfctr_state *st, const struct vperfctr_state *root)
{
	/* The acquire orders the loads. */
	return smp_load_acquire(&st->family.next) != &st->family && READ_ONCE(st->root) == root;
}

static void read_batch(struct vperfctr_state *root, struct batch *b)
{
	unsigned long flags;
	unsigned int i;

	/* A member that leaves its CPU before the interrupt has up-to-date sums then. */
	if (!cpumask_empty(b->cpus))
		on_each_cpu_mask(b->cpus, sample_member, root, true);

	raw_spin_lock_irqsave(&root->family_lock, flags);
	for (i = 0; i < b->n; i++) {
		if (is_member(b->st[i], root)) {
			add_live_sums(root->reader, b->st[i]);
			b->st[i]->round = root->round;
			list_move_tail(&b->st[i]->family, &root->family);
			if (vperfctr_is_set(root))
				report_to_set(root, b->st[i]);
		}
	}
	raw_spin_unlock_irqrestore(&root->family_lock, flags);
	for (i = 0; i < b->n; i++)
		vperfctr_put(b->st[i]);
}

static void set_reader(struct vperfctr_state *root, struct vperfctr_reader *reader)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&root->family_lock, flags);
	if (reader) {
		memcpy(reader->sums, root->children, sizeof(root->children));
		*reader->soft = root->soft_children;
		root->round++;
	}
	root->reader = reader;
	raw_spin_unlock_irqrestore(&root->family_lock, flags);
}

/*
 * Store the children's sums, including those of all living members, each sampled now.
 * `sums` has room for all counters.  A member that joins meanwhile is not included.  Only
 * CPUs that run members are interrupted.
 *
 * Context: may sleep; the caller holds root->lock and a file of the root, so that the
 * family is not dissolved meanwhile.
 * Return: 0, or -ENOMEM.
 */
int vperfctr_read_members(struct vperfctr_state *root, u64 *sums,
			  struct vperfctr_soft_sums *soft)
{
	struct vperfctr_reader reader = { .sums = sums, .soft = soft };
	struct batch b;

	/* Acquire: see vperfctr_dissolve_family(). */
	if (smp_load_acquire(&root->root)) {
		/* A member's descendants are those of its root. */
		memset(sums, 0, sizeof(root->children));
		memset(soft, 0, sizeof(*soft));
		return 0;
	}
	if (!alloc_cpumask_var(&b.cpus, GFP_KERNEL))
		return -ENOMEM;
	set_reader(root, &reader);
	do {
		take_batch(root, &b);
		read_batch(root, &b);
		cond_resched();
	} while (b.n);
	set_reader(root, NULL);
	free_cpumask_var(b.cpus);
	return 0;
}
