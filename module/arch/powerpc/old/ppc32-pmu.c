// SPDX-License-Identifier: GPL-2.0
/*
 * The performance monitor of 32-bit PowerPCs, from the 604 to the 7448: MPC7450 RISC
 * Microprocessor Family Reference Manual, MPC750 RISC Microprocessor Family User's Manual and
 * PowerPC 604e RISC Microprocessor User's Manual, each "Performance Monitor".
 *
 * There are two, four or six counters of 32 bits.  Each has a selector of its own events.
 * MMCR0 has the selectors of PMC1 and PMC2, MMCR1 the others.  MMCR0 also starts and stops all
 * counters together, and has the modes in which none counts.  So all counters of a control
 * have the same modes.
 *
 * User mode can read the counters always, or on the 604 never.  With isolation, suspend
 * stops all counters and clears those used.  So resume knows their start values, and no thread
 * can see the counts of another.  Without isolation they keep running, and the sums are made of
 * differences.
 *
 * Each CPU knows what the registers hold, and the identity of the control that they were
 * loaded for.  Resuming that control again writes MMCR0 only.
 *
 * While a state with i-mode counters runs, a counter whose top bit is set raises an interrupt,
 * and the hardware stops all counters then.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "counters.h"
#include "powerpc.h"
#include "regs.h"

/* evntsel: the selector, and the modes, which must be those of the other counters. */
#define EVENT_NOT_USER		BIT_ULL(62)
#define EVENT_NOT_KERNEL	BIT_ULL(63)
#define EVENT_MODES		(EVENT_NOT_USER | EVENT_NOT_KERNEL)

/*
 * The bits of global[0]: the modes in which no counter counts, and the threshold of events.
 * Linux marks no process, so that FCM0 would let nothing count.
 */
#define MMCR0_THRESHOLD		0x003f0000
#define MMCR0_MODES		(MMCR0_FCS | MMCR0_FCP | MMCR0_FCM1)
#define GLOBAL0_BITS		((u32)(MMCR0_MODES | MMCR0_THRESHOLD))

/* The bit of global[1], where there is a MMCR2: the threshold is multiplied by 32, not 2. */
#define MMCR2_THRESHMULT	0x80000000U

/* PMC1CE and PMCnCE: a counter whose top bit is set stops all of them, and interrupts. */
#define MMCR0_NEGATIVE		0xc000U
#define MMCR0_INTERRUPT		((u32)(MMCR0_PMXE | MMCR0_FCECE) | MMCR0_NEGATIVE)

/* The selectors of PMC1 to PMC6: bits, and the place in their register. */
static const struct {
	u8 width, shift;
} selectors[PERFCTR_NR_PMCS] = {
	{ 7, 6 }, { 6, 0 },				/* in MMCR0 */
	{ 5, 27 }, { 5, 22 }, { 5, 17 }, { 6, 11 },	/* in MMCR1 */
};

#define NR_IN_MMCR0	2

static __always_inline u32 read_counter(u32 map)
{
	return perfctr_read_pmc(map);
}

static __always_inline void write_counter(u32 map, u32 value)
{
	perfctr_write_pmc(map, value);
}

/*
 * A processor, with what its kind has.  The first revision that can have i-mode counters is
 * a PVR; 0: none can.  On others an interrupt can be lost, or the place that the decrementer's
 * interrupt returns to.
 */
static const struct processor {
	u16 version, mask;	/* the upper half of the PVR */
	u8 nrctrs;
	bool reads;		/* user mode can read counters */
	bool mmcr2;
	u32 imode_from;
	const char *name;
} processors[] = {
	{ 0x0004, 0xffff, 2, false, false, 0, "PowerPC 604" },
	{ 0x0009, 0xffff, 4, false, false, 0, "PowerPC 604e" },
	{ 0x000a, 0xffff, 4, false, false, 0, "PowerPC 604ev" },
	{ 0x0008, 0xffff, 4, true, false, 0, "PowerPC 750" },
	{ 0x7000, 0xfffe, 4, true, false, 0x70000203, "PowerPC 750FX" },
	{ 0x7002, 0xffff, 4, true, false, 0x70020000, "PowerPC 750GX" },
	{ 0x000c, 0xffff, 4, true, true, 0, "PowerPC 7400" },
	{ 0x800c, 0xffff, 4, true, true, 0x800c1103, "PowerPC 7410" },
	{ 0x8000, 0xffff, 6, true, true, 0x80000000, "PowerPC 7450" },
	{ 0x8001, 0xffff, 6, true, true, 0x80010000, "PowerPC 7455" },
	{ 0x8002, 0xffff, 6, true, true, 0x80020000, "PowerPC 7457" },
	{ 0x8003, 0xffff, 6, true, true, 0x80030000, "PowerPC 7447A" },
	{ 0x8004, 0xffff, 6, true, true, 0x80040000, "PowerPC 7448" },
};

