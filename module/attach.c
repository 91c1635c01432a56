// SPDX-License-Identifier: GPL-2.0
/*
 * VPERFCTR_ATTACH: count a running process without ptrace.
 *
 * All of its threads get their states in one stop of the machine.  No thread runs then,
 * and each has been through its sched_out: see remote.c.
 *
 * The right to do so is proved by a descriptor of /proc/PID/mem.  When it was opened, the
 * kernel checked the rights that ptrace needs, security modules included.  The
 * descriptor stands for one mm, and its holder can read all memory of the process.
 * So only threads that have this mm are attached to.  A thread that has executed a file
 * since the open has another one.
 *
 * None is missed, and none gets two states.  fork() first adds a new thread to its
 * process's list, then calls the fork probe, then lets the thread run.  The list is
 * walked under the stop, which comes
 *
 *	before the thread is in the list.  Its parent, a thread of the same process, gets
 *	a state, and the fork probe then gives the thread one.
 *
 *	between the list and the probe.  The thread gets a state here, and the probe
 *	finds it.  The end of the set may detach it at the same time: see thread.c.
 *
 *	after the probe, which found a parent without a state.  The thread gets one here.
 *
 * A thread that is ending either has passed its exit probe, and is skipped here, or will
 * pass it and leaves the family there.  exit() sets PF_EXITING before the probe.
 */
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/stop_machine.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "compat/compiler.h"
#include "state.h"
#include "usercopy.h"

#define ATTACH_SIZE_VER0	32
#define ATTACH_FLAGS	(VPERFCTR_ATTACH_THREAD | VPERFCTR_ATTACH_NOCLOEXEC | \
			 VPERFCTR_ATTACH_LOCKED)

/* The layout is ABI and must not change. */
static_assert(offsetof(struct vperfctr_attach, ring) == ATTACH_SIZE_VER0);

/* A control that a set can have: a signal belongs to one thread, an exec to its owner. */
#define CONTROL_FLAGS	(VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_INHERIT_THREADS | \
			 VPERFCTR_CONTROL_RING)

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

/* ---- the stop ----------------------------------------------------------- */

