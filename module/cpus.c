// SPDX-License-Identifier: GPL-2.0
/*
 * Counting CPUs instead of threads: VPERFCTR_OPEN_CPUS.
 *
 * A set of CPUs has a slot for each: a state that is resumed on its CPU, and stays so until
 * the counting ends.  No thread's state with counters exists meanwhile, as
 * reservation.c gives the counters either to threads or to sets.  So context switches leave a
 * slot's counters alone, and have no code for them.
 *
 * Calls start, stop and sample the slots by interrupts of their CPUs.  CPUs that come and go
 * do the same for their own slots, by the events of the low-level driver.
 *
 * A slot that is `on` is changed by its CPU only, with interrupts disabled.  Calls turn it on
 * and off by an interrupt, and change the rest of it while it is off.  They hold the lock of
 * hotplug, so that no CPU comes or goes meanwhile.  A CPU may sleep and wake meanwhile, which
 * does nothing to a slot that is off.
 */
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/percpu.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/uaccess.h>

#include "alloc.h"
#include "compat/compiler.h"
#include "compat/hrtimer.h"
#include "control.h"
#include "cpus.h"
#include "files.h"
#include "page.h"
#include "permission.h"
#include "reservation.h"
#include "ring.h"
#include "state.h"
#include "thread.h"
#include "usercopy.h"

#define OPEN_CPUS_SIZE_VER0	24
#define READ_CPUS_SIZE_VER0	32

/*
 * Counters of 48 bits need this, as an idle or isolated CPU may never switch: 2^48 events take
 * 48 minutes at the rate that perfctr_sampling_ns() assumes.
 */
#define WIDE_SAMPLING_NS	(20ULL * 60 * NSEC_PER_SEC)

/* The counters of one CPU. */
struct cpu_slot {
	const struct vperfctr_cpus *set;
	unsigned int cpu;
	bool on;			/* counts while its CPU is present */
	bool present;			/* its CPU is online, with its driver ready */
	bool running;			/* its counters run */
	u32 status;			/* VPERFCTR_CPU_STATUS_*, without COUNTS */
	int err;			/* of prepare_here() */
	struct vperfctr_state *st;	/* of no thread: its cpu_state, and what samples need */
};

/* A set of CPUs: one open file. */
struct vperfctr_cpus {
	struct mutex lock;		/* held by calls; nests outside the lock of hotplug */
	struct cpumask mask;
	unsigned int nrcpus;
	bool active;			/* has the hardware, and its slots are published */
	bool suspended;
	struct perfctr_cpu_kinds *kinds; /* of the slots' controls; NULL: for one kind only */
	struct vperfctr_state *root;	/* has the ring; NULL: no ring; never changes after that */
	struct vperfctr_cpus_holder holder;	/* while it has the hardware */
	u64 sampled;			/* ktime_get_ns() before a READ last sampled all CPUs */
	struct cpu_slot *slots[];	/* in the order of CPUs */
};

/* The slot that counts this CPU, or NULL. */
static DEFINE_PER_CPU(struct cpu_slot *, slot_here);

/* Held to publish slots, and to withdraw them. */
static DEFINE_MUTEX(slots_mutex);

/* Samples the slot of its CPU before a counter can wrap twice. */
static DEFINE_PER_CPU(struct hrtimer, wrap_timer);

/* ---- on the CPU concerned ------------------------------------------------- */

/* All of these run with interrupts disabled. */

static ktime_t sampling_period(void)
{
	return ns_to_ktime(perfctr_cpu_sampling_ns ?: WIDE_SAMPLING_NS);
}

static struct perfctr_cpu_state *state_of(const struct cpu_slot *slot)
{
	return &slot->st->cpu_state;
}

static void sample_slot(struct cpu_slot *slot)
{
	if (!slot->running)
		return;
	vperfctr_cpu_begin_change();
	perfctr_cpu_sample(state_of(slot));
	vperfctr_cpu_end_change(slot->st);
}

static enum hrtimer_restart wrap_tick(struct hrtimer *timer)
{
	struct cpu_slot *slot = *this_cpu_ptr(&slot_here);

	if (!slot || !slot->on)
		return HRTIMER_NORESTART;
	sample_slot(slot);
	hrtimer_forward_now(timer, sampling_period());
	return HRTIMER_RESTART;
}

static void start_slot(struct cpu_slot *slot)
{
	if (!slot->on || !slot->present || slot->running)
		return;
	/* CONTROL has found a table for the kind of each CPU. */
	if (state_of(slot)->control.kinds && !perfctr_cpu_enter_kind(state_of(slot)))
		return;
	vperfctr_cpu_begin_change();
	WRITE_ONCE(slot->running, true);
	perfctr_cpu_resume(state_of(slot));
	vperfctr_cpu_end_change(slot->st);
}

