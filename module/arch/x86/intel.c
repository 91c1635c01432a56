// SPDX-License-Identifier: GPL-2.0
/*
 * Intel architectural performance monitoring, version 1 and later: whatever
 * number and width of general and fixed counters CPUID leaf 0xA reports.
 *
 * Intel SDM volume 3, chapter "Performance Monitoring", "Architectural
 * Performance Monitoring"; register numbers from volume 4.
 *
 * MSR writes are what a context switch must not pay for.  Each CPU remembers
 * what its registers hold, and the identity of the control that they were
 * loaded for: resuming that control again writes no event select.  With
 * isolation, one write to IA32_PERF_GLOBAL_CTRL stops all counters when their
 * owner leaves and one starts them when it returns; without, counters are left
 * running and the differences taken.  Version 1 has no such register, and
 * isolation there clears and reloads each event select.
 *
 * i-mode counters always stop with their owner, and go on, on whatever CPU, from
 * the value that they had: it is in the page's `start` meanwhile.  It is written
 * unless the counter still holds it.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <asm/nmi.h>

#include "regs.h"
#include "x86.h"

/*
 * IA32_PERFEVTSEL0 to 7; what follows them is not event selects on every
 * processor (0x1a0 is IA32_MISC_ENABLE), whatever number CPUID has.
 */
#define INTEL_MAX_PMC		8
#define INTEL_MAX_FIXED		16

#define MSR_PMC0		0x0c1
#define MSR_FULL_PMC0		0x4c1	/* the same, to be written in full width */
#define MSR_EVNTSEL0		0x186
#define MSR_FIXED_CTR0		0x309
#define MSR_PERF_CAPABILITIES	0x345
#define MSR_FIXED_CTR_CTRL	0x38d
#define MSR_GLOBAL_CTRL		0x38f
#define MSR_GLOBAL_OVF_CTRL	0x390	/* version 4: GLOBAL_STATUS_RESET, same use */

#define EVNTSEL_EVENT		0x000000ffULL
#define EVNTSEL_UMASK		0x0000ff00ULL
#define EVNTSEL_USR		BIT_ULL(16)
#define EVNTSEL_OS		BIT_ULL(17)
#define EVNTSEL_E		BIT_ULL(18)
#define EVNTSEL_INT		BIT_ULL(20)
#define EVNTSEL_EN		BIT_ULL(22)
#define EVNTSEL_INV		BIT_ULL(23)
#define EVNTSEL_CMASK		0xff000000ULL

/* What user space may set; it does not include PC, INT and AnyThread. */
#define EVNTSEL_ALLOWED		(EVNTSEL_EVENT | EVNTSEL_UMASK | EVNTSEL_USR | EVNTSEL_OS | \
				 EVNTSEL_E | EVNTSEL_EN | EVNTSEL_INV | EVNTSEL_CMASK)

#define FIXED_OS		BIT_ULL(0)
#define FIXED_USR		BIT_ULL(1)
#define FIXED_PMI		BIT_ULL(3)
#define FIXED_FIELD(i, v)	((u64)(v) << (4 * (i)))

#define CAPABILITIES_FULL_WRITE	BIT_ULL(13)
#define CPUID_1_ECX_PDCM	BIT(15)

/* Bit i: event that CPUID.0AH:EBX bit i tells to be absent, bits in VPERFCTR_EVENT_*. */
static const u16 arch_events[] = {
	0x003c, 0x00c0, 0x013c, 0x4f2e, 0x412e, 0x00c4, 0x00c5,
};

static struct {
	unsigned int version;
	unsigned int nr_pmcs;		/* highest one + 1 */
	unsigned int nr_fixed;		/* likewise */
	u64 pmc_mask;			/* general counters that exist */
	u64 fixed_mask;
	u64 all_global;			/* both, as bits of GLOBAL_CTRL */
	unsigned int events_known;	/* bits of CPUID.0AH:EBX that mean something */
	u32 events_absent;
	u32 write_pmc0;			/* MSR_PMC0 or MSR_FULL_PMC0 */
} intel;

