/* SPDX-License-Identifier: GPL-2.0 */
/* The checks of rdpmc.c at each context switch: could a process see others' counters? */
#ifndef VPERFCTR_X86_RDPMC_H
#define VPERFCTR_X86_RDPMC_H

#include <linux/sched.h>
#include <asm/mmu.h>

/* Processes that have mapped a page. */
extern unsigned int perfctr_x86_nr_users;

/* rdpmc=2 in sysfs: every process may RDPMC.  Found by looking: nothing reports it. */
extern bool perfctr_x86_rdpmc_always;

/* True if perf or we allow the threads of this process to RDPMC. */
static __always_inline bool perfctr_x86_rdpmc_allowed(const struct mm_struct *mm)
{
	return atomic_read(&mm->context.perf_rdpmc_allowed);
}

/*
 * True if another process could see what the counters hold, by RDPMC or through a
 * mapped page.  The owner's mm does not count if it may RDPMC.  In doubt, if it maps
 * states of others only, it does count.
 *
 * Context: suspend, with interrupts disabled, in the owner.
 */
static __always_inline bool perfctr_x86_watched(void)
{
	unsigned int nr = READ_ONCE(perfctr_x86_nr_users);
	struct mm_struct *mm = current->mm;	/* NULL late in exit */

	if (READ_ONCE(perfctr_x86_rdpmc_always))
		return true;
	return nr && (nr > 1 || !mm || !perfctr_x86_rdpmc_allowed(mm));
}

/*
 * CR4.PCE was found set: note if neither perf nor we allowed it.
 *
 * Context: the owner, preemption disabled.
 */
static __always_inline void perfctr_x86_saw_rdpmc(void)
{
	struct mm_struct *mm = current->mm;	/* NULL late in exit */

	if (mm && unlikely(!perfctr_x86_rdpmc_allowed(mm)))
		WRITE_ONCE(perfctr_x86_rdpmc_always, true);
}

#endif /* VPERFCTR_X86_RDPMC_H */
