/* SPDX-License-Identifier: GPL-2.0 */
/* The processes that have mapped a state's page, for the drivers: see users.c. */
#ifndef VPERFCTR_USERS_H
#define VPERFCTR_USERS_H

#include <linux/rculist.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/* One per mm that has mapped a state's page. */
struct perfctr_user {
	struct hlist_node node;
	struct mm_struct *mm;		/* kept alive by its mapping */
	unsigned int maps;		/* all mappings, except dead ones: see page-map.c */
	unsigned int own;		/* mapped states of its own threads that count */
	spinlock_t lock;		/* held to change own, never over a wait */
	struct rcu_head rcu;
};

/* The number of mms with states that give them the right. */
extern atomic_t perfctr_nr_owners;

/* Return the entry of an mm, or NULL.  Context: RCU read lock held, or mmap_lock of the mm. */
struct perfctr_user *perfctr_find_user(const struct mm_struct *mm);

/*
 * The driver's part.
 *
 * perfctr_mm_added: one more mm has an entry.  It may look at a page when this returns.
 * perfctr_mm_removed: an mm has no entry any more.
 *
 * Context: mmap_lock of the mm held.  May sleep, but should not wait for other threads.
 *
 * perfctr_own_changed: @user->own has become 1, or 0.
 *
 * Context: the entry's lock held; may not sleep.
 * Return: true if perfctr_own_followup() must be called, without the lock.
 *
 * perfctr_own_followup: let the CPUs that have the mm loaded follow.  The entry may be
 * gone.
 *
 * Context: may sleep, but should not wait for other threads; mmap_lock may be held.
 */
void perfctr_mm_added(void);
void perfctr_mm_removed(void);
bool perfctr_own_changed(struct perfctr_user *user);
void perfctr_own_followup(struct mm_struct *mm, bool allowed);

#endif /* VPERFCTR_USERS_H */
