// SPDX-License-Identifier: GPL-2.0
/*
 * Added to the module for a build that counts what it does to the rest of the machine:
 * instructions that it executes while it holds a global lock, functions that it calls on
 * other CPUs, and stops of the machine.  The kernel's own locks and interrupts, and the
 * instructions of the counting itself, are not in these numbers.
 *
 * For the emulator, where the TSC counts instructions, with one thread at a time that
 * calls the module.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <asm/msr.h>

/* Read them in /sys/module/vperfctr/parameters. */
static unsigned long locked, locks, calls, stops;
module_param(locked, ulong, 0444);
module_param(locks, ulong, 0444);
module_param(calls, ulong, 0444);
module_param(stops, ulong, 0444);

static unsigned int depth;
static u64 start;
static u64 empty = -1ULL;	/* of an empty critical section; -1: not known yet */

noinline void counted_begin(void)
{
	if (unlikely(empty == -1ULL)) {
		empty = locked = 0;
		counted_begin();
		counted_end();
		empty = locked;
		locked = locks = 0;
	}
	locks++;
	if (!depth++)
		start = rdtsc();
}

noinline void counted_end(void)
{
	u64 now = rdtsc();

	if (!--depth)
		locked += now - start - empty;
}

struct counted_call {
	smp_call_func_t func;
	void *info;
	int caller;
};

static void run_call(void *arg)
{
	struct counted_call *call = arg;

	/* the emulator runs one CPU at a time, so that nothing is lost */
	if (smp_processor_id() != call->caller)
		calls++;
	call->func(call->info);
}

int counted_call_single(int cpu, smp_call_func_t func, void *info, int wait)
{
	struct counted_call call = { func, info, raw_smp_processor_id() };

	WARN_ON(!wait);
	return smp_call_function_single(cpu, run_call, &call, 1);
}

void counted_call_mask(const struct cpumask *mask, smp_call_func_t func, void *info, bool wait)
{
	struct counted_call call = { func, info, raw_smp_processor_id() };

	WARN_ON(!wait);
	on_each_cpu_mask(mask, run_call, &call, true);
}

static bool is_true(int cpu, void *info)
{
	struct counted_call *call = info;
	smp_cond_func_t cond = *(smp_cond_func_t *)(call + 1);

	return cond(cpu, call->info);
}

void counted_call_cond(smp_cond_func_t cond, smp_call_func_t func, void *info, bool wait)
{
	struct {
		struct counted_call call;
		smp_cond_func_t cond;	/* see is_true() */
	} both = { { func, info, raw_smp_processor_id() }, cond };

	WARN_ON(!wait);
	on_each_cpu_cond(is_true, run_call, &both.call, true);
}

int counted_stop_machine(cpu_stop_fn_t fn, void *data, const struct cpumask *cpus)
{
	stops++;
	return stop_machine(fn, data, cpus);
}
