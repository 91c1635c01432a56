/* SPDX-License-Identifier: GPL-2.0 */
/* The TSC, for code that is common to all architectures. */
#ifndef VPERFCTR_COMPAT_TSC_H
#define VPERFCTR_COMPAT_TSC_H

#include <linux/timex.h>
#include <linux/types.h>

/* Return the TSC that user mode reads, or 0 if there is none. */
static __always_inline u64 perfctr_get_tsc(void)
{
#ifdef CONFIG_PPC32
	/* get_cycles() is the lower half of the time base. */
	return get_tb();
#else
	return get_cycles();
#endif
}

#endif /* VPERFCTR_COMPAT_TSC_H */
