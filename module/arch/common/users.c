// SPDX-License-Identifier: GPL-2.0
/*
 * The processes that have mapped a state's page, hashed by mm.
 *
 * mmap_lock serialises all changes for one mm, so a lock is needed only against changes
 * for others in the same bucket, and against a driver that visits all entries.
 */
#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "common.h"
#include "users.h"

struct hlist_head perfctr_users[PERFCTR_USER_BUCKETS];
atomic_t perfctr_nr_owners;

/* Each guards the links of some buckets.  Innermost locks. */
#define NR_LOCKS	16
static spinlock_t locks[NR_LOCKS] = {
	[0 ... NR_LOCKS - 1] = __SPIN_LOCK_UNLOCKED(locks)
};

static unsigned int bucket_of(const struct mm_struct *mm)
{
	return hash_ptr(mm, ilog2(PERFCTR_USER_BUCKETS));
}

struct perfctr_user *perfctr_find_user(const struct mm_struct *mm)
{
	struct perfctr_user *user;

	hlist_for_each_entry_rcu(user, &perfctr_users[bucket_of(mm)], node, true) {
		if (user->mm == mm)
			return user;
	}
	return NULL;
}

static struct perfctr_user *find_or_add(struct mm_struct *mm)
{
	unsigned int bucket = bucket_of(mm);
	struct perfctr_user *user;

	rcu_read_lock();
	user = perfctr_find_user(mm);
	rcu_read_unlock();
	if (user)
		return user;
	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return NULL;
	user->mm = mm;
	spin_lock_init(&user->lock);
	spin_lock(&locks[bucket % NR_LOCKS]);
	hlist_add_head_rcu(&user->node, &perfctr_users[bucket]);
	spin_unlock(&locks[bucket % NR_LOCKS]);
	perfctr_mm_added();
	return user;
}

static void remove(struct perfctr_user *user)
{
	unsigned int bucket = bucket_of(user->mm);

	spin_lock(&locks[bucket % NR_LOCKS]);
	hlist_del_rcu(&user->node);
	spin_unlock(&locks[bucket % NR_LOCKS]);
	kfree_rcu(user, rcu);
	perfctr_mm_removed();
}

/* Add to the number of mappings of own states. */
static void change_own(struct perfctr_user *user, int change)
{
	bool followup = false;

	if (!user->own) {
		/* A driver that is about to visit all entries must not miss the first one. */
		atomic_inc(&perfctr_nr_owners);
		smp_mb__after_atomic();	/* pairs with the driver's store before its visit */
	}
	spin_lock(&user->lock);
	WRITE_ONCE(user->own, user->own + change);
	if (user->own == (change > 0 ? 1 : 0))
		followup = perfctr_own_changed(user);
	spin_unlock(&user->lock);
	if (!user->own)
		atomic_dec(&perfctr_nr_owners);
	if (followup)
		perfctr_own_followup(user);
}

struct perfctr_user *perfctr_cpu_user_get(struct mm_struct *mm, bool owner)
{
	struct perfctr_user *user = find_or_add(mm);

	if (user) {
		user->maps++;
		if (owner)
			change_own(user, 1);
	}
	return user;
}

void perfctr_cpu_user_put(struct perfctr_user *user, bool owner)
{
	if (owner)
		change_own(user, -1);
	if (!--user->maps)
		remove(user);
}
