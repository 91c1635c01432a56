// SPDX-License-Identifier: GPL-2.0
/* The file of a state: the operations of its descriptors and mappings. */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/seq_file.h>

#include "compat/vma.h"
#include "state.h"

/* ---- mmap --------------------------------------------------------------- */

/*
 * A mapping by the owner's process gives that process user-mode reads; one by
 * another process only shows it the page.  mmap() decides which of the two a
 * mapping is, and it stays that until it is unmapped.  The vma's private data is
 * the mm's entry with the low-level driver; bit 0 says owner.
 *
 * NULL: the mapping was inherited by the child of a fork, or by a child of that.
 * It shows the dead page, gives no user-mode reads, and is not counted as one
 * that could see what counters held.
 */
#define VMA_OWNER	1UL

/*
 * The page of inherited mappings: version, and all else zero.  A reader finds no
 * counter and no TSC there, and must not execute RDPMC.
 */
static struct vperfctr_page *dead_page;

static struct perfctr_user *vma_user(const struct vm_area_struct *vma)
{
	return (void *)((unsigned long)vma->vm_private_data & ~VMA_OWNER);
}

static bool vma_owner(const struct vm_area_struct *vma)
{
	return (unsigned long)vma->vm_private_data & VMA_OWNER;
}

/*
 * Get a reference to the mm's entry for one more mapping.
 *
 * Return: 0, or -ENOMEM if the mapping has none.
 */
static int vma_get_user(struct vm_area_struct *vma, bool owner)
{
	struct perfctr_user *user = perfctr_cpu_user_get(vma->vm_mm, owner);

	vma->vm_private_data = NULL;
	if (!user)
		return -ENOMEM;
	vma->vm_private_data = (void *)((unsigned long)user | (owner ? VMA_OWNER : 0));
	return 0;
}

static vm_fault_t insert_page(struct vm_area_struct *vma, const struct vperfctr_page *page)
{
	/* One page only: remap_pfn_range() would look up its memory type twice. */
	return vmf_insert_pfn(vma, vma->vm_start, page_to_pfn(virt_to_page(page)));
}

/*
 * A fork gives the child this vma.  VM_WIPEONFORK has kept the live page out of the
 * child's page table, unless madvise() took that flag away.  Kernels call open()
 * before or after they copy the entry: set the flag for the former, and remove the
 * entry for the latter.
 */
static void inherit_vma(struct vm_area_struct *vma)
{
	vma->vm_private_data = NULL;
	if (vma->vm_flags & VM_WIPEONFORK)
		return;
	vm_flags_mod(vma, VM_WIPEONFORK, 0);
	zap_special_vma_range(vma, vma->vm_start, PAGE_SIZE);
}

/*
 * Called by fork, with the child's mm, and by mremap(), which makes a copy in the same
 * mm and then closes the old one.  No other mm than current's can be moved.
 */
static void vperfctr_vma_open(struct vm_area_struct *vma)
{
	if (vma->vm_mm != current->mm)
		inherit_vma(vma);
	else if (vma_user(vma))
		vma_get_user(vma, vma_owner(vma));
}

static void vperfctr_vma_close(struct vm_area_struct *vma)
{
	struct perfctr_user *user = vma_user(vma);

	if (user)
		perfctr_cpu_user_put(user, vma_owner(vma));
}

/* mmap() inserts the live page, and nothing removes it: so this mapping is inherited. */
static vm_fault_t vperfctr_vma_fault(struct vm_fault *vmf)
{
	return insert_page(vmf->vma, dead_page);
}

static const struct vm_operations_struct vperfctr_vm_ops = {
	.open	= vperfctr_vma_open,
	.close	= vperfctr_vma_close,
	.fault	= vperfctr_vma_fault,
};

static bool is_owners_mm(const struct vperfctr_state *st, const struct mm_struct *mm)
{
	const struct task_struct *owner;
	bool ret;

	/* A task that was seen as owner is freed a grace period after it ended. */
	rcu_read_lock();
	owner = READ_ONCE(st->owner);
	ret = owner && READ_ONCE(owner->mm) == mm;
	rcu_read_unlock();
	return ret;
}

/* Suspend and resume, so that the owner's page says at once that RDPMC works. */
static void refresh_page(struct vperfctr_state *st)
{
	unsigned long flags;

	local_irq_save(flags);
	if (st->owner == current && st->cpu >= 0) {
		vperfctr_stop(st);
		vperfctr_start(st);
	}
	local_irq_restore(flags);
}

