// SPDX-License-Identifier: GPL-2.0
/*
 * The calls VPERFCTR_CONTROL, SUSPEND, RESUME and UNLINK.
 * include/uapi/linux/vperfctr.h documents them.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/gfp.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "alloc.h"
#include "buffer.h"
#include "compat/compiler.h"
#include "control.h"
#include "family.h"
#include "files.h"
#include "overflow.h"
#include "permission.h"
#include "remote.h"
#include "reservation.h"
#include "ring.h"
#include "software.h"
#include "state.h"
#include "thread.h"
#include "usercopy.h"

#define CONTROL_FLAGS	(VPERFCTR_CONTROL_START_ON_EXEC | VPERFCTR_CONTROL_INHERIT | \
			 VPERFCTR_CONTROL_AFFINITY | VPERFCTR_CONTROL_RING | \
			 VPERFCTR_CONTROL_END_ON_EXEC | VPERFCTR_CONTROL_INHERIT_THREADS | \
			 VPERFCTR_CONTROL_SPREAD)

/* ---- control ------------------------------------------------------------ */

/* True if signal, ring and inheritance suit the i-mode counters. */
static bool is_valid_overflow(const struct vperfctr_control *header)
{
	bool ring = header->flags & VPERFCTR_CONTROL_RING;

	if (!header->nrictrs)
		return !header->si_signo && ring == !!header->clock_period;
	/* Otherwise no thread would learn of a descendant's overflow, which holds its counters. */
	if ((header->flags & VPERFCTR_CONTROL_INHERIT) && !ring && !header->si_signo)
		return false;
	return ring ? !header->si_signo : valid_signal(header->si_signo);
}

/* True if the software counters exist.  The thread time is the TSC's sum, and needs tsc_on. */
static bool is_valid_soft(const struct vperfctr_control *header)
{
	return !(header->soft & ~(u64)vperfctr_soft_available()) &&
	       (header->tsc_on || !(header->soft & VPERFCTR_SOFT_TASK_CLOCK));
}

/*
 * Check a period of the thread time, which is the TSC's sum.  A control cannot have periods of
 * counters, too: these are throttled in another way.
 */
static noinline int check_clock(const struct vperfctr_control *header)
{
	if (!vperfctr_clock_available())
		return -EOPNOTSUPP;
	if (header->clock_period < VPERFCTR_CLOCK_MIN || header->clock_period > VPERFCTR_CLOCK_MAX)
		return -EINVAL;
	return header->tsc_on && !header->nrictrs ? 0 : -EINVAL;
}

/*
 * True if samples by thread time may have addresses in the kernel, if the ring may.
 *
 * Context: the caller of CONTROL.
 */
bool vperfctr_may_clock_kernel(const struct vperfctr_control *header)
{
	return header->clock_period && vperfctr_could_count_kernel();
}

/* True if the kind exists, or all kinds do, and has enough counters. */
static bool is_valid_kind(const struct vperfctr_control *header, u32 nrctrs)
{
	const struct vperfctr_info *kind;
	u32 i;

	if (likely(header->kind != VPERFCTR_ANY_KIND)) {
		kind = perfctr_cpu_kind(header->kind);
		/* The TSC is the same on all kinds. */
		return kind && nrctrs <= kind->nrctrs && (nrctrs || !header->kind) &&
		       !header->nrkinds;
	}
	if (!nrctrs || !header->nrkinds)
		return false;
	for (i = 0; i < header->nrkinds; i++) {
		kind = perfctr_cpu_kind(i);
		if (!kind || nrctrs > kind->nrctrs)
			return false;
	}
	return true;
}