static void stop_slot(struct cpu_slot *slot)
{
	if (!slot->running)
		return;
	vperfctr_cpu_begin_change();
	perfctr_cpu_suspend(state_of(slot));
	perfctr_cpu_mark_suspended(state_of(slot));	/* in its page */
	WRITE_ONCE(slot->running, false);
	if (state_of(slot)->control.nrictrs)
		vperfctr_cpu_last_sample(slot->st);
	vperfctr_cpu_end_change(slot->st);
}

/*
 * Note that the driver cannot count on the CPU of a slot, which has come online and is tried
 * again.
 *
 * Context: resume.
 * Return: false if the state is not that of a slot.
 */
bool vperfctr_cpus_refuse(const struct perfctr_cpu_state *state)
{
	struct cpu_slot *slot = *this_cpu_ptr(&slot_here);

	if (!slot || state != state_of(slot))
		return false;
	WRITE_ONCE(slot->running, false);
	WRITE_ONCE(slot->status, slot->status | VPERFCTR_CPU_STATUS_FAILED);
	return true;
}

static struct cpu_slot *own_slot(const void *set)
{
	struct cpu_slot *slot = *this_cpu_ptr(&slot_here);

	return slot && slot->set == set ? slot : NULL;
}

static void turn_on_here(void *set)
{
	struct cpu_slot *slot = own_slot(set);

	if (!slot)
		return;
	slot->on = true;
	start_slot(slot);
	hrtimer_start(this_cpu_ptr(&wrap_timer), sampling_period(), HRTIMER_MODE_REL_PINNED_HARD);
}

static void turn_off_here(void *set)
{
	struct cpu_slot *slot = own_slot(set);

	if (!slot)
		return;
	slot->on = false;
	stop_slot(slot);
	/* The handler does not run: the timer stays on this CPU, with interrupts disabled. */
	hrtimer_cancel(this_cpu_ptr(&wrap_timer));
}

static void withdraw_here(void *set)
{
	if (own_slot(set))
		WRITE_ONCE(*this_cpu_ptr(&slot_here), NULL);
}

static void sample_here(void *set)
{
	struct cpu_slot *slot = own_slot(set);

	if (slot)
		sample_slot(slot);
}

static void prepare_here(void *set)
{
	struct cpu_slot *slot = own_slot(set);

	if (slot)
		slot->err = perfctr_cpu_prepare() ?:
			    (perfctr_isolate && perfctr_cpu_user_reads() ? -EACCES : 0);
}

/* ---- CPUs that come and go ------------------------------------------------- */

/* Continue or interrupt the counting of a CPU that comes or goes: see perfctr_cpu_watcher. */
static void watch_cpu(enum perfctr_cpu_event event)
{
	struct cpu_slot *slot = *this_cpu_ptr(&slot_here);

	if (!slot)
		return;
	switch (event) {
	case PERFCTR_CPU_ONLINE:
		slot->present = true;
		if (slot->on)
			turn_on_here((void *)slot->set);
		break;
	case PERFCTR_CPU_OFFLINE:
		stop_slot(slot);
		hrtimer_cancel(this_cpu_ptr(&wrap_timer));
		slot->present = false;
		WRITE_ONCE(slot->status, slot->status | VPERFCTR_CPU_STATUS_OFFLINE);
		break;
	case PERFCTR_CPU_SLEEPS:
		/* The timer stays: the idle task has programmed the clock by now. */
		stop_slot(slot);
		break;
	case PERFCTR_CPU_WAKES:
		start_slot(slot);
		break;
	}
}

/*
 * Stop the counting of the only CPU that is still online: it is about to sleep with the system.
 *
 * Context: as for a perfctr_cpu_watcher.
 */
void vperfctr_cpus_sleep(void)
{
	watch_cpu(PERFCTR_CPU_SLEEPS);
}

void vperfctr_cpus_wake(void)
{
	watch_cpu(PERFCTR_CPU_WAKES);
}

/* ---- slots ------------------------------------------------------------------ */

/* Call a function on the CPUs of the set that are online.  Context: cpus_read_lock() held. */
static void on_cpus(struct vperfctr_cpus *set, void (*func)(void *))
{
	on_each_cpu_mask(&set->mask, func, set, 1);
}

/* Start or stop the counting.  Context: as for on_cpus(); the slots are published. */
static void turn(struct vperfctr_cpus *set, bool on)
{
	unsigned int i;

	on_cpus(set, on ? turn_on_here : turn_off_here);
	for (i = 0; i < set->nrcpus; i++) {
		if (!set->slots[i]->present)
			set->slots[i]->on = on;
	}
}

