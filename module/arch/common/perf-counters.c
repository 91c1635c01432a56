// SPDX-License-Identifier: GPL-2.0
/*
 * The parameter perf_counters: how many counters perf keeps, and uses while threads count.
 * doc/sharing.md says what that means.
 */
#include <linux/module.h>

#include "claim.h"

unsigned int perfctr_perf_counters;
module_param_named(perf_counters, perfctr_perf_counters, uint, 0444);
MODULE_PARM_DESC(perf_counters, "counters that perf keeps while threads count (default 0)");
