// SPDX-License-Identifier: GPL-2.0
/* Limits on the number of a user's states and on the size of the user's rings. */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>

#include "state.h"

static unsigned int max_states_per_user = 20000;
module_param(max_states_per_user, uint, 0644);
MODULE_PARM_DESC(max_states_per_user, "states that one user's threads can have (default 20000)");

static unsigned int max_ring_kb_per_user = 65536;
module_param(max_ring_kb_per_user, uint, 0644);
MODULE_PARM_DESC(max_ring_kb_per_user, "memory that one user's rings can have (default 65536)");

/*
 * The states and rings that are charged to a user.  Their memory is also charged to
 * the memory cgroup.  Few users have states at a time, so a list is enough.
 */
struct vperfctr_account {
	struct list_head list;
	kuid_t uid;
	unsigned int states;
	unsigned int ring_kb;
};

static LIST_HEAD(accounts);
static DEFINE_RAW_SPINLOCK(accounts_lock);	/* for the fork probe, which cannot sleep */

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
 * Charge one more state to a user.  If the user has no account, *new becomes the account
 * and is set to NULL.
 *
 * Return: the account; NULL if there is none and *new is NULL; -EAGAIN if the limit is
 * reached.
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

/* Charge a new state to the current user. */
struct vperfctr_account *vperfctr_charge_current(gfp_t gfp)
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

/* Charge an inherited state to the account of its parent. */
struct vperfctr_account *vperfctr_charge_again(struct vperfctr_account *account)
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

void vperfctr_uncharge(struct vperfctr_account *account)
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

/*
 * Charge the ring of a state that exists.
 *
 * Return: 0, or -EAGAIN if it would exceed the limit.
 */
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

kuid_t vperfctr_account_uid(const struct vperfctr_account *account)
{
	return account->uid;
}
