// SPDX-License-Identifier: GPL-2.0
/* The model: see model.h. */
#include "model.h"

struct model model;

static struct model_cpu *this_cpu(void)
{
	return &model.cpu[fake_cpu];
}

/* The number of this CPU's event counters. */
static unsigned int nr_here(void)
{
	return fake_cpu < 32 && (model.others >> fake_cpu & 1) ? model.other_nr : model.nr;
}

/* The driver accesses a register. */
static void access_register(void)
{
	if (model.on_access)
		model.on_access();
}

static unsigned int index_of(u32 map)
{
	require(map == VPERFCTR_FIXED || map < nr_here(), "counter %#x does not exist", map);
	return map == VPERFCTR_FIXED ? 31 : map;
}

/* From PMUv3p9 on there may be PMICNTR_EL0, which counts instructions. */
static u64 existing_counters(void)
{
	return ((1ULL << nr_here()) - 1) | 1ULL << 31 | (model.version >= 9 ? 1ULL << 32 : 0);
}

/* The state of the current CPU after reset: most registers have unknown values. */
void model_reset(void)
{
	u64 tsc = this_cpu()->tsc;
	unsigned int i;

	memset(this_cpu(), 0x5a, sizeof(*this_cpu()));
	this_cpu()->tsc = tsc;
	this_cpu()->pmcr = 0x41;
	this_cpu()->unsynced = this_cpu()->stopping = false;
	this_cpu()->has_vcpu = false;
	this_cpu()->enabled = existing_counters();
	this_cpu()->intr = this_cpu()->overflow = existing_counters();
	for (i = 0; i < MODEL_CTRS; i++)
		this_cpu()->counter[i] = 0x5a5a5a5a;
}

void model_init(unsigned int version, unsigned int nr)
{
	memset(&model, 0x5a, offsetof(struct model, cpu));
	model.version = version;
	model.nr = nr;
	model.others = 0;
	model.on_access = NULL;
	model.events = 1ULL << 0x00 | 1ULL << 0x08 | 1ULL << 0x11 | 1ULL << 0x1e;
	model.extended_events = 1ULL << 0x04;
	model.vhe = false;
	model.sve = false;
	model.smt = 0;
	model.waits = false;
	model.absent = false;
	for_each_possible_cpu(fake_cpu) {
		model.midr[fake_cpu] = 0x410fd0c0;
		this_cpu()->tsc = 1000;
		model_reset();
	}
	fake_cpu = 0;
}

/* The number of bits from which the counter overflows. */
unsigned int model_width(u32 map)
{
	if (map == VPERFCTR_FIXED)
		return this_cpu()->pmcr & 0x40 ? 64 : 32;
	return model.version >= 6 && (this_cpu()->pmcr & 0x80) ? 64 : 32;
}

static void count_events(unsigned int i, u64 n)
{
	struct model_cpu *c = this_cpu();
	u32 map = i == 31 ? VPERFCTR_FIXED : i;
	u64 old = c->counter[i], top = model_width(map) == 64 ? ~0ULL : 0xffffffff;

	c->counter[i] = old + n;
	if (n > top - (old & top))
		c->overflow |= 1ULL << i;
	if (i != 31 && model.version < 6)
		c->counter[i] &= 0xffffffff;
}

/*
 * Arm ARM, "Cycle event counting": it is IMPLEMENTATION DEFINED whether the cycle counter and
 * CPU_CYCLES count in WFI.  Linux knows that the counter does, but not the event, on one thread
 * of a core while another executes (arm_pmu.c), and on NVIDIA's Olympus (arm_pmuv3.c).
 */
static u64 cycles_of(unsigned int i, const struct work *work)
{
	bool differs = (model.smt >> fake_cpu & 1) || model.midr[fake_cpu] == 0x4e0f0100;

	return model.waits && !(differs && i == 31) ? 0 : work->cycles;
}

void model_run(const struct work *work)
{
	struct model_cpu *c = this_cpu();
	unsigned int i;

	c->tsc += work->cycles;
	c->unsynced = c->stopping = false;	/* the exceptions in between synchronize */
	for (i = 0; i < MODEL_CTRS; i++) {
		u64 type = c->type[i];
		bool excluded = work->kernel ? (model.vhe ? !(type >> 27 & 1) : type >> 31 & 1) :
					       type >> 30 & 1;

		if (!(existing_counters() & c->enabled & 1ULL << i) || !(c->pmcr & 1) || excluded)
			continue;
		if (i == 31 || (type & 0xffff) == 0x11)
			count_events(i, cycles_of(i, work));
		else if ((type & 0xffff) == 0x08)
			count_events(i, work->instructions);
	}
}

bool model_interrupt(void)
{
	const struct model_cpu *c = this_cpu();

	return (c->pmcr & 1) && (c->overflow & c->intr & existing_counters());
}

