/* SPDX-License-Identifier: GPL-2.0 */
/* Memory in places that cannot sleep, or have a small stack. */
#ifndef VPERFCTR_ALLOC_H
#define VPERFCTR_ALLOC_H

#include <linux/gfp.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/types.h>

#include "state.h"

struct work_struct;

/* rt/spare.c: only on PREEMPT_RT */
#define VPERFCTR_SPARE_SIZE	128	/* of other objects than states */

void *vperfctr_spare_state(void);
void *vperfctr_spare(void);
void vperfctr_unspare(void *spare);
int vperfctr_get_spares(struct vperfctr_state *st);
void vperfctr_put_spares(struct vperfctr_state *st);
void vperfctr_spare_init(struct kmem_cache *cache, void (*detach_work)(struct work_struct *work));
void vperfctr_spare_exit(void);

/*
 * Return a place for a control, which takes more than a kilobyte: the one on the stack, or
 * other memory where stacks have 8 KB, as on 32 bits.  Allocations that follow may reclaim
 * memory, which needs most of such a stack.
 *
 * Return: the place, for vperfctr_put_room(), or NULL if there is no memory.
 */
#define VPERFCTR_SMALL_STACK	(THREAD_SIZE <= 8192)

static __always_inline void *vperfctr_get_room(void *on_stack, size_t size)
{
	return VPERFCTR_SMALL_STACK ? kmalloc(size, GFP_KERNEL) : on_stack;
}

static __always_inline void vperfctr_put_room(void *room)
{
	if (VPERFCTR_SMALL_STACK)
		kfree(room);
}

/* True if a caller that allows no more than gfp cannot allocate memory at all. */
static __always_inline bool vperfctr_needs_spare(gfp_t gfp)
{
	return STATE_ON_RT && !gfpflags_allow_blocking(gfp);
}

/* Allocate zeroed memory, also in the fork probe.  Free it by vperfctr_free(). */
static __always_inline void *vperfctr_zalloc(size_t size, gfp_t gfp)
{
	return vperfctr_needs_spare(gfp) ? vperfctr_spare() :
					   kzalloc(STATE_ON_RT ? VPERFCTR_SPARE_SIZE : size, gfp);
}

static __always_inline void vperfctr_free(void *object)
{
	if (STATE_ON_RT && object && !preemptible())
		vperfctr_unspare(object);
	else
		kfree(object);
}

#endif /* VPERFCTR_ALLOC_H */
