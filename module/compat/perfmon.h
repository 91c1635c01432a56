/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 6.11: perf accesses the counters of Intel's architectural performance monitoring,
 * version 6, through other addresses of the same registers.  reserve_perfctr_nmi() does
 * not know these addresses, so it cannot keep perf away: see arch/x86/perf-claim.c.
 */
#ifndef VPERFCTR_COMPAT_PERFMON_H
#define VPERFCTR_COMPAT_PERFMON_H

#include <asm/cpufeature.h>

static inline bool perfctr_can_reserve(unsigned int version)
{
#ifdef PERFCTR_HAVE_PERFMON_V6
	return version < 6;
#else
	return true;
#endif
}

/* True if perf uses the global registers of AMD's PerfMonV2: from 5.19 on, if they exist. */
static inline bool perfctr_perf_knows_v2(void)
{
#ifdef X86_FEATURE_PERFMON_V2
	return boot_cpu_has(X86_FEATURE_PERFMON_V2);
#else
	return false;
#endif
}

#endif /* VPERFCTR_COMPAT_PERFMON_H */
