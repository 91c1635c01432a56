// SPDX-License-Identifier: LGPL-2.1-or-later
/* Reading, where the page and a few instructions do not do. */
#include <stdbool.h>
#include <unistd.h>

#include "internal.h"

int vperfctr_read_state(struct vperfctr *v, struct vperfctr_read *read)
{
	read->size = sizeof(*read);
	return __vperfctr_ioctl(to_handle(v)->fd, VPERFCTR_READ, read);
}

/*
 * While the owner, who is the caller, is suspended the sums in the page are the
 * values.  Returns 0 if it is not, or if the page has not got these counters:
 * the kernel is to be asked, then.
 */
static int read_suspended(const struct vperfctr_page *page, uint64_t *tsc,
			  uint64_t *pmc, unsigned int first, unsigned int nr)
{
	uint32_t seq, cstatus, nrctrs;
	unsigned int i;

	do {
		__vperfctr_barrier();
		seq = page->samplecount;
		__vperfctr_barrier();
		cstatus = page->cstatus;
		nrctrs = VPERFCTR_CSTATUS_NRCTRS(cstatus);
		if (cstatus & VPERFCTR_CSTATUS_RUNNING || first > nrctrs || nr > nrctrs - first)
			return 0;
		if (tsc)
			*tsc = page->tsc_sum;
		for (i = 0; i < nr; i++)
			pmc[i] = page->ctr[first + i].sum;
		__vperfctr_barrier();
	} while (page->samplecount != seq);
	return 1;
}

/*
 * True if the page is not the caller's: the handle belongs to another thread, or the
 * caller is a child of the handle's process, where fork has put a page of zeros.  The
 * process is looked at only if nothing is controlled, which that page says: so a
 * suspended owner needs no system call.
 */
static bool is_foreign(const struct vperfctr *v)
{
	const struct vperfctr_handle *h = to_const_handle(v);

	if (!v->thread)
		return false;
	return !__vperfctr_mine(v) || (!v->page->cstatus && h->mapper != getpid());
}

int __vperfctr_read_slow(struct vperfctr *v, uint64_t *tsc, uint64_t *pmc,
			 unsigned int first, unsigned int nr)
{
	/* A struct vperfctr_sums with room for all. */
	uint64_t sums[1 + VPERFCTR_MAX_CTRS];
	struct vperfctr_read read = {
		.nrctrs = VPERFCTR_MAX_CTRS,
		.sums = (uintptr_t)sums,
	};
	const bool foreign = is_foreign(v);
	int err;

	/* That one lives: which is found without disturbing it. */
	if (foreign && (v->page->cstatus & VPERFCTR_CSTATUS_RUNNING))
		return -EPERM;
	if (!foreign && read_suspended(v->page, tsc, pmc, first, nr))
		return 0;
	err = vperfctr_read_state(v, &read);
	if (err)
		return err;
	/*
	 * What is left by a thread that has ended is final, and anybody's: a later thread
	 * can have its control block, and cannot be told from it.
	 */
	if (foreign && (read.status & VPERFCTR_STATUS_ATTACHED))
		return -EPERM;
	if (first > read.nrctrs || nr > read.nrctrs - first)
		return -EINVAL;
	if (tsc)
		*tsc = sums[0];
	if (nr)
		memcpy(pmc, &sums[1 + first], nr * sizeof(*pmc));
	return 0;
}