void model_clear_statistics(void)
{
	struct model_cpu *c = this_cpu();

	c->type_writes = c->counter_writes = c->counter_reads = c->writes = 0;
}

static void note_write(void)
{
	this_cpu()->unsynced = true;
	this_cpu()->writes++;
}

/*
 * A write that stops counters takes effect at the synchronization.  The counter may add to a
 * value that is written before that.
 */
static void check_stopped(u64 counters)
{
	const struct model_cpu *c = this_cpu();

	counters &= existing_counters();
	require(!(c->pmcr & 1) || !(c->enabled & counters),
		"counters %#llx are written while they count", c->enabled & counters);
	require(!c->stopping, "counters %#llx are written before a stop was synchronized",
		counters);
}

u64 model_read_counter(u32 map)
{
	unsigned int i = index_of(map);

	access_register();
	require(!this_cpu()->unsynced, "counter %u is read before a write was synchronized", i);
	this_cpu()->counter_reads++;
	return model.absent ? 0 : this_cpu()->counter[i];
}

void model_write_counter(u32 map, u64 value)
{
	unsigned int i = index_of(map);

	access_register();
	require(i == 31 || model.version >= 6 || !(value >> 32), "%#llx does not fit", value);
	/* The probe writes the cycle counter, and knows that it may be counting. */
	if (i != 31)
		check_stopped(BIT_ULL(i));
	if (!model.absent)
		this_cpu()->counter[i] = value;
	this_cpu()->counter_writes++;
	this_cpu()->written |= BIT_ULL(i);
	note_write();
}

void model_write_type(u32 map, u64 value)
{
	unsigned int i = index_of(map);
	u64 filter = 0xc8000000;	/* P, U, NSH */
	u64 valid = i == 31 ? filter : filter | (model.version >= 4 ? 0xffff : 0x3ff);

	access_register();
	require(!(value & ~valid), "reserved bits in a type: %#llx", value);
	this_cpu()->type[i] = value;
	this_cpu()->type_writes++;
	note_write();
}

u64 model_read_pmcr(void)
{
	return model.absent ? 0 : (this_cpu()->pmcr & 0xff) | nr_here() << 11 | 0x410000 << 8;
}

void model_write_pmcr(u64 value)
{
	unsigned int i;

	access_register();
	require(!(value & ~0xf9ULL & ~6ULL), "reserved bits in PMCR_EL0: %#llx", value);
	require(model.version >= 6 || !(value & 0x80), "PMCR_EL0.LP without PMUv3p5");
	if (value & 6)
		check_stopped((value & 2 ? ~(1ULL << 31) : 0) | (value & 4 ? 1ULL << 31 : 0));
	for (i = 0; i < MODEL_CTRS; i++) {
		if (i == 31 ? value & 4 : value & 2)
			this_cpu()->counter[i] = 0;
	}
	this_cpu()->pmcr = value & ~6ULL;
	this_cpu()->pmcr_writes++;
	note_write();
}

void model_change(u64 *reg, u64 mask, bool set)
{
	access_register();
	require(!(mask & ~existing_counters()), "bits of absent counters: %#llx", mask);
	if (set)
		*reg |= mask;
	else
		*reg &= ~mask;
	if (reg == &this_cpu()->enabled && !set)
		this_cpu()->stopping = true;
	if (reg == &this_cpu()->overflow)
		this_cpu()->writes++;	/* no counter's value depends on its overflow flag */
	else
		note_write();
}

/* No synchronization is needed: the return to user mode synchronizes. */
void model_write_user(u64 value)
{
	access_register();
	require(!(value & ~0xfULL), "reserved bits in PMUSERENR_EL0: %#llx", value);
	require(!this_cpu()->has_vcpu, "PMUSERENR_EL0 is written while KVM has loaded a vCPU");
	this_cpu()->user = value;
}

/*
 * KVM: "make sure it never contains the cycle counter, which could make a PMXEVCNTR_EL0 access
 * UNDEF at EL1 instead of being trapped to EL2".
 */
void model_write_selr(u64 value)
{
	access_register();
	require(value != 31, "PMSELR_EL0 selects the cycle counter");
	require(!this_cpu()->has_vcpu, "PMSELR_EL0 is written while KVM has loaded a vCPU");
	this_cpu()->selr = value;
}

void model_load_vcpu(void)
{
	this_cpu()->host_user = this_cpu()->user;
	this_cpu()->user = 0xf;
	this_cpu()->selr = 0;
	this_cpu()->has_vcpu = true;
}

void model_put_vcpu(void)
{
	this_cpu()->user = this_cpu()->host_user;
	this_cpu()->has_vcpu = false;
}

/* A counter that has just been stopped may still overflow. */
u64 model_read_overflow(void)
{
	require(!this_cpu()->stopping, "overflow flags are read before a stop was synchronized");
	return this_cpu()->overflow;
}

void model_sync(void)
{
	this_cpu()->unsynced = this_cpu()->stopping = false;
}
