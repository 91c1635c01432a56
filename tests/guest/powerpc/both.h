/* SPDX-License-Identifier: GPL-2.0 */
/* Properties that POWER and 32-bit PowerPC have in common: see ../common.h. */
#ifndef GUEST_POWERPC_BOTH_H
#define GUEST_POWERPC_BOTH_H

#include "codes.h"

/* The modes that do not count, and the selector of the event. */
#define SEL_USER	(1ULL << 63)
#define SEL_KERNEL	(1ULL << 62)
#define SEL_BOTH	0ULL
#define INSNS		0x02
#define INSNS_USER	(SEL_USER | INSNS)
#define INSNS_KERNEL	(SEL_KERNEL | INSNS)
#define INSNS_BOTH	(SEL_BOTH | INSNS)
#define CYCLES_USER	(SEL_USER | CYCLES)

/* The fixed counters, of which 32-bit PowerPC has none. */
#define FIXED_KERNEL	SEL_KERNEL
#define FIXED_USER	SEL_USER
#define FIXED_BOTH	SEL_BOTH
#define FIXED(i)	(VPERFCTR_FIXED | (i))
#define FIXED_INSNS	FIXED(0)
/* The evntsel of one that counts nothing. */
#define FIXED_NOTHING	(SEL_USER | SEL_KERNEL)

/* The counter of i-mode tests, its event, and perf's name of the event. */
#define IMODE_MAP	0
#define SHORTEST_PERIOD	1
/* An interrupt between lwarx and stwcx. makes code repeat both, in a loop of five instructions. */
#define SHORTEST_IN_LIBC	16
#define IMODE_USER	INSNS_USER
#define IMODE_BOTH	INSNS_BOTH
#define IMODE_PERF	PERF_COUNT_HW_INSTRUCTIONS
#define IMODE_ALL	true
/*
 * An overflow in kernel mode is reported when interrupts are enabled, up to IMODE_LATE
 * instructions later.
 */
#define IMODE_NMI	false
#define IMODE_LATE	25000

#define EMULATOR_TRACES		false

/* Each CPU counts its own instructions only. */
#define COUNTS_APART		true

/* The processor does not say which architectural events it has beside those of arch_events. */
#define absent_events_refused()	false

static inline bool needs_merging(u64 evntsel)
{
	(void)evntsel;
	return false;
}

static inline bool valid_aux(const struct vperfctr_ctr *ctr, const u64 *registers)
{
	(void)registers;
	return !ctr->aux;
}

/* While states hold the counters, perf_event_open() fails with EBUSY. */
#define PERF_IS_REFUSED	true

/* False: in /proc/interrupts, function calls share a line with other messages. */
#define CALLS_ARE_SHOWN		false

/* True if one register starts and stops all counters: they then agree in kernel mode. */
static inline bool have_global_ctrl(void)
{
	return true;
}

/* Execute 2n instructions. */
static inline void loop(unsigned long n)
{
	asm volatile("1:	addic.	%0, %0, -1\n"
		     "	bne	1b" : "+r" (n) : : "cr0", "xer");
}

/* Execute rounds * (2n + 5) instructions, with a sched_yield() in each round. */
static inline void loop_yielding(unsigned long rounds, unsigned long n)
{
	asm volatile("1:	mr	14, %1\n"
		     "2:	addic.	14, 14, -1\n"
		     "	bne	2b\n"
		     "	li	0, 158\n"	/* __NR_sched_yield */
		     "	sc\n"
		     "	addic.	%0, %0, -1\n"
		     "	bne	1b"
		     : "+r" (rounds) : "r" (n)
		     : "r0", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r14",
		       "ctr", "cr0", "xer", "memory");
}

/* The event of instructions: its code, and a name. */
#define INSNS_RAW	"r02"
#define INSNS_NAME	"instructions"

#endif /* GUEST_POWERPC_BOTH_H */
