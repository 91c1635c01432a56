// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU extension of the SBI: the counters of the RISC-V Privileged Architecture, which
 * only the firmware can write, start and stop.  There are cycle, instret and up to 29
 * counters of events, hpmcounter3 to 31.
 *
 * With the extension Sscofpmf, counters of events can leave out modes, and interrupt when
 * they overflow.  Without it they count all modes, those of the firmware included, and so do
 * cycle and instret always.
 *
 * A call of the firmware takes hundreds of instructions, while reading a counter takes one.
 * So a-mode counters keep running when their owner is switched out, and sums are made of
 * differences.  Each CPU knows which event each counter has, and which of them run.  A resume
 * calls the firmware only for the counters where that differs from its control.
 *
 * Counters that keep running hold counts of other threads.  While a process could look at them
 * (perfctr_hides), each resume stops all counters, and starts its own from zero.
 *
 * i-mode counters always stop with their owner.  The page's `start` keeps their value
 * until they are resumed.
 *
 * With the parameter perf_counters, perf keeps cycle, instret and some hpmcounters, and uses them
 * at the same time: see riscv-pmu.c.  They are left out of the set `csrs` of struct sbi_pmu, so
 * that nothing below touches them.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "../common/sums.h"
#include "regs.h"
#include "riscv.h"

/* evntsel: the event's number of 20 bits, and Sscofpmf's bits of mhpmevent. */
#define EVENT_NUMBER		GENMASK_ULL(19, 0)
#define EVENT_UINH		BIT_ULL(60)	/* do not count in user mode */
#define EVENT_SINH		BIT_ULL(61)	/* do not count in kernel mode */

/* The number's upper four bits are a type, the others a code. */
#define EVENT_TYPE(number)	((number) >> 16)
#define EVENT_CODE(number)	((number) & 0xffff)

/* The data of a raw event: bits of mhpmevent. */
#define RAW_DATA		GENMASK_ULL(47, 0)

/* Caches, of which each has three operations with two results. */
#define NR_CACHE_EVENTS		(7 * 8)

#define NR_CSRS			32
#define FIRST_HPM		3
#define MAX_GENERAL		(NR_CSRS - FIRST_HPM)
#define CSR_OF_CYCLE		0
#define CSR_OF_INSTRET		2

/*
 * The bits in scounteren of the timer, which the kernel leaves open, and of all counters that it
 * may open to all.  perf opens others for its events only.
 */
#define SCOUNTEREN_TM		BIT(1)
#define SCOUNTEREN_ALL		(BIT(CSR_OF_CYCLE) | SCOUNTEREN_TM | BIT(CSR_OF_INSTRET))

/* The event of bit i of arch_events. */
static const u16 arch_events[] = {
	SBI_PMU_HW_CPU_CYCLES, SBI_PMU_HW_INSTRUCTIONS, SBI_PMU_HW_REF_CPU_CYCLES,
	SBI_PMU_HW_CACHE_REFERENCES, SBI_PMU_HW_CACHE_MISSES, SBI_PMU_HW_BRANCH_INSTRUCTIONS,
	SBI_PMU_HW_BRANCH_MISSES,
};

/* The counters of a CPU.  All CPUs that can be used have the same. */
struct sbi_pmu {
	u32 csrs;			/* bit n: the counter of CSR C00H + n exists, and is ours */
	u32 kept;			/* the same of those that perf keeps */
	u8 sbi[NR_CSRS];		/* its number for the firmware */
	u8 width[NR_CSRS];		/* its bits */
};

static struct sbi_pmu pmu __ro_after_init;

/* The counters above, by the firmware's numbers. */
static u64 all_counters __ro_after_init;

static bool has_sscofpmf __ro_after_init;

/* For each counter, the number of an event that it can count; 0: none is known. */
static u32 some_event[NR_CSRS] __ro_after_init;

/* The counters that can count an event, with the bits of `csrs`. */
static struct {
	u32 hardware[SBI_PMU_HW_GENERAL_MAX];
	u32 cache[NR_CACHE_EVENTS];
} events __ro_after_init;

/* The known state of a CPU's counters.  Sets of them have the firmware's numbers. */
struct sbi_cpu {
	u64 id;				/* of the control whose events the counters have; 0: none */
	u64 started;			/* counters that run */
	u64 configured;			/* counters that have an event */
	u64 clean;			/* configured counters that are stopped, and were cleared */
	struct perfctr_own_cpu own;
	u32 saved_scounteren;		/* scounteren of processes that are no readers */
	u32 opened_scounteren;		/* scounteren of the reader; 0: there is none */
	u32 readable;			/* bits of scounteren: counters without older counts */
	struct perfctr_cpu_state *running; /* the state resumed here, if it has counters */
	struct perfctr_cpu_state *armed; /* the same, if an interrupt may stop its counters */
	bool idle;			/* the running state's counters have not been started */
	struct {
		u64 evntsel;
		u64 aux;
	} event[NR_CSRS];
};

