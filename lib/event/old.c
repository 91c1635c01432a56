// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The Pentium, Cyrix, WinChip and VIA C3.  libpfm4 has no names of their events: there are two
 * generic ones, and raw codes.
 */
#include "x86.h"

/* Fields of a half of CESR, of the Pentium and Cyrix. */
#define OLD_EVENT	UINT64_C(0x3f)
#define OLD_OS		(UINT64_C(1) << 6)
#define OLD_USR		(UINT64_C(1) << 7)
#define OLD_CLOCKS	(UINT64_C(1) << 8)
#define OLD_CYRIX_HIGH	(UINT64_C(1) << 10)	/* the event's top bit */

/* Return false with two counters: some codes mean another event on the second one. */
static bool counters(const struct vperfctr_info *info, uint64_t code, uint64_t *general)
{
	(void)code;
	*general = ANY_COUNTER;
	return info->nrctrs <= 1;
}

static bool has_winchip_c6(const struct vperfctr_info *info)
{
	struct cpu_signature s;

	(void)info;
	__vperfctr_cpu_signature(&s);
	return s.model == 4;
}

#define GENERIC(instructions, cycles) {						\
	{ VPERFCTR_EVENT_INSTRUCTIONS, instructions, .general = ANY_COUNTER },	\
	{ VPERFCTR_EVENT_CYCLES, cycles, .general = ANY_COUNTER },		\
	{ .arch = 0 },								\
}

static const struct generic_event generic[] = GENERIC(0x16, OLD_CLOCKS);
static const struct generic_event generic_winchip_c6[] = GENERIC(0x02, 0x00);
static const struct generic_event generic_winchip[] = GENERIC(0x16, 0x3f);
static const struct generic_event generic_c3[] = GENERIC(0xc0, 0x79);

#define OLD_FAMILY							\
	.raw_text = "rUUEE, unit mask and event select",		\
	.example = "r16@0",						\
	.take_pfm = __vperfctr_take_pfm_x86,				\
	.counters = counters

#define WITH_MODES							\
	.user = OLD_USR,						\
	.kernel = OLD_OS,						\
	.modes_text = "kernel (bit 6), user (7), "

const struct family __vperfctr_p5 = {
	OLD_FAMILY,
	WITH_MODES,
	.cpu_type = VPERFCTR_CPU_INTEL_P5,
	.generic = generic,
	.fields = OLD_EVENT | OLD_CLOCKS,
	.fields_text = "an event's number (bits 0-5) and clocks (bit 8)",
};

const struct family __vperfctr_cyrix = {
	OLD_FAMILY,
	WITH_MODES,
	.cpu_type = VPERFCTR_CPU_CYRIX,
	.generic = generic,
	.fields = OLD_EVENT | OLD_CLOCKS | OLD_CYRIX_HIGH,
	.fields_text = "an event's number (bits 0-5 and 10) and clocks (bit 8)",
};

const struct family __vperfctr_winchip_c6 = {
	OLD_FAMILY,
	.cpu_type = VPERFCTR_CPU_WINCHIP,
	.has = has_winchip_c6,
	.generic = generic_winchip_c6,
	.fields = 0xff,
	.fields_text = "an event's number (bits 0-7)",
	.modes_text = "",
};

const struct family __vperfctr_winchip = {
	OLD_FAMILY,
	.cpu_type = VPERFCTR_CPU_WINCHIP,
	.generic = generic_winchip,
	.fields = 0xff,
	.fields_text = "an event's number (bits 0-7)",
	.modes_text = "",
};

const struct family __vperfctr_c3 = {
	OLD_FAMILY,
	.cpu_type = VPERFCTR_CPU_VIA_C3,
	.generic = generic_c3,
	.fields = 0x1ff,
	.fields_text = "an event's number (bits 0-8)",
	.modes_text = "",
};
