// SPDX-License-Identifier: GPL-2.0
/*
 * PMUv3: the performance monitors of Armv8-A and later, described in the Arm
 * Architecture Reference Manual, "The Performance Monitors Extension".  There are up
 * to 31 event counters and a cycle counter of 64 bits.  Event counters have 32 bits,
 * or 64 from PMUv3p5 on.
 *
 * Writes to these registers are cheap compared with x86, but each needs a
 * synchronization (perfctr_sync()) before software can rely on it.  Each CPU caches
 * the values of its control registers and the identity of the control that they were
 * loaded for.  Resuming that control again writes none of them.
 *
 * While a process could look at counters (perfctr_hides), suspend stops and clears
 * all of them, with one write to each of two registers.  So resume knows their start values,
 * and no thread can see the counts of another.  Otherwise they keep running, and the sums are
 * made of differences.
 *
 * i-mode counters always stop with their owner.  The page's `start` keeps their value
 * until they are resumed.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/string.h>

#include "../common/sums.h"
#include "arm64.h"
#include "regs.h"
#include "shared.h"

/* PMCR_EL0 */
#define PMCR_E			BIT_ULL(0)	/* enable all counters */
#define PMCR_P			BIT_ULL(1)	/* clear the event counters */
#define PMCR_C			BIT_ULL(2)	/* clear the cycle counter */
#define PMCR_LC			BIT_ULL(6)	/* the cycle counter overflows at 64 bits */
#define PMCR_LP			BIT_ULL(7)	/* event counters overflow at 64 bits */
#define PMCR_N(pmcr)		(((pmcr) >> 11) & 0x1f)
#define PMCR_KEPT		0xffULL		/* fields that are writable on all versions */

/* PMEVTYPERn_EL0, PMCCFILTR_EL0 */
#define TYPE_P			BIT_ULL(31)	/* do not count in EL1 */
#define TYPE_U			BIT_ULL(30)	/* do not count in EL0 */
#define TYPE_NSH		BIT_ULL(27)	/* count in EL2 */

/* PMUSERENR_EL0: access all; read counters, and increment those of the event SW_INCR. */
#define USER_EN			BIT_ULL(0)
#define USER_SW			BIT_ULL(1)
#define USER_CR			BIT_ULL(2)
#define USER_ER			BIT_ULL(3)

/* ID_AA64DFR0_EL1.PMUVer */
#define PMUVER_NONE		0x0
#define PMUVER_V3P1		0x4	/* events have 16 bits, 4000h to 403fh are common */
#define PMUVER_V3P5		0x6	/* 64-bit event counters */
#define PMUVER_V3P9		0x9	/* perhaps a counter of instructions */
#define PMUVER_OWN		0xf	/* not PMUv3 */

/* NVIDIA Olympus, as perfctr_midr() returns it. */
#define MIDR_OLYMPUS		0x4e0f0100

/*
 * With SVE, events such as FP_SCALE_OPS_SPEC count each operation on each element, up to 128 a
 * cycle: eight times as many as perfctr_sampling_ns() assumes.
 */
#define SVE_RATE		8

#define EVENT_CHAIN		0x001e
#define CYCLE_BIT		31	/* in masks of counters */
#define INSTR_BIT		32	/* PMICNTR_EL0 is not used; without it the bit is ignored */
#define MAX_EVENT_CTRS		31
#define EVENT_CTRS		GENMASK_ULL(MAX_EVENT_CTRS - 1, 0)

/* The event of bit i of arch_events.  Those of caches and branch misses are perf's. */
static const u16 arch_events[] = {
	0x0011, 0x0008, 0x4004, 0x0004, 0x0003, 0x0021, 0x0010,
};

/* The minor version of PMUv3p1 and later, by PMUVer. */
static const u8 minor[] = { [4] = 1, [5] = 4, [6] = 5, [7] = 7, [8] = 8, [9] = 9 };

/* The properties of one kind of CPU. */
struct pmu_kind {
	unsigned int nr;		/* event counters */
	unsigned int version;
	u64 events;			/* PMCEID: bit i is event i */
	u64 extended_events;		/* event 4000h + i */
	u64 type_bits;			/* bits of PMEVTYPERn_EL0 that users may set */
	u32 midr;
	bool has_cycles;		/* the cycle counter is ours, and counts CPU_CYCLES */
	u64 kept;			/* the counters that perf keeps: see shared.c */
};

/* By the kind's number. */
static struct pmu_kind pmu_kind[PERFCTR_MAX_KINDS];

static struct {
	u64 pmcr;			/* its value while the counters are claimed */
	bool is_wide;			/* event counters have 64 bits */
	bool vhe;
} pmu __ro_after_init;

