/* SPDX-License-Identifier: GPL-2.0 */
/* 6.16: the names of 64-bit accesses to MSRs end in "q", not "l": rdmsrl() is rdmsrq(). */
#ifndef VPERFCTR_COMPAT_MSR_H
#define VPERFCTR_COMPAT_MSR_H

#include <asm/msr.h>

#ifndef PERFCTR_HAVE_MSRQ
#define rdmsrq_safe(msr, p)		rdmsrl_safe(msr, p)
#define wrmsrq_safe(msr, v)		wrmsrl_safe(msr, v)
#define native_wrmsrq(msr, v)		native_wrmsrl(msr, v)
#endif

#endif /* VPERFCTR_COMPAT_MSR_H */
