// SPDX-License-Identifier: GPL-2.0
/*
 * vperfctr: virtual per-thread performance counters for stock kernels.
 *
 * The module and /dev/vperfctr.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/uaccess.h>

#include "state.h"
#include "usercopy.h"

#define DRIVER_VERSION		"0.1.0"

#define INFO_SIZE_VER0		160
#define OPEN_SIZE_VER0		16

#define OPEN_LIFE_FLAGS	(VPERFCTR_OPEN_TRANSIENT | VPERFCTR_OPEN_KEEP)
#define OPEN_FLAGS	(VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_NOCLOEXEC | OPEN_LIFE_FLAGS)

bool perfctr_isolate = true;
module_param_named(isolate, perfctr_isolate, bool, 0444);
MODULE_PARM_DESC(isolate, "stop counters between threads so that none sees another's counts (default on)");

static int vperfctr_info_ioctl(struct vperfctr_info __user *arg)
{
	const struct vperfctr_info *of_kind;
	struct vperfctr_info info;
	u32 size, kind;
	int err;

	err = vperfctr_get_size(arg, INFO_SIZE_VER0, &size);
	if (err)
		return err;
	if (get_user(kind, &arg->kind))
		return -EFAULT;
	of_kind = perfctr_cpu_kind(kind);
	if (!of_kind)
		return -EINVAL;
	info = *of_kind;
	info.size = sizeof(info);
	info.kind = kind;
	info.nrkinds = READ_ONCE(perfctr_cpu_info.nrkinds);
	if (!STATE_ON_RT)
		info.features |= VPERFCTR_FEATURE_INHERIT;
	info.abi_version = VPERFCTR_ABI_VERSION;
	if (vperfctr_may_count_kernel())
		info.features |= VPERFCTR_FEATURE_KERNEL;
	strscpy(info.driver_version, DRIVER_VERSION, sizeof(info.driver_version));

	/* A larger structure is a newer one: zero the fields that this kernel does not know. */
	if (copy_to_user(arg, &info, min_t(u32, size, sizeof(info))))
		return -EFAULT;
	if (size > sizeof(info) && clear_user((char __user *)arg + sizeof(info),
					      size - sizeof(info)))
		return -EFAULT;
	return 0;
}

/* A set of CPUs: true if it has this one. */
typedef bool cpu_test(unsigned int cpu, unsigned int kind);

static bool is_possible(unsigned int cpu, unsigned int unused)
{
	return cpu_possible(cpu);
}

static bool is_of_kind(unsigned int cpu, unsigned int kind)
{
	return cpu_possible(cpu) && !cpumask_test_cpu(cpu, perfctr_cpus_forbidden(kind));
}

static bool is_forbidden(unsigned int cpu, unsigned int unused)
{
	unsigned int kind;

	for (kind = 0; perfctr_cpu_kind(kind); kind++) {
		if (is_of_kind(cpu, kind))
			return false;
	}
	return cpu_possible(cpu);
}

/* The words have 32 bits, as longs differ between 32- and 64-bit callers. */
static int write_cpus(u32 __user *arg_nrwords, u32 __user *mask, cpu_test *test,
		      unsigned int kind)
{
	u32 nrwords, needed = DIV_ROUND_UP(nr_cpu_ids, 32);
	unsigned int i, bit;

	if (get_user(nrwords, arg_nrwords) || put_user(needed, arg_nrwords))
		return -EFAULT;
	if (nrwords < needed)
		return -EOVERFLOW;
	for (i = 0; i < needed; i++) {
		u32 word = 0;

		for (bit = 0; bit < 32 && i * 32 + bit < nr_cpu_ids; bit++) {
			if (test(i * 32 + bit, kind))
				word |= BIT(bit);
		}
		if (put_user(word, &mask[i]))
			return -EFAULT;
	}
	return 0;
}

static int vperfctr_cpus_ioctl(struct vperfctr_cpu_mask __user *arg, cpu_test *test)
{
	return write_cpus(&arg->nrwords, arg->mask, test, 0);
}

static int vperfctr_kind_cpus_ioctl(struct vperfctr_kind_cpus __user *arg)
{
	u32 kind;

	if (get_user(kind, &arg->kind))
		return -EFAULT;
	if (!perfctr_cpu_kind(kind))
		return -EINVAL;
	return write_cpus(&arg->nrwords, arg->mask, is_of_kind, kind);
}

/*
 * Find the thread with this id in the caller's PID namespace; 0 is current.
 *
 * Return: the thread, with a reference, or NULL.
 */
static struct task_struct *get_thread(s32 tid)
{
	struct task_struct *task = current;

	rcu_read_lock();
	if (tid)
		task = pid_task(find_vpid(tid), PIDTYPE_PID);
	if (task)
		get_task_struct(task);
	rcu_read_unlock();
	return task;
}

/*
 * Make a state and attach it to the thread.  Descriptor and file come first, so that
 * nothing can fail after the attachment.
 */