static DEFINE_PER_CPU(struct sbi_cpu, sbi_cpu);

/* Return the number of a counter's CSR. */
static unsigned int csr_of(u32 map)
{
	if (map & VPERFCTR_FIXED)
		return map & 1 ? CSR_OF_INSTRET : CSR_OF_CYCLE;
	return map + FIRST_HPM;
}

static u64 counter_bit(u32 map)
{
	return BIT_ULL(pmu.sbi[csr_of(map)]);
}

static __always_inline u64 read_counter(u32 map)
{
	return perfctr_read_csr(csr_of(map));
}

/* ---- detection ---------------------------------------------------------- */

/*
 * Describe this CPU.  The firmware may have numbers that are no counters, and counters of its
 * own.  Event counters that are not as wide as the first one are left out.
 */
static int read_pmu(struct sbi_pmu *found)
{
	long nr, info;
	unsigned int i, csr, width, first = 0;

	memset(found, 0, sizeof(*found));
	nr = perfctr_sbi_num_counters();
	if (nr <= 0)
		return -ENODEV;
	/* A set of counters has 64 bits. */
	for (i = 0; i < min(nr, 64L); i++) {
		info = perfctr_sbi_counter_info(i);
		csr = (info & 0xfff) - CSR_CYCLE;
		width = (info >> 12 & 0x3f) + 1;
		if (info < 0 || csr >= NR_CSRS || csr == 1 || width < 32)
			continue;
		if (csr >= FIRST_HPM) {
			first = first ?: width;
			if (width != first)
				continue;
		}
		found->csrs |= BIT(csr);
		found->sbi[csr] = i;
		found->width[csr] = width;
	}
	/* Both fixed counters are described by one width. */
	if (found->width[CSR_OF_CYCLE] != found->width[CSR_OF_INSTRET])
		found->csrs &= ~BIT(CSR_OF_INSTRET);
	return found->csrs ? 0 : -ENODEV;
}

/*
 * Let the firmware give one of these event counters to an event, as it does for perf.
 *
 * Return: its bit, or 0.
 */
static u32 firmware_choice(u32 csrs, u32 number)
{
	unsigned int csr;
	u64 sbi = 0;
	long chosen;

	for (csr = FIRST_HPM; csr < NR_CSRS; csr++) {
		if (csrs & BIT(csr))
			sbi |= BIT_ULL(pmu.sbi[csr]);
	}
	chosen = perfctr_sbi_choose(sbi, number);
	for (csr = FIRST_HPM; csr < NR_CSRS; csr++) {
		if ((csrs & BIT(csr)) && pmu.sbi[csr] == chosen)
			return BIT(csr);
	}
	return 0;
}

/*
 * Choose the counters that perf keeps: of event counters those that it uses now, and those that
 * the firmware gives first to cycles and instructions.  One at least is ours.  OpenSBI gives cycle
 * and instret to events of theirs when no other counter is free, whatever counters the call
 * names: so both are perf's, too.  Without Sscofpmf perf keeps none: it may have an interrupt that
 * only its driver knows.
 */
static u32 choose_kept(void)
{
	u32 events = pmu.csrs & ~(BIT(FIRST_HPM) - 1), kept = 0, one;
	unsigned int csr, n;
	u64 chosen = 0;

	if (!perfctr_perf_counters || !has_sscofpmf || !events || !perfctr_riscv_has_perf())
		return 0;
	n = min(perfctr_perf_counters, hweight32(events) - 1);
	for (csr = FIRST_HPM; csr < NR_CSRS && n; csr++) {
		if ((events & BIT(csr)) && perfctr_riscv_perf_uses(pmu.sbi[csr])) {
			kept |= BIT(csr);
			n--;
		}
	}
	for (; n; n--) {
		one = firmware_choice(events & ~kept, n & 1 ? SBI_PMU_HW_INSTRUCTIONS :
							      SBI_PMU_HW_CPU_CYCLES);
		if (one)
			chosen |= BIT_ULL(pmu.sbi[__ffs(one)]);
		else	/* it can give none of the rest to these events */
			one = BIT(__fls(events & ~kept));
		kept |= one;
	}
	perfctr_sbi_stop(chosen, SBI_PMU_STOP_FLAG_RESET);
	return kept | (pmu.csrs & ~events);
}

/* True if this counter of this CPU can count the event. */
static bool try_event(unsigned int csr, u32 number, u64 data)
{
	unsigned int sbi = pmu.sbi[csr];

	/* If perf uses it, that cannot be found out now.  Then resume does. */
	if (perfctr_riscv_perf_uses(sbi))
		return true;
	if (!perfctr_sbi_config(sbi, 0, number, data))
		return false;
	perfctr_sbi_stop(BIT_ULL(sbi), SBI_PMU_STOP_FLAG_RESET);
	return true;
}

struct try {
	u32 number;
	u32 csrs;	/* the counters that can count it */
	u32 unknown;	/* those of them that perf uses */
};

