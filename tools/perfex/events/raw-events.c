// SPDX-License-Identifier: GPL-2.0
/* How raw codes of events are written, for each type of processor. */
#include "perfex.h"

#define SELECT_HELP							\
	"  raw        rUUEE, hexadecimal: unit mask, then event select, as perf has it\n"	\
	"             (r00c0: event c0 with unit mask 00, instructions); digits further\n"	\
	"             left are bits of the event select register from bit 16 on:\n"		\
	"             r10000c0 has a cmask of 1\n"

#define HALF_FORM	"rEEE@N"
#define HALF_HELP							\
	"  raw        rEEE@N, hexadecimal: the event's number, on counter N\n"			\
	"  register   0xEVNTSEL@N: the counter's part of the control register\n"

/* The last one is also that of a processor that nothing says the type of. */
static const struct raw_events forms[] = {
	{ VPERFCTR_CPU_ARM_PMUV3, "rEEEE",
	  "  raw        rEEEE, hexadecimal: the event's number (r0008: instructions)\n"
	  "  register   0xEVNTSEL: the event type register as a whole\n" },
	{ VPERFCTR_CPU_INTEL_P5, HALF_FORM, HALF_HELP },
	{ VPERFCTR_CPU_CYRIX, HALF_FORM, HALF_HELP },
	{ VPERFCTR_CPU_WINCHIP, HALF_FORM, HALF_HELP },
	{ VPERFCTR_CPU_VIA_C3, HALF_FORM, HALF_HELP },
	{ VPERFCTR_CPU_RISCV_SBI, "rDATA",
	  "  raw        rDATA, hexadecimal: the value for mhpmevent, as perf has it\n"
	  "  SBI        0xNUMBER: the SBI's number of an event (0x2: instructions)\n" },
	{ VPERFCTR_CPU_POWER8, "rPUCEE",
	  "  raw        rPUCEE, hexadecimal: counter (1: PMC1), unit, combination and\n"
	  "             selector, as perf has it; rEE@N is for PMC<N + 1>, too\n"
	  "  register   0xEVNTSEL: the same, with bits for the modes\n" },
	{ VPERFCTR_CPU_PPC32, "rEE@N",
	  "  raw        rEE@N, hexadecimal: the selector of counter N, which is PMC<N + 1>\n"
	  "  register   0xEVNTSEL@N: the same, with bits for the modes\n" },
	{ VPERFCTR_CPU_INTEL_P4, "0xCCCR/0xESCR@COUNTER",
	  "  register   0xCCCR/0xESCR@COUNTER: the two registers that an event needs\n" },
	{ VPERFCTR_CPU_AMD, "rUUEE",
	  SELECT_HELP
	  "  register   0xEVNTSEL: the event select register as a whole\n" },
	{ VPERFCTR_CPU_INTEL_P6, "rUUEE",
	  SELECT_HELP
	  "  register   0xEVNTSEL: the event select register as a whole\n" },
	{ VPERFCTR_CPU_INTEL_ARCH, "rUUEE",
	  SELECT_HELP
	  "  register   0xEVNTSEL or 0xEVNTSEL/0xAUX: the event select register as a\n"
	  "             whole, and the second one that the event needs\n" },
};

const struct raw_events *raw_events_of(const struct vperfctr_info *info)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(forms) - 1; i++)
		if (forms[i].cpu_type == info->cpu_type)
			break;
	return &forms[i];
}