/* Check what does not depend on the events or the state. */
static int check_header(const struct vperfctr_control *header)
{
	/* Limit each first, so that the sum cannot overflow. */
	u32 nractrs = min_t(u32, header->nractrs, VPERFCTR_MAX_CTRS + 1);
	u32 nrictrs = min_t(u32, header->nrictrs, VPERFCTR_MAX_CTRS + 1);
	u32 nrctrs = nractrs + nrictrs;

	if ((header->flags & ~CONTROL_FLAGS) || header->reserved)
		return -EINVAL;
	if (!vperfctr_is_ctr_size(header->ctr_size) || header->tsc_on > 1)
		return -EINVAL;
	if (unlikely(header->soft) && !is_valid_soft(header))
		return -EINVAL;
	if (unlikely(header->clock_period)) {
		int err = check_clock(header);

		if (err)
			return err;
	}
	if (header->nrictrs && !(perfctr_cpu_info.features & VPERFCTR_FEATURE_PCINT))
		return -EOPNOTSUPP;
	if (!is_valid_kind(header, nrctrs))
		return -EINVAL;
	if (header->preserve & ~(nrctrs ? GENMASK_ULL(nrctrs - 1, 0) : 0))
		return -EINVAL;
	if (!is_valid_overflow(header))
		return -EINVAL;
	/* An exec cannot both start and end the counting, nor end that of a family. */
	if ((header->flags & VPERFCTR_CONTROL_END_ON_EXEC) &&
	    (header->flags & (VPERFCTR_CONTROL_START_ON_EXEC | VPERFCTR_CONTROL_INHERIT)))
		return -EINVAL;
	if ((header->flags & VPERFCTR_CONTROL_INHERIT_THREADS) &&
	    !(header->flags & VPERFCTR_CONTROL_INHERIT))
		return -EINVAL;
	/* The control has no other thread, or no period, to spread. */
	if ((header->flags & VPERFCTR_CONTROL_SPREAD) &&
	    (!(header->flags & VPERFCTR_CONTROL_INHERIT) ||
	     (!header->nrictrs && !header->clock_period)))
		return -EINVAL;
	/* Flags need something to count. */
	if (header->flags && !nrctrs && !header->tsc_on && !header->soft)
		return -EINVAL;
	return 0;
}

/* Copy counters of another size than this kernel knows, each as vperfctr_get_struct() does. */
static noinline int get_other_counters(struct vperfctr_ctr *ctr, const void __user *arg,
				       unsigned int n, u32 size)
{
	unsigned int i;
	int err;

	for (i = 0; i < n; i++) {
		err = copy_struct_from_user(&ctr[i], sizeof(ctr[i]), arg + i * size, size);
		if (err)
			return err;
		if (ctr[i].reserved)
			return -EINVAL;
	}
	return 0;
}

static int get_counters(struct vperfctr_ctr *ctr, const struct vperfctr_ctr __user *arg,
			unsigned int n)
{
	u32 reserved = 0;
	unsigned int i;

	if (!vperfctr_access_begin(arg, n * sizeof(*arg)))
		return -EFAULT;
	for (i = 0; i < n; i++) {
		unsafe_get_user(ctr[i].map, &arg[i].map, fault);
		unsafe_get_user(ctr[i].reserved, &arg[i].reserved, fault);
		unsafe_get_user(ctr[i].evntsel, &arg[i].evntsel, fault);
		unsafe_get_user(ctr[i].aux, &arg[i].aux, fault);
		unsafe_get_user(ctr[i].ireset, &arg[i].ireset, fault);
		reserved |= ctr[i].reserved;
	}
	user_access_end();
	return reserved ? -EINVAL : 0;

fault:
	user_access_end();
	return -EFAULT;
}

/* Copy the counters of one kind. */
static int get_table(struct perfctr_cpu_control *control, const void __user *arg, u32 size)
{
	unsigned int n = perfctr_nrctrs(control);

	return likely(size == sizeof(struct vperfctr_ctr)) ?
	       get_counters(control->ctr, arg, n) : get_other_counters(control->ctr, arg, n, size);
}

