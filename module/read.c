// SPDX-License-Identifier: GPL-2.0
/* VPERFCTR_READ: sums, children's sums and control, for the owner or another thread. */
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat/compiler.h"
#include "control.h"
#include "family.h"
#include "page.h"
#include "permission.h"
#include "software.h"
#include "state.h"
#include "thread.h"
#include "usercopy.h"

#define READ_SIZE_VER0	64
#define SOFT_SIZE_VER0	96

#define READ_FLAGS	(VPERFCTR_READ_MEMBERS | VPERFCTR_READ_OWNER)

/* Return what the caller is: the owner, its monitor, or neither.  See VPERFCTR_READ_OWNER. */
static u32 role_of_caller(const struct vperfctr_state *st)
{
	struct task_struct *owner;
	u32 role = 0;

	rcu_read_lock();
	owner = READ_ONCE(st->owner);
	if (owner == current)
		role = VPERFCTR_STATUS_OWNER;
	else if (owner && vperfctr_may_monitor(owner, current))
		role = VPERFCTR_STATUS_MONITOR;
	rcu_read_unlock();
	return role;
}

static u32 status_of(const struct vperfctr_state *st)
{
	unsigned int stop = READ_ONCE(st->stop);
	u32 status = 0;

	if (READ_ONCE(st->owner))
		status |= VPERFCTR_STATUS_ATTACHED;
	if (!(stop & STATE_STOP_IDLE))
		status |= VPERFCTR_STATUS_ACTIVE;
	if (stop & STATE_STOP_SUSPEND)
		status |= VPERFCTR_STATUS_SUSPENDED;
	if (stop & STATE_STOP_EXEC)
		status |= VPERFCTR_STATUS_ARMED;
	if (test_bit(STATE_FORBIDDEN, &st->bits))
		status |= VPERFCTR_STATUS_FORBIDDEN;
	if (test_bit(STATE_PRIVILEGED, &st->bits))
		status |= VPERFCTR_STATUS_PRIVILEGED;
	if (vperfctr_is_held(st))
		status |= VPERFCTR_STATUS_OVERFLOW;
	return status;
}

static void copy_sums(const struct vperfctr_state *st, const struct vperfctr_page *page,
		      struct vperfctr_snapshot *snap)
{
	unsigned int i;

	snap->nrctrs = perfctr_nrctrs(&st->cpu_state.control);
	snap->status = status_of(st);
	snap->overflow = READ_ONCE(st->overflow);
	snap->sums[0] = READ_ONCE(page->tsc_sum);
	for (i = 0; i < snap->nrctrs; i++)
		snap->sums[1 + i] = READ_ONCE(page->ctr[i].sum);
}

static void snapshot_own(struct vperfctr_state *st, struct vperfctr_snapshot *snap)
{
	local_irq_disable();
	/* The state does not run if it was detached since the caller's check. */
	if (likely(st->cpu >= 0))
		perfctr_cpu_sample(&st->cpu_state);
	else if (vperfctr_is_joint(st))
		vperfctr_joint_sample();
	copy_sums(st, st->cpu_state.page, snap);
	if (unlikely(st->soft))
		vperfctr_soft_read(st, &snap->soft);
	local_irq_enable();
}

/*
 * A sample is taken again if the owner was switched after it, as its software counters
 * would then be newer than its sums.  An owner that is switched all the time must not
 * keep the reader for ever.
 */
#define MAX_SAMPLES	4

/*
 * Take a snapshot of the sums where the owner is not the caller.
 *
 * Context: the control cannot change, as for vperfctr_snapshot(); the sums may.
 */
static void snapshot_other(struct vperfctr_state *st, struct vperfctr_snapshot *snap)
{
	const struct vperfctr_page *page;
	unsigned int samples = 1;
	u32 samplecount;
	bool same;

	vperfctr_sample_owner(st);
	for (;;) {
		page = vperfctr_get_page(st);
		samplecount = READ_ONCE(page->samplecount);
		smp_rmb();	/* pairs with the smp_wmb()s of the writer */
		if (!(samplecount & 1)) {
			copy_sums(st, page, snap);
			same = likely(!st->soft) ||
			       vperfctr_soft_read_other(st, samplecount, &snap->soft);
			smp_rmb();	/* pairs in the same way */
			if (!vperfctr_page_changed(st, page, samplecount)) {
				if (same || samples++ == MAX_SAMPLES)
					return;
				vperfctr_sample_owner(st);
			}
		}
		cpu_relax();
	}
}

