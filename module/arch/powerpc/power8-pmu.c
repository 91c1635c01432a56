// SPDX-License-Identifier: GPL-2.0
/*
 * The performance monitor of POWER8 to POWER12, described in the Power ISA, Book III, "Performance
 * Monitor Facility".  There are four counters of events, PMC1 to PMC4.  PMC5 counts
 * instructions and PMC6 cycles.  All have 32 bits.
 *
 * MMCR0 starts and stops all counters together, and says whether user mode may read them.
 * MMCR1 has the events.  MMCR2 has, for each counter, the modes in which it does not count.
 * MMCR3 of POWER10 has the sources of data.  Each CPU knows what these registers hold, and the
 * identity of the control that they were loaded for.  Resuming that control again writes MMCR0
 * only.  MMCRA, for sampling, keeps one value.
 *
 * With isolation, suspend stops all counters and clears those used.  So resume knows their
 * start values, and no thread can see the counts of another.  Without isolation they keep
 * running, and the sums are made of differences.
 *
 * While a state with i-mode counters runs, a counter whose top bit is set raises an interrupt,
 * and the hardware stops all counters then.  The kernel disables most interrupts by software,
 * but not this one: it is an NMI to code that has disabled them.
 */
#include <linux/bitfield.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "../../compat/nmi.h"
#include "counters.h"
#include "power9-errata.h"
#include "powerpc.h"
#include "regs.h"

/*
 * evntsel: perf's code of the event without its bits 16 to 19, which are the counter, and two bits
 * as in MMCR2.  Fields that are not the counter's own are those of all counters.
 */
#define EVENT_SELECTOR		GENMASK_ULL(7, 0)
#define EVENT_RADIX_SCOPE	BIT_ULL(9)		/* POWER10; for all */
#define EVENT_COMBINE		GENMASK_ULL(11, 10)	/* POWER8: bit 11 only */
#define EVENT_COMBINE_POWER8	BIT_ULL(11)
#define EVENT_UNIT		GENMASK_ULL(15, 12)
#define EVENT_CACHE		GENMASK_ULL(21, 20)	/* the kind of reload of L1; for all */
#define EVENT_CACHE_IS_L1	BIT_ULL(22)		/* POWER8: EVENT_CACHE is used */
#define EVENT_CACHE_BANK	BIT_ULL(23)		/* POWER8: needs no register */
#define EVENT_L2L3		GENMASK_ULL(44, 40)	/* POWER10; for all */
#define EVENT_SOURCE		GENMASK_ULL(59, 45)	/* POWER10: the counter's part of MMCR3 */
#define EVENT_NOT_USER		BIT_ULL(62)	/* do not count in user mode */
#define EVENT_NOT_KERNEL	BIT_ULL(63)	/* do not count in kernel mode */
#define EVENT_MODES		(EVENT_NOT_USER | EVENT_NOT_KERNEL)

/* The fields that all processors have, and those of each. */
#define EVENT_COMMON		(EVENT_SELECTOR | EVENT_UNIT | EVENT_CACHE)
#define EVENT_POWER8		(EVENT_COMMON | EVENT_COMBINE_POWER8 | EVENT_CACHE_IS_L1 | \
				 EVENT_CACHE_BANK)
#define EVENT_POWER9		(EVENT_COMMON | EVENT_COMBINE)
#define EVENT_POWER10		(EVENT_COMMON | EVENT_COMBINE | EVENT_RADIX_SCOPE | EVENT_L2L3 | \
				 EVENT_SOURCE)

/* The fields that errata name, and where perf's code has the counter. */
#define EVENT_OWN		(EVENT_SELECTOR | EVENT_COMBINE | EVENT_UNIT)
#define EVENT_PMC_SHIFT		16

/* EVENT_UNIT: the units of the L2 and L3 caches. */
#define UNIT_FIRST_CACHE	6
#define UNIT_LAST_CACHE		9
#define UNIT_L2L3		6	/* POWER10: the one that EVENT_L2L3 is for */

