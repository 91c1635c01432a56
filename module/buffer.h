/* SPDX-License-Identifier: GPL-2.0 */
/* The memory of a ring, which its samples (ring.c) and its records (records.c) share. */
#ifndef VPERFCTR_BUFFER_H
#define VPERFCTR_BUFFER_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/types.h>

struct mm_struct;
struct pid_namespace;
struct pt_regs;
struct vperfctr_chain;
struct vperfctr_chains;
struct vperfctr_record;
struct vperfctr_records;
struct vperfctr_sample;

/* A thread that makes samples.  Its interrupts change this, or a remote call. */
struct vperfctr_sampler {
	struct vperfctr_buffer *ring;
	u32 pid, tid;			/* see struct vperfctr_sample */

	/* Throttling: see also ring_shift. */
	unsigned int nr_in_window;	/* samples since `begun_window` */
	unsigned int limit;		/* of these, before the periods grow */
	bool crowded;			/* the last overflow of kernel mode came soon */
	unsigned long begun_window;	/* in jiffies */
	cycles_t begun, ended;		/* handling the last overflow of kernel mode */
	cycles_t saving;		/* the calls of one that is not handled yet */

	bool hides_user;		/* a sample must not read the memory of user mode */
	const struct mm_struct *mm;	/* what it may read; an exec that fails leaves another */

	struct list_head held;		/* records of an exec: see records.c */

	/* Calls in the kernel of a sample that is not made yet: by an overflow, by time. */
	struct vperfctr_chain *chain[2];
};

struct vperfctr_buffer {
	struct vperfctr_ring_page *page;
	void *data;
	struct vperfctr_state *st;	/* whose ring it is */
	struct pid_namespace *ns;	/* in which samples name threads */
	struct vperfctr_records *records; /* NULL: only samples */
	size_t map_size;
	unsigned int kb;		/* charged to the user */
	u32 mask;			/* the number of slots, which is a power of two, less 1 */
	u32 sample_size;		/* as in the page */
	u32 extra;			/* bytes in it for chains, the registers and the stack */
	bool more;			/* ... that are not only a chain of user mode */
	s64 sample_room;		/* 32 bits: slots for samples; the rest is for a record */
	unsigned int window;		/* jiffies in which samples are counted */
	unsigned int rate_limit;	/* of samples of a thread in a window; 0: none */
	bool kernel;			/* VPERFCTR_RING_KERNEL */
	struct vperfctr_chains *chains;	/* for calls in the kernel; NULL: none are wanted */
	struct vperfctr_sampler own;	/* of `st` */
	/*
	 * A bit for each slot, which is changed when a sample is complete.  The ring's first
	 * pass sets them, the second one clears them, and so on.
	 */
	unsigned long *filled;

	/* All writers change these. */
	atomic64_t reserved;		/* slots, ahead of `head` */
	atomic64_t untold;		/* dropped since the last sample */
	atomic64_t woken_tail;		/* the tail at the last wake-up of pollers */
};

/* ring.c */
bool vperfctr_ring_add_record(struct vperfctr_buffer *ring, const struct vperfctr_record *rec);
void vperfctr_ring_keep_room(struct vperfctr_buffer *ring, unsigned int slots);

/* kernel-chain.c */
size_t vperfctr_chains_size(u32 depth);
struct vperfctr_chains *vperfctr_chains_alloc(u32 depth);
u64 *vperfctr_add_saved_calls(struct vperfctr_sampler *sampler,
			      const struct vperfctr_sample *sample, u64 *to);
void vperfctr_forget_call(struct vperfctr_sampler *sampler, bool clock);

/* records.c */
size_t vperfctr_records_size(u32 nrsamples);
int vperfctr_records_try(void);
int vperfctr_records_begin(struct vperfctr_buffer *ring);
void vperfctr_records_end(struct vperfctr_buffer *ring);
void vperfctr_records_continue(struct vperfctr_records *records);
bool vperfctr_records_wait(struct vperfctr_records *records);
bool vperfctr_records_full(const struct vperfctr_records *records);
void vperfctr_records_forget(struct vperfctr_sampler *sampler);

#endif /* VPERFCTR_BUFFER_H */
