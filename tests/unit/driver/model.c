// SPDX-License-Identifier: GPL-2.0
#include "model.h"
#include "model-p4.h"

struct model model;
char model_context[128];
unsigned int model_marks;

static struct model_cpu *this_cpu(void)
{
	return &model.cpu[fake_cpu];
}

/* ---- configuration ------------------------------------------------------ */

static u64 low_bits(unsigned int n)
{
	return n ? ~0ULL >> (64 - n) : 0;
}

const struct model_config *model_config(void)
{
	return fake_cpu < 32 && (model.others >> fake_cpu & 1) ? &model.other : &model.config;
}

static u64 pmc_mask(void)
{
	const struct model_config *c = model_config();

	if (c->p4)
		return low_bits(MODEL_ALL_PMCS);
	return c->pmc_mask ?: low_bits(min(c->nr_pmcs, (unsigned int)MODEL_MAX_PMCS));
}

/* SDM: FxCtr[i]_is_supported := ECX[i] || (EDX[4:0] > i), ECX from version 5 on. */
static u64 fixed_mask(void)
{
	const struct model_config *c = model_config();
	u64 mask = c->fixed_mask;

	if (c->version < 2)
		return 0;
	if (!c->pmc_mask)
		mask = low_bits(c->nr_fixed) | (c->version >= 5 ? mask : 0);
	return mask & low_bits(MODEL_MAX_FIXED);
}

u64 model_exists(void)
{
	return pmc_mask() | fixed_mask() << 32;
}

bool model_has_metrics(void)
{
	return model_config()->metrics && !model_config()->no_capabilities &&
	       (fixed_mask() & BIT_ULL(3));
}

u64 model_mask(u32 map)
{
	return low_bits(map & VPERFCTR_FIXED ? model_config()->fixed_width : model_config()->pmc_width);
}

u64 *model_counter(struct model_cpu *cpu, u32 map)
{
	u32 i = map & ~VPERFCTR_FIXED;

	if (model_config()->p4)
		return (map & ~P4_FAST_READ) < MODEL_ALL_PMCS ? &cpu->pmc[map & ~P4_FAST_READ] : NULL;
	if (map & VPERFCTR_FIXED)
		return i < MODEL_MAX_FIXED && (fixed_mask() & BIT_ULL(i)) ? &cpu->fixed[i] : NULL;
	return i < MODEL_MAX_PMCS && (pmc_mask() & BIT_ULL(i)) ? &cpu->pmc[i] : NULL;
}

/* SDM: a reset enables the general counters in GLOBAL_CTRL.  The CPUs' TSCs differ. */
void model_cpu_reset(unsigned int cpu)
{
	unsigned int old_cpu = fake_cpu;

	fake_cpu = cpu;
	model.cpu[cpu] = (struct model_cpu) {
		.global_ctrl = model_config()->version >= 2 ? pmc_mask() : 0,
		.tsc = 1000000ULL * (cpu + 1),
		.lvtpc = APIC_LVT_MASKED,
		.debugctl = model_config()->freezes ? DEBUGCTL_FREEZE : 0,
	};
	fake_cpu = old_cpu;
}

void model_init_hybrid(const struct model_config *config, const struct model_config *other,
		       u32 others)
{
	unsigned int cpu;

	memset(&model, 0, offsetof(struct model, cpu));
	model.config = *config;
	model.other = *other;
	model.others = others;
	model.hybrid = config != other;
	model.max_leaf = 0x23;
	for_each_possible_cpu(cpu)
		model_cpu_reset(cpu);
}

void model_init(const struct model_config *config)
{
	model_init_hybrid(config, config, 0);
	model.max_leaf = config->old ? 2 : config->pmc_mask ? 0x23 : 0x16;
	if (config->p4)
		model.max_leaf = config->p4_cores ? 5 : 2;
}

bool model_has_cesr(void)
{
	return model_config()->old >= MODEL_P5 && model_config()->old <= MODEL_WINCHIP;
}

bool model_never_stops(void)
{
	return model_config()->old >= MODEL_WINCHIP;
}

bool model_has_tsc(void)
{
	return model_config()->old != MODEL_WINCHIP || model_config()->uses_tsc;
}

u32 model_cpu_type(void)
{
	static const u32 types[] = {
		[MODEL_P6] = VPERFCTR_CPU_INTEL_P6, [MODEL_P5] = VPERFCTR_CPU_INTEL_P5,
		[MODEL_P5MMX] = VPERFCTR_CPU_INTEL_P5, [MODEL_MII] = VPERFCTR_CPU_CYRIX,
		[MODEL_WINCHIP] = VPERFCTR_CPU_WINCHIP, [MODEL_C3] = VPERFCTR_CPU_VIA_C3,
	};

	if (model_config()->p4)
		return VPERFCTR_CPU_INTEL_P4;
	return model_config()->old ? types[model_config()->old] :
	       model_config()->amd ? VPERFCTR_CPU_AMD : VPERFCTR_CPU_INTEL_ARCH;
}

static u64 field(u64 fixed_ctrl, unsigned int i)
{
	return fixed_ctrl >> (4 * i) & 0xf;
}

/* ---- events with an extra register ---------------------------------------- */

#define REFUSED(event)	{ event, 0, false, 0 }

