// SPDX-License-Identifier: GPL-2.0
/*
 * Reserve the counters from the kernel's own driver, struct power_pmu.
 *
 * reserve_pmc_hardware() gives the counters and their interrupt to one user.  perf calls it
 * for its first hardware event, and releases them after its last one.  If the call fails,
 * the event fails, too, but perf counts it among its events when it ends, though it has never
 * begun.  The number becomes negative.  Then perf opens events without a reservation, and
 * overwrites the registers of others.
 *
 * So perf must not make a call that fails.  While this module is loaded, its own function
 * replaces the driver's, which begins an event.  It refuses hardware events while the counters
 * are reserved here, and calls the driver's function otherwise.  A mutex keeps the two apart.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <asm/pmc.h>

#include "../common/find-pmu.h"
#include "../common/users.h"
#include "powerpc.h"

/* NULL: the kernel has no driver, and perf never uses the counters. */
static struct pmu *power_pmu;
static int (*their_event_init)(struct perf_event *event);

static DEFINE_MUTEX(reserve_mutex);
static bool reserved;		/* for this module */

/* When the kernel's refusals so far will have been paid, under reserve_mutex: see may_ask(). */
static u64 paid_at;

/* The threads that are in divert_event_init(). */
static atomic_t nr_diverted = ATOMIC_INIT(0);

/* True if the driver may take this event, and would reserve the counters for it. */
static bool is_hardware_event(const struct perf_event *event)
{
	switch (event->attr.type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
	case PERF_TYPE_RAW:
		return true;
	}
	return false;
}

static int divert_event_init(struct perf_event *event)
{
	int err;

	atomic_inc(&nr_diverted);
	smp_rmb();	/* pairs with step_in */
	mutex_lock(&reserve_mutex);
	if (reserved && is_hardware_event(event)) {
		perfctr_perf_refused(event);
		err = -EBUSY;
	} else {
		err = their_event_init(event);
	}
	mutex_unlock(&reserve_mutex);
	atomic_dec(&nr_diverted);
	return err;
}

int perfctr_powerpc_perf_step_in(unsigned int cpu)
{
	struct pmu *pmu = perfctr_find_pmu(cpu);

	/* There may be a driver. */
	if (IS_ERR(pmu))
		return PTR_ERR(pmu);
	power_pmu = pmu;
	if (!pmu)
		return 0;
	their_event_init = pmu->event_init;
	smp_wmb();	/* pairs with divert_event_init(), which must find it */
	WRITE_ONCE(pmu->event_init, divert_event_init);
	return 0;
}

void perfctr_powerpc_perf_step_out(void)
{
	if (!power_pmu)
		return;
	WRITE_ONCE(power_pmu->event_init, their_event_init);
	/*
	 * A thread that has read the pointer does not sleep before it is counted, and not
	 * after it is not counted any more.
	 */
	synchronize_rcu_tasks();
	while (atomic_read(&nr_diverted))
		msleep(20);
	synchronize_rcu_tasks();
}

/*
 * The kernel logs each refusal, and a program may try in a loop.  A refusal costs half a second,
 * and ten can be owed.  That is the rate of the kernel's messages which a program can repeat.
 */
#define REFUSAL_JIFFIES	(HZ / 2)
#define MAX_REFUSALS	10

/* True if the kernel may log one more refusal. */
static bool may_ask(void)
{
	u64 now = get_jiffies_64();

	paid_at = max(paid_at, now);
	return paid_at - now <= (MAX_REFUSALS - 1) * REFUSAL_JIFFIES;
}

int perfctr_powerpc_perf_reserve(void (*overflow)(struct pt_regs *regs))
{
	int err = -EBUSY;

	mutex_lock(&reserve_mutex);
	if (may_ask()) {
		err = reserve_pmc_hardware(overflow);
		if (err)
			paid_at += REFUSAL_JIFFIES;
	}
	reserved = !err;
	mutex_unlock(&reserve_mutex);
	return err;
}

void perfctr_powerpc_perf_release(void)
{
	mutex_lock(&reserve_mutex);
	release_pmc_hardware();
	reserved = false;
	mutex_unlock(&reserve_mutex);
}

/*
 * Permission to read counters in user mode (the field PMCC of MMCR0): see own-reads.c.
 * PMCC of a claimed CPU is open only to a thread whose state has counters.  Before the
 * counters of a CPU are claimed, the kernel may let every thread read them; see
 * doc/power.md.
 *
 * Nothing is left for a new process to see: suspend clears the counters.
 */
void perfctr_mm_added(void)
{
}

void perfctr_mm_removed(void)
{
}

/* Each family of processors has a file.  Only one of them is built. */
static const struct perfctr_driver *const drivers[] = {
	IS_ENABLED(CONFIG_PPC64) ? &perfctr_powerpc_power8 : &perfctr_powerpc_ppc32,
	&perfctr_no_counters,
};

const struct perfctr_arch perfctr_arch = {
	.drivers	= drivers,
	.nr_drivers	= ARRAY_SIZE(drivers),
};
