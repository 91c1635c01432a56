// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's own driver of the counters, struct arm_pmu.  It has no reservation
 * call, and its interrupt.
 *
 * What it does have is a map of the counters that are in use, on each CPU, and
 * pointers to the functions by which it says which CPUs are its own, and touches
 * the unit as a whole.  Taking a CPU means marking all its counters as used, on that
 * CPU and with interrupts disabled, which is how perf schedules events, and only if
 * none is on them.  perf passes over its events there, pinned ones included, which
 * would end for good if they were tried and found no counter; their readers see that
 * (time running is less than time enabled).  What starts, stops and resets the unit,
 * for an event that comes or goes, a CPU that comes online or wakes up, leaves it
 * alone meanwhile.
 *
 * The interrupt stays requested and enabled as it is.  It is dispatched through
 * handle_irq, which is ours meanwhile.  Whether it is an NMI is the kernel's
 * business ("irqchip.gicv3_pseudo_nmi"); our handler works in both.  (The driver's
 * set of CPUs, supported_cpus, would be simpler to take a CPU out of, and was up to
 * Linux 6.18; since then the interrupt goes by it as well, and is disabled for good
 * on a CPU that is not in the set.)
 */
#include <linux/bitmap.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/interrupt.h>
#include <linux/percpu.h>
#include <linux/perf/arm_pmu.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <asm/irq_regs.h>

#include "../../compat/pmu.h"
#include "arm64.h"

/* Each CPU's; NULL: the kernel has none for it, and the registers are nobody's. */
static DEFINE_PER_CPU(struct arm_pmu *, pmu_here);

/* Its counters are ours.  Changes on the CPU, with interrupts disabled, or while it is offline. */
static DEFINE_PER_CPU(bool, is_ours);

/* What the driver's pointers were; all CPUs' are the same driver, as others are forbidden. */
static struct {
	irqreturn_t (*handle_irq)(struct arm_pmu *pmu);
	void (*start)(struct arm_pmu *pmu);
	void (*stop)(struct arm_pmu *pmu);
	void (*reset)(void *pmu);
} theirs;

static bool (*overflow_handler)(struct pt_regs *regs);

/* It is whoever takes cycles of a CPU. */
static struct arm_pmu *find_pmu(unsigned int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
	};
	struct perf_event *event = perf_event_create_kernel_counter(&attr, cpu, NULL, NULL, NULL);
	struct arm_pmu *pmu;

	if (IS_ERR(event))
		return PTR_ERR(event) == -ENOENT ? NULL : ERR_CAST(event);
	pmu = to_arm_pmu(event->pmu);
	perf_event_release_kernel(event);
	return pmu;
}

int perfctr_arm64_perf_find(unsigned int cpu, bool *intr)
{
	struct arm_pmu *pmu = per_cpu(pmu_here, cpu);

	if (!pmu) {
		pmu = find_pmu(cpu);
		/* Forbidden to us (lockdown), or no memory: it may be there all the same. */
		if (IS_ERR(pmu))
			return -EBUSY;
		per_cpu(pmu_here, cpu) = pmu;
	}
	*intr = pmu && per_cpu_ptr(pmu->hw_events, cpu)->irq > 0;
	return 0;
}

bool perfctr_arm64_perf_take(void)
{
	struct arm_pmu *pmu = this_cpu_read(pmu_here);
	struct pmu_hw_events *events;

	if (!pmu)
		return true;
	events = this_cpu_ptr(pmu->hw_events);
	if (!bitmap_empty(events->used_mask, ARMPMU_MAX_HWEVENTS))
		return false;
	bitmap_fill(events->used_mask, ARMPMU_MAX_HWEVENTS);
	this_cpu_write(is_ours, true);
	return true;
}

/* On that CPU with interrupts disabled, or while it is offline. */
void perfctr_arm64_perf_give_back(unsigned int cpu)
{
	struct arm_pmu *pmu = per_cpu(pmu_here, cpu);

	if (!pmu)
		return;
	per_cpu(is_ours, cpu) = false;
	bitmap_zero(per_cpu_ptr(pmu->hw_events, cpu)->used_mask, ARMPMU_MAX_HWEVENTS);
}

/*
 * As the driver does it where it has the CPU: it may have slept in between, with nobody
 * to set the unit up again.  Interrupts are disabled.
 */
void perfctr_arm64_perf_reset(void)
{
	struct arm_pmu *pmu = this_cpu_read(pmu_here);

	if (pmu)
		theirs.reset(pmu);
}

/* ---- in place of the driver's functions ------------------------------------ */

/* They are called in RCU's read-side sections, and let the CPUs that are not ours through. */

static bool pass(void)
{
	smp_rmb();	/* pairs with step_in: who got to ours finds theirs */
	return !this_cpu_read(is_ours);
}

static irqreturn_t handle_irq(struct arm_pmu *pmu)
{
	if (pass())
		return theirs.handle_irq(pmu);
	return overflow_handler(get_irq_regs()) ? IRQ_HANDLED : IRQ_NONE;
}

static void start(struct arm_pmu *pmu)
{
	if (pass())
		theirs.start(pmu);
}

static void stop(struct arm_pmu *pmu)
{
	if (pass())
		theirs.stop(pmu);
}

static void reset(void *pmu)
{
	if (pass())
		theirs.reset(pmu);
}

/* Before the first CPU is taken. */
void perfctr_arm64_perf_step_in(bool (*overflow)(struct pt_regs *regs))
{
	unsigned int cpu;

	overflow_handler = overflow;
	for_each_possible_cpu(cpu) {
		struct arm_pmu *pmu = per_cpu(pmu_here, cpu);

		if (!pmu || pmu->handle_irq == handle_irq ||
		    cpumask_test_cpu(cpu, &perfctr_forbid_cpus))
			continue;
		theirs.handle_irq = pmu->handle_irq;
		theirs.start = pmu->start;
		theirs.stop = pmu->stop;
		theirs.reset = pmu->reset;
		smp_wmb();	/* pairs with pass() */
		perfctr_filter_step_in(&pmu->pmu, pass);
		WRITE_ONCE(pmu->handle_irq, handle_irq);
		WRITE_ONCE(pmu->start, start);
		WRITE_ONCE(pmu->stop, stop);
		WRITE_ONCE(pmu->reset, reset);
	}
}

/*
 * When the last CPU has been given back.  Ours may still be running on other CPUs:
 * who unloads them has to wait for a grace period.
 */
void perfctr_arm64_perf_step_out(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct arm_pmu *pmu = per_cpu(pmu_here, cpu);

		if (!pmu || pmu->handle_irq != handle_irq)
			continue;
		WRITE_ONCE(pmu->reset, theirs.reset);
		WRITE_ONCE(pmu->stop, theirs.stop);
		WRITE_ONCE(pmu->start, theirs.start);
		WRITE_ONCE(pmu->handle_irq, theirs.handle_irq);
		perfctr_filter_step_out(&pmu->pmu);
	}
}