static void try_event_ipi(void *arg)
{
	struct try *try = arg;
	unsigned int csr;

	try->csrs = 0;
	try->unknown = 0;
	for (csr = FIRST_HPM; csr < NR_CSRS; csr++) {
		if (!(pmu.csrs & BIT(csr)) || !try_event(csr, try->number, 0))
			continue;
		try->csrs |= BIT(csr);
		if (perfctr_riscv_perf_uses(pmu.sbi[csr]))
			try->unknown |= BIT(csr);
	}
}

static u32 counters_of(unsigned int cpu, u32 number)
{
	struct try try = { .number = number };
	unsigned int csr;
	u32 known;

	smp_call_function_single(cpu, try_event_ipi, &try, 1);
	known = try.csrs;
	/*
	 * If the counter cannot count cycles or instructions, OpenSBI would clear cycle or instret
	 * in its place, which may be perf's.
	 */
	if (number == SBI_PMU_HW_CPU_CYCLES || number == SBI_PMU_HW_INSTRUCTIONS)
		known &= ~try.unknown;
	for (csr = FIRST_HPM; csr < NR_CSRS; csr++) {
		if ((known & BIT(csr)) && !some_event[csr])
			some_event[csr] = number;
	}
	return try.csrs;
}

static void probe_events(unsigned int cpu)
{
	unsigned int i;

	some_event[CSR_OF_CYCLE] = SBI_PMU_HW_CPU_CYCLES;
	some_event[CSR_OF_INSTRET] = SBI_PMU_HW_INSTRUCTIONS;
	for (i = 1; i < ARRAY_SIZE(events.hardware); i++)
		events.hardware[i] = counters_of(cpu, i);
	for (i = 0; i < ARRAY_SIZE(events.cache); i++) {
		/* The operations are read, write and prefetch: the number 3 has none. */
		if ((i >> 1 & 3) != 3)
			events.cache[i] = counters_of(cpu, SBI_PMU_EVENT_TYPE_CACHE << 16 | i);
	}
	for (i = 0; i < ARRAY_SIZE(arch_events); i++) {
		if (events.hardware[arch_events[i]])
			perfctr_cpu_info.arch_events |= BIT(i);
	}
	/*
	 * The fixed counters serve as well where no counter has modes.  OpenSBI has no others
	 * then.
	 */
	if (!has_sscofpmf)
		perfctr_cpu_info.arch_events |= perfctr_cpu_info.fixed_mask;
}

static int sbi_probe(void)
{
	struct vperfctr_info *info = &perfctr_cpu_info;
	unsigned int csr;
	int err;

	if (!perfctr_sbi_exists())
		return -ENODEV;
	err = read_pmu(&pmu);
	if (err)
		return err;
	has_sscofpmf = perfctr_has_sscofpmf();
	pmu.kept = choose_kept();
	pmu.csrs &= ~pmu.kept;
	perfctr_perf_keeps = pmu.kept;
	for (csr = 0; csr < NR_CSRS; csr++) {
		if (!(pmu.csrs & BIT(csr)))
			continue;
		all_counters |= BIT_ULL(pmu.sbi[csr]);
		if (csr >= FIRST_HPM)
			info->pmc_width = pmu.width[csr];
		else
			info->fixed_width = pmu.width[csr];
	}
	info->cpu_type = VPERFCTR_CPU_RISCV_SBI;
	info->features = VPERFCTR_FEATURE_RDPMC | VPERFCTR_FEATURE_RDTSC | VPERFCTR_FEATURE_CPUS |
			 (perfctr_isolate ? VPERFCTR_FEATURE_ISOLATE : 0);
	info->nrkinds = 1;
	info->tsc_khz = perfctr_tsc_khz();
	info->nrctrs = hweight32(pmu.csrs);	/* at most 31 */
	info->pmc_mask = pmu.csrs >> FIRST_HPM;
	info->fixed_mask = (pmu.csrs & BIT(CSR_OF_CYCLE) ? 1 : 0) |
			   (pmu.csrs & BIT(CSR_OF_INSTRET) ? 2 : 0);
	strscpy(info->cpu_name, has_sscofpmf ? "RISC-V SBI PMU, Sscofpmf" :
		"RISC-V SBI PMU, all modes together", sizeof(info->cpu_name));
	if (has_sscofpmf && info->pmc_mask) {
		info->features |= VPERFCTR_FEATURE_PCINT;
		/* The top bit is set until the overflow, so it must be set in the start value. */
		info->max_period = BIT_ULL(info->pmc_width - 1) - 1;
		info->min_period = 1;
	}
	perfctr_cpu_sampling_ns = perfctr_sampling_ns(info->pmc_mask ? info->pmc_width :
						      info->fixed_width);
	return 0;
}

/* True if a control that was checked against the probed CPU can run on this CPU. */
static bool sbi_is_alike(void)
{
	struct sbi_pmu here;

	if (read_pmu(&here))
		return false;
	here.kept = here.csrs & pmu.kept;
	here.csrs &= ~pmu.kept;
	return !memcmp(&here, &pmu, sizeof(pmu));
}

