// SPDX-License-Identifier: GPL-2.0
/*
 * The page of a state: where it is, and who may read counters by it.  The drivers store start
 * values and sums in it: see perfctr_page_begin() in arch/common/common.h.
 */
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "page.h"
#include "state.h"

/* ---- where the page is ----------------------------------------------------- */

/*
 * Many states are never mapped: those of descendants, and those of threads that only
 * other threads read.  So a state keeps the used part of its page in its own memory until
 * the page is first mapped.
 */
static unsigned int small_offset, small_size;

/*
 * Choose the place of a small page, behind what a state has up to @offset.
 *
 * Return: the size of a state.
 */
size_t __init vperfctr_page_layout(size_t offset)
{
	struct vperfctr_page *page;

	small_offset = ALIGN(offset, __alignof__(*page));
	small_size = struct_size(page, ctr, perfctr_cpu_max_ctrs());
	return small_offset + small_size;
}

static struct vperfctr_page *small_page(struct vperfctr_state *st)
{
	return (void *)st + small_offset;
}

/* Give a state the page behind it, until it is mapped.  Context: it is new, and all zero. */
void vperfctr_page_begin_state(struct vperfctr_state *st)
{
	st->cpu_state.page = small_page(st);
	st->cpu_state.page->version = VPERFCTR_ABI_VERSION;
}

/* True if the state has no page of its own. */
bool vperfctr_page_is_small(struct vperfctr_state *st)
{
	return vperfctr_get_page(st) == small_page(st);
}

/*
 * Move to a page of its own, which is all zero.
 *
 * Context: the state has a small page, and its counters are stopped.
 */
void vperfctr_page_move(struct vperfctr_state *st, struct vperfctr_page *page)
{
	memcpy(page, st->cpu_state.page, small_size);
	smp_store_release(&st->cpu_state.page, page);	/* see vperfctr_get_page() */
}

/*
 * Give a state a page of its own from the beginning.
 *
 * Context: may sleep; no other code has found the state.
 * Return: 0, or -ENOMEM.
 */
int vperfctr_page_make(struct vperfctr_state *st)
{
	void *page = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);

	if (!page)
		return -ENOMEM;
	vperfctr_page_move(st, page);
	return 0;
}

/* Free the page that a state has of its own.  Context: the last reference is gone. */
void vperfctr_page_end_state(struct vperfctr_state *st)
{
	if (!vperfctr_page_is_small(st))
		free_page((unsigned long)st->cpu_state.page);
}

/* ---- user-mode reads ------------------------------------------------------ */

/*
 * The process that has a mapping by the owner has the right to user-mode reads while the
 * state has a share of the hardware.  The right begins after the share and ends before it.
 * So only changes of its own states interrupt the CPUs of this process.
 *
 * The CPUs follow without reads_lock.  Each follows to the newest right, and each change
 * is followed.
 */

static void follow(struct mm_struct *mm, bool allowed)
{
	if (mm)
		perfctr_cpu_user_follow(mm, allowed);
}

/* Count one more mapping by the owner's process.  Context: mmap_lock of that process held. */
void vperfctr_add_reader(struct vperfctr_state *st, struct perfctr_user *user)
{
	struct mm_struct *left = NULL, *mm = NULL;

	spin_lock(&st->reads_lock);
	if (st->reads_by != user) {
		/* After an exec by the owner, another process may have kept the old mm. */
		if (st->reads_by && st->reads)
			left = perfctr_cpu_user_forbid(st->reads_by);
		if (st->reads)
			mm = perfctr_cpu_user_allow(user);
		st->reads_by = user;
		st->reads_maps = 0;
	}
	st->reads_maps++;
	spin_unlock(&st->reads_lock);
	follow(left, false);
	follow(mm, true);
}

/* Count a copy of a mapping by mremap().  Context: mmap_lock of the process held. */
void vperfctr_copy_reader(struct vperfctr_state *st, struct perfctr_user *user)
{
	spin_lock(&st->reads_lock);
	if (st->reads_by == user)
		st->reads_maps++;
	spin_unlock(&st->reads_lock);
}

/* Count one mapping less.  Context: mmap_lock of the process held. */
void vperfctr_remove_reader(struct vperfctr_state *st, struct perfctr_user *user)
{
	struct mm_struct *mm = NULL;

	spin_lock(&st->reads_lock);
	if (st->reads_by == user && !--st->reads_maps) {
		if (st->reads)
			mm = perfctr_cpu_user_forbid(user);
		st->reads_by = NULL;
	}
	spin_unlock(&st->reads_lock);
	follow(mm, false);
}

/*
 * Let the state give user-mode reads to the process that maps it, or end that.
 *
 * Context: may sleep; the state has a share of the hardware.
 */
void vperfctr_allow_reads(struct vperfctr_state *st, bool allow)
{
	struct mm_struct *mm = NULL;

	spin_lock(&st->reads_lock);
	st->reads = allow;
	if (st->reads_by)
		mm = allow ? perfctr_cpu_user_allow(st->reads_by) :
			     perfctr_cpu_user_forbid(st->reads_by);
	spin_unlock(&st->reads_lock);
	follow(mm, allow);
}
