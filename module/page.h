/* SPDX-License-Identifier: GPL-2.0 */
/* The mapped page of a state. */
#ifndef VPERFCTR_PAGE_H
#define VPERFCTR_PAGE_H

#include "state.h"

struct vm_area_struct;

/* page.c */
size_t vperfctr_page_layout(size_t offset);
void vperfctr_page_begin_state(struct vperfctr_state *st);
void vperfctr_page_end_state(struct vperfctr_state *st);
int vperfctr_page_make(struct vperfctr_state *st);
bool vperfctr_page_is_small(struct vperfctr_state *st);
void vperfctr_page_move(struct vperfctr_state *st, struct vperfctr_page *page);
void vperfctr_add_reader(struct vperfctr_state *st, struct perfctr_user *user);
void vperfctr_copy_reader(struct vperfctr_state *st, struct perfctr_user *user);
void vperfctr_remove_reader(struct vperfctr_state *st, struct perfctr_user *user);
void vperfctr_allow_reads(struct vperfctr_state *st, bool allow);

/* page-map.c */
int vperfctr_page_init(void);
void vperfctr_page_exit(void);
int vperfctr_page_mmap(struct vperfctr_state *st, struct vm_area_struct *vma);
int vperfctr_page_mmap_cpu(struct vperfctr_state *st, struct vm_area_struct *vma);

/*
 * Return the page, for a reading by another CPU than the owner's.  It may be moved meanwhile:
 * the old place then remains as it was, until the state ends.
 *
 * Context: the caller has a reference.
 */
static inline const struct vperfctr_page *vperfctr_get_page(const struct vperfctr_state *st)
{
	return smp_load_acquire(&st->cpu_state.page);	/* see vperfctr_page_move() */
}

/* True if what was read after this samplecount may have changed meanwhile. */
static inline bool vperfctr_page_changed(const struct vperfctr_state *st,
					 const struct vperfctr_page *page, u32 samplecount)
{
	return READ_ONCE(page->samplecount) != samplecount ||
	       unlikely(READ_ONCE(st->cpu_state.page) != page);
}

#endif /* VPERFCTR_PAGE_H */