bool perfctr_riscv_perf_overflowed(void)
{
	u32 overflows;

	if (likely(!pmu.kept))
		return false;
	overflows = perfctr_read_overflows();
	/* In a virtual machine the bits may be hidden: then it may be anyone's. */
	return (!overflows || (overflows & ~pmu.csrs)) && perfctr_riscv_perf_uses_kept();
}

u64 perfctr_riscv_ours(void)
{
	return pmu.kept ? all_counters : ~0ULL;
}

/* ---- events --------------------------------------------------------------- */

static unsigned long config_flags(unsigned int csr, u64 evntsel)
{
	if (!has_sscofpmf || csr < FIRST_HPM)
		return 0;
	/* A guest's instructions are not the thread's. */
	return SBI_PMU_CFG_FLAG_SET_VUINH | SBI_PMU_CFG_FLAG_SET_VSINH |
	       (evntsel & EVENT_UINH ? SBI_PMU_CFG_FLAG_SET_UINH : 0) |
	       (evntsel & EVENT_SINH ? SBI_PMU_CFG_FLAG_SET_SINH : 0);
}

static u32 number_of(unsigned int csr, u64 evntsel)
{
	if (csr < FIRST_HPM)
		return csr == CSR_OF_INSTRET ? SBI_PMU_HW_INSTRUCTIONS : SBI_PMU_HW_CPU_CYCLES;
	return evntsel & EVENT_NUMBER;
}

/* Let a counter count an event.  Return: false if the firmware refuses. */
static bool config_event(unsigned int csr, u64 evntsel, u64 aux)
{
	return perfctr_sbi_config(pmu.sbi[csr], config_flags(csr, evntsel),
				  number_of(csr, evntsel), aux);
}

/* ---- control ------------------------------------------------------------ */

/*
 * True if this CPU's firmware knows a raw event.  A counter that has an event here gets it
 * back, and keeps its value: it only misses what this function executes.
 */
static bool raw_exists(unsigned int csr, u64 data)
{
	u64 bit = BIT_ULL(pmu.sbi[csr]);
	struct sbi_cpu *cpu;
	unsigned long flags;
	bool exists;

	local_irq_save(flags);
	cpu = this_cpu_ptr(&sbi_cpu);
	if (cpu->configured & bit)
		perfctr_sbi_stop(bit, SBI_PMU_STOP_FLAG_RESET);
	exists = try_event(csr, SBI_PMU_EVENT_RAW_IDX, data);
	if (cpu->configured & bit)
		config_event(csr, cpu->event[csr].evntsel, cpu->event[csr].aux);
	if (cpu->started & bit)
		perfctr_sbi_start(bit, 0, 0);
	local_irq_restore(flags);
	return exists;
}

/* Return the counters that can count an event other than a raw one. */
static u32 known_counters(u32 number)
{
	unsigned int code = EVENT_CODE(number);

	switch (EVENT_TYPE(number)) {
	case SBI_PMU_EVENT_TYPE_HW:
		if (code < ARRAY_SIZE(events.hardware))
			return events.hardware[array_index_nospec(code,
								  ARRAY_SIZE(events.hardware))];
		break;
	case SBI_PMU_EVENT_TYPE_CACHE:
		if (code < ARRAY_SIZE(events.cache))
			return events.cache[array_index_nospec(code, ARRAY_SIZE(events.cache))];
		break;
	}
	return 0;
}

/* cycle and instret have no modes to leave out, and no interrupt. */
static int check_fixed(const struct vperfctr_ctr *ctr, bool imode)
{
	if ((ctr->map & ~VPERFCTR_FIXED) > 1 || !(pmu.csrs & BIT(csr_of(ctr->map))))
		return -EINVAL;
	return ctr->evntsel || ctr->aux || imode ? -EINVAL : 0;
}

static int check_event(struct vperfctr_ctr *ctr)
{
	const u64 modes = EVENT_UINH | EVENT_SINH;
	u32 number = ctr->evntsel & EVENT_NUMBER;
	unsigned int csr;

	if (ctr->map >= MAX_GENERAL)
		return -EINVAL;
	ctr->map = array_index_nospec(ctr->map, MAX_GENERAL);
	csr = csr_of(ctr->map);
	if (!(pmu.csrs & BIT(csr)) || (ctr->evntsel & ~(EVENT_NUMBER | modes)))
		return -EINVAL;
	/* Without Sscofpmf a counter counts in all modes. */
	if ((ctr->evntsel & modes) == modes || (!has_sscofpmf && (ctr->evntsel & modes)))
		return -EINVAL;
	if (number == SBI_PMU_EVENT_RAW_IDX)
		return !(ctr->aux & ~RAW_DATA) && raw_exists(csr, ctr->aux) ? 0 : -EINVAL;
	return !ctr->aux && (known_counters(number) & BIT(csr)) ? 0 : -EINVAL;
}

