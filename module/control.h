/* SPDX-License-Identifier: GPL-2.0 */
/* The control of a state, and its counts. */
#ifndef VPERFCTR_CONTROL_H
#define VPERFCTR_CONTROL_H

#include "state.h"

/* control.c */
int vperfctr_get_control(struct vperfctr_control *header, struct perfctr_cpu_control *control,
			 const struct vperfctr_control __user *arg);
bool vperfctr_may_clock_kernel(const struct vperfctr_control *header);
bool vperfctr_can_count(const struct perfctr_cpu_control *control, int cpu);
bool vperfctr_is_restricted(const struct perfctr_cpu_control *control);
int vperfctr_control(struct vperfctr_state *st, const struct vperfctr_control __user *arg);
int vperfctr_open_with_control(struct task_struct *task, const struct vperfctr_open *req,
			       struct file **file);
int vperfctr_suspend(struct vperfctr_state *st);
int vperfctr_resume(struct vperfctr_state *st);
int vperfctr_unlink(struct vperfctr_state *st);

/* The sizes of interface 0.9, and the smallest accepted. */
#define CONTROL_SIZE_VER0	80
#define CTR_SIZE_VER0		32

/* True if a counter's control can have this size; the fields have 8 bytes. */
static inline bool vperfctr_is_ctr_size(u32 size)
{
	return likely(size == sizeof(struct vperfctr_ctr)) ||
	       (size >= CTR_SIZE_VER0 && size <= PAGE_SIZE && !(size % sizeof(u64)));
}

/* read.c */
struct vperfctr_snapshot {
	unsigned int nrctrs;
	u32 status;
	u32 overflow;
	u64 sums[1 + VPERFCTR_MAX_CTRS];	/* struct vperfctr_sums */
	struct vperfctr_soft_sums soft;		/* only if the state has software counters */
};

void vperfctr_snapshot(struct vperfctr_state *st, struct vperfctr_snapshot *snap);
int vperfctr_read(struct vperfctr_state *st, struct vperfctr_read __user *arg);

#endif /* VPERFCTR_CONTROL_H */
