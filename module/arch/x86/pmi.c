// SPDX-License-Identifier: GPL-2.0
/*
 * The interrupt that a counter makes when it overflows: an NMI, through the
 * local APIC's LVTPC.
 *
 * perf_event's handler sees our NMIs too, and takes none while it has no event
 * on the hardware.  Everybody's handler is called for every NMI, so ours takes
 * what is ours for certain, and what must be ours because nobody else could
 * have caused it:
 *
 *  - Intel's processors mask LVTPC as they deliver its interrupt (SDM volume 3,
 *    "Local Vector Table").  Found masked, it tells of an interrupt whose
 *    overflow somebody saw in the counter before the NMI came.
 *  - AMD's, and older hypervisors, do not mask.  There an NMI without a cause is
 *    taken if such an overflow was seen a short while ago.
 */
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
	unsigned int expected;		/* interrupts that will find nothing */
	unsigned long expected_at;	/* jiffies */
}, pmi_cpu);

/* NULL: no i-mode. */
static const struct perfctr_x86_driver *driver;

/* LVTPC was seen masked: nothing need be guessed. */
static bool masks;

static void arm_lvtpc(void)
{
	perfctr_write_lvtpc(APIC_DM_NMI);
}

static bool is_expected(struct pmi_cpu *pmi)
{
	if (!pmi->expected)
		return false;
	pmi->expected = 0;
	return time_before(jiffies, pmi->expected_at + LATE);
}

static int handle_nmi(unsigned int type, struct pt_regs *regs)
{
	struct pmi_cpu *pmi = this_cpu_ptr(&pmi_cpu);
	struct perfctr_cpu_state *state = driver->overflow();
	bool masked = false;

	if (!state && !READ_ONCE(pmi->ready))
		return NMI_DONE;
	if (perfctr_read_lvtpc() & APIC_LVT_MASKED) {
		masked = true;
		WRITE_ONCE(masks, true);
		/* The counters stand or are not over: now rather than after they go on. */
		arm_lvtpc();
	}
	if (state) {
		perfctr_x86_overflowed(state, regs);
		return NMI_HANDLED;
	}
	return masked || is_expected(pmi) ? NMI_HANDLED : NMI_DONE;
}

/* Interrupts are disabled. */
void perfctr_x86_pmi_expect(void)
{
	struct pmi_cpu *pmi = this_cpu_ptr(&pmi_cpu);

	if (READ_ONCE(masks))
		return;
	pmi->expected_at = jiffies;
	WRITE_ONCE(pmi->expected, 1);
}

void perfctr_x86_pmi_start(void)
{
	struct pmi_cpu *pmi = this_cpu_ptr(&pmi_cpu);

	if (!driver)
		return;
	pmi->saved = perfctr_read_lvtpc();
	WRITE_ONCE(pmi->ready, true);
	arm_lvtpc();
}

void perfctr_x86_pmi_stop(void)
{
	struct pmi_cpu *pmi = this_cpu_ptr(&pmi_cpu);

	if (!driver)
		return;
	WRITE_ONCE(pmi->ready, false);
	perfctr_write_lvtpc(pmi->saved);
}

/* After suspend to RAM. */
void perfctr_x86_pmi_forget(void)
{
	if (driver)
		arm_lvtpc();
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

/* No CPU is in the handler after this. */
void perfctr_x86_pmi_exit(void)
{
	if (driver)
		unregister_nmi_handler(NMI_LOCAL, "vperfctr");
	driver = NULL;
}
