// SPDX-License-Identifier: GPL-2.0
/*
 * Claim counters from the kernel's own driver, struct arm_pmu, which offers no
 * call to reserve them and owns their interrupt.
 *
 * There is a struct arm_pmu for each kind of CPU.  All have the same functions.
 *
 * struct arm_pmu has a map of the counters in use on each CPU.  It has pointers to
 * the functions that say which CPUs it drives, that add an event, and that start, stop
 * and reset the whole unit.  While this module is loaded they point to ours, which call
 * the driver's own functions unless the counters are reserved.
 *
 * A reservation interrupts no CPU.  It sets a flag, and then looks at the maps of
 * all CPUs: it fails if an event is on one of them.  Adding an event marks a counter in
 * the map of its CPU, and then looks at the flag.  So one of the two sees the other.
 *
 * While the flag is set, perf skips its events.  This includes pinned events: perf would
 * disable them for good if it tried them and found no counter.  Readers see that
 * time running is less than time enabled.
 *
 * A CPU is claimed when counters are first resumed there.  All its counters are marked
 * as used, on that CPU and with interrupts disabled, as perf schedules events.  The
 * functions that start, stop and reset the unit leave a claimed CPU alone.  The kernel
 * calls them as perf adds or removes an event, and as a CPU comes online or wakes up.
 *
 * The interrupt stays requested and enabled.  Its dispatch goes through handle_irq,
 * which calls our handler on a claimed CPU.  The kernel decides whether it is an NMI
 * ("irqchip.gicv3_pseudo_nmi"); our handler works in both contexts.
 *
 * With the parameter perf_counters, perf keeps some counters, and a CPU is claimed without
 * these: it is shared.  Reservations and claims look only at the others.  An event may be added
 * anywhere, and goes again if it got another counter.  The functions on the whole unit act on
 * perf's counters alone: see shared.c.  Without it, this is so for the NMI watchdog's counter, and
 * all other events wait: see watchdog.c.
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

#include "../../compat/arm-pmu.h"
#include "../../compat/pmu.h"
#include "../common/find-pmu.h"
#include "arm64.h"
#include "regs.h"
#include "shared.h"

/* NULL: the kernel has no driver for this CPU, and perf never uses its registers. */
static DEFINE_PER_CPU(struct arm_pmu *, pmu_here);

/*
 * True if vperfctr has claimed the counters.  Written on the CPU with interrupts
 * disabled, or while the CPU is offline.
 */
static DEFINE_PER_CPU(bool, is_claimed);

/* perf's counters while the others are claimed, as bits of PMCNTENSET_EL0 and of used_mask. */
static DEFINE_PER_CPU(u64, kept);
static DEFINE_PER_CPU(unsigned long, kept_map);

/* The drivers' own functions.  One set serves all CPUs: others are forbidden. */
static struct {
	irqreturn_t (*handle_irq)(struct arm_pmu *pmu);
	int (*add)(struct perf_event *event, int flags);
	void (*enable)(struct perf_event *event);
	void (*disable)(struct perf_event *event);
	void (*start)(struct arm_pmu *pmu);
	void (*stop)(struct arm_pmu *pmu);
	void (*reset)(void *pmu);
} theirs;

static struct arm_pmu *find_arm_pmu(unsigned int cpu)
{
	struct pmu *pmu = perfctr_find_pmu(cpu);

	return IS_ERR_OR_NULL(pmu) ? ERR_CAST(pmu) : to_arm_pmu(pmu);
}

int perfctr_perf_find(unsigned int cpu, bool *intr)
{
	struct arm_pmu *pmu = per_cpu(pmu_here, cpu);

	if (!pmu) {
		pmu = find_arm_pmu(cpu);
		/* There may be a driver. */
		if (IS_ERR(pmu))
			return PTR_ERR(pmu);
		per_cpu(pmu_here, cpu) = pmu;
	}
	*intr = pmu && per_cpu_ptr(pmu->hw_events, cpu)->irq > 0;
	return 0;
}

struct pmu *perfctr_arm64_pmu(unsigned int cpu)
{
	struct arm_pmu *pmu = per_cpu(pmu_here, cpu);

	return pmu ? &pmu->pmu : NULL;
}

const char *perfctr_arm64_perf_name(void)
{
	const struct arm_pmu *pmu = this_cpu_read(pmu_here);

	return pmu ? pmu->pmu.name : "";
}

