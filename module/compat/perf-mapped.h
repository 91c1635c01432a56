/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 5.17: the flag of an event whose mapping gives the right to RDPMC has a name in a public
 * header.  Before, only arch/x86/events/perf_event.h has it, which modules cannot include.  This
 * is the value from 5.14 on: before, it does not matter.
 */
#ifndef VPERFCTR_COMPAT_PERF_MAPPED_H
#define VPERFCTR_COMPAT_PERF_MAPPED_H

#include <linux/perf_event.h>

#ifdef PERF_EVENT_FLAG_USER_READ_CNT
#define PERFCTR_EVENT_USER_READ	PERF_EVENT_FLAG_USER_READ_CNT
#else
#define PERFCTR_EVENT_USER_READ	0x0080	/* PERF_X86_EVENT_RDPMC_ALLOWED */
#endif

#endif /* VPERFCTR_COMPAT_PERF_MAPPED_H */