static const struct model_extra nehalem[] = {
	{ 0x01b7, 0, true, 0xffff }, REFUSED(0x100b), { }
};
static const struct model_extra westmere[] = {
	{ 0x01b7, 0, true, 0xffff }, { 0x01bb, 1, true, 0xffff },
	REFUSED(0x100b), { }
};
static const struct model_extra sandy_bridge[] = {
	{ 0x01b7, 0, false, 0x3f807f8fff }, { 0x01bb, 1, false, 0x3f807f8fff },
	REFUSED(0x01cd), { }
};
static const struct model_extra broadwell[] = {
	{ 0x01b7, 0, false, 0x3fffff8fff }, { 0x01bb, 1, false, 0x3fffff8fff },
	REFUSED(0x01cd), { }
};
static const struct model_extra skylake[] = {
	{ 0x01b7, 0, false, 0x3fffff8fff }, { 0x01bb, 1, false, 0x3fffff8fff },
	{ 0x01c6, 2, false, 0x7fff17 }, REFUSED(0x01cd), { }
};
static const struct model_extra ice_lake[] = {
	{ 0x01b7, 0, false, 0x3fffffbfff }, { 0x01bb, 1, false, 0x3fffffbfff },
	{ 0x01c6, 2, false, 0x7fff17 }, REFUSED(0x01cd), { }
};
static const struct model_extra sapphire_rapids[] = {
	{ 0x012a, 0, false, 0x3fffffffff }, { 0x012b, 1, false, 0x3fffffffff },
	{ 0x01c6, 2, false, 0x7fff1f }, { 0x40ad, 2, false, 0x7 }, { 0x04c2, 2, false, 0x8 },
	REFUSED(0x01cd), { }
};
static const struct model_extra silvermont[] = {
	{ 0x01b7, 0, false, 0 }, { 0x02b7, 1, false, 0 }, { }
};
static const struct model_extra goldmont[] = {
	{ 0x01b7, 0, false, 0x760005ffbf }, { 0x02b7, 1, false, 0x360005ffbf }, { }
};
static const struct model_extra tremont[] = {
	{ 0x01b7, 0, false, 0x800ff0ffffff9fff }, { 0x02b7, 1, false, 0xff0ffffff9fff }, { }
};
static const struct model_extra gracemont[] = {
	{ 0x01b7, 0, false, 0x8003f03fffffffff }, { 0x02b7, 1, false, 0x0003f03fffffffff },
	REFUSED(0x05d0), { }
};
static const struct model_extra redwood_cove[] = {
	{ 0x012a, 0, false, 0x3fffffffff }, { 0x012b, 1, false, 0x3fffffffff },
	{ 0x02c6, 2, false, 0x9 }, { 0x03c6, 2, false, 0x7fff1f }, { 0x40ad, 2, false, 0x7 },
	{ 0x04c2, 2, false, 0x8 }, REFUSED(0x01cd), { }
};
static const struct model_extra crestmont[] = {
	{ 0x01b7, 0, false, 0x800ff3ffffffffff }, { 0x02b7, 1, false, 0xff3ffffffffff },
	REFUSED(0x05d0), REFUSED(0x0127), REFUSED(0x0227), { }
};
static const struct model_extra lion_cove[] = {
	{ 0x012a, 0, false, 0xfffffffffff }, { 0x012b, 1, false, 0xfffffffffff },
	{ 0x02c6, 2, false, 0x9 }, { 0x03c6, 2, false, 0x7fff1f }, { 0x40ad, 2, false, 0xf },
	{ 0x04c2, 2, false, 0x8 }, REFUSED(0x01cd), { }
};
/* Off-core events need one of the registers MSR_OMR_0 to _3, at 3E0H. */
static const struct model_extra panther_cove[] = {
	REFUSED(0x012a), REFUSED(0x022a), REFUSED(0x042a), REFUSED(0x082a), REFUSED(0x014f),
	REFUSED(0x024f), REFUSED(0x044f), REFUSED(0x084f), REFUSED(0x01d6), REFUSED(0x02d6),
	REFUSED(0x04d6), REFUSED(0x08d6), REFUSED(0x01cd), { 0x02c6, 2, false, 0x9 },
	{ 0x03c6, 2, false, 0x7fff1f }, { 0x40ad, 2, false, 0xf }, { 0x04c2, 2, false, 0x8 }, { }
};
/* Knights Landing and later ones: the driver does not know which registers they have. */
static const struct model_extra unknown[] = {
	REFUSED(0x01b7), REFUSED(0x02b7), REFUSED(0x04b7), REFUSED(0x08b7), REFUSED(0x01bb), REFUSED(0x012a), REFUSED(0x022a),
	REFUSED(0x042a), REFUSED(0x082a), REFUSED(0x012b), REFUSED(0x01c6), REFUSED(0x02c6), REFUSED(0x03c6), REFUSED(0x40ad),
	REFUSED(0x04c2), REFUSED(0x0127), REFUSED(0x0227), REFUSED(0x01cd), REFUSED(0x05d0), REFUSED(0x100b), REFUSED(0x01d4),
	REFUSED(0x02d4), REFUSED(0x04d4), REFUSED(0x08d4), REFUSED(0x014f), REFUSED(0x024f), REFUSED(0x044f), REFUSED(0x084f),
	REFUSED(0x01d6), REFUSED(0x02d6), REFUSED(0x04d6), REFUSED(0x08d6), { }
};

#define NEHALEM		0x106a5
#define WESTMERE	0x206c2

const struct model_processor model_processors[MODEL_PROCESSORS] = {
	{ NEHALEM, nehalem }, { WESTMERE, westmere }, { 0x206a7, sandy_bridge },
	{ 0x306d4, broadwell }, { 0x506e3, skylake }, { 0x606a6, ice_lake },
	{ 0x806f8, sapphire_rapids }, { 0x30673, silvermont }, { 0x506c9, goldmont },
	{ 0x906c0, tremont }, { 0xb06e0, gracemont },
	{ 0xa06d1, redwood_cove }, { 0xa06f3, crestmont }, { 0x50671, unknown },
	{ 0xc0660, lion_cove }, { 0xd06d0, crestmont },	/* Arrow Lake, Clearwater Forest */
	{ 0x300f10, panther_cove },	/* family 18: Nova Lake */
	{ 0x400f10, panther_cove },	/* family 19: Diamond Rapids */
	{ 0x400f20, unknown },
	{ MODEL_CORE2, NULL },
};

const struct model_extra *model_find_extra(u64 evntsel)
{
	const struct model_extra *extra = model_config()->extra;

	for (; extra && extra->event; extra++) {
		if (extra->event == (evntsel & 0xffff))
			return extra;
	}
	return NULL;
}

static unsigned int amd_family(void)
{
	u32 signature = model_config()->signature;

	return (signature >> 8 & 0xf) + (signature >> 20 & 0xff);
}

