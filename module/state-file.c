// SPDX-License-Identifier: GPL-2.0
/*
 * The file of a state: the operations of its descriptors and mappings.  The ioctl MEMBER is here;
 * the others are in control.c, read.c, overflow.c, ring.c and device-calls.c.
 */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/personality.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>

#include "compat/vma.h"
#include "control.h"
#include "family.h"
#include "files.h"
#include "overflow.h"
#include "page.h"
#include "permission.h"
#include "remote.h"
#include "reservation.h"
#include "ring.h"
#include "state.h"
#include "thread.h"

/* ---- mmap --------------------------------------------------------------- */

int vperfctr_map_ring(struct vperfctr_state *st, struct vm_area_struct *vma)
{
	/* A child must map it itself.  VM_IO: MADV_DOFORK cannot clear this flag. */
	vm_flags_mod(vma, VM_DONTCOPY, 0);
	return vperfctr_ring_mmap(st, vma);
}

/*
 * Insert the pages now: the first access may be in an inner loop, which a fault would
 * delay.  They are inserted by frame number, so that madvise() cannot remove them.  The
 * mapping has a reference to the file, which keeps the state, which keeps the memory.
 */
int vperfctr_check_vma(struct vm_area_struct *vma)
{
	/* VM_MAYSHARE is MAP_SHARED; the kernel clears VM_SHARED for read-only files. */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	/* With this personality the kernel itself adds PROT_EXEC to PROT_READ. */
	if ((vma->vm_flags & VM_EXEC) && !(current->personality & READ_IMPLIES_EXEC))
		return -EPERM;
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP | VM_IO | VM_PFNMAP,
		     VM_MAYWRITE | VM_EXEC | VM_MAYEXEC);
	vma->vm_page_prot = vm_get_page_prot(vma->vm_flags);
	return 0;
}

static int vperfctr_file_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct vperfctr_state *st = file->private_data;
	int err = vperfctr_check_vma(vma);

	if (err)
		return err;
	switch (vma->vm_pgoff) {
	case 0:
		return vperfctr_page_mmap(st, vma);
	case VPERFCTR_RING_OFFSET >> PAGE_SHIFT:
		return vperfctr_map_ring(st, vma);
	}
	return -EINVAL;
}

/* ---- descriptors -------------------------------------------------------- */

/*
 * Release the hardware of a state whose owner and descendants have ended.  Their exits
 * leave that to a worker.  A caller that has waited for these threads and closes the
 * state must find the hardware free.
 *
 * Context: may sleep.
 */
static void release_after_exit(struct vperfctr_state *st)
{
	/* Acquire: the counters stopped before forget_owner() cleared it. */
	if (smp_load_acquire(&st->owner))
		return;
	vperfctr_release_unused(st);
	vperfctr_flush_detached(st);
}

/*
 * Release the state as a descriptor is closed, after the owner's exit.  The release must not
 * wait for the last reference to the file.  A mapping has one too, and outlives its process
 * while something else holds the mm, such as arch/x86/cr4-pce.c or a reader of /proc/PID.
 *
 * Context: may sleep.  An exec closes descriptors with exec_update_lock held.
 */
static int vperfctr_file_flush(struct file *file, fl_owner_t id)
{
	release_after_exit(file->private_data);
	return 0;
}

static int vperfctr_file_release(struct inode *inode, struct file *file)
{
	struct vperfctr_state *st = file->private_data;

	if (atomic_dec_and_test(&st->files)) {
		if (test_bit(STATE_TRANSIENT, &st->bits))
			vperfctr_detach_abandoned(st);
		if (!READ_ONCE(st->owner))
			vperfctr_dissolve_family(st);
	}
	/* No flush: descriptors in flight through a socket, and io_uring's own files. */
	release_after_exit(st);
	vperfctr_put(st);
	return 0;
}

static __poll_t vperfctr_file_poll(struct file *file, struct poll_table_struct *wait)
{
	struct vperfctr_state *st = file->private_data;
	__poll_t events = 0;
	bool over;

	poll_wait(file, &st->wait, wait);
	/*
	 * Either an overflow finds this poller in the queue, or the overflow is seen here.
	 * poll_wait() has this barrier from 6.13 on.
	 */
	smp_mb();
	/* First: the last samples come before the end. */
	over = vperfctr_is_over(st);
	if (vperfctr_is_held(st) || vperfctr_ring_ready(st, over))
		events |= EPOLLIN | EPOLLRDNORM;
	if (over)
		events |= EPOLLHUP;
	return events;
}

