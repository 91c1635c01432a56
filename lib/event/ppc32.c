// SPDX-License-Identifier: LGPL-2.1-or-later
/* 32-bit PowerPC, which libpfm4 does not know. */
#include "family.h"

#define PPC32_EVENT	UINT64_C(0xff)	/* a counter's selector */
#define PPC32_NOT_USER	(UINT64_C(1) << 62)
#define PPC32_NOT_KERNEL (UINT64_C(1) << 63)

#define INSTRUCTIONS	UINT64_C(0x02)
#define CYCLES		UINT64_C(0x01)
#define WITH_INSTRUCTIONS UINT64_C(0xf)	/* PMC1 to PMC4: the selector is another event on the others */

static bool is_instructions(struct vperfctr_event *event)
{
	if (event->code != INSTRUCTIONS)
		return false;
	event->arch = VPERFCTR_EVENT_INSTRUCTIONS;
	return true;
}

static void leave_choice(struct vperfctr_event *event)
{
	if (event->code == INSTRUCTIONS)
		event->general &= WITH_INSTRUCTIONS;
}

/* Return false: most selectors mean another event on each counter. */
static bool counters(const struct vperfctr_info *info, uint64_t code, uint64_t *general)
{
	(void)info;
	(void)code;
	(void)general;
	return false;
}

/* Refuse events in different modes: all counters of a control count in the same. */
static int place(const struct vperfctr_event *event, unsigned int nr, uint32_t *counter_of,
		 uint64_t *code_of, const struct vperfctr_info *info, struct vperfctr_why *why)
{
	unsigned int i;

	(void)counter_of;
	(void)code_of;
	(void)info;
	for (i = 1; i < nr; i++)
		if (event[i].modes != event[0].modes)
			return __vperfctr_refuse(why, -EINVAL,
						 "this processor counts all events in the same modes: '%s' has other modes than '%s'",
						 event[i].name, event[0].name);
	return 0;
}

static const struct generic_event generic[] = {
	{ VPERFCTR_EVENT_INSTRUCTIONS, INSTRUCTIONS, .general = WITH_INSTRUCTIONS },
	{ VPERFCTR_EVENT_CYCLES, CYCLES, .general = ANY_COUNTER },
	{ .arch = 0 },
};

const struct family __vperfctr_ppc32 = {
	.cpu_type = VPERFCTR_CPU_PPC32,
	.generic = generic,
	.user = PPC32_NOT_USER,
	.kernel = PPC32_NOT_KERNEL,
	.excludes = true,
	.fields = PPC32_EVENT,
	.fields_text = "the counter's selector (bits 0-7)",
	.modes_text = "not user (62), not kernel (63) and ",
	.raw_text = "rEE, the counter's selector",
	.example = "r02@0",
	.is_special = is_instructions,
	.counters = counters,
	.leave_choice = leave_choice,
	.place = place,
};
