// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Events of the Pentium, Cyrix, WinChip and VIA C3.  libpfm4 has no names of them: there are
 * two generic events, and raw codes.
 */
#include "event.h"

bool __vperfctr_old_generic(const struct vperfctr_info *info, uint32_t arch, uint64_t *code)
{
	const bool cycles = arch == VPERFCTR_EVENT_CYCLES;
	struct cpu_signature s;

	if (!cycles && arch != VPERFCTR_EVENT_INSTRUCTIONS)
		return false;
	switch (info->cpu_type) {
	case VPERFCTR_CPU_VIA_C3:
		*code = cycles ? 0x79 : 0xc0;
		return true;
	case VPERFCTR_CPU_WINCHIP:
		__vperfctr_cpu_signature(&s);
		if (s.model == 4)	/* C6 */
			*code = cycles ? 0x00 : 0x02;
		else
			*code = cycles ? 0x3f : 0x16;
		return true;
	default:
		*code = cycles ? OLD_CLOCKS : 0x16;
		return true;
	}
}

uint64_t __vperfctr_old_settable(const struct vperfctr_info *info)
{
	switch (info->cpu_type) {
	case VPERFCTR_CPU_VIA_C3:
		return 0x1ff;
	case VPERFCTR_CPU_WINCHIP:
		return 0xff;
	case VPERFCTR_CPU_CYRIX:
		return OLD_EVENT | OLD_CLOCKS | OLD_CYRIX_HIGH;
	default:
		return OLD_EVENT | OLD_CLOCKS;
	}
}

const char *__vperfctr_old_describe_settable(const struct vperfctr_info *info)
{
	switch (info->cpu_type) {
	case VPERFCTR_CPU_VIA_C3:
		return "an event's number (bits 0-8)";
	case VPERFCTR_CPU_WINCHIP:
		return "an event's number (bits 0-7)";
	case VPERFCTR_CPU_CYRIX:
		return "an event's number (bits 0-5 and 10) and clocks (bit 8)";
	default:
		return "an event's number (bits 0-5) and clocks (bit 8)";
	}
}