/* The contents of a CPU's registers. */
struct pmu_cpu {
	u64 id;				/* of the loaded control; 0: none */
	u64 enabled;			/* PMCNTENSET_EL0 */
	u64 intr;			/* PMINTENSET_EL1 */
	struct perfctr_own_cpu own;
	u64 user;			/* PMUSERENR_EL0 of a thread that reads counters */
	bool left_open;			/* see leave_open() */
	u64 clear;			/* PMCR_EL0, to clear our counters; 0: perf has events */
	bool dirty;			/* counters may hold counts; else they are stopped, and 0 */
	struct perfctr_cpu_state *running; /* the state resumed here, if it has counters */
	struct perfctr_cpu_state *armed; /* the same, if an interrupt may stop its counters */
	u64 saved_pmcr;
	u64 type[MAX_EVENT_CTRS + 1];	/* by counter_bit() */
};

static DEFINE_PER_CPU(struct pmu_cpu, pmu_cpu);

static bool is_cycles(u32 map)
{
	return map == VPERFCTR_FIXED;
}

static unsigned int counter_bit(u32 map)
{
	return is_cycles(map) ? CYCLE_BIT : map;
}

static __always_inline u64 read_counter(u32 map)
{
	return perfctr_read_counter(map);
}

/* ---- detection ---------------------------------------------------------- */

/* True if the processor reports that it does not have this event. */
static bool event_absent(const struct pmu_kind *kind, u16 event)
{
	if (event < 0x40)
		return !(kind->events & BIT_ULL(event));
	if (event >= 0x4000 && event < 0x4040)
		return !(kind->extended_events & BIT_ULL(event - 0x4000));
	return false;
}

/*
 * True if the cycle counter stands still while the CPU waits (WFI).  That of one thread of a core
 * goes on while another one executes, and on Olympus; the event CPU_CYCLES does not.  Linux counts
 * cycles with an event counter there; see avoid_pmccntr in its arm_pmu.c and arm_pmuv3.c.
 */
static bool counts_cycles(const struct pmu_kind *kind)
{
	return !perfctr_has_smt() && kind->midr != MIDR_OLYMPUS;
}

/*
 * True if the registers hold what is written.  In guests of some hypervisors that report PMUv3
 * and do not offer it, they read as zero and ignore writes: counts would be zero.  The kernel has
 * no driver there, so the counter is not in use, and may be written.  It may be counting.
 */
static bool registers_hold(void)
{
	const u64 value = BIT_ULL(40);
	u64 now;

	if (perfctr_arm64_has_perf())
		return true;
	perfctr_write_counter(VPERFCTR_FIXED, value);
	perfctr_sync();
	now = perfctr_read_counter(VPERFCTR_FIXED);
	perfctr_write_counter(VPERFCTR_FIXED, 0);
	perfctr_sync();
	return now >= value && now - value < value;
}

/* Describe this CPU.  Return: 0, or -ENODEV if it has no PMUv3. */
static int read_kind(struct pmu_kind *kind)
{
	memset(kind, 0, sizeof(*kind));
	kind->version = perfctr_pmuver();
	if (kind->version == PMUVER_NONE || kind->version == PMUVER_OWN || !registers_hold())
		return -ENODEV;
	kind->nr = PMCR_N(perfctr_read_pmcr());
	perfctr_read_ceid(&kind->events, &kind->extended_events);
	if (kind->version < PMUVER_V3P1)
		kind->extended_events = 0;
	kind->type_bits = TYPE_P | TYPE_U | (kind->version < PMUVER_V3P1 ? 0x3ff : 0xffff);
	kind->midr = perfctr_midr();
	kind->has_cycles = counts_cycles(kind);
	/* From this version on, perf's driver looks for an event in each counter that is in use. */
	if (kind->version < PMUVER_V3P9)
		kind->kept = perfctr_arm64_kept(kind->nr, kind->has_cycles);
	if (kind->kept)
		kind->has_cycles = false;
	return 0;
}

static bool has_kept_events(const struct pmu_kind *kind)
{
	return kind->kept & EVENT_CTRS;
}

u64 perfctr_arm64_kept_by_perf(void)
{
	struct pmu_kind here;

	return read_kind(&here) ? 0 : here.kept;
}

static bool is_wide(const struct pmu_kind *kind)
{
	return kind->version >= PMUVER_V3P5;
}

