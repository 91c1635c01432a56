// SPDX-License-Identifier: GPL-2.0
/*
 * Exclude virtual machines that have the counters themselves (a mediated virtual PMU).
 *
 * From 7.0 on, KVM can give a machine the registers themselves (enable_mediated_pmu).  While a
 * virtual CPU of it runs, KVM writes them without a reservation, and leaves zeros.  A
 * thread's counters that stay loaded would then count nothing, without a word.
 *
 * perf has a rule for this: while there is an event that counts guests as well, of any PMU
 * with PERF_PMU_CAP_MEDIATED_VPMU, KVM creates no such machine; and while there is such a
 * machine, perf makes no such event.  So the module holds an event while it has the
 * counters.  An event of the processor's own PMU would make perf reserve the registers that
 * the module must reserve.  So the event is one of a PMU of the module's, which counts
 * nothing and gives others no events.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cred.h>
#include <linux/err.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/smp.h>

#include "mediated-guests.h"

#ifdef CONFIG_PERF_GUEST_MEDIATED_PMU

static const struct cred *root_cred;
static struct task_struct *creator;	/* makes an event now */
static struct perf_event *held;
static bool refused;

/* A user's event would keep machines from all users. */
static int guard_init(struct perf_event *event)
{
	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	return READ_ONCE(creator) == current ? 0 : -EOPNOTSUPP;
}

/* The event is never enabled. */
static int guard_add(struct perf_event *event, int flags)
{
	return -EBUSY;
}

static void guard_ignore(struct perf_event *event, int flags)
{
}

static void guard_read(struct perf_event *event)
{
}

/*
 * Without a module: an event would be a reference that keeps the module loaded.  All events end
 * before the PMU does.
 */
static struct pmu guard = {
	.task_ctx_nr	= perf_invalid_context,
	.capabilities	= PERF_PMU_CAP_MEDIATED_VPMU | PERF_PMU_CAP_NO_INTERRUPT,
	.event_init	= guard_init,
	.add		= guard_add,
	.del		= guard_ignore,
	.start		= guard_ignore,
	.stop		= guard_ignore,
	.read		= guard_read,
};

int perfctr_guests_init(void)
{
	int err;

	root_cred = prepare_kernel_cred(&init_task);
	if (!root_cred)
		return -ENOMEM;
	err = perf_pmu_register(&guard, "vperfctr", -1);
	if (err)
		put_cred(root_cred);
	return err;
}

void perfctr_guests_exit(void)
{
	perf_pmu_unregister(&guard);
	put_cred(root_cred);
}

/*
 * Make an event that keeps such machines from being created.  Return: an event; -EOPNOTSUPP if
 * there is such a machine; or another error
 */
static struct perf_event *create_event(void)
{
	struct perf_event_attr attr = {
		.type = guard.type,
		.size = sizeof(attr),
		.disabled = 1,
	};
	const struct cred *cred;
	struct perf_event *event;

	/* The caller need not have the right to an event of a CPU, which this is. */
	cred = override_creds(root_cred);
	WRITE_ONCE(creator, current);
	event = perf_event_create_kernel_counter(&attr, raw_smp_processor_id(), NULL, NULL, NULL);
	WRITE_ONCE(creator, NULL);
	revert_creds(cred);
	return event;
}

static void report_machine(void)
{
	/* A program may try in a loop. */
	static DEFINE_RATELIMIT_STATE(limit, 600 * HZ, 1);

	if (__ratelimit(&limit))
		pr_info("a virtual machine has the counters (enable_mediated_pmu), without perf: end it, or start it without a PMU\n");
}

int perfctr_guests_exclude(void)
{
	struct perf_event *event = create_event();
	bool machine = event == ERR_PTR(-EOPNOTSUPP);

	WRITE_ONCE(refused, machine);	/* read by perfctr_guests_refused() at any time */
	if (machine) {
		report_machine();
		return -EBUSY;
	}
	if (IS_ERR(event))
		return PTR_ERR(event);
	held = event;
	return 0;
}

void perfctr_guests_admit(void)
{
	perf_event_release_kernel(held);
	held = NULL;
}

/*
 * True if a machine had the counters when they were last asked for.  An event that is made to look
 * would keep one from being created at that moment.
 */
bool perfctr_guests_refused(void)
{
	return READ_ONCE(refused);
}

#endif /* CONFIG_PERF_GUEST_MEDIATED_PMU */
