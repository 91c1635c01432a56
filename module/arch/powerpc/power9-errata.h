/* SPDX-License-Identifier: GPL-2.0 */
/* Events that POWER9, or a revision of it, does not count. */
#ifndef VPERFCTR_POWER9_ERRATA_H
#define VPERFCTR_POWER9_ERRATA_H

#include <linux/types.h>

/*
 * Choose the errata of this POWER9.
 *
 * Return: the name of the processor and its revision, or NULL if it has none.
 */
const char *perfctr_power9_errata(u32 pvr);

/*
 * True if the processor does not count this event.
 *
 * @code: perf's code, with the counter, and without fields that all counters share
 */
bool perfctr_power9_is_broken(u32 code);

#endif /* VPERFCTR_POWER9_ERRATA_H */
