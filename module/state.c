// SPDX-License-Identifier: GPL-2.0
/* Creation and end of a state. */
#include <linux/cache.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "account.h"
#include "alloc.h"
#include "compat/workqueue.h"
#include "overflow.h"
#include "page.h"
#include "reservation.h"
#include "ring.h"
#include "state.h"
#include "thread.h"

static struct kmem_cache *vperfctr_cache __ro_after_init;

/* ---- the notifiers' static key ------------------------------------------ */

/*
 * The key is enabled for the first state, and disabled when there has been no state for
 * a second.  So a sequence of programs does not patch the kernel's code for each.
 */
static DEFINE_MUTEX(notifiers_mutex);
static refcount_t nr_states ____cacheline_aligned_in_smp = REFCOUNT_INIT(0);
static bool notifiers_on;

static void notifiers_disable(struct work_struct *work)
{
	mutex_lock(&notifiers_mutex);
	if (!refcount_read(&nr_states) && notifiers_on) {
		preempt_notifier_dec();
		notifiers_on = false;
	}
	mutex_unlock(&notifiers_mutex);
}

static DECLARE_DELAYED_WORK(notifiers_disable_work, notifiers_disable);

static void notifiers_get(void)
{
	if (refcount_inc_not_zero(&nr_states))
		return;
	mutex_lock(&notifiers_mutex);
	if (!refcount_inc_not_zero(&nr_states)) {
		if (!notifiers_on) {
			preempt_notifier_inc();
			notifiers_on = true;
		}
		refcount_set(&nr_states, 1);
	}
	mutex_unlock(&notifiers_mutex);
}

static void notifiers_put(void)
{
	if (!refcount_dec_and_mutex_lock(&nr_states, &notifiers_mutex))
		return;
	mod_delayed_work(system_dfl_wq, &notifiers_disable_work, HZ);
	mutex_unlock(&notifiers_mutex);
}

/* ---- creation and end --------------------------------------------------- */

/*
 * Give the state shares of the module and of the notifiers' key.  An attached state needs
 * no open descriptor.
 */
static void get_shares(struct vperfctr_state *st)
{
	__module_get(THIS_MODULE);
	notifiers_get();
	set_bit(STATE_GLOBAL, &st->bits);
}

/*
 * Give a member of a family what it has from the root until it leaves, unless it has
 * left.
 *
 * Context: may sleep; the caller holds st->lock, and its descriptor has the module.
 * Return: 0, or -ESRCH if the state is detached.
 */
int vperfctr_get_global(struct vperfctr_state *st)
{
	int err = -ESRCH;

	if (test_bit(STATE_GLOBAL, &st->bits))
		return 0;
	/* The root may end at any time, its creator a grace period later. */
	rcu_read_lock();
	if (READ_ONCE(st->owner) && get_cred_rcu(st->creator))
		err = 0;
	rcu_read_unlock();
	if (!err)
		get_shares(st);
	return err;
}

/* Allocate a state.  Return: it, without an account, with one reference; or NULL. */
static struct vperfctr_state *alloc_state(gfp_t gfp)
{
	struct vperfctr_state *st;

	st = vperfctr_needs_spare(gfp) ? vperfctr_spare_state() :
					 kmem_cache_zalloc(vperfctr_cache, gfp);
	if (!st)
		return NULL;
	vperfctr_page_begin_state(st);
	st->stop = STATE_STOP_IDLE;
	st->cpu = -1;
	st->cpu_state.special = PERFCTR_OTHER;
	if (perfctr_cpu_sampling_ns)
		st->checks = STATE_CHECK_NARROW;
	mutex_init(&st->lock);
	raw_spin_lock_init(&st->remote_lock);
	mutex_init(&st->call_mutex);
	refcount_set(&st->refs, 1);
	init_waitqueue_head(&st->wait);
	spin_lock_init(&st->reads_lock);
	INIT_LIST_HEAD(&st->family);
	INIT_LIST_HEAD(&st->finishing);
	raw_spin_lock_init(&st->family_lock);
	seqcount_init(&st->soft_seq);
	/* Where it has a debug object, that needs memory: see rt/spare.c. */
	if (STATE_ON_RT && gfpflags_allow_blocking(gfp))
		INIT_WORK(&st->detach_work, vperfctr_finish_detach_work);
	return st;
}

/*
 * Make a state that is attached to no thread.  `parent`: the state from which it will
 * inherit the control, or NULL.  A state that inherits needs no share of its own: its
 * root has one.
 *
 * Context: may sleep, unless there is a parent and gfp does not allow it.
 * Return: the state, with one reference, or an ERR_PTR().
 */