static void describe_kind(struct vperfctr_info *info, const struct pmu_kind *kind)
{
	unsigned int i;

	info->pmc_mask = (BIT_ULL(kind->nr) - 1) & ~kind->kept;
	info->nrctrs = hweight64(info->pmc_mask) + kind->has_cycles;
	info->fixed_mask = kind->has_cycles;
	info->fixed_width = info->fixed_mask ? 64 : 0;
	info->watchdog_pmc = 0;
	info->watchdog_fixed = 0;
	if (perfctr_arm64_keeps_watchdog() && kind->kept) {
		/* See perfctr_arm64_kept(): without avoid_pmccntr, it has the cycle counter. */
		info->watchdog_pmc = kind->kept & EVENT_CTRS;
		info->watchdog_fixed = !info->watchdog_pmc;
	}
	info->arch_events = 0;
	for (i = 0; i < ARRAY_SIZE(arch_events); i++) {
		if (!event_absent(kind, arch_events[i]))
			info->arch_events |= BIT(i);
	}
	if (kind->version < ARRAY_SIZE(minor) && minor[kind->version])
		snprintf(info->cpu_name, sizeof(info->cpu_name), "Arm PMUv3p%u",
			 minor[kind->version]);
	else
		strscpy(info->cpu_name, "Arm PMUv3", sizeof(info->cpu_name));
}

static int pmuv3_probe(void)
{
	struct vperfctr_info *info = &perfctr_cpu_info;
	int err;

	perfctr_arm64_find_watchdog();
	err = read_kind(&pmu_kind[0]);
	if (err)
		return err;
	pmu.is_wide = is_wide(&pmu_kind[0]);
	pmu.pmcr = PMCR_E | PMCR_LC | (pmu.is_wide ? PMCR_LP : 0);
	pmu.vhe = perfctr_is_vhe();

	describe_kind(info, &pmu_kind[0]);
	perfctr_perf_keeps = pmu_kind[0].kept && !perfctr_arm64_keeps_watchdog();
	info->cpu_type = VPERFCTR_CPU_ARM_PMUV3;
	info->features = VPERFCTR_FEATURE_RDPMC | VPERFCTR_FEATURE_RDTSC | VPERFCTR_FEATURE_PCINT |
			 VPERFCTR_FEATURE_CPUS | (perfctr_isolate ? VPERFCTR_FEATURE_ISOLATE : 0);
	/*
	 * User mode that can read one event counter can read all, those of perf's included.  The
	 * cycle counter can be closed by itself.
	 */
	if (has_kept_events(&pmu_kind[0]) && perfctr_isolate)
		info->features &= ~VPERFCTR_FEATURE_RDPMC;
	info->nrkinds = 1;
	info->tsc_khz = perfctr_tsc_khz();
	info->pmc_width = pmu.is_wide ? 64 : 32;
	/* The top bit is set until the overflow, so it must be set in the start value. */
	info->max_period = BIT_ULL(info->pmc_width - 1) - 1;
	info->min_period = 1;
	perfctr_cpu_sampling_ns = perfctr_sampling_ns(info->pmc_width);
	if (perfctr_has_sve())
		perfctr_cpu_sampling_ns /= SVE_RATE;
	return 0;
}

/* True if a control that was checked against the probed CPU can run on this CPU. */
static bool pmuv3_is_alike(void)
{
	struct pmu_kind here;

	return !read_kind(&here) && !memcmp(&here, &pmu_kind[0], sizeof(here));
}

/*
 * read_kind() where the first kind is known.  The width of a fixed counter is that of the first
 * kind, whatever the CPU: see perfctr_sign().  So if that has no cycle counter, this one's is not
 * used.
 */
static int read_other_kind(struct pmu_kind *kind)
{
	int err = read_kind(kind);

	if (!err && !perfctr_cpu_info.fixed_mask)
		kind->has_cycles = false;
	return err;
}

/* True if the two describe CPUs of one kind: what else differs makes them too different. */
static bool is_same_name(const struct vperfctr_info *a, const struct vperfctr_info *b)
{
	return a->core_type == b->core_type && !strcmp(a->cpu_name, b->cpu_name);
}

/*
 * Kinds may differ in the number of counters and in their events, but not in the width: a
 * thread that moves between CPUs has one state.  As for perf, CPUs with different drivers
 * are of different kinds.
 */
static int pmuv3_probe_kind(struct vperfctr_info *info)
{
	const struct vperfctr_info *known;
	struct pmu_kind here;
	unsigned int kind;
	size_t len;

	if (read_other_kind(&here) || is_wide(&here) != pmu.is_wide)
		return -ENODEV;
	/* User mode reads event counters, of which perf keeps one on this kind only. */
	if (perfctr_isolate && has_kept_events(&here) &&
	    (perfctr_cpu_info.features & VPERFCTR_FEATURE_RDPMC))
		return -ENODEV;
	describe_kind(info, &here);
	info->core_type = here.midr;
	len = strlen(info->cpu_name);
	if (*perfctr_arm64_perf_name())
		snprintf(info->cpu_name + len, sizeof(info->cpu_name) - len, ", %s",
			 perfctr_arm64_perf_name());
	for (kind = 0; (known = perfctr_cpu_kind(kind)); kind++) {
		if (is_same_name(info, known) && memcmp(&here, &pmu_kind[kind], sizeof(here)))
			return -ENODEV;
	}
	return 0;
}

