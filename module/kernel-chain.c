// SPDX-License-Identifier: GPL-2.0
/*
 * Where a sample of kernel mode was called from: the return addresses on the kernel's stack.
 *
 * The interrupt that finds the overflow, which may be an NMI, follows the stack.  It cannot
 * be done later: when the sample is made (overflow.c), the function that was interrupted may
 * have returned.  Until then the addresses wait in one of the ring's chains.
 *
 * A chain is used for a wait only, which is short unless the thread is switched out
 * meanwhile.  So a ring needs fewer of them than it has threads, and a fork needs no memory.
 * If all are in use, the sample has no calls in the kernel.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/smp.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timex.h>

#include "buffer.h"
#include "kernel-frame.h"
#include "overflow.h"
#include "state.h"

struct vperfctr_chain {
	u64 ip;			/* what the interrupt interrupted */
	unsigned int n;
	u64 ret[];
};

struct vperfctr_chains {
	unsigned int nr;
	unsigned int depth;	/* of each, at most */
	unsigned long *used;	/* a bit for each */
	void *data;
};

static unsigned int nr_chains(void)
{
	return nr_cpu_ids + 64;
}

static size_t size_of_chain(u32 depth)
{
	return struct_size((struct vperfctr_chain *)NULL, ret, depth + PERFCTR_KERNEL_EXTRA);
}

/* Return the bytes that vperfctr_chains_alloc() needs. */
size_t vperfctr_chains_size(u32 depth)
{
	return sizeof(struct vperfctr_chains) + BITS_TO_LONGS(nr_chains()) * sizeof(long) +
	       nr_chains() * size_of_chain(depth);
}

/* Context: may sleep.  Return: the chains, for kvfree(), or NULL. */
struct vperfctr_chains *vperfctr_chains_alloc(u32 depth)
{
	struct vperfctr_chains *chains = kvzalloc(vperfctr_chains_size(depth),
						  GFP_KERNEL_ACCOUNT | __GFP_NOWARN);

	if (!chains)
		return NULL;
	chains->nr = nr_chains();
	chains->depth = depth;
	chains->used = (void *)(chains + 1);
	chains->data = chains->used + BITS_TO_LONGS(chains->nr);
	return chains;
}

static struct vperfctr_chain *get_chain(struct vperfctr_chains *chains)
{
	/* Each CPU begins at another chain, so that two CPUs seldom try the same one. */
	unsigned int i, at = raw_smp_processor_id();

	for (i = 0; i < chains->nr; i++, at++) {
		at %= chains->nr;
		/* Acquire: the previous user has read it. */
		if (!test_bit(at, chains->used) && !test_and_set_bit_lock(at, chains->used))
			return chains->data + at * size_of_chain(chains->depth);
	}
	return NULL;
}

static void put_chain(struct vperfctr_chains *chains, struct vperfctr_chain *chain)
{
	size_t offset = (void *)chain - chains->data;

	clear_bit_unlock(offset / size_of_chain(chains->depth), chains->used);
}

/*
 * Save the calls that led to where an interrupt came, for the sample that it makes.
 * `clock`: it will be one by thread time; else by an overflow, and the two may wait at
 * the same time.
 *
 * Context: any interrupt, NMI included, of the state's owner in kernel mode; the sample may
 * have the address there: vperfctr_ring_has_kernel() and the control say so.
 */
void vperfctr_save_calls(struct vperfctr_state *st, struct pt_regs *regs, bool clock)
{
	struct vperfctr_sampler *sampler = st->sampler;
	struct vperfctr_chains *chains = sampler->ring->chains;
	struct vperfctr_chain *chain;
	cycles_t begun;

	if (likely(!chains))
		return;
	/* Another interrupt may have come before the sample was made. */
	chain = sampler->chain[clock] ?: get_chain(chains);
	sampler->chain[clock] = chain;
	if (!chain)
		return;
	begun = get_cycles();
	chain->ip = instruction_pointer(regs);
	chain->n = perfctr_kernel_frames(chain->ret, chains->depth, regs);
	/* A sample by thread time is made at once, so its handling includes this. */
	if (!clock)
		sampler->saving = get_cycles() - begun;
}

/*
 * Add the calls that were saved for a sample.
 *
 * Context: as for vperfctr_ring_add().
 * Return: the end of what was stored.
 */
u64 *vperfctr_add_saved_calls(struct vperfctr_sampler *sampler,
			      const struct vperfctr_sample *sample, u64 *to)
{
	struct vperfctr_chain **saved = &sampler->chain[sample->type == VPERFCTR_SAMPLE_CLOCK];
	struct vperfctr_chain *chain = *saved;

	*to = 0;
	if (!(sample->flags & VPERFCTR_SAMPLE_KERNEL) || !chain)
		return to + 1;
	/* Otherwise it was left by a sample that was not made. */
	if (likely(chain->ip == sample->ip)) {
		*to = chain->n;
		memcpy(to + 1, chain->ret, chain->n * sizeof(u64));
	}
	/* Counters that can use it again are still stopped. */
	*saved = NULL;
	put_chain(sampler->ring->chains, chain);
	return to + 1 + *to;
}

/*
 * Give back the chain that was saved for a sample which will not come.  `clock`: see
 * vperfctr_save_calls().
 *
 * Context: as for vperfctr_ring_add(), or the sampler is not used any more.
 */
void vperfctr_forget_call(struct vperfctr_sampler *sampler, bool clock)
{
	struct vperfctr_chain *chain = sampler->chain[clock];

	sampler->chain[clock] = NULL;
	if (chain)
		put_chain(sampler->ring->chains, chain);
}
