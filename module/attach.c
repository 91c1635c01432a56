// SPDX-License-Identifier: GPL-2.0
/*
 * VPERFCTR_ATTACH: count a running process without ptrace.
 *
 * Its threads get their states in stops of the machine, a few threads in each, so that no
 * stop takes long.  No thread runs then, and each has been through its sched_out: see remote.c.
 *
 * The right to do so is proved by a descriptor of /proc/PID/mem.  When it was opened, the
 * kernel checked the rights that ptrace needs, security modules included.  The
 * descriptor stands for one mm, and its holder can read all memory of the process.
 * So only threads that have this mm are attached to.  A thread that has executed a file
 * since the open has another one.
 *
 * None gets two states, as only a stop gives one, and looks for it first.  One that a stop has
 * visited is not visited again, so one whose state is unlinked meanwhile gets no other.  None is
 * missed, if the control is inherited: the threads without a state are looked for, and get theirs,
 * until none is found.  fork() first adds a new thread to its process's list, then calls the
 * fork probe, then lets the thread run.  Take a thread that the last walk of the list has
 * not found.  Its parent, a thread of the same process, has been given a state by then, or is such
 * a thread itself.  The stop that gave the parent its state came
 *
 *	before the probe, which gave the thread a state, or found the one that it had.  The
 *	end of the set may detach that at the same time: see thread.c.
 *
 *	after the probe, so that the thread was in the list at the last walk.  Walks find all
 *	that is in the list from their begin to their end.
 *
 * A parent that was refused, or whose state has been unlinked since, has nothing to inherit: what
 * it starts after the last walk is not counted.
 *
 * A thread that is ending either has passed its exit probe, and is skipped here, or will
 * pass it and leaves the family there.  exit() sets PF_EXITING before the probe.
 */
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/dcache.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/magic.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/stddef.h>
#include <linux/stop_machine.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "account.h"
#include "alloc.h"
#include "compat/compiler.h"
#include "control.h"
#include "family.h"
#include "files.h"
#include "overflow.h"
#include "reservation.h"
#include "ring.h"
#include "software.h"
#include "state.h"
#include "thread.h"
#include "usercopy.h"

#define ATTACH_SIZE_VER0	32
#define ATTACH_FLAGS	(VPERFCTR_ATTACH_THREAD | VPERFCTR_ATTACH_NOCLOEXEC | \
			 VPERFCTR_ATTACH_LOCKED | VPERFCTR_ATTACH_OBSERVER)

/* The layout is ABI and must not change. */
static_assert(offsetof(struct vperfctr_attach, ring) == ATTACH_SIZE_VER0);

/* A control that a set can have: a signal belongs to one thread, an exec to its owner. */
#define CONTROL_FLAGS	(VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_INHERIT_THREADS | \
			 VPERFCTR_CONTROL_RING | VPERFCTR_CONTROL_SPREAD)

/* ---- the proof ---------------------------------------------------------- */

static bool has_name(const struct dentry *dentry, const char *name)
{
	return !strcmp(dentry->d_name.name, name);
}

/*
 * Find the mm that a file /proc/PID/mem stands for.
 *
 * The file is known by the file system and by its name there, which is the same wherever
 * it is mounted.  procfs renames nothing.  In other files private_data is something else,
 * or an mm for which fewer rights were checked.  The mm is only compared.
 *
 * Return: the mm; NULL if it is that of a kernel thread; or an ERR_PTR() if this is
 * another file.
 */
static const struct mm_struct *mm_of_file(const struct file *file)
{
	const struct dentry *dentry = file->f_path.dentry;
	const struct dentry *dir = dentry->d_parent;

	if (dentry->d_sb->s_magic != PROC_SUPER_MAGIC || !(file->f_mode & FMODE_READ) ||
	    !has_name(dentry, "mem") || !isdigit(dir->d_name.name[0]))
		return ERR_PTR(-EINVAL);
	/* /proc/PID/mem or /proc/PID/task/TID/mem */
	if (!IS_ROOT(dir->d_parent) && !has_name(dir->d_parent, "task"))
		return ERR_PTR(-EINVAL);
	return file->private_data;
}