static void pmuv3_new_kind(unsigned int kind)
{
	read_other_kind(&pmu_kind[kind]);
}

/* ---- control ------------------------------------------------------------ */

static int check_cycles(const struct pmu_kind *kind, const struct vperfctr_ctr *ctr)
{
	return !kind->has_cycles || ctr->evntsel & ~(TYPE_P | TYPE_U) ? -EINVAL : 0;
}

static int check_event(const struct pmu_kind *kind, struct vperfctr_ctr *ctr)
{
	u16 event = ctr->evntsel;

	if (ctr->map >= kind->nr || (kind->kept & BIT_ULL(ctr->map)))
		return -EINVAL;
	ctr->map = array_index_nospec(ctr->map, MAX_EVENT_CTRS);
	/* CHAIN counts overflows of another counter.  Sums have 64 bits without it. */
	if ((ctr->evntsel & ~kind->type_bits) || event == EVENT_CHAIN ||
	    event_absent(kind, event))
		return -EINVAL;
	return 0;
}

static int pmuv3_check_control(struct perfctr_cpu_control *control)
{
	struct perfctr_cpu_regs *regs = &control->regs;
	const struct pmu_kind *kind;
	unsigned int i;

	if (!perfctr_cpu_kind(control->kind) || control->global[0] || control->global[1])
		return -EINVAL;
	kind = &pmu_kind[array_index_nospec(control->kind, PERFCTR_MAX_KINDS)];

	control->kernel = false;
	control->alone = false;
	control->mask = ~0ULL;
	memset(regs, 0, sizeof(*regs));
	for (i = 0; i < perfctr_nrctrs(control); i++) {
		struct vperfctr_ctr *ctr = &control->ctr[i];
		bool imode = i >= control->nractrs;
		u64 bit;
		int err;

		if (ctr->aux || !perfctr_is_valid_ireset(ctr->ireset, imode))
			return -EINVAL;
		err = is_cycles(ctr->map) ? check_cycles(kind, ctr) : check_event(kind, ctr);
		if (err)
			return err;
		bit = BIT_ULL(counter_bit(ctr->map));
		if ((regs->enable & bit) || (ctr->evntsel & (TYPE_P | TYPE_U)) == (TYPE_P | TYPE_U))
			return -EINVAL;
		regs->enable |= bit;
		if (imode)
			regs->intr |= bit;
		control->kernel |= !(ctr->evntsel & TYPE_P);
		control->mask &= perfctr_counter_mask(ctr->map);
	}
	return 0;
}

/* ---- registers ---------------------------------------------------------- */

/* With VHE, kernel mode is EL2, and EL1 belongs to guests. */
static u64 type_of(const struct vperfctr_ctr *ctr)
{
	if (pmu.vhe && !(ctr->evntsel & TYPE_P))
		return ctr->evntsel | TYPE_P | TYPE_NSH;
	return ctr->evntsel;
}

static void set_enabled(struct pmu_cpu *cpu, u64 enabled)
{
	u64 old = cpu->enabled;

	if (old & ~enabled)
		perfctr_disable(old & ~enabled);
	/* Store it first: an interrupt, perhaps an NMI, must know which ones to stop. */
	WRITE_ONCE(cpu->enabled, enabled);
	barrier();
	if (enabled & ~old)
		perfctr_enable(enabled & ~old);
}

/* Load a control into registers that hold another one.  Write only differences. */
static noinline void write_control(struct pmu_cpu *cpu, const struct perfctr_cpu_state *state)
{
	const struct perfctr_cpu_control *control = &state->control;
	unsigned int i, nrctrs = perfctr_nrctrs(control);
	u64 intr = control->regs.intr;

	for (i = 0; i < nrctrs; i++) {
		const struct vperfctr_ctr *ctr = &control->ctr[i];
		u64 *type = &cpu->type[counter_bit(ctr->map)];

		if (*type == type_of(ctr))
			continue;
		*type = type_of(ctr);
		perfctr_write_type(ctr->map, *type);
	}
	if (cpu->intr & ~intr)
		perfctr_disable_intr(cpu->intr & ~intr);
	if (intr & ~cpu->intr) {
		/* Counters in a-mode may have left overflow flags. */
		perfctr_clear_overflow(intr);
		perfctr_enable_intr(intr & ~cpu->intr);
	}
	cpu->intr = intr;
	cpu->id = state->id;
	perfctr_sync();
}

