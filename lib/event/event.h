/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Internal to libvperfctr-event. */
#ifndef VPERFCTR_EVENT_INTERNAL_H
#define VPERFCTR_EVENT_INTERNAL_H

#include <errno.h>
#include <stdbool.h>
#include <vperfctr-event.h>

#include "../sized.h"

#pragma GCC visibility push(hidden)

/* The least sizes that a caller's structures may have: see "Sizes" in vperfctr.h. */
#define INFO_SIZE_VER0		__VPERFCTR_SIZE_WITH(struct vperfctr_info, cpu_name)
#define CONTROL_SIZE_VER0	__VPERFCTR_SIZE_WITH(struct vperfctr_control, reserved)
#define CTR_SIZE_VER0		__VPERFCTR_SIZE_WITH(struct vperfctr_ctr, ireset)
#define EVENT_SIZE_VER0		__VPERFCTR_SIZE_WITH(struct vperfctr_event, reserved)

/* Copy the caller's description of a processor.  -EINVAL or -E2BIG: it is none, or a later one. */
int __vperfctr_get_info(struct vperfctr_info *to, const struct vperfctr_info *info);
/* The same with a reason. */
int __vperfctr_get_info_why(struct vperfctr_info *to, const struct vperfctr_info *info,
			    struct vperfctr_why *why);

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* x86: fields of an event select register */
#define EVNTSEL_EVENT	UINT64_C(0xff)
#define EVNTSEL_UMASK	UINT64_C(0xff00)
#define EVNTSEL_USR	(UINT64_C(1) << 16)
#define EVNTSEL_OS	(UINT64_C(1) << 17)
#define EVNTSEL_EDGE	(UINT64_C(1) << 18)
#define EVNTSEL_INT	(UINT64_C(1) << 20)
#define EVNTSEL_ANY	(UINT64_C(1) << 21)
#define EVNTSEL_EN	(UINT64_C(1) << 22)
#define EVNTSEL_INV	(UINT64_C(1) << 23)
#define EVNTSEL_CMASK	UINT64_C(0xff000000)
#define AMD_EVENT_HIGH	(UINT64_C(0xf) << 32)	/* bits 8 to 11 of the event select */
#define AMD_GUEST_HOST	(UINT64_C(3) << 40)

/* x86: bits of a fixed counter's field of its control register */
#define FIXED_OS	1U
#define FIXED_USR	2U

/* Arm: fields of PMEVTYPERn_EL0 and PMCCFILTR_EL0; P and U exclude a mode */
#define ARM_EVENT	UINT64_C(0xffff)
#define ARM_U		(UINT64_C(1) << 30)
#define ARM_P		(UINT64_C(1) << 31)

/* RISC-V: the SBI's number of the event; UINH and SINH exclude a mode, as in mhpmevent */
#define RISCV_EVENT	UINT64_C(0xfffff)
#define RISCV_RAW	UINT64_C(0x20000)	/* the number of raw events, whose data is in aux */
#define RISCV_RAW_DATA	UINT64_C(0xffffffffffff)
#define RISCV_UINH	(UINT64_C(1) << 60)
#define RISCV_SINH	(UINT64_C(1) << 61)

/* 32-bit PowerPC: a counter's selector */
#define PPC32_EVENT	UINT64_C(0xff)
/* POWER8 and later: see power-events.c; as for PMC1 in MMCR2, bits exclude a mode */
#define POWER_INSTRUCTIONS	UINT64_C(0x02)	/* for all counters */
#define POWER_CYCLES		UINT64_C(0x1e)
#define PPC32_CYCLES		UINT64_C(0x01)
#define PPC32_WITH_INSTRUCTIONS	UINT64_C(0xf)	/* PMC1 to PMC4 */
#define POWER_NOT_USER	(UINT64_C(1) << 62)
#define POWER_NOT_KERNEL (UINT64_C(1) << 63)

/* Pentium 4: fields of CCCRs and ESCRs */
#define P4_CCCR_ENABLE	(UINT64_C(1) << 12)
#define P4_CCCR_THREADS	(UINT64_C(3) << 16)
#define P4_CCCR_EVENT	UINT64_C(0x01fce000)	/* select, compare, complement, threshold, edge */
#define P4_ESCR_T0_USR	(UINT64_C(1) << 2)
#define P4_ESCR_T0_OS	(UINT64_C(1) << 3)
#define P4_ESCR_EVENT	UINT64_C(0x7ffffff0)	/* event, mask, tag */
#define P4_NR_COUNTERS	18

