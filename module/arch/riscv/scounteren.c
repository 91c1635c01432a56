// SPDX-License-Identifier: GPL-2.0
/*
 * Permission to read counters in user mode (scounteren).  A thread has it while its own
 * counters run, if its process has mapped the state of one of its threads.
 *
 * Resume grants access and suspend withdraws it, so a thread without a state never has
 * access.  A thread with access, or with a page that shows start values, could see what the
 * counters held for others, as they keep running.  So with isolation, resume clears them
 * while any process has mapped a page.
 */
#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "../common/users.h"
#include "riscv.h"

/* The number of mms that have mapped a page, with isolation. */
static atomic_t nr_mms = ATOMIC_INIT(0);

/* Held while nr_mms changes, and until the counters have followed. */
static DEFINE_MUTEX(mms_mutex);

bool perfctr_riscv_must_hide(void)
{
	return atomic_read(&nr_mms);
}

bool perfctr_riscv_may_read(struct mm_struct **reader)
{
	struct mm_struct *mm = current->mm;	/* NULL late in exit */
	struct perfctr_user *user;
	bool may;

	if (!atomic_read(&perfctr_nr_owners) || !mm)
		return false;
	WRITE_ONCE(*reader, mm);
	/*
	 * Pairs with perfctr_own_followup(): either this finds the last mapping gone, or the
	 * thread that unmaps finds the reader, and interrupts this CPU.
	 */
	smp_mb();
	rcu_read_lock();
	user = perfctr_find_user(mm);
	may = user && READ_ONCE(user->own);
	rcu_read_unlock();
	if (!may)
		WRITE_ONCE(*reader, NULL);
	return may;
}

/* Each thread gets access when it is next resumed. */
bool perfctr_own_changed(struct perfctr_user *user)
{
	return !user->own;
}

void perfctr_own_followup(struct mm_struct *mm, bool allowed)
{
	smp_mb();	/* see perfctr_riscv_may_read() */
	perfctr_riscv_close_users(mm);
}

void perfctr_mm_added(void)
{
	if (!perfctr_isolate)
		return;
	mutex_lock(&mms_mutex);
	/* Fully ordered: a state that is being resumed sees this, or is seen. */
	if (atomic_inc_return(&nr_mms) == 1)
		perfctr_riscv_hide_counts();
	mutex_unlock(&mms_mutex);
}

void perfctr_mm_removed(void)
{
	if (!perfctr_isolate)
		return;
	mutex_lock(&mms_mutex);
	atomic_dec(&nr_mms);
	mutex_unlock(&mms_mutex);
}

/* Nothing to withdraw: resume grants access by mm, and @mm has no entry here. */
void perfctr_cpu_user_fork(struct mm_struct *mm)
{
}
