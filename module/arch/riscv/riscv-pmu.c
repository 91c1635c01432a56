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
 *
 * With the parameter perf_counters, perf keeps some counters: the others are ours while they
 * are reserved.  The firmware chooses the counter of an event, and sets it up, before the driver
 * looks at its map.  It may choose any that does not run.  So its choice must not include ours:
 * the driver's set of counters, cmask, is reduced before the reservation looks at the maps.  The
 * driver starts and stops each counter by a call of its own, so neither disturbs the other's
 * counters.  Only the interrupt is one for all: each side must serve or raise again what it clears
 * of the other's.
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
#include "regs.h"
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
	DECLARE_BITMAP(cmask, RISCV_MAX_COUNTERS);
	int (*add)(struct perf_event *event, int flags);
	void (*start)(struct perf_event *event, u64 value);
	struct irqaction *action;	/* NULL: it has no interrupt */
	irq_handler_t handler;
} theirs;

int perfctr_perf_find(unsigned int cpu, bool *intr)
{
	struct riscv_pmu *riscv_pmu = per_cpu(pmu_here, cpu);

	if (!riscv_pmu) {
		struct pmu *pmu = perfctr_find_pmu(cpu);

		/* There may be a driver. */
		if (IS_ERR(pmu))
			return PTR_ERR(pmu);
		riscv_pmu = pmu ? to_riscv_pmu(pmu) : NULL;
		per_cpu(pmu_here, cpu) = riscv_pmu;
	}
	*intr = riscv_pmu && per_cpu_ptr(riscv_pmu->hw_events, cpu)->irq > 0;
	return 0;
}

/* The counters of a CPU with events of perf's, or to which one is being added. */
static u64 used_counters(struct riscv_pmu *pmu, unsigned int cpu)
{
	BUILD_BUG_ON(RISCV_MAX_COUNTERS != BITS_PER_LONG);
	return READ_ONCE(*per_cpu_ptr(pmu->hw_events, cpu)->used_hw_ctrs);
}

/* True if an event of perf's is on a counter of a CPU that is not perf's to keep. */
static bool has_events(struct riscv_pmu *pmu, unsigned int cpu)
{
	return used_counters(pmu, cpu) & perfctr_riscv_ours();
}

