// SPDX-License-Identifier: GPL-2.0
/*
 * The interrupt that a counter makes when it overflows: an NMI, through the
 * local APIC's LVTPC.
 *
 * perf_event's handler sees our NMIs too, and takes none while it has no event
 * on the hardware.  Everybody's handler is called for every NMI.  One that finds an
 * overflow and stops the counters is ours.  But an overflow may have been seen to
 * before its NMI came, or two of them by one NMI; so these are ours, too:
 *
 *  - Intel's processors mask LVTPC as they deliver its interrupt (SDM volume 3,
 *    "Local Vector Table").  Found masked, it has caused this NMI.
 *  - AMD's, and older hypervisors, do not mask.  There an NMI is taken if an
 *    overflow can be seen, or was a short while ago.
 *
 * And one of counters that were to stand, but that somebody else has started.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <asm/apicdef.h>
#include <asm/nmi.h>

#include "regs.h"
#include "x86.h"

/* As long as an NMI may be late; perf_event has the same for AMD. */
#define LATE	(HZ / 10)

static DEFINE_PER_CPU(struct pmi_cpu {
	bool ready;			/* LVTPC is ours */
	u32 saved;			/* what it was */
	bool expecting;			/* an NMI that finds nothing may be ours */
	unsigned long until;		/* jiffies */
}, pmi_cpu);

/* NULL: no i-mode. */
static const struct perfctr_x86_driver *driver;

bool perfctr_x86_pmi_masks;

static void arm_lvtpc(void)
{
	perfctr_write_lvtpc(APIC_DM_NMI);
}

static bool is_expected(struct pmi_cpu *pmi)
{
	if (pmi->expecting && !time_before(jiffies, pmi->until))
		pmi->expecting = false;
	return pmi->expecting;
}

static int handle_nmi(unsigned int type, struct pt_regs *regs)
{
	struct pmi_cpu *pmi = this_cpu_ptr(&pmi_cpu);
	struct perfctr_cpu_state *state = driver->overflow();
	bool found = state, ours = !IS_ERR_OR_NULL(state);

	if (ours && READ_ONCE(perfctr_x86_pmi_masks)) {
		/* To look first would be the dearer of the two. */
		arm_lvtpc();
	} else if ((READ_ONCE(pmi->ready) || found) && (perfctr_read_lvtpc() & APIC_LVT_MASKED)) {
		WRITE_ONCE(perfctr_x86_pmi_masks, true);
		arm_lvtpc();
		/* What overflowed after we looked was not heard. */
		if (!ours)
			state = driver->overflow();
		ours = true;
	}
	if (!IS_ERR_OR_NULL(state))
		perfctr_overflowed(state, regs);
	else if (!state && READ_ONCE(pmi->ready) && driver->end_stray)
		ours |= driver->end_stray();
	if (!READ_ONCE(perfctr_x86_pmi_masks))
		ours |= found || is_expected(pmi);
	return ours ? NMI_HANDLED : NMI_DONE;
}

/* Interrupts are disabled, or this is the NMI. */
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
	arm_lvtpc();
	WRITE_ONCE(pmi->ready, true);
}

void perfctr_x86_pmi_stop(void)
{
	struct pmi_cpu *pmi = this_cpu_ptr(&pmi_cpu);

	if (!driver)
		return;
	/* First: what is restored may be masked. */
	WRITE_ONCE(pmi->ready, false);
	perfctr_write_lvtpc(pmi->saved);
}

/* The kernel masks LVTPC before the system sleeps: who finds it so learns nothing. */
void perfctr_x86_pmi_sleep(void)
{
	WRITE_ONCE(this_cpu_ptr(&pmi_cpu)->ready, false);
}

/* It has been asleep. */
void perfctr_x86_pmi_forget(void)
{
	if (!driver)
		return;
	arm_lvtpc();
	WRITE_ONCE(this_cpu_ptr(&pmi_cpu)->ready, true);
}

int perfctr_x86_pmi_init(const struct perfctr_x86_driver *d)
{
	int err;

	if (!(perfctr_cpu_info.features & VPERFCTR_FEATURE_PCINT))
		return 0;
	driver = d;
	err = register_nmi_handler(NMI_LOCAL, handle_nmi, 0, "vperfctr");
	if (err)
		driver = NULL;
	return err;
}

/* Nothing has been counting since these were last expected. */
static bool are_expected(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct pmi_cpu *pmi = per_cpu_ptr(&pmi_cpu, cpu);

		if (READ_ONCE(pmi->expecting) && time_before(jiffies, READ_ONCE(pmi->until)))
			return true;
	}
	return false;
}

/* No CPU is in the handler after this.  May sleep: nobody else would know late NMIs. */
void perfctr_x86_pmi_exit(void)
{
	if (!driver)
		return;
	while (!READ_ONCE(perfctr_x86_pmi_masks) && are_expected())
		msleep(20);
	unregister_nmi_handler(NMI_LOCAL, "vperfctr");
	driver = NULL;
}
