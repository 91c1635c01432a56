// SPDX-License-Identifier: GPL-2.0
/*
 * The ring: overflows of a control with VPERFCTR_CONTROL_RING make samples instead of
 * signals, and the counters continue.
 *
 * A thread writes in the interrupt that handles its overflow (overflow.c), which may be an
 * NMI.  With VPERFCTR_CONTROL_INHERIT the threads of a family write to the ring of its root,
 * so there may be a writer on each CPU.  User space cannot write to the ring: it maps it
 * read-only, and reports what it has consumed by a call.
 *
 * A writer waits for no other.  It reserves the next slot, fills it, and marks it as filled.
 * Then it moves `head` over all filled slots.  A slot that another writer is still filling
 * stops it there, and that writer moves `head` on.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pid_namespace.h>
#include <linux/poll.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/timex.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "account.h"
#include "alloc.h"
#include "buffer.h"
#include "compat/atomic.h"
#include "compat/tsc.h"
#include "kernel-frame.h"
#include "overflow.h"
#include "permission.h"
#include "ring.h"
#include "state.h"
#include "user-frame.h"
#include "usercopy.h"

#define RING_SIZE_VER0	32

/* Bytes of a sample for the registers and this size of a stack, with their two numbers. */
#define USER_SIZE(stack)	((2 + PERFCTR_USER_REGS) * sizeof(u64) + (stack))

static unsigned int max_sample_rate = 100000;
module_param(max_sample_rate, uint, 0644);
MODULE_PARM_DESC(max_sample_rate, "samples per second of one thread, 0: no limit (default 100000)");

/* The layout is ABI and must not change.  Kernel and user space write different cache lines. */
static_assert(sizeof(struct vperfctr_sample) == 56);
static_assert(offsetof(struct vperfctr_ring_page, head) == 64);
static_assert(offsetof(struct vperfctr_ring_page, tail) == 128);
static_assert(sizeof(struct vperfctr_ring_page) == 192);
static_assert(sizeof(struct vperfctr_record) + PATH_MAX == VPERFCTR_RECORD_MAX);
static_assert(sizeof(struct vperfctr_more) == 8);
static_assert(sizeof(struct vperfctr_sampler) <= VPERFCTR_SPARE_SIZE);
/* The size of a sample is a u16. */
static_assert(sizeof(struct vperfctr_sample) +
	      (VPERFCTR_MAX_CTRS + 2 * (1 + VPERFCTR_CHAIN_MAX)) * sizeof(u64) +
	      USER_SIZE(VPERFCTR_STACK_MAX) <= U16_MAX);

/* Return a number in the page for atomic access.  On 32 bits, a plain one takes two halves. */
static __always_inline atomic64_t *page_nr(u64 *nr)
{
	return (atomic64_t *)nr;
}

static u64 nr_waiting(const struct vperfctr_buffer *ring)
{
	/* Acquire: `head` is at least as new, and so not less. */
	u64 tail = atomic64_read_acquire(page_nr(&ring->page->tail));

	return atomic64_read(page_nr(&ring->page->head)) - tail;
}

/* True if there are overflows or a clock that can make samples. */
bool vperfctr_ring_available(void)
{
	return (perfctr_cpu_info.features & VPERFCTR_FEATURE_PCINT) || vperfctr_clock_available();
}

/* True if poll() must report samples.  `over`: no more will come. */
bool vperfctr_ring_ready(const struct vperfctr_state *st, bool over)
{
	/* Pairs with the store-release in add_ring(). */
	const struct vperfctr_buffer *ring = smp_load_acquire(&st->ring);
	u64 nr = ring ? nr_waiting(ring) : 0;

	if (!nr)
		return false;
	return nr >= ring->page->watermark || over ||
	       (ring->records && vperfctr_records_full(ring->records));
}

/* True if no record will follow when no sample will. */
bool vperfctr_ring_is_over(const struct vperfctr_state *st)
{
	/* Pairs with the store-release in add_ring(). */
	const struct vperfctr_buffer *ring = smp_load_acquire(&st->ring);

	return !ring || !ring->records || !vperfctr_records_wait(ring->records);
}

/* ---- writing ------------------------------------------------------------ */

bool vperfctr_ring_has_kernel(const struct vperfctr_state *st)
{
	/* Pairs with the store-release in add_ring(). */
	const struct vperfctr_sampler *sampler = smp_load_acquire(&st->sampler);

	return sampler && sampler->ring->kernel;
}