/* MMCR0.  PMCC: group A, with all counters, can be read in user mode, or not. */
#define MMCR0_NO_READS		0x00040000ULL
#define MMCR0_READS		0ULL
#define MMCR0_COUNTING		((u64)MMCR0_C56RUN)	/* PMC5 and 6 also without the run latch */
#define MMCR0_STOPPED		((u64)MMCR0_FC | MMCR0_COUNTING)
/*
 * PMC1CE and PMCjCE: a counter whose top bit is set stops all of them, and interrupts.  The
 * condition is its value: a write that starts the counters again raises it again.
 */
#define MMCR0_NEGATIVE		0xc000ULL
#define MMCR0_INTERRUPT		((u64)MMCR0_PMXE | MMCR0_FCECE | MMCR0_NEGATIVE)

/* MMCR2, for PMC1: the other counters' bits follow to the right. */
#define MMCR2_S			BIT_ULL(63)	/* freeze in kernel mode below a hypervisor */
#define MMCR2_P0		BIT_ULL(62)	/* freeze in user mode, the same */
#define MMCR2_P1		BIT_ULL(61)	/* freeze in user mode of a hypervisor */
#define MMCR2_H			BIT_ULL(57)	/* freeze in hypervisor mode */
#define MMCR2_ALL		(MMCR2_S | MMCR2_P0 | MMCR2_P1 | MMCR2_H)
#define MMCR2_SHIFT		9

/* MMCR1: the fields of PMC1, and those of PMC2 to 4 to its right. */
#define MMCR1_SHIFT(n)		(24 - 8 * (n))
#define MMCR1_UNIT_SHIFT(n)	(60 - 4 * (n))
#define MMCR1_COMBINE_POWER8_SHIFT(n)	(35 - (n))
#define MMCR1_COMBINE_SHIFT(n)	(38 - 2 * (n))

/* Fields that the counters share. */
#define MMCR1_CACHE		GENMASK_ULL(47, 46)
#define MMCR1_RADIX_SCOPE	BIT_ULL(45)
#define MMCR2_L2L3		GENMASK_ULL(7, 3)
#define MMCRA_NO_BRANCHES	BIT_ULL(37)	/* POWER10: record no branches */

/* MMCR3: the field of PMC1, and those of PMC2 to 4 to its right. */
#define MMCR3_SOURCE_SHIFT(n)	(49 - 15 * (n))

#define NR_EVENT_PMCS		4

/* The counters by their fixed numbers. */
#define FIXED_INSNS		0		/* PMC5 */
#define FIXED_CYCLES		1		/* PMC6 */

/* Linux names them since 6.9 and 7.3. */
#define POWER11			0x0082
#define POWER12			0x0083

static const struct {
	u32 version;
	const char *name;
} processors[] = {
	{ PVR_POWER8E, "IBM POWER8E" },
	{ PVR_POWER8NVL, "IBM POWER8NVL" },
	{ PVR_POWER8, "IBM POWER8" },
	{ PVR_POWER9, "IBM POWER9" },
	{ PVR_POWER10, "IBM POWER10" },
	{ POWER11, "IBM POWER11" },
	{ POWER12, "IBM POWER12" },
};

static struct {
	u32 version;
	u64 freeze_kernel;		/* the bit of MMCR2 of the mode in which this kernel runs */
	u64 fields;			/* of an event */
	u64 mmcra;			/* while the counters are claimed */
} pmu __ro_after_init;

/* The contents of a CPU's registers. */
struct pmu_cpu {
	u64 id;				/* of the loaded control; 0: none */
	u64 mmcr0;
	struct perfctr_cpu_state *armed; /* the running state whose overflow an interrupt reports */
	bool idle;			/* the running state's counters have not been started */
	struct perfctr_own_cpu own;
	u64 mmcr3;
	u64 saved_mmcr0;
	u64 saved_mmcr1;
	u64 saved_mmcr2;
	u64 saved_mmcra;
	u64 saved_mmcr3;
};

static DEFINE_PER_CPU(struct pmu_cpu, pmu_cpu);

static __always_inline unsigned int pmc_of(u32 map)
{
	return map & VPERFCTR_FIXED ? NR_EVENT_PMCS + (map & 1) : map;
}

static __always_inline u32 read_counter(u32 map)
{
	return perfctr_read_pmc(pmc_of(map));
}