/* Copy and check the tables of a control for any kind, whose header has been copied. */
static noinline int get_kinds(struct perfctr_cpu_control *control,
			      const struct vperfctr_control *header)
{
	unsigned int i, nrctrs = perfctr_nrctrs(control);
	struct perfctr_cpu_kinds *kinds;
	int err = 0;

	kinds = kzalloc(struct_size(kinds, control, header->nrkinds), GFP_KERNEL_ACCOUNT);
	if (!kinds)
		return -ENOMEM;
	refcount_set(&kinds->refs, 1);
	kinds->nr = header->nrkinds;
	control->kinds = kinds;
	for (i = 0; i < kinds->nr && !err; i++) {
		struct perfctr_cpu_control *to = &kinds->control[i];

		memcpy(to, control, offsetof(struct perfctr_cpu_control, ctr));
		to->kind = i;
		err = get_table(to, perfctr_user_ptr(header->ctr +
				    (u64)i * nrctrs * header->ctr_size), header->ctr_size);
	}
	if (!err)
		err = perfctr_cpu_check_kinds(kinds);
	if (!err) {
		memcpy(control, &kinds->control[0], offsetof(struct perfctr_cpu_control, ctr));
		memcpy(control->ctr, kinds->control[0].ctr, nrctrs * sizeof(control->ctr[0]));
	}
	return err;
}

/*
 * Copy a control from user space, and check it.  Only what is used of *control is
 * initialized.  The caller must put control->kinds in any case.
 *
 * Return: 0, or an error of VPERFCTR_CONTROL.
 */
int vperfctr_get_control(struct vperfctr_control *header, struct perfctr_cpu_control *control,
			 const struct vperfctr_control __user *arg)
{
	int err;

	control->kinds = NULL;
	err = vperfctr_get_struct(header, sizeof(*header), arg, CONTROL_SIZE_VER0);
	if (!err)
		err = check_header(header);
	if (err)
		return err;

	control->tsc_on = header->tsc_on;
	control->nractrs = header->nractrs;
	control->nrictrs = header->nrictrs;
	control->kind = header->kind;
	control->global[0] = header->global[0];
	control->global[1] = header->global[1];
	if (likely(control->kind != VPERFCTR_ANY_KIND)) {
		err = get_table(control, perfctr_user_ptr(header->ctr), header->ctr_size);
		if (!err)
			err = perfctr_cpu_check_control(control);
	} else {
		err = get_kinds(control, header);
	}
	if (!err && control->kernel && !vperfctr_may_count_kernel())
		err = -EPERM;
	return err;
}

/* The argument of op_control() and op_stop(). */
struct change {
	struct vperfctr_control header;
	struct perfctr_cpu_control control;	/* only what is used is initialized */
	bool restricted;			/* some CPUs cannot count this */
	bool clock_kernel;			/* see vperfctr_may_clock_kernel() */
	struct vperfctr_state *root;		/* out: of a family that was left; put it */
	struct vperfctr_sampler *sampler;	/* out, with `root`: in that family; put it */
};

/*
 * Operations: see vperfctr_apply().  Where the owner is not current, it does not run, and
 * its counters start when it is switched in.
 */

static void start_if_own(struct vperfctr_state *st)
{
	if (st->owner == current)
		vperfctr_start(st);
}

/*
 * Take a member that gets a control of its own out of its family.  A close of that family's
 * root still waits for the end of the member's detachment: see vperfctr_flush_detached().
 */
static void become_root(struct vperfctr_state *st, struct change *change)
{
	struct vperfctr_state *root = st->root, *topmost;

	if (likely(!root))
		return;
	vperfctr_leave_family(st, true);
	topmost = root->topmost ?: root;
	vperfctr_get(topmost);
	WRITE_ONCE(st->topmost, topmost);
	change->root = root;
	change->sampler = vperfctr_ring_leave(st);
	smp_store_release(&st->root, NULL);	/* see vperfctr_dissolve_family() */
}

