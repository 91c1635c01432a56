// SPDX-License-Identifier: LGPL-2.1-or-later
/* Reads that the inline functions cannot do: of a suspended state, and by the kernel. */
#include <stdbool.h>
#include <unistd.h>

#include "internal.h"

int vperfctr_read_state_sized(struct vperfctr *v, struct vperfctr_read *read, size_t size)
{
	if (!__vperfctr_is_size(size, __VPERFCTR_SIZE_WITH(struct vperfctr_read, soft)))
		return -EINVAL;
	read->size = (uint32_t)size;
	if (to_handle(v)->perf)
		return __vperfctr_perf_read_state(to_handle(v), read);
	return __vperfctr_ioctl(to_handle(v)->fd, VPERFCTR_READ, read);
}

/*
 * True if the handle belongs to another thread than the caller, which lives; read->status is of
 * VPERFCTR_READ_OWNER.  The caller may have the owner's thread pointer: in the child of a fork,
 * and in that of a vfork, which has the owner's memory, too.
 */
static bool is_others(const struct vperfctr *v, const struct vperfctr_read *read)
{
	return v->thread && read->status & VPERFCTR_STATUS_ATTACHED &&
	       !(read->status & VPERFCTR_STATUS_OWNER);
}

int vperfctr_read_soft(struct vperfctr *v, uint64_t soft, uint64_t *value)
{
	struct vperfctr_soft all = { .size = sizeof(all) };
	struct vperfctr_read read = {
		.nrctrs = VPERFCTR_MAX_CTRS,
		.flags = VPERFCTR_READ_OWNER,
		.soft = (uintptr_t)&all,
	};
	unsigned int i;
	int err;

	err = vperfctr_read_state(v, &read);
	if (err)
		return err;
	if (is_others(v, &read))
		return -EPERM;
	if (!soft || soft & ~(uint64_t)all.soft)
		return -EINVAL;
	*value = 0;
	for (i = 0; i < VPERFCTR_NR_SOFT; i++)
		if (soft >> i & 1)
			*value += all.count[i].own;
	return 0;
}

/*
 * Read a suspended state, whose values are the sums in the page.  The caller is the
 * owner.  Returns 0 if the state is not suspended or the page does not have these
 * counters; then the kernel must read.
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
 * True if the page may not be the caller's, so that the kernel must say: the handle belongs to
 * another thread; or the page controls nothing, as that of zeros which a child sees.  A child may
 * have the process ID of its parent: in another PID namespace, or when the parent has ended.
 */
static bool may_be_foreign(const struct vperfctr *v, uint32_t cstatus)
{
	return v->thread && (!__vperfctr_mine(v) || !cstatus);
}

/* With the module. */
static __attribute__((noinline)) int read_module(struct vperfctr *v, uint64_t *tsc, uint64_t *pmc,
						 unsigned int first, unsigned int nr)
{
	/* A struct vperfctr_sums with room for all counters. */
	uint64_t sums[1 + VPERFCTR_MAX_CTRS];
	struct vperfctr_read read = {
		.nrctrs = VPERFCTR_MAX_CTRS,
		.flags = VPERFCTR_READ_OWNER,
		.sums = (uintptr_t)sums,
	};
	uint32_t cstatus;
	bool foreign;
	int err;

	/* One load: a monitor may control the caller's state at any time. */
	cstatus = v->page->cstatus;
	__vperfctr_barrier();
	foreign = may_be_foreign(v, cstatus);
	/* RUNNING: the owner is alive.  READ would interrupt it for nothing. */
	if (foreign && (cstatus & VPERFCTR_CSTATUS_RUNNING))
		return -EPERM;
	if (!foreign && read_suspended(v->page, tsc, pmc, first, nr))
		return 0;
	err = vperfctr_read_state(v, &read);
	if (err)
		return err;
	/* Any thread may read the final sums of a thread that has ended. */
	if (is_others(v, &read))
		return -EPERM;
	if (first > read.nrctrs || nr > read.nrctrs - first)
		return -EINVAL;
	if (tsc)
		*tsc = sums[0];
	if (nr)
		memcpy(pmc, &sums[1 + first], nr * sizeof(*pmc));
	return 0;
}

int __vperfctr_read_slow(struct vperfctr *v, uint64_t *tsc, uint64_t *pmc,
			 unsigned int first, unsigned int nr)
{
	if (to_handle(v)->perf)
		return __vperfctr_perf_read(to_handle(v), tsc, pmc, first, nr);
	return read_module(v, tsc, pmc, first, nr);
}
