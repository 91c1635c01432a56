// SPDX-License-Identifier: GPL-2.0
/*
 * User-mode RDPMC by process, and the processes that could see what the counters of
 * others hold.
 *
 * CR4.PCE follows mm->context.perf_rdpmc_allowed: the kernel updates it when it switches
 * to an mm from a different one.  While the hardware is reserved, we raise that count
 * for an mm whose thread has mapped its own state.  cr4-pce.c passes the change on
 * to the CPUs that have the mm loaded, as perf does for its mappings.
 *
 * An administrator can forbid RDPMC: the "rdpmc" attribute of the cpu PMU in sysfs is 0.
 * Then the next switch from a different mm clears the bit, and the page reports that.
 */
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <asm/mmu_context.h>

#include "regs.h"
#include "rdpmc.h"
#include "x86.h"

/* One per mm that has mapped a state's page. */
struct perfctr_user {
	struct list_head list;
	struct mm_struct *mm;		/* kept alive by its mapping */
	unsigned int maps;		/* all mappings, except dead ones: see page.c */
	unsigned int own;		/* mappings of states of its own threads: allow RDPMC */
};

static LIST_HEAD(users);
static DEFINE_MUTEX(users_mutex);	/* taken inside mmap_lock */

/* True while the hardware is reserved: a mapping of an own state allows RDPMC. */
static bool allowing;

/* The length of the list, to be read without the mutex: see rdpmc.h. */
unsigned int perfctr_x86_nr_users;

bool perfctr_x86_rdpmc_always;

/* Context: users_mutex held, so that an mm on the list stays. */
static void allow_rdpmc(struct mm_struct *mm)
{
	atomic_inc(&mm->context.perf_rdpmc_allowed);
	perfctr_x86_pce_follow(mm);
}

static void forbid_rdpmc(struct mm_struct *mm)
{
	bool always = READ_ONCE(perfctr_x86_rdpmc_always);

	if (!atomic_dec_and_test(&mm->context.perf_rdpmc_allowed) || always)
		return;
	perfctr_x86_pce_follow(mm);
	perfctr_x86_pce_wait();
	/* A thread resumed meanwhile may have found CR4.PCE still set, and inferred rdpmc=2. */
	WRITE_ONCE(perfctr_x86_rdpmc_always, false);
}

struct perfctr_user *perfctr_cpu_user_get(struct mm_struct *mm, bool owner)
{
	struct perfctr_user *user;

	/* If RDPMC works for an mm that is not allowed it, rdpmc=2 is in force. */
	preempt_disable();
	if (!perfctr_x86_rdpmc_allowed(mm))
		WRITE_ONCE(perfctr_x86_rdpmc_always, perfctr_user_rdpmc());
	preempt_enable();

	mutex_lock(&users_mutex);
	list_for_each_entry(user, &users, list) {
		if (user->mm == mm)
			goto found;
	}
	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		goto out;
	user->mm = mm;
	list_add(&user->list, &users);
	WRITE_ONCE(perfctr_x86_nr_users, perfctr_x86_nr_users + 1);
	/*
	 * Each suspend from here on clears its counters.  Clear what earlier ones
	 * left, before the new user can look.
	 */
	if (perfctr_isolate)
		perfctr_x86_scrub();
found:
	user->maps++;
	if (owner && !user->own++ && allowing) {
		allow_rdpmc(mm);
		perfctr_x86_pce_wait();
	}
out:
	mutex_unlock(&users_mutex);
	return user;
}

void perfctr_cpu_user_put(struct perfctr_user *user, bool owner)
{
	mutex_lock(&users_mutex);
	if (owner && !--user->own && allowing)
		forbid_rdpmc(user->mm);
	if (!--user->maps) {
		list_del(&user->list);
		WRITE_ONCE(perfctr_x86_nr_users, perfctr_x86_nr_users - 1);
		kfree(user);
	}
	mutex_unlock(&users_mutex);
}

void perfctr_x86_users_allow(void)
{
	struct perfctr_user *user;

	mutex_lock(&users_mutex);
	allowing = true;
	list_for_each_entry(user, &users, list) {
		if (user->own)
			allow_rdpmc(user->mm);
	}
	perfctr_x86_pce_wait();
	mutex_unlock(&users_mutex);
}

void perfctr_x86_users_forbid(void)
{
	struct perfctr_user *user;

	mutex_lock(&users_mutex);
	allowing = false;
	list_for_each_entry(user, &users, list) {
		if (user->own)
			forbid_rdpmc(user->mm);
	}
	mutex_unlock(&users_mutex);
}

/*
 * Withdraw the permission to RDPMC that fork has copied with the rest of the mm.  The
 * child has no mapping that entitles it: fork copies none of perf's, and ours are dead in
 * the child (see page.c).  Without this, the child could RDPMC until it ends.
 */
void perfctr_cpu_user_fork(struct mm_struct *mm)
{
	atomic_set(&mm->context.perf_rdpmc_allowed, 0);
}