static int op_control(struct vperfctr_state *st, void *arg)
{
	struct change *change = arg;
	const struct vperfctr_control *header = &change->header;
	struct perfctr_cpu_kinds *old = st->cpu_state.control.kinds;
	int err;

	if (unlikely(st->checks & STATE_CHECK_JOINT)) {
		err = vperfctr_check_beside(st, &change->control);
		if (err)
			return err;
	}
	vperfctr_stop(st);
	vperfctr_overflow_last(st);
	vperfctr_clock_last(st);
	vperfctr_set_stop(st, STATE_STOP_IDLE);
	become_root(st, change);
	if (vperfctr_has_family(st))
		vperfctr_reset_family(st);
	perfctr_cpu_update_control(&st->cpu_state, &change->control, header->preserve);
	change->control.kinds = old;	/* the caller puts what the state does not keep */
	st->flags = header->flags;
	st->si_signo = header->si_signo;
	st->preserve = header->preserve;
	vperfctr_overflow_forget(st);
	/* Undo throttling.  The number of samples in this tick remains. */
	st->ring_shift = 0;
	st->checks &= STATE_CHECK_JOINT | STATE_CHECK_NARROW;
	if (change->restricted)
		st->checks |= STATE_CHECK_CPU;
	if (unlikely(st->clock.period | header->clock_period))
		vperfctr_clock_begin(st, header->clock_period, change->clock_kernel);
	clear_bit(STATE_FORBIDDEN, &st->bits);
	if (unlikely(st->soft | header->soft))
		vperfctr_soft_control(st, (u32)header->soft);
	vperfctr_set_stop(st, header->flags & VPERFCTR_CONTROL_START_ON_EXEC ?
			      STATE_STOP_EXEC : 0);
	start_if_own(st);
	return 0;
}

/* Refuse what op_control() will refuse because of other states, before anything ends. */
static int op_check(struct vperfctr_state *st, void *arg)
{
	const struct change *change = arg;

	return vperfctr_check_beside(st, &change->control);
}

/* The all-zero control: stop for good, and keep the sums and the last control. */
static int op_stop(struct vperfctr_state *st, void *arg)
{
	vperfctr_stop(st);
	vperfctr_overflow_last(st);
	vperfctr_clock_last(st);
	vperfctr_set_stop(st, STATE_STOP_IDLE);
	become_root(st, arg);
	perfctr_cpu_mark_suspended(&st->cpu_state);
	return 0;
}

/* True if the CPU can count the control, for any kind: by one of its tables. */
bool vperfctr_can_count(const struct perfctr_cpu_control *control, int cpu)
{
	const struct perfctr_cpu_kinds *kinds = control->kinds;
	unsigned int i;

	if (likely(!kinds))
		return !cpumask_test_cpu(cpu, perfctr_cpus_forbidden(control->kind)) &&
		       (!control->alone || vperfctr_is_alone(cpu));
	for (i = 0; i < kinds->nr; i++) {
		control = &kinds->control[i];
		if (!cpumask_test_cpu(cpu, perfctr_cpus_forbidden(i)) &&
		    (!control->alone || vperfctr_is_alone(cpu)))
			return true;
	}
	return false;
}

/*
 * Check that the affinity of current has only CPUs that can count the control.  The caller
 * of CONTROL changes it: no kernel lets a module respect the cpuset.
 *
 * Return: 0 or -EUSERS.
 */
static noinline int check_affinity(const struct perfctr_cpu_control *control)
{
	unsigned long flags;
	bool narrow = true;
	int cpu;

	/* Changes of the mask hold this lock. */
	raw_spin_lock_irqsave(&current->pi_lock, flags);
	for_each_cpu(cpu, &current->cpus_mask) {
		narrow = vperfctr_can_count(control, cpu);
		if (!narrow)
			break;
	}
	raw_spin_unlock_irqrestore(&current->pi_lock, flags);
	return narrow ? 0 : -EUSERS;
}

/*
 * True if some CPUs cannot count this, or need another table of it.  With several kinds,
 * CPUs of the others are forbidden to each.
 */
bool vperfctr_is_restricted(const struct perfctr_cpu_control *control)
{
	return perfctr_nrctrs(control) &&
	       (control->alone || !cpumask_empty(perfctr_cpus_forbidden(control->kind)));
}

