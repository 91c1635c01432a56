/* SPDX-License-Identifier: GPL-2.0 */
/* Checks at each context switch whether a process could see counts of others. */
#ifndef VPERFCTR_X86_RDPMC_H
#define VPERFCTR_X86_RDPMC_H

#include <linux/sched.h>
#include <asm/mmu.h>

/*
 * The number of processes that have mapped a state's page; 2 means two or more.  It falls
 * with a delay: see rdpmc.c.
 */
extern unsigned int perfctr_x86_watchers;

/* True under rdpmc=2 in sysfs: every process may RDPMC.  Inferred from CR4.PCE. */
extern bool perfctr_x86_rdpmc_always;

/* True if perf or we allow the threads of this process to RDPMC. */
static __always_inline bool perfctr_x86_rdpmc_allowed(const struct mm_struct *mm)
{
	return atomic_read(&mm->context.perf_rdpmc_allowed);
}

/*
 * True if another process could see what the counters hold, by RDPMC or through a
 * mapped page.  If only one process has a mapping, and the owner may RDPMC, that process
 * is the owner's own.  An owner that may not RDPMC may map states of other processes.
 *
 * Context: Suspend in the owner, interrupts disabled.
 */
static __always_inline bool perfctr_x86_watched(void)
{
	unsigned int nr = READ_ONCE(perfctr_x86_watchers);
	struct mm_struct *mm = current->mm;	/* NULL late in exit */

	if (READ_ONCE(perfctr_x86_rdpmc_always))
		return true;
	return nr && (nr > 1 || !mm || !perfctr_x86_rdpmc_allowed(mm));
}

void perfctr_x86_infer_always(void);
void perfctr_x86_deny_always(void);

/*
 * Record that CR4.PCE was found set, if neither perf nor this module allowed it.
 *
 * Context: The owner, preemption disabled.
 */
static __always_inline void perfctr_x86_saw_rdpmc(void)
{
	struct mm_struct *mm = current->mm;	/* NULL late in exit */

	if (mm && unlikely(!perfctr_x86_rdpmc_allowed(mm)))
		perfctr_x86_infer_always();
}

#endif /* VPERFCTR_X86_RDPMC_H */
