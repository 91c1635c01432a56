// SPDX-License-Identifier: GPL-2.0
/* Registers of samples: perf's numbers, and those of the module, which are DWARF's. */
#include <string.h>

#include "perf-data.h"
#include "perfex.h"

/* perf's first register, how many follow each other, and the module's first one. */
struct range {
	uint8_t perf, nr, ours;
};

#define MAX_RANGES	9

struct perf_regs {
	const char *machine;		/* how its name begins */
	unsigned int nrregs;
	uint64_t mask;
	struct range wide[MAX_RANGES], narrow[MAX_RANGES];	/* of 64 bits and of 32 */
};

/* x86: ax bx cx dx si di bp sp ip, and from 16 on r8 to r15. */
static const struct perf_regs all[] = {
	{
		"x86_64", VPERFCTR_X86_REGS, 0xff01ff,
		{ { 0, 1, 0 }, { 1, 1, 3 }, { 2, 1, 2 }, { 3, 1, 1 }, { 4, 4, 4 }, { 8, 1, 16 },
		  { 16, 8, 8 } },
		{ { 0, 1, 0 }, { 1, 1, 3 }, { 2, 2, 1 }, { 4, 2, 6 }, { 6, 1, 5 }, { 7, 1, 4 },
		  { 8, 1, 8 } },
	},
	/* Code of 32 bits has lr, sp and pc at 30 to 32, too. */
	{
		"aarch64", VPERFCTR_ARM64_REGS, 0x1ffffffff, { { 0, 33, 0 } },
		{ { 0, 15, 0 }, { 30, 1, 14 }, { 31, 1, 13 }, { 32, 1, 15 } },
	},
	{ "riscv64", VPERFCTR_RISCV64_REGS, 0xffffffff, { { 0, 32, 0 } }, { { 0, 32, 0 } } },
	/* nip is 32, and the link register 36. */
	{
		"ppc64", VPERFCTR_POWER64_REGS, 0x11ffffffff,
		{ { 0, 32, 0 }, { 32, 1, 33 }, { 36, 1, 32 } },
		{ { 0, 32, 0 }, { 32, 1, 33 }, { 36, 1, 32 } },
	},
};

const struct perf_regs *perf_regs_of_machine(const char *machine)
{
	size_t i;

	/* i386 to i686 */
	if (machine[0] == 'i' && !strcmp(machine + 1 + !!machine[1], "86"))
		return &all[0];
	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (!strncmp(machine, all[i].machine, strlen(all[i].machine)))
			return &all[i];
	return NULL;
}

unsigned int perf_regs_nr(const struct perf_regs *r)
{
	return r->nrregs;
}

uint64_t perf_regs_mask(const struct perf_regs *r)
{
	return r->mask;
}

int perf_regs_place(const struct perf_regs *r, unsigned int mode, unsigned int perf)
{
	const struct range *ranges = mode == VPERFCTR_USER_32 ? r->narrow : r->wide;
	size_t i;

	for (i = 0; i < MAX_RANGES; i++)
		if (perf >= ranges[i].perf && perf - ranges[i].perf < ranges[i].nr)
			return (int)(ranges[i].ours + (perf - ranges[i].perf));
	return -1;
}
