// SPDX-License-Identifier: GPL-2.0
/*
 * A CPU is lost to the states of threads and to the counting of CPUs: the driver refuses it, or the
 * system is suspended to RAM.
 */
#include <linux/irq_work.h>
#include <linux/kernel.h>
#include <linux/sched.h>

#include "compat/syscore.h"
#include "cpus.h"
#include "state.h"
#include "thread.h"

/*
 * Refuse this CPU to a state: the driver cannot count on the CPU, which it has just tried for the
 * first time.
 *
 * Context: as for vperfctr_start_here(), which has set st->cpu.
 */
static void refuse_cpu(struct perfctr_cpu_state *state)
{
	struct vperfctr_state *st;

	if (vperfctr_cpus_refuse(state))
		return;
	st = container_of(state, struct vperfctr_state, cpu_state);
	if (unlikely(st->flags & STATE_FLAG_JOINT)) {
		vperfctr_joint_refused();
		return;
	}
	WRITE_ONCE(st->cpu, -1);
	vperfctr_enter_forbidden_cpu(st);
}

/*
 * Stop the counters before a suspend to RAM.
 *
 * Context: one CPU is online, with interrupts disabled; current is the thread that asked
 * for the suspend, and may have a state.
 */
static int system_suspend(void *data)
{
	struct vperfctr_state *st;

	/* All at once: where one of several stops, the others go on. */
	vperfctr_joint_leave();
	for (st = vperfctr_of_current(); st; st = vperfctr_next_of_current(st))
		vperfctr_stop(st);
	vperfctr_cpus_sleep();
	/* The interrupt of a pending irq_work is lost, and no later one would be raised. */
	irq_work_run();
	perfctr_cpu_sleep();
	return 0;
}

static void system_resume(void *data)
{
	struct vperfctr_state *st;

	/* The CPUs' counting runs already if the driver has reported that the CPU wakes. */
	vperfctr_cpus_sleep();
	perfctr_cpu_forget();
	vperfctr_cpus_wake();
	for (st = vperfctr_of_current(); st; st = vperfctr_next_of_current(st))
		vperfctr_start(st);
}

static const struct syscore_ops syscore_ops = {
	.suspend	= system_suspend,
	.resume		= system_resume,
};

static struct syscore syscore = { .ops = &syscore_ops };

void __init vperfctr_cpu_lost_init(void)
{
	perfctr_cpu_set_refusal(refuse_cpu);
	register_syscore(&syscore);
}

void vperfctr_cpu_lost_exit(void)
{
	unregister_syscore(&syscore);
}
