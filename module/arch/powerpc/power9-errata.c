// SPDX-License-Identifier: GPL-2.0
/*
 * Events that POWER9 does not count.  The library has the same lists.
 */
#include <linux/cache.h>
#include <linux/kernel.h>
#include <linux/types.h>

#include "power9-errata.h"

/* The lower half of the PVR: the revision, and a bit of chips that have none of these errata. */
#define PVR_REVISION		0x0f0f
#define PVR_CUMULUS		0x2000

/* The counter in a code. */
#define PMC			0xf0000

/*
 * Two revisions do not count these.  A code has the counter (1 to 4), unit, combination and
 * selector.  Linux's driver refuses them, too (arch/powerpc/perf/power9-pmu.c); it names no
 * document.
 */
static const u32 revision_21[] = {
	0x1f056, 0x100f4, 0x2d024, 0x3405e, 0x3f056, 0x3006c, 0x4e014, 0x4003c,
};

static const u32 revision_22[] = {
	0x1c058, 0x1c05a, 0x1c05c, 0x2c056, 0x2c05a, 0x3c056, 0x4003c, 0x4c056, 0x4c05a,
};

/*
 * Events of marked instructions whose codes lack the bit for that, so that nothing would enable the
 * marking, and the count would be 0: those that libpfm4 names PM_MRK_...  Those without a counter
 * are for all of them.
 */
static const u32 marked[] = {
	0x1d056, 0x1f05e, 0x24056, 0x24058, 0x28a4, 0xd098, 0xd09c, 0xd0a0, 0xd0a4, 0xd898,
	0xd89c, 0xd8a0, 0xd8a4,
};

static struct {
	const u32 *codes;
	unsigned int nr;
} errata __ro_after_init;

const char *perfctr_power9_errata(u32 pvr)
{
	if (pvr & PVR_CUMULUS)
		return NULL;
	switch (pvr & PVR_REVISION) {
	case 0x0201:
		errata.codes = revision_21;
		errata.nr = ARRAY_SIZE(revision_21);
		return "IBM POWER9 revision 2.1";
	case 0x0202:
		errata.codes = revision_22;
		errata.nr = ARRAY_SIZE(revision_22);
		return "IBM POWER9 revision 2.2";
	}
	return NULL;
}

bool perfctr_power9_is_broken(u32 code)
{
	unsigned int i;

	for (i = 0; i < errata.nr; i++) {
		if (errata.codes[i] == code)
			return true;
	}
	for (i = 0; i < ARRAY_SIZE(marked); i++) {
		if (marked[i] == (marked[i] & PMC ? code : code & ~PMC))
			return true;
	}
	return false;
}