/* Pentium and Cyrix: fields of a half of CESR */
#define OLD_EVENT	UINT64_C(0x3f)
#define OLD_OS		(UINT64_C(1) << 6)
#define OLD_USR		(UINT64_C(1) << 7)
#define OLD_CLOCKS	(UINT64_C(1) << 8)
#define OLD_CYRIX_HIGH	(UINT64_C(1) << 10)	/* the event's top bit */

#define ARM_CHAIN	0x1e	/* the event: overflows of the counter before */

#ifdef __riscv
#define IS_RISCV	1
#else
#define IS_RISCV	0
#endif

#ifdef __powerpc64__
#define IS_POWER	1
#else
#define IS_POWER	0
#endif

static inline bool is_amd(const struct vperfctr_info *info)
{
	return info->cpu_type == VPERFCTR_CPU_AMD;
}

static inline bool is_p6(const struct vperfctr_info *info)
{
	return info->cpu_type == VPERFCTR_CPU_INTEL_P6;
}

static inline bool is_arm(const struct vperfctr_info *info)
{
	return info->cpu_type == VPERFCTR_CPU_ARM_PMUV3;
}

static inline bool is_riscv(const struct vperfctr_info *info)
{
	return info->cpu_type == VPERFCTR_CPU_RISCV_SBI;
}

/* 32-bit PowerPC.  All counters of a control count in the same modes. */
static inline bool is_ppc32(const struct vperfctr_info *info)
{
	return info->cpu_type == VPERFCTR_CPU_PPC32;
}

static inline bool is_power8(const struct vperfctr_info *info)
{
	return info->cpu_type == VPERFCTR_CPU_POWER8;
}

static inline bool is_power(const struct vperfctr_info *info)
{
	return is_power8(info) || is_ppc32(info);
}

static inline bool is_p4(const struct vperfctr_info *info)
{
	return info->cpu_type == VPERFCTR_CPU_INTEL_P4;
}

/*
 * True if the counters select no mode, and count in both.  On RISC-V the extension for modes is
 * also that for interrupts; perf's counters (see __vperfctr_perf_info()) seem to have none.
 */
static inline bool is_modeless(const struct vperfctr_info *info)
{
	return info->cpu_type == VPERFCTR_CPU_VIA_C3 || info->cpu_type == VPERFCTR_CPU_WINCHIP ||
	       (is_riscv(info) && (info->features & VPERFCTR_FEATURE_RDPMC) &&
		!(info->features & VPERFCTR_FEATURE_PCINT));
}

/* True for the processors of old-events.c. */
static inline bool is_old(const struct vperfctr_info *info)
{
	return info->cpu_type == VPERFCTR_CPU_INTEL_P5 || info->cpu_type == VPERFCTR_CPU_CYRIX ||
	       (is_modeless(info) && !is_riscv(info));
}

