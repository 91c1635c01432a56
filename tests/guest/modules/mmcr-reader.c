// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/mmcr: read MMCR0, MMCR1, MMCR2, MMCRA and MMCR3 of the CPU that executes the read, while
 * the caller's counters run.  Only POWER10 has MMCR3; elsewhere 0 is read.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/uaccess.h>
#include <asm/reg.h>

static ssize_t mmcr_read(struct file *file, char __user *buf, size_t size, loff_t *pos)
{
	u64 value[5] = {};

	if (size != sizeof(value))
		return -EINVAL;
	preempt_disable();
	value[0] = mfspr(SPRN_MMCR0);
	value[1] = mfspr(SPRN_MMCR1);
	value[2] = mfspr(SPRN_MMCR2);
	value[3] = mfspr(SPRN_MMCRA);
	if (PVR_VER(mfspr(SPRN_PVR)) == PVR_POWER10)
		value[4] = mfspr(SPRN_MMCR3);
	preempt_enable();
	return copy_to_user(buf, value, sizeof(value)) ? -EFAULT : sizeof(value);
}

static const struct file_operations mmcr_fops = {
	.owner	= THIS_MODULE,
	.read	= mmcr_read,
};

static struct miscdevice mmcr_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "mmcr",
	.fops	= &mmcr_fops,
};

module_misc_device(mmcr_device);
MODULE_DESCRIPTION("Show the performance monitor's control registers in the tests' virtual machines");
MODULE_LICENSE("GPL");
