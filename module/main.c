// SPDX-License-Identifier: GPL-2.0
/*
 * vperfctr: virtual per-thread performance counters for stock kernels.
 *
 * The module, and the device /dev/vperfctr.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>

#include "account.h"
#include "cpus.h"
#include "files.h"
#include "overflow.h"
#include "page.h"
#include "reservation.h"
#include "ring.h"
#include "state.h"
#include "thread.h"
#include "version.h"

static const struct file_operations vperfctr_dev_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= vperfctr_dev_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

static struct miscdevice vperfctr_dev = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "vperfctr",
	.fops	= &vperfctr_dev_fops,
	.mode	= 0660,
};

static int __init vperfctr_init(void)
{
	int err;

	/* The layout is ABI and must not change. */
	BUILD_BUG_ON(offsetof(struct vperfctr_page, samplecount) != 64);
	BUILD_BUG_ON(offsetof(struct vperfctr_page, ctr[VPERFCTR_MAX_CTRS]) > PAGE_SIZE);

	vperfctr_overflow_init();
	vperfctr_cpus_init();
	err = perfctr_cpu_init();
	if (err)
		return err;
	err = vperfctr_state_init();
	if (err)
		goto no_state;
	perfctr_perf_uses_init(vperfctr_report_refusal);
	vperfctr_holders_init();
	vperfctr_records_init();
	err = vperfctr_thread_init();
	if (err)
		goto no_thread;
	err = vperfctr_switches_init() ?: vperfctr_probes_init();
	if (err)
		goto no_probes;
	vperfctr_cpu_lost_init();
	err = vperfctr_page_init();
	if (err)
		goto no_page;
	err = misc_register(&vperfctr_dev);
	if (err)
		goto no_dev;
	pr_info("version " DRIVER_VERSION ", %s, %u counters%s\n", perfctr_cpu_info.cpu_name,
		perfctr_cpu_info.nrctrs,
		perfctr_cpu_info.nrctrs && !perfctr_isolate ? ", not isolated" : "");
	return 0;

no_dev:
	vperfctr_page_exit();
no_page:
	vperfctr_cpu_lost_exit();
	vperfctr_probes_exit();
no_probes:
	vperfctr_thread_exit();
no_thread:
	vperfctr_records_exit();
	vperfctr_holders_exit();
	perfctr_perf_uses_exit();
	vperfctr_state_exit();
no_state:
	perfctr_cpu_exit();
	return err;
}

static void __exit vperfctr_exit(void)
{
	misc_deregister(&vperfctr_dev);
	vperfctr_page_exit();
	vperfctr_cpu_lost_exit();
	vperfctr_hardware_exit();
	vperfctr_probes_exit();
	vperfctr_thread_exit();
	vperfctr_records_exit();
	vperfctr_holders_exit();
	perfctr_perf_uses_exit();
	vperfctr_state_exit();
	perfctr_cpu_exit();
	vperfctr_overflow_exit();
	vperfctr_stop_limit_exit();
}

module_init(vperfctr_init);
module_exit(vperfctr_exit);

MODULE_DESCRIPTION("Virtual per-thread performance counters");
MODULE_AUTHOR("The vperfctr authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(DRIVER_VERSION);
