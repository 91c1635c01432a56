// SPDX-License-Identifier: GPL-2.0
/*
 * Handle the NMI of an overflow, which the local APIC raises through LVTPC: choose the
 * NMIs to claim, and report the overflow to the service.
 *
 * The kernel calls every handler for every NMI.  perf_event's handler claims none
 * while perf has no event on the hardware.  We claim an NMI if we find an overflow
 * and stop the counters.  But an overflow may have been handled before its NMI
 * arrives, and one NMI may report two overflows.  So we also claim these:
 *
 *  - Intel's processors mask LVTPC as they deliver its interrupt (SDM volume 3,
 *    "Local Vector Table").  If it is masked, it has caused this NMI.
 *  - AMD's processors and older hypervisors do not mask it, and perf's handler may have
 *    unmasked it.  There we claim an NMI if there is an overflow, or was one a short
 *    while ago.
 *  - An NMI of counters that should be stopped, but that other code has started.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <asm/apicdef.h>
#include <asm/nmi.h>

#include "regs.h"
#include "x86.h"

/* How late an NMI may be.  perf_event allows the same for AMD. */
#define LATE	(HZ / 10)

/* The number of NMIs without a cause, while the CPU does nothing else, that stops the counters. */
#define STORM	100

static DEFINE_PER_CPU(struct pmi_cpu {
	bool ready;			/* LVTPC is ours */
	u32 saved;			/* its previous value */
	bool expecting;			/* an NMI that finds no overflow may be ours */
	unsigned long until;		/* the end of that, in jiffies */

	/* At the last NMI without a cause. */
	const struct task_struct *task;
	unsigned long progress;
}, pmi_cpu);

/* The number of NMIs without a cause, one after the other. */
static DEFINE_PER_CPU(unsigned int, in_a_row);

/* NULL: there is no i-mode. */
static const struct perfctr_driver *driver;

static struct perfctr_cpu_state *no_overflow(void)
{
	return NULL;
}

/* The driver's function: an NMI must not pay for an indirect call. */
DEFINE_STATIC_CALL(perfctr_x86_overflow, no_overflow);

bool perfctr_x86_pmi_masks;

static void unmask_lvtpc(void)
{
	perfctr_write_lvtpc(APIC_DM_NMI);
}

/* True if the last LATE jiffies end at `until`, which may be so old that jiffies has wrapped. */
static bool is_late(unsigned long until)
{
	unsigned long now = jiffies;

	return time_in_range_open(now, until - LATE, until);
}

/* True if an overflow was handled on this CPU within the last LATE jiffies. */
static bool is_late_nmi_expected(struct pmi_cpu *pmi)
{
	if (pmi->expecting && !is_late(pmi->until))
		pmi->expecting = false;
	return pmi->expecting;
}

/*
 * True if NMIs without a cause follow each other, and the code that they interrupt makes no
 * progress.  Such an NMI is normal if its overflow has been handled before it arrived.  But
 * then, since the last one, an NMI has found an overflow, the thread was switched, or its
 * page was updated.
 */
static bool is_storm(struct pmi_cpu *pmi)
{
	unsigned long progress = current->nvcsw + current->nivcsw + driver->updates();

	if (pmi->task != current || pmi->progress != progress)
		__this_cpu_write(in_a_row, 0);
	pmi->task = current;
	pmi->progress = progress;
	return __this_cpu_inc_return(in_a_row) >= STORM;
}

/* Stop the counters of a CPU that would otherwise hang.  LVTPC stays masked. */
static noinline void end_storm(struct pmi_cpu *pmi)
{
	WRITE_ONCE(pmi->ready, false);
	__this_cpu_write(in_a_row, 0);
	perfctr_fail_here();
}

/*
 * Handle an NMI that overflow_nmi() cannot judge by what it has found, @state: no overflow, one
 * that the interrupted code handles, or any on a processor that may not mask LVTPC.
 *
 * Some processors raise the interrupt for as long as the overflow's status bit is set.  So
 * the bit must be clear before LVTPC is unmasked, or the NMI repeats for ever.
 */
static noinline int other_nmi(struct perfctr_cpu_state *state, struct pt_regs *regs)
{
	struct pmi_cpu *pmi = this_cpu_ptr(&pmi_cpu);
	bool ready = READ_ONCE(pmi->ready), found = state, ours = !IS_ERR_OR_NULL(state);
	bool masked = (ready || found) && (perfctr_read_lvtpc() & APIC_LVT_MASKED);

	if (!found && ready && driver->end_stray)
		ours = driver->end_stray(masked);
	if (found && driver->repair)
		driver->repair();
	if (masked && IS_ERR_OR_NULL(state) && is_storm(pmi)) {
		end_storm(pmi);
		return NMI_HANDLED;
	}
	if (masked) {
		if (!driver->shares_lvtpc)
			WRITE_ONCE(perfctr_x86_pmi_masks, true);
		unmask_lvtpc();
		/* Look again: while LVTPC was masked, a later overflow lost its interrupt. */
		if (!found)
			state = static_call(perfctr_x86_overflow)();
		ours = true;
	}
	if (!IS_ERR_OR_NULL(state))
		perfctr_overflowed(state, regs);
	if (!READ_ONCE(perfctr_x86_pmi_masks))
		ours |= found || is_late_nmi_expected(pmi);
	return ours ? NMI_HANDLED : NMI_DONE;
}