/* Return the state whose pollers wait for the samples of this one. */
struct vperfctr_state *vperfctr_ring_waiters(const struct vperfctr_state *st)
{
	return st->sampler->ring->st;
}

/*
 * Where kernel mode is counted, the kernel's handling of an overflow can make the next
 * one.  The owner would stay at one instruction for ever.  So the periods grow unless
 * the time between two overflows is at least this many times that of the handling, from
 * `begun` to `ended`.
 */
#define MIN_SPACING	8

void vperfctr_ring_begin_kernel(struct vperfctr_state *st)
{
	struct vperfctr_sampler *sampler = st->sampler;
	/* The interrupt has saved the calls, which may take longer than all the rest. */
	cycles_t now = get_cycles() - sampler->saving;

	sampler->saving = 0;
	sampler->crowded = now - sampler->ended < MIN_SPACING * (sampler->ended - sampler->begun);
	sampler->begun = now;
}

void vperfctr_ring_end_kernel(struct vperfctr_state *st)
{
	st->sampler->ended = get_cycles();
}

/*
 * Begin to count the samples of a window.  The ring's rate has windows of several ticks, so
 * that one has at least RATE_SAMPLES.
 */
#define RATE_SAMPLES	8

static noinline void begin_window(struct vperfctr_state *st, struct vperfctr_sampler *sampler,
				  unsigned long windows)
{
	const struct vperfctr_buffer *ring = sampler->ring;
	unsigned int rate = READ_ONCE(max_sample_rate);
	unsigned int limit = rate ? max_t(unsigned int, rate / HZ, 1) : UINT_MAX;

	if (sampler->nr_in_window <= max(sampler->limit / 2, 1U))
		st->ring_shift -= min_t(unsigned long, st->ring_shift, windows);
	sampler->begun_window += windows * ring->window;
	sampler->nr_in_window = 0;
	/* The parameter limits each tick, so that a thread cannot use up a long window at once. */
	sampler->limit = ring->rate_limit ? min(ring->rate_limit, limit) : limit;
}

/*
 * Adapt the periods to one more sample.  They grow at once if a window of time has too many
 * samples.  After a window with at most half of the limit they shrink, one step for each
 * window since.
 *
 * `clock`, a constant: the sample is one by thread time.
 */
static __always_inline void throttle_samples(struct vperfctr_state *st,
					     struct vperfctr_sampler *sampler, bool clock)
{
	bool grow = (clock || vperfctr_ring_counts_kernel(st)) && sampler->crowded;
	unsigned long ticks = jiffies - sampler->begun_window;

	if (ticks >= sampler->ring->window)
		begin_window(st, sampler, ticks / sampler->ring->window);
	if ((++sampler->nr_in_window > sampler->limit || grow) && st->ring_shift < 31)
		st->ring_shift++;
}

static noinline void drop(struct vperfctr_buffer *ring, u64 nr)
{
	/* User space cannot write to the page. */
	atomic64_add(nr, page_nr(&ring->page->dropped));
	atomic64_add(nr, &ring->untold);
}

/* Count overflows that make no sample. */
void vperfctr_ring_drop(struct vperfctr_state *st, u64 nr)
{
	if (nr)
		drop(st->sampler->ring, nr);
}

/*
 * Reserve the next n of `room` slots.
 *
 * Context: interrupts disabled until the slots are published.  A writer that loses its CPU in
 * between holds back `head` for all others, for as long as other threads run there.
 * Return: false if there are not that many.
 */
static __always_inline bool reserve_slots(struct vperfctr_buffer *ring, u64 *nr, unsigned int n,
					  s64 room)
{
	s64 reserved;

	lockdep_assert_irqs_disabled();
	reserved = atomic64_read(&ring->reserved);
	do {
		/*
		 * Acquire: the consumer of a slot has read it before.  The difference is
		 * negative if others have reserved slots since, which have been consumed.
		 */
		if (reserved + n - atomic64_read_acquire(page_nr(&ring->page->tail)) > room)
			return false;
	} while (!atomic64_try_cmpxchg(&ring->reserved, &reserved, reserved + n));
	*nr = reserved;
	return true;
}

static void *slot_of(const struct vperfctr_buffer *ring, u64 nr)
{
	return ring->data + (nr & ring->mask) * ring->sample_size;
}

/*
 * True if the sample with this number is complete.  A slot that is not reserved has the bit
 * of the pass before.  The result is of no use if `head` has moved past the sample.
 */