static int sbi_check_control(struct perfctr_cpu_control *control)
{
	struct perfctr_cpu_regs *regs = &control->regs;
	unsigned int i;

	if (control->global[0] || control->global[1] || control->kind)
		return -EINVAL;
	control->kernel = false;
	control->alone = false;
	control->mask = ~0ULL;
	memset(regs, 0, sizeof(*regs));
	for (i = 0; i < perfctr_nrctrs(control); i++) {
		struct vperfctr_ctr *ctr = &control->ctr[i];
		bool imode = i >= control->nractrs;
		u64 bit;
		int err;

		if (!perfctr_is_valid_ireset(ctr->ireset, imode))
			return -EINVAL;
		err = ctr->map & VPERFCTR_FIXED ? check_fixed(ctr, imode) : check_event(ctr);
		if (err)
			return err;
		bit = counter_bit(ctr->map);
		if (regs->all & bit)
			return -EINVAL;
		regs->all |= bit;
		if (imode)
			regs->intr |= bit;
		/* A fixed counter has no bits in evntsel. */
		control->kernel |= !(ctr->evntsel & EVENT_SINH);
		control->mask &= perfctr_counter_mask(ctr->map);
	}
	return 0;
}

/* ---- counters ----------------------------------------------------------- */

static void stop_counters(struct sbi_cpu *cpu, u64 counters)
{
	counters &= cpu->started;
	if (!counters)
		return;
	perfctr_sbi_stop(counters, 0);
	cpu->started &= ~counters;
}

/* Let those counters continue that do not run. */
static void continue_counters(struct sbi_cpu *cpu, u64 counters)
{
	counters &= ~cpu->started;
	if (!counters)
		return;
	perfctr_sbi_start(counters, 0, 0);
	cpu->started |= counters;
	cpu->clean &= ~counters;
}

/*
 * Stop all counters, clear those that may hold anything, and start these.  The value of a
 * stopped counter cannot be changed: it is started for a moment.
 */
static void restart_counters(struct sbi_cpu *cpu, u64 counters, u64 except)
{
	u64 clear = cpu->configured & ~except & (counters | ~cpu->clean);

	stop_counters(cpu, ~0ULL);
	if (!clear)
		return;
	perfctr_sbi_start(clear, SBI_PMU_START_FLAG_SET_INIT_VALUE, 0);
	cpu->started = clear;
	cpu->clean &= ~clear;
	if (!(clear & ~counters))
		return;
	cpu->clean |= clear & ~counters;
	stop_counters(cpu, ~counters);
}

/* Let perf have its part of an interrupt that was pending, and was cleared. */
static void raise_again(bool pending)
{
	if (pending && perfctr_riscv_perf_overflowed())
		perfctr_raise_lcofi();
}

/* Clear the pending interrupt of our counters, but not that of perf's. */
static void clear_interrupt(void)
{
	raise_again(perfctr_clear_lcofi());
}

/* Let a counter count its event.  Return: false if the firmware refuses. */
static bool configure(struct sbi_cpu *cpu, const struct vperfctr_ctr *ctr)
{
	unsigned int csr = csr_of(ctr->map);
	u64 bit = BIT_ULL(pmu.sbi[csr]);

	if (cpu->configured & bit) {
		if (cpu->event[csr].evntsel == ctr->evntsel && cpu->event[csr].aux == ctr->aux)
			return true;
		perfctr_sbi_stop(bit, SBI_PMU_STOP_FLAG_RESET);
		cpu->started &= ~bit;
		cpu->configured &= ~bit;
	}
	if (!config_event(csr, ctr->evntsel, ctr->aux))
		return false;
	cpu->event[csr].evntsel = ctr->evntsel;
	cpu->event[csr].aux = ctr->aux;
	cpu->configured |= bit;
	cpu->clean &= ~bit;
	/* With isolation it is cleared before a reader is let in. */
	cpu->readable |= BIT(csr);
	return true;
}

/*
 * Stop all counters, let none have an event, and clear them.  Nothing is known about them.
 *
 * To be cleared, a counter must have an event.  With a general hardware event OpenSBI clears
 * it then.  With another one it must be started, and has counted a little when it is stopped.
 */
static void clear_registers(struct sbi_cpu *cpu)
{
	unsigned int csr;
	u64 others = 0;

	perfctr_sbi_stop(all_counters, SBI_PMU_STOP_FLAG_RESET);
	cpu->readable = 0;
	for (csr = 0; csr < NR_CSRS; csr++) {
		if (!(pmu.csrs & BIT(csr)) || !some_event[csr] ||
		    !perfctr_sbi_config(pmu.sbi[csr], SBI_PMU_CFG_FLAG_CLEAR_VALUE,
					some_event[csr], 0))
			continue;
		cpu->readable |= BIT(csr);
		if (EVENT_TYPE(some_event[csr]) != SBI_PMU_EVENT_TYPE_HW)
			others |= BIT_ULL(pmu.sbi[csr]);
	}
	if (others)
		perfctr_sbi_start(others, SBI_PMU_START_FLAG_SET_INIT_VALUE, 0);
	perfctr_sbi_stop(all_counters, SBI_PMU_STOP_FLAG_RESET);
	clear_interrupt();

	cpu->id = 0;
	cpu->started = 0;
	cpu->configured = 0;
	cpu->clean = 0;
	cpu->opened_scounteren = 0;
	WRITE_ONCE(cpu->own.reader, NULL);
	WRITE_ONCE(cpu->armed, NULL);
	WRITE_ONCE(cpu->running, NULL);
	cpu->idle = false;
}

