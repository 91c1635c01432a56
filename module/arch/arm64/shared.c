// SPDX-License-Identifier: GPL-2.0
/*
 * Leave some counters to perf, and use the others at the same time: the parameter perf_counters, or
 * the NMI watchdog's counter (watchdog.c).
 *
 * Each counter has a bit of its own in the registers that start and stop counters, enable
 * interrupts and show overflows.  The driver of perf's writes only the bits of its events
 * there, and so does pmuv3.c.  But it stops and starts all counters by PMCR_EL0.E, while it
 * schedules events.  On a claimed CPU it stops and starts the counters of perf's instead: they
 * are parked.  So E stays set, and no counter of ours stops.
 *
 * The driver's interrupt handler clears E by itself, and nothing can replace that.  Until it
 * sets E again, in the same handler, no counter counts.  This is kernel mode, with interrupts
 * disabled: no count of user mode is lost, neither ours nor perf's.  Counters of kernel mode do
 * not count that part of perf's handler.  perf's own never do.
 *
 * The driver's handler clears all overflow flags that it finds, ours included.  Our handler runs
 * after it, and looks at the values of counters, not at flags.
 */
#include <linux/minmax.h>
#include <linux/percpu.h>

#include "arm64.h"
#include "regs.h"
#include "shared.h"

#define CYCLE_COUNTER	BIT_ULL(31)
#define INSTR_COUNTER	BIT_ULL(32)	/* perf uses it where it exists, and pmuv3.c does not */

/* The state of perf's counters on a claimed CPU. */
static DEFINE_PER_CPU(u64, kept_here);
static DEFINE_PER_CPU(u64, parked);	/* they wait for the driver's start */
static DEFINE_PER_CPU(bool, is_stopped);

static unsigned int nr_kept(void)
{
	return perfctr_perf_counters ?: perfctr_arm64_keeps_watchdog();
}

bool perfctr_arm64_shares(void)
{
	return nr_kept();
}

/*
 * perf takes the cycle counter for cycles, and the event counters from 0 on.  If the cycle counter
 * is not for us either, it is perf's, too: kernels without avoid_pmccntr take it even there.  One
 * event counter at least is ours.
 */
u64 perfctr_arm64_kept(unsigned int nr, bool has_cycles)
{
	unsigned int events = nr_kept();

	if (!events || !nr || !perfctr_arm64_has_perf())
		return 0;
	if (has_cycles)
		events--;
	events = min(events, nr - 1);
	return (BIT_ULL(events) - 1) | CYCLE_COUNTER | INSTR_COUNTER;
}

/*
 * Disable perf's counters, and remember which ones were enabled.  A pseudo-NMI may disable one of
 * them for good, or stop and start one: it must not come in between.
 */
static void park(void)
{
	const u64 flags = perfctr_mask_nmis();
	const u64 enabled = perfctr_read_enabled() & this_cpu_read(kept_here);

	this_cpu_or(parked, enabled);
	perfctr_disable(enabled);
	perfctr_sync();
	perfctr_unmask_nmis(flags);
}

static void unpark(void)
{
	const u64 flags = perfctr_mask_nmis();

	if (this_cpu_read(parked)) {
		perfctr_enable(this_cpu_read(parked));
		perfctr_sync();
		this_cpu_write(parked, 0);
	}
	perfctr_unmask_nmis(flags);
}

void perfctr_arm64_shared_begin(u64 kept)
{
	this_cpu_write(kept_here, kept);
	this_cpu_write(parked, 0);
	this_cpu_write(is_stopped, false);
}

void perfctr_arm64_shared_stop(void)
{
	this_cpu_write(is_stopped, true);
	park();
}

void perfctr_arm64_shared_start(void)
{
	this_cpu_write(is_stopped, false);
	unpark();
}

void perfctr_arm64_shared_enabled(void)
{
	if (this_cpu_read(is_stopped))
		park();
}

void perfctr_arm64_shared_disabled(u64 counters)
{
	this_cpu_and(parked, ~counters);
}

u64 perfctr_arm64_shared_overflows(void)
{
	return perfctr_read_overflow() & this_cpu_read(kept_here);
}