/* Account for the overflows since the last sample by this control.  Context: the slots are off. */
static void end_samples(struct vperfctr_cpus *set)
{
	unsigned int i;

	for (i = 0; i < set->nrcpus; i++) {
		struct vperfctr_state *st = set->slots[i]->st;

		if (st->cpu_state.control.nrictrs)
			vperfctr_ring_drop(st, perfctr_cpu_skipped(&st->cpu_state));
	}
}

/* Let readers of the ring see what is there: they need not wait for more. */
static void wake_readers(struct vperfctr_cpus *set)
{
	if (set->root)
		wake_up_poll(&set->root->wait, EPOLLIN | EPOLLRDNORM);
}

/*
 * End the counting.  Each CPU withdraws its own slot, as it may be looking at it.
 *
 * Context: cpus_read_lock() held.
 */
static void withdraw_slots(struct vperfctr_cpus *set)
{
	unsigned int i;

	turn(set, false);
	end_samples(set);
	on_cpus(set, withdraw_here);
	mutex_lock(&slots_mutex);
	for (i = 0; i < set->nrcpus; i++) {
		if (!set->slots[i]->present)
			*per_cpu_ptr(&slot_here, set->slots[i]->cpu) = NULL;
	}
	mutex_unlock(&slots_mutex);
}

/*
 * Make the slots known to their CPUs.  They do nothing before they are on.
 *
 * Context: cpus_read_lock() held.
 * Return: 0, or -EBUSY if another set counts one of the CPUs.
 */
static int publish_slots(struct vperfctr_cpus *set)
{
	unsigned int i;
	int err = 0;

	mutex_lock(&slots_mutex);
	for (i = 0; i < set->nrcpus && !err; i++) {
		/* Another set may be leaving it. */
		if (READ_ONCE(*per_cpu_ptr(&slot_here, set->slots[i]->cpu)))
			err = -EBUSY;
	}
	for (i = 0; i < set->nrcpus && !err; i++) {
		struct cpu_slot *slot = set->slots[i];

		slot->present = cpumask_test_cpu(slot->cpu, cpu_online_mask);
		/* Its CPU may look at it at once, as it goes to sleep. */
		smp_store_release(per_cpu_ptr(&slot_here, slot->cpu), slot);
	}
	mutex_unlock(&slots_mutex);
	return err;
}

static void free_set(struct vperfctr_cpus *set)
{
	unsigned int i;

	for (i = 0; i < set->nrcpus; i++) {
		/* The set has the reference. */
		set->slots[i]->st->cpu_state.control.kinds = NULL;
		vperfctr_put(set->slots[i]->st);
		kfree(set->slots[i]);
	}
	/* After them: their samplers refer to its ring. */
	if (set->root)
		vperfctr_put(set->root);
	vperfctr_put_kinds(set->kinds);
	kfree(set);
}

/* Make the slot of a CPU, which counts nothing yet.  Context: may sleep. */
static struct cpu_slot *make_slot(struct vperfctr_cpus *set, unsigned int cpu)
{
	struct cpu_slot *slot = kzalloc(sizeof(*slot), GFP_KERNEL_ACCOUNT);

	if (!slot)
		return NULL;
	slot->st = vperfctr_state_create_unowned(false);
	if (IS_ERR(slot->st))
		goto free;
	if (vperfctr_page_make(slot->st))
		goto put;
	slot->set = set;
	slot->cpu = cpu;
	return slot;
put:
	vperfctr_put(slot->st);
free:
	kfree(slot);
	return NULL;
}

/* Make a set with a slot for each CPU.  Return: the set, which has the mask, or an ERR_PTR(). */
static struct vperfctr_cpus *make_set(const struct cpumask *mask)
{
	unsigned int cpu, nr = cpumask_weight(mask);
	struct vperfctr_cpus *set;

	set = kzalloc(struct_size(set, slots, nr), GFP_KERNEL_ACCOUNT);
	if (!set)
		return ERR_PTR(-ENOMEM);
	mutex_init(&set->lock);
	cpumask_copy(&set->mask, mask);
	for_each_cpu(cpu, mask) {
		struct cpu_slot *slot = make_slot(set, cpu);

		if (!slot) {
			free_set(set);
			return ERR_PTR(-ENOMEM);
		}
		set->slots[set->nrcpus++] = slot;
	}
	return set;
}

/* ---- control, suspend, resume --------------------------------------------- */