/* ---- the threads -------------------------------------------------------- */

/* A thread that was to be attached to, in this round or in an earlier one. */
struct known {
	struct task_struct *task;	/* with get_task_struct(), or NULL in `old` */
	bool refused;			/* it cannot be given a state */
};

struct attach {
	struct task_struct *task;	/* of the process */
	bool only;			/* attach to no other thread */
	const struct mm_struct *mm;
	struct vperfctr_state *root;
	struct list_head spare;		/* members without a thread, linked by `family` */
	unsigned int nrspare;
	unsigned int nrpaid, nrstops;	/* stops whose budget has been used, and that were made */
	struct known *known;		/* in the order of the process's list */
	unsigned int *found;		/* those of `known` that are to be attached to */
	unsigned int nrknown, nrfound, max;	/* their numbers, and that of entries of each */
	unsigned int weight;		/* of the threads to visit: see weight_of() */
	unsigned int next;		/* in `found`, for the next stop */
	unsigned int nrrefused;		/* of `found` */
	bool incomplete;		/* `known` had no room for all that were found */
	struct known *old;		/* those of the rounds before */
	unsigned int nrold, nrseen;	/* their number, and how many this walk has passed */
	int refusal;			/* why one was skipped: see vperfctr_joins() */
	struct vperfctr_ctr_set used;	/* out: counters that other states of the threads have */
	unsigned int nrthreads;		/* out: threads that were given a state */
	unsigned int nrskipped;		/* out: threads that have one of another family */
};

/* Threads that the kernel adds to a process never run in user mode. */
#ifdef PF_USER_WORKER
#define NOT_USER	(PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)
#else
#define NOT_USER	(PF_KTHREAD | PF_IO_WORKER)
#endif

static bool is_concerned(const struct attach *a, const struct task_struct *task)
{
	return READ_ONCE(task->mm) == a->mm &&
	       !(READ_ONCE(task->flags) & (NOT_USER | PF_EXITING)) &&
	       !READ_ONCE(task->exit_state) && (!a->only || task == a->task);
}

static void put_old(struct attach *a)
{
	while (a->nrold) {
		struct task_struct *task = a->old[--a->nrold].task;

		if (task)
			put_task_struct(task);
		cond_resched();
	}
	kvfree(a->old);
	a->old = NULL;
}

static void end_round(struct attach *a)
{
	put_old(a);
	a->old = a->known;
	a->nrold = a->nrknown;
	a->known = NULL;
	a->nrknown = 0;
	kvfree(a->found);
	a->found = NULL;
}

/*
 * Find a thread among those of the rounds before.  The kernel lists threads in the order of
 * their start, so they come in the same order, without those that have ended.
 *
 * Return: its entry, or NULL.
 */
static struct known *find_old(struct attach *a, const struct task_struct *task)
{
	while (a->nrseen < a->nrold) {
		struct known *old = &a->old[a->nrseen];

		if (old->task == task) {
			a->nrseen++;
			return old;
		}
		/* Only one that will not be found any more is passed. */
		if (is_concerned(a, old->task))
			break;
		a->nrseen++;
	}
	return NULL;
}

/*
 * Return how many threads without other states take as long in a stop as this one, and not more
 * than a stop may visit.  Beside others, a control is checked together with theirs: see
 * vperfctr_joins().
 */
#define BESIDE_WEIGHT	8U

static unsigned int weight_of(const struct task_struct *task, unsigned int max_per_stop)
{
	return hlist_empty(&task->preempt_notifiers) ? 1 : min(BESIDE_WEIGHT, max_per_stop);
}

/* Note why a thread is skipped.  The caller is told to choose other counters, if that may help. */
static void note_refusal(struct attach *a, int err)
{
	if (!a->refusal || err == -EADDRINUSE || err == -EXFULL)
		a->refusal = err;
}

