/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of libvperfctr-event share, and nobody else sees. */
#ifndef VPERFCTR_EVENT_INTERNAL_H
#define VPERFCTR_EVENT_INTERNAL_H

#include <errno.h>
#include <stdbool.h>
#include <vperfctr-event.h>

#pragma GCC visibility push(hidden)

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

/* ... and of a fixed counter's field of the fixed counter control */
#define FIXED_OS	1U
#define FIXED_USR	2U

/* Arm: fields of PMEVTYPERn_EL0 and PMCCFILTR_EL0; P and U leave a mode out */
#define ARM_EVENT	UINT64_C(0xffff)
#define ARM_U		(UINT64_C(1) << 30)
#define ARM_P		(UINT64_C(1) << 31)

static inline bool is_amd(const struct vperfctr_info *info)
{
	return info->cpu_type == VPERFCTR_CPU_AMD;
}

static inline bool is_arm(const struct vperfctr_info *info)
{
	return info->cpu_type == VPERFCTR_CPU_ARM_PMUV3;
}

/* Write *why, unless it is NULL, and return err. */
int __vperfctr_refuse(struct vperfctr_why *why, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* "general counters 0-3, 5 and fixed counter 1", as far as there is room */
void __vperfctr_describe(char *buf, size_t size, uint64_t general, uint64_t fixed);

/* ---- libpfm4.c ---- */

/* Fill in code, aux and modes.  1: libpfm4 knows no such event, or not this processor. */
int __vperfctr_pfm_encode(struct vperfctr_event *event, const char *name,
			  const struct vperfctr_info *info, struct vperfctr_why *why);

/* Call fn for each event (without unit masks) of this processor. */
void __vperfctr_pfm_names(const struct vperfctr_info *info,
			  void (*fn)(const char *name, void *arg), void *arg);

/*
 * With each unit mask, until fn returns another value than 0, which is the result.
 * *known: there are events of this processor.
 */
int __vperfctr_pfm_list(const struct vperfctr_info *info,
			int (*fn)(const char *name, const char *description, void *arg),
			void *arg, bool *known);

/* libpfm4's name of this processor's cores, of the kind that info is of; or NULL. */
const char *__vperfctr_pfm_processor(const struct vperfctr_info *info);

/* ---- counter-limits.c ---- */

/* The general counters that can count this code, on a processor that libpfm4 calls so. */
uint64_t __vperfctr_event_counters(const char *processor, uint64_t code);

/* The code of the event that does the same with another second register; or this code. */
uint64_t __vperfctr_event_twin(const char *processor, uint64_t code);

#pragma GCC visibility pop

#endif /* VPERFCTR_EVENT_INTERNAL_H */