/* Release the hardware of a set, whose slots need not have been published. */
static void give_up(struct vperfctr_cpus *set)
{
	if (set->active) {
		cpus_read_lock();
		withdraw_slots(set);
		cpus_read_unlock();
	}
	vperfctr_release_cpu_hardware(&set->holder);
	WRITE_ONCE(set->active, false);
	WRITE_ONCE(set->suspended, false);
	wake_readers(set);
}

/* End the counting, if there is any. */
static void deactivate(struct vperfctr_cpus *set)
{
	if (set->active)
		give_up(set);
}

/*
 * Let each CPU of the set check that its counters work.
 *
 * Context: cpus_read_lock() held; the slots are published.
 * Return: 0 or an errno.
 */
static int prepare_cpus(struct vperfctr_cpus *set)
{
	unsigned int i;
	int err = 0;

	on_cpus(set, prepare_here);
	if (perfctr_cpu_close_reads())
		on_cpus(set, prepare_here);
	for (i = 0; i < set->nrcpus && !err; i++) {
		if (set->slots[i]->present)
			err = set->slots[i]->err;
	}
	return err;
}

/*
 * Take the hardware, and prepare the CPUs.  A set that is active may have a CPU that came
 * online later, and failed.
 *
 * Context: cpus_read_lock() is not held: the reservation acquires it.
 * Return: 0, or an error of VPERFCTR_CONTROL; then nothing has changed.
 */
static int activate(struct vperfctr_cpus *set)
{
	bool was_active = set->active;
	int err = 0;

	if (!was_active) {
		err = vperfctr_get_cpu_hardware(&set->holder, vperfctr_cpus_overflow);
		/* A thread that has just ended leaves the end of its share to a worker. */
		if (err == -EBUSY) {
			vperfctr_flush_all_detached();
			err = vperfctr_get_cpu_hardware(&set->holder, vperfctr_cpus_overflow);
		}
	}
	if (err)
		return err;
	cpus_read_lock();
	if (!was_active)
		err = publish_slots(set);
	WRITE_ONCE(set->active, !err);
	if (!err)
		err = prepare_cpus(set);
	cpus_read_unlock();
	if (err && !was_active)
		give_up(set);
	return err;
}

static void install_control(struct vperfctr_cpus *set, struct perfctr_cpu_control *control,
			    const struct vperfctr_control *header)
{
	struct perfctr_cpu_kinds *old = set->kinds;
	unsigned int i;

	cpus_read_lock();
	turn(set, false);
	end_samples(set);
	for (i = 0; i < set->nrcpus; i++) {
		struct cpu_slot *slot = set->slots[i];

		perfctr_cpu_update_control(state_of(slot), control, header->preserve);
		slot->st->flags = header->flags;
		slot->st->ring_shift = 0;
		slot->status = slot->present ? 0 : VPERFCTR_CPU_STATUS_OFFLINE;
	}
	turn(set, true);
	cpus_read_unlock();
	set->kinds = control->kinds;
	control->kinds = old;	/* the caller puts it */
	WRITE_ONCE(set->suspended, false);
}

/* True if an event must not be counted while a hyper-thread sibling is online. */
static bool must_be_alone(const struct perfctr_cpu_control *control)
{
	const struct perfctr_cpu_kinds *kinds = control->kinds;
	unsigned int i;

	for (i = 0; kinds && i < kinds->nr; i++) {
		if (kinds->control[i].alone)
			return true;
	}
	return control->alone;
}

/* Check what a control for CPUs must have beside a thread's.  Return: 0 or an errno. */
static int check_control(const struct vperfctr_cpus *set, const struct vperfctr_control *header,
			 const struct perfctr_cpu_control *control)
{
	unsigned int cpu;

	if ((header->flags & ~VPERFCTR_CONTROL_RING) || header->soft || header->clock_period ||
	    (header->tsc_on && !perfctr_nrctrs(control)))
		return -EINVAL;
	/* A set of CPUs has no thread to send a signal to, and no IRESUME. */
	if (!(header->flags & VPERFCTR_CONTROL_RING) != !control->nrictrs)
		return -EINVAL;
	/* Siblings come online at any time. */
	if (must_be_alone(control))
		return -EOPNOTSUPP;
	if (!perfctr_nrctrs(control))
		return 0;
	for_each_cpu(cpu, &set->mask) {
		if (!vperfctr_can_count(control, cpu))
			return -EUSERS;
	}
	return 0;
}

/*
 * Connect all slots with the ring, for a control that makes samples.
 *
 * Context: may sleep; the caller holds set->lock.
 * Return: 0, -EINVAL or -ENOMEM.
 */
