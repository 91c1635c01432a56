// SPDX-License-Identifier: GPL-2.0
/* A state: its making and its end, and what it is charged to. */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uidgid.h>

#include "compat/workqueue.h"
#include "state.h"

static unsigned int max_states_per_user = 20000;
module_param(max_states_per_user, uint, 0644);
MODULE_PARM_DESC(max_states_per_user, "states that one user's threads can have (default 20000)");

static unsigned int max_ring_kb_per_user = 65536;
module_param(max_ring_kb_per_user, uint, 0644);
MODULE_PARM_DESC(max_ring_kb_per_user, "memory that one user's rings can have (default 65536)");

static struct kmem_cache *vperfctr_cache;

/* ---- users -------------------------------------------------------------- */

/*
 * How many states a user has caused, and how large their rings are.  Memory is
 * charged to the memory cgroup besides.  There are few users at a time: a list
 * does.
 */
struct vperfctr_account {
	struct list_head list;
	kuid_t uid;
	unsigned int states;
	unsigned int ring_kb;
};

static LIST_HEAD(accounts);
static DEFINE_RAW_SPINLOCK(accounts_lock);	/* taken in fork: interrupts disabled */

static struct vperfctr_account *find_account(kuid_t uid)
{
	struct vperfctr_account *account;

	list_for_each_entry(account, &accounts, list) {
		if (uid_eq(account->uid, uid))
			return account;
	}
	return NULL;
}

/*
 * Charge one more to a user, whose account is *new if there is none yet; *new is
 * NULL after that.  NULL: there is none at all.  -EAGAIN: there are enough.
 */
static struct vperfctr_account *charge_user(kuid_t uid, struct vperfctr_account **new)
{
	struct vperfctr_account *account;
	unsigned long flags;

	raw_spin_lock_irqsave(&accounts_lock, flags);
	account = find_account(uid) ?: *new;
	if (account && account->states >= READ_ONCE(max_states_per_user)) {
		account = ERR_PTR(-EAGAIN);
	} else if (account && !account->states++) {
		list_add(&account->list, &accounts);
		*new = NULL;
	}
	raw_spin_unlock_irqrestore(&accounts_lock, flags);
	return account;
}

static struct vperfctr_account *charge_current(gfp_t gfp)
{
	struct vperfctr_account *account, *new = NULL;
	kuid_t uid = current_uid();

	account = charge_user(uid, &new);
	if (account)
		return account;
	new = kzalloc(sizeof(*new), gfp);
	if (!new)
		return ERR_PTR(-ENOMEM);
	new->uid = uid;
	account = charge_user(uid, &new);
	kfree(new);
	return account;
}

/* An inherited state is charged to whom its parent's is. */
static struct vperfctr_account *charge_again(struct vperfctr_account *account)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&accounts_lock, flags);
	if (account->states < READ_ONCE(max_states_per_user))
		account->states++;
	else
		account = ERR_PTR(-EAGAIN);
	raw_spin_unlock_irqrestore(&accounts_lock, flags);
	return account;
}

static void uncharge(struct vperfctr_account *account)
{
	unsigned long flags;
	bool last;

	raw_spin_lock_irqsave(&accounts_lock, flags);
	last = !--account->states;
	if (last)
		list_del(&account->list);
	raw_spin_unlock_irqrestore(&accounts_lock, flags);
	if (last)
		kfree(account);
}

/* For a state that exists.  -EAGAIN: it would be too much. */
int vperfctr_charge_ring(struct vperfctr_account *account, unsigned int kb)
{
	unsigned int limit = READ_ONCE(max_ring_kb_per_user);
	unsigned long flags;
	int err = -EAGAIN;

	raw_spin_lock_irqsave(&accounts_lock, flags);
	if (kb <= limit && account->ring_kb <= limit - kb) {
		account->ring_kb += kb;
		err = 0;
	}
	raw_spin_unlock_irqrestore(&accounts_lock, flags);
	return err;
}

