// SPDX-License-Identifier: GPL-2.0
/*
 * x86: choice of the low-level driver, and what all drivers share: the static
 * calls, reservation on all CPUs, and CPU hotplug.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/smp.h>

#include "x86.h"

struct vperfctr_info perfctr_cpu_info;
u64 perfctr_cpu_sampling_ns;

DEFINE_STATIC_CALL(perfctr_suspend, perfctr_generic_suspend);
DEFINE_STATIC_CALL(perfctr_resume, perfctr_generic_resume);
DEFINE_STATIC_CALL(perfctr_sample, perfctr_generic_sample);

/* No processor needs it yet; for tests. */
static char *forbid_cpus;
module_param(forbid_cpus, charp, 0444);
MODULE_PARM_DESC(forbid_cpus, "list of CPUs on which not to count, for tests");

static struct cpumask cpus_forbidden;

static perfctr_ihandler *ihandler;

/* In order of preference; the generic driver takes whatever is left. */
static const struct perfctr_x86_driver *const drivers[] = {
	&perfctr_x86_intel,
	&perfctr_x86_amd,
	&perfctr_x86_generic,
};

static const struct perfctr_x86_driver *driver;
static enum cpuhp_state hotplug_state;

/*
 * True while the counters are ours.  Changes under cpus_read_lock(), so that
 * the hotplug callbacks, which hold that lock for writing, see it stable.
 */
static bool reserved;

/* A control's identity; 0 is nobody's. */
static atomic64_t next_id = ATOMIC64_INIT(0);

static void start_here(void *unused)
{
	driver->cpu_start();
	perfctr_x86_pmi_start();
}

/* Interrupts of the last overflows are ours to take until the counters stand. */
static void stop_here(void *unused)
{
	driver->cpu_stop();
	perfctr_x86_pmi_stop();
}

static void scrub_here(void *unused)
{
	driver->cpu_scrub();
}

/*
 * Both run on the CPU concerned: before it becomes active for user threads,
 * and when it is no longer.  One that is still pushed off a CPU that goes may
 * load its control once more; that is counted right, and start clears it.
 */
static int online_here(unsigned int cpu)
{
	unsigned long flags;

	local_irq_save(flags);
	if (reserved && driver->cpu_start)
		start_here(NULL);
	local_irq_restore(flags);
	return 0;
}

static int offline_here(unsigned int cpu)
{
	unsigned long flags;

	local_irq_save(flags);
	if (reserved && driver->cpu_stop)
		stop_here(NULL);
	local_irq_restore(flags);
	return 0;
}

void perfctr_cpu_forget(void)
{
	if (reserved && driver->cpu_forget) {
		driver->cpu_forget();
		perfctr_x86_pmi_forget();
	}
}

int perfctr_cpu_reserve(void)
{
	int err = 0;

	cpus_read_lock();
	if (driver->reserve)
		err = driver->reserve();
	if (!err) {
		reserved = true;
		if (driver->cpu_start)
			on_each_cpu(start_here, NULL, 1);
		perfctr_x86_users_allow();
	}
	cpus_read_unlock();
	return err;
}

void perfctr_cpu_release(void)
{
	cpus_read_lock();
	perfctr_x86_users_forbid();
	reserved = false;
	if (driver->cpu_stop)
		on_each_cpu(stop_here, NULL, 1);
	if (driver->release)
		driver->release();
	cpus_read_unlock();
}

/*
 * Called under mmap_lock, which nests inside cpus_read_lock() elsewhere in the
 * kernel.  Not needed here: each CPU knows whether its counters are ours.
 */
void perfctr_x86_scrub(void)
{
	if (driver->cpu_scrub)
		on_each_cpu(scrub_here, NULL, 1);
}

const struct cpumask *perfctr_cpus_forbidden(void)
{
	return &cpus_forbidden;
}

int perfctr_cpu_check_control(struct perfctr_cpu_control *control, bool kernel)
{
	return driver->check_control(control, kernel);
}

static u32 make_cstatus(const struct perfctr_cpu_control *control)
{
	return perfctr_nrctrs(control) | control->nractrs << 8 |
	       (control->tsc_on ? VPERFCTR_CSTATUS_TSC : 0) |
	       (control->nrictrs ? VPERFCTR_CSTATUS_ICTRS : 0);
}

