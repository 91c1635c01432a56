// SPDX-License-Identifier: GPL-2.0
/*
 * Control, read, suspend, resume, unlink: what the calls on a state's
 * descriptor do to it.  include/uapi/linux/vperfctr.h says what they promise.
 */
#include <linux/bitops.h>
#include <linux/capability.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "vperfctr.h"

/* Sizes of the first version of each structure: what every caller must have. */
#define CONTROL_SIZE_VER0	64
#define READ_SIZE_VER0		56

static bool allow_kernel;
module_param(allow_kernel, bool, 0644);
MODULE_PARM_DESC(allow_kernel, "let everybody who may use the device count kernel mode");

bool vperfctr_may_count_kernel(void)
{
	return READ_ONCE(allow_kernel) || perfmon_capable();
}

/* ---- the hardware ------------------------------------------------------- */

/* States that have a control with counters hold a share each. */
static DEFINE_MUTEX(hardware_mutex);
static unsigned int hardware_users;

static int get_hardware(struct vperfctr *st)
{
	int err = 0;

	if (test_bit(0, &st->hardware))
		return 0;
	mutex_lock(&hardware_mutex);
	if (!hardware_users)
		err = perfctr_cpu_reserve();
	if (!err) {
		hardware_users++;
		set_bit(0, &st->hardware);
	}
	mutex_unlock(&hardware_mutex);
	return err;
}

/* Give back the state's share, if it has one.  PRE: its counters are stopped for good. */
void vperfctr_release_hardware(struct vperfctr *st)
{
	if (!test_and_clear_bit(0, &st->hardware))
		return;
	mutex_lock(&hardware_mutex);
	if (!--hardware_users)
		perfctr_cpu_release();
	mutex_unlock(&hardware_mutex);
}

/* ---- control ------------------------------------------------------------ */

static int check_owner(const struct vperfctr *st)
{
	const struct task_struct *owner = READ_ONCE(st->owner);

	if (!owner)
		return -ESRCH;
	return owner == current ? 0 : -EPERM;
}

/* The size that a structure begins with, as its caller knows it. */
int vperfctr_get_size(const void __user *arg, u32 smallest, u32 *size)
{
	if (get_user(*size, (const u32 __user *)arg))
		return -EFAULT;
	if (*size < smallest)
		return -EINVAL;
	return *size > PAGE_SIZE ? -E2BIG : 0;
}

/* Everything about a control that does not depend on the processor. */
static int check_header(const struct vperfctr_control *header)
{
	/* Each within limits first, so that the sum cannot overflow. */
	u32 nractrs = min_t(u32, header->nractrs, VPERFCTR_MAX_CTRS + 1);
	u32 nrictrs = min_t(u32, header->nrictrs, VPERFCTR_MAX_CTRS + 1);
	u32 nrctrs = nractrs + nrictrs;

	if ((header->flags & ~VPERFCTR_CONTROL_START_ON_EXEC) || header->reserved)
		return -EINVAL;
	if (header->ctr_size != sizeof(struct vperfctr_ctr) || header->tsc_on > 1)
		return -EINVAL;
	if (header->nrictrs && !(perfctr_cpu_info.features & VPERFCTR_FEATURE_PCINT))
		return -EOPNOTSUPP;
	if (nrctrs > perfctr_cpu_info.nrctrs)
		return -EINVAL;
	if (header->preserve & ~(nrctrs ? GENMASK_ULL(nrctrs - 1, 0) : 0))
		return -EINVAL;
	if (header->si_signo && !header->nrictrs)
		return -EINVAL;
	/* There must be something to start. */
	if (header->flags && !nrctrs && !header->tsc_on)
		return -EINVAL;
	return 0;
}

static int copy_control(struct vperfctr_control *header, struct perfctr_cpu_control *control,
			const struct vperfctr_control __user *arg)
{
	unsigned int i, nrctrs;
	u32 size;
	int err;

	err = vperfctr_get_size(arg, CONTROL_SIZE_VER0, &size);
	if (!err)
		err = copy_struct_from_user(header, sizeof(*header), arg, size);
	if (!err)
		err = check_header(header);
	if (err)
		return err;

	control->tsc_on = header->tsc_on;
	control->nractrs = header->nractrs;
	control->nrictrs = header->nrictrs;
	control->global[0] = header->global[0];
	control->global[1] = header->global[1];
	nrctrs = perfctr_nrctrs(control);
	if (copy_from_user(control->ctr, u64_to_user_ptr(header->ctr),
			   nrctrs * sizeof(control->ctr[0])))
		return -EFAULT;
	for (i = 0; i < nrctrs; i++) {
		if (control->ctr[i].reserved)
			return -EINVAL;
	}
	return perfctr_cpu_check_control(control, vperfctr_may_count_kernel());
}