static int map_page(struct vperfctr_state *st, struct vm_area_struct *vma)
{
	bool owner = is_owners_mm(st, vma->vm_mm);
	vm_fault_t fault;
	int err;

	if (vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	/* First: once the page is visible it must not show what counters held before. */
	err = vma_get_user(vma, owner);
	if (err)
		return err;
	fault = insert_page(vma, st->cpu_state.page);
	if (fault & VM_FAULT_ERROR) {
		vperfctr_vma_close(vma);
		return vm_fault_to_errno(fault, 0);
	}
	/*
	 * A child inherits the mapping, as its copy of a library's handle has the
	 * address, but with an empty page table: see inherit_vma().
	 */
	vm_flags_mod(vma, VM_WIPEONFORK, 0);
	vma->vm_ops = &vperfctr_vm_ops;
	if (owner)
		refresh_page(st);
	return 0;
}

static int map_ring(struct vperfctr_state *st, struct vm_area_struct *vma)
{
	/* A child maps it anew, if it wants it. */
	vm_flags_mod(vma, VM_DONTCOPY, 0);
	return vperfctr_ring_mmap(st, vma);
}

/*
 * Insert the pages now: the first access may be in an inner loop, which a fault would
 * delay.  They are inserted by frame number, so that madvise() and the like leave them
 * alone.  The memory lives as long as the state, and the state as long as the mapping
 * has the file.  VM_IO: madvise() cannot take VM_DONTCOPY away.
 */
static int vperfctr_file_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct vperfctr_state *st = file->private_data;

	/* VM_MAYSHARE is MAP_SHARED; VM_SHARED is taken away from read-only files. */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EPERM;
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP | VM_IO | VM_PFNMAP,
		     VM_MAYWRITE | VM_MAYEXEC);
	switch (vma->vm_pgoff) {
	case 0:
		return map_page(st, vma);
	case VPERFCTR_RING_OFFSET >> PAGE_SHIFT:
		return map_ring(st, vma);
	}
	return -EINVAL;
}

/* ---- descriptors -------------------------------------------------------- */

static long vperfctr_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
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
	}
	return -ENOTTY;
}

/*
 * The owner's exit leaves the release of the hardware to a worker, and so do the
 * exits of its descendants.  A caller that has waited for these threads and closes
 * the state finds the hardware free.
 */
static void release_after_exit(struct vperfctr_state *st)
{
	/* Acquire: the counters stopped before vperfctr_detach() cleared it. */
	if (smp_load_acquire(&st->owner))
		return;
	vperfctr_release_hardware(st);
	if (test_bit(STATE_HAD_FAMILY, &st->bits))
		vperfctr_flush_detached();
}

/*
 * A descriptor is being closed.  This must not wait for the last reference to the
 * file: a mapping has one, and outlives its process where something else holds the
 * mm, such as arch/x86/cr4-pce.c or a reader of /proc/PID.
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
	/* Descriptors in flight through a socket are closed without a flush. */
	release_after_exit(st);
	vperfctr_put(st);
	return 0;
}

static __poll_t vperfctr_file_poll(struct file *file, struct poll_table_struct *wait)
{
	struct vperfctr_state *st = file->private_data;
	__poll_t events = 0;

	poll_wait(file, &st->wait, wait);
	/*
	 * Either an overflow finds this poller in the queue, or the overflow is seen here.
	 * poll_wait() has this barrier from 6.13 on.
	 */
	smp_mb();
	if (vperfctr_is_held(st) || vperfctr_ring_ready(st))
		events |= EPOLLIN | EPOLLRDNORM;
	if (!READ_ONCE(st->owner))
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

	mutex_lock(&st->lock);
	vperfctr_snapshot(st, &snap);
	mutex_unlock(&st->lock);
	seq_printf(m, "vperfctr-owner:\t%d\n", tid);
	seq_printf(m, "vperfctr-status:\t0x%x\n", snap.status);
	seq_printf(m, "vperfctr-tsc:\t%llu\n", snap.sums[0]);
	for (i = 0; i < snap.nrctrs; i++)
		seq_printf(m, "vperfctr-pmc%u:\t%llu\n", i, snap.sums[1 + i]);
}

static const struct file_operations vperfctr_file_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= vperfctr_file_ioctl,
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
		atomic_inc(&st->files);
	}
	return file;
}

int vperfctr_file_init(void)
{
	dead_page = (void *)get_zeroed_page(GFP_KERNEL);
	if (!dead_page)
		return -ENOMEM;
	dead_page->version = VPERFCTR_ABI_VERSION;
	return 0;
}

/* Context: no files exist, hence no mappings. */
void vperfctr_file_exit(void)
{
	free_page((unsigned long)dead_page);
}
