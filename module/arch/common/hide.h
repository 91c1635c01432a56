/* SPDX-License-Identifier: GPL-2.0 */
/* When counters must hide what they have counted for others, on arm64 and RISC-V: see hide.c. */
#ifndef VPERFCTR_HIDE_H
#define VPERFCTR_HIDE_H

#include <linux/types.h>

/*
 * True while any process has mapped a page, with isolation, up to a second longer, and while
 * reads_left of struct perfctr_arch says so.  Then no counter may show what it has counted for
 * others.
 */
extern bool perfctr_hides;

/*
 * reads_left has become true.  perfctr_hides is true from here on, until close_reads has made it
 * false.  That is called each second.
 *
 * Context: no NMI.  Interrupts may be disabled, and a run queue's lock be held.
 */
void perfctr_hide_left(void);

/* The module ends.  Context: may sleep. */
void perfctr_hide_end(void);

/*
 * The driver's part: perfctr_hides has become true.  Change the start values that pages show now.
 *
 * Context: may sleep; mmap_lock may be held.
 */
void perfctr_hide_counts(void);

#endif /* VPERFCTR_HIDE_H */
