/* SPDX-License-Identifier: GPL-2.0 */
/* The rights of a caller. */
#ifndef VPERFCTR_PERMISSION_H
#define VPERFCTR_PERMISSION_H

#include <linux/cred.h>
#include <linux/sched.h>

#include "state.h"

/* permission.c */
bool vperfctr_may_count_kernel(void);
bool vperfctr_could_count_kernel(void);
bool vperfctr_may_disturb(void);
bool vperfctr_may_use(const struct vperfctr_state *st);
bool vperfctr_may_use_of(const struct cred *creator);
bool vperfctr_may_monitor(const struct task_struct *task, const struct task_struct *monitor);
int vperfctr_check_open(const struct vperfctr_state *st);
int vperfctr_check_user(struct vperfctr_state *st);
int vperfctr_check_unlink(struct vperfctr_state *st);

/* True if the state was made with OPEN_LOCKED or ATTACH_LOCKED, or inherited from such a one. */
static inline bool vperfctr_is_locked(const struct vperfctr_state *st)
{
	return !st->may_change;
}

/*
 * Check that the caller may change this state.  vperfctr_apply() checks again that it is
 * the owner or the monitor, as that may be outdated at once.
 *
 * Return: 0; -ESRCH if it is detached; -EPERM if the caller is neither its owner nor
 * the owner's monitor, is another user than the creator, or is an owner that may not
 * change it.
 */
static inline int vperfctr_check_access(struct vperfctr_state *st)
{
	return likely(READ_ONCE(st->owner) == current && st->may_change == current_cred()) ?
	       0 : vperfctr_check_user(st);
}

#endif /* VPERFCTR_PERMISSION_H */