/* What the registers of a CPU hold. */
struct intel_cpu {
	u64 id;				/* of the control that is loaded; 0: none */
	u64 global_ctrl;
	u64 fixed_ctrl;
	bool ready;			/* the registers are ours */
	struct perfctr_cpu_state *running; /* resumed here, and uses counters */
	struct perfctr_cpu_state *armed; /* the same, if an NMI may stop its i-mode counters */
	u64 evntsel[INTEL_MAX_PMC];

	/* perf caches some of its registers: they go back as they were. */
	u64 saved_global_ctrl;
	u64 saved_fixed_ctrl;
};

static DEFINE_PER_CPU(struct intel_cpu, intel_cpu);

static bool is_fixed(u32 map)
{
	return map & VPERFCTR_FIXED;
}

static unsigned int fixed_index(u32 map)
{
	return map & ~VPERFCTR_FIXED;
}

/* ---- detection ---------------------------------------------------------- */

static bool readable(u32 msr)
{
	u64 value;

	return !perfctr_rdmsr_safe(msr, &value);
}

/* Does everything that CPUID promises exist?  A hypervisor may have lied. */
static bool registers_exist(void)
{
	unsigned int i;

	for (i = 0; i < intel.nr_pmcs; i++) {
		if ((intel.pmc_mask & BIT_ULL(i)) &&
		    (!readable(MSR_EVNTSEL0 + i) || !readable(MSR_PMC0 + i)))
			return false;
	}
	for (i = 0; i < intel.nr_fixed; i++) {
		if ((intel.fixed_mask & BIT_ULL(i)) && !readable(MSR_FIXED_CTR0 + i))
			return false;
	}
	if (intel.version < 2)
		return true;
	if (intel.fixed_mask && !readable(MSR_FIXED_CTR_CTRL))
		return false;
	return readable(MSR_GLOBAL_CTRL) && readable(MSR_GLOBAL_OVF_CTRL);
}

/*
 * Nothing counts more than 16 events a cycle at 6 GHz (CMASK counts cycles,
 * not events): 2^32 of them take 44 ms, 2^40 eleven seconds, in which an
 * isolated CPU need not switch either.
 */
static u64 sampling_ns(unsigned int width)
{
	if (width >= 48)
		return 0;
	return (BIT_ULL(width) / 2) / 96;
}

static u64 low_bits(unsigned int n)
{
	return n ? GENMASK_ULL(n - 1, 0) : 0;
}

/* Which registers take all bits of a general counter? */
static u32 find_write_pmc0(void)
{
	u32 eax, ebx, ecx, edx;
	u64 caps;

	perfctr_cpuid(1, &eax, &ebx, &ecx, &edx);
	if ((ecx & CPUID_1_ECX_PDCM) && !perfctr_rdmsr_safe(MSR_PERF_CAPABILITIES, &caps) &&
	    (caps & CAPABILITIES_FULL_WRITE) && readable(MSR_FULL_PMC0))
		return MSR_FULL_PMC0;
	return MSR_PMC0;
}

/*
 * The overflow is seen by the top bit, which must be set while it has not come.
 * MSR_PMC0 takes 32 bits and extends the sign.
 */
static u64 max_period(unsigned int width)
{
	return BIT_ULL(intel.write_pmc0 == MSR_PMC0 ? 31 : width - 1) - 1;
}

