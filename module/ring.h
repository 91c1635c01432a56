/* SPDX-License-Identifier: GPL-2.0 */
/* Samples and records in a ring, instead of signals. */
#ifndef VPERFCTR_RING_H
#define VPERFCTR_RING_H

#include "family.h"
#include "state.h"

struct vm_area_struct;
struct vperfctr_sampler;

/* ring.c */
bool vperfctr_ring_available(void);
int vperfctr_ring(struct vperfctr_state *st, struct vperfctr_ring __user *arg);
int vperfctr_ring_get(struct vperfctr_ring *req, const struct vperfctr_ring __user *arg);
int vperfctr_ring_may_charge(const struct vperfctr_ring *req, unsigned int nrstates);
int vperfctr_ring_charge(struct vperfctr_state *st, const struct vperfctr_ring *req,
			 struct vperfctr_ring __user *arg);
void vperfctr_ring_uncharge(struct vperfctr_state *st, const struct vperfctr_ring *req);
int vperfctr_ring_create(struct vperfctr_state *st, const struct vperfctr_ring *req,
			 struct vperfctr_ring __user *arg, unsigned int nrstops);
int vperfctr_ring_mmap(struct vperfctr_state *st, struct vm_area_struct *vma);
void vperfctr_ring_exec(struct vperfctr_state *st);
int vperfctr_ring_inherit(struct vperfctr_state *st, const struct vperfctr_state *parent,
			  gfp_t gfp);
void vperfctr_ring_attach(struct vperfctr_state *st, const struct task_struct *task);
struct vperfctr_sampler *vperfctr_ring_leave(struct vperfctr_state *st);
void vperfctr_ring_put(struct vperfctr_sampler *sampler);
struct vperfctr_state *vperfctr_ring_waiters(const struct vperfctr_state *st);
bool vperfctr_ring_ready(const struct vperfctr_state *st, bool over);
bool vperfctr_ring_is_over(const struct vperfctr_state *st);
void vperfctr_ring_detach(struct vperfctr_state *st);
void vperfctr_ring_suspend(struct vperfctr_state *st);
bool vperfctr_ring_has_kernel(const struct vperfctr_state *st);
bool vperfctr_ring_add(struct vperfctr_state *st, u64 ip, struct perfctr_overflow overflow);
bool vperfctr_ring_add_clock(struct vperfctr_state *st, u64 ip, u32 flags, u64 skipped);
void vperfctr_ring_drop(struct vperfctr_state *st, u64 nr);
void vperfctr_ring_begin_kernel(struct vperfctr_state *st);
void vperfctr_ring_end_kernel(struct vperfctr_state *st);
int vperfctr_consume(struct vperfctr_state *st, unsigned long nr);
void vperfctr_ring_free(struct vperfctr_state *st);

/* True if samples of all threads of the family go to the root's ring. */
static inline bool vperfctr_ring_is_shared(const struct vperfctr_state *st)
{
	return (st->flags & VPERFCTR_CONTROL_RING) && vperfctr_has_family(st);
}

/* True if the kernel's handling of an overflow may itself make samples. */
static inline bool vperfctr_ring_counts_kernel(const struct vperfctr_state *st)
{
	return (st->flags & VPERFCTR_CONTROL_RING) && st->cpu_state.control.kernel;
}

/* records.c */
void vperfctr_records_init(void);
void vperfctr_records_exit(void);
bool vperfctr_records_exist(void);
void vperfctr_record_fork(const struct vperfctr_state *parent, const struct vperfctr_state *child);
void vperfctr_record_exit(const struct vperfctr_state *st);
void vperfctr_record_exec(const struct vperfctr_state *st, bool ends);
void vperfctr_probe_rename(void *unused, struct task_struct *task, const char *name);

#endif /* VPERFCTR_RING_H */
