// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cpu/N/msr, for reading only, as the kernel's msr driver has it.  The virtual
 * machines have no modules of the kernel's package.
 */
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <asm/msr.h>

#define MAX_CPUS	8

static struct reader {
	struct miscdevice misc;
	unsigned int cpu;
	char name[16], node[16];
} readers[MAX_CPUS];

static unsigned int nr;

static ssize_t msr_read(struct file *file, char __user *buf, size_t size, loff_t *pos)
{
	const struct reader *reader = container_of(file->private_data, struct reader, misc);
	u64 value;
	int err;

	if (size != sizeof(value))
		return -EINVAL;
	err = rdmsrl_safe_on_cpu(reader->cpu, (u32)*pos, &value);
	if (err)
		return err;
	return copy_to_user(buf, &value, sizeof(value)) ? -EFAULT : sizeof(value);
}

static const struct file_operations msr_fops = {
	.owner	= THIS_MODULE,
	.read	= msr_read,
};

static void msr_reader_exit(void)
{
	while (nr)
		misc_deregister(&readers[--nr].misc);
}

static int __init msr_reader_init(void)
{
	unsigned int cpu;
	int err;

	for_each_online_cpu(cpu) {
		struct reader *reader = &readers[nr];

		if (nr == MAX_CPUS)
			break;
		reader->cpu = cpu;
		snprintf(reader->name, sizeof(reader->name), "msr%u", cpu);
		snprintf(reader->node, sizeof(reader->node), "cpu/%u/msr", cpu);
		reader->misc = (struct miscdevice){
			.minor		= MISC_DYNAMIC_MINOR,
			.name		= reader->name,
			.nodename	= reader->node,
			.fops		= &msr_fops,
		};
		err = misc_register(&reader->misc);
		if (err) {
			msr_reader_exit();
			return err;
		}
		nr++;
	}
	return 0;
}

module_init(msr_reader_init);
module_exit(msr_reader_exit);
MODULE_DESCRIPTION("Read MSRs in the tests' virtual machines");
MODULE_LICENSE("GPL");