static struct {
	const struct processor *processor;
	u32 reads;		/* VPERFCTR_CSTATUS_RDPMC or 0 */
} pmu __ro_after_init;

/* The contents of a CPU's registers. */
struct ppc32_cpu {
	u64 id;				/* of the loaded control; 0: none */
	u32 mmcr0;
	struct perfctr_cpu_state *armed; /* the running state whose overflow an interrupt reports */
	bool idle;			/* the running state's counters have not been started */
	struct perfctr_own_cpu own;
	u32 saved_mmcr0, saved_mmcr1, saved_mmcr2;
};

static DEFINE_PER_CPU(struct ppc32_cpu, ppc32_cpu);

/* ---- detection ---------------------------------------------------------- */

static const struct processor *find_processor(void)
{
	u32 version = perfctr_processor();
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(processors); i++) {
		if (processors[i].version == (version & processors[i].mask))
			return &processors[i];
	}
	return NULL;
}

static int ppc32_probe(void)
{
	struct vperfctr_info *info = &perfctr_cpu_info;
	const struct processor *processor = find_processor();

	if (!processor)
		return -ENODEV;
	pmu.processor = processor;
	pmu.reads = processor->reads ? VPERFCTR_CSTATUS_RDPMC : 0;

	info->cpu_type = VPERFCTR_CPU_PPC32;
	/* Where user mode can read counters, all processes would see what they count for a CPU. */
	info->features = VPERFCTR_FEATURE_RDTSC |
			 (processor->reads && perfctr_isolate ? 0 : VPERFCTR_FEATURE_CPUS) |
			 (processor->reads ? VPERFCTR_FEATURE_RDPMC : 0) |
			 (perfctr_isolate ? VPERFCTR_FEATURE_ISOLATE : 0);
	info->nrkinds = 1;
	info->tsc_khz = perfctr_tsc_khz();
	info->arch_events = VPERFCTR_EVENT_CYCLES | VPERFCTR_EVENT_INSTRUCTIONS;
	info->nrctrs = processor->nrctrs;
	info->pmc_width = 32;
	if (processor->imode_from && perfctr_revision() >= processor->imode_from) {
		info->features |= VPERFCTR_FEATURE_PCINT;
		info->max_period = BIT_ULL(31) - 1;
		info->min_period = 1;
	}
	info->pmc_mask = BIT_ULL(processor->nrctrs) - 1;
	strscpy(info->cpu_name, processor->name, sizeof(info->cpu_name));
	perfctr_cpu_sampling_ns = perfctr_sampling_ns(32);
	return 0;
}

/* True if a control that was checked against the probed CPU can run on this CPU. */
static bool ppc32_accepts(unsigned int cpu)
{
	return find_processor() == pmu.processor;
}

/* ---- control ------------------------------------------------------------ */

static bool is_valid_global(const u64 *global)
{
	return !(global[0] & ~(u64)GLOBAL0_BITS) &&
	       !(global[1] & ~(u64)(pmu.processor->mmcr2 ? MMCR2_THRESHMULT : 0));
}

/* True if counters with this MMCR0 count in some mode. */
static bool is_any_mode_left(u32 mmcr0)
{
	return (mmcr0 & (MMCR0_FCS | MMCR0_FCP)) != (MMCR0_FCS | MMCR0_FCP);
}

/* Return the bits of MMCR0 for the modes of an evntsel. */
static u32 modes_of(u64 evntsel)
{
	return (evntsel & EVENT_NOT_KERNEL ? MMCR0_FCS : 0) |
	       (evntsel & EVENT_NOT_USER ? MMCR0_FCP : 0);
}

static int check_counter(struct vperfctr_ctr *ctr)
{
	u64 selector = ctr->evntsel & ~EVENT_MODES;

	if (ctr->aux || ctr->map >= pmu.processor->nrctrs)
		return -EINVAL;
	ctr->map = array_index_nospec(ctr->map, PERFCTR_NR_PMCS);
	/* Selector 0 counts nothing. */
	return !selector || selector >> selectors[ctr->map].width ? -EINVAL : 0;
}