static bool is_filled(const struct vperfctr_buffer *ring, u64 nr)
{
	bool odd_pass = nr & ((u64)ring->mask + 1);

	return test_bit(nr & ring->mask, ring->filled) == !odd_pass;
}

/*
 * Mark a slot as filled, and move `head` over all that are.
 *
 * Each writer marks its own slot before it looks at the next.  So at least one of two
 * neighbours sees both as filled.  A slot that is reserved after the last look belongs to a writer
 * that sees where `head` is.
 *
 * Return: `head`.
 */
static u64 publish_slot(struct vperfctr_buffer *ring, u64 nr)
{
	atomic64_t *head = page_nr(&ring->page->head);
	s64 at;

	smp_mb__before_atomic();	/* a reader that sees the new head sees the sample */
	change_bit(nr & ring->mask, ring->filled);
	smp_mb__after_atomic();	/* mark, then look: see above */
	at = atomic64_read(head);
	while ((u64)at == nr || is_filled(ring, at)) {
		if (likely(atomic64_try_cmpxchg(head, &at, at + 1)))
			at++;
		if (likely(at == atomic64_read(&ring->reserved)))
			break;
	}
	return at;
}

/* Add the chain of calls of user mode.  Return: the end of it. */
static u64 *add_chain(const struct vperfctr_sample *sample, u64 *chain, u32 depth, bool known)
{
	unsigned int n = 0;

	if (known) {
		if (sample->flags & VPERFCTR_SAMPLE_KERNEL)
			chain[1 + n++] = instruction_pointer(task_pt_regs(current));
		n += vperfctr_user_chain(&chain[1 + n], depth - n);
	}
	chain[0] = n;
	return &chain[1 + n];
}

/* Add all that a sample can have after the sums.  Return: the end of it. */
static noinline u64 *add_more(struct vperfctr_sampler *sampler,
			      const struct vperfctr_sample *sample, u64 *to, bool known)
{
	const struct vperfctr_ring_page *page = sampler->ring->page;

	if (page->kernel_depth)
		to = vperfctr_add_saved_calls(sampler, sample, to);
	if (page->depth)
		to = add_chain(sample, to, page->depth, known);
	if (page->stack) {
		*to = VPERFCTR_USER_NONE;
		to = known ? vperfctr_user_stack(to, page->stack) : to + 1;
	}
	return to;
}

/*
 * Add the chains of calls, the registers and the stack, after the sums.
 *
 * Context: as for vperfctr_ring_add().
 */
static noinline void add_calls(const struct vperfctr_state *st, struct vperfctr_sample *sample)
{
	const struct vperfctr_buffer *ring = st->sampler->ring;
	u64 *to = &sample->sums[ring->page->nrsums];
	/*
	 * The memory of another thread cannot be read, nor that of one that is ending.  During
	 * an exec, the memory is that of a program that may give privileges: see handle_pending().
	 * So it is after an exec that has failed too late, until the end of the thread.
	 */
	bool known = st->owner == current && current->mm && current->mm == st->sampler->mm &&
		     sample->ip && !current->in_execve && !st->sampler->hides_user;

	if (likely(!ring->more))
		to = add_chain(sample, to, ring->page->depth, known);
	else
		to = add_more(st->sampler, sample, to, known);
	sample->size = (u8 *)to - (u8 *)sample;
}

static __always_inline void fill_sample(const struct vperfctr_state *st,
					struct vperfctr_sample *sample, u64 ip,
					struct perfctr_overflow overflow, bool clock,
					u32 clock_flags)
{
	const struct vperfctr_sampler *sampler = st->sampler;
	struct vperfctr_buffer *ring = sampler->ring;
	unsigned int i, nrctrs = perfctr_nrctrs(&st->cpu_state.control);

	sample->type = clock ? VPERFCTR_SAMPLE_CLOCK : VPERFCTR_SAMPLE_OVERFLOW;
	sample->size = ring->sample_size;
	sample->flags = clock ? clock_flags :
			!ip ? 0 : perfctr_is_kernel_address(ip) ? VPERFCTR_SAMPLE_KERNEL :
			VPERFCTR_SAMPLE_USER;
	/* Another CPU may write the last sample of an owner that does not run. */
	sample->cpu = task_cpu(st->owner);
	sample->kind = st->cpu_state.control.kind;
	sample->pid = sampler->pid;
	sample->tid = sampler->tid;
	sample->ip = ip;
	sample->tsc = perfctr_get_tsc();
	sample->overflow = overflow.ctrs;
	sample->dropped = unlikely(atomic64_read(&ring->untold)) ?
			  atomic64_xchg(&ring->untold, 0) : 0;
	for (i = 0; i < ring->page->nrsums; i++)
		sample->sums[i] = i < nrctrs ? st->cpu_state.page->ctr[i].sum : 0;
	if (unlikely(ring->extra))
		add_calls(st, sample);
}