static __always_inline void write_counter(u32 map, u32 value)
{
	perfctr_write_pmc(pmc_of(map), value);
}

/* True if this is a POWER10, 11 or 12: Linux's drivers of these write the same. */
static bool is_power10(void)
{
	return pmu.version == PVR_POWER10 || pmu.version == POWER11 || pmu.version == POWER12;
}

static bool is_power9(void)
{
	return pmu.version == PVR_POWER9;
}

/* True if this is a POWER8 or a variant of it. */
static bool is_power8(void)
{
	return !is_power9() && !is_power10();
}

/* ---- detection ---------------------------------------------------------- */

static int power8_probe(void)
{
	struct vperfctr_info *info = &perfctr_cpu_info;
	const char *name = NULL;
	unsigned int i;

	pmu.version = perfctr_processor();
	for (i = 0; i < ARRAY_SIZE(processors); i++) {
		if (processors[i].version == pmu.version)
			break;
	}
	if (i == ARRAY_SIZE(processors))
		return -ENODEV;
	pmu.freeze_kernel = perfctr_is_hypervisor() ? MMCR2_H : MMCR2_S;
	pmu.fields = is_power10() ? EVENT_POWER10 : is_power9() ? EVENT_POWER9 : EVENT_POWER8;
	/* As Linux sets it when a CPU starts. */
	pmu.mmcra = is_power10() ? MMCRA_NO_BRANCHES : 0;
	/* As in Linux's driver, the revision is that of the CPU that executes this. */
	if (is_power9())
		name = perfctr_power9_errata(perfctr_revision());

	info->cpu_type = VPERFCTR_CPU_POWER8;
	info->features = VPERFCTR_FEATURE_RDPMC | VPERFCTR_FEATURE_RDTSC | VPERFCTR_FEATURE_CPUS |
			 (perfctr_isolate ? VPERFCTR_FEATURE_ISOLATE : 0);
	info->nrkinds = 1;
	info->tsc_khz = perfctr_tsc_khz();
	info->arch_events = VPERFCTR_EVENT_CYCLES | VPERFCTR_EVENT_INSTRUCTIONS;
	info->nrctrs = PERFCTR_NR_PMCS;
	info->pmc_width = 32;
	info->fixed_width = 32;
	/* The handler touches the memory of a ring. */
	if (perfctr_nmis_may_fault()) {
		info->features |= VPERFCTR_FEATURE_PCINT;
		info->max_period = BIT_ULL(31) - 1;
		info->min_period = 1;
	}
	info->pmc_mask = BIT_ULL(NR_EVENT_PMCS) - 1;
	info->fixed_mask = BIT_ULL(FIXED_INSNS) | BIT_ULL(FIXED_CYCLES);
	strscpy(info->cpu_name, name ?: processors[i].name, sizeof(info->cpu_name));
	perfctr_cpu_sampling_ns = perfctr_sampling_ns(32);
	return 0;
}

/* True if a control that was checked against the probed CPU can run on this CPU. */
static bool power8_accepts(unsigned int cpu)
{
	return perfctr_processor() == pmu.version;
}

/* ---- control ------------------------------------------------------------ */

/* Return the bits of MMCR2 for PMC1, for modes that are not counted. */
static u64 modes_of(u64 evntsel)
{
	/* Never count the other privileged mode: it is a hypervisor's, or a guest's. */
	u64 modes = (MMCR2_S | MMCR2_H) & ~pmu.freeze_kernel;

	if (evntsel & EVENT_NOT_KERNEL)
		modes |= pmu.freeze_kernel;
	if (evntsel & EVENT_NOT_USER)
		modes |= MMCR2_P0 | MMCR2_P1;
	return modes;
}

/* True if the unit of the event is one of those of the L2 and L3 caches. */
static bool is_of_cache(u64 event)
{
	u64 unit = FIELD_GET(EVENT_UNIT, event);

	return unit >= UNIT_FIRST_CACHE && unit <= UNIT_LAST_CACHE;
}

