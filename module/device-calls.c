// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctls of the device: INFO, CPUS, CPUS_FORBIDDEN, KIND_CPUS and OPEN.  ATTACH is in attach.c,
 * OPEN_CPUS in cpus.c.  Those of a state are in state-file.c, except that INFO is here.
 */
#include <linux/build_bug.h>
#include <linux/cpumask.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "control.h"
#include "cpus.h"
#include "family.h"
#include "files.h"
#include "overflow.h"
#include "permission.h"
#include "remote.h"
#include "ring.h"
#include "software.h"
#include "state.h"
#include "thread.h"
#include "usercopy.h"
#include "version.h"

#define INFO_SIZE_VER0		184
#define OPEN_SIZE_VER0		24
#define CPU_MASK_SIZE_VER0	8
#define KIND_CPUS_SIZE_VER0	16

#define OPEN_LIFE_FLAGS	(VPERFCTR_OPEN_TRANSIENT | VPERFCTR_OPEN_KEEP)
#define OPEN_FLAGS	(VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_NOCLOEXEC | OPEN_LIFE_FLAGS | \
			 VPERFCTR_OPEN_LOCKED | VPERFCTR_OPEN_OBSERVER)
static_assert(!(OPEN_FLAGS & 0xff000000));	/* these bits are for libraries */

/* The layout is ABI and must not change. */
static_assert(sizeof(struct vperfctr_info) == 232);
static_assert(sizeof(struct vperfctr_open) == OPEN_SIZE_VER0);

