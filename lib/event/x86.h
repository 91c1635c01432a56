/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parts that Intel's and AMD's families share. */
#ifndef VPERFCTR_EVENT_X86_H
#define VPERFCTR_EVENT_X86_H

#include "family.h"

#pragma GCC visibility push(hidden)

/* Fields of an event select register. */
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

#define X86_FIELDS	(EVNTSEL_EVENT | EVNTSEL_UMASK | EVNTSEL_EDGE | EVNTSEL_INV | EVNTSEL_CMASK)

/* The operations and texts that are the same in all these families. */
#define X86_FAMILY							\
	.user = EVNTSEL_USR, .kernel = EVNTSEL_OS, .enable = EVNTSEL_EN, \
	.modes_text = "USR (bit 16), OS (17), EN (22), ",		\
	.raw_text = "rUUEE, unit mask and event select",		\
	.example = "r00c0",						\
	.is_architectural = true

/* A processor, as far as it decides which counters can count an event. */
struct processor {
	const char *list;		/* Intel: name of its list, or NULL */
	unsigned int core;		/* kind of core, or 0 */
	unsigned int family;		/* AMD; 0: not known */
};

/*
 * Find out which processor this is.  LIBPFM_FORCE_PMU names another one, whose events the
 * user wants.
 */
void __vperfctr_identify(struct processor *p, const struct vperfctr_info *info);

/* Return a mask of the general counters that can count this code; 0 if that is not known. */
uint64_t __vperfctr_intel_counters(const struct processor *p, uint64_t code);

/* Return a mask of AMD's general counters that can count this code; 0 if none can. */
uint64_t __vperfctr_amd_counters(unsigned int family, uint64_t code);

/* Operations of families. */
bool __vperfctr_listed_counters(const struct vperfctr_info *info, uint64_t code, uint64_t *general);
int __vperfctr_take_pfm_x86(struct vperfctr_event *event, const struct pfm_event *pfm,
			    struct vperfctr_why *why);
int __vperfctr_share_registers(const struct vperfctr_event *event, unsigned int nr,
			       uint32_t *counter_of, uint64_t *code_of,
			       const struct vperfctr_info *info, struct vperfctr_why *why);

#pragma GCC visibility pop

#endif /* VPERFCTR_EVENT_X86_H */