/* True if the fields of caches have a meaning for the event, and a register to be in. */
static bool is_valid_cache(u64 event)
{
	if (is_power10() && event & EVENT_L2L3 && FIELD_GET(EVENT_UNIT, event) != UNIT_L2L3)
		return false;
	/*
	 * On POWER8, MMCRC says what these count.  Only a hypervisor can set it, and it is 0.
	 * On the others these fields mean nothing.
	 */
	if (is_of_cache(event))
		return !(event & (EVENT_CACHE | EVENT_CACHE_IS_L1));
	return !is_power8() || (!(event & EVENT_CACHE_BANK) &&
				(event & EVENT_CACHE_IS_L1 || !(event & EVENT_CACHE)));
}

static int check_counter(struct vperfctr_ctr *ctr)
{
	u64 event = ctr->evntsel & ~EVENT_MODES;

	if ((ctr->evntsel & EVENT_MODES) == EVENT_MODES)
		return -EINVAL;
	if (ctr->map & VPERFCTR_FIXED)
		return (ctr->map & ~VPERFCTR_FIXED) > FIXED_CYCLES || event ? -EINVAL : 0;
	if (ctr->map >= NR_EVENT_PMCS)
		return -EINVAL;
	ctr->map = array_index_nospec(ctr->map, NR_EVENT_PMCS);
	/* Selector 0 counts nothing. */
	if (!(event & EVENT_SELECTOR) || event & ~pmu.fields)
		return -EINVAL;
	if (is_power9() &&
	    perfctr_power9_is_broken((event & EVENT_OWN) | (ctr->map + 1) << EVENT_PMC_SHIFT))
		return -EINVAL;
	return is_valid_cache(event) ? 0 : -EINVAL;
}

/* Fields that all counters share, as the events of a control need them. */
struct shared {
	u64 fields;		/* of evntsel, in which the other events must have the same */
	u64 value;		/* the contents of these fields */
	bool has_bank;		/* PMC4 counts an event of a cache */
};

/*
 * Return the fields of evntsel in which all counters must have the same value as this one.
 * An event for which a field has no meaning does not have to agree.
 */
static u64 shared_fields(u64 event)
{
	u64 fields = 0;

	if (!is_of_cache(event)) {
		if (!is_power8() || event & EVENT_CACHE_IS_L1)
			fields |= EVENT_CACHE;
	} else if (is_power9()) {
		fields |= EVENT_SELECTOR;
	} else if (is_power10() && FIELD_GET(EVENT_UNIT, event) == UNIT_L2L3) {
		fields |= EVENT_L2L3;
	}
	if (is_power10())
		fields |= EVENT_RADIX_SCOPE;
	return fields;
}

static int share_fields(struct shared *shared, u64 event, unsigned int n)
{
	u64 fields = shared_fields(event);

	if ((event ^ shared->value) & fields & shared->fields)
		return -EINVAL;
	shared->fields |= fields;
	shared->value |= event & fields;
	shared->has_bank |= n == NR_EVENT_PMCS - 1 && is_of_cache(event);
	return 0;
}

/* Set the fields of an event that are its counter's own. */
static void set_event(struct perfctr_cpu_regs *regs, u64 event, unsigned int n)
{
	regs->mmcr1 |= FIELD_GET(EVENT_SELECTOR, event) << MMCR1_SHIFT(n);
	regs->mmcr1 |= FIELD_GET(EVENT_UNIT, event) << MMCR1_UNIT_SHIFT(n);
	if (is_power8())
		regs->mmcr1 |= FIELD_GET(EVENT_COMBINE_POWER8, event) <<
			       MMCR1_COMBINE_POWER8_SHIFT(n);
	else
		regs->mmcr1 |= FIELD_GET(EVENT_COMBINE, event) << MMCR1_COMBINE_SHIFT(n);
	if (is_power10())
		regs->mmcr3 |= FIELD_GET(EVENT_SOURCE, event) << MMCR3_SOURCE_SHIFT(n);
}