static int create_state(struct task_struct *task, u32 flags, int fd)
{
	struct vperfctr_state *st;
	struct file *file;
	int err;

	st = vperfctr_state_create(NULL, GFP_KERNEL);
	if (IS_ERR(st))
		return PTR_ERR(st);
	if ((flags & VPERFCTR_OPEN_TRANSIENT) ||
	    (task != current && !(flags & VPERFCTR_OPEN_KEEP)))
		set_bit(STATE_TRANSIENT, &st->bits);

	file = vperfctr_file(st);
	err = PTR_ERR_OR_ZERO(file);
	if (!err) {
		err = vperfctr_open_thread(task, true, &st);
		if (err)
			fput(file);
		else
			fd_install(fd, file);
	}
	vperfctr_put(st);
	return err;
}

static int find_state(struct task_struct *task, int fd)
{
	struct vperfctr_state *st;
	struct file *file;
	int err;

	err = vperfctr_open_thread(task, false, &st);
	if (err)
		return err;
	file = vperfctr_file(st);
	err = PTR_ERR_OR_ZERO(file);
	if (!err)
		fd_install(fd, file);
	vperfctr_put(st);
	return err;
}

static int vperfctr_open_ioctl(const struct vperfctr_open __user *arg)
{
	struct vperfctr_open req;
	struct task_struct *task;
	int err, fd;

	err = vperfctr_get_struct(&req, sizeof(req), arg, OPEN_SIZE_VER0);
	if (err)
		return err;
	if ((req.flags & ~OPEN_FLAGS) || req.reserved)
		return -EINVAL;
	/* Lifetime flags are valid only with CREAT. */
	if (!(req.flags & VPERFCTR_OPEN_CREAT) && (req.flags & OPEN_LIFE_FLAGS))
		return -EINVAL;
	if ((req.flags & OPEN_LIFE_FLAGS) == OPEN_LIFE_FLAGS)
		return -EINVAL;

	fd = get_unused_fd_flags(req.flags & VPERFCTR_OPEN_NOCLOEXEC ? 0 : O_CLOEXEC);
	if (fd < 0)
		return fd;
	task = get_thread(req.tid);
	if (!task)
		err = -ESRCH;
	else if (req.flags & VPERFCTR_OPEN_CREAT)
		err = create_state(task, req.flags, fd);
	else
		err = find_state(task, fd);
	if (task)
		put_task_struct(task);
	if (err)
		put_unused_fd(fd);
	return err ?: fd;
}

static long vperfctr_dev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case VPERFCTR_INFO:
		return vperfctr_info_ioctl((void __user *)arg);
	case VPERFCTR_CPUS:
		return vperfctr_cpus_ioctl((void __user *)arg, is_possible);
	case VPERFCTR_CPUS_FORBIDDEN:
		return vperfctr_cpus_ioctl((void __user *)arg, is_forbidden);
	case VPERFCTR_KIND_CPUS:
		return vperfctr_kind_cpus_ioctl((void __user *)arg);
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

	/* The layout is ABI and must not change. */
	BUILD_BUG_ON(offsetofend(struct vperfctr_info, cpu_name) != INFO_SIZE_VER0);
	BUILD_BUG_ON(sizeof(struct vperfctr_info) != 168);
	BUILD_BUG_ON(sizeof(struct vperfctr_open) != OPEN_SIZE_VER0);
	BUILD_BUG_ON(offsetof(struct vperfctr_page, samplecount) != 64);
	BUILD_BUG_ON(offsetof(struct vperfctr_page, ctr[VPERFCTR_MAX_CTRS]) > PAGE_SIZE);

	vperfctr_overflow_init();
	err = perfctr_cpu_init();
	if (err)
		return err;
	err = vperfctr_state_init();
	if (err)
		goto no_state;
	err = vperfctr_thread_init();
	if (err)
		goto no_thread;
	err = vperfctr_file_init();
	if (err)
		goto no_file;
	err = misc_register(&vperfctr_dev);
	if (err)
		goto no_dev;
	pr_info("version " DRIVER_VERSION ", %s, %u counters%s\n", perfctr_cpu_info.cpu_name,
		perfctr_cpu_info.nrctrs,
		perfctr_cpu_info.nrctrs && !perfctr_isolate ? ", not isolated" : "");
	return 0;

no_dev:
	vperfctr_file_exit();
no_file:
	vperfctr_thread_exit();
no_thread:
	vperfctr_state_exit();
no_state:
	perfctr_cpu_exit();
	return err;
}

static void __exit vperfctr_exit(void)
{
	misc_deregister(&vperfctr_dev);
	vperfctr_file_exit();
	vperfctr_thread_exit();
	vperfctr_state_exit();
	perfctr_cpu_exit();
	vperfctr_overflow_exit();
}

module_init(vperfctr_init);
module_exit(vperfctr_exit);

MODULE_DESCRIPTION("Virtual per-thread performance counters");
MODULE_AUTHOR("The vperfctr authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(DRIVER_VERSION);
