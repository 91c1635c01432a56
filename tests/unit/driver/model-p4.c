// SPDX-License-Identifier: GPL-2.0
#include "model-p4.h"

#define NR	18
#define WIDTH	40
#define ESCR_FIRST	0x3a0

/* SDM, table "Performance Counter MSRs and Associated CCCR and ESCR MSRs". */
static const u16 escr_msrs[4][8][2] = {
	{ { 0x3b2, 0x3b3 }, { 0x3b4, 0x3b5 }, { 0x3aa, 0x3ab }, { 0x3b6, 0x3b7 },
	  { 0x3ac, 0x3ad }, { 0x3c8, 0x3c9 }, { 0x3a2, 0x3a3 }, { 0x3a0, 0x3a1 } },
	{ { 0x3c0, 0x3c1 }, { 0x3c4, 0x3c5 }, { 0x3c2, 0x3c3 } },
	{ { 0x3a6, 0x3a7 }, { 0x3a4, 0x3a5 }, { 0x3ae, 0x3af }, { 0x3b0, 0x3b1 },
	  { 0, 0 }, { 0x3a8, 0x3a9 } },
	{ { 0x3ba, 0x3bb }, { 0x3ca, 0x3cb }, { 0x3bc, 0x3bd }, { 0x3be, 0 },
	  { 0x3b8, 0x3b9 }, { 0x3cc, 0x3cd }, { 0x3e0, 0x3e1 } },
};

static unsigned int cpu_model(void)
{
	return model_config()->signature >> 4 & 0xf;
}

u32 p4_escr_msr(unsigned int counter, unsigned int select)
{
	static const u8 second[] = { 2, 3, 6, 7, 10, 11, 14, 15, 17 };
	unsigned int block = counter < 12 ? counter / 4 : 3, i, pair = 0;
	u32 msr;

	for (i = 0; i < sizeof(second); i++)
		pair |= second[i] == counter;
	msr = escr_msrs[block][select][pair];
	return (msr == 0x3ba || msr == 0x3bb) && cpu_model() > 2 ? 0 : msr;
}

static u32 selected(unsigned int counter, u64 cccr)
{
	return p4_escr_msr(counter, cccr >> 13 & 7);
}

/* The driver accesses these registers more often than any other. */
static bool escr_exists(u32 msr)
{
	static u8 exists[0x3e2 - ESCR_FIRST];
	static unsigned int known;	/* the CPU's model whose registers these are, plus 1 */
	unsigned int i, select;

	if (known != cpu_model() + 1) {
		memset(exists, 0, sizeof(exists));
		for (i = 0; i < NR; i++) {
			for (select = 0; select < 8; select++) {
				u32 escr = p4_escr_msr(i, select);

				if (escr)
					exists[escr - ESCR_FIRST] = true;
			}
		}
		known = cpu_model() + 1;
	}
	return msr - ESCR_FIRST < sizeof(exists) && exists[msr - ESCR_FIRST];
}

/* ---- registers ------------------------------------------------------------- */

u64 *p4_find_msr(struct model_cpu *cpu, u32 msr, enum model_reg *reg)
{
	static u64 misc_enable;

	if (msr == 0x1a0) {
		*reg = REG_CAPABILITIES;
		misc_enable = model_config()->no_capabilities ? 0x1801 : 0x1881;
		return &misc_enable;
	}
	if (msr - 0x300 < NR) {
		*reg = REG_FULL_PMC;
		return &cpu->pmc[msr - 0x300];
	}
	if (msr - 0x360 < NR) {
		*reg = REG_EVNTSEL;
		return &cpu->evntsel[msr - 0x360];
	}
	if (msr == 0x3f1 || msr == 0x3f2) {
		*reg = REG_P4_GLOBAL;
		return &cpu->p4_global[msr - 0x3f1];
	}
	if (escr_exists(msr)) {
		*reg = REG_ESCR;
		return &cpu->escr[msr - 0x3a0];
	}
	return NULL;
}

u64 p4_valid_bits(enum model_reg reg, u32 msr)
{
	switch (reg) {
	case REG_FULL_PMC:
		return ~0ULL >> (64 - WIDTH);
	case REG_EVNTSEL:
		return 0xcffff000 | (cpu_model() >= 2 && msr >= 0x36c ? CCCR_EXT : 0);
	case REG_ESCR:
		return 0x7fffffff;
	case REG_P4_GLOBAL:
		return msr == 0x3f1 ? 0x03001fff : 0x1f;
	default:
		return 0;
	}
}

/* False if an NMI wrote, or writes, the value that the interrupted code is about to write. */
bool p4_is_redundant(const struct model_cpu *cpu, u32 msr, enum model_reg reg)
{
	return !fake_in_nmi && !(reg == REG_EVNTSEL && cpu->nmi_cccrs & BIT(msr - 0x360));
}

/* A write of this register was valid, and is done. */
void p4_wrote(struct model_cpu *cpu, u32 msr, enum model_reg reg)
{
	unsigned int i;

	require(!model_config()->p4_threads || !(fake_cpu & 1),
		"WRMSR %#x by the second thread of a core", msr);
	if (reg == REG_EVNTSEL) {
		u64 cccr = cpu->evntsel[msr - 0x360];

		/* Else each event interrupts, and the counter does not say why. */
		require(!(cccr & CCCR_FORCE) || !(cccr & CCCR_PMI_T0) || !(cccr & CCCR_EN) ||
			cpu->pmc[msr - 0x360] == p4_valid_bits(REG_FULL_PMC, 0x300),
			"counter %u forces overflows at %#llx", msr - 0x360,
			cpu->pmc[msr - 0x360]);
		cpu->cascaded &= ~BIT(msr - 0x360);
		cpu->nmi_cccrs &= ~BIT(msr - 0x360);
		cpu->nmi_cccrs |= fake_in_nmi ? BIT(msr - 0x360) : 0;
		return;
	}
	/* The erratum about counters that are written. */
	if (reg == REG_FULL_PMC)
		require(!(p4_counting(cpu) & BIT_ULL(msr - 0x300)),
			"counter %u is written while it counts", msr - 0x300);
	if (reg != REG_ESCR)
		return;
	/* Counters of threads that are off the CPU may count on.  Interrupts must not come. */
	for (i = 0; i < NR; i++)
		require(selected(i, cpu->evntsel[i]) != msr || !(cpu->evntsel[i] & CCCR_PMI_T0),
			"the ESCR of counter %u changes while it counts", i);
}