bool model_has_event_high(void)
{
	return model_config()->amd && amd_family() >= 0x10;
}

bool model_counts_right(u64 evntsel)
{
	u64 event = (evntsel & 0xff) | (evntsel >> 24 & 0xf00);

	if (model_config()->old == MODEL_P6)
		return event != 0xc1 && (event < 0x10 || event > 0x14);
	if (!model_config()->amd)
		return true;
	if (amd_family() < 0x15)
		return (event & 0xff) < 0xe0;
	return amd_family() < 0x17 || (event != 0x003 && event != 0xfff);
}

bool model_has_extra(const struct model_extra *extra)
{
	return extra->valid && !(model_config()->no_extra & BIT(extra->reg));
}

/* The valid bits of the extra register, or 0 if the CPU does not have it. */
static u64 extra_bits(unsigned int reg)
{
	const struct model_extra *extra = model_config()->extra;
	u64 bits = 0;

	for (; extra && extra->event; extra++) {
		if (extra->reg == reg && model_has_extra(extra))
			bits |= extra->valid;
	}
	return bits;
}

/* ---- counting ----------------------------------------------------------- */

/*
 * The number of events in work.  An event without a name counts a multiple of the
 * instructions that depends on every bit except USR, OS, EN and INT.  So a wrong event
 * shows in the count.
 */
static u64 count_event(u64 event, const struct work *work)
{
	switch (event) {
	case EV_INSTRUCTIONS:
		return work->instructions;
	case EV_CYCLES:
		return work->cycles;
	case EV_REF_CYCLES:
		return work->cycles / 2;
	}
	return work->instructions * (2 + (event * 0x9e3779b97f4a7c15ULL >> 58));
}

static u64 cesr_counts(u64 half, const struct work *work)
{
	if (model_config()->old == MODEL_WINCHIP)
		return count_event(half & 0xff, work);
	if (!(half & (work->kernel ? 0x40 : 0x80)))
		return 0;
	return half & 0x100 ? work->cycles : count_event(half & 0x43f, work);
}

u64 model_counts(u32 map, u64 evntsel, u64 aux, const struct work *work)
{
	static const u64 fixed_events[] = { EV_INSTRUCTIONS, EV_CYCLES, EV_REF_CYCLES };
	u32 i = map & ~VPERFCTR_FIXED;
	u64 half;

	if (model_config()->p4)
		return p4_counts(evntsel, aux, work);
	if (model_has_cesr())
		return cesr_counts(evntsel, work);
	if (model_config()->old == MODEL_C3)
		return count_event(evntsel & 0x1ff, work);
	if (map & VPERFCTR_FIXED) {
		if (!(evntsel & (work->kernel ? FIX_OS : FIX_USR)))
			return 0;
		return count_event(i < ARRAY_SIZE(fixed_events) ? fixed_events[i] : map, work);
	}
	if (!(evntsel & SEL_EN) || !(evntsel & (work->kernel ? SEL_OS : SEL_USR)))
		return 0;
	half = count_event(evntsel & ~(SEL_EN | SEL_OS | SEL_USR | SEL_INT), work);
	if (!model_find_extra(evntsel))
		return half;
	return aux ? half + (aux * 0x9e3779b97f4a7c15ULL >> 58) * work->instructions : 0;
}

static u64 extra_of(const struct model_cpu *cpu, u64 evntsel)
{
	const struct model_extra *extra = model_find_extra(evntsel);

	return extra ? cpu->extra[extra->reg] : 0;
}

u64 model_select(const struct model_cpu *cpu, unsigned int i)
{
	if (model_config()->old == MODEL_P6)
		return (cpu->evntsel[i] & ~SEL_EN) | (cpu->evntsel[0] & SEL_EN);
	if (model_has_cesr())
		return i < 2 ? cpu->cesr >> (16 * i) & 0xffff : 0;
	return cpu->evntsel[i];
}

u64 model_interrupting(const struct model_cpu *cpu)
{
	u64 bits = 0;
	unsigned int i;

	if (model_config()->p4)
		return p4_interrupting(cpu);
	for (i = 0; i < MODEL_MAX_PMCS; i++)
		bits |= cpu->evntsel[i] & SEL_INT ? BIT_ULL(i) : 0;
	for (i = 0; i < MODEL_MAX_FIXED; i++)
		bits |= field(cpu->fixed_ctrl, i) & FIX_PMI ? GLOBAL_FIXED(i) : 0;
	return bits;
}

/*
 * SDM volume 3, "Local Vector Table": delivery masks LVTPC, but not on all hypervisors.
 * The SDM does not say if the request stays while an overflow's bit in GLOBAL_STATUS is
 * set.  Linux's drivers know processors where it does: they unmask LVTPC last.
 */
static void make_pmi(struct model_cpu *cpu)
{
	if (model_config()->no_apic)
		return;
	if (cpu->lvtpc & APIC_LVT_MASKED) {
		cpu->lost_pmis += !cpu->pmi && !model_config()->level && !model_config()->p4;
		return;
	}
	require(cpu->lvtpc == APIC_DM_NMI, "LVTPC %#x delivers an interrupt that is no NMI",
		cpu->lvtpc);
	cpu->pmis++;
	cpu->pmi = true;
	if (!model_config()->no_masking && !model_config()->slow)
		cpu->lvtpc |= APIC_LVT_MASKED;
}

bool model_take_pmi(void)
{
	struct model_cpu *cpu = this_cpu();

	if (!cpu->pmi)
		return false;
	cpu->pmi = false;
	if (!model_config()->no_masking)
		cpu->lvtpc |= APIC_LVT_MASKED;
	return true;
}

static u64 counter_bit(u32 map)
{
	return map & VPERFCTR_FIXED ? GLOBAL_FIXED(map & ~VPERFCTR_FIXED) : BIT_ULL(map);
}

/* The index of a counter's CFG_B and CFG_C. */
static u32 cfg_index(u32 map)
{
	return map & VPERFCTR_FIXED ? MODEL_MAX_PMCS + (map & ~VPERFCTR_FIXED) : map;
}