void vperfctr_uncharge_ring(struct vperfctr_account *account, unsigned int kb)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&accounts_lock, flags);
	account->ring_kb -= kb;
	raw_spin_unlock_irqrestore(&accounts_lock, flags);
}

/* ---- the notifiers' static key ------------------------------------------ */

/*
 * Taken when there is a first state, given back when there has been none for
 * a while, so that programs run one after the other do not patch the kernel
 * each time.
 */
static DEFINE_MUTEX(notifiers_mutex);
static refcount_t nr_states = REFCOUNT_INIT(0);
static bool notifiers_on;

static void notifiers_drop(struct work_struct *work)
{
	mutex_lock(&notifiers_mutex);
	if (!refcount_read(&nr_states) && notifiers_on) {
		preempt_notifier_dec();
		notifiers_on = false;
	}
	mutex_unlock(&notifiers_mutex);
}

static DECLARE_DELAYED_WORK(notifiers_drop_work, notifiers_drop);

/* Sleeps only for the first state: not if the caller has one already. */
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
	mod_delayed_work(system_dfl_wq, &notifiers_drop_work, HZ);
	mutex_unlock(&notifiers_mutex);
}

/* ---- making and ending -------------------------------------------------- */

/*
 * A new state, attached to nobody, with one reference.  `parent`: the state
 * whose control it is to inherit; then gfp may be such that nothing sleeps.
 */
struct vperfctr *vperfctr_create(struct vperfctr *parent, gfp_t gfp)
{
	struct vperfctr_account *account;
	struct vperfctr *st;

	account = parent ? charge_again(parent->account) : charge_current(gfp);
	if (IS_ERR(account))
		return ERR_CAST(account);
	st = kmem_cache_zalloc(vperfctr_cache, gfp);
	if (!st)
		goto no_state;
	st->cpu_state.page = (void *)get_zeroed_page(gfp | __GFP_ACCOUNT);
	if (!st->cpu_state.page)
		goto no_page;

	st->cpu_state.page->version = VPERFCTR_ABI_VERSION;
	st->account = account;
	st->stop = VPERFCTR_STOP_IDLE;
	st->cpu = -1;
	mutex_init(&st->lock);
	refcount_set(&st->refs, 1);
	init_waitqueue_head(&st->wait);
	INIT_LIST_HEAD(&st->family);
	raw_spin_lock_init(&st->family_lock);
	/* A state may be attached with no descriptor open. */
	__module_get(THIS_MODULE);
	notifiers_get();
	return st;

no_page:
	kmem_cache_free(vperfctr_cache, st);
no_state:
	uncharge(account);
	return ERR_PTR(-ENOMEM);
}

void vperfctr_get(struct vperfctr *st)
{
	refcount_inc(&st->refs);
}

/* May sleep. */
void vperfctr_put(struct vperfctr *st)
{
	if (!refcount_dec_and_test(&st->refs))
		return;
	vperfctr_release_hardware(st);
	if (test_bit(VPERFCTR_QUEUED, &st->bits)) {
		irq_work_sync(&st->sigill_work);
		irq_work_sync(&st->wake_work);
	}
	vperfctr_ring_free(st);
	uncharge(st->account);
	/* There is no mapping: that would have the file, and the file a reference. */
	free_page((unsigned long)st->cpu_state.page);
	mutex_destroy(&st->lock);
	kmem_cache_free(vperfctr_cache, st);
	notifiers_put();
	module_put(THIS_MODULE);
}

int vperfctr_state_init(void)
{
	vperfctr_cache = KMEM_CACHE(vperfctr, SLAB_ACCOUNT | SLAB_HWCACHE_ALIGN);
	return vperfctr_cache ? 0 : -ENOMEM;
}

/* There are no states. */
void vperfctr_state_exit(void)
{
	cancel_delayed_work_sync(&notifiers_drop_work);
	notifiers_drop(NULL);
	kmem_cache_destroy(vperfctr_cache);
}