struct vperfctr_state *vperfctr_state_create(struct vperfctr_state *parent, gfp_t gfp)
{
	struct vperfctr_account *account;
	struct vperfctr_state *st;

	account = parent ? vperfctr_charge_child(parent->account, gfp) :
			   vperfctr_charge_current(gfp);
	if (IS_ERR(account))
		return ERR_CAST(account);
	st = alloc_state(gfp);
	if (!st) {
		vperfctr_uncharge(account);
		return ERR_PTR(-ENOMEM);
	}
	st->account = account;
	if (parent) {
		st->creator = parent->creator;
		st->may_change = parent->may_change;
	} else {
		st->creator = get_current_cred();
		st->may_change = st->creator;
		get_shares(st);
	}
	return st;
}

/*
 * Make a state for a counted CPU, or for the ring of a set of CPUs: cpus.c has both.  No
 * thread is ever its owner, and it needs no notifiers.  The set's file keeps the module.
 *
 * `charged`: it is charged to the caller, as its ring will be.
 * Context: may sleep.
 * Return: the state, with one reference, or an ERR_PTR().
 */
struct vperfctr_state *vperfctr_state_create_unowned(bool charged)
{
	struct vperfctr_account *account = NULL;
	struct vperfctr_state *st;

	if (charged)
		account = vperfctr_charge_current(GFP_KERNEL);
	if (IS_ERR(account))
		return ERR_CAST(account);
	st = alloc_state(GFP_KERNEL);
	if (!st) {
		if (account)
			vperfctr_uncharge(account);
		return ERR_PTR(-ENOMEM);
	}
	st->account = account;
	vperfctr_overflow_attach(st);
	return st;
}

void vperfctr_get(struct vperfctr_state *st)
{
	refcount_inc(&st->refs);
}

static void free_late(struct rcu_head *rcu)
{
	kmem_cache_free(vperfctr_cache, container_of(rcu, struct vperfctr_state, rcu));
}

/*
 * Put a reference, and free the state with the last one.
 *
 * Context: may sleep if this is the last reference, but not if the state has none of its
 * bits.  A descriptor, a share or the module's workqueue keeps the module until this
 * returns.
 */
void vperfctr_put(struct vperfctr_state *st)
{
	struct vperfctr_state *topmost;
	const struct cred *creator;

	if (!refcount_dec_and_test(&st->refs))
		return;
	topmost = st->topmost;
	creator = test_bit(STATE_GLOBAL, &st->bits) ? st->creator : NULL;
	vperfctr_release_hardware(st);
	if (test_bit(STATE_QUEUED, &st->bits)) {
		irq_work_sync(&st->sigill_work);
		irq_work_sync(&st->wake_work);
		irq_work_sync(&st->reap_work);
	}
	if (STATE_ON_RT)
		vperfctr_put_spares(st);
	vperfctr_ring_free(st);
	vperfctr_put_kinds(st->cpu_state.control.kinds);
	/* A counted CPU has none. */
	if (st->account)
		vperfctr_uncharge(st->account);
	/* No mapping is left: a mapping keeps the file, and the file a reference. */
	vperfctr_page_end_state(st);
	mutex_destroy(&st->lock);
	mutex_destroy(&st->call_mutex);
	if (unlikely(test_bit(STATE_LATE_FREE, &st->bits)))
		call_rcu(&st->rcu, free_late);
	else
		kmem_cache_free(vperfctr_cache, st);
	/* The topmost root has left no family itself, so this does not recurse further. */
	if (unlikely(topmost))
		vperfctr_put(topmost);
	if (creator) {
		put_cred(creator);
		notifiers_put();
		module_put(THIS_MODULE);
	}
}

int __init vperfctr_state_init(void)
{
	size_t size = offsetof(struct vperfctr_state,
			       cpu_state.control.ctr[perfctr_cpu_max_ctrs()]);

	vperfctr_account_init();
	vperfctr_cache = kmem_cache_create("vperfctr_state", vperfctr_page_layout(size),
					   __alignof__(struct vperfctr_state),
					   SLAB_ACCOUNT | SLAB_HWCACHE_ALIGN, NULL);
	if (!vperfctr_cache)
		return -ENOMEM;
	if (STATE_ON_RT)
		vperfctr_spare_init(vperfctr_cache, vperfctr_finish_detach_work);
	return 0;
}

/* Free what vperfctr_state_init() has made.  Context: no states exist. */
void vperfctr_state_exit(void)
{
	cancel_delayed_work_sync(&notifiers_disable_work);
	notifiers_disable(NULL);
	if (STATE_ON_RT)
		vperfctr_spare_exit();
	rcu_barrier();	/* free_late() */
	kmem_cache_destroy(vperfctr_cache);
}