static int intel_probe(void)
{
	struct vperfctr_info *info = &perfctr_cpu_info;
	u32 eax, ebx, ecx, edx, max;
	unsigned int width, fixed_width = 0;

	/*
	 * Where there is the leaf; Zhaoxin's processors have it too.  It is read
	 * here for one CPU, and holds for all only if there is one kind of them.
	 */
	perfctr_cpuid(0, &max, &ebx, &ecx, &edx);
	if (max < 0xa || perfctr_is_pv_guest() || perfctr_is_hybrid())
		return -ENODEV;
	perfctr_cpuid(0xa, &eax, &ebx, &ecx, &edx);

	intel.version = eax & 0xff;
	intel.nr_pmcs = min_t(unsigned int, (eax >> 8) & 0xff, INTEL_MAX_PMC);
	width = (eax >> 16) & 0xff;
	intel.events_known = min_t(unsigned int, eax >> 24, ARRAY_SIZE(arch_events));
	intel.events_absent = ebx;
	if (!intel.version || !intel.nr_pmcs || width < 32 || width > 64)
		return -ENODEV;

	intel.pmc_mask = low_bits(intel.nr_pmcs);
	intel.fixed_mask = 0;
	if (intel.version >= 2) {
		intel.fixed_mask = low_bits(min_t(unsigned int, edx & 0x1f, INTEL_MAX_FIXED));
		fixed_width = (edx >> 5) & 0xff;
	}
	if (intel.version >= 5)		/* the number is of contiguous ones, the mask of all */
		intel.fixed_mask |= ecx & low_bits(INTEL_MAX_FIXED);
	if (intel.fixed_mask && (fixed_width < 32 || fixed_width > 64))
		intel.fixed_mask = 0;
	intel.nr_fixed = fls64(intel.fixed_mask);
	intel.all_global = intel.pmc_mask | intel.fixed_mask << 32;
	if (!registers_exist())
		return -ENODEV;

	intel.write_pmc0 = find_write_pmc0();

	perfctr_cpu_sampling_ns = sampling_ns(intel.fixed_mask ? min(width, fixed_width) : width);
	info->cpu_type = VPERFCTR_CPU_INTEL_ARCH;
	info->features = VPERFCTR_FEATURE_RDPMC | VPERFCTR_FEATURE_RDTSC |
			 (perfctr_isolate ? VPERFCTR_FEATURE_ISOLATE : 0);
	info->nrkinds = 1;
	info->tsc_khz = tsc_khz;
	info->arch_events = ~intel.events_absent & low_bits(intel.events_known);
	info->nrctrs = min_t(unsigned int, VPERFCTR_MAX_CTRS,
			     hweight64(intel.pmc_mask) + hweight64(intel.fixed_mask));
	info->pmc_width = width;
	info->fixed_width = intel.fixed_mask ? fixed_width : 0;
	info->pmc_mask = intel.pmc_mask;
	info->fixed_mask = intel.fixed_mask;
	if (perfctr_has_lvtpc()) {
		info->features |= VPERFCTR_FEATURE_PCINT;
		info->max_period = max_period(intel.fixed_mask ? min(width, fixed_width) : width);
	}
	snprintf(info->cpu_name, sizeof(info->cpu_name),
		 "Intel architectural performance monitoring, version %u", intel.version);
	return 0;
}

/* ---- control ------------------------------------------------------------ */

/* An architectural event that this processor does not have would count nothing. */
static bool event_absent(u64 evntsel)
{
	u16 event = evntsel & (EVNTSEL_EVENT | EVNTSEL_UMASK);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(arch_events); i++) {
		if (event == arch_events[i])
			return i >= intel.events_known || (intel.events_absent & BIT(i));
	}
	return false;
}

static int check_fixed(struct vperfctr_ctr *ctr, struct perfctr_cpu_control *control, bool imode)
{
	struct perfctr_cpu_regs *regs = &control->regs;
	unsigned int i = fixed_index(ctr->map);

	if (i >= intel.nr_fixed)
		return -EINVAL;
	i = array_index_nospec(i, INTEL_MAX_FIXED);
	ctr->map = VPERFCTR_FIXED | i;
	if (!(intel.fixed_mask & BIT_ULL(i)) || (regs->global_ctrl & BIT_ULL(32 + i)))
		return -EINVAL;
	if (!ctr->evntsel || (ctr->evntsel & ~(FIXED_OS | FIXED_USR)))
		return -EINVAL;
	if (ctr->evntsel & FIXED_OS)
		control->kernel = true;
	regs->global_ctrl |= BIT_ULL(32 + i);
	regs->fixed_ctrl |= FIXED_FIELD(i, ctr->evntsel | (imode ? FIXED_PMI : 0));
	regs->fixed_used |= FIXED_FIELD(i, 0xf);
	return 0;
}