/* Clear our counters singly, as one write would clear perf's, too.  Ours are event counters. */
static noinline void clear_singly(struct pmu_cpu *cpu)
{
	u64 left = perfctr_kind_here()->pmc_mask;

	/* Values that perf has left are not needed any more. */
	if (perfctr_arm64_kept_idle()) {
		cpu->clear = pmu.pmcr | PMCR_P | PMCR_C;
		perfctr_write_pmcr(cpu->clear);
		return;
	}
	for (; left; left &= left - 1)
		perfctr_write_counter(__ffs(left), 0);
}

static void clear_counters(struct pmu_cpu *cpu)
{
	u64 clear = cpu->clear;

	if (likely(clear))
		perfctr_write_pmcr(clear);
	else
		clear_singly(cpu);
}

void perfctr_arm64_perf_comes(void)
{
	if (perfctr_arm64_kept_here() & EVENT_CTRS)
		this_cpu_ptr(&pmu_cpu)->clear = 0;
}

/* True if a state's counters must stop when its owner is switched out. */
static bool must_stop(const struct perfctr_cpu_state *state)
{
	return READ_ONCE(perfctr_hides) || (state->special & PERFCTR_STOPS);
}

/*
 * True if the register is KVM's, for the guest whose vCPU is loaded.  From Linux 6.4 on KVM
 * exchanges it as it loads a vCPU, if the kernel runs in EL2; before, and otherwise, as
 * it enters the guest.  Nothing else sets EN.  See kvm_set_pmuserenr(), which is not exported.
 */
bool perfctr_arm64_user_is_kvms(void)
{
	return pmu.vhe && (perfctr_read_user() & USER_EN);
}

/*
 * Access makes PMSELR_EL0 writable too, so reset it: it must not pass data from one thread to
 * another.  KVM relies on it not to select the cycle counter, 31.
 */
static void write_user(u64 value)
{
	perfctr_write_user(value);
	perfctr_write_selr(0);
}

/*
 * Let the thread read counters in user mode.  Return: false if it must stay closed, as KVM will
 * restore what it has saved.
 */
static bool open_user(struct pmu_cpu *cpu)
{
	if (perfctr_arm64_user_is_kvms()) {
		WRITE_ONCE(cpu->own.reader, NULL);
		return false;
	}
	write_user(cpu->user);
	return true;
}

/*
 * The register is KVM's.  As KVM puts the vCPU, it will restore what it has saved, and counters may
 * be open then.  Its thread may have no state, and is never suspended.  So until that has been
 * closed, each resume here tries it, a worker does it soon, and no counter shows others' counts.
 *
 * Context: interrupts disabled, the run-queue lock perhaps held.  Not NMI: an NMI suspends only a
 * state whose thread it has interrupted in user mode, where no vCPU is loaded.
 */
static void leave_open(struct pmu_cpu *cpu)
{
	cpu->left_open = true;
	cpu->own.ready = 0;
	perfctr_arm64_left_open();
}

/* No vCPU is loaded, unless the thread of one runs here. */
bool perfctr_arm64_close_left(void)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);

	if (cpu->left_open && !perfctr_arm64_user_is_kvms()) {
		write_user(0);
		cpu->left_open = false;
	}
	return !cpu->left_open;
}

/* Resume on a CPU that is not ready, as it is not claimed, or as the register was left open. */
static noinline bool may_use_counters(struct pmu_cpu *cpu, struct perfctr_cpu_state *state)
{
	if (!perfctr_may_use_counters(state))
		return false;
	if (perfctr_arm64_close_left())
		cpu->own.ready = PERFCTR_READY;
	return true;
}

/* The reader of a register that was left open, if the state goes on: its suspend closes it. */
#define NOBODY			((struct mm_struct *)1)

/*
 * KVM's notifier of a switch runs before ours, as it is the younger one.  So a suspend finds
 * our value.
 */
static void close_user(struct pmu_cpu *cpu)
{
	if (perfctr_arm64_user_is_kvms()) {
		WRITE_ONCE(cpu->own.reader, NOBODY);
		leave_open(cpu);
		return;
	}
	WRITE_ONCE(cpu->own.reader, NULL);
	write_user(0);
}

/* ---- i-mode ------------------------------------------------------------- */

/* From here on an interrupt, which may be an NMI, must not stop the counters. */
static void disarm_counters(struct pmu_cpu *cpu)
{
	WRITE_ONCE(cpu->armed, NULL);
	barrier();
}

