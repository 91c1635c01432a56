// SPDX-License-Identifier: GPL-2.0
/*
 * Claim counters from the kernel's own driver, struct riscv_pmu, which offers no call to
 * reserve them and owns their interrupt.
 *
 * struct riscv_pmu has a map of the counters in use on each CPU.  Its struct pmu has pointers
 * to the functions that filter and add events.  While this module is loaded they point to
 * ours, which call the driver's own functions unless the counters are reserved.
 *
 * A reservation interrupts no CPU.  It sets a flag, and then looks at the maps of
 * all CPUs: it fails if a counter is used on one of them.  Adding an event marks a counter
 * in the map of its CPU, and then looks at the flag.  So one of the two sees the other.
 *
 * While the flag is set, perf skips its events.  This includes pinned events: perf would
 * disable them for good if it tried them and found no counter.  Readers see that
 * time running is less than time enabled.  Events of the firmware's own counters are skipped,
 * too.
 *
 * A CPU is claimed when counters are first resumed there.  perf has no event on a counter
 * then, so it makes no call for one.
 *
 * The interrupt stays requested and enabled.  The driver has requested it with its handler,
 * which is in the interrupt's struct irqaction.  Ours takes its place there, and calls it on a
 * CPU that is not claimed.  A request of our own would need a free of the driver's, and the
 * driver could not request it again.
 */
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/percpu.h>
#include <linux/perf/riscv_pmu.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <asm/irq_regs.h>

#include "../../compat/pmu.h"
#include "../common/find-pmu.h"
#include "riscv.h"

/* NULL: the kernel has no driver for this CPU, and perf never uses its counters. */
static DEFINE_PER_CPU(struct riscv_pmu *, pmu_here);

/*
 * True if vperfctr has claimed the counters.  Written on the CPU with interrupts
 * disabled, or while the CPU is offline.
 */
static DEFINE_PER_CPU(bool, is_claimed);

/* The driver's own functions, and where its interrupt's are.  There is one driver. */
static struct {
	struct riscv_pmu *pmu;
	int (*add)(struct perf_event *event, int flags);
	struct irqaction *action;	/* NULL: it has no interrupt */
	irq_handler_t handler;
} theirs;

int perfctr_perf_find(unsigned int cpu, bool *intr)
{
	struct riscv_pmu *riscv_pmu = per_cpu(pmu_here, cpu);

	if (!riscv_pmu) {
		struct pmu *pmu = perfctr_find_pmu(cpu);

		/* If lockdown forbids the event, or memory is short, there may be a driver. */
		if (IS_ERR(pmu))
			return -EBUSY;
		riscv_pmu = pmu ? to_riscv_pmu(pmu) : NULL;
		per_cpu(pmu_here, cpu) = riscv_pmu;
	}
	*intr = riscv_pmu && per_cpu_ptr(riscv_pmu->hw_events, cpu)->irq > 0;
	return 0;
}

/* True if an event of perf's is on a counter of a CPU, or is being added there. */
static bool has_events(struct riscv_pmu *pmu, unsigned int cpu)
{
	const unsigned long *map = per_cpu_ptr(pmu->hw_events, cpu)->used_hw_ctrs;
	unsigned int i;

	for (i = 0; i < BITS_TO_LONGS(RISCV_MAX_COUNTERS); i++) {
		if (READ_ONCE(map[i]))
			return true;
	}
	return false;
}

bool perfctr_perf_is_busy(unsigned int cpu)
{
	struct riscv_pmu *pmu = per_cpu(pmu_here, cpu);

	return pmu && has_events(pmu, cpu);
}

bool perfctr_riscv_perf_uses(unsigned int counter)
{
	struct riscv_pmu *pmu = this_cpu_read(pmu_here);

	return pmu && !this_cpu_read(is_claimed) &&
	       test_bit(counter, this_cpu_ptr(pmu->hw_events)->used_hw_ctrs);
}

