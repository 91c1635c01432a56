// SPDX-License-Identifier: GPL-2.0
/*
 * In place of perf-claim.c and kvm.c in module/arch/x86: there is neither perf nor KVM, and
 * the processor is one whose counters can be reserved.
 */
#include "hardware.h"
#include "users.h"
#include "rdpmc.h"
#include "x86.h"

#define NOT_CALLED	sim_fail("the counters are claimed from perf")

int perfctr_x86_perf_find(unsigned int cpu)
{
	(void)cpu;
	return -EOPNOTSUPP;
}

u64 perfctr_x86_perf_watchdog(void)
{
	NOT_CALLED;
}

void perfctr_x86_perf_step_out(void)
{
}

void perfctr_x86_perf_end(void)
{
	NOT_CALLED;
}

void perfctr_x86_perf_watch_maps(void)
{
	NOT_CALLED;
}

bool perfctr_x86_perf_watches_maps(void)
{
	return false;
}

void sim_perf_was_mapped(unsigned int nr)
{
	if (nr)
		perfctr_x86_mms_added(nr);
	else
		perfctr_mm_removed();
}

void sim_check_hardware_rests(void)
{
	sim_require(!sim_is_hardware_reserved(), "the counters are left reserved, without users");
	sim_require(!perfctr_x86_watch.watchers || perfctr_x86_watch.forgotten,
		    "suspends clear counters at level %u, without users", perfctr_x86_watch.watchers);
}

static unsigned int nr_looks;

bool sim_knows_forgotten(void)
{
	return perfctr_x86_watch.forgotten;
}

unsigned int sim_looks_for_forgotten(void)
{
	return nr_looks;
}

/* No fork has come before the module. */
bool perfctr_x86_perf_any_rights(void)
{
	const struct task_struct *task;

	nr_looks++;
	for (task = sim_tasks; task; task = task->next_task) {
		if (task->mm && task->mm->context.perf_rdpmc_allowed.counter)
			return true;
	}
	return false;
}

int perfctr_x86_perf_reserve(void)
{
	NOT_CALLED;
}

void perfctr_x86_perf_release(void)
{
	NOT_CALLED;
}

void perfctr_x86_perf_settle(void)
{
	NOT_CALLED;
}

bool perfctr_x86_perf_claim(void)
{
	NOT_CALLED;
}

void perfctr_x86_perf_unclaim(void)
{
	NOT_CALLED;
}

void perfctr_x86_kvm_init(void)
{
}

void perfctr_x86_kvm_exit(void)
{
}

void perfctr_x86_perf_lose(unsigned int cpu)
{
	(void)cpu;
	NOT_CALLED;
}
