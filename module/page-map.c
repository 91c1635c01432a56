// SPDX-License-Identifier: GPL-2.0
/*
 * Mappings of the page of a state, and the page that the child of a fork sees instead.
 */
#include <linux/gfp.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "compat/vma.h"
#include "page.h"
#include "remote.h"
#include "state.h"
#include "thread.h"

/*
 * A mapping by the owner's process gives that process user-mode reads while the state
 * counts.  One by another process only shows it the page.  mmap() decides which of the
 * two a mapping is, and this does not change until it is unmapped.  The vma's private
 * data is the mm's entry with the low-level driver; bit 0 says owner.
 *
 * NULL: the mapping was inherited by the child of a fork, or by a descendant of
 * that child.  It shows the dead page and gives no user-mode reads.  It is not
 * counted as one that could see what counters held.
 */
#define VMA_OWNER	1UL

/*
 * The page of inherited mappings: all but version is zero.  A reader finds no counter
 * and no TSC there, and must not execute RDPMC.
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

/* ---- a page to map --------------------------------------------------------- */

/*
 * Move to a page of its own.  The counters are stopped meanwhile.  Then no interrupt or NMI
 * has the old address.
 *
 * Operation: see vperfctr_apply_any().
 * Return: 0, or -EEXIST if the state has one.
 */
static int op_move(struct vperfctr_state *st, void *arg)
{
	struct vperfctr_page *page = arg;
	bool running = st->cpu != -1;

	if (!vperfctr_page_is_small(st))
		return -EEXIST;
	vperfctr_stop(st);
	vperfctr_page_move(st, page);
	/* A state that runs has its owner as current here. */
	if (running)
		vperfctr_start(st);
	return 0;
}

/* Give a state a page of its own, if it has none.  Context: may sleep.  Return: 0, or -ENOMEM. */
static int make_mappable(struct vperfctr_state *st)
{
	void *page;

	/* A page that has been moved is never moved back. */
	if (!vperfctr_page_is_small(st))
		return 0;
	page = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!page)
		return -ENOMEM;
	if (vperfctr_apply_any(st, op_move, page))
		free_page((unsigned long)page);	/* another thread came first */
	return 0;
}

/* ---- mappings -------------------------------------------------------------- */

/*
 * Get a reference to the mm's entry for one more mapping.
 *
 * Return: the entry, or NULL.
 */
static struct perfctr_user *vma_get_user(struct vm_area_struct *vma, bool owner)
{
	struct perfctr_user *user = perfctr_cpu_user_get(vma->vm_mm);

	vma->vm_private_data = user ? (void *)((unsigned long)user | (owner ? VMA_OWNER : 0)) :
				      NULL;
	return user;
}

static vm_fault_t insert_page(struct vm_area_struct *vma, const struct vperfctr_page *page)
{
	/* One page only: remap_pfn_range() would look up its memory type twice. */
	return vmf_insert_pfn(vma, vma->vm_start, page_to_pfn(virt_to_page(page)));
}

/*
 * Keep the live page from the child of a fork, which gets this vma.  VM_WIPEONFORK does
 * so unless MADV_KEEPONFORK has cleared it.  Kernels differ in the order of open() and
 * of the copy of the page table entry.  If open() comes first, setting the flag prevents
 * the copy.  If it comes last, the entry must be removed.
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
 * mm and then closes the old vma.  mremap() moves only mappings of current's mm.  The
 * copy needs no memory: the mm has an entry.
 */
static void vperfctr_vma_open(struct vm_area_struct *vma)
{
	bool owner = vma_owner(vma);

	if (vma->vm_mm != current->mm) {
		inherit_vma(vma);
	} else if (vma_user(vma)) {
		vma_get_user(vma, owner);
		if (owner)
			vperfctr_copy_reader(vma->vm_file->private_data, vma_user(vma));
	}
}

static void vperfctr_vma_close(struct vm_area_struct *vma)
{
	struct perfctr_user *user = vma_user(vma);

	if (!user)
		return;
	if (vma_owner(vma))
		vperfctr_remove_reader(vma->vm_file->private_data, user);
	perfctr_cpu_user_put(user);
}

/*
 * Insert the dead page.  mmap() inserts the live one, and madvise() removes no entry of a
 * VM_PFNMAP mapping.  So a fault happens only in an inherited mapping.
 */
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
	if (st->owner == current && vperfctr_cpu_of(st) >= 0) {
		vperfctr_stop(st);
		vperfctr_start(st);
	}
	local_irq_restore(flags);
}

/*
 * Map the page, and let the owner's process read the counters.
 *
 * Context: the state has a page of its own.
 */
static int map_page(struct vperfctr_state *st, struct vm_area_struct *vma, bool owner)
{
	struct perfctr_user *user;
	vm_fault_t fault;

	/* First: the page must not show what counters held before. */
	user = vma_get_user(vma, owner);
	if (!user)
		return -ENOMEM;
	if (owner)
		vperfctr_add_reader(st, user);
	fault = insert_page(vma, st->cpu_state.page);
	if (fault & VM_FAULT_ERROR) {
		vperfctr_vma_close(vma);
		return vm_fault_to_errno(fault, 0);
	}
	/*
	 * The child of a fork inherits the mapping, as its copy of a library's handle has
	 * the address.  Its page table is empty there: see inherit_vma().
	 */
	vm_flags_mod(vma, VM_WIPEONFORK, 0);
	vma->vm_ops = &vperfctr_vm_ops;
	if (owner)
		refresh_page(st);
	return 0;
}

int vperfctr_page_mmap(struct vperfctr_state *st, struct vm_area_struct *vma)
{
	bool owner = is_owners_mm(st, vma->vm_mm);
	int err;

	if (vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	err = make_mappable(st);
	return err ?: map_page(st, vma, owner);
}

/*
 * Map the page of a CPU.  Samples name a thread as its owner for a moment, which must not give
 * that thread user-mode reads.
 *
 * Context: the state has had a page of its own from the beginning.
 */
int vperfctr_page_mmap_cpu(struct vperfctr_state *st, struct vm_area_struct *vma)
{
	if (vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	return map_page(st, vma, false);
}

int vperfctr_page_init(void)
{
	dead_page = (void *)get_zeroed_page(GFP_KERNEL);
	if (!dead_page)
		return -ENOMEM;
	dead_page->version = VPERFCTR_ABI_VERSION;
	return 0;
}

/* Context: no files exist, hence no mappings. */
void vperfctr_page_exit(void)
{
	free_page((unsigned long)dead_page);
}