/* Handle an NMI that has found @state, as perfctr_x86_overflow returns it. */
static __always_inline int handle_nmi(struct perfctr_cpu_state *state, struct pt_regs *regs)
{
	if (IS_ERR_OR_NULL(state) || unlikely(!READ_ONCE(perfctr_x86_pmi_masks)))
		return other_nmi(state, regs);
	__this_cpu_write(in_a_row, 0);
	/* Reading LVTPC first would cost more than this write. */
	unmask_lvtpc();
	perfctr_overflowed(state, regs);
	return NMI_HANDLED;
}

/* Claim the NMI if it is ours, and report the overflow that it finds to the service. */
static int overflow_nmi(unsigned int type, struct pt_regs *regs)
{
	return handle_nmi(static_call(perfctr_x86_overflow)(), regs);
}

/*
 * The same where LVTPC must stay masked until the counter is reloaded: see unmasks_late.  On
 * 64 bits the NMI of an overflow in user mode reloads it before perfctr_overflowed() returns.
 * Elsewhere an irq_work does, counters of kernel mode then count already, and perf's handler of
 * the NMI watchdog has unmasked LVTPC before: there a second NMI, without a cause, follows.
 */
static int late_overflow_nmi(unsigned int type, struct pt_regs *regs)
{
	struct perfctr_cpu_state *state = static_call(perfctr_x86_overflow)();

	if (IS_ERR_OR_NULL(state) || unlikely(!READ_ONCE(perfctr_x86_pmi_masks)) ||
	    state->control.kernel)
		return handle_nmi(state, regs);
	__this_cpu_write(in_a_row, 0);
	perfctr_overflowed(state, regs);
	unmask_lvtpc();
	return NMI_HANDLED;
}

/* Context: Interrupts disabled, or NMI. */
void perfctr_x86_pmi_expect_late(void)
{
	struct pmi_cpu *pmi = this_cpu_ptr(&pmi_cpu);

	pmi->until = jiffies + LATE;
	WRITE_ONCE(pmi->expecting, true);
}

void perfctr_x86_pmi_start(void)
{
	struct pmi_cpu *pmi = this_cpu_ptr(&pmi_cpu);

	if (!driver)
		return;
	pmi->saved = perfctr_read_lvtpc();
	unmask_lvtpc();
	WRITE_ONCE(pmi->ready, true);
}

void perfctr_x86_pmi_stop(void)
{
	struct pmi_cpu *pmi = this_cpu_ptr(&pmi_cpu);

	if (!driver)
		return;
	/* Do this first: the old value may be masked, which must not look like our NMI. */
	WRITE_ONCE(pmi->ready, false);
	perfctr_write_lvtpc(pmi->saved);
}

/* Do not take a masked LVTPC for an overflow any more: the kernel masks it before suspend. */
void perfctr_x86_pmi_sleep(void)
{
	WRITE_ONCE(this_cpu_ptr(&pmi_cpu)->ready, false);
}

/* Unmask LVTPC, which a CPU loses when it sleeps. */
void perfctr_x86_pmi_forget(void)
{
	if (!driver)
		return;
	unmask_lvtpc();
	WRITE_ONCE(this_cpu_ptr(&pmi_cpu)->ready, true);
}

/* Each handler is called, whatever others return. */
static int preceding_nmi(unsigned int type, struct pt_regs *regs)
{
	driver->precede();
	return NMI_DONE;
}

static int register_first(void)
{
	return driver->precede ? register_nmi_handler(NMI_LOCAL, preceding_nmi, NMI_FLAG_FIRST,
						      "vperfctr_first") : 0;
}

static void unregister_first(void)
{
	if (driver->precede)
		unregister_nmi_handler(NMI_LOCAL, "vperfctr_first");
}

int perfctr_x86_pmi_init(void)
{
	int err;

	if (!(perfctr_cpu_info.features & VPERFCTR_FEATURE_PCINT))
		return 0;
	driver = perfctr_driver;
	static_call_update(perfctr_x86_overflow, driver->overflow);
	err = register_first();
	if (err)
		goto no_first;
	/* The macro has a static structure for each call. */
	if (perfctr_x86_pmu.unmasks_late)
		err = register_nmi_handler(NMI_LOCAL, late_overflow_nmi, 0, "vperfctr");
	else
		err = register_nmi_handler(NMI_LOCAL, overflow_nmi, 0, "vperfctr");
	if (!err)
		return 0;
	unregister_first();
no_first:
	driver = NULL;
	return err;
}

/* True if a late NMI may arrive on some CPU.  No counter runs any more. */
static bool are_late_nmis_expected(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct pmi_cpu *pmi = per_cpu_ptr(&pmi_cpu, cpu);

		if (READ_ONCE(pmi->expecting) && is_late(READ_ONCE(pmi->until)))
			return true;
	}
	return false;
}

/*
 * Remove the handler.  Waits for late NMIs first: without it, the kernel would report
 * them as unknown.
 *
 * Context: May sleep.
 */
void perfctr_x86_pmi_exit(void)
{
	if (!driver)
		return;
	while (!READ_ONCE(perfctr_x86_pmi_masks) && are_late_nmis_expected())
		msleep(20);
	unregister_nmi_handler(NMI_LOCAL, "vperfctr");
	unregister_first();
	driver = NULL;
}