static bool have_overflowed(const struct perfctr_cpu_state *state)
{
	return perfctr_have_overflowed(state, read_counter);
}

static void stop_counters(struct pmu_cpu *cpu)
{
	set_enabled(cpu, 0);
	perfctr_sync();
}

/*
 * Let an interrupt stop the counters.  The interrupt of an earlier overflow may have
 * arrived already, and had no effect.  So look for overflows, and report one here.
 *
 * Return: false if there was one; then the counters must not be started.
 */
static noinline bool arm_counters(struct pmu_cpu *cpu, struct perfctr_cpu_state *state)
{
	WRITE_ONCE(cpu->armed, state);
	barrier();
	if (likely(!have_overflowed(state)))
		return true;
	disarm_counters(cpu);
	stop_counters(cpu);
	perfctr_clear_overflow(state->control.regs.intr);
	perfctr_overflowed(state, NULL);
	return false;
}

/* True if the running state's counters may be stopped, and one of them has overflowed. */
static bool must_handle(const struct pmu_cpu *cpu, const struct perfctr_cpu_state *running)
{
	return READ_ONCE(cpu->armed) && have_overflowed(running);
}

/*
 * Handle the interrupt.  It stays asserted until the overflow flag is cleared, even if the
 * counter was reloaded.  It may be a shared one (SPI) of the interrupt controller, whose handler
 * the kernel gives up if it claims nearly none.
 *
 * A counter of the kernel may overflow here.  So if none had, look once more after its flag, too,
 * has been cleared.
 */
static bool pmuv3_overflow(struct pt_regs *regs)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);
	struct perfctr_cpu_state *running = READ_ONCE(cpu->running);
	bool found;

	if (!running || !perfctr_has_ictrs(running)) {
		perfctr_clear_overflow(cpu->intr);
		return false;
	}
	found = must_handle(cpu, running);
	if (!found) {
		perfctr_clear_overflow(cpu->intr);
		perfctr_sync();
		found = must_handle(cpu, running);
	}
	if (found) {
		disarm_counters(cpu);
		stop_counters(cpu);
		perfctr_clear_overflow(cpu->intr);
		perfctr_overflowed(running, regs);
	}
	return true;
}

static noinline void suspend_ictrs(const struct perfctr_cpu_state *state)
{
	perfctr_suspend_ictrs(state, read_counter);
	perfctr_clear_overflow(state->control.regs.intr);
}

/*
 * Load the i-mode counters.  They must be stopped meanwhile, so resume does this
 * first.
 *
 * Return: true if one has already overflowed, and no counter may be started.
 */
static noinline bool resume_ictrs(struct pmu_cpu *cpu, const struct perfctr_cpu_state *state)
{
	const struct vperfctr_page *page = state->page;
	unsigned int i = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	bool overflow = false;

	/* Counters of other threads may still run. */
	stop_counters(cpu);
	for (; i < VPERFCTR_CSTATUS_NRCTRS(state->cstatus); i++) {
		const struct vperfctr_page_ctr *ctr = &page->ctr[i];

		perfctr_write_counter(ctr->map, ctr->start & perfctr_counter_mask(ctr->map));
		overflow |= !(ctr->start & perfctr_sign(ctr->map));
	}
	perfctr_sync();
	return overflow;
}

/* ---- suspend, resume, sample -------------------------------------------- */

/* Stop and clear what earlier threads have left, before the owner of a state can read it. */
static void clear_leftovers(struct pmu_cpu *cpu)
{
	if (!cpu->dirty)
		return;
	stop_counters(cpu);
	clear_counters(cpu);
	perfctr_sync();
	cpu->dirty = false;
}

static void pmuv3_open_held(void)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);

	if (!perfctr_may_read(&cpu->own.reader))
		return;
	smp_rmb();	/* the right was given after that was set: no state is here to be hidden */
	if (READ_ONCE(perfctr_hides))
		clear_leftovers(cpu);
	open_user(cpu);
}

static noinline void suspend_without_counters(struct perfctr_cpu_state *state)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);

	if (cpu->own.reader)
		close_user(cpu);
	perfctr_generic_suspend(state);
}

