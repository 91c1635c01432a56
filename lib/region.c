// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Regions: reading at the beginning and at the end of some code, with a cost that is
 * the same each time.
 *
 * What counts is how many instructions there are between a counter's RDPMC in begin and
 * the one in end: so neither may be inlined, cloned or tailored to a caller, and the two
 * go the same way for a given number of counters.
 */
#include "internal.h"

/* How the values were read. */
enum way { WAY_NONE, WAY_PAGE, WAY_AGAIN, WAY_KERNEL };

#ifdef __clang__
#define SAME_EVERYWHERE	__attribute__((noinline))
#else
#define SAME_EVERYWHERE	__attribute__((noipa))
#endif

/* The way, or a negative error number. */
static inline __attribute__((always_inline)) int
sample(const struct vperfctr_region *r, struct __vperfctr_region_sums *to)
{
	const uint64_t rdpmc = __VPERFCTR_WORD(VPERFCTR_CSTATUS_RDPMC);
	const uint64_t rdtsc = __VPERFCTR_WORD(VPERFCTR_CSTATUS_TSC);
	const uint64_t running = __VPERFCTR_WORD(VPERFCTR_CSTATUS_RUNNING);
	const struct vperfctr_page *page = r->v->page;
	enum way way = WAY_PAGE;
	unsigned int i;
	uint64_t word;
	int err;

	do {
		word = __vperfctr_begin(r->v, page);
		__vperfctr_barrier();
		if (!VPERFCTR_HAVE_RDPMC || !VPERFCTR_HAVE_RDTSC || !(word & running) ||
		    !(word & (r->nr ? rdpmc : rdtsc)))
			break;
		/* tsc_sum is what there is without. */
		to->tsc = page->tsc_sum + (word & rdtsc ? __vperfctr_rdtsc() - page->tsc_start : 0);
		for (i = 0; i < r->nr; i++)
			to->pmc[i] = __vperfctr_pmc(page, i, page->mask);
		__vperfctr_barrier();
		if (__vperfctr_word(page) == word)
			return way;
		way = WAY_AGAIN;
	} while (__vperfctr_mine(r->v));

	err = __vperfctr_read_slow(r->v, &to->tsc, to->pmc, 0, r->nr);
	return err ? err : WAY_KERNEL;
}

SAME_EVERYWHERE void vperfctr_region_begin(struct vperfctr_region *r)
{
	int way = sample(r, &r->start);

	if (way < 0) {
		r->err = way;
		way = WAY_NONE;
	}
	/* Nothing that depends on the way: this is counted, too. */
	r->way_begin = way;
}

/* Without "again". */
static uint32_t main_way(uint32_t way)
{
	return way == WAY_AGAIN ? WAY_PAGE : way;
}

SAME_EVERYWHERE int vperfctr_region_end(struct vperfctr_region *r)
{
	struct __vperfctr_region_sums now;
	int way = sample(r, &now);
	unsigned int i;

	if (r->err)
		return r->err;
	if (way < 0) {
		r->err = way;
		return way;
	}
	if (r->way_begin == WAY_NONE) {
		r->err = -EINVAL;
		return r->err;
	}
	/* The first pass of all, which is one of calibration, says how it is to be. */
	if (r->way == WAY_NONE)
		r->way = main_way(way);
	if (main_way(way) != r->way || main_way(r->way_begin) != r->way) {
		r->err = -EAGAIN;
		return r->err;
	}
	r->disturbed += way == WAY_AGAIN || r->way_begin == WAY_AGAIN;
	r->way_begin = WAY_NONE;
	r->passes++;
	r->sum.tsc += now.tsc - r->start.tsc;
	for (i = 0; i < r->nr; i++)
		r->sum.pmc[i] += now.pmc[i] - r->start.pmc[i];
	return 0;
}

int __vperfctr_region_prepare(struct vperfctr_region *r, struct vperfctr *v, unsigned int nr)
{
	memset(r, 0, sizeof(*r));
	if (nr > VPERFCTR_MAX_CTRS)
		return -EINVAL;
	r->v = v;
	r->nr = nr;
	memset(&r->cost, 0xff, sizeof(r->cost));
	return 0;
}

static void take_least(uint64_t *least, uint64_t value)
{
	if (value < *least)
		*least = value;
}

/* After a pass with nothing in it.  Leaves the region without passes. */
int __vperfctr_region_calibrate(struct vperfctr_region *r)
{
	unsigned int i;

	if (r->err)
		return r->err;
	take_least(&r->cost.tsc, r->sum.tsc);
	for (i = 0; i < r->nr; i++)
		take_least(&r->cost.pmc[i], r->sum.pmc[i]);
	memset(&r->sum, 0, sizeof(r->sum));
	r->passes = 0;
	r->disturbed = 0;
	return 0;
}