static int check_general(struct vperfctr_ctr *ctr, struct perfctr_cpu_control *control)
{
	struct perfctr_cpu_regs *regs = &control->regs;
	unsigned int i = ctr->map;

	if (i >= intel.nr_pmcs)
		return -EINVAL;
	i = array_index_nospec(i, INTEL_MAX_PMC);
	ctr->map = i;
	if (!(intel.pmc_mask & BIT_ULL(i)) || (regs->global_ctrl & BIT_ULL(i)))
		return -EINVAL;
	if ((ctr->evntsel & ~EVNTSEL_ALLOWED) || !(ctr->evntsel & EVNTSEL_EN) ||
	    !(ctr->evntsel & (EVNTSEL_USR | EVNTSEL_OS)) || event_absent(ctr->evntsel))
		return -EINVAL;
	if (ctr->evntsel & EVNTSEL_OS)
		control->kernel = true;
	regs->global_ctrl |= BIT_ULL(i);
	return 0;
}

/* a-mode: 0; i-mode: minus a period that can be loaded. */
static bool is_valid_ireset(s64 ireset, bool imode)
{
	return imode ? ireset < 0 && -(u64)ireset <= perfctr_cpu_info.max_period : !ireset;
}

static int intel_check_control(struct perfctr_cpu_control *control, bool kernel)
{
	unsigned int i, width = 64;

	if (control->global[0] || control->global[1])
		return -EINVAL;

	control->kernel = false;
	memset(&control->regs, 0, sizeof(control->regs));
	for (i = 0; i < perfctr_nrctrs(control); i++) {
		struct vperfctr_ctr *ctr = &control->ctr[i];
		bool imode = i >= control->nractrs;
		int err;

		if (ctr->aux || !is_valid_ireset(ctr->ireset, imode))
			return -EINVAL;
		if (is_fixed(ctr->map)) {
			err = check_fixed(ctr, control, imode);
			width = min(width, perfctr_cpu_info.fixed_width);
		} else {
			err = check_general(ctr, control);
			width = min(width, perfctr_cpu_info.pmc_width);
		}
		if (err)
			return err;
	}
	control->mask = low_bits(width);
	return control->kernel && !kernel ? -EPERM : 0;
}

/* ---- registers ---------------------------------------------------------- */

static void write_global_ctrl(struct intel_cpu *cpu, u64 value)
{
	if (cpu->global_ctrl == value)
		return;
	cpu->global_ctrl = value;
	perfctr_wrmsr(MSR_GLOBAL_CTRL, value);
}

static void write_evntsel(struct intel_cpu *cpu, unsigned int i, u64 value)
{
	if (cpu->evntsel[i] == value)
		return;
	cpu->evntsel[i] = value;
	perfctr_wrmsr(MSR_EVNTSEL0 + i, value);
}

/* Load a control into registers that hold another one, writing what differs. */
static noinline void write_control(struct intel_cpu *cpu, const struct perfctr_cpu_state *state)
{
	const struct perfctr_cpu_control *control = &state->control;
	unsigned int i, nrctrs = perfctr_nrctrs(control);
	u64 fixed;

	/* What others left running is not to overflow as ours. */
	if (control->nrictrs && intel.version >= 2)
		write_global_ctrl(cpu, 0);
	for (i = 0; i < nrctrs; i++) {
		const struct vperfctr_ctr *ctr = &control->ctr[i];
		u64 intr = i < control->nractrs ? 0 : EVNTSEL_INT;

		if (!is_fixed(ctr->map))
			write_evntsel(cpu, ctr->map, ctr->evntsel | intr);
	}
	fixed = (cpu->fixed_ctrl & ~control->regs.fixed_used) | control->regs.fixed_ctrl;
	if (fixed != cpu->fixed_ctrl) {
		cpu->fixed_ctrl = fixed;
		perfctr_wrmsr(MSR_FIXED_CTR_CTRL, fixed);
	}
	cpu->id = state->id;
}

static u64 counter_mask(u32 map)
{
	return perfctr_x86_sign(map) * 2 - 1;
}

/* A small number, or minus one: see max_period(). */
static void write_counter(u32 map, u64 value)
{
	value &= counter_mask(map);
	if (is_fixed(map))
		perfctr_wrmsr(MSR_FIXED_CTR0 + fixed_index(map), value);
	else
		perfctr_wrmsr(intel.write_pmc0 + map, value);
}