static bool writes_record(const struct model_cpu *cpu, u32 map)
{
	return cpu->cfg_c[cfg_index(map)] & CFG_PEBS;
}

/* A counter has overflowed, and may reload itself and others. */
static void reload(struct model_cpu *cpu, u32 map)
{
	unsigned int bit;

	for (bit = 0; bit < 32 + MODEL_MAX_FIXED; bit++) {
		u32 other = bit < 32 ? bit : VPERFCTR_FIXED | (bit - 32);
		u64 value;

		if (!(model_exists() & BIT_ULL(bit)))
			continue;
		value = cpu->cfg_c[cfg_index(other)] & CFG_RELOAD;
		if ((cpu->cfg_b[cfg_index(other)] & counter_bit(map)) ||
		    (other == map && value && writes_record(cpu, map)))
			*model_counter(cpu, other) = (u64)(s64)(__s32)value & model_mask(other);
	}
}

/*
 * SDM volume 3, "Freezing LBR and Performance Counters on PMI": up to version 3 the
 * processor clears GLOBAL_CTRL, later ones set CTR_FRZ.  With PEBS a counter writes a
 * record, and raises no interrupt of its own.  AMD64 Architecture Programmer's Manual, volume 2,
 * "PerfCntrGlobalStatus" and "DebugCtl": PerfMonV2 has the same two bits, if CPUID says so.
 */
static void interrupt(struct model_cpu *cpu, u32 map)
{
	if (!(map & VPERFCTR_FIXED) && (cpu->pebs_enable & BIT_ULL(map))) {
		cpu->overflow |= STATUS_DS;
		return;
	}
	if (cpu->debugctl & DEBUGCTL_FREEZE) {
		if (model_config()->version >= 4 || model_config()->amd)
			cpu->overflow |= STATUS_CTR_FRZ;
		else
			cpu->global_ctrl = 0;
	}
	make_pmi(cpu);
}

/*
 * A counter is written.  If it has just overflowed, the value begins its next period.  The
 * rest of a period, which a context switch interrupted, may be shorter.
 */
static void check_period_written(struct model_cpu *cpu, u32 map, u64 value)
{
	bool next = cpu->passed_zero & counter_bit(map);

	cpu->passed_zero &= ~counter_bit(map);
	require(!next || !value || ((-value) & model_mask(map)) >= model_config()->shortest,
		"counter %#x restarts with a period that this processor cannot count", map);
}

/* Fixed counter 3 is about to count. */
static void count_metrics(struct model_cpu *cpu, u64 slots)
{
	bool apart = !cpu->metrics != !cpu->fixed[3];

	if (!model_has_metrics() || !(cpu->global_ctrl & STATUS_METRICS) || !slots)
		return;
	cpu->metrics += slots & 0xff ?: 1;
	if (!apart && cpu->fixed[3] + slots <= model_mask(VPERFCTR_FIXED | 3))
		return;
	cpu->overflow |= STATUS_METRICS;
	make_pmi(cpu);
}

static void advance(struct model_cpu *cpu, u32 map, u64 events)
{
	u64 *counter = model_counter(cpu, map);
	u64 sum = *counter + events;
	u32 i = map & ~VPERFCTR_FIXED;
	bool overflow = sum < events || sum > model_mask(map);

	*counter = sum & model_mask(map);
	if (overflow && writes_record(cpu, map)) {
		/* The buffer's threshold is one record. */
		cpu->overflow |= STATUS_ARCH_PEBS;
		make_pmi(cpu);
	} else if (overflow) {
		cpu->passed_zero |= counter_bit(map);
		if (model_config()->version >= 2)
			cpu->overflow |= map & VPERFCTR_FIXED ? GLOBAL_FIXED(i) : BIT_ULL(i);
		if (map & VPERFCTR_FIXED ? field(cpu->fixed_ctrl, i) & FIX_PMI :
					   cpu->evntsel[i] & SEL_INT)
			interrupt(cpu, map);
	}
	if (overflow)
		reload(cpu, map);
}

/* The counters that their selects and GLOBAL_CTRL restart_counters, in any mode. */
u64 model_counting(const struct model_cpu *cpu)
{
	const struct model_config *config = model_config();
	u64 counting = 0, enabled;
	unsigned int i;

	if (config->p4)
		return p4_counting(cpu);
	if (model_never_stops())
		return pmc_mask() & ~config->dead;
	if (model_has_cesr())
		return ((cpu->cesr & 0xc0 ? 1 : 0) | (cpu->cesr & 0xc00000 ? 2 : 0)) & ~config->dead;
	/* Most steps of a simulation are made while nothing counts. */
	enabled = (config->version >= 2 ? cpu->global_ctrl : model_exists()) & ~config->dead;
	if (!enabled || (cpu->overflow & STATUS_CTR_FRZ))
		return 0;
	for (i = 0; i < MODEL_MAX_PMCS; i++) {
		u64 enables = cpu->evntsel[config->old == MODEL_P6 ? 0 : i];

		if ((enables & SEL_EN) && (cpu->evntsel[i] & (SEL_USR | SEL_OS)))
			counting |= BIT_ULL(i);
	}
	for (i = 0; i < MODEL_MAX_FIXED; i++) {
		if (field(cpu->fixed_ctrl, i) & (FIX_OS | FIX_USR))
			counting |= GLOBAL_FIXED(i);
	}
	counting &= enabled;
	if (config->one_at_a_time && (counting & (counting - 1)))
		counting &= counting - 1;
	return counting;
}

