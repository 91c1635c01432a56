// SPDX-License-Identifier: LGPL-2.1-or-later
/* All inline code of the public headers, as C and C++: see headers. */
#define VPERFCTR_INLINE
#include <vperfctr-event.h>

/* The shortest forms, which have other asm operands. */
int read_first(struct vperfctr *v, uint64_t *value)
{
	return vperfctr_read_pmc(v, 0, value);
}

int read_two(struct vperfctr *v, uint64_t *pmc)
{
	return vperfctr_read(v, NULL, pmc, 2);
}

int read_all(struct vperfctr *v, uint64_t *tsc, uint64_t *pmc)
{
	return vperfctr_read(v, tsc, pmc, 3);
}

int read_nine(struct vperfctr *v, uint64_t *tsc, uint64_t *pmc)
{
	return vperfctr_read(v, tsc, pmc, 9);
}

/* For the regions in the library only. */
uint64_t read_in_order(uint32_t map)
{
	return __vperfctr_rdpmc_ordered(map) + __vperfctr_rdtsc_ordered();
}
