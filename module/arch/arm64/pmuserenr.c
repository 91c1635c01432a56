// SPDX-License-Identifier: GPL-2.0
/*
 * Permission to read counters in user mode (PMUSERENR_EL0): see own-reads.c.  With isolation,
 * suspend clears the counters, so access never shows the counts of other threads.
 */
#include "../common/users.h"
#include "arm64.h"

/* Nothing is left for a new process to see: see above. */
void perfctr_mm_added(void)
{
}

void perfctr_mm_removed(void)
{
}
