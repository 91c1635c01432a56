/* SPDX-License-Identifier: GPL-2.0 */
/* Checks at each context switch whether a process could see counts of others. */
#ifndef VPERFCTR_X86_RDPMC_H
#define VPERFCTR_X86_RDPMC_H

#include <linux/sched.h>
#include <asm/mmu.h>

/*
 * The processes that could see what counters hold.  All is zero if none could, or without
 * isolation: a switch tests that at once.
 */
union perfctr_x86_watch {
	struct {
		/*
		 * The number of processes that have mapped a state's page; 2 means two or more.
		 * It falls with a delay: see rdpmc.c.
		 */
		u16 watchers;
		union {
			struct {
				/* Under rdpmc=2 in sysfs all may.  Inferred from CR4.PCE. */
				bool always;
				/* Some may, and perf has forgotten it: see rdpmc.c. */
				bool forgotten;
			};
			u16 unknown;	/* processes without a mapped page may RDPMC */
		};
	};
	u32 any;
};

extern union perfctr_x86_watch perfctr_x86_watch;

/* The same as `always`, also without isolation. */
extern bool perfctr_x86_rdpmc_always;

/* True if perf or we allow the threads of this process to RDPMC. */
static __always_inline bool perfctr_x86_rdpmc_allowed(const struct mm_struct *mm)
{
	return atomic_read(&mm->context.perf_rdpmc_allowed);
}

/*
 * Return 0 if counters may keep running when their owner is switched out, as no process can see
 * what they count then.  This ends before a process can look, and all that run by then are stopped:
 * see raise_level() in rdpmc.c.
 *
 * Context: Interrupts disabled.
 */
static __always_inline u32 perfctr_x86_stops(void)
{
	return READ_ONCE(perfctr_x86_watch.any);
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
	unsigned int nr = READ_ONCE(perfctr_x86_watch.watchers);
	struct mm_struct *mm = current->mm;	/* NULL late in exit */

	if (READ_ONCE(perfctr_x86_watch.unknown))
		return true;
	return nr && (nr > 1 || !mm || !perfctr_x86_rdpmc_allowed(mm));
}

void perfctr_x86_infer_always(void);	/* also in an NMI */
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
