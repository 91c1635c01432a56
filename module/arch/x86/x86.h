/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the x86 low-level drivers. */
#ifndef VPERFCTR_X86_H
#define VPERFCTR_X86_H

#include "../../cpu.h"

/*
 * What a driver must supply.  The three hot operations are called through
 * static calls; cpu.c sees to that and to CPU hotplug.
 */
struct perfctr_x86_driver {
	/* Is this the processor?  Fills in perfctr_cpu_info.  -ENODEV: no. */
	int (*probe)(void);

	int (*check_control)(struct perfctr_cpu_control *control, bool kernel);
	perfctr_cpu_op *suspend;
	perfctr_cpu_op *resume;
	perfctr_cpu_op *sample;

	/*
	 * Take the counters from perf_event and other users of the kernel's
	 * register reservation, and give them back.  NULL: nothing to take.
	 */
	int (*reserve)(void);
	void (*release)(void);

	/*
	 * In an NMI: has an i-mode counter of what is running here overflowed?
	 * If so, the counters are stopped, and will be seen to by whoever is
	 * given the state.  If it has not, or if somebody on this CPU is about
	 * to look, NULL.
	 */
	struct perfctr_cpu_state *(*overflow)(void);

	/*
	 * On the CPU itself, with interrupts disabled:
	 * start: save what is to be given back, stop and clear everything
	 * stop: clear everything, give back what was saved
	 * forget: the registers were lost, start over
	 * scrub: between start and stop, clear all counters, to the harm of
	 *	nobody's counts; otherwise do nothing
	 */
	void (*cpu_start)(void);
	void (*cpu_stop)(void);
	void (*cpu_forget)(void);
	void (*cpu_scrub)(void);
};

extern const struct perfctr_x86_driver perfctr_x86_generic;
extern const struct perfctr_x86_driver perfctr_x86_intel;

/* cpu.c: run cpu_scrub on all CPUs if the hardware is reserved. */
void perfctr_x86_scrub(void);

/*
 * pmi.c: the interrupt of the counters.  Init and exit of the module; start and
 * stop on a CPU, with its registers, interrupts disabled.
 */
int perfctr_x86_pmi_init(const struct perfctr_x86_driver *driver);
void perfctr_x86_pmi_exit(void);
void perfctr_x86_pmi_start(void);
void perfctr_x86_pmi_stop(void);
void perfctr_x86_pmi_forget(void);

/* An overflow was seen whose interrupt has not come yet, and will find nothing. */
void perfctr_x86_pmi_expect(void);

/* Hand an overflow to the service.  regs: as for its handler. */
void perfctr_x86_overflowed(struct perfctr_cpu_state *state, struct pt_regs *regs);

/*
 * user.c: could anyone but the current mm see what the counters hold, by RDPMC
 * or through a mapped page?
 */
bool perfctr_x86_watched(void);

/*
 * user.c: while the hardware is not ours nobody has RDPMC because of us: it
 * would show what perf counts.  Both may sleep; users are scrubbed for before.
 */
void perfctr_x86_users_allow(void);
void perfctr_x86_users_forbid(void);

/* user.c: CR4.PCE was found set; in the owner's context, preemption disabled. */
void perfctr_x86_saw_rdpmc(void);

/* The top bit of a counter, by what RDPMC takes. */
static inline u64 perfctr_x86_sign(u32 map)
{
	return 1ULL << ((map & VPERFCTR_FIXED ? perfctr_cpu_info.fixed_width :
					       perfctr_cpu_info.pmc_width) - 1);
}

/*
 * The samplecount is odd while sums change.  The owner's own reads never meet
 * that, as the changes are made in the kernel on the owner's CPU, but other
 * CPUs' reads of the page do.
 */
static __always_inline void perfctr_page_begin(struct vperfctr_page *page)
{
	WRITE_ONCE(page->samplecount, page->samplecount + 1);
	smp_wmb();	/* odd before anything changes */
}

static __always_inline void perfctr_page_end(struct vperfctr_page *page)
{
	smp_wmb();	/* all changes before even again */
	WRITE_ONCE(page->samplecount, page->samplecount + 1);
}

#endif /* VPERFCTR_X86_H */