/*
 * Copy the current sums and the status.
 *
 * Context: may sleep.  The control must not change: the caller is the owner, whose
 * control no other thread changes during a call, or holds st->lock.
 */
void vperfctr_snapshot(struct vperfctr_state *st, struct vperfctr_snapshot *snap)
{
	if (READ_ONCE(st->owner) == current)
		snapshot_own(st, snap);
	else
		snapshot_other(st, snap);
}

/* The control as READ returns it, copied while it cannot change. */
struct control_copy {
	u32 flags;
	s32 si_signo;
	u64 preserve;
	u64 soft;
	u64 clock_period;
	struct perfctr_cpu_control control;	/* with a reference to its kinds */
	/* The caller has set size, ctr_size, ctr and nrkinds. */
	struct vperfctr_control header;
};

/* Copy what READ returns of one kind's control.  A state's has room for no more counters. */
static void copy_table(struct perfctr_cpu_control *to, const struct perfctr_cpu_control *from)
{
	unsigned int i;

	to->tsc_on = from->tsc_on;
	to->nractrs = from->nractrs;
	to->nrictrs = from->nrictrs;
	to->kind = from->kind;
	to->global[0] = from->global[0];
	to->global[1] = from->global[1];
	for (i = 0; i < perfctr_nrctrs(from); i++) {
		to->ctr[i].map = from->ctr[i].map;
		to->ctr[i].reserved = 0;	/* a state keeps perfctr_ishift() there */
		to->ctr[i].evntsel = from->ctr[i].evntsel;
		to->ctr[i].aux = from->ctr[i].aux;
		to->ctr[i].ireset = from->ctr[i].ireset;
	}
}

static void copy_control(const struct vperfctr_state *st, struct control_copy *copy)
{
	copy->flags = st->flags & ~STATE_FLAG_SET;
	copy->si_signo = st->si_signo;
	copy->preserve = st->preserve;
	copy->soft = st->soft;
	copy->clock_period = st->clock.period;
	copy->control.kinds = vperfctr_get_kinds(st->cpu_state.control.kinds);
	/* The owner may be changing its own copy, on another CPU. */
	copy_table(&copy->control, copy->control.kinds ? &copy->control.kinds->control[0] :
							  &st->cpu_state.control);
}

/* Write a structure in the caller's size.  The fields that only the caller knows are 0. */
static int put_struct(void __user *to, u32 size, const void *from, u32 known)
{
	if (copy_to_user(to, from, min(size, known)) ||
	    (size > known && clear_user((char __user *)to + known, size - known)))
		return -EFAULT;
	return 0;
}

/* Write counters in the caller's size. */
static int put_counters(const struct perfctr_cpu_control *control, void __user *to, u32 size)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < perfctr_nrctrs(control) && !err; i++)
		err = put_struct(to + i * size, size, &control->ctr[i], sizeof(control->ctr[i]));
	return err;
}

/* Write the counters of all kinds. */
static int put_tables(const struct perfctr_cpu_control *control, void __user *to, u32 size)
{
	const struct perfctr_cpu_kinds *kinds = control->kinds;
	unsigned int i, length = perfctr_nrctrs(control) * size;
	int err = 0;

	if (likely(!kinds))
		return put_counters(control, to, size);
	for (i = 0; i < kinds->nr && !err; i++)
		err = put_counters(&kinds->control[i], to + i * length, size);
	return err;
}

/* Copy what the caller of READ says of the room for the control. */
static int get_header(struct vperfctr_control *header, const struct vperfctr_control __user *arg)
{
	u32 size;
	int err;

	err = vperfctr_get_size(arg, CONTROL_SIZE_VER0, &size);
	if (err)
		return err;
	header->size = size;
	header->nrkinds = 0;
	/* The size is not read twice. */
	if (copy_from_user((u8 *)header + sizeof(size), (u8 __user *)arg + sizeof(size),
			   min_t(u32, size, sizeof(*header)) - sizeof(size)))
		return -EFAULT;
	return vperfctr_is_ctr_size(header->ctr_size) ? 0 : -EINVAL;
}

static u32 nr_kinds(const struct perfctr_cpu_control *control)
{
	return control->kinds ? control->kinds->nr : 0;
}

/* True if the caller has no room for the counters of all kinds. */
static bool lacks_kinds(const struct vperfctr_control *header, u32 nrkinds)
{
	return unlikely(nrkinds > 1) && header->ctr && header->nrkinds < nrkinds;
}