/* The all-zero control: stop for good, keep sums and the last control. */
static void stop_control(struct vperfctr *st)
{
	unsigned long flags;

	mutex_lock(&st->lock);
	local_irq_save(flags);
	vperfctr_stop(st);
	st->stop = VPERFCTR_STOP_IDLE;
	perfctr_cpu_mark_suspended(&st->cpu_state);
	local_irq_restore(flags);
	mutex_unlock(&st->lock);
	vperfctr_release_hardware(st);
}

int vperfctr_control(struct vperfctr *st, const struct vperfctr_control __user *arg)
{
	struct perfctr_cpu_control control;	/* only what is used is ever filled in */
	struct vperfctr_control header;
	unsigned long flags;
	int err;

	err = check_owner(st);
	if (!err)
		err = copy_control(&header, &control, arg);
	if (err)
		return err;
	if (!perfctr_nrctrs(&control) && !control.tsc_on) {
		stop_control(st);
		return 0;
	}
	if (perfctr_nrctrs(&control)) {
		err = get_hardware(st);
		if (err)
			return err;
	}

	/* Nothing can fail from here on. */
	mutex_lock(&st->lock);
	local_irq_save(flags);
	vperfctr_stop(st);
	perfctr_cpu_update_control(&st->cpu_state, &control, header.preserve);
	st->flags = header.flags;
	st->si_signo = header.si_signo;
	st->preserve = header.preserve;
	st->stop = header.flags & VPERFCTR_CONTROL_START_ON_EXEC ? VPERFCTR_STOP_EXEC : 0;
	vperfctr_start(st);
	local_irq_restore(flags);
	mutex_unlock(&st->lock);

	if (!perfctr_nrctrs(&control))
		vperfctr_release_hardware(st);
	return 0;
}

int vperfctr_suspend(struct vperfctr *st)
{
	unsigned long flags;
	int err = check_owner(st);

	if (err)
		return err;
	local_irq_save(flags);
	if (st->stop & VPERFCTR_STOP_IDLE) {
		err = -EINVAL;
	} else if (!(st->stop & VPERFCTR_STOP_SUSPEND)) {
		vperfctr_stop(st);
		st->stop |= VPERFCTR_STOP_SUSPEND;
		perfctr_cpu_mark_suspended(&st->cpu_state);
	}
	local_irq_restore(flags);
	return err;
}

int vperfctr_resume(struct vperfctr *st)
{
	unsigned long flags;
	int err = check_owner(st);

	if (err)
		return err;
	local_irq_save(flags);
	if (st->stop & VPERFCTR_STOP_IDLE) {
		err = -EINVAL;
	} else {
		st->stop &= ~VPERFCTR_STOP_SUSPEND;
		vperfctr_start(st);
	}
	local_irq_restore(flags);
	return err;
}

int vperfctr_unlink(struct vperfctr *st)
{
	int err = check_owner(st);

	if (!err)
		vperfctr_detach(st);
	return err == -ESRCH ? 0 : err;
}

/* ---- read --------------------------------------------------------------- */

/* What READ returns, taken at one moment. */
struct snapshot {
	unsigned int nrctrs;
	u32 status;
	u64 sums[1 + VPERFCTR_MAX_CTRS];	/* struct vperfctr_sums */
};

static u32 status_of(const struct vperfctr *st)
{
	unsigned int stop = READ_ONCE(st->stop);
	u32 status = 0;

	if (READ_ONCE(st->owner))
		status |= VPERFCTR_STATUS_ATTACHED;
	if (!(stop & VPERFCTR_STOP_IDLE))
		status |= VPERFCTR_STATUS_ACTIVE;
	if (stop & VPERFCTR_STOP_SUSPEND)
		status |= VPERFCTR_STATUS_SUSPENDED;
	if (stop & VPERFCTR_STOP_EXEC)
		status |= VPERFCTR_STATUS_ARMED;
	return status;
}

static void copy_sums(const struct vperfctr *st, struct snapshot *snap)
{
	const struct vperfctr_page *page = st->cpu_state.page;
	unsigned int i;

	snap->nrctrs = perfctr_nrctrs(&st->cpu_state.control);
	snap->status = status_of(st);
	snap->sums[0] = READ_ONCE(page->tsc_sum);
	for (i = 0; i < snap->nrctrs; i++)
		snap->sums[1 + i] = READ_ONCE(page->ctr[i].sum);
}