static void pmuv3_suspend(struct perfctr_cpu_state *state)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);
	struct vperfctr_page *page = state->page;
	unsigned int i, nrctrs = VPERFCTR_CSTATUS_NRCTRS(state->cstatus);
	unsigned int nractrs = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	bool hides = READ_ONCE(perfctr_hides);
	bool ictrs = perfctr_has_ictrs(state);

	if (!nrctrs) {
		suspend_without_counters(state);
		return;
	}
	if (unlikely(ictrs))
		disarm_counters(cpu);
	if (hides || ictrs || must_stop(state))
		stop_counters(cpu);
	else
		perfctr_sync();	/* the write that has started them, if it is as recent */
	if (cpu->own.reader)
		close_user(cpu);

	perfctr_page_begin(page);
	if (state->cstatus & VPERFCTR_CSTATUS_TSC)
		page->tsc_sum += perfctr_rdtsc() - page->tsc_start;
	for (i = 0; i < nractrs; i++) {
		struct vperfctr_page_ctr *ctr = &page->ctr[i];

		ctr->sum += (perfctr_read_counter(ctr->map) - ctr->start) & page->mask;
		ctr->start = 0;
	}
	if (unlikely(ictrs))
		suspend_ictrs(state);
	perfctr_page_end(page);
	WRITE_ONCE(cpu->running, NULL);

	if (hides)
		clear_counters(cpu);
	cpu->dirty = !hides;
}

static void pmuv3_resume(struct perfctr_cpu_state *state)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);
	struct vperfctr_page *page = state->page;
	unsigned int i, nractrs = VPERFCTR_CSTATUS_NRACTRS(state->cstatus);
	u32 cstatus = state->cstatus | VPERFCTR_CSTATUS_RUNNING;
	bool ictrs = perfctr_has_ictrs(state);
	bool overflow = false;

	/* `ready` is 0 on a CPU that is not prepared, or whose register was left open. */
	if (unlikely(!(cstatus & cpu->own.ready)) && !may_use_counters(cpu, state))
		return;
	WRITE_ONCE(cpu->running, state);
	smp_mb();	/* pairs with perfctr_mm_added(): it finds the state, or it is seen */
	if (READ_ONCE(perfctr_hides))
		clear_leftovers(cpu);
	if (perfctr_may_read(&cpu->own.reader) && open_user(cpu))
		cstatus |= VPERFCTR_CSTATUS_RDPMC;
	if (unlikely(ictrs))
		overflow = resume_ictrs(cpu, state);
	if (!overflow && cpu->id != state->id)
		write_control(cpu, state);

	perfctr_page_begin(page);
	page->cstatus = cstatus;
	page->tsc_start = perfctr_rdtsc();
	/* Otherwise they are 0, as suspend has left `start`. */
	if (cpu->dirty) {
		for (i = 0; i < nractrs; i++)
			page->ctr[i].start = perfctr_read_counter(page->ctr[i].map);
	}
	perfctr_page_end(page);

	if (unlikely(ictrs) && !arm_counters(cpu, state))
		return;
	/* Counters of other threads keep running if no process can see them. */
	set_enabled(cpu, state->control.regs.enable | (must_stop(state) ? 0 : cpu->enabled));
}

static void pmuv3_sample(struct perfctr_cpu_state *state)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);
	bool ictrs = perfctr_has_ictrs(state);

	/*
	 * If the owner was switched out in READ, that switch has cleared the counters.  The
	 * owner has not returned to user mode since, which would synchronize.
	 */
	perfctr_sync();
	if (unlikely(ictrs))
		disarm_counters(cpu);
	perfctr_sample_ctrs(state, VPERFCTR_CSTATUS_NRCTRS(state->cstatus), state->page->mask,
			    read_counter);
	if (unlikely(ictrs))
		arm_counters(cpu, state);
}

/* ---- claiming and releasing a CPU --------------------------------------- */

/* Stop and clear all counters but those of perf's.  Nothing is known about the registers. */
static void clear_registers(struct pmu_cpu *cpu)
{
	const u64 events = perfctr_kind_here()->pmc_mask;
	const bool has_instr = perfctr_pmuver() >= PMUVER_V3P9;
	const u64 kept = perfctr_arm64_kept_here();
	const u64 fixed = BIT_ULL(CYCLE_BIT) | (has_instr ? BIT_ULL(INSTR_BIT) : 0);
	const u64 all = (events | fixed) & ~kept;
	u64 left;

	perfctr_disable(all);
	perfctr_disable_intr(all);
	/* This may interrupt a thread with a loaded vCPU, to which counters were open before. */
	if (perfctr_arm64_user_is_kvms()) {
		leave_open(cpu);
	} else {
		write_user(0);
		cpu->left_open = false;
	}
	for (left = events; left; left &= left - 1)
		perfctr_write_type(__ffs(left), 0);
	if (all & BIT_ULL(CYCLE_BIT))
		perfctr_write_type(VPERFCTR_FIXED, 0);
	perfctr_sync();
	if (kept)
		perfctr_write_pmcr(pmu.pmcr);
	cpu->clear = kept & EVENT_CTRS ? 0 : pmu.pmcr | PMCR_P | (kept ? 0 : PMCR_C);
	clear_counters(cpu);
	perfctr_clear_overflow(all);
	perfctr_sync();

	cpu->id = 0;
	cpu->enabled = 0;
	cpu->intr = 0;
	cpu->user = USER_SW | USER_ER | (kept && perfctr_isolate ? 0 : USER_CR);
	cpu->dirty = false;
	WRITE_ONCE(cpu->own.reader, NULL);
	WRITE_ONCE(cpu->armed, NULL);
	WRITE_ONCE(cpu->running, NULL);
	memset(cpu->type, 0, sizeof(cpu->type));
}