/* Say how many kinds there are.  Return: -EOVERFLOW or -EFAULT. */
static int put_nrkinds(const struct vperfctr_control *header, u32 nrkinds,
		       struct vperfctr_control __user *arg)
{
	if (header->size < offsetofend(struct vperfctr_control, nrkinds))
		return -EOVERFLOW;
	return put_user(nrkinds, &arg->nrkinds) ? -EFAULT : -EOVERFLOW;
}

static int write_control(struct control_copy *copy, struct vperfctr_control __user *arg)
{
	const struct perfctr_cpu_control *control = &copy->control;
	struct vperfctr_control *header = &copy->header;
	u32 nrkinds = nr_kinds(control);
	int err;

	header->flags = copy->flags;
	header->tsc_on = control->tsc_on;
	header->nractrs = control->nractrs;
	header->nrictrs = control->nrictrs;
	header->si_signo = copy->si_signo;
	header->preserve = copy->preserve;
	header->global[0] = control->global[0];
	header->global[1] = control->global[1];
	header->kind = nrkinds ? VPERFCTR_ANY_KIND : control->kind;
	header->soft = copy->soft;
	header->nrkinds = nrkinds;
	header->reserved = 0;
	header->clock_period = copy->clock_period;
	err = put_struct(arg, header->size, header, sizeof(*header));
	if (err || !header->ctr)
		return err;
	return put_tables(control, perfctr_user_ptr(header->ctr), header->ctr_size);
}

/* All that READ can return, as it is at one moment.  Only what is used is initialized. */
struct reading {
	struct vperfctr_snapshot snap;
	u64 children[1 + VPERFCTR_MAX_CTRS];
	struct vperfctr_soft_sums soft_children;
	u32 soft;
	u64 children_missed;
	bool with_children;			/* the caller wants them */
	bool with_members;			/* and those of living descendants */
	u32 nrctrs;				/* for that many there is room */
	u32 soft_size;				/* of the caller's structure, if it wants that */
	struct control_copy *control;		/* NULL: the caller does not want it */
};

/*
 * True if write_reading() will refuse, because the caller has too little room.  Then there is all
 * that it needs to say so, and no CPU is interrupted.
 *
 * Context: the control cannot change, as for vperfctr_snapshot().
 */
static noinline bool refuse_room(const struct vperfctr_state *st, struct reading *r)
{
	const struct perfctr_cpu_control *control = &st->cpu_state.control;

	if (r->nrctrs >= perfctr_nrctrs(control) &&
	    !(r->control && lacks_kinds(&r->control->header, nr_kinds(control))))
		return false;
	r->snap.nrctrs = perfctr_nrctrs(control);
	r->snap.status = 0;
	if (r->control)
		copy_control(st, r->control);
	return true;
}

/*
 * Collect what READ returns, in kernel memory.  A write to user space can fault, and user
 * space may delay that fault for as long as it likes: st->lock must not be held then.
 */
static __always_inline int take_reading(struct vperfctr_state *st, struct reading *r)
{
	bool own = READ_ONCE(st->owner) == current && likely(!r->with_members);
	int err = 0;

	if (!own) {
		if (mutex_lock_killable(&st->lock))
			return -EINTR;
		if (unlikely(refuse_room(st, r))) {
			mutex_unlock(&st->lock);
			return 0;
		}
	}
	/* First: it reports to the status of a set. */
	if (unlikely(r->with_members) && vperfctr_has_family(st))
		err = vperfctr_read_members(st, r->children, &r->soft_children);
	vperfctr_snapshot(st, &r->snap);
	r->children_missed = 0;
	if (vperfctr_has_family(st)) {
		u64 *sums = likely(!r->with_members) ? r->children : NULL;

		if (vperfctr_read_family(st, sums, 1 + r->snap.nrctrs, &r->soft_children,
					 &r->children_missed))
			r->snap.status |= VPERFCTR_STATUS_CHILDREN;
	} else if (r->with_children) {
		memset(r->children, 0, (1 + r->snap.nrctrs) * sizeof(r->children[0]));
		memset(&r->soft_children, 0, sizeof(r->soft_children));
	}
	r->soft = st->soft;
	if (r->control)
		copy_control(st, r->control);
	if (!own)
		mutex_unlock(&st->lock);
	return err;
}

