/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 6.18: cr4_update_irqsoff() is exported to KVM's modules only, so this module cannot
 * write CR4.  arch/x86/cr4-pce.c makes the kernel write it.
 */
#ifndef VPERFCTR_COMPAT_CR4_H
#define VPERFCTR_COMPAT_CR4_H

#include <asm/tlbflush.h>

#ifdef PERFCTR_HAVE_CR4
#define PERFCTR_WRITES_CR4	1
#else
#define PERFCTR_WRITES_CR4	0
#endif

static inline void perfctr_update_cr4(unsigned long set, unsigned long clear)
{
#if PERFCTR_WRITES_CR4
	cr4_update_irqsoff(set, clear);
#endif
}

#endif /* VPERFCTR_COMPAT_CR4_H */
