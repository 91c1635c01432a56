// SPDX-License-Identifier: GPL-2.0
/*
 * The isolation policy: no thread may see the counts of another.
 *
 * With isolation, counters stop when their owner is switched out, and are cleared before
 * another thread can read them.  With intel.c, amd.c, arm64's and RISC-V's driver that is so
 * for counters of user mode only while a process could look at them: see arch/x86/rdpmc.h and
 * hide.c.  Otherwise they run on.
 *
 * Without isolation, a-mode counters always keep running for the threads that follow.  A
 * switch then writes fewer registers, which suits a machine with one user.
 */
#include <linux/module.h>

#include "../../cpu.h"

bool perfctr_isolate = true;
module_param_named(isolate, perfctr_isolate, bool, 0444);
MODULE_PARM_DESC(isolate, "hide from each thread what others have counted (default on)");