/* Give the counters a control's events.  Return: false if the firmware refuses one. */
static noinline bool write_control(struct sbi_cpu *cpu, const struct perfctr_cpu_state *state)
{
	const struct perfctr_cpu_control *control = &state->control;
	unsigned int i;

	for (i = 0; i < perfctr_nrctrs(control); i++) {
		if (!configure(cpu, &control->ctr[i])) {
			/* A counter without an event may still hold a value. */
			clear_registers(cpu);
			return false;
		}
	}
	cpu->id = state->id;
	return true;
}

/* The bits of scounteren that show none of our counters, or that the kernel may open to all. */
static u32 not_ours(void)
{
	return SCOUNTEREN_ALL | pmu.kept;
}

/*
 * Not only its own counters: it may have the number of one that its last control had.
 *
 * The administrator may have changed the register since the last look, on all CPUs
 * (kernel.perf_user_access).
 */
static void open_user(struct sbi_cpu *cpu)
{
	if (!cpu->opened_scounteren)
		cpu->saved_scounteren = perfctr_read_scounteren() & not_ours();
	cpu->opened_scounteren = cpu->saved_scounteren | cpu->readable;
	perfctr_write_scounteren(cpu->opened_scounteren);
}

/*
 * Take back what open_user() has opened.  If the administrator has set the whole register
 * meanwhile, leave it.  perf opens one bit more as a process maps an event of its own, and
 * closes it.
 */
static void close_user(struct sbi_cpu *cpu)
{
	u32 now = perfctr_read_scounteren();

	WRITE_ONCE(cpu->own.reader, NULL);
	if (now == cpu->opened_scounteren)
		now = cpu->saved_scounteren;
	else if (now & ~not_ours())
		now &= cpu->saved_scounteren | ~cpu->opened_scounteren;
	cpu->opened_scounteren = 0;
	perfctr_write_scounteren(now & not_ours());
}

/* ---- i-mode ------------------------------------------------------------- */

static bool have_overflowed(const struct perfctr_cpu_state *state)
{
	return perfctr_have_overflowed(state, read_counter);
}

/* True if an i-mode counter had already overflowed when the state was suspended. */
static noinline bool is_overflow_left(const struct perfctr_cpu_state *state)
{
	const struct vperfctr_page *page = state->page;
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);

	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		if (!(page->ctr[i].start & perfctr_sign(page->ctr[i].map)))
			return true;
	}
	return false;
}

/* Stop the counters of a state, of which one has overflowed, and report it. */
static void report_overflow(struct sbi_cpu *cpu, struct perfctr_cpu_state *state,
			    struct pt_regs *regs)
{
	WRITE_ONCE(cpu->armed, NULL);
	stop_counters(cpu, state->control.regs.all);
	clear_interrupt();
	perfctr_overflowed(state, regs);
}

/*
 * Let an interrupt stop the counters.  The interrupt of an earlier overflow may have
 * arrived already, and had no effect.  So look for overflows, and report one here.
 */
static noinline void arm_counters(struct sbi_cpu *cpu, struct perfctr_cpu_state *state)
{
	WRITE_ONCE(cpu->armed, state);
	if (unlikely(have_overflowed(state)))
		report_overflow(cpu, state, NULL);
}

/*
 * Handle the interrupt.  It is pending until it is cleared here.  A counter raises it again
 * only when it has been started anew: until then its overflow bit is set.
 */
static bool sbi_overflow(struct pt_regs *regs)
{
	struct sbi_cpu *cpu = this_cpu_ptr(&sbi_cpu);
	struct perfctr_cpu_state *armed = cpu->armed;

	clear_interrupt();
	if (armed && have_overflowed(armed))
		report_overflow(cpu, armed, regs);
	return armed;
}

static noinline void suspend_ictrs(const struct perfctr_cpu_state *state)
{
	perfctr_suspend_ictrs(state, read_counter);
	clear_interrupt();
}

/*
 * Start an i-mode counter with a value.  While the interrupt is pending, OpenSBI's start would
 * not let the next one come.  Each event of perf's may overflow once before that start, but not
 * again before it is served.  Where a firmware leaves the overflow bit set in any case, the
 * counter is not started for ever.
 *
 * Return: true if the interrupt was pending.
 */
