/* SPDX-License-Identifier: GPL-2.0 */
/* Virtual machines that have the counters themselves: see mediated-guests.c. */
#ifndef VPERFCTR_MEDIATED_GUESTS_H
#define VPERFCTR_MEDIATED_GUESTS_H

#include <linux/types.h>

/*
 * init, exit: once.
 * exclude: keep such machines from being created, until admit.
 * refused: true if the last exclude has found one.  It may have ended since.
 *
 * Context: May sleep; exclude: with cpus_read_lock() held.  The caller serialises all but
 * refused.
 * Return: 0; exclude: -EBUSY if there is such a machine; or another error.
 */
#ifdef CONFIG_PERF_GUEST_MEDIATED_PMU
int perfctr_guests_init(void);
void perfctr_guests_exit(void);
int perfctr_guests_exclude(void);
void perfctr_guests_admit(void);
bool perfctr_guests_refused(void);
#else
static inline int perfctr_guests_init(void)
{
	return 0;
}

static inline void perfctr_guests_exit(void)
{
}

static inline int perfctr_guests_exclude(void)
{
	return 0;
}

static inline void perfctr_guests_admit(void)
{
}

static inline bool perfctr_guests_refused(void)
{
	return false;
}
#endif

#endif /* VPERFCTR_MEDIATED_GUESTS_H */
