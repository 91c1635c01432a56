/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the architectures on which resume grants the permission to read counters in user
 * mode, and suspend withdraws it: see own-reads.c.
 */
#ifndef VPERFCTR_OWN_READS_H
#define VPERFCTR_OWN_READS_H

#include <linux/types.h>

struct mm_struct;

/*
 * True if current may read its counters in user mode.  Then *reader, of this CPU, is set
 * to its mm, else it is left or set to NULL.
 *
 * Context: Interrupts disabled.
 */
bool perfctr_may_read(struct mm_struct **reader);

#endif /* VPERFCTR_OWN_READS_H */
