// SPDX-License-Identifier: GPL-2.0
/*
 * The parameter keep_watchdog.  A counter of the NMI watchdog that is in use when the module is
 * loaded stays with it.  This leaves it one also if it is off then, and is to be switched on later.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/printk.h>

#include "../../cpu.h"
#include "driver.h"

static bool keep_watchdog;
module_param(keep_watchdog, bool, 0444);
MODULE_PARM_DESC(keep_watchdog,
		 "leave a counter to the NMI watchdog, also if it is off now (default off)");

/* A kernel may have another kind of watchdog, or none. */
bool perfctr_must_keep_watchdog(void)
{
	return keep_watchdog && IS_ENABLED(CONFIG_HARDLOCKUP_DETECTOR_PERF);
}

void perfctr_report_no_watchdog(void)
{
	const struct vperfctr_info *info = &perfctr_cpu_info;

	if (keep_watchdog && !info->watchdog_pmc && !info->watchdog_fixed)
		pr_info("keep_watchdog: no counter can be left to the NMI watchdog: the kernel's has none on this processor, or vperfctr cannot count beside it here, or perf has other events now\n");
}