static void clear_counter(u32 map)
{
	write_counter(map, 0);
}

/* Make the counters stand still, for nobody else to be counted by them. */
static void stop_counters(struct intel_cpu *cpu, const struct perfctr_cpu_state *state)
{
	const struct vperfctr_page *page = state->page;
	unsigned int i;

	if (intel.version >= 2) {
		write_global_ctrl(cpu, 0);
		return;
	}
	for (i = 0; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++)
		write_evntsel(cpu, page->ctr[i].map, 0);
	cpu->id = 0;	/* the event selects are to be loaded again */
}

/* ---- i-mode ------------------------------------------------------------- */

static bool has_ictrs(const struct perfctr_cpu_state *state)
{
	return state->cstatus & VPERFCTR_CSTATUS_ICTRS;
}

/* From here on an NMI leaves the counters to us. */
static void disarm(struct intel_cpu *cpu)
{
	WRITE_ONCE(cpu->armed, NULL);
	barrier();
}

/* Which i-mode counters have overflowed, as bits of GLOBAL_CTRL? */
static u64 find_overflow(const struct perfctr_cpu_state *state)
{
	const struct vperfctr_page *page = state->page;
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	u64 overflow = 0;

	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		u32 map = page->ctr[i].map;

		if (!(perfctr_rdpmc(map) & perfctr_x86_sign(map)))
			overflow |= is_fixed(map) ? BIT_ULL(32 + fixed_index(map)) : BIT_ULL(map);
	}
	return overflow;
}

/* The counters stand; what IA32_PERF_GLOBAL_STATUS has of their overflow is known. */
static void clear_overflow(u64 overflow)
{
	if (overflow && intel.version >= 2)
		perfctr_wrmsr(MSR_GLOBAL_OVF_CTRL, overflow);
}

/*
 * Let an NMI stop the counters.  What overflowed while that was not allowed has
 * had its NMI, in vain; it is seen here, and the counters are not to start.
 */
static noinline bool arm(struct intel_cpu *cpu, struct perfctr_cpu_state *state)
{
	WRITE_ONCE(cpu->armed, state);
	barrier();
	if (likely(!find_overflow(state)))
		return true;
	disarm(cpu);
	stop_counters(cpu, state);
	perfctr_x86_pmi_expect();
	perfctr_x86_overflowed(state, NULL);
	return false;
}

static struct perfctr_cpu_state *intel_overflow(void)
{
	struct intel_cpu *cpu = this_cpu_ptr(&intel_cpu);
	struct perfctr_cpu_state *state = READ_ONCE(cpu->armed);

	if (!state || !find_overflow(state))
		return NULL;
	disarm(cpu);
	stop_counters(cpu, state);
	clear_overflow(find_overflow(state));
	return state;
}

/* The part of suspend that i-mode counters need more: they stand already. */
static noinline void suspend_ictrs(const struct perfctr_cpu_state *state, bool was_armed)
{
	struct vperfctr_page *page = state->page;
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	u64 overflow = find_overflow(state);

	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];
		u64 now = perfctr_rdpmc(ctr->map);

		ctr->sum += (now - ctr->start) & page->mask;
		ctr->start = now;
	}
	if (overflow && was_armed)
		perfctr_x86_pmi_expect();
	clear_overflow(overflow);
}

/* Likewise for resume. */
static noinline void resume_ictrs(const struct perfctr_cpu_state *state)
{
	const struct vperfctr_page *page = state->page;
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);

	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		const struct vperfctr_page_ctr *ctr = &page->ctr[i];

		if ((perfctr_rdpmc(ctr->map) ^ ctr->start) & counter_mask(ctr->map))
			write_counter(ctr->map, ctr->start);
	}
}

/* ---- suspend, resume, sample -------------------------------------------- */

