// SPDX-License-Identifier: GPL-2.0
/*
 * In a virtual machine, a probe of each context switch, of any thread, while threads may count: the
 * driver remembers what the counters hold until a program has run.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/sched.h>
#include <linux/string.h>

#include "compat/tracepoint.h"
#include "cpu.h"
#include "reservation.h"

static struct tracepoint *switch_tp;

/* Runs before the sched_out of @prev, which may have borrowed an mm. */
static void probe_switch(PERFCTR_PROBE_SWITCH_ARGS)
{
	if (!(prev->flags & PF_KTHREAD) || prev->mm)
		perfctr_cpu_user_ran();
}

/* The kernel does not export it by name. */
static void find_tracepoint(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "sched_switch"))
		switch_tp = tp;
}

/* Find the tracepoint, if switches are to be looked at.  Return: 0, or -ENOENT. */
int vperfctr_switches_init(void)
{
	if (!perfctr_remembers)
		return 0;
	for_each_kernel_tracepoint(find_tracepoint, NULL);
	if (!switch_tp) {
		pr_err("the kernel has no tracepoint sched_switch\n");
		return -ENOENT;
	}
	return 0;
}

/*
 * A probe of each context switch slows down all threads of the machine.  So it exists only while
 * a thread may count, and for a while after that: another program is often about to count, and
 * would wait for a grace period if it had to register the probe again at once.
 */
static bool watches_switches;	/* under the mutex of the callers */

/*
 * Tell the driver from now on which threads have run, if it wants to know it.
 *
 * Context: may sleep; the callers of this and of the next function exclude each other.
 * Return: 0, or -ENOMEM.
 */
int vperfctr_watch_switches(void)
{
	int err;

	if (!perfctr_remembers || watches_switches)
		return 0;
	err = tracepoint_probe_register(switch_tp, probe_switch, NULL);
	watches_switches = !err;
	return err;
}

/*
 * Before the module ends, vperfctr_probes_exit() waits until the probe has returned.
 *
 * Context: as above; no thread counts.
 */
void vperfctr_unwatch_switches(void)
{
	if (!watches_switches)
		return;
	tracepoint_probe_unregister(switch_tp, probe_switch, NULL);
	watches_switches = false;
}