/* Note a thread.  The states of one that is known need no look, which takes a global lock. */
static void note_thread(struct attach *a, struct task_struct *task)
{
	struct known *old = find_old(a, task);
	int err;

	if (old) {
		a->nrskipped += old->refused;
		if (a->nrknown < a->max) {
			a->known[a->nrknown++] = *old;
			old->task = NULL;
		}
		return;
	}
	err = vperfctr_may_join(a->root, task);
	if (err && err != -EALREADY) {
		a->nrskipped++;
		note_refusal(a, err);
	} else if (!err && a->nrknown == a->max) {
		a->incomplete = true;
	} else if (!err) {
		get_task_struct(task);
		a->weight += weight_of(task, vperfctr_threads_per_stop());
		a->found[a->nrfound++] = a->nrknown;
		a->known[a->nrknown++] = (struct known){ .task = task };
	}
}

/*
 * Find the threads that have no state, and that no stop has visited.
 *
 * Context: may sleep.
 * Return: 0, or -ENOMEM.
 */
static int find_threads(struct attach *a)
{
	struct task_struct *task;

	/* Threads that start meanwhile are found the next time. */
	a->max = a->only ? 1 : get_nr_threads(a->task) + 8;
	a->known = kvmalloc_array(a->max, sizeof(*a->known), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	a->found = kvmalloc_array(a->max, sizeof(*a->found), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!a->known || !a->found)
		return -ENOMEM;
	a->nrfound = 0;
	a->weight = 0;
	a->nrrefused = 0;
	a->incomplete = false;
	a->nrseen = 0;
	a->nrskipped = 0;
	rcu_read_lock();
	for_each_thread(a->task, task) {
		if (is_concerned(a, task))
			note_thread(a, task);
	}
	rcu_read_unlock();
	return 0;
}

/* ---- the stops ---------------------------------------------------------- */

/* The time for which all CPUs run between two stops, in microseconds. */
#define PAUSE_US	1000

static void give_state(struct attach *a, struct task_struct *task)
{
	struct vperfctr_state *st = list_first_entry(&a->spare, struct vperfctr_state, family);

	list_del(&st->family);
	a->nrspare--;
	a->nrthreads++;
	vperfctr_join_family(st, task);
	vperfctr_set_stop(st, 0);
	/* Only without SMP: the caller executes this, and is not switched in after it. */
	if (task == current)
		vperfctr_start(st);
	vperfctr_put(st);	/* not the last one: the thread has its own */
}

/*
 * Attach to the next threads, as long as the stop does not get too long.  Since it was found, a
 * thread may have made a state, or be ending.
 */
static int attach_stopped(void *arg)
{
	struct attach *a = arg;
	unsigned int max_per_stop = vperfctr_threads_per_stop(), left = max_per_stop;

	for (; a->next < a->nrfound; a->next++) {
		struct known *known = &a->known[a->found[a->next]];
		struct task_struct *task = known->task;
		unsigned int weight = weight_of(task, max_per_stop);
		int err;

		if (weight > left)
			break;
		left -= weight;
		if (!is_concerned(a, task))
			continue;
		err = vperfctr_joins(a->root, task, &a->used);
		if (!err) {
			give_state(a, task);
		} else if (err != -EALREADY) {
			known->refused = true;
			a->nrrefused++;
			note_refusal(a, err);
		}
	}
	return 0;
}

/*
 * Attach to the threads that have been found, and stop all CPUs for a few of them at a time.
 *
 * Context: may sleep.
 * Return: 0, or -EINTR.
 */
static int attach_to_found(struct attach *a)
{
	int err = 0;

	for (a->next = 0; !err && a->next < a->nrfound;) {
		if (a->next)
			usleep_range(PAUSE_US, 2 * PAUSE_US);
		if (fatal_signal_pending(current))
			return -EINTR;
		err = stop_machine(attach_stopped, a, NULL);
		a->nrstops++;
	}
	return err;
}

/* ---- members ------------------------------------------------------------ */

static int add_spare(struct attach *a, unsigned int nr)
{
	struct vperfctr_state *st;

	while (a->nrspare < nr) {
		st = vperfctr_make_member(a->root, GFP_KERNEL);
		if (IS_ERR(st))
			return PTR_ERR(st);
		/* The software counters start from the task's numbers at the stop. */
		st->stop = STATE_STOP_IDLE;
		list_add(&st->family, &a->spare);
		a->nrspare++;
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	return 0;
}

static void put_spare(struct attach *a)
{
	struct vperfctr_state *st, *next;

	list_for_each_entry_safe(st, next, &a->spare, family) {
		list_del_init(&st->family);
		st->root = NULL;
		vperfctr_put(st);
		vperfctr_put(a->root);
		cond_resched();
	}
}

/* Return the number of stops for the threads that have been weighed. */
static unsigned int stops_of(const struct attach *a)
{
	return max(DIV_ROUND_UP(a->weight, vperfctr_threads_per_stop()), 1U);
}

/* Pay for the stops, unless that was done with the ring. */
static int pay_for_stops(struct attach *a)
{
	if (a->nrpaid)
		return 0;
	a->nrpaid = stops_of(a);
	return vperfctr_limit_stops(a->root->account, a->nrpaid, 0);
}

/*
 * Attach to all threads that are found now.
 *
 * Context: may sleep.
 * Return: 0 if there is no new thread; a positive number if there may be more; or an error of
 * VPERFCTR_ATTACH.
 */
static int attach_round(struct attach *a)
{
	int err = find_threads(a);

	if (err)
		return err;
	if (a->nrfound) {
		/* The only wait, before any stop: a signal that ends it restarts the call. */
		err = pay_for_stops(a) ?: add_spare(a, a->nrfound) ?: attach_to_found(a);
	}
	a->nrskipped += a->nrrefused;
	return err ?: (int)(a->nrfound - a->nrrefused + a->incomplete);
}

/*
 * A thread that has no state yet can start one more before its stop.  In each round these are
 * fewer, unless a program wants to prevent that it is attached to.
 */
#define MAX_ROUNDS	16

/*
 * Attach to all threads, in as many rounds as it takes to find no new one.
 *
 * Context: may sleep.
 * Return: 0, or an error of VPERFCTR_ATTACH.
 */
static int attach_to_all(struct attach *a)
{
	unsigned int i;
	int ret = 1;

	for (i = 0; ret > 0 && i < MAX_ROUNDS; i++) {
		/*
		 * After the last stop of the round before.  The next stop follows the walk at once,
		 * or threads that end soon would have started others.
		 */
		if (i && !a->only)
			usleep_range(PAUSE_US, 2 * PAUSE_US);
		ret = attach_round(a);
		end_round(a);
	}
	put_old(a);
	if (ret < 0)
		return ret;
	/* Without INHERIT, threads that start during the call need not be counted. */
	if (ret && (a->root->flags & VPERFCTR_CONTROL_INHERIT))
		return -EAGAIN;
	if (!a->nrthreads)
		return a->nrskipped ? a->refusal : -ESRCH;
	vperfctr_count_missed(a->root, a->nrskipped);
	return 0;
}

/* ---- the call ----------------------------------------------------------- */

/* Take what the root and its members count by.  Return: 0 or an errno. */
static int get_shares(struct vperfctr_state *root, const struct vperfctr_control *header,
		      const struct perfctr_cpu_control *control)
{
	int err = 0;

	if (perfctr_nrctrs(control))
		err = vperfctr_get_hardware(root);
	if (STATE_ON_RT && !err && (header->flags & VPERFCTR_CONTROL_INHERIT))
		err = vperfctr_get_spares(root);
	return err;
}

/* Make the ring, and pay for the first stops in the same wait. */
static int make_ring(struct vperfctr_state *root, const struct vperfctr_ring *req,
		     struct vperfctr_ring __user *arg, struct attach *a)
{
	a->nrpaid = stops_of(a);
	return vperfctr_ring_create(root, req, arg, a->nrpaid);
}

/*
 * Make the root of the set, which never has an owner.
 *
 * Return: the root, with one reference, or an ERR_PTR().
 */
static struct vperfctr_state *make_root(const struct vperfctr_control *header,
					struct perfctr_cpu_control *control,
					const struct vperfctr_attach *req, struct attach *a)
{
	struct vperfctr_ring __user *arg = perfctr_user_ptr(req->ring);
	struct vperfctr_state *root;
	struct vperfctr_ring ring;
	int err;

	err = req->ring ? vperfctr_ring_get(&ring, arg) : 0;
	/* The first state of the system patches the kernel's code: refuse before that. */
	if (!err && perfctr_nrctrs(control))
		err = vperfctr_may_get_hardware();
	/* Each thread will need a state, and so does the set. */
	if (!err)
		err = req->ring ? vperfctr_ring_may_charge(&ring, 1 + a->nrfound) :
				  vperfctr_may_charge(1 + a->nrfound, 0);
	if (err)
		return ERR_PTR(err);
	root = vperfctr_state_create(NULL, GFP_KERNEL);
	if (IS_ERR(root))
		return root;
	if (req->flags & VPERFCTR_ATTACH_LOCKED)
		root->may_change = NULL;	/* the members inherit it */
	vperfctr_overflow_attach(root);
	/* First: the user's limit may refuse it, and to take the hardware costs others. */
	if (req->ring)
		err = vperfctr_ring_charge(root, &ring, arg);
	if (!err) {
		err = get_shares(root, header, control);
		/* Last: it uses the user's budget, and may wait for that. */
		if (req->ring && !err)
			err = make_ring(root, &ring, arg, a);
		else if (req->ring)
			vperfctr_ring_uncharge(root, &ring);
	}
	if (err) {
		vperfctr_put(root);
		return ERR_PTR(err);
	}
	root->observer = req->flags & VPERFCTR_ATTACH_OBSERVER;
	perfctr_cpu_update_control(&root->cpu_state, control, 0);
	control->kinds = NULL;	/* the root has it now */
	root->flags = header->flags | STATE_FLAG_SET;
	root->soft = (u32)header->soft;	/* it has been checked */
	root->checks |= vperfctr_is_restricted(control) ? STATE_CHECK_CPU : 0;
	vperfctr_clock_begin(root, header->clock_period, vperfctr_may_clock_kernel(header));
	return root;
}

/*
 * Refuse early what the stop would refuse, and count and weigh the other threads.  A process that
 * has no thread with this mm will have none: only a thread that has it starts one.
 *
 * Return: 0, or an error of VPERFCTR_ATTACH.
 */
static int look_at_threads(struct attach *a, bool observer)
{
	unsigned int max_per_stop = vperfctr_threads_per_stop();
	struct task_struct *task;
	int err = -ESRCH;

	rcu_read_lock();
	for_each_thread(a->task, task) {
		int refusal = 0;

		if (!is_concerned(a, task))
			continue;
		/* A thread without states needs no look, which takes a global lock. */
		if (!hlist_empty(&task->preempt_notifiers))
			refusal = vperfctr_may_open(task, observer);
		if (refusal) {
			err = refusal;
			continue;
		}
		a->nrfound++;
		a->weight += weight_of(task, max_per_stop);
	}
	rcu_read_unlock();
	return a->nrfound ? 0 : err;
}

static int get_control(struct vperfctr_control *header, struct perfctr_cpu_control *control,
		       const struct vperfctr_attach *req)
{
	int err = vperfctr_get_control(header, control, perfctr_user_ptr(req->control));
	bool ring;

	if (err)
		return err;
	if ((header->flags & ~CONTROL_FLAGS) || header->si_signo || header->preserve ||
	    (!perfctr_nrctrs(control) && !header->tsc_on && !header->soft))
		return -EINVAL;
	/* Without a ring, an overflow would hold the counters, and no thread would know. */
	ring = header->flags & VPERFCTR_CONTROL_RING;
	return ring == !!req->ring && (ring || !header->nrictrs) ? 0 : -EINVAL;
}

static int put_numbers(const struct attach *a, struct vperfctr_attach __user *arg)
{
	return put_user(a->nrthreads, &arg->nrthreads) ||
	       put_user(a->nrskipped, &arg->nrskipped) ? -EFAULT : 0;
}

/* Tell the caller which counters it cannot have, so that it can choose other ones. */
static int put_used(const struct attach *a, const struct vperfctr_attach *req,
		    struct vperfctr_attach __user *arg)
{
	const u64 used[] = { a->used.pmcs, a->used.fixed };

	if (req->size < offsetofend(struct vperfctr_attach, used_fixed))
		return 0;
	return vperfctr_put_words(&arg->used_pmcs, used, ARRAY_SIZE(used));
}

/* Attach, and install the descriptor. */
static int attach_root(struct attach *a, const struct vperfctr_attach *req,
		       struct vperfctr_attach __user *arg, int fd)
{
	struct file *file = vperfctr_file(a->root);
	int err = PTR_ERR_OR_ZERO(file);

	if (err)
		return err;
	/* All threads of one stop may end before the next one: the family must not, either. */
	set_bit(STATE_ATTACHING, &a->root->bits);
	err = attach_to_all(a);
	/* Threads may have started or got states since they were weighed, or not fill the stops. */
	if (a->nrstops > a->nrpaid)
		vperfctr_owe_stops(a->root->account, a->nrstops - a->nrpaid);
	clear_bit(STATE_ATTACHING, &a->root->bits);
	vperfctr_release_unused(a->root);
	put_spare(a);
	if (!err)
		err = put_numbers(a, arg) ?: put_used(a, req, arg);
	else if (err == -EADDRINUSE || err == -EXFULL)
		err = put_used(a, req, arg) ?: err;
	if (err)
		fput(file);	/* ends the counting */
	else
		fd_install(fd, file);
	return err;
}

/*
 * Check the proof of the caller's rights, and attach.
 *
 * Context: the caller has a reference to the file, which keeps the mm's address in use.
 */
static int attach_by_proof(const struct vperfctr_attach *req, const struct file *proof,
			   struct vperfctr_attach __user *arg, int fd)
{
	struct perfctr_cpu_control on_stack __uninitialized, *control;
	struct vperfctr_control header;
	struct attach a = {
		.only = req->flags & VPERFCTR_ATTACH_THREAD,
		.mm = mm_of_file(proof),
		.spare = LIST_HEAD_INIT(a.spare),
	};
	int err;

	if (IS_ERR(a.mm))
		return PTR_ERR(a.mm);
	if (!a.mm)
		return -ESRCH;
	control = vperfctr_get_room(&on_stack, sizeof(on_stack));
	if (!control)
		return -ENOMEM;
	err = get_control(&header, control, req);
	if (err)
		goto out;
	err = -ESRCH;
	a.task = vperfctr_get_thread(req->tid);
	if (!a.task)
		goto out;
	err = look_at_threads(&a, req->flags & VPERFCTR_ATTACH_OBSERVER);
	if (!err) {
		a.root = make_root(&header, control, req, &a);
		err = PTR_ERR_OR_ZERO(a.root);
	}
	if (!err) {
		err = attach_root(&a, req, arg, fd);
		vperfctr_put(a.root);
	}
	put_task_struct(a.task);
out:
	vperfctr_put_kinds(control->kinds);
	vperfctr_put_room(control);
	return err;
}

int vperfctr_attach_ioctl(struct vperfctr_attach __user *arg)
{
	struct vperfctr_attach req;
	struct file *proof;
	int err, fd;

	err = vperfctr_get_struct(&req, sizeof(req), arg, ATTACH_SIZE_VER0);
	if (err)
		return err;
	if ((req.flags & ~ATTACH_FLAGS) || req.nrthreads || req.nrskipped ||
	    req.used_pmcs || req.used_fixed)
		return -EINVAL;
	proof = fget(req.mem_fd);
	if (!proof)
		return -EBADF;
	fd = get_unused_fd_flags(req.flags & VPERFCTR_ATTACH_NOCLOEXEC ? 0 : O_CLOEXEC);
	err = fd < 0 ? fd : attach_by_proof(&req, proof, arg, fd);
	fput(proof);
	if (err && fd >= 0)
		put_unused_fd(fd);
	return err ?: fd;
}