static int set_shared(struct perfctr_cpu_regs *regs, const struct shared *shared)
{
	u64 value = shared->value;

	/*
	 * POWER9's cache has banks of four events, one for each counter.  The selector of PMC4
	 * chooses the bank.
	 */
	if (is_power9() && shared->fields & EVENT_SELECTOR && !shared->has_bank)
		return -EINVAL;
	regs->mmcr1 |= FIELD_PREP(MMCR1_CACHE, FIELD_GET(EVENT_CACHE, value));
	if (is_power10()) {
		regs->mmcr1 |= FIELD_PREP(MMCR1_RADIX_SCOPE, FIELD_GET(EVENT_RADIX_SCOPE, value));
		regs->mmcr2 |= FIELD_PREP(MMCR2_L2L3, FIELD_GET(EVENT_L2L3, value));
	}
	return 0;
}

static int power8_check_control(struct perfctr_cpu_control *control)
{
	struct perfctr_cpu_regs *regs = &control->regs;
	struct shared shared = {};
	unsigned int i, used = 0;

	if (control->global[0] || control->global[1] || control->kind)
		return -EINVAL;
	control->kernel = false;
	control->alone = false;
	control->mask = U32_MAX;
	regs->mmcr1 = 0;
	regs->mmcr2 = 0;
	regs->mmcr3 = 0;
	for (i = 0; i < PERFCTR_NR_PMCS; i++)
		regs->mmcr2 |= MMCR2_ALL >> (i * MMCR2_SHIFT);
	for (i = 0; i < perfctr_nrctrs(control); i++) {
		struct vperfctr_ctr *ctr = &control->ctr[i];
		unsigned int n;

		if (ctr->aux || !perfctr_is_valid_ireset(ctr->ireset, i >= control->nractrs) ||
		    check_counter(ctr))
			return -EINVAL;
		n = pmc_of(ctr->map);
		if (used & BIT(n))
			return -EINVAL;
		used |= BIT(n);
		if (n < NR_EVENT_PMCS) {
			if (share_fields(&shared, ctr->evntsel, n))
				return -EINVAL;
			set_event(regs, ctr->evntsel, n);
		}
		regs->mmcr2 &= ~(MMCR2_ALL >> (n * MMCR2_SHIFT));
		regs->mmcr2 |= modes_of(ctr->evntsel) >> (n * MMCR2_SHIFT);
		control->kernel |= !(ctr->evntsel & EVENT_NOT_KERNEL);
	}
	return set_shared(regs, &shared);
}

/* ---- registers ---------------------------------------------------------- */

static __always_inline void set_mmcr0(struct pmu_cpu *cpu, u64 mmcr0)
{
	if (cpu->mmcr0 == mmcr0)
		return;
	cpu->mmcr0 = mmcr0;
	perfctr_write_mmcr0(mmcr0);
	perfctr_sync();
}

/* As set_mmcr0(), but the hardware may have changed the register since. */
static void force_mmcr0(struct pmu_cpu *cpu, u64 mmcr0)
{
	cpu->mmcr0 = mmcr0;
	perfctr_write_mmcr0(mmcr0);
	perfctr_sync();
}

/* Load a control into registers that hold another one. */
static noinline void write_control(struct pmu_cpu *cpu, const struct perfctr_cpu_state *state)
{
	const struct perfctr_cpu_regs *regs = &state->control.regs;

	/* Without isolation they may run for another control. */
	set_mmcr0(cpu, MMCR0_STOPPED | MMCR0_NO_READS);
	perfctr_write_mmcr1(regs->mmcr1);
	perfctr_write_mmcr2(regs->mmcr2);
	/* Only POWER10 has it: elsewhere both are 0. */
	if (cpu->mmcr3 != regs->mmcr3) {
		cpu->mmcr3 = regs->mmcr3;
		perfctr_write_mmcr3(cpu->mmcr3);
	}
	perfctr_sync();
	cpu->id = state->id;
}

static void close_user(struct pmu_cpu *cpu)
{
	WRITE_ONCE(cpu->own.reader, NULL);
	set_mmcr0(cpu, cpu->mmcr0 | MMCR0_NO_READS);
}

/* ---- i-mode ------------------------------------------------------------- */

/*
 * Handle the interrupt.  An overflow leaves the addresses of an instruction and of data, of
 * the kernel perhaps, where user mode can read them.  On POWER10 PMCCEXT would close these
 * registers; whether it leaves the counters open is not known.
 *
 * The interrupt may have interrupted a change of MMCR0.  The write that follows then enables
 * it again, and the counter's top bit is still set: the hardware stops the counters at once,
 * and that interrupt finds nothing armed.  The suspend that follows the report writes MMCR0
 * whatever it seems to hold.
 */