void model_run(const struct work *work)
{
	struct model_cpu *cpu = this_cpu();
	u64 counting = model_counting(cpu);
	bool requested;
	unsigned int i;

	if (model_config()->p4) {
		requested = p4_requests_interrupt(cpu);
		p4_run(cpu, work);
		if (!requested && p4_requests_interrupt(cpu))
			make_pmi(cpu);
	}
	for (i = 0; i < MODEL_MAX_PMCS && !model_config()->p4; i++) {
		if (!(counting & BIT_ULL(i)))
			continue;
		if (cpu->astray & BIT(i))
			advance(cpu, i, i & 1 ? work->cycles : 0);
		else
			advance(cpu, i, model_counts(i, model_select(cpu, i),
						     extra_of(cpu, cpu->evntsel[i]), work));
	}
	for (i = 0; i < MODEL_MAX_FIXED; i++) {
		u32 map = VPERFCTR_FIXED | i;
		u64 events;

		if (!(counting & GLOBAL_FIXED(i)))
			continue;
		events = model_counts(map, field(cpu->fixed_ctrl, i), 0, work);
		if (i == 3)
			count_metrics(cpu, events);
		advance(cpu, map, events);
	}
	cpu->tsc += work->cycles;
}

/* ---- errata AAK100, AAP53, BD53 ------------------------------------------ */

bool model_needs_restart(void)
{
	u32 signature = model_config()->signature;

	return (signature == NEHALEM || signature == WESTMERE) &&
	       model_config()->version >= 2 && pmc_mask() == 0xf;
}

static unsigned int restart_value(u64 evntsel)
{
	return evntsel == 0x4300b5 ? 1 : evntsel == 0x4300d2 ? 2 : evntsel == 0x4300b1 ? 4 : 0;
}

/*
 * Note a write of GLOBAL_CTRL.  If each counter is zero and has one of the special values,
 * and all values occur, enabling all counters restarts them.
 */
static void restart_counters(struct model_cpu *cpu, u64 global_ctrl)
{
	unsigned int i, seen = 0;

	for (i = 0; i < 4; i++) {
		if (!restart_value(cpu->evntsel[i]) || cpu->pmc[i])
			seen |= 8;
		seen |= restart_value(cpu->evntsel[i]);
	}
	if (seen == 7 && global_ctrl == 0xf) {
		cpu->restarted = true;
		/* the special events are documented not to count, but some do */
		cpu->pmc[0] = (cpu->pmc[0] + 3) & model_mask(0);
		cpu->pmc[2] = model_mask(0);
		cpu->overflow |= BIT_ULL(2);
	} else if (global_ctrl) {
		cpu->restarted = false;
	}
}

static void program_counter(struct model_cpu *cpu, unsigned int i, u64 evntsel)
{
	if (model_needs_restart() && restart_value(evntsel) && (cpu->global_ctrl & 0xf))
		ck_abort_msg("the workaround runs while counters count");
	if (restart_value(evntsel) || !evntsel)
		return;
	if (cpu->restarted)
		cpu->astray &= ~BIT(i);
	else if (cpu->evntsel[i] != evntsel)
		cpu->astray |= BIT(i);
}

/* ---- reservation ---------------------------------------------------------- */

/* As the kernel's: AMD's family 15h and later have a select and a counter in turn. */
static unsigned int register_number(u32 msr, u32 intel, u32 k7)
{
	if (model_config()->p4)
		return msr - 0x300;
	switch (model_config()->amd) {
	case MODEL_INTEL:
		return msr - intel;
	case MODEL_AMD_K7:
		return msr - k7;
	default:
		return (msr - 0xc0010200) / 2;
	}
}

unsigned int model_pmc_number(u32 msr)
{
	return register_number(msr, 0x0c1, 0xc0010004);
}

unsigned int model_evntsel_number(u32 msr)
{
	return register_number(msr, 0x186, 0xc0010000);
}

/* ---- statistics --------------------------------------------------------- */

unsigned int model_wrmsrs(const struct model_cpu *cpu)
{
	unsigned int i, sum = 0;

	for (i = 0; i < NR_REGS; i++)
		sum += cpu->wrmsrs[i];
	return sum;
}

void model_clear_statistics(void)
{
	unsigned int cpu;

	for (cpu = 0; cpu < NR_CPUS; cpu++) {
		memset(model.cpu[cpu].wrmsrs, 0, sizeof(model.cpu[cpu].wrmsrs));
		model.cpu[cpu].redundant = 0;
		model.cpu[cpu].rdpmcs = 0;
		model.cpu[cpu].rdtscs = 0;
	}
}

/* ---- instructions ------------------------------------------------------- */

static void before_access(void)
{
	if (model.on_access && !fake_in_nmi)
		model.on_access();
}

static bool has_full_write(void)
{
	return !model_config()->no_capabilities && !model_config()->no_full_write;
}

static unsigned int extra_index(u32 msr)
{
	return msr == 0x3f7 ? 2 : msr - 0x1a6;
}

/*
 * The same of AMD's processors.  Family 15h and later ones have the first four counters at
 * the old addresses, too, which the driver does not use.  All counters are written whole.
 */
static u64 *find_amd_msr(struct model_cpu *cpu, u32 msr, enum model_reg *reg)
{
	enum model_amd amd = model_config()->amd;
	u32 i = amd == MODEL_AMD_K7 ? (msr - 0xc0010000) % 4 : (msr - 0xc0010200) / 2;
	bool is_pmc = amd == MODEL_AMD_K7 ? msr >= 0xc0010004 : msr & 1;

	if (amd == MODEL_AMD_K7 ? msr - 0xc0010000 < 8 : msr - 0xc0010200 < 12) {
		*reg = is_pmc ? REG_FULL_PMC : REG_EVNTSEL;
		if (!(pmc_mask() & BIT_ULL(i)))
			return NULL;
		return is_pmc ? &cpu->pmc[i] : &cpu->evntsel[i];
	}
	if (amd != MODEL_AMD_V2)
		return NULL;
	switch (msr) {
	case 0xc0000300:
		*reg = REG_STATUS;
		return &cpu->overflow;
	case 0xc0000301:
		*reg = REG_GLOBAL_CTRL;
		return &cpu->global_ctrl;
	case 0xc0000302:
		*reg = REG_OVF_CTRL;
		return &cpu->overflow;
	case 0x1d9:
		*reg = REG_DEBUGCTL;
		return &cpu->debugctl;
	}
	return NULL;
}