static bool start_ictr(u32 map, u64 value)
{
	unsigned int tries = NR_CSRS;
	bool pending = perfctr_clear_lcofi();

	perfctr_sbi_start(counter_bit(map), SBI_PMU_START_FLAG_SET_INIT_VALUE, value);
	while (unlikely(pmu.kept) && perfctr_read_overflows() & BIT(csr_of(map)) && tries--) {
		perfctr_sbi_stop(counter_bit(map), 0);
		value = read_counter(map) & perfctr_counter_mask(map);
		pending |= perfctr_clear_lcofi();
		/* It has really overflowed: arm_counters() finds that. */
		if (!(value & perfctr_sign(map)))
			break;
		perfctr_sbi_start(counter_bit(map), SBI_PMU_START_FLAG_SET_INIT_VALUE, value);
	}
	return pending;
}

/* Start the i-mode counters from where they stopped. */
static noinline void resume_ictrs(struct sbi_cpu *cpu, const struct perfctr_cpu_state *state)
{
	const struct vperfctr_page *page = state->page;
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	u64 intr = state->control.regs.intr;
	bool pending = false;

	stop_counters(cpu, intr);
	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		const struct vperfctr_page_ctr *ctr = &page->ctr[i];

		pending |= start_ictr(ctr->map, ctr->start & perfctr_counter_mask(ctr->map));
	}
	raise_again(pending);
	cpu->started |= intr;
	cpu->clean &= ~intr;
}

/* ---- suspend, resume, sample -------------------------------------------- */

static void sbi_open_held(void)
{
	struct sbi_cpu *cpu = this_cpu_ptr(&sbi_cpu);

	if (!perfctr_may_read(&cpu->own.reader))
		return;
	if (READ_ONCE(perfctr_hides))
		restart_counters(cpu, 0, 0);
	open_user(cpu);
}

static noinline void suspend_without_counters(struct perfctr_cpu_state *state)
{
	struct sbi_cpu *cpu = this_cpu_ptr(&sbi_cpu);

	if (cpu->own.reader)
		close_user(cpu);
	perfctr_generic_suspend(state);
}

static void sbi_suspend(struct perfctr_cpu_state *state)
{
	struct sbi_cpu *cpu = this_cpu_ptr(&sbi_cpu);
	struct vperfctr_page *page = state->page;
	unsigned int i, nractrs = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	bool ictrs = perfctr_has_ictrs(state);

	if (!VPERFCTR_CSTATUS_NRCTRS(state->cstatus)) {
		suspend_without_counters(state);
		return;
	}
	if (unlikely(ictrs)) {
		WRITE_ONCE(cpu->armed, NULL);
		stop_counters(cpu, state->control.regs.intr);
	}
	if (cpu->own.reader)
		close_user(cpu);

	perfctr_page_begin(page);
	if (state->cstatus & VPERFCTR_CSTATUS_TSC)
		page->tsc_sum += perfctr_rdtsc() - page->tsc_start;
	for (i = 0; i < nractrs; i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];

		if (likely(!cpu->idle))
			ctr->sum += (read_counter(ctr->map) - ctr->start) & page->mask;
		ctr->start = 0;
	}
	if (unlikely(ictrs) && !cpu->idle)
		suspend_ictrs(state);
	cpu->idle = false;
	perfctr_page_end(page);
	WRITE_ONCE(cpu->running, NULL);
}

static void sbi_resume(struct perfctr_cpu_state *state)
{
	struct sbi_cpu *cpu = this_cpu_ptr(&sbi_cpu);
	struct vperfctr_page *page = state->page;
	unsigned int i, nractrs = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	u64 all = state->control.regs.all, intr = state->control.regs.intr;
	u32 cstatus = state->cstatus | VPERFCTR_CSTATUS_RUNNING;
	bool hide;

	/* `ready` is 0 on a CPU that is not prepared. */
	if (unlikely(!(cstatus & cpu->own.ready)) && !perfctr_may_use_counters(state))
		return;
	if (cpu->id != state->id && !write_control(cpu, state)) {
		perfctr_refused(state);
		return;
	}
	WRITE_ONCE(cpu->running, state);
	smp_mb();	/* pairs with perfctr_mm_added(): it finds the state, or it is seen */
	hide = READ_ONCE(perfctr_hides);
	if (unlikely(perfctr_may_read(&cpu->own.reader)))
		cstatus |= VPERFCTR_CSTATUS_RDPMC;

	perfctr_page_begin(page);
	page->cstatus = cstatus;
	page->tsc_start = perfctr_rdtsc();
	/* Otherwise they start from zero, as suspend has left `start`. */
	if (!hide) {
		for (i = 0; i < nractrs; i++)
			page->ctr[i].start = read_counter(page->ctr[i].map);
	}
	perfctr_page_end(page);

	/* Such an overflow is handled before the owner returns to user mode. */
	if (unlikely(perfctr_has_ictrs(state)) && is_overflow_left(state)) {
		cpu->idle = true;
		if (hide)
			restart_counters(cpu, 0, 0);
		if (cstatus & VPERFCTR_CSTATUS_RDPMC)
			open_user(cpu);
		perfctr_overflowed(state, NULL);
		return;
	}
	if (unlikely(hide))
		restart_counters(cpu, all & ~intr, intr);
	else
		continue_counters(cpu, all & ~intr);
	if (unlikely(perfctr_has_ictrs(state)))
		resume_ictrs(cpu, state);
	if (cstatus & VPERFCTR_CSTATUS_RDPMC)
		open_user(cpu);
	if (unlikely(perfctr_has_ictrs(state)))
		arm_counters(cpu, state);
}

