/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 6.18: cr4_update_irqsoff() is exported to KVM's modules alone, and CR4 cannot be
 * written here.  The kernel itself sets or clears CR4.PCE when it next switches
 * to the mm from another one; the page tells what it is until then.
 */
#ifndef VPERFCTR_COMPAT_CR4_H
#define VPERFCTR_COMPAT_CR4_H

#include <linux/version.h>
#include <asm/tlbflush.h>

static inline void perfctr_update_cr4(unsigned long set, unsigned long clear)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
	cr4_update_irqsoff(set, clear);
#endif
}

#endif /* VPERFCTR_COMPAT_CR4_H */