/* Version 6 has four registers a counter at 1900H and 1980H; the last two of them. */
static u64 *find_cfg(struct model_cpu *cpu, u32 msr, enum model_reg *reg)
{
	u32 map = msr < 0x1980 ? (msr - 0x1900) / 4 : VPERFCTR_FIXED | (msr - 0x1980) / 4;

	if (model_config()->version < 6 || !model_counter(cpu, map) || (msr & 3) < 2 ||
	    model_config()->no_cfg & BIT(map & ~VPERFCTR_FIXED))
		return NULL;
	*reg = (msr & 3) == 2 ? REG_CFG_B : REG_CFG_C;
	return (msr & 3) == 2 ? &cpu->cfg_b[cfg_index(map)] : &cpu->cfg_c[cfg_index(map)];
}

/* The register's value in the model, or NULL if the register does not exist. */
static u64 *find_msr(struct model_cpu *cpu, u32 msr, enum model_reg *reg)
{
	static u64 capabilities, misc_enable;

	if (msr == model.absent_msr)
		return NULL;
	capabilities = (model_config()->no_full_write ? 0xdf : 0x20df) |
		       (model_has_metrics() ? BIT(15) : 0);

	if (model_config()->p4)
		return p4_find_msr(cpu, msr, reg);
	if (model_config()->amd)
		return find_amd_msr(cpu, msr, reg);
	if (model_has_cesr()) {
		*reg = msr == 0x11 ? REG_CESR : REG_FULL_PMC;
		return msr == 0x11 ? &cpu->cesr : msr - 0x12 < 2 ? &cpu->pmc[msr - 0x12] : NULL;
	}
	if (model_config()->old == MODEL_C3) {
		*reg = msr == 0x187 ? REG_EVNTSEL : REG_FULL_PMC;
		return msr == 0x187 ? &cpu->evntsel[1] : msr == 0x0c2 ? &cpu->pmc[1] : NULL;
	}
	switch (msr) {
	case 0x1a0:
		*reg = REG_MISC_ENABLE;
		misc_enable = model_config()->unavailable ? 0 : BIT(7);
		return &misc_enable;
	case 0x0c1 ... 0x0ca:
		*reg = REG_PMC;
		return model_counter(cpu, msr - 0x0c1);
	case 0x4c1 ... 0x4ca:
		*reg = REG_FULL_PMC;
		return has_full_write() ? model_counter(cpu, msr - 0x4c1) : NULL;
	case 0x345:
		*reg = REG_CAPABILITIES;
		return model_config()->no_capabilities ? NULL : &capabilities;
	case 0x186 ... 0x18f:
		*reg = REG_EVNTSEL;
		return pmc_mask() & BIT_ULL(msr - 0x186) ? &cpu->evntsel[msr - 0x186] : NULL;
	case 0x309 ... 0x310:
		*reg = REG_FIXED_CTR;
		return model_counter(cpu, VPERFCTR_FIXED | (msr - 0x309));
	case 0x329:
		*reg = REG_METRICS;
		return model_has_metrics() ? &cpu->metrics : NULL;
	case 0x38d:
		*reg = REG_FIXED_CTRL;
		return fixed_mask() ? &cpu->fixed_ctrl : NULL;
	case 0x38e:
		*reg = REG_STATUS;
		return model_config()->version >= 2 ? &cpu->overflow : NULL;
	case 0x38f:
		*reg = REG_GLOBAL_CTRL;
		return model_config()->version >= 2 ? &cpu->global_ctrl : NULL;
	case 0x390:
		*reg = REG_OVF_CTRL;
		return model_config()->version >= 2 ? &cpu->overflow : NULL;
	case 0x1902 ... 0x1927:
	case 0x1982 ... 0x19bf:
		return find_cfg(cpu, msr, reg);
	case 0x1d9:
		*reg = REG_DEBUGCTL;
		return &cpu->debugctl;
	case 0x3f1:
		*reg = REG_PEBS_ENABLE;
		return model_config()->no_capabilities ? NULL : &cpu->pebs_enable;
	case 0x1a6: case 0x1a7:
	case 0x3f7:
		*reg = REG_EXTRA;
		return extra_bits(extra_index(msr)) ? &cpu->extra[extra_index(msr)] : NULL;
	}
	return NULL;
}

static bool has_any_thread(void)
{
	return model_config()->version >= 3 && !model_config()->no_any_thread;
}

u64 model_valid_bits(enum model_reg reg)
{
	u64 bits = 0, field_bits = FIX_OS | FIX_USR | FIX_PMI | (has_any_thread() ? FIX_ANY : 0);
	unsigned int i;

	switch (reg) {
	case REG_PMC:		/* the upper half is ignored */
		return ~0ULL;
	case REG_EVNTSEL:
		/* AMD reserves bits 19 and 21; from family 10h on, 32 to 35 are event bits. */
		if (model_config()->amd)
			return 0xffd7ffffULL | (model_has_event_high() ? SEL_EVENT_HIGH : 0);
		return (0xffffffffULL | (model_config()->pmc_mask && model_config()->version >= 6 ?
					 0xff1000000000ULL : 0)) & ~(has_any_thread() ? 0 : SEL_ANY);
	case REG_FULL_PMC:
		return model_mask(0);
	case REG_CESR:
		return model_config()->old == MODEL_MII ? 0x07ff07ff :
		       model_config()->old == MODEL_WINCHIP ? 0x00ff00ff : 0x03ff03ff;
	case REG_FIXED_CTR:
		return model_mask(VPERFCTR_FIXED);
	case REG_FIXED_CTRL:
		for (i = 0; i < MODEL_MAX_FIXED; i++) {
			if (!(fixed_mask() & BIT_ULL(i)))
				continue;
			bits |= field_bits << (4 * i);
			if (model_config()->version >= 5 && !model_config()->no_capabilities)
				bits |= FIX_ADAPTIVE(i);
			if (model_config()->version >= 6)
				bits |= FIX_NO_RDPMC(i);
		}
		return bits;
	case REG_GLOBAL_CTRL:
		return model_exists() | (model_has_metrics() ? STATUS_METRICS : 0);
	case REG_METRICS:
		return ~0ULL;
	case REG_OVF_CTRL:
		if (model_config()->amd)
			return model_exists() | STATUS_LBR_FRZ | STATUS_CTR_FRZ;
		if (model_config()->version >= 4)
			bits = STATUS_LBR_FRZ | STATUS_CTR_FRZ;
		if (model_config()->version >= 6)
			bits |= STATUS_ARCH_PEBS;
		if (model_has_metrics())
			bits |= STATUS_METRICS;
		return model_exists() | STATUS_DS | STATUS_COND | bits;
	case REG_DEBUGCTL:
		return DEBUGCTL_LBR | (model_config()->version >= 2 ? DEBUGCTL_FREEZE : 0);
	case REG_PEBS_ENABLE:
		return pmc_mask();
	case REG_CFG_B:
		return model_exists();
	case REG_CFG_C:
		return CFG_PEBS | CFG_RELOAD;
	default:
		return 0;
	}
}