void perfctr_cpu_update_control(struct perfctr_cpu_state *state,
				const struct perfctr_cpu_control *control, u64 preserve)
{
	struct vperfctr_page *page = state->page;
	unsigned int i, nrctrs = perfctr_nrctrs(control);
	unsigned int old = perfctr_nrctrs(&state->control);

	/* A copy of what is used, not of all that there is room for. */
	memcpy(&state->control, control, offsetof(struct perfctr_cpu_control, ctr));
	memcpy(state->control.ctr, control->ctr, nrctrs * sizeof(control->ctr[0]));
	state->id = atomic64_inc_return(&next_id);
	state->cstatus = make_cstatus(control);
	memset(state->ishift, 0, sizeof(state->ishift));

	perfctr_page_begin(page);
	page->cstatus = state->cstatus;
	page->mask = control->mask;
	if (!control->tsc_on)
		page->tsc_sum = 0;
	for (i = 0; i < nrctrs; i++) {
		page->ctr[i].map = control->ctr[i].map;
		page->ctr[i].start = control->ctr[i].ireset;	/* 0 if a-mode */
		if (!(preserve & BIT_ULL(i)))
			page->ctr[i].sum = 0;
	}
	/* Should a later control preserve one of these, it preserves zero. */
	for (; i < old; i++)
		memset(&page->ctr[i], 0, sizeof(page->ctr[i]));
	perfctr_page_end(page);
}

void perfctr_cpu_inherit(struct perfctr_cpu_state *state,
			 const struct perfctr_cpu_state *parent)
{
	perfctr_cpu_update_control(state, &parent->control, 0);
	state->id = parent->id;
}

/* ---- overflow ------------------------------------------------------------ */

void perfctr_cpu_set_ihandler(perfctr_ihandler *handler)
{
	ihandler = handler;
}

void perfctr_x86_overflowed(struct perfctr_cpu_state *state, struct pt_regs *regs)
{
	ihandler(state, regs);
}

/* The period of 2^shift resets, or the longest of those that can be loaded. */
static u64 long_period(s64 ireset, u8 *shift)
{
	u64 period = -ireset;
	u8 n;

	for (n = 0; n < *shift && period <= perfctr_cpu_info.max_period / 2; n++)
		period *= 2;
	*shift = n;
	return period;
}

/*
 * What is suspended has in `start` where the counter was: in the lower half of
 * its range if it went through zero since it was loaded.
 */
u32 perfctr_cpu_identify_overflow(struct perfctr_cpu_state *state, unsigned int shift,
				  u64 *skipped)
{
	const struct perfctr_cpu_control *control = &state->control;
	struct vperfctr_page *page = state->page;
	u32 overflow = 0;
	unsigned int i;

	perfctr_page_begin(page);
	for (i = control->nractrs; i < perfctr_nrctrs(control); i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];

		if (ctr->start & perfctr_x86_sign(ctr->map))
			continue;
		overflow |= BIT(i);
		*skipped += BIT_ULL(state->ishift[i]) - 1;
		state->ishift[i] = shift;
		ctr->start = -long_period(control->ctr[i].ireset, &state->ishift[i]);
	}
	perfctr_page_end(page);
	return overflow;
}

u64 perfctr_cpu_skipped(struct perfctr_cpu_state *state)
{
	const struct perfctr_cpu_control *control = &state->control;
	u64 skipped = 0;
	unsigned int i;

	for (i = control->nractrs; i < perfctr_nrctrs(control); i++) {
		const struct vperfctr_page_ctr *ctr = &state->page->ctr[i];
		u64 left = -ctr->start & (perfctr_x86_sign(ctr->map) * 2 - 1);
		u64 period = -control->ctr[i].ireset;

		if (state->ishift[i])
			skipped += ((period << state->ishift[i]) - left) / period;
		state->ishift[i] = 0;
	}
	return skipped;
}

void perfctr_cpu_hold_pmcs(struct perfctr_cpu_state *state)
{
	state->cstatus &= VPERFCTR_CSTATUS_TSC;
	perfctr_cpu_mark_suspended(state);
}

void perfctr_cpu_unhold_pmcs(struct perfctr_cpu_state *state)
{
	state->cstatus = make_cstatus(&state->control);
	perfctr_cpu_mark_suspended(state);
}

void perfctr_cpu_mark_suspended(struct perfctr_cpu_state *state)
{
	struct vperfctr_page *page = state->page;

	perfctr_page_begin(page);
	page->cstatus = state->cstatus;
	perfctr_page_end(page);
}

int perfctr_cpu_init(void)
{
	unsigned int i;
	int err = 0;

	if (forbid_cpus)
		err = cpulist_parse(forbid_cpus, &cpus_forbidden);
	if (err)
		return err;
	err = -ENODEV;
	for (i = 0; i < ARRAY_SIZE(drivers) && err; i++) {
		driver = drivers[i];
		err = driver->probe();
	}
	if (err)
		return err;

	static_call_update(perfctr_suspend, driver->suspend);
	static_call_update(perfctr_resume, driver->resume);
	static_call_update(perfctr_sample, driver->sample);

	if (!ihandler) {
		perfctr_cpu_info.features &= ~VPERFCTR_FEATURE_PCINT;
		perfctr_cpu_info.max_period = 0;
	}
	err = perfctr_x86_pmi_init(driver);
	if (err)
		return err;
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "vperfctr:online", online_here, offline_here);
	if (err < 0) {
		perfctr_x86_pmi_exit();
		return err;
	}
	hotplug_state = err;
	return 0;
}

void perfctr_cpu_exit(void)
{
	cpuhp_remove_state(hotplug_state);
	perfctr_x86_pmi_exit();
}