static int ppc32_check_control(struct perfctr_cpu_control *control)
{
	struct perfctr_cpu_regs *regs = &control->regs;
	unsigned int i, used = 0;

	if (!is_valid_global(control->global) || control->kind)
		return -EINVAL;
	if (!perfctr_nrctrs(control) && (control->global[0] || control->global[1]))
		return -EINVAL;
	control->alone = false;
	control->mask = U32_MAX;
	regs->mmcr0 = control->global[0];
	regs->mmcr1 = 0;
	regs->mmcr2 = control->global[1];
	for (i = 0; i < perfctr_nrctrs(control); i++) {
		struct vperfctr_ctr *ctr = &control->ctr[i];
		u64 selector = ctr->evntsel & ~EVENT_MODES;

		if (!perfctr_is_valid_ireset(ctr->ireset, i >= control->nractrs) ||
		    check_counter(ctr))
			return -EINVAL;
		if (used & BIT(ctr->map) ||
		    (ctr->evntsel & EVENT_MODES) != (control->ctr[0].evntsel & EVENT_MODES))
			return -EINVAL;
		used |= BIT(ctr->map);
		if (ctr->map < NR_IN_MMCR0)
			regs->mmcr0 |= selector << selectors[ctr->map].shift;
		else
			regs->mmcr1 |= selector << selectors[ctr->map].shift;
		regs->mmcr0 |= modes_of(ctr->evntsel);
	}
	control->kernel = perfctr_nrctrs(control) && !(regs->mmcr0 & MMCR0_FCS);
	return is_any_mode_left(regs->mmcr0) ? 0 : -EINVAL;
}

/* ---- registers ---------------------------------------------------------- */

/* As set_mmcr0(), but the hardware may have changed the register since. */
static void force_mmcr0(struct ppc32_cpu *cpu, u32 mmcr0)
{
	cpu->mmcr0 = mmcr0;
	perfctr_write_mmcr0(mmcr0);
	perfctr_sync();
}

static __always_inline void set_mmcr0(struct ppc32_cpu *cpu, u32 mmcr0)
{
	if (cpu->mmcr0 != mmcr0)
		force_mmcr0(cpu, mmcr0);
}

/* The 604 has no MMCR1, and only the 7400 and later have MMCR2. */
static void write_others(u32 mmcr1, u32 mmcr2)
{
	if (pmu.processor->nrctrs > NR_IN_MMCR0)
		perfctr_write_mmcr1(mmcr1);
	if (pmu.processor->mmcr2)
		perfctr_write_mmcr2(mmcr2);
}

/* Load a control into registers that hold another one. */
static noinline void write_control(struct ppc32_cpu *cpu, const struct perfctr_cpu_state *state)
{
	/* Without isolation they may run for another control. */
	set_mmcr0(cpu, state->control.regs.mmcr0 | MMCR0_FC);
	write_others(state->control.regs.mmcr1, state->control.regs.mmcr2);
	perfctr_sync();
	cpu->id = state->id;
}

/* ---- i-mode ------------------------------------------------------------- */

/*
 * Handle the interrupt.  It comes only while interrupts are enabled, so never in the middle of
 * a suspend or a resume.  If these have stopped the counters, nothing is armed.
 */
static void ppc32_overflow(struct pt_regs *regs)
{
	struct ppc32_cpu *cpu = this_cpu_ptr(&ppc32_cpu);
	struct perfctr_cpu_state *armed = cpu->armed;

	if (!armed) {
		/* The overflow has been found already, or is of no state: end its cause. */
		perfctr_write_mmcr0(perfctr_read_mmcr0() & ~MMCR0_INTERRUPT);
		return;
	}
	if (!have_overflowed(armed)) {
		/* The overflow was that of the state that ran before. */
		perfctr_write_mmcr0(cpu->mmcr0);
		return;
	}
	WRITE_ONCE(cpu->armed, NULL);
	force_mmcr0(cpu, (cpu->mmcr0 & ~MMCR0_INTERRUPT) | MMCR0_FC);
	/* If only an a-mode counter has wrapped, the handler finds none, and starts it anew. */
	perfctr_overflowed(armed, find_place(armed, regs));
}

static void clear_counters(void)
{
	unsigned int n;

	for (n = 0; n < pmu.processor->nrctrs; n++)
		perfctr_write_pmc(n, 0);
}

/*
 * Resume a state with i-mode counters.  The a-mode counters start from zero, also without
 * isolation, and those of others are cleared: the interrupt is for a counter of any kind.
 */
static noinline void resume_with_ictrs(struct ppc32_cpu *cpu, struct perfctr_cpu_state *state,
				       u32 cstatus)
{
	u32 mmcr0 = state->control.regs.mmcr0;

	force_mmcr0(cpu, mmcr0 | MMCR0_FC);
	clear_counters();
	if (!begin_with_ictrs(state, cstatus, &cpu->idle))
		return;
	WRITE_ONCE(cpu->armed, state);
	perfctr_sync();	/* the counters have been loaded */
	force_mmcr0(cpu, mmcr0 | MMCR0_INTERRUPT);
}