/*
 * True if pollers must be woken, as `head` has moved.
 *
 * Pollers are woken once for each tail.  Either the cmpxchg() that moves the tail comes
 * later, and its caller sees the new head; or the new tail is seen here.  Among
 * several writers, the one that has moved `head` to its last place sees at least as much.
 */
static __always_inline bool must_wake(struct vperfctr_buffer *ring, u64 head)
{
	struct vperfctr_ring_page *page = ring->page;
	u64 tail = atomic64_read(page_nr(&page->tail));

	/* The tail may have passed what another writer knows. */
	if ((s64)(head - tail) < (s64)page->watermark ||
	    (u64)atomic64_read(&ring->woken_tail) == tail)
		return false;
	atomic64_set(&ring->woken_tail, tail);
	return true;
}

/* There is no room for a sample of one or more overflows, or by thread time. */
static noinline void drop_sample(struct vperfctr_sampler *sampler, u64 n, bool clock)
{
	drop(sampler->ring, n);
	vperfctr_forget_call(sampler, clock);
}

/*
 * Add a sample.
 *
 * Context: the sums are up to date, and no other code changes the state.
 * Return: true if pollers must be woken.
 */
bool vperfctr_ring_add(struct vperfctr_state *st, u64 ip, struct perfctr_overflow overflow)
{
	struct vperfctr_buffer *ring = st->sampler->ring;
	u64 nr;

	throttle_samples(st, st->sampler, false);
	if (unlikely(overflow.skipped))
		drop(ring, overflow.skipped);
	if (unlikely(!reserve_slots(ring, &nr, 1, READ_ONCE(ring->sample_room)))) {
		drop_sample(st->sampler, hweight32(overflow.ctrs), false);
		return false;
	}
	fill_sample(st, slot_of(ring, nr), ip, overflow, false, 0);
	return must_wake(ring, publish_slot(ring, nr));
}

/*
 * Add a sample by thread time.  This is a function of its own, so that a sample by overflow
 * costs no more.  `skipped`: earlier periods that have no sample.
 *
 * Context and Return: as for vperfctr_ring_add().
 */
bool vperfctr_ring_add_clock(struct vperfctr_state *st, u64 ip, u32 flags, u64 skipped)
{
	struct vperfctr_buffer *ring = st->sampler->ring;
	const struct perfctr_overflow none = { };
	u64 nr;

	throttle_samples(st, st->sampler, true);
	if (unlikely(skipped))
		drop(ring, skipped);
	if (unlikely(!reserve_slots(ring, &nr, 1, READ_ONCE(ring->sample_room)))) {
		drop_sample(st->sampler, 1, true);
		return false;
	}
	fill_sample(st, slot_of(ring, nr), ip, none, true, flags);
	return must_wake(ring, publish_slot(ring, nr));
}

static void fill_record(const struct vperfctr_buffer *ring, u64 nr,
			const struct vperfctr_record *rec)
{
	size_t room = ring->sample_size, len = min_t(size_t, rec->size, room);
	struct vperfctr_more *more;
	size_t done = len;
	u16 slots = rec->slots;

	memcpy(slot_of(ring, nr), rec, len);
	room -= sizeof(*more);
	while (--slots) {
		more = slot_of(ring, ++nr);
		len = min_t(size_t, rec->size - done, room);
		more->type = VPERFCTR_RECORD_MORE;
		more->size = sizeof(*more) + len;
		more->slots = slots;
		more->reserved = 0;
		memcpy(more + 1, (const u8 *)rec + done, len);
		done += len;
	}
}

/* Let samples leave that many slots free. */
void vperfctr_ring_keep_room(struct vperfctr_buffer *ring, unsigned int slots)
{
	WRITE_ONCE(ring->sample_room, (s64)ring->page->nrsamples - slots);
}