bool perfctr_arm64_has_perf(void)
{
	return this_cpu_read(pmu_here);
}

bool perfctr_arm64_perf_has_kinds(unsigned int cpu)
{
	const struct arm_pmu *pmu = per_cpu(pmu_here, cpu);

	return pmu && !cpumask_subset(cpu_present_mask, &pmu->supported_cpus);
}

/* The map of counters in use, of which there are at most 33. */
static unsigned long *used_map(struct arm_pmu *pmu, unsigned int cpu)
{
	return per_cpu_ptr(pmu->hw_events, cpu)->used_mask;
}

/*
 * True if an event must not be on a shared CPU.  For reads in user mode, or with records of
 * branches, the driver sets up more than its counter, whenever it starts the unit.
 */
static bool is_unsharable(struct perf_event *event)
{
	return event->hw.flags & PERFCTR_ARM_USER_READ || has_branch_stack(event);
}

/*
 * True if a CPU has an event of perf's that cannot share counters.  One that has just been
 * removed is freed after a grace period.
 */
static bool has_unsharable(struct arm_pmu *pmu, unsigned int cpu)
{
	struct perf_event **events = per_cpu_ptr(pmu->hw_events, cpu)->events;
	struct perf_event *event;
	bool found = false;
	unsigned int i;

	rcu_read_lock();
	for (i = 0; i < ARMPMU_MAX_HWEVENTS && !found; i++) {
		event = READ_ONCE(events[i]);
		found = event && is_unsharable(event);
	}
	rcu_read_unlock();
	return found;
}

/* True if an event of perf's is on a CPU, or is being added there, where it must not be. */
static bool has_events(struct arm_pmu *pmu, unsigned int cpu)
{
	if (READ_ONCE(*used_map(pmu, cpu)) & ~per_cpu(kept_map, cpu))
		return true;
	return per_cpu(kept, cpu) && has_unsharable(pmu, cpu);
}

bool perfctr_perf_is_busy(unsigned int cpu)
{
	struct arm_pmu *pmu = per_cpu(pmu_here, cpu);

	return pmu && has_events(pmu, cpu);
}

bool perfctr_perf_claim(void)
{
	struct arm_pmu *pmu = this_cpu_read(pmu_here);

	if (!pmu)
		return true;
	if (has_events(pmu, smp_processor_id()))
		return false;
	perfctr_arm64_shared_begin(this_cpu_read(kept));
	/* A pseudo-NMI in between must not find counters in use that have no event. */
	this_cpu_write(is_claimed, true);
	barrier();
	*used_map(pmu, smp_processor_id()) |=
		GENMASK(ARMPMU_MAX_HWEVENTS - 1, 0) & ~this_cpu_read(kept_map);
	return true;
}

/* The map of a claimed CPU divides the counters, and divert_add() does where none is claimed. */
void perfctr_perf_divide(bool reserve)
{
}

void perfctr_perf_release(unsigned int cpu)
{
	struct arm_pmu *pmu = per_cpu(pmu_here, cpu);

	if (!pmu)
		return;
	*used_map(pmu, cpu) &= per_cpu(kept_map, cpu);
	barrier();
	per_cpu(is_claimed, cpu) = false;
	/*
	 * The driver resets the unit when a CPU wakes up.  It could not do so while the CPU
	 * was claimed, so do it now, unless perf counts here, or the CPU is offline.
	 */
	if (cpu == raw_smp_processor_id() && !*used_map(pmu, cpu))
		theirs.reset(pmu);
}

u64 perfctr_arm64_kept_here(void)
{
	return this_cpu_read(kept);
}

bool perfctr_arm64_kept_idle(void)
{
	struct arm_pmu *pmu = this_cpu_read(pmu_here);

	return !pmu || !(*used_map(pmu, smp_processor_id()) & this_cpu_read(kept_map));
}

