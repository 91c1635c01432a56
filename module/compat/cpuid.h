/* SPDX-License-Identifier: GPL-2.0 */
/* 6.16: CPUID has a header of its own; asm/processor.h no longer includes it on 7.x. */
#ifndef VPERFCTR_COMPAT_CPUID_H
#define VPERFCTR_COMPAT_CPUID_H

#ifdef PERFCTR_HAVE_CPUID_API
#include <asm/cpuid/api.h>
#else
#include <asm/processor.h>
#endif

#endif /* VPERFCTR_COMPAT_CPUID_H */