/* Write a record.  Context: see reserve_slots().  Return: false if there is no room. */
static bool write_record(struct vperfctr_buffer *ring, const struct vperfctr_record *rec,
			 bool *wake)
{
	unsigned int i;
	u64 nr;

	if (!reserve_slots(ring, &nr, rec->slots, ring->page->nrsamples))
		return false;
	fill_record(ring, nr, rec);
	/* The first one last: `head` moves over the record when all of it is there. */
	for (i = rec->slots - 1; i; i--) {
		smp_mb__before_atomic();	/* as in publish_slot() */
		change_bit((nr + i) & ring->mask, ring->filled);
	}
	*wake = must_wake(ring, publish_slot(ring, nr));
	return true;
}

/*
 * Add a record to the ring, and wake pollers.
 *
 * Context: may sleep; one caller at a time.
 * Return: false if there is no room for all of its slots.
 */
bool vperfctr_ring_add_record(struct vperfctr_buffer *ring, const struct vperfctr_record *rec)
{
	bool done, wake = false;

	/* A record has at most VPERFCTR_RECORD_MAX bytes, which takes some microseconds. */
	local_irq_disable();
	done = write_record(ring, rec, &wake);
	local_irq_enable();
	/* PREEMPT_RT: not with interrupts disabled. */
	if (wake)
		wake_up_poll(&ring->st->wait, EPOLLIN | EPOLLRDNORM);
	return done;
}

/* ---- reading ------------------------------------------------------------ */

int vperfctr_consume(struct vperfctr_state *st, unsigned long nr)
{
	/* Pairs with the store-release in add_ring(). */
	struct vperfctr_buffer *ring = smp_load_acquire(&st->ring);
	struct vperfctr_ring_page *page;
	u64 tail;

	if (!ring)
		return -EINVAL;
	page = ring->page;
	do {
		/* Acquire: as in nr_waiting(). */
		tail = atomic64_read_acquire(page_nr(&page->tail));
		if (nr > (u64)atomic64_read(page_nr(&page->head)) - tail)
			return -EINVAL;
	} while ((u64)atomic64_cmpxchg(page_nr(&page->tail), tail, tail + nr) != tail);
	if (unlikely(ring->records) && nr)
		vperfctr_records_continue(ring->records);
	return 0;
}

/* Map the ring.  The caller, the file's mmap, has checked all but the size. */
int vperfctr_ring_mmap(struct vperfctr_state *st, struct vm_area_struct *vma)
{
	/* Pairs with the store-release in add_ring(). */
	struct vperfctr_buffer *ring = smp_load_acquire(&st->ring);
	unsigned long offset;
	int err = 0;

	if (!ring || vma->vm_end - vma->vm_start != ring->map_size)
		return -EINVAL;
	if (ring->kernel && !vperfctr_may_count_kernel())
		return -EPERM;
	for (offset = 0; offset < ring->map_size && !err; offset += PAGE_SIZE)
		err = remap_pfn_range(vma, vma->vm_start + offset,
				      vmalloc_to_pfn((void *)ring->page + offset), PAGE_SIZE,
				      vma->vm_page_prot);
	return err;
}

/* ---- creation and end --------------------------------------------------- */

/*
 * Set whose samples these are: the ids that they show, which are those that the maker of the ring
 * would see, and the memory.
 */
static void set_thread(struct vperfctr_sampler *sampler, const struct task_struct *task)
{
	sampler->mm = task->mm;
	sampler->pid = task_tgid_nr_ns((struct task_struct *)task, sampler->ring->ns);
	sampler->tid = task_pid_nr_ns((struct task_struct *)task, sampler->ring->ns);
}

/*
 * Let a new member of a family put its samples into the root's ring, if the control says
 * so.  Its periods begin as long as its parent's are.  The member has a reference to the
 * root, which has the ring, until it is detached.
 *
 * Return: 0, or -ENOMEM.
 */
int vperfctr_ring_inherit(struct vperfctr_state *st, const struct vperfctr_state *parent,
			  gfp_t gfp)
{
	const struct vperfctr_sampler *from = parent->sampler;

	st->sampler = vperfctr_zalloc(sizeof(*st->sampler), gfp | __GFP_ACCOUNT);
	if (!st->sampler)
		return -ENOMEM;
	st->sampler->ring = from->ring;
	st->sampler->nr_in_window = from->nr_in_window;
	st->sampler->limit = from->limit;
	st->sampler->begun_window = from->begun_window;
	st->ring_shift = parent->ring_shift;
	INIT_LIST_HEAD(&st->sampler->held);
	return 0;
}

/* Give the samples of a state what they need of its thread.  Context: any; it cannot run. */
void vperfctr_ring_attach(struct vperfctr_state *st, const struct task_struct *task)
{
	set_thread(st->sampler, task);
}