bool perfctr_perf_claim(void)
{
	struct riscv_pmu *pmu = this_cpu_read(pmu_here);

	if (pmu && has_events(pmu, smp_processor_id()))
		return false;
	this_cpu_write(is_claimed, true);
	return true;
}

void perfctr_perf_release(unsigned int cpu)
{
	per_cpu(is_claimed, cpu) = false;
}

/* ---- replacements of the driver's functions --------------------------------- */

/*
 * These run in RCU read-side critical sections.  On CPUs that are not claimed they
 * call the driver's own functions.
 */

/* See compat/pmu.h. */
static bool perfctr_perf_may_begin(void)
{
	smp_rmb();	/* pairs with step_in: the diversions must find `theirs` */
	if (likely(!READ_ONCE(perfctr_reserved)) ||
	    cpumask_test_cpu(smp_processor_id(), &perfctr_forbid_cpus))
		return true;
	/* Pairs with the release: it finds this CPU, or this finds that it has happened. */
	perfctr_perf_turned_away();
	return !READ_ONCE(perfctr_reserved);
}

static irqreturn_t divert_handler(int irq, void *dev)
{
	smp_rmb();	/* pairs with step_in, as above */
	if (!this_cpu_read(is_claimed))
		return theirs.handler(irq, dev);
	perfctr_driver->interrupt(get_irq_regs());
	return IRQ_HANDLED;
}

/*
 * The filter has let this event pass, and the reservation may have come since.  If it
 * found no event here, this one must go again.  A pinned event would be disabled for
 * good: it stays, and its CPU cannot be claimed until it ends.
 */
static int divert_add(struct perf_event *event, int flags)
{
	int err;

	smp_rmb();	/* pairs with step_in, as above */
	err = theirs.add(event, flags);
	if (err)
		return err;
	smp_mb();	/* pairs with perfctr_cpu_reserve() */
	if (likely(perfctr_perf_may_begin()) || event->group_leader->attr.pinned)
		return 0;
	event->pmu->del(event, 0);
	return -EAGAIN;
}

/* Return what the driver has requested its interrupt with, or NULL. */
static struct irqaction *find_action(struct riscv_pmu *pmu, unsigned int cpu)
{
	int irq = per_cpu_ptr(pmu->hw_events, cpu)->irq;
	struct irq_data *data = irq > 0 ? irq_get_irq_data(irq) : NULL;
	struct irqaction *action = data ? irq_data_to_desc(data)->action : NULL;

	while (action && action->percpu_dev_id != (void __percpu *)pmu->hw_events)
		action = action->next;
	return action;
}

bool perfctr_perf_step_in(unsigned int cpu)
{
	struct riscv_pmu *pmu = per_cpu(pmu_here, cpu);
	bool has_irq;

	if (!pmu)
		return true;
	if (theirs.pmu)
		return pmu == theirs.pmu;
	has_irq = per_cpu_ptr(pmu->hw_events, cpu)->irq > 0;
	theirs.action = find_action(pmu, cpu);
	if (has_irq && !theirs.action)
		return false;
	theirs.pmu = pmu;
	theirs.add = pmu->pmu.add;
	theirs.handler = theirs.action ? theirs.action->handler : NULL;
	perfctr_filter_save(&pmu->pmu);
	smp_wmb();	/* pairs with perfctr_perf_may_begin() and others */
	perfctr_filter_step_in(&pmu->pmu);
	WRITE_ONCE(pmu->pmu.add, divert_add);
	if (theirs.action)
		WRITE_ONCE(theirs.action->handler, divert_handler);
	return true;
}

void perfctr_perf_step_out(void)
{
	struct riscv_pmu *pmu = theirs.pmu;

	if (!pmu)
		return;
	if (theirs.action)
		WRITE_ONCE(theirs.action->handler, theirs.handler);
	WRITE_ONCE(pmu->pmu.add, theirs.add);
	perfctr_filter_step_out(&pmu->pmu);
}
