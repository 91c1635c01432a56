/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the arm64 low-level drivers. */
#ifndef VPERFCTR_ARM64_H
#define VPERFCTR_ARM64_H

#include "../common/common.h"

/* What a driver must supply.  reserve.c sees to static calls and CPU hotplug. */
struct perfctr_arm64_driver {
	/* Is this the processor?  Fills in perfctr_cpu_info.  -ENODEV: no. */
	int (*probe)(void);

	int (*check_control)(struct perfctr_cpu_control *control);
	perfctr_cpu_op *suspend;
	perfctr_cpu_op *resume;
	perfctr_cpu_op *sample;

	/* No counters: what follows is not called. */
	bool no_counters;

	/* Does this CPU have what the probe found on its own? */
	bool (*is_alike)(void);

	/*
	 * On the CPU itself, with interrupts disabled:
	 * start: save what is to be given back, stop and clear everything
	 * stop: clear everything, give back what was saved
	 * forget: the registers were lost, start over
	 */
	void (*cpu_start)(void);
	void (*cpu_stop)(void);
	void (*cpu_forget)(void);

	/* The counters' interrupt, perhaps an NMI, on the CPU itself. */
	bool (*overflow)(struct pt_regs *regs);

	/* This CPU's thread has lost its permission to read. */
	void (*cpu_close_user)(void);
};

extern const struct perfctr_arm64_driver perfctr_arm64_generic;
extern const struct perfctr_arm64_driver perfctr_arm64_pmuv3;

/*
 * arm-pmu.c: the kernel's own driver of the counters.
 *
 * find: a CPU's; also whether it has an interrupt.  -EBUSY: it cannot be known.
 *	May sleep.
 * take: this CPU's counters, with interrupts disabled.  False: perf has events
 *	on them.
 * give_back: this CPU's, with interrupts disabled, or those of one that is offline.
 * reset: set this CPU's unit up for perf, which has it back; interrupts disabled.
 * step_in: get between the driver and the CPUs that are going to be taken, and
 *	their interrupts.
 * step_out: all CPUs have been given back.
 */
int perfctr_arm64_perf_find(unsigned int cpu, bool *intr);
bool perfctr_arm64_perf_take(void);
void perfctr_arm64_perf_give_back(unsigned int cpu);
void perfctr_arm64_perf_reset(void);
void perfctr_arm64_perf_step_in(bool (*overflow)(struct pt_regs *regs));
void perfctr_arm64_perf_step_out(void);

/*
 * reserve.c: the mm has lost its permission to read the counters.  Its threads that
 * run lose it now, others have none.
 */
void perfctr_arm64_close_users(struct mm_struct *mm);

/* pmuserenr.c: may current read its counters?  Preemption is disabled. */
bool perfctr_arm64_may_read(void);

#endif /* VPERFCTR_ARM64_H */
