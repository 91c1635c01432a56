// SPDX-License-Identifier: GPL-2.0
/*
 * Claim counters from the kernel's own driver, struct arm_pmu, which offers no
 * call to reserve them and owns their interrupt.
 *
 * struct arm_pmu has a map of the counters in use on each CPU.  It has pointers to
 * the functions that say which CPUs it drives, and that start, stop and reset the
 * whole unit.  Claiming a CPU marks all its counters as used, on that CPU and with
 * interrupts disabled, as perf schedules events.  It fails if an event is on them.
 *
 * perf then skips its events on that CPU.  This includes pinned events: perf would
 * disable them for good if it tried them and found no counter.  Readers see that
 * time running is less than time enabled.  The functions that start, stop and reset
 * the unit leave a claimed CPU alone.  The kernel calls them as perf adds or removes an event,
 * and as a CPU comes online or wakes up.
 *
 * The interrupt stays requested and enabled.  Its dispatch goes through handle_irq,
 * which points to our handler meanwhile.  The kernel decides whether it is an NMI
 * ("irqchip.gicv3_pseudo_nmi"); our handler works in both contexts.
 *
 * Removing a CPU from the driver's set of CPUs, supported_cpus, would be simpler.
 * It worked up to Linux 6.18.  Later kernels use the set for the interrupt too, and
 * disable the interrupt for good on a CPU that is not in it.
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

/* NULL: the kernel has no driver for this CPU, and perf never uses its registers. */
static DEFINE_PER_CPU(struct arm_pmu *, pmu_here);

/*
 * True if vperfctr has claimed the counters.  Written on the CPU with interrupts
 * disabled, or while the CPU is offline.
 */
static DEFINE_PER_CPU(bool, is_claimed);

/* The driver's own functions.  One set serves all CPUs: others are forbidden. */
static struct {
	irqreturn_t (*handle_irq)(struct arm_pmu *pmu);
	void (*start)(struct arm_pmu *pmu);
	void (*stop)(struct arm_pmu *pmu);
	void (*reset)(void *pmu);
} theirs;

static bool (*overflow_handler)(struct pt_regs *regs);

/* Find the driver of a CPU: the one that accepts an event for the CPU's cycles. */
static struct arm_pmu *find_arm_pmu(unsigned int cpu)
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
		pmu = find_arm_pmu(cpu);
		/* If lockdown forbids the event, or memory is short, there may be a driver. */
		if (IS_ERR(pmu))
			return -EBUSY;
		per_cpu(pmu_here, cpu) = pmu;
	}
	*intr = pmu && per_cpu_ptr(pmu->hw_events, cpu)->irq > 0;
	return 0;
}

bool perfctr_arm64_perf_claim(void)
{
	struct arm_pmu *pmu = this_cpu_read(pmu_here);
	struct pmu_hw_events *events;

	if (!pmu)
		return true;
	events = this_cpu_ptr(pmu->hw_events);
	if (!bitmap_empty(events->used_mask, ARMPMU_MAX_HWEVENTS))
		return false;
	bitmap_fill(events->used_mask, ARMPMU_MAX_HWEVENTS);
	this_cpu_write(is_claimed, true);
	return true;
}

void perfctr_arm64_perf_release(unsigned int cpu)
{
	struct arm_pmu *pmu = per_cpu(pmu_here, cpu);

	if (!pmu)
		return;
	per_cpu(is_claimed, cpu) = false;
	bitmap_zero(per_cpu_ptr(pmu->hw_events, cpu)->used_mask, ARMPMU_MAX_HWEVENTS);
}

/*
 * The driver resets the unit when a CPU wakes up.  It could not do so while the CPU
 * was claimed, so do it now.
 */
void perfctr_arm64_perf_reset(void)
{
	struct arm_pmu *pmu = this_cpu_read(pmu_here);

	if (pmu)
		theirs.reset(pmu);
}

/* ---- replacements of the driver's functions --------------------------------- */

/*
 * These run in RCU read-side critical sections.  On CPUs that are not claimed they
 * call the driver's own functions.
 */

/* True if perf may use the counters of this CPU. */
static bool belongs_to_perf(void)
{
	smp_rmb();	/* pairs with step_in: the diversions must find `theirs` */
	return !this_cpu_read(is_claimed);
}

static irqreturn_t divert_handle_irq(struct arm_pmu *pmu)
{
	if (belongs_to_perf())
		return theirs.handle_irq(pmu);
	return overflow_handler(get_irq_regs()) ? IRQ_HANDLED : IRQ_NONE;
}

static void divert_start(struct arm_pmu *pmu)
{
	if (belongs_to_perf())
		theirs.start(pmu);
}

static void divert_stop(struct arm_pmu *pmu)
{
	if (belongs_to_perf())
		theirs.stop(pmu);
}

static void divert_reset(void *pmu)
{
	if (belongs_to_perf())
		theirs.reset(pmu);
}

void perfctr_arm64_perf_step_in(bool (*overflow)(struct pt_regs *regs))
{
	unsigned int cpu;

	overflow_handler = overflow;
	for_each_possible_cpu(cpu) {
		struct arm_pmu *pmu = per_cpu(pmu_here, cpu);

		if (!pmu || pmu->handle_irq == divert_handle_irq ||
		    cpumask_test_cpu(cpu, &perfctr_forbid_cpus))
			continue;
		theirs.handle_irq = pmu->handle_irq;
		theirs.start = pmu->start;
		theirs.stop = pmu->stop;
		theirs.reset = pmu->reset;
		smp_wmb();	/* pairs with belongs_to_perf() */
		perfctr_filter_step_in(&pmu->pmu, belongs_to_perf);
		WRITE_ONCE(pmu->handle_irq, divert_handle_irq);
		WRITE_ONCE(pmu->start, divert_start);
		WRITE_ONCE(pmu->stop, divert_stop);
		WRITE_ONCE(pmu->reset, divert_reset);
	}
}

void perfctr_arm64_perf_step_out(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct arm_pmu *pmu = per_cpu(pmu_here, cpu);

		if (!pmu || pmu->handle_irq != divert_handle_irq)
			continue;
		WRITE_ONCE(pmu->reset, theirs.reset);
		WRITE_ONCE(pmu->stop, theirs.stop);
		WRITE_ONCE(pmu->start, theirs.start);
		WRITE_ONCE(pmu->handle_irq, theirs.handle_irq);
		perfctr_filter_step_out(&pmu->pmu);
	}
}