static int begin_samples(struct vperfctr_cpus *set)
{
	unsigned int i;
	/* Acquire: VPERFCTR_RING, which does not hold set->lock, has set the sampler before. */
	int err = set->root && smp_load_acquire(&set->root->ring) ? 0 : -EINVAL;

	for (i = 0; i < set->nrcpus && !err; i++)
		err = vperfctr_cpu_samples_begin(set->slots[i]->st, set->root);
	return err;
}

/* Set a control that has been checked.  Context: may sleep; the caller holds set->lock. */
static int change_control(struct vperfctr_cpus *set, const struct vperfctr_control *header,
			  struct perfctr_cpu_control *control)
{
	int err = 0;

	if (!perfctr_nrctrs(control)) {
		deactivate(set);
		return 0;
	}
	if (control->nrictrs)
		err = begin_samples(set);
	if (!err)
		err = activate(set);
	if (!err)
		install_control(set, control, header);
	return err;
}

static int set_control(struct vperfctr_cpus *set, const struct vperfctr_control __user *arg)
{
	struct perfctr_cpu_control on_stack __uninitialized, *control;
	struct vperfctr_control header;
	int err;

	control = vperfctr_get_room(&on_stack, sizeof(on_stack));
	if (!control)
		return -ENOMEM;
	err = vperfctr_get_control(&header, control, arg);
	if (!err)
		err = check_control(set, &header, control);
	if (!err && mutex_lock_killable(&set->lock))
		err = -EINTR;
	if (!err) {
		err = change_control(set, &header, control);
		mutex_unlock(&set->lock);
	}
	vperfctr_put_kinds(control->kinds);
	vperfctr_put_room(control);
	return err;
}

static int set_suspend(struct vperfctr_cpus *set, bool suspend)
{
	int err = 0;

	if (mutex_lock_killable(&set->lock))
		return -EINTR;
	if (!set->active) {
		err = -EINVAL;
	} else if (set->suspended != suspend) {
		cpus_read_lock();
		turn(set, !suspend);
		cpus_read_unlock();
		WRITE_ONCE(set->suspended, suspend);
		if (suspend)
			wake_readers(set);
	}
	mutex_unlock(&set->lock);
	return err;
}

/* ---- the ring ----------------------------------------------------------------- */

/* Return the state that has the ring, or NULL. */
static struct vperfctr_state *ring_root(const struct vperfctr_cpus *set)
{
	return smp_load_acquire(&set->root);	/* pairs with make_root() */
}

/*
 * Make the state that has the ring of the set, unless there is one.
 *
 * Context: may sleep; the caller holds set->lock.
 * Return: 0 or an errno.
 */
static int make_root(struct vperfctr_cpus *set)
{
	struct vperfctr_state *root;

	if (set->root)
		return 0;
	root = vperfctr_state_create_unowned(true);
	if (IS_ERR(root))
		return PTR_ERR(root);
	smp_store_release(&set->root, root);	/* all of it is visible: see ring_root() */
	return 0;
}

static int set_ring(struct vperfctr_cpus *set, struct vperfctr_ring __user *arg)
{
	struct vperfctr_ring req;
	int err;

	if (!(perfctr_cpu_info.features & VPERFCTR_FEATURE_PCINT))
		return -EOPNOTSUPP;
	err = vperfctr_ring_get(&req, arg);
	if (err)
		return err;
	/* Records are those of threads that have states. */
	if (req.flags & VPERFCTR_RING_RECORDS)
		return -EOPNOTSUPP;
	if (mutex_lock_killable(&set->lock))
		return -EINTR;
	err = make_root(set);
	mutex_unlock(&set->lock);
	/* A large ring may have to wait for the user's budget of stops. */
	err = err ?: vperfctr_ring_charge(set->root, &req, arg);
	return err ?: vperfctr_ring_create(set->root, &req, arg, 0);
}

static int set_consume(const struct vperfctr_cpus *set, unsigned long nr)
{
	struct vperfctr_state *root = ring_root(set);

	return root ? vperfctr_consume(root, nr) : -EINVAL;
}

/* Map the page of a CPU.  The offset is less than the number of CPUs. */
static int map_slot(const struct vperfctr_cpus *set, struct vm_area_struct *vma)
{
	unsigned long i = array_index_nospec(vma->vm_pgoff, set->nrcpus);

	return vperfctr_page_mmap_cpu(set->slots[i]->st, vma);
}

/* Map the ring, or a page: page i is that of the i-th CPU. */
static int set_mmap(struct file *file, struct vm_area_struct *vma)
{
	const struct vperfctr_cpus *set = file->private_data;
	struct vperfctr_state *root = ring_root(set);
	int err = vperfctr_check_vma(vma);

	if (err)
		return err;
	if (vma->vm_pgoff < set->nrcpus && vma->vm_pgoff < VPERFCTR_RING_OFFSET >> PAGE_SHIFT)
		return map_slot(set, vma);
	if (!root || vma->vm_pgoff != VPERFCTR_RING_OFFSET >> PAGE_SHIFT)
		return -EINVAL;
	return vperfctr_map_ring(root, vma);
}

