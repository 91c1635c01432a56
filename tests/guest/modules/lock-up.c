// SPDX-License-Identifier: GPL-2.0
/* Lock up the CPU that loads this module: no interrupt but NMIs for ms milliseconds. */
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/module.h>

static uint ms;
module_param(ms, uint, 0444);

static int __init lock_up_init(void)
{
	unsigned long flags;

	local_irq_save(flags);
	mdelay(ms);
	local_irq_restore(flags);
	return 0;
}

static void __exit lock_up_exit(void)
{
}

module_init(lock_up_init);
module_exit(lock_up_exit);
MODULE_DESCRIPTION("Lock up a CPU of the tests' virtual machines for a while");
MODULE_LICENSE("GPL");