/* True if perf keeps the counter: see struct perfctr_driver. */
bool perfctr_arm64_is_kept(unsigned int cpu, int idx)
{
	return idx >= 0 && per_cpu(kept_map, cpu) & BIT(idx);
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

/* True if perf may use all counters of this CPU. */
static bool has_all(void)
{
	return likely(!READ_ONCE(perfctr_perf_waits)) ||
	       cpumask_test_cpu(smp_processor_id(), &perfctr_forbid_cpus);
}

/* True if perf keeps counters here for all of its events, and not for the watchdog's alone. */
static bool keeps_for_all(void)
{
	return this_cpu_read(kept) && !perfctr_arm64_keeps_watchdog();
}

/* True if the watchdog's event must begin. */
static bool admits_watchdog(void)
{
	return this_cpu_read(kept) &&
	       perfctr_arm64_watchdog_may_begin(&this_cpu_read(pmu_here)->pmu);
}

/* See compat/pmu.h. */
static bool perfctr_perf_may_begin(void)
{
	smp_rmb();	/* pairs with step_in, as above */
	if (has_all() || keeps_for_all())
		return true;
	/* Pairs with the release: it finds this CPU, or this finds that it has happened. */
	perfctr_perf_turned_away();
	if (!READ_ONCE(perfctr_perf_waits) || admits_watchdog())
		return true;
	perfctr_perf_refused(NULL);
	return false;
}

/*
 * The driver's functions close the counters to user mode, or open them to a thread that reads
 * perf's: let our reader have them again.  With isolation, there is none here if perf keeps event
 * counters.  A register that KVM has set for a guest stays as it is.
 */
static void restore_user(u64 before)
{
	if (!(perfctr_cpu_info.features & VPERFCTR_FEATURE_RDPMC) &&
	    !perfctr_arm64_user_is_kvms())
		before = 0;
	if (perfctr_read_user() != before)
		perfctr_write_user(before);
}

static irqreturn_t divert_handle_irq(struct arm_pmu *pmu)
{
	irqreturn_t ret = IRQ_NONE;

	if (belongs_to_perf())
		return theirs.handle_irq(pmu);
	if (this_cpu_read(kept) && perfctr_arm64_shared_overflows()) {
		u64 user = perfctr_read_user();

		ret = theirs.handle_irq(pmu);
		restore_user(user);
	}
	/* After theirs, which may have cleared our flags. */
	return perfctr_driver->interrupt(get_irq_regs()) ? IRQ_HANDLED : ret;
}

/* True if an event that has been added may stay. */
static bool may_stay(struct perf_event *event)
{
	if (!this_cpu_read(kept))
		return perfctr_perf_may_begin();
	/* perf has the first of its counters that are free, so both of a pair are kept. */
	return has_all() || ((this_cpu_read(kept_map) & BIT(event->hw.idx)) &&
			     !is_unsharable(event));
}

/* True if the filter has let this event pass only because the watchdog's must begin. */
static bool comes_instead(const struct perf_event *event)
{
	return perfctr_arm64_keeps_watchdog() && this_cpu_read(kept) && !has_all() &&
	       !event->group_leader->attr.pinned;
}

/*
 * The filter has let this event pass, and the reservation may have come since.  If it
 * found no event here, this one must go again.  A pinned event would be disabled for
 * good: it stays, and its CPU cannot be claimed until it ends.  Where perf keeps counters for all
 * its events, none stays on others: a pinned one gets perf's error state, as if they did not exist.
 */
static int divert_add(struct perf_event *event, int flags)
{
	int err;

	if (perfctr_arm64_is_trigger(event) || comes_instead(event))
		return -EAGAIN;
	if (!belongs_to_perf() && this_cpu_read(kept))
		perfctr_arm64_perf_comes();
	err = theirs.add(event, flags);
	if (err)
		return err;
	smp_mb();	/* pairs with perfctr_cpu_reserve() */
	if (likely(may_stay(event)) || (!keeps_for_all() && event->group_leader->attr.pinned))
		return 0;
	event->pmu->del(event, 0);
	return -EAGAIN;
}

/* True if this CPU is claimed, but for some counters of perf's. */
static bool is_shared(void)
{
	return !belongs_to_perf() && this_cpu_read(kept);
}

static void divert_enable(struct perf_event *event)
{
	const bool shared = is_shared();

	theirs.enable(event);
	if (shared)
		perfctr_arm64_shared_enabled();
}

/* The counters of an event, as bits of PMCNTENSET_EL0.  The lower one of a pair has no event. */
static u64 counters_of(const struct perf_event *event)
{
	struct arm_pmu *pmu = to_arm_pmu(event->pmu);
	const struct pmu_hw_events *hw_events = this_cpu_ptr(pmu->hw_events);
	int idx = event->hw.idx;
	u64 counters = perfctr_driver_counter(idx);

	if ((event->hw.flags & ARMPMU_EVT_64BIT) && idx > 0 && !hw_events->events[idx - 1] &&
	    (*hw_events->used_mask & this_cpu_read(kept_map) & BIT(idx - 1)))
		counters |= perfctr_driver_counter(idx - 1);
	return counters;
}

static void divert_disable(struct perf_event *event)
{
	/* First: belongs_to_perf() has the barrier for `theirs`. */
	const bool shared = is_shared();

	theirs.disable(event);
	if (shared)
		perfctr_arm64_shared_disabled(counters_of(event));
}

static void divert_start(struct arm_pmu *pmu)
{
	if (belongs_to_perf()) {
		theirs.start(pmu);
	} else if (this_cpu_read(kept)) {
		u64 user = perfctr_read_user();

		perfctr_arm64_shared_start();
		/* It also sets up what KVM's guests count. */
		if (!perfctr_arm64_kept_idle())
			theirs.start(pmu);
		restore_user(user);
	}
}

static void divert_stop(struct arm_pmu *pmu)
{
	if (belongs_to_perf())
		theirs.stop(pmu);
	else if (this_cpu_read(kept))
		perfctr_arm64_shared_stop();
}

/* A shared CPU has lost its registers, and our notifier sets up our counters after this. */
static void divert_reset(void *pmu)
{
	if (belongs_to_perf() || this_cpu_read(kept))
		theirs.reset(pmu);
}

/* True if the functions of a driver may be replaced by those that call `theirs`. */
static bool is_same_driver(const struct arm_pmu *pmu)
{
	return !theirs.add ||
	       (theirs.handle_irq == pmu->handle_irq && theirs.add == pmu->pmu.add &&
		theirs.enable == pmu->enable && theirs.disable == pmu->disable &&
		theirs.start == pmu->start && theirs.stop == pmu->stop &&
		theirs.reset == pmu->reset && perfctr_filter_is_saved(&pmu->pmu));
}

bool perfctr_perf_step_in(unsigned int cpu)
{
	struct arm_pmu *pmu = per_cpu(pmu_here, cpu);

	if (!pmu)
		return true;
	per_cpu(kept, cpu) = perfctr_arm64_kept_by_perf();
	per_cpu(kept_map, cpu) = perfctr_driver_map(per_cpu(kept, cpu));
	if (per_cpu(kept, cpu))
		perfctr_arm64_watchdog_cpu_known(cpu);
	if (pmu->handle_irq == divert_handle_irq)
		return true;
	if (!is_same_driver(pmu))
		return false;
	if (!theirs.add) {
		theirs.handle_irq = pmu->handle_irq;
		theirs.add = pmu->pmu.add;
		theirs.enable = pmu->enable;
		theirs.disable = pmu->disable;
		theirs.start = pmu->start;
		theirs.stop = pmu->stop;
		theirs.reset = pmu->reset;
		perfctr_filter_save(&pmu->pmu);
	}
	smp_wmb();	/* pairs with belongs_to_perf() and others */
	perfctr_filter_step_in(&pmu->pmu);
	WRITE_ONCE(pmu->handle_irq, divert_handle_irq);
	WRITE_ONCE(pmu->pmu.add, divert_add);
	if (perfctr_arm64_shares()) {
		WRITE_ONCE(pmu->enable, divert_enable);
		WRITE_ONCE(pmu->disable, divert_disable);
	}
	WRITE_ONCE(pmu->start, divert_start);
	WRITE_ONCE(pmu->stop, divert_stop);
	WRITE_ONCE(pmu->reset, divert_reset);
	return true;
}

void perfctr_perf_step_out(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct arm_pmu *pmu = per_cpu(pmu_here, cpu);

		if (!pmu || pmu->handle_irq != divert_handle_irq)
			continue;
		WRITE_ONCE(pmu->reset, theirs.reset);
		WRITE_ONCE(pmu->stop, theirs.stop);
		WRITE_ONCE(pmu->start, theirs.start);
		WRITE_ONCE(pmu->disable, theirs.disable);
		WRITE_ONCE(pmu->enable, theirs.enable);
		WRITE_ONCE(pmu->pmu.add, theirs.add);
		WRITE_ONCE(pmu->handle_irq, theirs.handle_irq);
		perfctr_filter_step_out(&pmu->pmu);
	}
}
