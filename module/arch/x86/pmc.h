/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by pmc.c, pmc-control.c and pmc-reserve.c: what a CPU's registers hold,
 * and how to write a counter.  Include regs.h and x86.h first.
 */
#ifndef VPERFCTR_X86_PMC_H
#define VPERFCTR_X86_PMC_H

#include <linux/bitops.h>
#include <linux/percpu.h>

/*
 * The fixed counters' control register.  Each counter has a field in its lower half, and another
 * in its upper half, which enables nothing: PEBS is adaptive, or user mode may not RDPMC it.
 */
#define FIXED_OS		BIT_ULL(0)
#define FIXED_USR		BIT_ULL(1)
#define FIXED_PMI		BIT_ULL(3)
#define FIXED_FIELD(i, v)	((u64)(v) << (4 * (i)))
#define FIXED_FIELDS(i)		FIXED_FIELD(i, 0xf0000000fULL)

/* A short name, which costs nothing: the compiler resolves it. */
static const struct perfctr_x86_pmu *const pmu = &perfctr_x86_pmu;

/* The bits of VPERFCTR_CSTATUS_NRCTRS(): one test also finds a control without counters. */
#define PMC_READY	0xff

/* Has none of the bits of a cstatus: the next resume must mark its CPU. */
#define PMC_PREPARED	BIT(16)

/* The contents of a CPU's registers, and the state that uses them. */
struct pmc_cpu {
	u64 id;				/* identity of the loaded control; 0: none */
	u64 loaded;			/* its regs.global_ctrl; 0: counters are clear since */
	u64 global_ctrl;
	u64 fixed_ctrl;
	/*
	 * Between cpu_start and cpu_stop: PMC_READY if this CPU has been marked as one that
	 * holds counters, otherwise PMC_PREPARED.  Else 0.
	 */
	u32 ready;
	bool cleared;			/* overflow status cleared since the counters stopped */
	struct perfctr_cpu_state *running; /* resumed here, and uses counters */
	struct perfctr_cpu_state *armed; /* the same, if an NMI may stop its counters */
	u64 evntsel[PERFCTR_X86_MAX_PMC];
	u64 extra[PERFCTR_X86_NR_EXTRA];

	/* perf caches these two, and expects them back unchanged. */
	u64 saved_global_ctrl;
	u64 saved_fixed_ctrl;
	bool saved_freeze;		/* DEBUGCTL_FREEZE */
	u64 saved_cfg[PERFCTR_X86_MAX_PMC + PERFCTR_X86_MAX_FIXED][2]; /* CFG_B, CFG_C */

	u64 preceded;			/* status that perfctr_x86_pmc_precede() has cleared */
};

DECLARE_PER_CPU_ALIGNED(struct pmc_cpu, perfctr_x86_pmc_cpu);

static __always_inline bool is_fixed(u32 map)
{
	return map & VPERFCTR_FIXED;
}

static __always_inline unsigned int fixed_index(u32 map)
{
	return map & ~VPERFCTR_FIXED;
}

/* Return the top bit of a counter, as perfctr_sign() does, but faster. */
static __always_inline u64 sign_of(u32 map)
{
	return pmu->sign[is_fixed(map)];
}

static __always_inline u32 evntsel_msr(unsigned int i)
{
	return pmu->evntsel0 + pmu->step * i;
}

static __always_inline u32 pmc_msr(unsigned int i)
{
	return pmu->pmc0 + pmu->step * i;
}

/* CFG_B of a counter, which CFG_C follows; see has_cfg. */
static inline u32 cfg_msr(u32 map)
{
	return is_fixed(map) ? 0x1982 + 4 * fixed_index(map) : 0x1902 + 4 * map;
}

static __always_inline u64 counter_mask(u32 map)
{
	return sign_of(map) * 2 - 1;
}

/*
 * Write a counter.  The value is zero, or at most max_period below an overflow: other
 * values may not fit the bits that a write sets.
 */
static __always_inline void write_counter(u32 map, u64 value)
{
	value &= counter_mask(map);
	if (is_fixed(map))
		perfctr_wrmsr(pmu->fixed0 + fixed_index(map), value);
	else
		perfctr_wrmsr(pmu->write_pmc0 + pmu->step * map, value);
}

static inline void clear_counter(u32 map)
{
	write_counter(map, 0);
}

#endif /* VPERFCTR_X86_PMC_H */