static __poll_t set_poll(struct file *file, struct poll_table_struct *wait)
{
	const struct vperfctr_cpus *set = file->private_data;
	struct vperfctr_state *root = ring_root(set);
	bool over;

	if (!root)
		return EPOLLERR;
	poll_wait(file, &root->wait, wait);
	smp_mb();	/* as in vperfctr_file_poll() */
	over = !READ_ONCE(set->active) || READ_ONCE(set->suspended);
	return vperfctr_ring_ready(root, over) ? EPOLLIN | EPOLLRDNORM : 0;
}

/* ---- read ------------------------------------------------------------------- */

static u32 status_of(const struct vperfctr_cpus *set)
{
	return (set->active ? VPERFCTR_STATUS_ACTIVE : 0) |
	       (set->suspended ? VPERFCTR_STATUS_SUSPENDED : 0);
}

/* Copy the sums of a slot, which its CPU may be updating.  Return: their number. */
static unsigned int copy_sums(const struct cpu_slot *slot, u64 *sums)
{
	const struct vperfctr_page *page = slot->st->cpu_state.page;
	unsigned int i, n = perfctr_nrctrs(&slot->st->cpu_state.control);
	u32 samplecount;

	for (;;) {
		samplecount = READ_ONCE(page->samplecount);
		smp_rmb();	/* pairs with the smp_wmb()s of the writer */
		sums[0] = READ_ONCE(page->tsc_sum);
		for (i = 0; i < n; i++)
			sums[1 + i] = READ_ONCE(page->ctr[i].sum);
		smp_rmb();	/* pairs in the same way */
		if (!(samplecount & 1) && READ_ONCE(page->samplecount) == samplecount)
			return 1 + n;
		cpu_relax();
	}
}

/* All that READ_CPUS returns, as it is at one moment. */
struct cpus_reading {
	unsigned int nrcpus, nrctrs;
	u32 status;
	u64 *sums;		/* 1 + nrctrs of each CPU; NULL: not allocated */
	struct vperfctr_cpu *cpus;	/* in the same memory */
};

static_assert(sizeof(struct vperfctr_cpu) == sizeof(u64));

/*
 * Context: may sleep, also because the caller's memory cgroup is full: no lock is held.
 * Return: false if there is no memory.
 */
static bool alloc_reading(struct cpus_reading *r, unsigned int max_ctrs)
{
	/* There are not more CPUs than Linux has, nor more counters than VPERFCTR_MAX_CTRS. */
	unsigned int nrsums = r->nrcpus * (1 + max_ctrs);

	r->sums = kvmalloc_array(nrsums + r->nrcpus, sizeof(*r->sums),
				 GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!r->sums)
		return false;
	r->cpus = (struct vperfctr_cpu *)(r->sums + nrsums);
	return true;
}

/*
 * A READ interrupts all CPUs of the set.  Callers who may not count CPUs themselves can cause that
 * once in this time, together: the CPUs are those of strangers, and may be isolated ones.
 */
#define READ_SPACING_NS	(50 * NSEC_PER_MSEC)

/*
 * Find out how long a READ must wait before it may interrupt the CPUs.
 *
 * Context: the caller holds set->lock.
 * Return: the time in ns; 0: it need not wait.
 */
static u64 time_to_wait(const struct vperfctr_cpus *set)
{
	u64 now = ktime_get_ns();

	if (!set->sampled || now >= set->sampled + READ_SPACING_NS || vperfctr_may_disturb())
		return 0;
	return set->sampled + READ_SPACING_NS - now;
}

/*
 * True if a READ that began at this time needs no sample of its own: nothing counts, or another
 * one has sampled since.  The clock does not tell which of two equal times was first.
 */
static bool is_up_to_date(const struct vperfctr_cpus *set, u64 begun)
{
	return !set->active || set->suspended || set->sampled > begun;
}

static void sample_all(struct vperfctr_cpus *set)
{
	set->sampled = ktime_get_ns();
	cpus_read_lock();
	on_cpus(set, sample_here);
	cpus_read_unlock();
}

/* Copy what the last sample of each CPU has left.  Context: the caller holds set->lock. */
static void fill_reading(struct vperfctr_cpus *set, struct cpus_reading *r)
{
	u64 *sums = r->sums;
	unsigned int i;

	r->status = status_of(set);
	for (i = 0; i < set->nrcpus; i++) {
		const struct cpu_slot *slot = set->slots[i];

		r->cpus[i].cpu = slot->cpu;
		r->cpus[i].status = READ_ONCE(slot->status) |
				    (READ_ONCE(slot->running) ? VPERFCTR_CPU_STATUS_COUNTS : 0);
		sums += copy_sums(slot, sums);
	}
}