static int pmuv3_cpu_start(bool test)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);

	cpu->saved_pmcr = perfctr_read_pmcr() & PMCR_KEPT & ~(PMCR_P | PMCR_C);
	clear_registers(cpu);
	cpu->own.ready = cpu->left_open ? 0 : PERFCTR_READY;
	return 0;
}

static void pmuv3_cpu_stop(void)
{
	struct pmu_cpu *cpu = this_cpu_ptr(&pmu_cpu);

	cpu->own.ready = 0;
	clear_registers(cpu);
	if (perfctr_arm64_kept_idle())
		perfctr_write_pmcr(cpu->saved_pmcr);
	perfctr_sync();
}

static void pmuv3_cpu_forget(void)
{
	clear_registers(this_cpu_ptr(&pmu_cpu));
}

static struct perfctr_own_cpu *pmuv3_own_cpu(unsigned int cpu)
{
	return &per_cpu_ptr(&pmu_cpu, cpu)->own;
}

static void pmuv3_close_user(void)
{
	close_user(this_cpu_ptr(&pmu_cpu));
}

static bool pmuv3_user_reads(void)
{
	return this_cpu_ptr(&pmu_cpu)->left_open ||
	       (perfctr_read_user() && !perfctr_arm64_user_is_kvms());
}

static bool counts(int cpu, void *unused)
{
	return READ_ONCE(per_cpu_ptr(&pmu_cpu, cpu)->running);
}

/* The page shows the value at which a counter has started: let it start from 0. */
static void hide_here(void *unused)
{
	struct perfctr_cpu_state *state = this_cpu_ptr(&pmu_cpu)->running;

	if (!state)
		return;
	pmuv3_suspend(state);
	pmuv3_resume(state);
	perfctr_tell_restarted(state);
}

void perfctr_hide_counts(void)
{
	on_each_cpu_cond(counts, hide_here, NULL, 1);
}

static int pmuv3_begin(unsigned int cpu)
{
	perfctr_arm64_left_open_begin();
	return perfctr_claim_begin(cpu);
}

static void pmuv3_end(void)
{
	perfctr_hide_end();
	perfctr_arm64_left_open_end();
	perfctr_claim_end();
	perfctr_arm64_watchdog_end();
}

static void pmuv3_settle(void)
{
	perfctr_arm64_watchdog_settle();
	perfctr_perf_settle();
}

static const struct perfctr_driver perfctr_arm64_pmuv3 = {
	.probe		= pmuv3_probe,
	.begin		= pmuv3_begin,
	.end		= pmuv3_end,
	.check_control	= pmuv3_check_control,
	.ops.suspend	= pmuv3_suspend,
	.ops.resume	= pmuv3_resume,
	.ops.sample	= pmuv3_sample,
	.is_alike	= pmuv3_is_alike,
	.probe_kind	= pmuv3_probe_kind,
	.new_kind	= pmuv3_new_kind,
	.has_kinds	= perfctr_arm64_perf_has_kinds,
	PERFCTR_CLAIM,
	.settle		= pmuv3_settle,
	.is_kept	= perfctr_arm64_is_kept,
	.cpu_start	= pmuv3_cpu_start,
	.cpu_stop	= pmuv3_cpu_stop,
	.cpu_forget	= pmuv3_cpu_forget,
	.interrupt	= pmuv3_overflow,
	.own_cpu	= pmuv3_own_cpu,
	.open_held	= pmuv3_open_held,
	.close_user	= pmuv3_close_user,
};

static const struct perfctr_driver *const drivers[] = {
	&perfctr_arm64_pmuv3,
	&perfctr_no_counters,
};

const struct perfctr_arch perfctr_arch = {
	.drivers	= drivers,
	.nr_drivers	= ARRAY_SIZE(drivers),
	.ready		= perfctr_claim_ready,
	.user_reads	= pmuv3_user_reads,
	.close_reads	= perfctr_arm64_close_reads,
	.reads_left	= perfctr_arm64_reads_left,
};
