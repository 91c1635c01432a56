// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Regions: read the counters at the beginning and the end of a piece of code, at a cost
 * that is the same each time.
 *
 * The TSC and each counter are read when all instructions before have ended and are counted.
 * Otherwise some of those before begin could be counted, too, and some before end could be missing.
 *
 * The cost is the number of instructions between a counter's RDPMC in begin and the one
 * in end.  So the compiler must not inline, clone or specialize either function, and both
 * execute the same path for a given number of counters.
 */
#include "internal.h"

/* How many counters a region has room for, also with a later VPERFCTR_MAX_CTRS. */
#define REGION_CTRS	32

struct sums {
	uint64_t tsc;
	uint64_t pmc[REGION_CTRS];
};

/* The content of a struct vperfctr_region. */
struct region {
	struct vperfctr *v;
	uint32_t nr;			/* counters 0 ... nr - 1 */
	int32_t err;			/* the first error since init */
	uint32_t way_begin, way;	/* how counters were read at its begin; in calibration */
	uint64_t passes;
	uint64_t disturbed;		/* passes whose count may be a bit too large */
	struct sums start, sum, cost;
};

_Static_assert(sizeof(struct region) <= sizeof(struct vperfctr_region), "programs have this room");

static inline struct region *to_region(struct vperfctr_region *region)
{
	return (struct region *)region;
}

static inline const struct region *to_const_region(const struct vperfctr_region *region)
{
	return (const struct region *)region;
}

/* How the values were read: from the page, from the page after a retry, or by the kernel. */
enum way { WAY_NONE, WAY_PAGE, WAY_AGAIN, WAY_KERNEL };

#ifdef __clang__
#define SAME_EVERYWHERE	__attribute__((noinline))
#else
#define SAME_EVERYWHERE	__attribute__((noipa))
#endif

static inline __attribute__((always_inline)) uint64_t
pmc_in_order(const struct vperfctr_page *page, unsigned int i)
{
	const struct vperfctr_page_ctr *ctr = &page->ctr[i];

	return ctr->sum + ((__vperfctr_rdpmc_ordered(ctr->map) - ctr->start) & page->mask);
}

/* Read all values.  Returns an enum way, or a negative error number. */
static inline __attribute__((always_inline)) int
sample(const struct region *r, struct sums *to)
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
		    !(word & (r->nr ? rdpmc : rdtsc)) || !__VPERFCTR_HAS(page, r->nr))
			break;
		/* Without the TSC running, its value is tsc_sum. */
		to->tsc = page->tsc_sum +
			  (word & rdtsc ? __vperfctr_rdtsc_ordered() - page->tsc_start : 0);
		for (i = 0; i < r->nr; i++)
			to->pmc[i] = pmc_in_order(page, i);
		__vperfctr_barrier();
		if (__vperfctr_word(page) == word)
			return way;
		way = WAY_AGAIN;
	} while (__vperfctr_mine(r->v));

	err = __vperfctr_read_slow(r->v, &to->tsc, to->pmc, 0, r->nr);
	return err ? err : WAY_KERNEL;
}

SAME_EVERYWHERE void vperfctr_region_begin(struct vperfctr_region *region)
{
	struct region *r = to_region(region);
	int way = sample(r, &r->start);

	if (way < 0) {
		r->err = r->err ?: way;
		way = WAY_NONE;
	}
	/* No early return: the instructions after the read are counted, too. */
	r->way_begin = way;
}

/* Return the way without regard to a retry, which region->disturbed counts. */
static uint32_t main_way(uint32_t way)
{
	return way == WAY_AGAIN ? WAY_PAGE : way;
}

SAME_EVERYWHERE int vperfctr_region_end(struct vperfctr_region *region)
{
	struct region *r = to_region(region);
	struct sums now;
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
	/* The very first pass, during calibration, determines the way. */
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

int __vperfctr_region_prepare(struct vperfctr_region *region, struct vperfctr *v, unsigned int nr)
{
	struct region *r = to_region(region);

	memset(region, 0, sizeof(*region));
	if (nr > REGION_CTRS)
		return -EINVAL;
	r->v = v;
	r->nr = nr;
	memset(&r->cost, 0xff, sizeof(r->cost));
	return 0;
}

static void lower_to(uint64_t *least, uint64_t value)
{
	if (value < *least)
		*least = value;
}

/* Lower the costs to those of this empty pass, and remove the pass from the sums. */
int __vperfctr_region_calibrate(struct vperfctr_region *region)
{
	struct region *r = to_region(region);
	unsigned int i;

	if (r->err)
		return r->err;
	lower_to(&r->cost.tsc, r->sum.tsc);
	for (i = 0; i < r->nr; i++)
		lower_to(&r->cost.pmc[i], r->sum.pmc[i]);
	memset(&r->sum, 0, sizeof(r->sum));
	r->passes = 0;
	r->disturbed = 0;
	return 0;
}

/* Return a sum less what the passes themselves cost. */
static uint64_t without_cost(uint64_t sum, uint64_t cost)
{
	return sum > cost ? sum - cost : 0;
}

uint64_t vperfctr_region_pmc(const struct vperfctr_region *region, unsigned int i)
{
	const struct region *r = to_const_region(region);

	if (i >= r->nr)
		return UINT64_MAX;
	return without_cost(r->sum.pmc[i], r->passes * r->cost.pmc[i]);
}

uint64_t vperfctr_region_tsc(const struct vperfctr_region *region)
{
	const struct region *r = to_const_region(region);

	return without_cost(r->sum.tsc, r->passes * r->cost.tsc);
}

uint64_t vperfctr_region_passes(const struct vperfctr_region *region)
{
	return to_const_region(region)->passes;
}

uint64_t vperfctr_region_disturbed(const struct vperfctr_region *region)
{
	return to_const_region(region)->disturbed;
}