static void intel_suspend(struct perfctr_cpu_state *state)
{
	struct intel_cpu *cpu = this_cpu_ptr(&intel_cpu);
	struct vperfctr_page *page = state->page;
	unsigned int i, nrctrs = VPERFCTR_CSTATUS_NRCTRS(state->cstatus);
	unsigned int nractrs = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	bool was_armed = false;

	if (!nrctrs) {
		perfctr_generic_suspend(state);
		return;
	}
	if (unlikely(has_ictrs(state))) {
		was_armed = cpu->armed;
		disarm(cpu);
	}
	cpu->running = NULL;
	if (perfctr_isolate || has_ictrs(state))
		stop_counters(cpu, state);

	perfctr_page_begin(page);
	if (state->cstatus & VPERFCTR_CSTATUS_TSC)
		page->tsc_sum += perfctr_rdtsc() - page->tsc_start;
	for (i = 0; i < nractrs; i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];

		ctr->sum += (perfctr_rdpmc(ctr->map) - ctr->start) & page->mask;
		ctr->start = 0;	/* it tells what the counter held for others before */
	}
	if (unlikely(has_ictrs(state)))
		suspend_ictrs(state, was_armed);
	perfctr_page_end(page);

	if (perfctr_isolate && perfctr_x86_watched()) {
		for (i = 0; i < nrctrs; i++)
			clear_counter(page->ctr[i].map);
	}
}

static void intel_resume(struct perfctr_cpu_state *state)
{
	struct intel_cpu *cpu = this_cpu_ptr(&intel_cpu);
	struct vperfctr_page *page = state->page;
	unsigned int i, nrctrs = VPERFCTR_CSTATUS_NRCTRS(state->cstatus);
	unsigned int nractrs = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	u32 cstatus = state->cstatus | VPERFCTR_CSTATUS_RUNNING;
	u64 global_ctrl;

	if (!nrctrs) {
		perfctr_generic_resume(state);
		return;
	}
	cpu->running = state;
	if (perfctr_user_rdpmc()) {
		cstatus |= VPERFCTR_CSTATUS_RDPMC;
		perfctr_x86_saw_rdpmc();
	}
	if (cpu->id != state->id)
		write_control(cpu, state);

	perfctr_page_begin(page);
	page->cstatus = cstatus;
	page->tsc_start = perfctr_rdtsc();
	for (i = 0; i < nractrs; i++)
		page->ctr[i].start = perfctr_rdpmc(page->ctr[i].map);
	if (unlikely(has_ictrs(state)))
		resume_ictrs(state);
	perfctr_page_end(page);

	if (unlikely(has_ictrs(state)) && !arm(cpu, state))
		return;
	if (intel.version >= 2) {
		global_ctrl = state->control.regs.global_ctrl;
		/* Without isolation others' counters may as well go on. */
		if (!perfctr_isolate)
			global_ctrl |= cpu->global_ctrl;
		write_global_ctrl(cpu, global_ctrl);
	}
}

static void intel_sample(struct perfctr_cpu_state *state)
{
	struct intel_cpu *cpu = this_cpu_ptr(&intel_cpu);
	struct vperfctr_page *page = state->page;
	unsigned int i, nrctrs = VPERFCTR_CSTATUS_NRCTRS(state->cstatus);
	u64 now;

	if (unlikely(has_ictrs(state)))
		disarm(cpu);
	perfctr_page_begin(page);
	now = perfctr_rdtsc();
	if (state->cstatus & VPERFCTR_CSTATUS_TSC)
		page->tsc_sum += now - page->tsc_start;
	page->tsc_start = now;
	for (i = 0; i < nrctrs; i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];

		now = perfctr_rdpmc(ctr->map);
		ctr->sum += (now - ctr->start) & page->mask;
		ctr->start = now;
	}
	perfctr_page_end(page);
	if (unlikely(has_ictrs(state)))
		arm(cpu, state);
}

/* ---- taking and giving back --------------------------------------------- */

/*
 * perf reserves all general counters and event selects with its first hardware
 * event, the NMI watchdog's included, and nothing for fixed ones.  Whoever has
 * all of them has the whole unit.
 */