/* Execute VPERFCTR_INFO of a state or, with NULL, of the device. */
int vperfctr_info(const struct vperfctr_state *of, struct vperfctr_info __user *arg)
{
	const struct vperfctr_info *of_kind;
	struct vperfctr_ctr_set own, used;
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
	err = vperfctr_used_ctrs(of, &own, &used);
	if (err)
		return err;
	info = *of_kind;
	info.size = sizeof(info);
	info.kind = kind;
	info.nrkinds = READ_ONCE(perfctr_cpu_info.nrkinds);
	info.features |= VPERFCTR_FEATURE_INHERIT | VPERFCTR_FEATURE_SPREAD;
	if (info.features & VPERFCTR_FEATURE_PCINT)
		info.features |= VPERFCTR_FEATURE_INHERIT_IMODE;
	if (vperfctr_clock_available())
		info.features |= VPERFCTR_FEATURE_CLOCK;
	if (vperfctr_ring_available() && vperfctr_records_exist())
		info.features |= VPERFCTR_FEATURE_RECORDS;
	if (info.nrctrs)
		info.features |= VPERFCTR_FEATURE_ANY_KIND;
	info.abi_version = VPERFCTR_ABI_VERSION;
	info.soft = vperfctr_soft_available();
	info.used_pmcs = used.pmcs;
	info.used_fixed = used.fixed;
	info.own_pmcs = own.pmcs;
	info.own_fixed = own.fixed;
	if (vperfctr_could_count_kernel())
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

/* True if the CPU belongs to a set: some of the sets depend on a kind, or a number of kinds. */
typedef bool cpu_test(unsigned int cpu, unsigned int kind);

static bool is_possible(unsigned int cpu, unsigned int unused)
{
	return cpu_possible(cpu);
}

static bool is_of_kind(unsigned int cpu, unsigned int kind)
{
	return cpu_possible(cpu) && !cpumask_test_cpu(cpu, perfctr_cpus_forbidden(kind));
}

static bool is_of_kinds(unsigned int cpu, unsigned int nrkinds)
{
	unsigned int kind;

	for (kind = 0; kind < nrkinds; kind++) {
		if (is_of_kind(cpu, kind))
			return true;
	}
	return false;
}

static bool is_forbidden(unsigned int cpu, unsigned int unused)
{
	return cpu_possible(cpu) && !is_of_kinds(cpu, READ_ONCE(perfctr_cpu_info.nrkinds));
}

/*
 * Write a set of CPUs to user space, and the number of words that it needs.  The words
 * have 32 bits, as longs differ between 32- and 64-bit callers.
 */
static int write_cpus(u32 __user *arg_nrwords, u32 nrwords, u32 __user *mask, cpu_test *test,
		      unsigned int kind)
{
	u32 needed = DIV_ROUND_UP(nr_cpu_ids, 32);
	unsigned int i, bit;

	if (put_user(needed, arg_nrwords))
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

/* Write a mask of CPUs behind the structure, of which the caller may know a larger version. */
static int vperfctr_cpus_ioctl(struct vperfctr_cpu_mask __user *arg, cpu_test *test)
{
	struct vperfctr_cpu_mask req;
	int err;

	err = vperfctr_get_struct(&req, sizeof(req), arg, CPU_MASK_SIZE_VER0);
	if (err)
		return err;
	if (req.size % sizeof(arg->mask[0]))
		return -EINVAL;
	return write_cpus(&arg->nrwords, req.nrwords, (void __user *)arg + req.size, test, 0);
}

static int vperfctr_kind_cpus_ioctl(struct vperfctr_kind_cpus __user *arg)
{
	struct vperfctr_kind_cpus req;
	u32 nrkinds;
	int err;

	err = vperfctr_get_struct(&req, sizeof(req), arg, KIND_CPUS_SIZE_VER0);
	if (err)
		return err;
	if (req.size % sizeof(arg->mask[0]))
		return -EINVAL;
	if (req.kind == VPERFCTR_ANY_KIND) {
		/* Kinds exist for good, so the last one implies the others. */
		nrkinds = req.nrkinds ?: READ_ONCE(perfctr_cpu_info.nrkinds);
		if (!perfctr_cpu_kind(nrkinds - 1))
			return -EINVAL;
		return write_cpus(&arg->nrwords, req.nrwords, (void __user *)arg + req.size,
				  is_of_kinds, nrkinds);
	}
	if (req.nrkinds || !perfctr_cpu_kind(req.kind))
		return -EINVAL;
	return write_cpus(&arg->nrwords, req.nrwords, (void __user *)arg + req.size, is_of_kind,
			  req.kind);
}

/*
 * Make the state of an OPEN, and its file, so that nothing else can fail after the attachment.
 *
 * Context: may sleep; all that can be refused without the state has been.  The first state of the
 * system patches the kernel's code.
 * Return: the state, with one reference, or an ERR_PTR().
 */
struct vperfctr_state *vperfctr_make_opened(const struct vperfctr_open *req, struct file **file)
{
	struct vperfctr_state *st = vperfctr_state_create(NULL, GFP_KERNEL);

	if (IS_ERR(st))
		return st;
	if (req->flags & VPERFCTR_OPEN_LOCKED)
		st->may_change = NULL;
	st->observer = req->flags & VPERFCTR_OPEN_OBSERVER;
	/* OPEN finds no observer's state: no call could end one without a descriptor. */
	if (req->flags & (VPERFCTR_OPEN_TRANSIENT | VPERFCTR_OPEN_OBSERVER))
		set_bit(STATE_TRANSIENT, &st->bits);
	*file = vperfctr_file(st);
	if (IS_ERR(*file)) {
		vperfctr_put(st);
		return ERR_CAST(*file);
	}
	return st;
}

static int open_without_control(struct task_struct *task, const struct vperfctr_open *req,
				struct file **file)
{
	struct vperfctr_state *st = vperfctr_make_opened(req, file);
	int err;

	if (IS_ERR(st))
		return PTR_ERR(st);
	err = vperfctr_open_thread(task, true, &st);
	if (err)
		fput(*file);
	vperfctr_put(st);
	return err;
}

/* Make a state, attach it to the thread, and set its control if there is one. */
static int create_state(struct task_struct *task, const struct vperfctr_open *req, int fd)
{
	struct file *file;
	int err;

	if ((req->flags & VPERFCTR_OPEN_LOCKED) && task == current)
		return -EINVAL;
	err = vperfctr_may_attach(task, req->flags & VPERFCTR_OPEN_OBSERVER);
	if (!err)
		err = req->control ? vperfctr_open_with_control(task, req, &file) :
				     open_without_control(task, req, &file);
	if (!err)
		fd_install(fd, file);
	return err;
}

static int find_state(struct task_struct *task, int fd)
{
	struct vperfctr_state *st;

	return vperfctr_open_thread(task, false, &st) ?: vperfctr_open_found(st, fd);
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
	/* A control and the flags of a state are valid only with CREAT. */
	if (!(req.flags & VPERFCTR_OPEN_CREAT) &&
	    ((req.flags & (OPEN_LIFE_FLAGS | VPERFCTR_OPEN_LOCKED | VPERFCTR_OPEN_OBSERVER)) ||
	     req.control))
		return -EINVAL;
	if ((req.flags & VPERFCTR_OPEN_KEEP) &&
	    (req.flags & (VPERFCTR_OPEN_TRANSIENT | VPERFCTR_OPEN_OBSERVER)))
		return -EINVAL;

	fd = get_unused_fd_flags(req.flags & VPERFCTR_OPEN_NOCLOEXEC ? 0 : O_CLOEXEC);
	if (fd < 0)
		return fd;
	task = vperfctr_get_thread(req.tid);
	if (!task)
		err = -ESRCH;
	else if (req.flags & VPERFCTR_OPEN_CREAT)
		err = create_state(task, &req, fd);
	else
		err = find_state(task, fd);
	if (task)
		put_task_struct(task);
	if (err)
		put_unused_fd(fd);
	return err ?: fd;
}

/* ---- dispatch ----------------------------------------------------------- */

long vperfctr_dev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case VPERFCTR_INFO:
		return vperfctr_info(NULL, (void __user *)arg);
	case VPERFCTR_CPUS:
		return vperfctr_cpus_ioctl((void __user *)arg, is_possible);
	case VPERFCTR_CPUS_FORBIDDEN:
		return vperfctr_cpus_ioctl((void __user *)arg, is_forbidden);
	case VPERFCTR_KIND_CPUS:
		return vperfctr_kind_cpus_ioctl((void __user *)arg);
	case VPERFCTR_OPEN:
		return vperfctr_open_ioctl((void __user *)arg);
	case VPERFCTR_ATTACH:
		return vperfctr_attach_ioctl((void __user *)arg);
	case VPERFCTR_OPEN_CPUS:
		return vperfctr_open_cpus_ioctl((void __user *)arg);
	}
	return -ENOTTY;
}
