/* SPDX-License-Identifier: GPL-2.0 */
/* What every switch asks of rdpmc.c: who could see what the counters hold? */
#ifndef VPERFCTR_X86_RDPMC_H
#define VPERFCTR_X86_RDPMC_H

#include <linux/sched.h>
#include <asm/mmu.h>

/* Processes that have mapped a page. */
extern unsigned int perfctr_x86_nr_users;

/* rdpmc=2 in sysfs: everybody may RDPMC.  Learned by looking, as nothing tells. */
extern bool perfctr_x86_rdpmc_always;

/* May the threads of this process RDPMC, as far as perf and we go? */
static __always_inline bool perfctr_x86_rdpmc_allowed(const struct mm_struct *mm)
{
	return atomic_read(&mm->context.perf_rdpmc_allowed);
}

/*
 * At suspend, with interrupts disabled, in the owner's context: may somebody
 * else see what the counters hold, by RDPMC or through a mapped page?  The
 * owner's own mm does not count if it has RDPMC; in doubt (it maps only states
 * of others) it does.
 */
static __always_inline bool perfctr_x86_watched(void)
{
	unsigned int nr = READ_ONCE(perfctr_x86_nr_users);
	struct mm_struct *mm = current->mm;	/* NULL late in exit */

	if (READ_ONCE(perfctr_x86_rdpmc_always))
		return true;
	return nr && (nr > 1 || !mm || !perfctr_x86_rdpmc_allowed(mm));
}

/* CR4.PCE was found set; in the owner's context, preemption disabled. */
static __always_inline void perfctr_x86_saw_rdpmc(void)
{
	struct mm_struct *mm = current->mm;	/* likewise */

	if (mm && unlikely(!perfctr_x86_rdpmc_allowed(mm)))
		WRITE_ONCE(perfctr_x86_rdpmc_always, true);
}

#endif /* VPERFCTR_X86_RDPMC_H */
