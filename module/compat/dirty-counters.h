/* SPDX-License-Identifier: GPL-2.0 */
/* 5.14: switching to an mm that may RDPMC clears the counters that perf has left. */
#ifndef VPERFCTR_COMPAT_DIRTY_COUNTERS_H
#define VPERFCTR_COMPAT_DIRTY_COUNTERS_H

#ifdef PERFCTR_HAVE_DIRTY_COUNTERS
#define PERFCTR_CLEARS_DIRTY	1
#else
#define PERFCTR_CLEARS_DIRTY	0
#endif

#endif /* VPERFCTR_COMPAT_DIRTY_COUNTERS_H */