/* /proc/PID/fdinfo/FD, with the owner's thread id in the reader's PID namespace. */
static void vperfctr_file_show(struct seq_file *m, struct file *file)
{
	struct vperfctr_state *st = file->private_data;
	struct vperfctr_snapshot snap;
	struct task_struct *owner;
	unsigned int i;
	pid_t tid;

	rcu_read_lock();
	owner = READ_ONCE(st->owner);
	tid = owner ? task_pid_vnr(owner) : 0;
	rcu_read_unlock();

	/* A family of many may be about to be dissolved.  Killed: the text is not read. */
	if (mutex_lock_killable(&st->lock))
		return;
	vperfctr_snapshot(st, &snap);
	mutex_unlock(&st->lock);
	seq_printf(m, "vperfctr-owner:\t%d\n", tid);
	seq_printf(m, "vperfctr-status:\t0x%x\n", snap.status);
	seq_printf(m, "vperfctr-tsc:\t%llu\n", snap.sums[0]);
	for (i = 0; i < snap.nrctrs; i++)
		seq_printf(m, "vperfctr-pmc%u:\t%llu\n", i, snap.sums[1 + i]);
}

/* ---- members ------------------------------------------------------------ */

/*
 * Find the thread with this id in the caller's PID namespace; 0 is current.
 *
 * Return: the thread, with a reference, or NULL.
 */
struct task_struct *vperfctr_get_thread(s32 tid)
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

static int find_member(struct vperfctr_state *root, struct task_struct *task, int fd)
{
	struct vperfctr_state *st = vperfctr_find_member(root, task);
	int err;

	if (!st)
		return -ENOENT;
	/* The member may leave the family at any time, and keeps its creator then. */
	if (READ_ONCE(st->root) != root)
		err = -ENOENT;
	else if (st->cpu_state.control.kernel && !vperfctr_may_count_kernel())
		err = -EPERM;
	else
		return vperfctr_open_found(st, fd);
	vperfctr_put(st);
	return err;
}

/*
 * Execute VPERFCTR_MEMBER.  Not inline: its frame would cost each call of a state fifteen
 * instructions.
 */
static noinline int vperfctr_member_ioctl(struct vperfctr_state *root, unsigned long tid)
{
	struct task_struct *task;
	int err, fd;

	/* A member has no members. */
	if (!test_bit(STATE_GLOBAL, &root->bits) || READ_ONCE(root->root))
		return -ENOENT;
	if (!vperfctr_may_use(root))
		return -EPERM;
	task = tid <= INT_MAX ? vperfctr_get_thread(tid) : NULL;
	if (!task)
		return -ESRCH;
	fd = get_unused_fd_flags(O_CLOEXEC);
	err = fd < 0 ? fd : find_member(root, task, fd);
	put_task_struct(task);
	if (err && fd >= 0)
		put_unused_fd(fd);
	return err ?: fd;
}

/* ---- ioctls ------------------------------------------------------------- */

static long vperfctr_state_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct vperfctr_state *st = file->private_data;

	switch (cmd) {
	case VPERFCTR_CONTROL:
		return vperfctr_control(st, (void __user *)arg);
	case VPERFCTR_READ:
		return vperfctr_read(st, (void __user *)arg);
	case VPERFCTR_SUSPEND:
		return arg ? -EINVAL : vperfctr_suspend(st);
	case VPERFCTR_RESUME:
		return arg ? -EINVAL : vperfctr_resume(st);
	case VPERFCTR_UNLINK:
		return arg ? -EINVAL : vperfctr_unlink(st);
	case VPERFCTR_IRESUME:
		return arg ? -EINVAL : vperfctr_iresume(st);
	case VPERFCTR_RING:
		return vperfctr_ring(st, (void __user *)arg);
	case VPERFCTR_CONSUME:
		return vperfctr_consume(st, arg);
	case VPERFCTR_MEMBER:
		return vperfctr_member_ioctl(st, arg);
	case VPERFCTR_INFO:
		return vperfctr_info(st, (void __user *)arg);
	}
	return -ENOTTY;
}

/* ---- files -------------------------------------------------------------- */

static const struct file_operations vperfctr_file_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= vperfctr_state_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.mmap		= vperfctr_file_mmap,
	.poll		= vperfctr_file_poll,
	.flush		= vperfctr_file_flush,
	.release	= vperfctr_file_release,
	.show_fdinfo	= vperfctr_file_show,
};

/*
 * Make a file of the state, with a reference of its own.
 *
 * Return: the file, or an ERR_PTR().
 */
struct file *vperfctr_file(struct vperfctr_state *st)
{
	struct file *file;

	/* O_RDONLY: the page cannot be mapped writable. */
	file = anon_inode_getfile("[vperfctr]", &vperfctr_file_fops, st, O_RDONLY);
	if (!IS_ERR(file)) {
		vperfctr_get(st);
		set_bit(STATE_OPENED, &st->bits);
		atomic_inc(&st->files);
	}
	return file;
}

/* Install a descriptor of a state that was found, and put the state. */
int vperfctr_open_found(struct vperfctr_state *st, int fd)
{
	struct file *file = vperfctr_file(st);
	int err = PTR_ERR_OR_ZERO(file);

	if (!err) {
		err = vperfctr_share_hardware(st);
		if (err)
			fput(file);
		else
			fd_install(fd, file);
	}
	vperfctr_put(st);
	return err;
}
