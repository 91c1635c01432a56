// SPDX-License-Identifier: GPL-2.0
/*
 * The processes that have mapped a state's page, hashed by mm.
 *
 * mmap_lock serialises all mappings of one mm, so a lock is needed only against changes
 * for others in the same bucket.  States begin and end to count without it.
 */
#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "common.h"
#include "users.h"

#define USER_BUCKETS	256

static struct hlist_head users[USER_BUCKETS];
atomic_t perfctr_nr_owners;

/* Each guards the links of some buckets.  Innermost locks. */
#define NR_LOCKS	16
static spinlock_t locks[NR_LOCKS] = {
	[0 ... NR_LOCKS - 1] = __SPIN_LOCK_UNLOCKED(locks)
};

static unsigned int bucket_of(const struct mm_struct *mm)
{
	return hash_ptr(mm, ilog2(USER_BUCKETS));
}

struct perfctr_user *perfctr_find_user(const struct mm_struct *mm)
{
	struct perfctr_user *user;

	hlist_for_each_entry_rcu(user, &users[bucket_of(mm)], node, true) {
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
	/* A number that does not fall to 0, if no state gives the right to read counters. */
	user->own = !(perfctr_cpu_info.features & VPERFCTR_FEATURE_RDPMC);
	spin_lock_init(&user->lock);
	spin_lock(&locks[bucket % NR_LOCKS]);
	hlist_add_head_rcu(&user->node, &users[bucket]);
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

/*
 * Add to the number of mapped own states that count.
 *
 * Return: the mm, with a reference for perfctr_cpu_user_follow(), or NULL.
 */
static struct mm_struct *change_own(struct perfctr_user *user, int change)
{
	struct mm_struct *mm = NULL;

	spin_lock(&user->lock);
	if (!user->own)
		atomic_inc(&perfctr_nr_owners);
	WRITE_ONCE(user->own, user->own + change);
	if (user->own == (change > 0 ? 1 : 0) && perfctr_own_changed(user)) {
		mm = user->mm;
		mmgrab(mm);
	}
	if (!user->own)
		atomic_dec(&perfctr_nr_owners);
	spin_unlock(&user->lock);
	return mm;
}

struct perfctr_user *perfctr_cpu_user_get(struct mm_struct *mm)
{
	struct perfctr_user *user = find_or_add(mm);

	if (user)
		user->maps++;
	return user;
}

void perfctr_cpu_user_put(struct perfctr_user *user)
{
	if (!--user->maps)
		remove(user);
}

struct mm_struct *perfctr_cpu_user_allow(struct perfctr_user *user)
{
	return change_own(user, 1);
}

struct mm_struct *perfctr_cpu_user_forbid(struct perfctr_user *user)
{
	return change_own(user, -1);
}

void perfctr_cpu_user_follow(struct mm_struct *mm, bool allowed)
{
	perfctr_own_followup(mm, allowed);
	mmdrop(mm);
}