static void sbi_sample(struct perfctr_cpu_state *state)
{
	struct sbi_cpu *cpu = this_cpu_ptr(&sbi_cpu);

	perfctr_sample_ctrs(state, cpu->idle ? 0 : VPERFCTR_CSTATUS_NRCTRS(state->cstatus),
			    state->page->mask, read_counter);
	if (unlikely(perfctr_has_ictrs(state)) && !cpu->idle)
		arm_counters(cpu, state);
}

/* ---- claiming and releasing a CPU --------------------------------------- */

static int sbi_cpu_start(bool test)
{
	struct sbi_cpu *cpu = this_cpu_ptr(&sbi_cpu);

	/* The other bits of scounteren would show what our counters count. */
	cpu->saved_scounteren = perfctr_read_scounteren() & not_ours();
	perfctr_write_scounteren(cpu->saved_scounteren);
	clear_registers(cpu);
	cpu->own.ready = PERFCTR_READY;
	return 0;
}

static void sbi_cpu_stop(void)
{
	struct sbi_cpu *cpu = this_cpu_ptr(&sbi_cpu);

	cpu->own.ready = 0;
	if (cpu->own.reader)
		close_user(cpu);
	clear_registers(cpu);
}

static void sbi_cpu_forget(void)
{
	struct sbi_cpu *cpu = this_cpu_ptr(&sbi_cpu);

	clear_registers(cpu);
	/* perf has set up its own bits. */
	perfctr_write_scounteren((cpu->saved_scounteren & SCOUNTEREN_ALL & ~pmu.kept) |
				 (perfctr_read_scounteren() & pmu.kept));
}

/* The next claim clears the rest. */
static void sbi_cpu_lose(unsigned int cpu)
{
	per_cpu_ptr(&sbi_cpu, cpu)->configured = 0;
}

static struct perfctr_own_cpu *sbi_own_cpu(unsigned int cpu)
{
	return &per_cpu_ptr(&sbi_cpu, cpu)->own;
}

static void sbi_close_user(void)
{
	close_user(this_cpu_ptr(&sbi_cpu));
}

static bool counts(int cpu, void *unused)
{
	return READ_ONCE(per_cpu_ptr(&sbi_cpu, cpu)->running);
}

static void hide_here(void *unused)
{
	struct perfctr_cpu_state *state = this_cpu_ptr(&sbi_cpu)->running;

	if (!state)
		return;
	sbi_suspend(state);
	sbi_resume(state);
	perfctr_tell_restarted(state);
}

void perfctr_hide_counts(void)
{
	on_each_cpu_cond(counts, hide_here, NULL, 1);
}

/*
 * True if user mode may read counters here: the administrator may have opened cycle and instret
 * to all (kernel.perf_user_access).
 */
static bool sbi_user_reads(void)
{
	return perfctr_read_scounteren() & ~(SCOUNTEREN_TM | pmu.kept);
}

static int sbi_begin(unsigned int cpu)
{
	probe_events(cpu);
	return perfctr_claim_begin(cpu);
}

static void sbi_end(void)
{
	perfctr_hide_end();
	perfctr_claim_end();
}

static const struct perfctr_driver perfctr_riscv_sbi = {
	.probe		= sbi_probe,
	.begin		= sbi_begin,
	.end		= sbi_end,
	.check_control	= sbi_check_control,
	.ops.suspend	= sbi_suspend,
	.ops.resume	= sbi_resume,
	.ops.sample	= sbi_sample,
	.is_alike	= sbi_is_alike,
	PERFCTR_CLAIM,
	.settle		= perfctr_perf_settle,
	.cpu_start	= sbi_cpu_start,
	.cpu_stop	= sbi_cpu_stop,
	.cpu_forget	= sbi_cpu_forget,
	.cpu_lose	= sbi_cpu_lose,
	.interrupt	= sbi_overflow,
	.own_cpu	= sbi_own_cpu,
	.open_held	= sbi_open_held,
	.close_user	= sbi_close_user,
};

static const struct perfctr_driver *const drivers[] = {
	&perfctr_riscv_sbi,
	&perfctr_no_counters,
};

const struct perfctr_arch perfctr_arch = {
	.drivers	= drivers,
	.nr_drivers	= ARRAY_SIZE(drivers),
	.ready		= perfctr_claim_ready,
	.user_reads	= sbi_user_reads,
};