/*
 * Discard what a state keeps for samples and records that will not come.
 *
 * Context: the state is being detached, or its sampler is being put.
 */
void vperfctr_ring_detach(struct vperfctr_state *st)
{
	if (!list_empty(&st->sampler->held))
		vperfctr_records_forget(st->sampler);
	vperfctr_forget_call(st->sampler, false);
	vperfctr_forget_call(st->sampler, true);
}

/*
 * Give back the calls that are saved for a sample which does not come before a resume, if at all.
 * Otherwise suspended threads could hold all chains of a ring.
 *
 * Context: the state is suspended, and no other code changes it.
 */
void vperfctr_ring_suspend(struct vperfctr_state *st)
{
	vperfctr_forget_call(st->sampler, false);
	st->sampler->saving = 0;
}

/*
 * The state is leaving its family: from now on, its samples go to its own ring.
 *
 * Context: the state is suspended; the caller holds st->lock.
 * Return: what it had as a member, for vperfctr_ring_put().
 */
struct vperfctr_sampler *vperfctr_ring_leave(struct vperfctr_state *st)
{
	struct vperfctr_sampler *sampler = st->sampler;

	if (!sampler || (st->ring && sampler == &st->ring->own))
		return NULL;
	vperfctr_ring_detach(st);
	st->sampler = st->ring ? &st->ring->own : NULL;
	return sampler;
}

void vperfctr_ring_put(struct vperfctr_sampler *sampler)
{
	vperfctr_free(sampler);
}

static void follow_exec(struct vperfctr_sampler *sampler)
{
	sampler->tid = sampler->pid;
	sampler->mm = current->mm;
}

/* Follow an exec of the owner, which is then its process's only thread, hence the first one. */
void vperfctr_ring_exec(struct vperfctr_state *st)
{
	if (st->sampler)
		follow_exec(st->sampler);
	if (st->ring)
		follow_exec(&st->ring->own);
}

static void free_ring(struct vperfctr_buffer *ring)
{
	put_pid_ns(ring->ns);
	kvfree(ring->chains);
	kvfree(ring->filled);
	vfree(ring->page);
	kfree(ring);
}

static void set_rate(struct vperfctr_buffer *ring, u32 rate)
{
	ring->window = rate && rate < RATE_SAMPLES * HZ ? DIV_ROUND_UP(RATE_SAMPLES * HZ, rate) : 1;
	/* No overflow: `window` is 1, or the product is less than 16 * HZ. */
	ring->rate_limit = rate * ring->window / HZ;
}

/* Bytes of a slot for what follows the sums. */
static u32 size_of_calls(const struct vperfctr_ring *req)
{
	return (req->kernel_depth ? (1 + req->kernel_depth) * sizeof(u64) : 0) +
	       (req->depth ? (1 + req->depth) * sizeof(u64) : 0) +
	       (req->stack ? USER_SIZE(req->stack) : 0);
}

static struct vperfctr_buffer *alloc_ring(const struct vperfctr_ring *req)
{
	/* On 32 bits, a request can be larger than all memory, and than the user's limit was. */
	size_t map_size = (size_t)req->map_size;
	struct vperfctr_ring_page *page;
	struct vperfctr_buffer *ring;

