// SPDX-License-Identifier: GPL-2.0
/*
 * Who may read counters in user mode: threads whose process has mapped the state
 * of one of its own threads, while their own counters run.  PMUSERENR_EL0 is
 * opened by resume and closed by suspend, so a thread without a state never finds
 * it open, and what a stranger's counters held has been cleared before it is.
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
	struct mm_struct *mm;		/* alive: it has a mapping of ours */
	unsigned int maps;		/* mappings in all */
	unsigned int own;		/* of states of its own threads: each allows reads */
	struct rcu_head rcu;
};

static DEFINE_HASHTABLE(users, 6);
static DEFINE_MUTEX(users_mutex);	/* nests in mmap_lock */

/* How many mms have own ones, for a quick look. */
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

static struct perfctr_user *find(struct mm_struct *mm)
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
	user = find(mm);
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

/* The permission is a thread's, for as long as its counters run: fork copies nothing. */
void perfctr_cpu_user_fork(struct mm_struct *mm)
{
}
