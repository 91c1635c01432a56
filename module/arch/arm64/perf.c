// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's own driver of the counters, struct arm_pmu.  It has no reservation
 * call, and its interrupt.
 *
 * It does have a set of CPUs, as big.LITTLE systems have several such drivers:
 * supported_cpus.  It touches no register of a CPU that is not in that set; not
 * when an event is scheduled or starts, not when the CPU comes online or wakes up.
 * So taking a CPU means taking it out of the set, on that CPU and with interrupts
 * disabled, which is how perf schedules events, and only if none is on the counters.
 * Until it is back in the set, perf refuses events for the CPU, and events of
 * threads are not scheduled there, which their readers see (time running is less
 * than time enabled).
 *
 * The interrupt stays requested and enabled as it is.  It is dispatched through
 * handle_irq, which is ours meanwhile.  Whether it is an NMI is the kernel's
 * business ("irqchip.gicv3_pseudo_nmi"); our handler works in both.
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

#include "arm64.h"

/* Each CPU's; NULL: the kernel has none for it, and the registers are nobody's. */
static DEFINE_PER_CPU(struct arm_pmu *, pmu_here);

static irqreturn_t (*saved_handler)(struct arm_pmu *pmu);
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

	if (!pmu)
		return true;
	if (!bitmap_empty(this_cpu_ptr(pmu->hw_events)->used_mask, ARMPMU_MAX_HWEVENTS))
		return false;
	cpumask_clear_cpu(smp_processor_id(), &pmu->supported_cpus);
	return true;
}

void perfctr_arm64_perf_give_back(unsigned int cpu)
{
	struct arm_pmu *pmu = per_cpu(pmu_here, cpu);

	if (pmu)
		cpumask_set_cpu(cpu, &pmu->supported_cpus);
}

static irqreturn_t handle_irq(struct arm_pmu *pmu)
{
	return overflow_handler(get_irq_regs()) ? IRQ_HANDLED : IRQ_NONE;
}

/* All of them are the same driver's, as CPUs of other kinds are forbidden. */
void perfctr_arm64_perf_take_intr(bool (*overflow)(struct pt_regs *regs))
{
	unsigned int cpu;

	overflow_handler = overflow;
	for_each_possible_cpu(cpu) {
		struct arm_pmu *pmu = per_cpu(pmu_here, cpu);

		if (pmu && pmu->handle_irq != handle_irq) {
			saved_handler = pmu->handle_irq;
			WRITE_ONCE(pmu->handle_irq, handle_irq);
		}
	}
}

/* Nothing counts, and nothing is left that could interrupt. */
void perfctr_arm64_perf_give_back_intr(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct arm_pmu *pmu = per_cpu(pmu_here, cpu);

		if (pmu && pmu->handle_irq == handle_irq)
			WRITE_ONCE(pmu->handle_irq, saved_handler);
	}
}
