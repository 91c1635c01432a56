// SPDX-License-Identifier: GPL-2.0
/*
 * A limit on how often a user can disturb all CPUs.
 *
 * Attaching a state to another thread needs stop_machine(), which all CPUs notice.  So does
 * the end of large rings.  Each user has a budget of stops.  A caller that has used it up
 * waits.
 */
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uidgid.h>

#include "account.h"
#include "permission.h"
#include "state.h"

static unsigned int max_stops_per_second = 20;
module_param(max_stops_per_second, uint, 0644);
MODULE_PARM_DESC(max_stops_per_second, "stops of the machine by one user in a second, 0: no limit (default 20)");

/*
 * The stops of one user.  They are not in the user's account, which ends with the last
 * state: an attachment and a close in a loop would begin with a new budget each time.
 */
struct budget {
	struct list_head list;
	kuid_t uid;
	u64 used_until;		/* ktime_get_ns(): when the stops so far will have been paid */
};

/* A stop is longer if it visits many threads.  So one that has many is made in pieces. */
static unsigned int max_threads_per_stop = 64;
module_param(max_threads_per_stop, uint, 0644);
MODULE_PARM_DESC(max_threads_per_stop, "threads to attach to in one stop of the machine, which takes a microsecond longer for each (default 64)");

/*
 * The kernel collects memory that vfree() has unmapped, and then invalidates the TLBs of all
 * CPUs.  It does so for at least this amount, which costs as much as a stop.
 */
#define RING_KB_PER_STOP	(32 * 1024)

static LIST_HEAD(budgets);
static DEFINE_MUTEX(budgets_mutex);

/*
 * Find the user's entry, and remove those that say nothing any more.  So the list has
 * only users that have stopped the machine lately.
 */
static struct budget *find_budget(kuid_t uid, u64 now)
{
	struct budget *budget, *next, *found = NULL;

	list_for_each_entry_safe(budget, next, &budgets, list) {
		if (uid_eq(budget->uid, uid)) {
			found = budget;
		} else if (budget->used_until <= now) {
			list_del(&budget->list);
			kfree(budget);
		}
	}
	return found;
}

/*
 * Use `price` ns of the user's budget, which is one second for each second.  A user that
 * has been idle for a second may make all stops of a second at once.  More than these can be
 * used at once, too, and are paid later: all of them if the user has made these stops already.
 *
 * If the user has no entry, *new becomes it and is set to NULL.
 *
 * Return: 0; how long to wait before the next attempt, in ns; or -ENOMEM if there is no entry
 * and *new is NULL.
 */
static s64 use_budget(kuid_t uid, u64 price, bool made, struct budget **new)
{
	u64 now = ktime_get_ns();
	u64 needed = min_t(u64, price, NSEC_PER_SEC);
	struct budget *budget = find_budget(uid, now);

	if (!budget) {
		budget = *new;
		if (!budget)
			return -ENOMEM;
		*new = NULL;
		budget->uid = uid;
		budget->used_until = now;
		list_add(&budget->list, &budgets);
	}
	if (budget->used_until < now)
		budget->used_until = now;
	if (!made && budget->used_until + needed > now + NSEC_PER_SEC)
		return budget->used_until + needed - (now + NSEC_PER_SEC);
	budget->used_until += price;
	return 0;
}

/* Return the price of n / `per_stop` stops, in ns.  If both parameters are 1, n * ns can wrap. */
static u64 price_of(u64 n, u32 per_stop, unsigned int rate)
{
	u32 rest, ns = NSEC_PER_SEC / rate;
	u64 whole = div_u64_rem(n, per_stop, &rest);

	return whole * ns + div_u64((u64)rest * ns, per_stop);
}

/* A wait of weeks has more jiffies than a long of 32 bits, so it is made in parts. */
#define MAX_WAIT	(10LL * NSEC_PER_SEC)

/*
 * Wait until the user of this account may use n / `per_stop` stops, and use them; or only use
 * them, if the user has made these stops already.  Users that may count the whole system are not
 * limited.
 *
 * Context: may sleep; if it waits, nothing has been done that a restart of the call would repeat.
 * Return: 0; -ERESTARTSYS if a signal ended the wait; -ENOMEM.
 */
static int wait_for_budget(const struct vperfctr_account *account, u64 n, u32 per_stop, bool made)
{
	unsigned int rate = READ_ONCE(max_stops_per_second);
	struct budget *new = NULL;
	s64 wait;

	if (!rate || vperfctr_may_disturb())
		return 0;
	for (;;) {
		mutex_lock(&budgets_mutex);
		wait = use_budget(vperfctr_account_uid(account),
				  price_of(n, per_stop, rate), made, &new);
		mutex_unlock(&budgets_mutex);
		if (wait == -ENOMEM) {
			/* Without the mutex: the reclaim of a full memory cgroup takes long. */
			new = kmalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
			/* Stops that have been made are counted, also if the cgroup is full. */
			if (!new && made)
				new = kmalloc(sizeof(*new), GFP_KERNEL);
			if (new)
				continue;
		}
		if (wait <= 0)
			break;
		schedule_timeout_interruptible(nsecs_to_jiffies(min(wait, MAX_WAIT)) + 1);
		if (signal_pending(current)) {
			wait = -ERESTARTSYS;
			break;
		}
	}
	kfree(new);
	return (int)wait;
}

/* Return: the number of threads that one stop of the machine may visit. */
unsigned int vperfctr_threads_per_stop(void)
{
	/* A sum with it must not wrap. */
	return clamp(READ_ONCE(max_threads_per_stop), 1U, 1U << 20);
}

/*
 * Wait until the user of this account may stop the machine that many times, and make a ring of
 * this size, if any.  Count both.
 *
 * Context, Return: see wait_for_budget().
 */
int vperfctr_limit_stops(const struct vperfctr_account *account, unsigned int nrstops,
			 unsigned int ring_kb)
{
	return wait_for_budget(account, (u64)nrstops * RING_KB_PER_STOP + ring_kb,
			       RING_KB_PER_STOP, false);
}

/*
 * Count stops that the user of this account has made without a wait, so that the next ones wait.
 * If the system has no memory for the user's entry, they are not counted.
 *
 * Context: may sleep.
 */
void vperfctr_owe_stops(const struct vperfctr_account *account, unsigned int nrstops)
{
	wait_for_budget(account, nrstops, 1, true);
}

/*
 * Wait until the user of this account may make a ring of this size.
 *
 * Context, Return: see wait_for_budget().
 */
int vperfctr_limit_rings(const struct vperfctr_account *account, unsigned int kb)
{
	return wait_for_budget(account, kb, RING_KB_PER_STOP, false);
}

/* Context: no states exist. */
void vperfctr_stop_limit_exit(void)
{
	struct budget *budget, *next;

	list_for_each_entry_safe(budget, next, &budgets, list)
		kfree(budget);
}