static int intel_reserve(void)
{
	unsigned int i;

	for (i = 0; i < intel.nr_pmcs; i++) {
		if (!reserve_evntsel_nmi(MSR_EVNTSEL0 + i))
			goto fail;
		if (!reserve_perfctr_nmi(MSR_PMC0 + i)) {
			release_evntsel_nmi(MSR_EVNTSEL0 + i);
			goto fail;
		}
	}
	return 0;
fail:
	while (i--) {
		release_evntsel_nmi(MSR_EVNTSEL0 + i);
		release_perfctr_nmi(MSR_PMC0 + i);
	}
	return -EBUSY;
}

static void intel_release(void)
{
	unsigned int i = intel.nr_pmcs;

	while (i--) {
		release_evntsel_nmi(MSR_EVNTSEL0 + i);
		release_perfctr_nmi(MSR_PMC0 + i);
	}
}

static void clear_counters(void)
{
	unsigned int i;

	for (i = 0; i < intel.nr_pmcs; i++) {
		if (intel.pmc_mask & BIT_ULL(i))
			clear_counter(i);
	}
	for (i = 0; i < intel.nr_fixed; i++) {
		if (intel.fixed_mask & BIT_ULL(i))
			clear_counter(VPERFCTR_FIXED | i);
	}
}

/* Whatever the registers hold: stop everything, clear everything. */
static void clear_registers(struct intel_cpu *cpu)
{
	unsigned int i;

	if (intel.version >= 2) {
		perfctr_wrmsr(MSR_GLOBAL_CTRL, 0);
		if (intel.fixed_mask)
			perfctr_wrmsr(MSR_FIXED_CTR_CTRL, 0);
	}
	for (i = 0; i < intel.nr_pmcs; i++) {
		if (intel.pmc_mask & BIT_ULL(i))
			perfctr_wrmsr(MSR_EVNTSEL0 + i, 0);
	}
	clear_counters();
	if (intel.version >= 2)
		perfctr_wrmsr(MSR_GLOBAL_OVF_CTRL, intel.all_global);

	cpu->id = 0;
	cpu->armed = NULL;
	cpu->global_ctrl = 0;
	cpu->fixed_ctrl = 0;
	memset(cpu->evntsel, 0, sizeof(cpu->evntsel));
}

static void intel_cpu_start(void)
{
	struct intel_cpu *cpu = this_cpu_ptr(&intel_cpu);

	if (intel.version >= 2) {
		perfctr_rdmsr_safe(MSR_GLOBAL_CTRL, &cpu->saved_global_ctrl);
		if (intel.fixed_mask)
			perfctr_rdmsr_safe(MSR_FIXED_CTR_CTRL, &cpu->saved_fixed_ctrl);
	}
	clear_registers(cpu);
	cpu->ready = true;
}

static void intel_cpu_stop(void)
{
	struct intel_cpu *cpu = this_cpu_ptr(&intel_cpu);

	cpu->ready = false;
	clear_registers(cpu);
	if (intel.version >= 2) {
		if (intel.fixed_mask)
			perfctr_wrmsr(MSR_FIXED_CTR_CTRL, cpu->saved_fixed_ctrl);
		perfctr_wrmsr(MSR_GLOBAL_CTRL, cpu->saved_global_ctrl);
	}
}

static void intel_cpu_forget(void)
{
	clear_registers(this_cpu_ptr(&intel_cpu));
}

static void intel_cpu_scrub(void)
{
	struct intel_cpu *cpu = this_cpu_ptr(&intel_cpu);
	struct perfctr_cpu_state *state = cpu->running;

	if (!cpu->ready)
		return;
	/* What is running may have started from what somebody else left. */
	if (state)
		intel_suspend(state);
	clear_counters();
	if (state)
		intel_resume(state);
}

const struct perfctr_x86_driver perfctr_x86_intel = {
	.probe		= intel_probe,
	.check_control	= intel_check_control,
	.suspend	= intel_suspend,
	.resume		= intel_resume,
	.sample		= intel_sample,
	.overflow	= intel_overflow,
	.reserve	= intel_reserve,
	.release	= intel_release,
	.cpu_start	= intel_cpu_start,
	.cpu_stop	= intel_cpu_stop,
	.cpu_forget	= intel_cpu_forget,
	.cpu_scrub	= intel_cpu_scrub,
};