/* The counter whose value in the model that is. */
static u32 counter_at(const struct model_cpu *cpu, const u64 *place)
{
	return place >= cpu->fixed && place < cpu->fixed + MODEL_MAX_FIXED ?
	       VPERFCTR_FIXED | (place - cpu->fixed) : place - cpu->pmc;
}

static bool is_stuck(const struct model_cpu *cpu, enum model_reg reg, const u64 *place)
{
	if (reg != REG_PMC && reg != REG_FULL_PMC && reg != REG_FIXED_CTR)
		return false;
	return model_config()->stuck & counter_bit(counter_at(cpu, place));
}

int model_wrmsr_safe(u32 msr, u64 value)
{
	if (msr == model_config()->read_only || msr == model.absent_msr)
		return -EIO;
	model_wrmsr(msr, value);
	return 0;
}

void model_pass_time(void)
{
	unsigned int i;

	model_run(&(struct work) { .kernel = true, .instructions = 200, .cycles = 1000 });
	for (i = 0; i < MODEL_MAX_PMCS; i++) {
		if (model_config()->dead & model_config()->emulated & BIT_ULL(i))
			this_cpu()->pmc[i] += 3;
	}
}

static void note_write(struct model_cpu *cpu, u32 map)
{
	if (map & VPERFCTR_FIXED)
		cpu->fixed_written |= BIT_ULL(map & ~VPERFCTR_FIXED);
	else
		cpu->written |= BIT_ULL(map);
}

void model_wrmsr(u32 msr, u64 value)
{
	struct model_cpu *cpu = this_cpu();
	enum model_reg reg = NR_REGS;
	u64 *place = find_msr(cpu, msr, &reg);
	u64 valid = reg == REG_EXTRA ? extra_bits(extra_index(msr)) :
		    model_config()->p4 ? p4_valid_bits(reg, msr) : model_valid_bits(reg);

	if (model_config()->old == MODEL_P6 && msr == 0x187)
		valid &= ~SEL_EN;

	require(fake_online[fake_cpu] || fake_dying, "CPU %u is not online", fake_cpu);
	before_access();
	require(place && msr != model_config()->read_only,
		"#GP: WRMSR %#x, which does not exist", msr);
	require(!(value & ~valid), "#GP: WRMSR %#x, reserved bits in %#llx",
		msr, value);

	if (reg == REG_OVF_CTRL && !value)
		return;		/* the probe does this: it changes nothing */
	cpu->wrmsrs[reg == REG_FULL_PMC ? REG_PMC : reg]++;
	if (model_config()->ignores_writes || is_stuck(cpu, reg, place) ||
	    (reg == REG_EXTRA && model_config()->ignores_extra))
		return;
	require(reg != REG_CESR || model_never_stops() || !*place || !value || *place == value,
		"CESR changes from %#llx to %#llx, and counters are not stopped", *place, value);
	if (reg == REG_GLOBAL_CTRL && model_needs_restart())
		restart_counters(cpu, value);
	if (reg == REG_EVNTSEL && model_needs_restart())
		program_counter(cpu, msr - 0x186, value);
	require(reg != REG_METRICS || value || !cpu->fixed[3],
		"PERF_METRICS is cleared before fixed counter 3");
	switch (reg) {
	case REG_PMC:		/* 32 bits, sign-extended */
		*place = (u64)(s64)(__s32)value & model_mask(0);
		note_write(cpu, msr - 0x0c1);
		check_period_written(cpu, msr - 0x0c1, *place);
		break;
	case REG_FIXED_CTR:
	case REG_FULL_PMC:
		*place = value;
		note_write(cpu, counter_at(cpu, place));
		check_period_written(cpu, counter_at(cpu, place), value);
		break;
	case REG_OVF_CTRL:	/* write 1 to clear */
		*place &= ~value | model_config()->stuck_status;
		break;
	default:
		/*
		 * The driver may write 0 to GLOBAL_CTRL twice, to be sure that all is stopped, or
		 * what others keep.
		 * An NMI may have written the value that the interrupted code is about to write.
		 */
		if (*place == value && !model_needs_restart() &&
		    (reg != REG_GLOBAL_CTRL || (value != model.kept && !cpu->nmi_wrote)))
			cpu->redundant += !model_config()->p4 || p4_is_redundant(cpu, msr, reg);
		if (reg == REG_GLOBAL_CTRL)
			cpu->nmi_wrote = fake_in_nmi;
		*place = value;
	}
	if (model_config()->p4)
		p4_wrote(cpu, msr, reg);
}

int model_rdmsr_safe(u32 msr, u64 *value)
{
	enum model_reg reg;
	u64 *place = find_msr(this_cpu(), msr, &reg);

	/* A register that this processor does not have.  The real MSR 0 exists. */
	require(msr, "RDMSR 0");
	/* Version 6 only: each read that faults costs an exception, on each CPU. */
	require(msr >> 8 != 0x19 || model_config()->version >= 6, "RDMSR %#x, before version 6", msr);
	/* Some hypervisors let nothing read GLOBAL_OVF_CTRL, which is only for writing. */
	if (!place || reg == REG_OVF_CTRL)
		return -EIO;
	*value = *place;
	return 0;
}

