// SPDX-License-Identifier: GPL-2.0
/*
 * Events that two revisions of POWER9 do not count.  Linux's driver refuses them, too
 * (arch/powerpc/perf/power9-pmu.c); it names no document.  The library has the same lists.
 */
#include <linux/cache.h>
#include <linux/kernel.h>
#include <linux/types.h>

#include "power9-errata.h"

/* The lower half of the PVR: the revision, and a bit of chips that have none of these errata. */
#define PVR_REVISION		0x0f0f
#define PVR_CUMULUS		0x2000

/* The counter (1 to 4), unit, combination and selector, of events that are not marked. */
static const u32 revision_21[] = {
	0x1f056, 0x100f4, 0x2d024, 0x3405e, 0x3f056, 0x3006c, 0x4e014, 0x4003c,
};

static const u32 revision_22[] = {
	0x1c058, 0x1c05a, 0x1c05c, 0x2c056, 0x2c05a, 0x3c056, 0x4003c, 0x4c056, 0x4c05a,
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
	return false;
}