struct attach {
	struct task_struct *task;	/* of the process */
	bool only;			/* attach to no other thread */
	const struct mm_struct *mm;
	struct vperfctr_state *root;
	struct list_head spare;		/* members without a thread, linked by `family` */
	unsigned int nrspare;
	bool paid;			/* the ration of the first stop has been used */
	unsigned int nrthreads;		/* out: threads that have no state, and need one */
	unsigned int nrskipped;		/* out: threads that have one */
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

static int count_threads(struct attach *a)
{
	struct task_struct *task;

	a->nrthreads = 0;
	a->nrskipped = 0;
	for_each_thread(a->task, task) {
		if (!is_concerned(a, task))
			continue;
		if (vperfctr_of(task))
			a->nrskipped++;
		else
			a->nrthreads++;
	}
	if (!a->nrthreads)
		return a->nrskipped ? -EEXIST : -ESRCH;
	return a->nrthreads > a->nrspare ? -EAGAIN : 0;
}

static void give_states(struct attach *a)
{
	struct vperfctr_state *st;
	struct task_struct *task;

	for_each_thread(a->task, task) {
		if (!is_concerned(a, task) || vperfctr_of(task))
			continue;
		st = list_first_entry(&a->spare, struct vperfctr_state, family);
		list_del(&st->family);
		a->nrspare--;
		vperfctr_join_family(st, task);
		vperfctr_set_stop(st, 0);
		/* Only without SMP: the caller executes this, and is not switched in after it. */
		if (task == current)
			vperfctr_start(st);
		vperfctr_put(st);	/* not the last one: the thread has its own */
	}
	a->root->children_missed = a->nrskipped;
}

/*
 * Attach to all threads, or to none.
 *
 * Return: -EAGAIN if they are more than there are spare members.
 */
static int attach_stopped(void *arg)
{
	struct attach *a = arg;
	int err;

	rcu_read_lock();
	err = count_threads(a);
	if (!err)
		give_states(a);
	rcu_read_unlock();
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

/* While the members are made, the process may start more threads. */
#define SLACK(nr)	((nr) / 8 + 8)

/*
 * Context: may sleep.
 * Return: 0, or an error of VPERFCTR_ATTACH.
 */
static int attach_to_all(struct attach *a)
{
	unsigned int nr = 1;
	int err;

	if (!a->only)
		nr = get_nr_threads(a->task) + SLACK(get_nr_threads(a->task));
	/* This ends: the number grows each time, and the user's states are limited. */
	for (;;) {
		/* First: a signal that ends the wait restarts the call. */
		err = a->paid ? 0 :
		      vperfctr_stop_ration(a->root->account, get_nr_threads(a->task), 0);
		a->paid = false;
		if (!err)
			err = add_spare(a, nr);
		if (err)
			return err;
		err = stop_machine(attach_stopped, a, NULL);
		if (err != -EAGAIN)
			return err;
		nr = a->nrthreads + SLACK(a->nrthreads) + nr / 2;
	}
}

/* ---- the call ----------------------------------------------------------- */

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
	if (err)
		return ERR_PTR(err);
	root = vperfctr_state_create(NULL, GFP_KERNEL);
	if (IS_ERR(root))
		return root;
	if (req->flags & VPERFCTR_ATTACH_LOCKED)
		root->may_change = NULL;	/* the members inherit it */
	vperfctr_overflow_attach(root);
	if (perfctr_nrctrs(control))
		err = vperfctr_get_hardware(root);
	if (STATE_ON_RT && !err && (header->flags & VPERFCTR_CONTROL_INHERIT))
		err = vperfctr_get_spares(root);
	/* Last: it uses the user's ration, and may wait for that. */
	if (!err && req->ring) {
		/* A process that is ending may have no threads any more. */
		err = vperfctr_ring_create(root, &ring, arg, max(get_nr_threads(a->task), 1));
		a->paid = true;
	}
	if (err) {
		vperfctr_put(root);
		return ERR_PTR(err);
	}
	perfctr_cpu_update_control(&root->cpu_state, control, 0);
	control->kinds = NULL;	/* the root has it now */
	root->flags = header->flags | STATE_FLAG_SET;
	root->soft = (u32)header->soft;	/* it has been checked */
	root->checks = vperfctr_is_restricted(control) ? STATE_CHECK_CPU : 0;
	vperfctr_clock_begin(root, header->clock_period, vperfctr_may_clock_kernel(header));
	return root;
}

/*
 * Refuse early what the stop would refuse.  A process that has no thread with this mm will
 * have none: only a thread that has it starts one.
 *
 * Return: 0, or an error of VPERFCTR_ATTACH.
 */
static int look_at_threads(const struct attach *a)
{
	struct task_struct *task;
	int err = -ESRCH;

	rcu_read_lock();
	for_each_thread(a->task, task) {
		if (!is_concerned(a, task))
			continue;
		err = vperfctr_is_counted(task) ? -EEXIST : 0;
		if (!err)
			break;
	}
	rcu_read_unlock();
	return err;
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

/* Attach, and install the descriptor. */
static int attach_root(struct attach *a, struct vperfctr_attach __user *arg, int fd)
{
	struct file *file = vperfctr_file(a->root);
	int err = PTR_ERR_OR_ZERO(file);

	if (err)
		return err;
	err = attach_to_all(a);
	put_spare(a);
	if (!err && (put_user(a->nrthreads, &arg->nrthreads) ||
		     put_user(a->nrskipped, &arg->nrskipped)))
		err = -EFAULT;
	if (err)
		fput(file);	/* ends the counting */
	else
		fd_install(fd, file);
	return err;
}

/* Context: the caller has a reference to the file, which keeps the mm's address in use. */
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
	err = look_at_threads(&a);
	if (!err) {
		a.root = make_root(&header, control, req, &a);
		err = PTR_ERR_OR_ZERO(a.root);
	}
	if (!err) {
		err = attach_root(&a, arg, fd);
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
	if ((req.flags & ~ATTACH_FLAGS) || req.nrthreads || req.nrskipped)
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
