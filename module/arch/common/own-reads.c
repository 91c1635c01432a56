// SPDX-License-Identifier: GPL-2.0
/*
 * Permission to read counters in user mode, on arm64, RISC-V and POWER.  A thread has it
 * while its own counters run, if its process has mapped the state of one of its threads.
 *
 * Resume grants access and suspend withdraws it, so a thread without a state never has
 * access.
 */
#include <linux/atomic.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "driver.h"
#include "own-reads.h"
#include "users.h"

bool perfctr_may_read(struct mm_struct **reader)
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

static bool is_reader(int cpu, void *mm)
{
	return READ_ONCE(perfctr_driver->own_cpu(cpu)->reader) == mm;
}

static void close_user_here(void *mm)
{
	if (perfctr_driver->own_cpu(smp_processor_id())->reader == mm)
		perfctr_driver->close_user();
}

/* The threads that do not run now have no access until they are resumed. */
void perfctr_own_followup(struct mm_struct *mm, bool allowed)
{
	smp_mb();	/* see perfctr_may_read() */
	if (perfctr_driver->close_user)
		on_each_cpu_cond(is_reader, close_user_here, mm, 1);
}

/* Nothing to withdraw: resume grants access by mm, and @mm has no entry here. */
void perfctr_cpu_user_fork(struct mm_struct *mm)
{
}
