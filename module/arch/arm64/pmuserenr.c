// SPDX-License-Identifier: GPL-2.0
/*
 * Permission to read counters in user mode (PMUSERENR_EL0).  A thread has it while
 * its own counters run, if its process has mapped the state of one of its threads.
 *
 * Resume grants access and suspend withdraws it, so a thread without a state never
 * has access.  With isolation, suspend also clears the counters, so access never shows
 * the counts of other threads.
 */
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "arm64.h"

/* One per mm that has mapped a state's page. */
struct perfctr_user {
	struct hlist_node node;
	struct mm_struct *mm;		/* kept alive by its mapping */
	unsigned int maps;		/* all mappings, except dead ones: see page.c */
	unsigned int own;		/* mappings of states of its own threads */
	struct rcu_head rcu;
};

static DEFINE_HASHTABLE(users, 6);
static DEFINE_MUTEX(users_mutex);	/* taken inside mmap_lock */

/* The number of mms with `own`, for a quick test without a lookup. */
static unsigned int nr_owners;

bool perfctr_arm64_may_read(void)
{
	struct mm_struct *mm = current->mm;	/* NULL late in exit */
	struct perfctr_user *user;
	bool may = false;

	if (!READ_ONCE(nr_owners) || !mm)
		return false;
	rcu_read_lock();
	hash_for_each_possible_rcu(users, user, node, (unsigned long)mm) {
		if (user->mm == mm) {
			may = READ_ONCE(user->own);
			break;
		}
	}
	rcu_read_unlock();
	return may;
}

static struct perfctr_user *lookup_user(struct mm_struct *mm)
{
	struct perfctr_user *user;

	hash_for_each_possible(users, user, node, (unsigned long)mm) {
		if (user->mm == mm)
			return user;
	}
	return NULL;
}

struct perfctr_user *perfctr_cpu_user_get(struct mm_struct *mm, bool owner)
{
	struct perfctr_user *user;

	mutex_lock(&users_mutex);
	user = lookup_user(mm);
	if (!user) {
		user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
		if (!user)
			goto out;
		user->mm = mm;
		hash_add_rcu(users, &user->node, (unsigned long)mm);
	}
	user->maps++;
	if (owner) {
		if (!user->own)
			WRITE_ONCE(nr_owners, nr_owners + 1);
		WRITE_ONCE(user->own, user->own + 1);
	}
out:
	mutex_unlock(&users_mutex);
	return user;
}

void perfctr_cpu_user_put(struct perfctr_user *user, bool owner)
{
	mutex_lock(&users_mutex);
	if (owner) {
		WRITE_ONCE(user->own, user->own - 1);
		if (!user->own) {
			WRITE_ONCE(nr_owners, nr_owners - 1);
			perfctr_arm64_close_users(user->mm);
		}
	}
	if (!--user->maps) {
		hash_del_rcu(&user->node);
		kfree_rcu(user, rcu);
	}
	mutex_unlock(&users_mutex);
}

/* Nothing to withdraw: resume grants access by mm, and @mm has no entry here. */
void perfctr_cpu_user_fork(struct mm_struct *mm)
{
}