/* ---- counting ---------------------------------------------------------------- */

static u64 escr_of(const struct model_cpu *cpu, unsigned int i)
{
	u32 msr = selected(i, cpu->evntsel[i]);

	return msr ? cpu->escr[msr - 0x3a0] : 0;
}

static bool is_enabled(const struct model_cpu *cpu, unsigned int i)
{
	return cpu->evntsel[i] & CCCR_EN || cpu->cascaded & BIT(i);
}

u64 p4_counting(const struct model_cpu *cpu)
{
	u64 counting = 0;
	unsigned int i;

	for (i = 0; i < NR; i++) {
		if (is_enabled(cpu, i) && (escr_of(cpu, i) & (ESCR_T0_USR | ESCR_T0_OS)))
			counting |= BIT_ULL(i);
	}
	return counting & ~model_config()->dead;
}

u64 p4_interrupting(const struct model_cpu *cpu)
{
	u64 bits = 0;
	unsigned int i;

	for (i = 0; i < NR; i++)
		bits |= cpu->evntsel[i] & CCCR_PMI_T0 ? BIT_ULL(i) : 0;
	return bits;
}

/* The events of work, if the counter is enabled.  Wrong bits show in the count. */
u64 p4_counts(u64 cccr, u64 escr, const struct work *work)
{
	u64 event = escr & ~(ESCR_T0_USR | ESCR_T0_OS);
	u64 what = event * 64 + (cccr & 0x01fff000 & ~CCCR_EN);

	if (!(escr & (work->kernel ? ESCR_T0_OS : ESCR_T0_USR)) || !(cccr & CCCR_EN))
		return 0;
	if (event == P4_INSTRUCTIONS && (cccr & 0x01ffe000) == (P4_INSN_CCCR & 0x01ffe000))
		return work->instructions;
	if (event == P4_CYCLES && (cccr & 0x01ffe000) == (P4_CYC_CCCR & 0x01ffe000))
		return work->cycles;
	return work->instructions * (2 + (what * 0x9e3779b97f4a7c15ULL >> 61));
}

/*
 * The counters that the overflow of another one starts.  SDM, "Cascading Counters": the one
 * at the same place in the other pair of the block.  "Extended Cascading": IQ_COUNTER4 (16)
 * starts IQ_COUNTER0 or 5, and IQ_COUNTER5 (17) starts 3 or 4.
 */
static void cascade(struct model_cpu *cpu, unsigned int from)
{
	static const u8 partners[NR] = {
		2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, 0xff, 0xff,
	};
	unsigned int i;

	for (i = 0; i < NR; i++) {
		u64 cccr = cpu->evntsel[i];
		bool extended = from == 16 ? i == 12 || i == 17 : from == 17 && (i == 15 || i == 16);

		if ((cccr & CCCR_CASCADE && partners[i] == from) || (cccr & CCCR_EXT && extended))
			cpu->cascaded |= BIT(i);
	}
}

void p4_run(struct model_cpu *cpu, const struct work *work)
{
	u64 counting = p4_counting(cpu), mask = ~0ULL >> (64 - WIDTH);
	u64 overflowed = 0;
	unsigned int i;

	for (i = 0; i < NR; i++) {
		u64 events;

		if (!(counting & BIT_ULL(i)))
			continue;
		events = p4_counts(cpu->evntsel[i] | CCCR_EN, escr_of(cpu, i), work);
		if (cpu->pmc[i] + events > mask || (events && cpu->evntsel[i] & CCCR_FORCE))
			overflowed |= BIT_ULL(i);
		cpu->pmc[i] = (cpu->pmc[i] + events) & mask;
	}
	for (i = 0; i < NR; i++) {
		if (overflowed & BIT_ULL(i)) {
			cpu->evntsel[i] |= CCCR_OVF;
			cascade(cpu, i);
		}
	}
}

bool p4_requests_interrupt(const struct model_cpu *cpu)
{
	unsigned int i;

	for (i = 0; i < NR; i++) {
		if (cpu->evntsel[i] & CCCR_OVF && cpu->evntsel[i] & CCCR_PMI_T0)
			return true;
	}
	return false;
}

/* ---- CPUID -------------------------------------------------------------------- */

void p4_cpuid(u32 leaf, u32 *eax, u32 *ebx, u32 *ecx, u32 *edx)
{
	const struct model_config *c = model_config();

	(void)ecx;
	switch (leaf) {
	case 1:
		*eax = c->signature;
		*ebx = fake_cpu << 24 | (c->p4_threads ? 2 * max_t(u32, c->p4_cores, 1) :
						 max_t(u32, c->p4_cores, 1)) << 16;
		*edx = c->p4_threads || c->p4_cores > 1 ? BIT(28) : 0;
		break;
	case 4:
		*eax = (max_t(u32, c->p4_cores, 1) - 1) << 26;
		break;
	}
}
