// SPDX-License-Identifier: GPL-2.0
/*
 * The alias by which udev loads the module as the machine starts.
 *
 * A device number would load it when a program opens the device, but a misc device needs a
 * registered minor for that.  So the processor is the alias, as for perf's loadable PMUs.
 */
#include <linux/module.h>

#include <asm/cpu_device_id.h>

/* There is a driver for every processor with such registers. */
static const struct x86_cpu_id __maybe_unused perfctr_x86_ids[] = {
	X86_MATCH_FEATURE(X86_FEATURE_MSR, NULL),
	{}
};
MODULE_DEVICE_TABLE(x86cpu, perfctr_x86_ids);