static void power8_overflow(struct pt_regs *regs)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);
	struct perfctr_cpu_state *armed = cpu->armed;

	perfctr_clear_addresses();
	if (!armed) {
		/* The overflow has been found already, or is of no state: end its cause. */
		perfctr_write_mmcr0(perfctr_read_mmcr0() & ~(u64)(MMCR0_PMXE | MMCR0_PMAO));
		return;
	}
	if (!have_overflowed(armed)) {
		/* The resume has not started them yet, or does it now. */
		perfctr_write_mmcr0(cpu->mmcr0);
		return;
	}
	WRITE_ONCE(cpu->armed, NULL);
	force_mmcr0(cpu, MMCR0_STOPPED | (cpu->mmcr0 & MMCR0_NO_READS));
	/* If only an a-mode counter has wrapped, the handler finds none, and starts it anew. */
	perfctr_overflowed(armed, find_place(armed, regs));
}

/*
 * Resume a state with i-mode counters.  The a-mode counters start from zero, also without
 * isolation, and those of others are cleared: the interrupt is for a counter of any kind.
 *
 * @reads: the value of PMCC.
 */
static noinline void resume_with_ictrs(struct pmu_cpu *cpu, struct perfctr_cpu_state *state,
				       u32 cstatus, u64 reads)
{
	unsigned int n;

	force_mmcr0(cpu, MMCR0_STOPPED | reads);
	for (n = 0; n < PERFCTR_NR_PMCS; n++)
		perfctr_write_pmc(n, 0);
	if (!begin_with_ictrs(state, cstatus, &cpu->idle))
		return;
	WRITE_ONCE(cpu->armed, state);
	perfctr_sync();	/* the counters have been loaded */
	force_mmcr0(cpu, MMCR0_COUNTING | MMCR0_INTERRUPT | reads);
}

/* ---- suspend, resume, sample -------------------------------------------- */

static void power8_open_held(void)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);

	if (perfctr_may_read(&cpu->own.reader))
		set_mmcr0(cpu, (cpu->mmcr0 & ~MMCR0_NO_READS) | MMCR0_READS);
}

static noinline void suspend_without_counters(struct perfctr_cpu_state *state)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);

	if (cpu->own.reader)
		close_user(cpu);
	perfctr_generic_suspend(state);
}

static void power8_suspend(struct perfctr_cpu_state *state)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);
	unsigned int nrctrs = VPERFCTR_CSTATUS_NRCTRS(state->cstatus);

	if (!nrctrs) {
		suspend_without_counters(state);
		return;
	}
	WRITE_ONCE(cpu->own.reader, NULL);
	if (unlikely(perfctr_has_ictrs(state))) {
		nrctrs = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
		WRITE_ONCE(cpu->armed, NULL);
		force_mmcr0(cpu, MMCR0_STOPPED | MMCR0_NO_READS);
		/* The interrupt of an overflow may still be on its way. */
		perfctr_clear_addresses();
	} else {
		set_mmcr0(cpu, MMCR0_NO_READS | (perfctr_isolate ? MMCR0_STOPPED : MMCR0_COUNTING));
	}
	end_ctrs(state, nrctrs, &cpu->idle);
}

static void power8_resume(struct perfctr_cpu_state *state)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);
	u32 cstatus = state->cstatus | VPERFCTR_CSTATUS_RUNNING;
	u64 mmcr0 = MMCR0_COUNTING | MMCR0_NO_READS;

	/* `ready` is 0 on a CPU that is not prepared. */
	if (unlikely(!(cstatus & cpu->own.ready)) && !perfctr_may_use_counters(state))
		return;
	if (perfctr_may_read(&cpu->own.reader)) {
		cstatus |= VPERFCTR_CSTATUS_RDPMC;
		mmcr0 = MMCR0_COUNTING | MMCR0_READS;
	}
	if (cpu->id != state->id)
		write_control(cpu, state);
	if (unlikely(perfctr_has_ictrs(state))) {
		resume_with_ictrs(cpu, state, cstatus, mmcr0 & MMCR0_NO_READS);
		return;
	}
	begin_actrs(state, cstatus);
	set_mmcr0(cpu, mmcr0);
}