/* ---- suspend, resume, sample -------------------------------------------- */

static void ppc32_suspend(struct perfctr_cpu_state *state)
{
	struct ppc32_cpu *cpu = this_cpu_ptr(&ppc32_cpu);
	unsigned int nrctrs = VPERFCTR_CSTATUS_NRCTRS(state->cstatus);

	if (!nrctrs) {
		perfctr_generic_suspend(state);
		return;
	}
	if (unlikely(perfctr_has_ictrs(state))) {
		nrctrs = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
		WRITE_ONCE(cpu->armed, NULL);
		force_mmcr0(cpu, state->control.regs.mmcr0 | MMCR0_FC);
	} else if (perfctr_isolate) {
		set_mmcr0(cpu, state->control.regs.mmcr0 | MMCR0_FC);
	}
	end_ctrs(state, nrctrs, &cpu->idle);
}

static void ppc32_resume(struct perfctr_cpu_state *state)
{
	struct ppc32_cpu *cpu = this_cpu_ptr(&ppc32_cpu);
	u32 cstatus = state->cstatus | VPERFCTR_CSTATUS_RUNNING | pmu.reads;

	/* `ready` is 0 on a CPU that is not prepared. */
	if (unlikely(!(cstatus & cpu->own.ready)) && !perfctr_may_use_counters(state))
		return;
	if (cpu->id != state->id)
		write_control(cpu, state);
	if (unlikely(perfctr_has_ictrs(state))) {
		resume_with_ictrs(cpu, state, cstatus);
		return;
	}
	begin_actrs(state, cstatus);
	set_mmcr0(cpu, state->control.regs.mmcr0);
}

static noinline void sample_ictrs(struct perfctr_cpu_state *state)
{
	sample_with_ictrs(state, this_cpu_ptr(&ppc32_cpu)->idle, ppc32_suspend, ppc32_resume);
}

static void ppc32_sample(struct perfctr_cpu_state *state)
{
	if (unlikely(perfctr_has_ictrs(state)))
		sample_ictrs(state);
	else
		sample_actrs(state);
}

/* ---- claiming and releasing a CPU --------------------------------------- */

/* Stop and clear all counters.  Nothing is known about the registers. */
static void clear_registers(struct ppc32_cpu *cpu)
{
	force_mmcr0(cpu, MMCR0_FC);
	write_others(0, 0);
	clear_counters();
	perfctr_sync();
	cpu->id = 0;
	WRITE_ONCE(cpu->armed, NULL);
	cpu->idle = false;
}

static int ppc32_cpu_start(bool test)
{
	struct ppc32_cpu *cpu = this_cpu_ptr(&ppc32_cpu);

	cpu->saved_mmcr0 = perfctr_read_mmcr0();
	if (pmu.processor->nrctrs > NR_IN_MMCR0)
		cpu->saved_mmcr1 = perfctr_read_mmcr1();
	if (pmu.processor->mmcr2)
		cpu->saved_mmcr2 = perfctr_read_mmcr2();
	clear_registers(cpu);
	cpu->own.ready = PERFCTR_READY;
	return 0;
}

static void ppc32_cpu_stop(void)
{
	struct ppc32_cpu *cpu = this_cpu_ptr(&ppc32_cpu);

	cpu->own.ready = 0;
	clear_registers(cpu);
	write_others(cpu->saved_mmcr1, cpu->saved_mmcr2);
	/* perf has no event, so its counters were stopped. */
	perfctr_write_mmcr0(cpu->saved_mmcr0 | MMCR0_FC);
	perfctr_sync();
}

static void ppc32_cpu_forget(void)
{
	clear_registers(this_cpu_ptr(&ppc32_cpu));
}

static struct perfctr_own_cpu *ppc32_own_cpu(unsigned int cpu)
{
	return &per_cpu_ptr(&ppc32_cpu, cpu)->own;
}

static int ppc32_reserve(void)
{
	return perfctr_powerpc_perf_reserve(ppc32_overflow);
}

const struct perfctr_driver perfctr_powerpc_ppc32 = {
	.probe		= ppc32_probe,
	PERFCTR_POWERPC_PERF,
	.check_control	= ppc32_check_control,
	.ops.suspend	= ppc32_suspend,
	.ops.resume	= ppc32_resume,
	.ops.sample	= ppc32_sample,
	.accepts	= ppc32_accepts,
	.perf_reserves	= true,
	.tells_refusals	= true,
	.reserve	= ppc32_reserve,
	.cpu_start	= ppc32_cpu_start,
	.cpu_stop	= ppc32_cpu_stop,
	.cpu_forget	= ppc32_cpu_forget,
	.own_cpu	= ppc32_own_cpu,
};
