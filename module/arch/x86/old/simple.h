/* SPDX-License-Identifier: GPL-2.0 */
/*
 * simple.c: the operations of drivers for processors that are older than architectural
 * performance monitoring.  They have few counters, whose controls fit into one number.
 *
 * check_control of such a driver derives this number, the image, and stores it in
 * regs.enable.  The driver translates images into registers.
 */
#ifndef VPERFCTR_X86_SIMPLE_H
#define VPERFCTR_X86_SIMPLE_H

#include <linux/percpu.h>

#include "x86.h"

struct perfctr_x86_simple {
	/*
	 * Write the registers that differ between two images.
	 *
	 * Context: Interrupts disabled, or NMI.
	 */
	void (*write)(u64 image, u64 old);

	/*
	 * Stopping the counters clears the other bits of the image.  The next start with the
	 * same control then writes no more than it must.  All bits: nothing stops them.
	 */
	u64 keep;

	u64 idle;			/* the image while nothing counts */
	u64 trial;			/* one with which all count in kernel mode */
	u32 pmc0;			/* the MSR of counter 0 */
	bool no_rdpmc;			/* the processor does not have the instruction */
	u64 sign;			/* the top bit of a counter; described */
};

/* The contents of a CPU's registers, and the state that uses them. */
struct perfctr_x86_simple_cpu {
	u64 image;			/* of the control registers */
	u32 ready;			/* as in pmc.h */
	struct perfctr_cpu_state *running; /* resumed here, and uses counters */
	struct perfctr_cpu_state *armed; /* the same, if an NMI may stop its counters */
};

DECLARE_PER_CPU_ALIGNED(struct perfctr_x86_simple_cpu, perfctr_x86_simple_cpu);

/* As perfctr_x86_pmu: the probe fills it in. */
extern struct perfctr_x86_simple perfctr_x86_simple;

/*
 * Fill in the rest of perfctr_cpu_info at the end of a probe, which has set pmc_mask.
 * @width: bits of a counter
 * @period_width: bits of a counter that a write sets, if overflows raise interrupts; else 0
 *
 * Return: false if the counters cannot be read, or do not keep what is written to them.
 */
bool perfctr_x86_simple_describe(unsigned int width, unsigned int period_width);

/*
 * True if EAX of CPUID leaf 1 is of this family, without extensions of family and model.  Bits
 * 12 and 13 are the type: an OverDrive processor has 1.
 */
static inline bool perfctr_x86_is_old_family(u32 signature, unsigned int family)
{
	return ((signature >> 8) & 0xf) == family && !(signature & 0x0fff0000);
}

perfctr_cpu_op perfctr_x86_simple_suspend;
perfctr_cpu_op perfctr_x86_simple_resume;
perfctr_cpu_op perfctr_x86_simple_sample;
struct perfctr_cpu_state *perfctr_x86_simple_overflow(void);
u32 perfctr_x86_simple_updates(void);
int perfctr_x86_simple_cpu_start(bool test);
void perfctr_x86_simple_cpu_stop(void);
void perfctr_x86_simple_cpu_forget(void);
void perfctr_x86_simple_cpu_halt(void);
void perfctr_x86_simple_cpu_scrub(void);

/* Everything but the probe, check_control and the reservation. */
#define PERFCTR_X86_SIMPLE_OPS					\
	.ops = {						\
		.suspend	= perfctr_x86_simple_suspend,	\
		.resume		= perfctr_x86_simple_resume,	\
		.sample		= perfctr_x86_simple_sample,	\
	},							\
	.overflow	= perfctr_x86_simple_overflow,		\
	.updates	= perfctr_x86_simple_updates,		\
	.cpu_start	= perfctr_x86_simple_cpu_start,		\
	.cpu_stop	= perfctr_x86_simple_cpu_stop,		\
	.cpu_forget	= perfctr_x86_simple_cpu_forget,	\
	.cpu_halt	= perfctr_x86_simple_cpu_halt,		\
	.cpu_quiet	= perfctr_x86_simple_cpu_halt,		\
	.cpu_scrub	= perfctr_x86_simple_cpu_scrub

#endif /* VPERFCTR_X86_SIMPLE_H */
