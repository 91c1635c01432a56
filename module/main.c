// SPDX-License-Identifier: GPL-2.0
/*
 * vperfctr: virtual per-thread performance counters for stock kernels.
 *
 * The top level: the module and /dev/vperfctr.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "vperfctr.h"

#define DRIVER_VERSION		"0.1.0"

#define INFO_SIZE_VER0		160
#define OPEN_SIZE_VER0		16

bool perfctr_isolate = true;
module_param_named(isolate, perfctr_isolate, bool, 0444);
MODULE_PARM_DESC(isolate, "stop counters between threads so that none sees another's counts (default on)");

static int vperfctr_info_ioctl(struct vperfctr_info __user *arg)
{
	struct vperfctr_info info = perfctr_cpu_info;
	u32 size, kind;
	int err;

	err = vperfctr_get_size(arg, INFO_SIZE_VER0, &size);
	if (err)
		return err;
	if (get_user(kind, &arg->kind))
		return -EFAULT;
	if (kind >= info.nrkinds)
		return -EINVAL;
	info.size = sizeof(info);
	info.kind = kind;
	info.abi_version = VPERFCTR_ABI_VERSION;
	if (vperfctr_may_count_kernel())
		info.features |= VPERFCTR_FEATURE_KERNEL;
	strscpy(info.driver_version, DRIVER_VERSION, sizeof(info.driver_version));

	/* A larger structure is taken for a newer one: what is not known is zero. */
	if (copy_to_user(arg, &info, min_t(u32, size, sizeof(info))))
		return -EFAULT;
	if (size > sizeof(info) && clear_user((char __user *)arg + sizeof(info),
					      size - sizeof(info)))
		return -EFAULT;
	return 0;
}

/* 32-bit words, as longs have no common layout for 32- and 64-bit callers. */
static int vperfctr_cpus_ioctl(struct vperfctr_cpu_mask __user *arg, const struct cpumask *mask)
{
	u32 nrwords, needed = DIV_ROUND_UP(nr_cpu_ids, 32);
	unsigned int i, bit;

	if (get_user(nrwords, &arg->nrwords) || put_user(needed, &arg->nrwords))
		return -EFAULT;
	if (nrwords < needed)
		return -EOVERFLOW;
	for (i = 0; i < needed; i++) {
		u32 word = 0;

		for (bit = 0; bit < 32 && i * 32 + bit < nr_cpu_ids; bit++) {
			if (cpumask_test_cpu(i * 32 + bit, mask))
				word |= BIT(bit);
		}
		if (put_user(word, &arg->mask[i]))
			return -EFAULT;
	}
	return 0;
}

/* 0 if tid is the caller. */
static int check_tid(s32 tid)
{
	bool found;

	if (!tid || tid == task_pid_vnr(current))
		return 0;
	rcu_read_lock();
	found = pid_task(find_vpid(tid), PIDTYPE_PID);
	rcu_read_unlock();
	return found ? -EPERM : -ESRCH;
}

static int vperfctr_open_ioctl(const struct vperfctr_open __user *arg)
{
	struct vperfctr_open req;
	struct vperfctr *st;
	struct file *file;
	bool creat;
	u32 size;
	int err, fd;

	err = vperfctr_get_size(arg, OPEN_SIZE_VER0, &size);
	if (!err)
		err = copy_struct_from_user(&req, sizeof(req), arg, size);
	if (err)
		return err;
	if ((req.flags & ~(VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_NOCLOEXEC)) || req.reserved)
		return -EINVAL;
	err = check_tid(req.tid);
	if (err)
		return err;

	creat = req.flags & VPERFCTR_OPEN_CREAT;
	st = vperfctr_of_current();
	if (creat && st)
		return -EEXIST;
	if (!creat && !st)
		return -ENOENT;
	if (creat) {
		st = vperfctr_create();
		if (IS_ERR(st))
			return PTR_ERR(st);
	} else {
		vperfctr_get(st);
	}

	fd = get_unused_fd_flags(req.flags & VPERFCTR_OPEN_NOCLOEXEC ? 0 : O_CLOEXEC);
	if (fd < 0)
		goto out;
	file = vperfctr_file(st);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		fd = PTR_ERR(file);
		goto out;
	}
	if (creat)
		vperfctr_attach(st);
	fd_install(fd, file);
out:
	vperfctr_put(st);
	return fd;
}

static long vperfctr_dev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case VPERFCTR_INFO:
		return vperfctr_info_ioctl((void __user *)arg);
	case VPERFCTR_CPUS:
		return vperfctr_cpus_ioctl((void __user *)arg, cpu_possible_mask);
	case VPERFCTR_CPUS_FORBIDDEN:
		return vperfctr_cpus_ioctl((void __user *)arg, perfctr_cpus_forbidden());
	case VPERFCTR_OPEN:
		return vperfctr_open_ioctl((void __user *)arg);
	}
	return -ENOTTY;
}

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

	/* The ABI's layout: whoever changes it by accident learns of it here. */
	BUILD_BUG_ON(sizeof(struct vperfctr_info) != INFO_SIZE_VER0);
	BUILD_BUG_ON(sizeof(struct vperfctr_open) != OPEN_SIZE_VER0);
	BUILD_BUG_ON(offsetof(struct vperfctr_page, samplecount) != 64);
	BUILD_BUG_ON(offsetof(struct vperfctr_page, ctr[VPERFCTR_MAX_CTRS]) > PAGE_SIZE);

	err = perfctr_cpu_init();
	if (err)
		return err;
	err = vperfctr_thread_init();
	if (err)
		goto no_thread;
	err = misc_register(&vperfctr_dev);
	if (err)
		goto no_dev;
	pr_info("version " DRIVER_VERSION ", %s, %u counters%s\n", perfctr_cpu_info.cpu_name,
		perfctr_cpu_info.nrctrs,
		perfctr_cpu_info.nrctrs && !perfctr_isolate ? ", not isolated" : "");
	return 0;

no_dev:
	vperfctr_thread_exit();
no_thread:
	perfctr_cpu_exit();
	return err;
}

static void __exit vperfctr_exit(void)
{
	misc_deregister(&vperfctr_dev);
	vperfctr_thread_exit();
	perfctr_cpu_exit();
}

module_init(vperfctr_init);
module_exit(vperfctr_exit);

MODULE_DESCRIPTION("Virtual per-thread performance counters");
MODULE_AUTHOR("The vperfctr authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(DRIVER_VERSION);