/*
 * Read as fill_reading() does, after a sample that has begun after the READ has.
 *
 * Return: 0 or -EOVERFLOW; or how long to wait before the next attempt, in ns.
 */
static s64 try_reading(struct vperfctr_cpus *set, struct cpus_reading *r, unsigned int max_ctrs,
		       u64 begun)
{
	r->nrctrs = perfctr_nrctrs(&set->slots[0]->st->cpu_state.control);
	if (!r->sums || max_ctrs < r->nrctrs)
		return -EOVERFLOW;
	if (!is_up_to_date(set, begun)) {
		u64 wait = time_to_wait(set);

		if (wait)
			return wait;
		sample_all(set);
	}
	fill_reading(set, r);
	return 0;
}

/*
 * Collect what READ_CPUS returns in kernel memory, as READ does for a thread: any holder of the
 * descriptor may call it, and must not keep the lock from those who control the set.  The caller
 * frees the memory.
 *
 * Return: 0, -EINTR, -ENOMEM, or -EOVERFLOW; the numbers are then valid.
 */
static int take_reading(struct vperfctr_cpus *set, const struct vperfctr_read_cpus *req,
			struct cpus_reading *r)
{
	unsigned int max_ctrs = min_t(unsigned int, req->nrctrs, VPERFCTR_MAX_CTRS);
	u64 begun = ktime_get_ns();
	s64 ret;

	r->nrcpus = set->nrcpus;	/* never changes */
	if (req->nrcpus >= r->nrcpus && !alloc_reading(r, max_ctrs))
		return -ENOMEM;
	for (;;) {
		if (mutex_lock_killable(&set->lock))
			return -EINTR;
		ret = try_reading(set, r, max_ctrs, begun);
		mutex_unlock(&set->lock);
		if (ret <= 0)
			return (int)ret;
		schedule_timeout_killable(nsecs_to_jiffies(ret) + 1);
		if (fatal_signal_pending(current))
			return -EINTR;
	}
}

static int put_numbers(struct vperfctr_read_cpus __user *arg, const struct cpus_reading *r)
{
	return put_user(r->nrcpus, &arg->nrcpus) || put_user(r->nrctrs, &arg->nrctrs) ? -EFAULT : 0;
}

/* Context: no lock is held: user space may delay a fault for as long as it likes. */
static int write_reading(const struct cpus_reading *r, const struct vperfctr_read_cpus *req,
			 struct vperfctr_read_cpus __user *arg)
{
	if (put_numbers(arg, r) || put_user(r->status, &arg->status))
		return -EFAULT;
	if (req->cpus && copy_to_user(perfctr_user_ptr(req->cpus), r->cpus,
				      r->nrcpus * sizeof(*r->cpus)))
		return -EFAULT;
	if (req->sums && copy_to_user(perfctr_user_ptr(req->sums), r->sums,
				      r->nrcpus * (1 + r->nrctrs) * sizeof(*r->sums)))
		return -EFAULT;
	return 0;
}

static int set_read(struct vperfctr_cpus *set, struct vperfctr_read_cpus __user *arg)
{
	struct cpus_reading reading = { .sums = NULL };
	struct vperfctr_read_cpus req;
	int err;

	err = vperfctr_get_struct(&req, sizeof(req), arg, READ_CPUS_SIZE_VER0);
	if (err)
		return err;
	err = take_reading(set, &req, &reading);
	if (!err)
		err = write_reading(&reading, &req, arg);
	else if (err == -EOVERFLOW)
		err = put_numbers(arg, &reading) ?: err;
	kvfree(reading.sums);
	return err;
}

/* ---- the file ------------------------------------------------------------------ */

static long set_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct vperfctr_cpus *set = file->private_data;

	if (cmd == VPERFCTR_READ_CPUS)
		return set_read(set, (void __user *)arg);
	if (cmd == VPERFCTR_CONSUME)
		return set_consume(set, arg);
	if (cmd != VPERFCTR_CONTROL && cmd != VPERFCTR_SUSPEND && cmd != VPERFCTR_RESUME &&
	    cmd != VPERFCTR_RING)
		return -ENOTTY;
	if (!perfmon_capable())
		return -EPERM;
	if (cmd == VPERFCTR_CONTROL)
		return set_control(set, (void __user *)arg);
	if (cmd == VPERFCTR_RING)
		return set_ring(set, (void __user *)arg);
	return arg ? -EINVAL : set_suspend(set, cmd == VPERFCTR_SUSPEND);
}

