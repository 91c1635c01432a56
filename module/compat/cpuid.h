/* SPDX-License-Identifier: GPL-2.0 */
/* 6.16: CPUID has its own header, which asm/processor.h of 7.x no longer includes. */
#ifndef VPERFCTR_COMPAT_CPUID_H
#define VPERFCTR_COMPAT_CPUID_H

#ifdef PERFCTR_HAVE_CPUID_API
#include <asm/cpuid/api.h>
#else
#include <asm/processor.h>
#endif

#endif /* VPERFCTR_COMPAT_CPUID_H */
