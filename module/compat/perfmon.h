/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 6.11: perf accesses the counters of Intel's architectural performance monitoring,
 * version 6, through other addresses of the same registers.  reserve_perfctr_nmi() does
 * not know these addresses, so it cannot keep perf away: see arch/x86/perf-claim.c.
 */
#ifndef VPERFCTR_COMPAT_PERFMON_H
#define VPERFCTR_COMPAT_PERFMON_H

static inline bool perfctr_can_reserve(unsigned int version)
{
#ifdef PERFCTR_HAVE_PERFMON_V6
	return version < 6;
#else
	return true;
#endif
}

#endif /* VPERFCTR_COMPAT_PERFMON_H */
