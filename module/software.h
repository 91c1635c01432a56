/* SPDX-License-Identifier: GPL-2.0 */
/* Software counters: the numbers that the kernel keeps of a task. */
#ifndef VPERFCTR_SOFTWARE_H
#define VPERFCTR_SOFTWARE_H

#include "state.h"

/* software.c */
u32 vperfctr_soft_available(void);
void vperfctr_soft_set_stop(struct vperfctr_state *st, u16 stop);
void vperfctr_soft_control(struct vperfctr_state *st, u32 soft);
void vperfctr_soft_read(const struct vperfctr_state *st, struct vperfctr_soft_sums *sums);
void vperfctr_soft_sample(struct vperfctr_state *st);
bool vperfctr_soft_read_other(const struct vperfctr_state *st, u32 samplecount,
			      struct vperfctr_soft_sums *sums);
void vperfctr_soft_add(struct vperfctr_soft_sums *to, const struct vperfctr_soft_sums *sums);
u64 vperfctr_ns_of_tsc(u64 tsc);
void vperfctr_soft_fill(u32 soft, const struct vperfctr_soft_sums *sums, u64 tsc,
			u64 counts[VPERFCTR_NR_SOFT]);

/*
 * Change `stop`.  The software counters run while it is 0.
 *
 * Context: interrupts disabled; the owner is current, or cannot run.
 */
static inline void vperfctr_set_stop(struct vperfctr_state *st, u16 stop)
{
	if (unlikely(st->soft))
		vperfctr_soft_set_stop(st, stop);
	else
		WRITE_ONCE(st->stop, stop);
}

#endif /* VPERFCTR_SOFTWARE_H */