/* Write the text to *why, unless why is NULL.  Returns err. */
int __vperfctr_refuse(struct vperfctr_why *why, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Write "general counters 0-3, 5 and fixed counter 1" to buf, truncated to size. */
void __vperfctr_describe(char *buf, size_t size, uint64_t general, uint64_t fixed);

/* True if this is the name of a software event. */
bool __vperfctr_is_soft(const char *name, size_t length);

/* Fill in one event for each name.  Returns the number of names, or a negative error number. */
int __vperfctr_parse_names(struct vperfctr_event *event, const char *names,
			   const struct vperfctr_info *info, struct vperfctr_why *why);

/* ---- libpfm4.c ---- */

/* Set code, aux and modes.  Returns 1 if libpfm4 does not know the event or the processor. */
int __vperfctr_pfm_encode(struct vperfctr_event *event, const char *name,
			  const struct vperfctr_info *info, struct vperfctr_why *why);

/* Call fn with the name of each event of this processor, without unit masks. */
void __vperfctr_pfm_names(const struct vperfctr_info *info,
			  void (*fn)(const char *name, void *arg), void *arg);

/*
 * Call fn for each event with each of its unit masks, until it returns nonzero.  Returns
 * that value, or 0.  Sets *known to true if libpfm4 has events of this processor.
 */
int __vperfctr_pfm_list(const struct vperfctr_info *info,
			int (*fn)(const char *name, const char *description, void *arg),
			void *arg, bool *known);

/* Return libpfm4's name of this kind of cores, or NULL if it does not know them. */
const char *__vperfctr_pfm_processor(const struct vperfctr_info *info);

/* ---- old-events.c ---- */

/* Set *code to that of a generic event.  Returns false if the processor does not have it. */
bool __vperfctr_old_generic(const struct vperfctr_info *info, uint32_t arch, uint64_t *code);

/* Return the bits of an event select that a name may set, besides the modes. */
uint64_t __vperfctr_old_settable(const struct vperfctr_info *info);
const char *__vperfctr_old_describe_settable(const struct vperfctr_info *info);

/* ---- cpu-signature.c ---- */

struct cpu_signature {
	char vendor[13];		/* as CPUID has it; "" if this is no x86 processor */
	unsigned int family, model, stepping;
	unsigned int core;		/* kind of core, on a hybrid processor: leaf 1AH EAX 31-24 */
};

/* Read the signature of the CPU that runs this. */
void __vperfctr_cpu_signature(struct cpu_signature *s);

/* ---- counter-limits.c ---- */

/* A processor, as far as it decides which counters can count an event. */
struct processor {
	const char *list;		/* Intel: name of its list, or NULL */
	unsigned int core;		/* kind of core, or 0 */
	unsigned int family;		/* AMD; 0: not known */
};

/* Return a mask of the general counters that can count this code; 0 if that is not known. */
uint64_t __vperfctr_intel_counters(const struct processor *p, uint64_t code);

/* The same for AMD; 0 if there is none. */
uint64_t __vperfctr_amd_counters(unsigned int family, uint64_t code);

/*
 * Find the general counters that can count this code.  Returns false if that is not known,
 * else true and a mask of them, which is 0 if there is none.
 */
bool __vperfctr_event_counters(const struct vperfctr_info *info, uint64_t code,
			       uint64_t *general);

/* Return the code of the same event with the other second register, or the code itself. */
uint64_t __vperfctr_event_twin(const struct vperfctr_info *info, uint64_t code);

/* Say that it is not known which counters can count the event.  Returns -EOPNOTSUPP. */
int __vperfctr_refuse_unknown(const struct vperfctr_event *event,
			      const struct vperfctr_info *info, struct vperfctr_why *why);

/* Say that there are no counters at all.  Returns -EOPNOTSUPP. */
int __vperfctr_refuse_without_counters(const struct vperfctr_info *info, struct vperfctr_why *why);

/* ---- p4-events.c ---- */

/*
 * Find the counters of an event by its name without unit masks: none if it needs tags.
 * Returns false if the event is not known.
 */
bool __vperfctr_p4_counters(const char *name, uint64_t *counters);

/* Set code, aux and general for a generic event.  Returns false if the processor lacks it. */
bool __vperfctr_p4_generic(struct vperfctr_event *event, uint32_t arch);

/* Choose a counter for each event, such that their ESCRs fit.  Returns false if none fit. */
bool __vperfctr_p4_place(const struct vperfctr_event *event, unsigned int nr,
			 uint32_t *counter_of);

/* ---- power-events.c ---- */

/* Return the fields of a code that the processor has, and that of the counter. */
uint64_t __vperfctr_power_fields(const struct vperfctr_info *info);

/* Remove the counter from event->code, and set which counters can count it. */
int __vperfctr_power_counters(struct vperfctr_event *event, const char *name,
			      const struct vperfctr_info *info, struct vperfctr_why *why);

/* Return the code with the counter, as perf has it, if only one can count the event. */
uint64_t __vperfctr_power_perf_code(const struct vperfctr_event *event);

/* Refuse events that do not fit together on the counters that they have. */
int __vperfctr_power_check(const struct vperfctr_event *event, unsigned int nr,
			   const uint32_t *counter_of, const struct vperfctr_info *info,
			   struct vperfctr_why *why);

#pragma GCC visibility pop

#endif /* VPERFCTR_EVENT_INTERNAL_H */