static bool is_unreadable(u32 index)
{
	u32 i = index & ~VPERFCTR_FIXED;

	return model_config()->unreadable & (index & VPERFCTR_FIXED ? GLOBAL_FIXED(i) :
										    BIT_ULL(i % 64));
}

int model_rdpmc_safe(u32 index, u64 *value)
{
	if (is_unreadable(index))
		return -EIO;
	*value = model_rdpmc(index);
	return 0;
}

u64 model_rdpmc(u32 index)
{
	u64 *counter = model_counter(this_cpu(), index);

	require(model_config()->old != MODEL_P5, "#UD: RDPMC without MMX");
	require(counter && !is_unreadable(index), "#GP: RDPMC %#x, which does not exist", index);
	before_access();
	if (model.on_read)
		model.on_read();
	this_cpu()->rdpmcs++;
	if (model_config()->p4 && index & P4_FAST_READ)
		return (u32)*counter;
	return *counter;
}

u64 model_rdtsc(void)
{
	require(model_has_tsc(), "RDTSC on a WinChip");
	before_access();
	if (model.on_read)
		model.on_read();
	this_cpu()->rdtscs++;
	return this_cpu()->tsc;
}

bool model_user_rdpmc(void)
{
	return model.user_rdpmc;
}

void model_cpuid(u32 leaf, u32 subleaf, u32 *eax, u32 *ebx, u32 *ecx, u32 *edx)
{
	const struct model_config *c = model_config();

	*eax = *ebx = *ecx = *edx = 0;
	/*
	 * The driver must not read an absent leaf, which returns arbitrary values.  Leaf 0AH
	 * returns valid ones even then: a driver that trusts them fails a test of test_probe.c.
	 */
	require(leaf <= model.max_leaf || leaf == 0xa || (leaf & BIT(31)), "CPUID leaf %#x does not exist", leaf);
	switch (leaf) {
	case 0:
		*eax = model.max_leaf;
		*ebx = c->amd ? 0x68747541 : 0x756e6547;	/* AuthenticAMD, GenuineIntel */
		*edx = c->amd ? 0x69746e65 : 0x49656e69;
		*ecx = c->amd ? 0x444d4163 : 0x6c65746e;
		if (c->old == MODEL_MII) {		/* CyrixInstead */
			*ebx = 0x69727943;
			*edx = 0x736e4978;
			*ecx = 0x64616574;
		} else if (c->old >= MODEL_WINCHIP) {	/* CentaurHauls */
			*ebx = 0x746e6543;
			*edx = 0x48727561;
			*ecx = 0x736c7561;
		}
		break;
	case 1 ... 4:
		if (c->p4) {
			p4_cpuid(leaf, eax, ebx, ecx, edx);
			break;
		}
		if (leaf == 1) {
			*eax = c->signature;
			*ecx = c->no_capabilities || c->amd ? 0 : BIT(15);	/* PDCM */
			*edx = c->old && c->old != MODEL_P5 ? BIT(23) : 0;	/* MMX */
		}
		break;
	case 0x80000000:
		*eax = c->amd == MODEL_AMD_V2 ? 0x80000022 : 0x80000008;
		break;
	case 0x80000001:
		*ecx = c->amd >= MODEL_AMD_CORE ? BIT(23) : 0;	/* PerfCtrExtCore */
		break;
	case 0x80000022:
		*eax = 1 | BIT(2);	/* PerfMonV2, LbrAndPmcFreeze */
		*ebx = c->nr_pmcs;
		break;
	case 7:
		if (!subleaf) {
			*eax = c->pmc_mask ? 1 : 0;
			*edx = c->force_abort ? BIT(13) : 0;
		} else {
			*eax = c->pmc_mask ? BIT(8) : 0;	/* leaf 23H */
		}
		break;
	case 0xa:
		if (c->amd || c->p4)
			break;
		*eax = c->version | c->nr_pmcs << 8 | c->pmc_width << 16 | c->nr_events << 24;
		*ebx = c->events_absent;
		*ecx = c->fixed_mask;
		*edx = (c->hides_fixed ? 0 : c->nr_fixed | c->fixed_width << 5) |
		       (u32)c->no_any_thread << 15;
		break;
	case 0x1a:
		*eax = c->core_type;
		break;
	case 0x23:
		require(c->pmc_mask, "CPUID leaf 23H is read, and leaf 7 does not report it");
		*eax = subleaf ? c->pmc_mask : BIT(0) | BIT(1);
		/* UMASK2 and EQ: bits 40 to 47, and 36, of event selects */
		*ebx = subleaf ? c->fixed_mask : c->version >= 6 ? 3 : 0;
		break;
	}
}

bool model_has_lvtpc(void)
{
	return !model_config()->no_apic;
}

u32 model_read_lvtpc(void)
{
	require(!model_config()->no_apic, "LVTPC is read without an APIC");
	before_access();
	return this_cpu()->lvtpc;
}

/* The upper bits are reserved.  The vector does not matter to an NMI. */
void model_write_lvtpc(u32 value)
{
	require(!model_config()->no_apic, "LVTPC is written without an APIC");
	require(!(value & ~0x117ffU), "LVTPC, reserved bits in %#x", value);
	before_access();
	this_cpu()->lvtpc = value;
	if (model_config()->p4 && p4_requests_interrupt(this_cpu()))
		make_pmi(this_cpu());
	if (model_config()->level &&
	    (this_cpu()->overflow & (model_interrupting(this_cpu()) | STATUS_METRICS)))
		make_pmi(this_cpu());
	/* Linux, intel_pmu_handle_irq(): unmasking before the counters are reset raises an NMI. */
	if (model_config()->early && (this_cpu()->passed_zero & model_interrupting(this_cpu())))
		make_pmi(this_cpu());
}

bool model_is_pv_guest(void)
{
	return model.pv_guest;
}

bool model_is_guest(void)
{
	return model.guest;
}

bool model_is_hybrid(void)
{
	return model.hybrid;
}

/* Here, as the simulation of the module also has this file. */
#include "model-p4.c"
