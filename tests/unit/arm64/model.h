/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of the registers of PMUv3, written from the Arm Architecture Reference
 * Manual, not from the driver.  Accesses with unpredictable results fail the test: to
 * a counter that does not exist, to a reserved bit, or to a counter that was stopped
 * without a synchronization since.
 */
#ifndef MODEL_H
#define MODEL_H

#include <check.h>
#include <linux/vperfctr.h>

#include "fake-kernel.h"

#define require(cond, ...)		\
do {					\
	if (!(cond))			\
		ck_abort_msg(__VA_ARGS__);	\
} while (0)

#define MODEL_CTRS	32		/* 31: cycles */

struct model_cpu {
	u64 counter[MODEL_CTRS];
	u64 type[MODEL_CTRS];
	u64 pmcr, enabled, intr, overflow, user, tsc;
	u64 written;			/* bit mask of counters, which the simulation clears */
	u64 selr;			/* PMSELR_EL0 */
	bool has_vcpu;			/* KVM has loaded a vCPU, see model_load_vcpu() */
	u64 host_user;			/* PMUSERENR_EL0, to be restored then */
	bool unsynced;			/* a write has not been synchronized */
	bool stopping;			/* it was one that stops counters */
	unsigned int type_writes, counter_writes, counter_reads, pmcr_writes, writes;
};

struct model {
	unsigned int version;		/* PMUVer */
	unsigned int nr;		/* PMCR_EL0.N */
	u32 others;			/* these CPUs have other_nr instead */
	unsigned int other_nr;
	u64 events, extended_events;
	u32 midr[NR_CPUS];
	u32 smt;			/* CPUs that are threads of a core */
	bool waits;			/* in WFI, while the other threads of the core execute */
	bool vhe;
	bool sve;			/* events count up to 128 times a cycle */
	bool absent;			/* registers read as zero, and ignore writes */
	void (*on_access)(void);	/* called before each access to a register */
	struct model_cpu cpu[NR_CPUS];	/* the last: the simulation uses few of them */
};

extern struct model model;

/* The execution of a thread. */
struct work {
	bool kernel;
	u64 instructions, cycles;
};

void model_reset(void);
void model_init(unsigned int version, unsigned int nr);
unsigned int model_width(u32 map);
void model_run(const struct work *work);
bool model_interrupt(void);		/* true if it is asserted */
void model_clear_statistics(void);

u64 model_read_counter(u32 map);
void model_write_counter(u32 map, u64 value);
void model_write_type(u32 map, u64 value);
u64 model_read_pmcr(void);
void model_write_pmcr(u64 value);
void model_change(u64 *reg, u64 mask, bool set);
void model_write_user(u64 value);
void model_write_selr(u64 value);

/*
 * KVM in EL2, from Linux 6.4 on: as it loads a vCPU (__activate_traps_common()), PMUSERENR_EL0
 * gets a value for the guest, and PMSELR_EL0 gets 0.  Both must stay until it is put.
 */
void model_load_vcpu(void);
void model_put_vcpu(void);
u64 model_read_overflow(void);
void model_sync(void);

#endif /* MODEL_H */