	if (map_size != req->map_size)
		return NULL;
	ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return NULL;
	page = __vmalloc(map_size, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	ring->filled = kvcalloc(BITS_TO_LONGS(req->nrsamples), sizeof(long),
				GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	ring->ns = get_pid_ns(task_active_pid_ns(current));
	ring->page = page;
	if (req->kernel_depth)
		ring->chains = vperfctr_chains_alloc(req->kernel_depth);
	if (!page || !ring->filled || !ring->chains != !req->kernel_depth) {
		free_ring(ring);
		return NULL;
	}
	page->size = sizeof(*page);
	page->format = VPERFCTR_RING_FORMAT;
	page->flags = req->flags;
	page->nrsamples = req->nrsamples;
	page->watermark = req->watermark;
	page->nrsums = req->nrsums;
	page->sample_size = req->sample_size;
	page->depth = req->depth;
	page->stack = req->stack;
	page->kernel_depth = req->kernel_depth;
	page->data = PAGE_SIZE;
	ring->data = (void *)page + PAGE_SIZE;
	ring->map_size = map_size;
	ring->mask = req->nrsamples - 1;
	ring->sample_size = req->sample_size;
	ring->extra = size_of_calls(req);
	ring->more = req->kernel_depth || req->stack;
	ring->sample_room = req->nrsamples;
	atomic64_set(&ring->woken_tail, -1);
	ring->kernel = req->flags & VPERFCTR_RING_KERNEL;
	set_rate(ring, req->rate);
	ring->own.ring = ring;
	INIT_LIST_HEAD(&ring->own.held);
	return ring;
}

/* Free a state's ring, and leave another's.  Context: the last reference is gone. */
void vperfctr_ring_free(struct vperfctr_state *st)
{
	struct vperfctr_buffer *ring = st->ring;

	if (likely(!st->sampler))
		return;
	vperfctr_ring_put(vperfctr_ring_leave(st));
	if (!ring)
		return;
	vperfctr_records_end(ring);
	vperfctr_uncharge_ring(st->account, ring->kb);
	free_ring(ring);
}

/* Kilobytes of a ring. */
static u64 charge_of(const struct vperfctr_ring *req)
{
	u64 size = req->map_size;

	if (req->flags & VPERFCTR_RING_RECORDS)
		size += vperfctr_records_size(req->nrsamples);
	if (req->kernel_depth)
		size += vperfctr_chains_size(req->kernel_depth);
	return (size + 1023) / 1024;
}

/*
 * Make the ring of a state.
 *
 * Context: may sleep; the caller holds st->lock; `kb` have been charged.
 * Return: 0 or an error; then the caller uncharges them.
 */
static int add_ring(struct vperfctr_state *st, const struct vperfctr_ring *req, unsigned int kb)
{
	struct vperfctr_buffer *ring;
	struct task_struct *owner;
	int err;

	/* Another caller may have come first. */
	if (st->ring)
		return -EEXIST;
	ring = alloc_ring(req);
	err = !ring ? -ENOMEM :
	      req->flags & VPERFCTR_RING_RECORDS ? vperfctr_records_begin(ring) : 0;
	if (err) {
		if (ring)
			free_ring(ring);
		return err;
	}
	ring->kb = kb;
	ring->st = st;
	/* If the owner has ended, no sample will follow. */
	rcu_read_lock();
	owner = READ_ONCE(st->owner);
	if (owner)
		set_thread(&ring->own, owner);
	rcu_read_unlock();
	/* A member's samples go to the root's ring as long as it is one. */
	if (!st->sampler)
		smp_store_release(&st->sampler, &ring->own); /* see vperfctr_ring_has_kernel() */
	/* A thread that sees the ring sees its contents. */
	smp_store_release(&st->ring, ring);
	return 0;
}

/*
 * Copy the request of VPERFCTR_RING, and refuse it if that does not depend on a state.  All
 * that follows must use the copy: the caller can change the original at any time.
 *
 * Return: 0, or an error of VPERFCTR_RING.
 */
int vperfctr_ring_get(struct vperfctr_ring *req, const struct vperfctr_ring __user *arg)
{
	int err;

	err = vperfctr_get_struct(req, sizeof(*req), arg, RING_SIZE_VER0);
	if (err)
		return err;
	if (req->flags & ~(VPERFCTR_RING_KERNEL | VPERFCTR_RING_RECORDS))
		return -EINVAL;
	if (!is_power_of_2(req->nrsamples) || req->nrsamples > VPERFCTR_RING_MAX ||
	    !req->watermark || req->watermark > req->nrsamples ||
	    req->nrsums > VPERFCTR_MAX_CTRS || req->depth > VPERFCTR_CHAIN_MAX ||
	    req->stack > VPERFCTR_STACK_MAX || req->stack % sizeof(u64) ||
	    req->kernel_depth > VPERFCTR_CHAIN_MAX ||
	    (req->kernel_depth && !(req->flags & VPERFCTR_RING_KERNEL)))
		return -EINVAL;
	req->sample_size = sizeof(struct vperfctr_sample) + req->nrsums * sizeof(u64) +
			   size_of_calls(req);
	req->map_size = PAGE_ALIGN(PAGE_SIZE + (u64)req->nrsamples * req->sample_size);
	if (!vperfctr_ring_available())
		return -EOPNOTSUPP;
	if ((req->flags & VPERFCTR_RING_RECORDS) && !vperfctr_records_exist())
		return -EOPNOTSUPP;
	if (req->kernel_depth && !PERFCTR_KERNEL_FRAMES)
		return -EOPNOTSUPP;
	if ((req->flags & VPERFCTR_RING_KERNEL) && !vperfctr_may_count_kernel())
		return -EPERM;
	return 0;
}

static int put_sizes(const struct vperfctr_ring *req, struct vperfctr_ring __user *arg)
{
	return put_user(req->sample_size, &arg->sample_size) ||
	       put_user(req->map_size, &arg->map_size) ? -EFAULT : 0;
}

/* Tell the caller the sizes of the ring that exists.  Return: -EEXIST or -EFAULT. */
static int refuse_second(const struct vperfctr_buffer *ring, struct vperfctr_ring __user *arg)
{
	const struct vperfctr_ring sizes = {
		.sample_size = ring->sample_size,
		.map_size = ring->map_size,
	};

	return put_sizes(&sizes, arg) ?: -EEXIST;
}

/* Do what vperfctr_ring_create() does, after `kb` kilobytes have been charged. */
static int create_charged(struct vperfctr_state *st, const struct vperfctr_ring *req,
			  unsigned int nrstops, unsigned int kb)
{
	int err;

	err = nrstops ? vperfctr_limit_stops(st->account, nrstops, kb) :
			vperfctr_limit_rings(st->account, kb);
	if (err)
		return err;
	if (mutex_lock_killable(&st->lock))
		return -EINTR;
	err = add_ring(st, req, kb);
	mutex_unlock(&st->lock);
	return err;
}

/*
 * Refuse early what the limit of states will refuse for that many new ones of the caller, or
 * vperfctr_ring_charge() for one of them, with a ring.
 *
 * Context: may sleep.
 * Return: 0, -EAGAIN or -EOPNOTSUPP; the answer may change at once.
 */
int vperfctr_ring_may_charge(const struct vperfctr_ring *req, unsigned int nrstates)
{
	int err = vperfctr_may_charge(nrstates, charge_of(req));

	if (!err && (req->flags & VPERFCTR_RING_RECORDS))
		err = vperfctr_records_try();
	return err;
}

/*
 * Charge the ring of a state by a copied request, and refuse what can be refused at no cost.  The
 * caller must use vperfctr_ring_create() then, or give it up by vperfctr_ring_uncharge().
 *
 * Context: may sleep.
 * Return: 0, or an error of VPERFCTR_RING.
 */
int vperfctr_ring_charge(struct vperfctr_state *st, const struct vperfctr_ring *req,
			 struct vperfctr_ring __user *arg)
{
	int err;

	/* Pairs with the store-release in add_ring(). */
	if (smp_load_acquire(&st->ring))
		return refuse_second(st->ring, arg);
	/* Fail before the ring exists, not after. */
	if (put_sizes(req, arg))
		return -EFAULT;
	err = vperfctr_charge_ring(st->account, charge_of(req));
	if (err)
		return err;
	if (req->flags & VPERFCTR_RING_RECORDS)
		err = vperfctr_records_try();
	if (err)
		vperfctr_ring_uncharge(st, req);
	return err;
}

void vperfctr_ring_uncharge(struct vperfctr_state *st, const struct vperfctr_ring *req)
{
	/* The number of kilobytes fits: the limit is an unsigned int. */
	vperfctr_uncharge_ring(st->account, (unsigned int)charge_of(req));
}

/*
 * Make the ring of a state, for which it has been charged.  `nrstops`: the caller will also stop
 * the machine that many times, and this call pays for that in the same wait.
 *
 * The call uses the budget before there is any memory: a caller that fails later has paid for its
 * end.
 *
 * Context: may sleep; nothing has been done that a restart of the call would repeat.
 * Return: 0, or an error of VPERFCTR_RING; then it is no longer charged.
 */
int vperfctr_ring_create(struct vperfctr_state *st, const struct vperfctr_ring *req,
			 struct vperfctr_ring __user *arg, unsigned int nrstops)
{
	int err = create_charged(st, req, nrstops, (unsigned int)charge_of(req));

	if (err)
		vperfctr_ring_uncharge(st, req);
	return err == -EEXIST ? refuse_second(st->ring, arg) : err;
}

int vperfctr_ring(struct vperfctr_state *st, struct vperfctr_ring __user *arg)
{
	struct vperfctr_ring req;
	int err;

	err = vperfctr_check_access(st) ?: vperfctr_ring_get(&req, arg) ?:
	      vperfctr_ring_charge(st, &req, arg);
	return err ?: vperfctr_ring_create(st, &req, arg, 0);
}
