/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 6.12: the driver numbers its counters as the registers do, and there may be a counter of
 * instructions.  Before, 0 is the cycle counter, and event counters are numbered from 1 on.
 *
 * 5.17: events for reads in user mode have a flag; 6.1: it has another name.
 */
#ifndef VPERFCTR_COMPAT_ARM_PMU_H
#define VPERFCTR_COMPAT_ARM_PMU_H

#include <linux/bits.h>
#include <linux/perf/arm_pmu.h>
#include <linux/perf_event.h>
#include <linux/types.h>

/* The bits of a map of the driver's for the counters with these bits in the registers. */
static inline unsigned long perfctr_driver_map(u64 counters)
{
#if ARMPMU_MAX_HWEVENTS > 32
	return counters;
#else
	return (counters & GENMASK_ULL(30, 0)) << 1 | (counters >> 31 & 1);
#endif
}

/* The counter with this number in the driver, as a bit of the registers. */
static inline u64 perfctr_driver_counter(int index)
{
#if ARMPMU_MAX_HWEVENTS > 32
	return BIT_ULL(index);
#else
	return BIT_ULL((index - 1) & 31);
#endif
}

#ifdef PERF_EVENT_FLAG_USER_READ_CNT
#define PERFCTR_ARM_USER_READ	PERF_EVENT_FLAG_USER_READ_CNT
#elif defined(ARMPMU_EL0_RD_CNTR)
#define PERFCTR_ARM_USER_READ	ARMPMU_EL0_RD_CNTR
#else
#define PERFCTR_ARM_USER_READ	0
#endif

#endif /* VPERFCTR_COMPAT_ARM_PMU_H */