/* True if perf keeps some counters. */
static bool shares(void)
{
	return perfctr_riscv_ours() != ~0ULL;
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

bool perfctr_riscv_has_perf(void)
{
	return this_cpu_read(pmu_here);
}

bool perfctr_riscv_perf_uses_kept(void)
{
	struct riscv_pmu *pmu = this_cpu_read(pmu_here);

	return pmu && used_counters(pmu, smp_processor_id()) & ~perfctr_riscv_ours();
}

/*
 * An event that is being added on another CPU may have got its counter from the whole set: the
 * reservation finds it, or divert_add() finds the reservation.
 */
void perfctr_perf_divide(bool reserve)
{
	if (!theirs.pmu || !shares())
		return;
	WRITE_ONCE(*theirs.pmu->cmask, reserve ? *theirs.cmask & ~perfctr_riscv_ours() :
						 *theirs.cmask);
	smp_wmb();	/* pairs with perfctr_perf_claim(): before the flag */
}

bool perfctr_perf_claim(void)
{
	struct riscv_pmu *pmu = this_cpu_read(pmu_here);

	if (pmu && has_events(pmu, smp_processor_id()))
		return false;
	smp_rmb();	/* pairs with perfctr_perf_divide(): perf finds the reduced set here */
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

/* True if perf may use all counters of this CPU. */
static bool has_all(void)
{
	return likely(!READ_ONCE(perfctr_perf_waits)) ||
	       cpumask_test_cpu(smp_processor_id(), &perfctr_forbid_cpus);
}

/* See compat/pmu.h. */
static bool perfctr_perf_may_begin(void)
{
	smp_rmb();	/* pairs with step_in: the diversions must find `theirs` */
	if (has_all() || shares())
		return true;
	/* Pairs with the release: it finds this CPU, or this finds that it has happened. */
	perfctr_perf_turned_away();
	if (!READ_ONCE(perfctr_perf_waits))
		return true;
	perfctr_perf_refused(NULL);
	return false;
}

/* Start the counters of perf's events again that perf has not stopped itself. */
static void restart_theirs(struct riscv_pmu *pmu)
{
	struct cpu_hw_events *events = this_cpu_ptr(pmu->hw_events);
	unsigned long stopped = 0;
	unsigned int i;

	for_each_set_bit(i, events->used_hw_ctrs, RISCV_MAX_COUNTERS) {
		const struct perf_event *event = events->events[i];

		if (event && !(event->hw.state & PERF_HES_STOPPED))
			__set_bit(i, &stopped);
	}
	if (stopped)
		perfctr_sbi_start(stopped, 0, 0);
}

static irqreturn_t divert_handler(int irq, void *dev)
{
	smp_rmb();	/* pairs with step_in, as above */
	if (!this_cpu_read(is_claimed))
		return theirs.handler(irq, dev);
	/*
	 * Without an event on a counter, that of 6.1 looks behind the end of its array.  It leaves
	 * perf's counters stopped if it finds no overflow.
	 */
	if (perfctr_riscv_perf_overflowed() && theirs.handler(irq, dev) == IRQ_NONE)
		restart_theirs(this_cpu_read(pmu_here));
	/* After theirs, which clears the pending interrupt of ours, too. */
	perfctr_driver->interrupt(get_irq_regs());
	return IRQ_HANDLED;
}

/*
 * While the interrupt is pending, OpenSBI's start of a counter does not let its overflows
 * interrupt.  If it is pending for one of ours, perf's event would never overflow.
 */
static void divert_start(struct perf_event *event, u64 value)
{
	bool pending;

	smp_rmb();	/* pairs with step_in, as above */
	pending = this_cpu_read(is_claimed) && perfctr_clear_lcofi();
	theirs.start(event, value);
	if (pending)
		perfctr_raise_lcofi();
}

/*
 * An event got no counter.  If the set was reduced after the driver had given it to the firmware,
 * and before it looked whether the choice is in it, the firmware has given it one of ours.
 */
static void take_back(struct riscv_pmu *pmu)
{
	if (READ_ONCE(*pmu->cmask) != *theirs.cmask && !this_cpu_read(is_claimed))
		perfctr_sbi_stop(perfctr_riscv_ours() & ~used_counters(pmu, smp_processor_id()),
				 SBI_PMU_STOP_FLAG_RESET);
}

/* True if an event that has been added may stay. */
static bool may_stay(struct perf_event *event)
{
	if (shares())
		return has_all() || !(BIT_ULL(event->hw.idx) & perfctr_riscv_ours());
	return perfctr_perf_may_begin() || event->group_leader->attr.pinned;
}

/*
 * The filter has let this event pass, and the reservation may have come since.  If it
 * found no event here, this one must go again.  A pinned event would be disabled for
 * good: it stays, and its CPU cannot be claimed until it ends.  Where perf keeps counters, no
 * event stays on others: a pinned one gets perf's error state, as if they did not exist.
 */
static int divert_add(struct perf_event *event, int flags)
{
	int err;

	smp_rmb();	/* pairs with step_in, as above */
	err = theirs.add(event, flags);
	if (err) {
		take_back(to_riscv_pmu(event->pmu));
		return err;
	}
	smp_mb();	/* pairs with perfctr_cpu_reserve() */
	if (likely(may_stay(event)))
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
	bitmap_copy(theirs.cmask, pmu->cmask, RISCV_MAX_COUNTERS);
	theirs.add = pmu->pmu.add;
	theirs.start = pmu->ctr_start;
	theirs.handler = theirs.action ? theirs.action->handler : NULL;
	perfctr_filter_save(&pmu->pmu);
	smp_wmb();	/* pairs with perfctr_perf_may_begin() and others */
	perfctr_filter_step_in(&pmu->pmu);
	WRITE_ONCE(pmu->pmu.add, divert_add);
	if (shares())
		WRITE_ONCE(pmu->ctr_start, divert_start);
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
	WRITE_ONCE(pmu->ctr_start, theirs.start);
	WRITE_ONCE(pmu->pmu.add, theirs.add);
	perfctr_filter_step_out(&pmu->pmu);
}