static int write_soft(const struct reading *r, struct vperfctr_soft __user *arg)
{
	u64 own[VPERFCTR_NR_SOFT], children[VPERFCTR_NR_SOFT];
	struct vperfctr_soft soft;
	unsigned int i;

	soft.size = r->soft_size;
	soft.reserved = 0;
	soft.soft = r->soft;
	vperfctr_soft_fill(r->soft, &r->snap.soft, r->snap.sums[0], own);
	vperfctr_soft_fill(r->soft, &r->soft_children, r->children[0], children);
	for (i = 0; i < VPERFCTR_NR_SOFT; i++) {
		soft.count[i].own = own[i];
		soft.count[i].children = children[i];
	}
	return put_struct(arg, soft.size, &soft, sizeof(soft));
}

static __always_inline int write_reading(const struct reading *r,
					 const struct vperfctr_read *req,
					 struct vperfctr_read __user *arg)
{
	unsigned int nrsums = 1 + r->snap.nrctrs;

	if (req->nrctrs < r->snap.nrctrs)
		return put_user(r->snap.nrctrs, &arg->nrctrs) ? -EFAULT : -EOVERFLOW;
	if (r->control) {
		struct vperfctr_control __user *control = perfctr_user_ptr(req->control);
		u32 nrkinds = nr_kinds(&r->control->control);
		int err;

		if (lacks_kinds(&r->control->header, nrkinds))
			return put_nrkinds(&r->control->header, nrkinds, control);
		err = write_control(r->control, control);
		if (err)
			return err;
	}
	if (req->sums && vperfctr_put_words(perfctr_user_ptr(req->sums), r->snap.sums, nrsums))
		return -EFAULT;
	if (req->children &&
	    vperfctr_put_words(perfctr_user_ptr(req->children), r->children, nrsums))
		return -EFAULT;
	if (unlikely(req->soft)) {
		int err = write_soft(r, perfctr_user_ptr(req->soft));

		if (err)
			return err;
	}
	if (!vperfctr_access_begin(arg, offsetof(struct vperfctr_read, sums)))
		return -EFAULT;
	unsafe_put_user(r->snap.nrctrs, &arg->nrctrs, fault);
	unsafe_put_user(r->snap.status, &arg->status, fault);
	unsafe_put_user(r->snap.overflow, &arg->overflow, fault);
	unsafe_put_user(r->children_missed, &arg->children_missed, fault);
	user_access_end();
	return 0;

fault:
	user_access_end();
	return -EFAULT;
}

/*
 * Look at the structures that a request names, before any CPU is interrupted for it.
 *
 * Return: 0, an error of VPERFCTR_READ, and then no memory is left.
 */
static noinline int get_rooms(const struct vperfctr_read *req, struct reading *r)
{
	int err = 0;

	if (req->soft)
		err = vperfctr_get_size(perfctr_user_ptr(req->soft), SOFT_SIZE_VER0, &r->soft_size);
	if (err || !req->control)
		return err;
	r->control = kmalloc(sizeof(*r->control), GFP_KERNEL);
	if (!r->control)
		return -ENOMEM;
	r->control->control.kinds = NULL;
	err = get_header(&r->control->header, perfctr_user_ptr(req->control));
	if (err)
		kfree(r->control);
	return err;
}

static __always_inline int read_as(struct vperfctr_state *st, const struct vperfctr_read *req,
				   struct vperfctr_read __user *arg, u32 role)
{
	struct reading r __uninitialized;
	int err;

	r.with_children = req->children || req->soft;
	r.with_members = req->flags & VPERFCTR_READ_MEMBERS;
	r.nrctrs = req->nrctrs;
	r.control = NULL;
	if (unlikely(req->control || req->soft)) {
		err = get_rooms(req, &r);
		if (err)
			return err;
	}
	err = take_reading(st, &r);
	if (!err) {
		r.snap.status |= role;
		err = write_reading(&r, req, arg);
	}
	if (unlikely(r.control)) {
		vperfctr_put_kinds(r.control->control.kinds);
		kfree(r.control);
	}
	return err;
}

/* Read, and say what the caller is.  A function of its own: other readings do not test for it. */
static noinline int read_with_role(struct vperfctr_state *st, const struct vperfctr_read *req,
				   struct vperfctr_read __user *arg)
{
	return read_as(st, req, arg, role_of_caller(st));
}

int vperfctr_read(struct vperfctr_state *st, struct vperfctr_read __user *arg)
{
	struct vperfctr_read req __uninitialized;
	int err;

	err = vperfctr_get_struct(&req, sizeof(req), arg, READ_SIZE_VER0);
	if (err)
		return err;
	if (unlikely(req.flags & ~VPERFCTR_READ_MEMBERS)) {
		if (req.flags & ~READ_FLAGS)
			return -EINVAL;
		return read_with_role(st, &req, arg);
	}
	return read_as(st, &req, arg, 0);
}
