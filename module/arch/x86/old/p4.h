/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by p4.c and p4-control.c: the registers of the Pentium 4.  Include regs.h and
 * x86.h first.
 *
 * Intel SDM volume 3, "Performance Monitoring (Processors Based on Intel NetBurst
 * Microarchitecture)".
 */
#ifndef VPERFCTR_P4_H
#define VPERFCTR_P4_H

#include <linux/bitops.h>
#include <linux/percpu.h>

#define P4_NR_COUNTERS		18
#define P4_NR_ESCRS		0x42	/* numbers of which some do not exist */

#define P4_MSR_MISC_ENABLE	0x1a0
#define P4_MSR_COUNTER0		0x300
#define P4_MSR_CCCR0		0x360
#define P4_MSR_ESCR0		0x3a0
#define P4_MSR_GLOBAL0		0x3f1	/* IA32_PEBS_ENABLE; next, MSR_PEBS_MATRIX_VERT */

/* Counter configuration control registers, one for each counter. */
#define P4_CCCR_EXT_CASCADE	BIT_ULL(11)
#define P4_CCCR_ENABLE		BIT_ULL(12)
#define P4_CCCR_SELECT(n)	((u64)(n) << 13)
#define P4_CCCR_THREADS		(3ULL << 16)
#define P4_CCCR_FORCE_OVF	BIT_ULL(25)
#define P4_CCCR_PMI		BIT_ULL(26)	/* OVF_PMI_T0 */
#define P4_CCCR_CASCADE		BIT_ULL(30)

/* Event selection control registers, which counters share.  T0 is a core's first thread. */
#define P4_ESCR_USR		BIT_ULL(2)	/* T0_USR */
#define P4_ESCR_OS		BIT_ULL(3)	/* T0_OS */
#define P4_ESCR_EVENT(event, mask) ((u64)(event) << 25 | (u64)(mask) << 9)

/* Added to RDPMC's index: read the low 32 bits only, which is faster. */
#define P4_FAST			BIT(31)

/* The contents of a CPU's registers, and the state that uses them. */
struct p4_cpu {
	u64 id;				/* identity of the control in escr and global; 0: none */
	struct perfctr_cpu_state *running; /* resumed here, and uses counters */
	struct perfctr_cpu_state *armed; /* the same, if an NMI may stop its counters */
	bool prepared;			/* between cpu_start and cpu_stop */
	bool holds;			/* also marked as a CPU that holds counters */
	u32 cccr[P4_NR_COUNTERS];
	u32 escr[P4_NR_ESCRS];
	u32 global[2];
};

DECLARE_PER_CPU_ALIGNED(struct p4_cpu, perfctr_x86_p4_cpu);

/* Return the number of the ESCR that a counter's CCCR selects, or P4_NR_ESCRS. */
unsigned int perfctr_p4_escr(unsigned int counter, u64 cccr);

/* Return a mask of the counters whose overflow starts this counter, which is cascaded. */
u32 perfctr_p4_initiators(unsigned int counter, u64 cccr);

/* True if the counter does not count before an initiator has overflowed. */
static inline bool p4_is_cascaded(u64 cccr)
{
	return !(cccr & P4_CCCR_ENABLE);
}

static inline unsigned int p4_counter(u32 map)
{
	return map & ~P4_FAST;
}

/*
 * Try the counters of this CPU.  They are stopped, and are clobbered.
 *
 * Context: Interrupts disabled, counters reserved.
 * Return: 0, or -EIO if they do not hold a value or do not count.
 */
int perfctr_p4_selftest(void);

int perfctr_p4_probe(void);
int perfctr_p4_check_control(struct perfctr_cpu_control *control);
bool perfctr_p4_is_usable(void);

#endif /* VPERFCTR_P4_H */
