// SPDX-License-Identifier: GPL-2.0
/*
 * Install a driver, on every architecture: the static calls of its operations, the
 * overflow handler, and the CPUs that must not count.
 */
#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/module.h>

#include "common.h"

struct vperfctr_info perfctr_cpu_info;
u64 perfctr_cpu_sampling_ns __read_mostly;
bool perfctr_perf_keeps;
bool perfctr_has_parts_ops;
bool perfctr_remembers;

DEFINE_STATIC_CALL(perfctr_suspend, perfctr_generic_suspend);
DEFINE_STATIC_CALL(perfctr_resume, perfctr_generic_resume);
DEFINE_STATIC_CALL(perfctr_sample, perfctr_generic_sample);
DEFINE_STATIC_CALL(perfctr_take_overflow, perfctr_generic_take_overflow);
DEFINE_STATIC_CALL(perfctr_restart, perfctr_generic_restart);
DEFINE_STATIC_CALL(perfctr_hold_overflow, perfctr_generic_hold_overflow);
DEFINE_STATIC_CALL(perfctr_iresume, perfctr_generic_iresume);
DEFINE_STATIC_CALL(perfctr_resume_parts, perfctr_generic_parts);
DEFINE_STATIC_CALL(perfctr_suspend_parts, perfctr_generic_parts);
DEFINE_STATIC_CALL(perfctr_sample_parts, perfctr_generic_parts);

static char *forbid_cpus;
module_param(forbid_cpus, charp, 0444);
MODULE_PARM_DESC(forbid_cpus, "list of CPUs on which not to count, for tests");

struct cpumask perfctr_forbid_cpus;

perfctr_ihandler *perfctr_overflowed;

void perfctr_cpu_set_ihandler(perfctr_ihandler *handler)
{
	WRITE_ONCE(perfctr_overflowed, handler);
}

perfctr_refusal *perfctr_refused;

void perfctr_cpu_set_refusal(perfctr_refusal *refusal)
{
	perfctr_refused = refusal;
}

perfctr_find_parts *perfctr_find_the_parts;
perfctr_slow_parts *perfctr_resume_parts_slowly;

void perfctr_cpu_set_parts(perfctr_find_parts *find, perfctr_slow_parts *slow)
{
	perfctr_find_the_parts = find;
	perfctr_resume_parts_slowly = slow;
}

static perfctr_restart *restarting, *restarted;

void perfctr_cpu_set_restart(perfctr_restart *before, perfctr_restart *after)
{
	restarting = before;
	restarted = after;
}

void perfctr_tell_restarting(struct perfctr_cpu_state *state)
{
	if (restarting)
		restarting(state);
}

void perfctr_tell_restarted(struct perfctr_cpu_state *state)
{
	if (restarted)
		restarted(state);
}

static perfctr_cpu_watcher *watcher;

void perfctr_cpu_set_watcher(perfctr_cpu_watcher *new)
{
	watcher = new;
}

void perfctr_tell_watcher(enum perfctr_cpu_event event)
{
	if (watcher)
		watcher(event);
}

/*
 * Return a time in which a counter of this width cannot wrap.
 *
 * No counter counts more than 16 events a cycle at 6 GHz.  (On x86, CMASK counts cycles,
 * not events.)  At that rate 2^32 events take 44 ms.  2^40 take eleven seconds, and an
 * isolated CPU can run for longer without a switch.
 */
u64 perfctr_sampling_ns(unsigned int width)
{
	if (width >= 48)
		return 0;
	return (BIT_ULL(width) / 2) / 96;
}

int perfctr_driver_init(const struct perfctr_cpu_ops *ops)
{
	int err = 0;

	if (forbid_cpus)
		err = cpulist_parse(forbid_cpus, &perfctr_forbid_cpus);
	if (err)
		return err;
	static_call_update(perfctr_suspend, ops->suspend);
	static_call_update(perfctr_resume, ops->resume);
	static_call_update(perfctr_sample, ops->sample);
	static_call_update(perfctr_take_overflow,
			   ops->take_overflow ?: perfctr_generic_take_overflow);
	static_call_update(perfctr_restart, ops->restart ?: perfctr_generic_restart);
	static_call_update(perfctr_hold_overflow,
			   ops->hold_overflow ?: perfctr_generic_hold_overflow);
	static_call_update(perfctr_iresume, ops->iresume ?: perfctr_generic_iresume);
	static_call_update(perfctr_resume_parts, ops->resume_parts ?: perfctr_generic_parts);
	static_call_update(perfctr_suspend_parts, ops->suspend_parts ?: perfctr_generic_parts);
	static_call_update(perfctr_sample_parts, ops->sample_parts ?: perfctr_generic_parts);
	if (!perfctr_overflowed) {
		perfctr_cpu_info.features &= ~VPERFCTR_FEATURE_PCINT;
		perfctr_cpu_info.max_period = 0;
		perfctr_cpu_info.min_period = 0;
	}
	return 0;
}
