/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the low-level drivers of all architectures. */
#ifndef VPERFCTR_COMMON_H
#define VPERFCTR_COMMON_H

#include "../../cpu.h"

/* no-counters.c: the driver without counters, but for its probe */
int perfctr_generic_check_control(struct perfctr_cpu_control *control);

/*
 * What a driver does with a running state: see cpu.h.  Without a faster way, a driver
 * leaves the last three NULL, which makes them a suspend and a resume.
 */
struct perfctr_cpu_ops {
	perfctr_cpu_op *suspend;
	perfctr_cpu_op *resume;
	perfctr_cpu_op *sample;
	perfctr_cpu_take_op *take_overflow;
	perfctr_cpu_op *restart;
	perfctr_cpu_op *iresume;
};

/* For a driver without counters. */
#define PERFCTR_GENERIC_OPS {				\
	.suspend	= perfctr_generic_suspend,	\
	.resume		= perfctr_generic_resume,	\
	.sample		= perfctr_generic_sample,	\
}

/*
 * static-calls.c: install the operations of the driver whose probe succeeded.
 *
 * Return: 0, or -EINVAL if a module parameter is wrong.
 */
int perfctr_driver_init(const struct perfctr_cpu_ops *ops);

/*
 * kind.c: for processors with several kinds of CPUs.  After driver_init, what is to
 * tell on a CPU how its kind differs from perfctr_cpu_info, which is in *info; it
 * returns an error if that is too much, and the CPU's counters cannot be used.
 */
typedef int perfctr_probe_kind(struct vperfctr_info *info);
void perfctr_init_kinds(perfctr_probe_kind *probe);

/*
 * On a CPU that comes online, before user threads are on it, of one after the
 * other.  Without perfctr_init_kinds(): nothing.
 */
void perfctr_learn_kind(unsigned int cpu);

/* That of this CPU; NULL: its counters are not to be used. */
const struct vperfctr_info *perfctr_kind_here(void);

/* static-calls.c: those that the module's parameter names, and what a driver adds. */
extern struct cpumask perfctr_forbid_cpus;

/* For perfctr_cpu_sampling_ns: counters as narrow as this. */
u64 perfctr_sampling_ns(unsigned int width);

/* static-calls.c: the service's handler; NULL: no i-mode. */
extern perfctr_ihandler *perfctr_overflowed;

/* For check_control.  a-mode: 0; i-mode: minus a period that can be loaded. */
static inline bool perfctr_is_valid_ireset(s64 ireset, bool imode)
{
	return imode ? ireset < 0 && -(u64)ireset <= perfctr_cpu_info.max_period : !ireset;
}

/* The top bit of a counter, by its number in a control. */
static inline u64 perfctr_sign(u32 map)
{
	return 1ULL << ((map & VPERFCTR_FIXED ? perfctr_cpu_info.fixed_width :
					       perfctr_cpu_info.pmc_width) - 1);
}

/* In the page's form; without what changes at resume. */
static inline u32 perfctr_make_cstatus(const struct perfctr_cpu_control *control)
{
	return perfctr_nrctrs(control) | control->nractrs << 8 |
	       (control->tsc_on ? VPERFCTR_CSTATUS_TSC : 0) |
	       (control->nrictrs ? VPERFCTR_CSTATUS_ICTRS : 0);
}

/* An i-mode counter is to start 2^shift periods before its next overflow. */
u64 perfctr_long_start(struct perfctr_cpu_state *state, unsigned int i, unsigned int shift);

/* The i-th counter has overflowed.  Where does it start again? */
static __always_inline u64 perfctr_reset_ictr(struct perfctr_cpu_state *state, unsigned int i,
					      unsigned int shift,
					      struct perfctr_overflow *overflow)
{
	overflow->ctrs |= BIT(i);
	if (likely(!(state->ishift[i] | shift)))
		return state->control.ctr[i].ireset;
	overflow->skipped += BIT_ULL(state->ishift[i]) - 1;
	return perfctr_long_start(state, i, shift);
}

/*
 * The samplecount is odd while sums change.  The owner's own reads never meet
 * that, as the changes are made in the kernel on the owner's CPU, but other
 * CPUs' reads of the page do.
 */
static __always_inline void perfctr_page_begin(struct vperfctr_page *page)
{
	page->samplecount++;	/* one writer at a time, as for seqcount_t */
	smp_wmb();	/* odd before anything changes */
}

static __always_inline void perfctr_page_end(struct vperfctr_page *page)
{
	smp_wmb();	/* all changes before even again */
	page->samplecount++;
}

#endif /* VPERFCTR_COMMON_H */