/* Reserve what a control needs, and set it.  Context: may sleep; the caller holds st->lock. */
static int change_control(struct vperfctr_state *st, struct change *change)
{
	bool had_hardware = test_bit(STATE_HARDWARE, &st->bits);
	bool wants_hardware = perfctr_nrctrs(&change->control);
	bool stop = !wants_hardware && !change->control.tsc_on && !change->header.soft;
	bool wants_spares = STATE_ON_RT && (change->header.flags & VPERFCTR_CONTROL_INHERIT);
	int err = 0;

	if ((change->header.flags & VPERFCTR_CONTROL_RING) && !st->ring)
		return -EINVAL;
	change->restricted = vperfctr_is_restricted(&change->control);
	if (change->restricted && READ_ONCE(st->owner) == current &&
	    (change->header.flags & VPERFCTR_CONTROL_AFFINITY))
		err = check_affinity(&change->control);
	if (err)
		return err;
	/* A member that leaves its family can no longer count by the root's shares. */
	err = vperfctr_get_global(st);
	if (!err && wants_hardware)
		err = vperfctr_get_hardware(st) ?: perfctr_cpu_prepare();
	if (!err && wants_spares)
		err = vperfctr_get_spares(st);
	change->clock_kernel = unlikely(change->header.clock_period) &&
			       vperfctr_may_clock_kernel(&change->header);
	if (!err && unlikely(READ_ONCE(st->checks) & STATE_CHECK_JOINT))
		err = vperfctr_apply(st, op_check, change);
	if (!err) {
		vperfctr_dissolve_family(st);
		err = stop ? vperfctr_apply(st, op_stop, change) :
			     vperfctr_apply(st, op_control, change);
	}
	if (STATE_ON_RT && !err && !wants_spares)
		vperfctr_put_spares(st);
	/*
	 * Release a share that is not needed, or that came after the owner's end: the
	 * worker that finished the exit may not have seen it, whatever this has failed with.  If
	 * the owner has ended before the family was dissolved, the family still counts by an
	 * older share.
	 */
	if (err ? !had_hardware : !wants_hardware)
		vperfctr_release_hardware(st);
	else if (err)
		vperfctr_release_unused(st);
	return err;
}

/* Set a control that has been copied.  Context: may sleep. */
static int set_control(struct vperfctr_state *st, struct change *change)
{
	int err;

	/* A monitor must not change the owner's affinity, and a move must not kill the owner. */
	if (READ_ONCE(st->owner) != current)
		change->header.flags &= ~VPERFCTR_CONTROL_AFFINITY;
	change->root = NULL;
	if (mutex_lock_killable(&st->lock))
		return -EINTR;
	err = change_control(st, change);
	mutex_unlock(&st->lock);
	if (change->root) {
		vperfctr_release_unused(change->root);
		vperfctr_wake_if_over(change->root);
		vperfctr_ring_put(change->sampler);
		vperfctr_put(change->root);
	}
	return err;
}

int vperfctr_control(struct vperfctr_state *st, const struct vperfctr_control __user *arg)
{
	struct change on_stack __uninitialized, *change;
	int err;

	change = vperfctr_get_room(&on_stack, sizeof(on_stack));
	if (!change)
		return -ENOMEM;
	err = vperfctr_check_access(st);
	if (!err) {
		err = vperfctr_get_control(&change->header, &change->control, arg);
		if (!err)
			err = set_control(st, change);
		vperfctr_put_kinds(change->control.kinds);
	}
	vperfctr_put_room(change);
	return err;
}

/* Attach a new state, and set its control, which has been copied. */
static int attach_with_control(struct task_struct *task, struct vperfctr_state *st,
			       struct change *change)
{
	int err = 0;

	if (perfctr_nrctrs(&change->control))
		err = vperfctr_get_hardware(st);
	if (!err)
		err = vperfctr_open_thread(task, true, &st);
	if (err)
		return err;
	err = vperfctr_check_access(st) ?: set_control(st, change);
	/* The state ends with its only file, as that of a transient one. */
	if (err)
		set_bit(STATE_TRANSIENT, &st->bits);
	return err;
}