static void snapshot_own(struct vperfctr *st, struct snapshot *snap)
{
	unsigned long flags;

	local_irq_save(flags);
	if (st->cpu >= 0)
		perfctr_cpu_sample(&st->cpu_state);
	copy_sums(st, snap);
	local_irq_restore(flags);
}

/* The caller holds st->lock: the control stays, the sums may change all the time. */
static void snapshot_other(struct vperfctr *st, struct snapshot *snap)
{
	const struct vperfctr_page *page = st->cpu_state.page;
	u32 samplecount;

	vperfctr_sample_owner(st);
	for (;;) {
		samplecount = READ_ONCE(page->samplecount);
		smp_rmb();	/* pairs with the smp_wmb()s of the writer */
		if (!(samplecount & 1)) {
			copy_sums(st, snap);
			smp_rmb();	/* likewise */
			if (READ_ONCE(page->samplecount) == samplecount)
				return;
		}
		cpu_relax();
	}
}

static int write_control(const struct vperfctr *st, struct vperfctr_control __user *arg)
{
	const struct perfctr_cpu_control *control = &st->cpu_state.control;
	unsigned int nrctrs = perfctr_nrctrs(control);
	struct vperfctr_control header;
	u32 size;
	int err;

	err = vperfctr_get_size(arg, CONTROL_SIZE_VER0, &size);
	if (err)
		return err;
	/* For what the caller set: size, ctr_size, ctr. */
	if (copy_from_user(&header, arg, CONTROL_SIZE_VER0))
		return -EFAULT;
	if (header.ctr_size != sizeof(struct vperfctr_ctr))
		return -EINVAL;
	header.size = size;
	header.flags = st->flags;
	header.tsc_on = control->tsc_on;
	header.nractrs = control->nractrs;
	header.nrictrs = control->nrictrs;
	header.si_signo = st->si_signo;
	header.preserve = st->preserve;
	header.global[0] = control->global[0];
	header.global[1] = control->global[1];
	header.reserved = 0;
	if (copy_to_user(arg, &header, CONTROL_SIZE_VER0) ||
	    clear_user((char __user *)arg + CONTROL_SIZE_VER0, size - CONTROL_SIZE_VER0))
		return -EFAULT;
	if (header.ctr && copy_to_user(u64_to_user_ptr(header.ctr), control->ctr,
				       nrctrs * sizeof(control->ctr[0])))
		return -EFAULT;
	return 0;
}

static int write_children(u64 addr, unsigned int nrctrs)
{
	/* Nothing is inherited yet. */
	return clear_user(u64_to_user_ptr(addr), (1 + nrctrs) * sizeof(u64)) ? -EFAULT : 0;
}

int vperfctr_read(struct vperfctr *st, struct vperfctr_read __user *arg)
{
	bool own = READ_ONCE(st->owner) == current;
	struct vperfctr_read req;
	struct snapshot snap;
	u32 size;
	int err;

	err = vperfctr_get_size(arg, READ_SIZE_VER0, &size);
	if (!err)
		err = copy_struct_from_user(&req, sizeof(req), arg, size);
	if (err)
		return err;
	if (req.reserved)
		return -EINVAL;

	/* Only the owner changes its control: it needs no lock to read it. */
	if (own) {
		snapshot_own(st, &snap);
	} else {
		mutex_lock(&st->lock);
		snapshot_other(st, &snap);
	}

	if (req.nrctrs < snap.nrctrs)
		err = put_user(snap.nrctrs, &arg->nrctrs) ? -EFAULT : -EOVERFLOW;
	if (!err && req.control)
		err = write_control(st, u64_to_user_ptr(req.control));
	if (!own)
		mutex_unlock(&st->lock);
	if (err)
		return err;

	if (req.sums && copy_to_user(u64_to_user_ptr(req.sums), snap.sums,
				     (1 + snap.nrctrs) * sizeof(u64)))
		return -EFAULT;
	if (req.children) {
		err = write_children(req.children, snap.nrctrs);
		if (err)
			return err;
	}
	req.nrctrs = snap.nrctrs;
	req.status = snap.status;
	req.overflow = 0;
	req.children_missed = 0;
	return copy_to_user(arg, &req, offsetof(struct vperfctr_read, sums)) ? -EFAULT : 0;
}
