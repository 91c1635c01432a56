// SPDX-License-Identifier: GPL-2.0
/*
 * The isolation policy: no thread may see the counts of another.
 *
 * With isolation, counters stop when their owner is switched out, so they count for
 * the owner only.  Their values must not be visible to other threads either.  On x86,
 * suspend clears them if another process has a page mapped or may execute RDPMC
 * (arch/x86/rdpmc.h).  On arm64, suspend always clears them.
 *
 * Without isolation, a-mode counters keep running for the threads that follow.  A
 * switch then writes fewer registers, which suits a machine with one user.
 */
#include <linux/module.h>

#include "../../cpu.h"

bool perfctr_isolate = true;
module_param_named(isolate, perfctr_isolate, bool, 0444);
MODULE_PARM_DESC(isolate, "stop counters between threads so that none sees another's counts (default on)");
