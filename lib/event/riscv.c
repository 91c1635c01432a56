// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * RISC-V with the SBI's PMU extension.  The firmware knows which counters can count an event,
 * and the module asks it.  libpfm4 has no events of these processors.
 */
#include <linux/perf_event.h>

#include "family.h"

/* The number of raw events, whose data is in aux. */
#define RISCV_RAW	UINT64_C(0x20000)

/* The SBI's number of the event; UINH and SINH exclude a mode, as in mhpmevent. */
#define RISCV_EVENT	UINT64_C(0xfffff)
#define RISCV_RAW_DATA	UINT64_C(0xffffffffffff)
#define RISCV_UINH	(UINT64_C(1) << 60)
#define RISCV_SINH	(UINT64_C(1) << 61)

/* Take rDATA as perf has it: the value for mhpmevent. */
static int take_raw(struct vperfctr_event *event, const char *name, struct vperfctr_why *why)
{
	if (event->code & ~RISCV_RAW_DATA)
		return __vperfctr_refuse(why, -EINVAL,
					 "raw event '%s' sets more than 48 bits: modes are given by ':u' and ':k'",
					 name);
	event->aux = event->code;
	event->code = RISCV_RAW;
	return 0;
}

static int take_pfm(struct vperfctr_event *event, const struct pfm_event *pfm,
		    struct vperfctr_why *why)
{
	event->code = pfm->codes[0] & RISCV_EVENT;
	(void)why;
	return 0;
}

/* The SBI's cache events are perf's, in fewer bits. */
static void to_perf(struct __vperfctr_perf_event *to, const struct vperfctr_event *event)
{
	const uint64_t code = event->code & 0xffff;

	if (event->code == RISCV_RAW) {
		to->config = event->aux;
		to->config1 = 0;
	} else if (event->code >> 16 == 1) {
		to->type = PERF_TYPE_HW_CACHE;
		to->config = code >> 3 | (code >> 1 & 3) << 8 | (code & 1) << 16;
	} else {
		/* perf counts the SBI's events from 0 on. */
		to->type = PERF_TYPE_HARDWARE;
		to->config = code - 1;
	}
}

static bool counters(const struct vperfctr_info *info, uint64_t code, uint64_t *general)
{
	(void)info;
	(void)code;
	*general = ANY_COUNTER;
	return true;
}

/*
 * True if the counters count in all modes.  One extension (Sscofpmf) gives both modes and
 * interrupts, so counters without interrupts have no modes.
 */
static bool has_modeless(const struct vperfctr_info *info)
{
	return info->features & VPERFCTR_FEATURE_RDPMC &&
	       !(info->features & VPERFCTR_FEATURE_PCINT);
}

#define COMMON								\
	{ VPERFCTR_EVENT_BRANCHES, 0x5, .general = ANY_COUNTER },	\
	{ VPERFCTR_EVENT_BRANCH_MISSES, 0x6, .general = ANY_COUNTER },	\
	{ VPERFCTR_EVENT_REF_CYCLES, 0xa, .general = ANY_COUNTER },	\
	{ VPERFCTR_EVENT_CACHE_REFS, 0x3, .general = ANY_COUNTER },	\
	{ VPERFCTR_EVENT_CACHE_MISSES, 0x4, .general = ANY_COUNTER },	\
	{ .arch = 0 }

/* The fixed counters cannot leave out a mode. */
static const struct generic_event generic[] = {
	{ VPERFCTR_EVENT_INSTRUCTIONS, 0x2, .general = ANY_COUNTER },
	{ VPERFCTR_EVENT_CYCLES, 0x1, .general = ANY_COUNTER },
	COMMON
};

/* The firmware lets no general counter count these. */
static const struct generic_event generic_modeless[] = {
	{ VPERFCTR_EVENT_INSTRUCTIONS, 0x2, .fixed = 2 },
	{ VPERFCTR_EVENT_CYCLES, 0x1, .fixed = 1 },
	COMMON
};

#define RISCV_FAMILY							\
	.fields = RISCV_EVENT,						\
	.fields_text = "the SBI's number of an event (bits 0-19)",	\
	.raw_text = "rDATA, the value for mhpmevent",			\
	.example = "0x2",						\
	.take_raw = take_raw,						\
	.take_pfm = take_pfm,						\
	.counters = counters,						\
	.to_perf = to_perf

const struct family __vperfctr_riscv = {
	RISCV_FAMILY,
	.cpu_type = VPERFCTR_CPU_RISCV_SBI,
	.generic = generic,
	.user = RISCV_UINH,
	.kernel = RISCV_SINH,
	.excludes = true,
	.modes_text = "UINH (60), SINH (61) and ",
};

const struct family __vperfctr_riscv_modeless = {
	RISCV_FAMILY,
	.cpu_type = VPERFCTR_CPU_RISCV_SBI,
	.has = has_modeless,
	.generic = generic_modeless,
	.modes_text = "",
};
