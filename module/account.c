// SPDX-License-Identifier: GPL-2.0
/* Limits on the number of a user's states and on the size of the user's rings. */
#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "account.h"
#include "alloc.h"
#include "state.h"

static unsigned int max_states_per_user = 20000;
module_param(max_states_per_user, uint, 0644);
MODULE_PARM_DESC(max_states_per_user, "states that one user's threads can have (default 20000)");

static unsigned int max_ring_kb_per_user = 65536;
module_param(max_ring_kb_per_user, uint, 0644);
MODULE_PARM_DESC(max_ring_kb_per_user, "memory that one user's rings can have (default 65536)");

/*
 * The states and rings that are charged to a user.  Their memory is also charged to
 * the memory cgroup.  An account exists while it has states.  A thread that inherits
 * writes the account of its user, and nothing that other users write.
 */
struct vperfctr_account {
	struct hlist_node link;
	kuid_t uid;
	atomic_t states;
	atomic_t ring_kb;
} ____cacheline_aligned_in_smp;

static_assert(sizeof(struct vperfctr_account) <= VPERFCTR_SPARE_SIZE);

#define ACCOUNT_BITS	12
#define NR_LOCKS	256

/* The accounts of users whose ids have the same hash: few, even of ten thousand users. */
static struct hlist_head buckets[1 << ACCOUNT_BITS];

/*
 * Each guards some of these lists, the first charge of an account and the last one.  On a kernel
 * without SMP a lock has no size, so ARRAY_SIZE() would divide by zero.
 */
static struct {
	raw_spinlock_t lock;		/* for the fork probe, which cannot sleep */
} ____cacheline_aligned_in_smp locks[NR_LOCKS];

static unsigned int bucket_of(kuid_t uid)
{
	return hash_32(__kuid_val(uid), ACCOUNT_BITS);
}

static raw_spinlock_t *lock_of(unsigned int bucket)
{
	return &locks[bucket % NR_LOCKS].lock;
}

void __init vperfctr_account_init(void)
{
	unsigned int i;

	for (i = 0; i < NR_LOCKS; i++)
		raw_spin_lock_init(&locks[i].lock);
}

/*
 * Return the user to whom current's states are charged.  A user namespace maps many
 * users.  They are charged to the user who made it, or who made its outermost ancestor
 * below the initial one.
 */
static kuid_t account_uid(void)
{
	const struct user_namespace *ns;
	kuid_t uid = current_uid();

	for (ns = current_user_ns(); ns != &init_user_ns; ns = ns->parent)
		uid = ns->owner;
	return uid;
}

/* Add to a counter, unless it would exceed the limit. */
static bool charge(atomic_t *counter, u64 n, unsigned int limit)
{
	int old = atomic_read(counter);

	do {
		if (n > limit || (unsigned int)old > limit - n)
			return false;
	} while (!atomic_try_cmpxchg(counter, &old, old + (unsigned int)n));
	return true;
}

static struct vperfctr_account *find_account(unsigned int bucket, kuid_t uid)
{
	struct vperfctr_account *account;

	hlist_for_each_entry(account, &buckets[bucket], link) {
		if (uid_eq(account->uid, uid))
			return account;
	}
	return NULL;
}

/*
 * Charge one more state to a user.  If the user has no account, *new becomes the account
 * and is set to NULL.
 *
 * Return: the account; NULL if there is none and *new is NULL; -EAGAIN if the limit is
 * reached.
 */
static struct vperfctr_account *charge_user(kuid_t uid, struct vperfctr_account **new)
{
	unsigned int bucket = bucket_of(uid);
	struct vperfctr_account *account;
	unsigned long flags;

	raw_spin_lock_irqsave(lock_of(bucket), flags);
	account = find_account(bucket, uid) ?: *new;
	if (account && !charge(&account->states, 1, READ_ONCE(max_states_per_user))) {
		account = ERR_PTR(-EAGAIN);
	} else if (account && account == *new) {
		hlist_add_head(&account->link, &buckets[bucket]);
		*new = NULL;
	}
	raw_spin_unlock_irqrestore(lock_of(bucket), flags);
	return account;
}

/* Charge a new state to the user of current. */
struct vperfctr_account *vperfctr_charge_current(gfp_t gfp)
{
	struct vperfctr_account *account, *new = NULL;
	kuid_t uid = account_uid();

	account = charge_user(uid, &new);
	if (account)
		return account;
	new = vperfctr_zalloc(sizeof(*new), gfp | __GFP_ACCOUNT);
	if (!new)
		return ERR_PTR(-ENOMEM);
	new->uid = uid;
	account = charge_user(uid, &new);
	vperfctr_free(new);
	return account;
}

/*
 * Charge an inherited state to the user of current.  That is the account of the parent's
 * state, which this function finds without a lock, unless the thread has changed its user
 * since.
 *
 * Context: the parent's state cannot end.
 */
struct vperfctr_account *vperfctr_charge_child(struct vperfctr_account *account, gfp_t gfp)
{
	if (unlikely(!uid_eq(account_uid(), account->uid)))
		return vperfctr_charge_current(gfp);
	return charge(&account->states, 1, READ_ONCE(max_states_per_user)) ?
	       account : ERR_PTR(-EAGAIN);
}

void vperfctr_uncharge(struct vperfctr_account *account)
{
	unsigned int bucket;
	unsigned long flags;
	bool last;

	if (atomic_add_unless(&account->states, -1, 1))
		return;
	bucket = bucket_of(account->uid);
	raw_spin_lock_irqsave(lock_of(bucket), flags);
	last = atomic_dec_and_test(&account->states);
	if (last)
		hlist_del(&account->link);
	raw_spin_unlock_irqrestore(lock_of(bucket), flags);
	if (last)
		vperfctr_free(account);
}

/* True if a counter may be charged.  The answer may change at once. */
static bool may_charge(const atomic_t *counter, u64 n, unsigned int limit)
{
	unsigned int used = counter ? atomic_read(counter) : 0;

	return n <= limit && used <= limit - n;
}

/*
 * Refuse states and a ring that the limits of current's user would refuse now.
 *
 * Return: 0 or -EAGAIN.
 */
int vperfctr_may_charge(unsigned int nrstates, u64 ring_kb)
{
	kuid_t uid = account_uid();
	unsigned int bucket = bucket_of(uid);
	struct vperfctr_account *account;
	unsigned long flags;
	bool may;

	raw_spin_lock_irqsave(lock_of(bucket), flags);
	account = find_account(bucket, uid);
	may = may_charge(account ? &account->states : NULL, nrstates,
			 READ_ONCE(max_states_per_user)) &&
	      may_charge(account ? &account->ring_kb : NULL, ring_kb,
			 READ_ONCE(max_ring_kb_per_user));
	raw_spin_unlock_irqrestore(lock_of(bucket), flags);
	return may ? 0 : -EAGAIN;
}

/*
 * Charge the ring of a state that exists.
 *
 * Return: 0, or -EAGAIN if it would exceed the limit.
 */
int vperfctr_charge_ring(struct vperfctr_account *account, u64 kb)
{
	return charge(&account->ring_kb, kb, READ_ONCE(max_ring_kb_per_user)) ? 0 : -EAGAIN;
}

void vperfctr_uncharge_ring(struct vperfctr_account *account, unsigned int kb)
{
	atomic_sub(kb, &account->ring_kb);
}

kuid_t vperfctr_account_uid(const struct vperfctr_account *account)
{
	return account->uid;
}