static noinline void sample_ictrs(struct perfctr_cpu_state *state)
{
	sample_with_ictrs(state, this_cpu_ptr(&pmu_cpu)->idle, power8_suspend, power8_resume);
}

static void power8_sample(struct perfctr_cpu_state *state)
{
	if (unlikely(perfctr_has_ictrs(state)))
		sample_ictrs(state);
	else
		sample_actrs(state);
}

/* ---- claiming and releasing a CPU --------------------------------------- */

/* Stop and clear all counters.  Nothing is known about the registers. */
static void clear_registers(struct pmu_cpu *cpu)
{
	unsigned int n;

	cpu->mmcr0 = MMCR0_STOPPED | MMCR0_NO_READS;
	perfctr_write_mmcr0(cpu->mmcr0);
	perfctr_clear_addresses();
	perfctr_sync();
	perfctr_write_mmcr1(0);
	perfctr_write_mmcr2(0);
	perfctr_write_mmcra(pmu.mmcra);
	cpu->mmcr3 = 0;
	if (is_power10())
		perfctr_write_mmcr3(cpu->mmcr3);
	for (n = 0; n < PERFCTR_NR_PMCS; n++)
		perfctr_write_pmc(n, 0);
	perfctr_sync();
	cpu->id = 0;
	WRITE_ONCE(cpu->own.reader, NULL);
	WRITE_ONCE(cpu->armed, NULL);
	cpu->idle = false;
}

static int power8_cpu_start(bool test)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);

	perfctr_set_used(true);
	/* Without an interrupt that is pending: there is no event of perf's that it could be of. */
	cpu->saved_mmcr0 = perfctr_read_mmcr0() & ~(u64)MMCR0_PMAO;
	cpu->saved_mmcr1 = perfctr_read_mmcr1();
	cpu->saved_mmcr2 = perfctr_read_mmcr2();
	cpu->saved_mmcra = perfctr_read_mmcra();
	if (is_power10())
		cpu->saved_mmcr3 = perfctr_read_mmcr3();
	clear_registers(cpu);
	cpu->own.ready = PERFCTR_READY;
	return 0;
}

static void power8_cpu_stop(void)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);

	cpu->own.ready = 0;
	clear_registers(cpu);
	perfctr_write_mmcr1(cpu->saved_mmcr1);
	perfctr_write_mmcr2(cpu->saved_mmcr2);
	perfctr_write_mmcra(cpu->saved_mmcra);
	if (is_power10())
		perfctr_write_mmcr3(cpu->saved_mmcr3);
	/* perf has no event, so its counters were stopped. */
	perfctr_write_mmcr0(cpu->saved_mmcr0 | MMCR0_FC);
	perfctr_sync();
	perfctr_set_used(false);
}

static void power8_cpu_forget(void)
{
	clear_registers(this_cpu_ptr(&pmu_cpu));
}

static struct perfctr_own_cpu *power8_own_cpu(unsigned int cpu)
{
	return &per_cpu_ptr(&pmu_cpu, cpu)->own;
}

static void power8_close_user(void)
{
	close_user(this_cpu_ptr(&pmu_cpu));
}

static int power8_reserve(void)
{
	return perfctr_powerpc_perf_reserve(power8_overflow);
}

const struct perfctr_driver perfctr_powerpc_power8 = {
	.probe		= power8_probe,
	PERFCTR_POWERPC_PERF,
	.check_control	= power8_check_control,
	.ops.suspend	= power8_suspend,
	.ops.resume	= power8_resume,
	.ops.sample	= power8_sample,
	.accepts	= power8_accepts,
	.perf_reserves	= true,
	.tells_refusals	= true,
	.reserve	= power8_reserve,
	.cpu_start	= power8_cpu_start,
	.cpu_stop	= power8_cpu_stop,
	.cpu_forget	= power8_cpu_forget,
	.own_cpu	= power8_own_cpu,
	.open_held	= power8_open_held,
	.close_user	= power8_close_user,
};
