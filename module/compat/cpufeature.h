/* SPDX-License-Identifier: GPL-2.0 */
/* 5.14: a name for the bit of hybrid processors (CPUID leaf 7, EDX, bit 15). */
#ifndef VPERFCTR_COMPAT_CPUFEATURE_H
#define VPERFCTR_COMPAT_CPUFEATURE_H

#include <asm/cpufeature.h>

#ifndef X86_FEATURE_HYBRID_CPU
#define X86_FEATURE_HYBRID_CPU	(18 * 32 + 15)
#endif

#endif /* VPERFCTR_COMPAT_CPUFEATURE_H */