/* Refuse a copied control of a new state, where that does not depend on the state. */
static int check_first_control(const struct change *change)
{
	/* A new state has no ring. */
	if (change->header.flags & VPERFCTR_CONTROL_RING)
		return -EINVAL;
	return perfctr_nrctrs(&change->control) ? vperfctr_may_get_hardware() : 0;
}

static int open_with_change(struct task_struct *task, const struct vperfctr_open *req,
			    struct change *change, struct file **file)
{
	struct vperfctr_state *st;
	int err = check_first_control(change);

	if (err)
		return err;
	st = vperfctr_make_opened(req, file);
	if (IS_ERR(st))
		return PTR_ERR(st);
	err = attach_with_control(task, st, change);
	if (err)
		fput(*file);
	vperfctr_put(st);
	return err;
}

/*
 * Make a state, attach it to a thread, and set its control.  All checks that need no state come
 * first, then those that need no thread: attaching to another thread stops the machine.
 *
 * Context: may sleep; vperfctr_may_attach() has allowed it.
 * Return: 0, and the state's file; or an error of VPERFCTR_OPEN.
 */
int vperfctr_open_with_control(struct task_struct *task, const struct vperfctr_open *req,
			       struct file **file)
{
	struct change on_stack __uninitialized, *change;
	int err;

	change = vperfctr_get_room(&on_stack, sizeof(on_stack));
	if (!change)
		return -ENOMEM;
	err = vperfctr_get_control(&change->header, &change->control,
				   perfctr_user_ptr(req->control)) ?:
	      open_with_change(task, req, change, file);
	vperfctr_put_kinds(change->control.kinds);
	vperfctr_put_room(change);
	return err;
}

/* ---- suspend, resume, unlink -------------------------------------------- */

static int op_suspend(struct vperfctr_state *st, void *arg)
{
	if (st->stop & STATE_STOP_IDLE)
		return -EINVAL;
	if (!(st->stop & STATE_STOP_SUSPEND)) {
		vperfctr_stop(st);
		if (unlikely(st->pending))
			vperfctr_overflow_suspend(st);
		vperfctr_set_stop(st, st->stop | STATE_STOP_SUSPEND);
		perfctr_cpu_mark_suspended(&st->cpu_state);
	}
	return 0;
}

int vperfctr_suspend(struct vperfctr_state *st)
{
	return vperfctr_check_access(st) ?: vperfctr_apply(st, op_suspend, NULL);
}

static int op_resume(struct vperfctr_state *st, void *arg)
{
	if (st->stop & STATE_STOP_IDLE)
		return -EINVAL;
	vperfctr_set_stop(st, st->stop & ~(STATE_STOP_SUSPEND | STATE_STOP_CPU));
	start_if_own(st);
	return 0;
}

int vperfctr_resume(struct vperfctr_state *st)
{
	return vperfctr_check_access(st) ?: vperfctr_apply(st, op_resume, NULL);
}

static int op_unlink_own(struct vperfctr_state *st, void *arg)
{
	vperfctr_detach_current(st, true);
	return 0;
}

int vperfctr_unlink(struct vperfctr_state *st)
{
	int err = vperfctr_check_unlink(st);
	bool own;

	/* After the owner's end, any descriptor of the creator may dissolve the family. */
	if (err == -ESRCH && test_bit(STATE_GLOBAL, &st->bits) && !vperfctr_may_use(st))
		err = list_empty(&st->family) ? 0 : -EPERM;
	if (err == -EPERM)
		return err;
	if (mutex_lock_killable(&st->lock))
		return -EINTR;
	vperfctr_dissolve_family(st);
	own = READ_ONCE(st->owner) == current;
	err = own ? vperfctr_apply(st, op_unlink_own, NULL) : vperfctr_unlink_monitor(st);
	mutex_unlock(&st->lock);
	if (!err && own) {
		vperfctr_finish_detach(st, st->root);
		vperfctr_put_attachment(st);
	}
	vperfctr_flush_detached(st);
	return err == -ESRCH ? 0 : err;
}
