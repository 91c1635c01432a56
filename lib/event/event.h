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

/* Copy the caller's description of a processor.  -EINVAL: it is none, as *why says. */
int __vperfctr_get_info_why(struct vperfctr_info *to, const struct vperfctr_info *info,
			    struct vperfctr_why *why);

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define MODES_BOTH	(VPERFCTR_MODE_USER | VPERFCTR_MODE_KERNEL)
#define ANY_COUNTER	(~UINT64_C(0))

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

/* ---- cpu-signature.c ---- */

struct cpu_signature {
	char vendor[13];		/* as CPUID has it; "" if this is no x86 processor */
	unsigned int family, model, stepping;
	unsigned int core;		/* kind of core, on a hybrid processor: leaf 1AH EAX 31-24 */
};

/* Read the signature of the CPU that runs this. */
void __vperfctr_cpu_signature(struct cpu_signature *s);

/* ---- event-names.c ---- */

/* True if the event's name is one that it has on all processors. */
bool __vperfctr_is_generic(const struct vperfctr_event *event);

/* Say that it is not known which counters can count the event.  Returns -EOPNOTSUPP. */
int __vperfctr_refuse_unknown(const struct vperfctr_event *event,
			      const struct vperfctr_info *info, struct vperfctr_why *why);

/* Say that there are no counters at all.  Returns -EOPNOTSUPP. */
int __vperfctr_refuse_without_counters(const struct vperfctr_info *info, struct vperfctr_why *why);

#pragma GCC visibility pop

#endif /* VPERFCTR_EVENT_INTERNAL_H */
