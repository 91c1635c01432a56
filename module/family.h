/* SPDX-License-Identifier: GPL-2.0 */
/* Inheritance: descendants and their sums, and those that are attached to. */
#ifndef VPERFCTR_FAMILY_H
#define VPERFCTR_FAMILY_H

#include <linux/gfp.h>

#include "state.h"

struct vperfctr_attach;

/* family.c */
/*
 * True if there can be children's sums.
 *
 * Context: the control cannot change, as for vperfctr_snapshot().
 */
static inline bool vperfctr_has_family(const struct vperfctr_state *st)
{
	return st->flags & (VPERFCTR_CONTROL_INHERIT | STATE_FLAG_SET);
}

void vperfctr_inherit(struct vperfctr_state *parent, struct task_struct *child);
struct vperfctr_state *vperfctr_make_member(struct vperfctr_state *parent, gfp_t gfp);
bool vperfctr_join_family(struct vperfctr_state *st, struct task_struct *task);
void vperfctr_count_missed(struct vperfctr_state *root, unsigned int nr);
void vperfctr_leave_family(struct vperfctr_state *st, bool missed);
bool vperfctr_end_member(struct vperfctr_state *st);
bool vperfctr_family_is_over(struct vperfctr_state *st);
bool vperfctr_is_over(struct vperfctr_state *st);
void vperfctr_wake_if_over(struct vperfctr_state *root);
void vperfctr_reset_family(struct vperfctr_state *root);
bool vperfctr_read_family(struct vperfctr_state *st, u64 *sums, unsigned int n,
			  struct vperfctr_soft_sums *soft, u64 *missed);
int vperfctr_read_members(struct vperfctr_state *root, u64 *sums,
			  struct vperfctr_soft_sums *soft);

/* attach.c */
int vperfctr_attach_ioctl(struct vperfctr_attach __user *arg);

#endif /* VPERFCTR_FAMILY_H */