static int set_release(struct inode *inode, struct file *file)
{
	struct vperfctr_cpus *set = file->private_data;

	deactivate(set);
	free_set(set);
	return 0;
}

static void set_show(struct seq_file *m, struct file *file)
{
	struct vperfctr_cpus *set = file->private_data;
	unsigned int i;
	u32 status;

	if (mutex_lock_killable(&set->lock))
		return;
	status = status_of(set);
	mutex_unlock(&set->lock);
	seq_printf(m, "vperfctr-cpus:\t%u", set->slots[0]->cpu);
	for (i = 1; i < set->nrcpus; i++)
		seq_printf(m, ",%u", set->slots[i]->cpu);
	seq_printf(m, "\nvperfctr-status:\t0x%x\n", status);
}

static const struct file_operations set_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= set_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.mmap		= set_mmap,
	.poll		= set_poll,
	.release	= set_release,
	.show_fdinfo	= set_show,
};

/* Add the CPUs of one word to the mask.  Return: 0, or -ENODEV if one does not exist. */
static int add_word(struct cpumask *mask, unsigned int first, u32 word)
{
	unsigned int bit;

	for (bit = 0; bit < 32; bit++) {
		if (!(word & BIT(bit)))
			continue;
		if (first + bit >= nr_cpu_ids || !cpu_possible(first + bit))
			return -ENODEV;
		cpumask_set_cpu(first + bit, mask);
	}
	return 0;
}

static int get_mask(struct cpumask *mask, const u32 __user *words, u32 nrwords)
{
	u32 i, word;
	int err = 0;

	cpumask_clear(mask);
	for (i = 0; i < nrwords && !err; i++) {
		if (get_user(word, &words[i]))
			return -EFAULT;
		err = add_word(mask, i * 32, word);
	}
	return err ?: cpumask_empty(mask) ? -EINVAL : 0;
}

/* Make a set of the CPUs that the caller names.  Return: the set, or an ERR_PTR(). */
static struct vperfctr_cpus *get_set(const struct vperfctr_open_cpus *req)
{
	struct vperfctr_cpus *set;
	cpumask_var_t mask;
	int err;

	if (!alloc_cpumask_var(&mask, GFP_KERNEL))
		return ERR_PTR(-ENOMEM);
	err = get_mask(mask, perfctr_user_ptr(req->mask), req->nrwords);
	set = err ? ERR_PTR(err) : make_set(mask);
	free_cpumask_var(mask);
	return set;
}

/* Install a descriptor of the set.  Return: it, or an errno; then the set is gone. */
static int install_set(struct vperfctr_cpus *set, u32 flags,
		       struct vperfctr_open_cpus __user *arg)
{
	unsigned int nrcpus = set->nrcpus;
	struct file *file;
	int fd;

	file = anon_inode_getfile("[vperfctr-cpus]", &set_fops, set, O_RDONLY);
	if (IS_ERR(file)) {
		free_set(set);
		return PTR_ERR(file);
	}
	fd = get_unused_fd_flags(flags & VPERFCTR_OPEN_CPUS_NOCLOEXEC ? 0 : O_CLOEXEC);
	if (fd >= 0 && put_user(nrcpus, &arg->nrcpus)) {
		put_unused_fd(fd);
		fd = -EFAULT;
	}
	if (fd < 0)
		fput(file);
	else
		fd_install(fd, file);
	return fd;
}

int vperfctr_open_cpus_ioctl(struct vperfctr_open_cpus __user *arg)
{
	struct vperfctr_open_cpus req;
	struct vperfctr_cpus *set;
	int err;

	if (!perfmon_capable())
		return -EPERM;
	err = vperfctr_get_struct(&req, sizeof(req), arg, OPEN_CPUS_SIZE_VER0);
	if (err)
		return err;
	if ((req.flags & ~VPERFCTR_OPEN_CPUS_NOCLOEXEC) || req.nrcpus || !req.nrwords ||
	    req.nrwords > VPERFCTR_CPUS_MAX_WORDS)
		return -EINVAL;
	if (!(perfctr_cpu_info.features & VPERFCTR_FEATURE_CPUS))
		return -EOPNOTSUPP;
	set = get_set(&req);
	return IS_ERR(set) ? PTR_ERR(set) : install_set(set, req.flags, arg);
}

/* Context: before perfctr_cpu_init(). */
void __init vperfctr_cpus_init(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_setup(per_cpu_ptr(&wrap_timer, cpu), wrap_tick, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
	perfctr_cpu_set_watcher(watch_cpu);
}
