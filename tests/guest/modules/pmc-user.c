// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/pmc-user: an open file holds PowerPC's counters, as an event of perf does.  It is for
 * processors of which perf has no driver.  A second open, and one while another user has the
 * counters, fails with EBUSY.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <asm/pmc.h>

static int pmc_user_open(struct inode *inode, struct file *file)
{
	return reserve_pmc_hardware(NULL);
}

static int pmc_user_release(struct inode *inode, struct file *file)
{
	release_pmc_hardware();
	return 0;
}

static const struct file_operations pmc_user_fops = {
	.owner		= THIS_MODULE,
	.open		= pmc_user_open,
	.release	= pmc_user_release,
};

static struct miscdevice pmc_user = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "pmc-user",
	.fops	= &pmc_user_fops,
	.mode	= 0666,
};

module_misc_device(pmc_user);
MODULE_DESCRIPTION("Hold the counters in the tests' virtual machines");
MODULE_LICENSE("GPL");
