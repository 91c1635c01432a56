// SPDX-License-Identifier: GPL-2.0
/*
 * The ring: overflows of a control with VPERFCTR_CONTROL_RING make samples instead of
 * signals, and the counters continue.
 *
 * The only writer is the owner's thread, in the interrupt that handles an overflow
 * (overflow.c), which may be an NMI.  User space cannot write to the ring: it maps it
 * read-only, and reports what it has consumed by a call.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timex.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "state.h"
#include "usercopy.h"

#define RING_SIZE_VER0	32

static unsigned int max_sample_rate = 100000;
module_param(max_sample_rate, uint, 0644);
MODULE_PARM_DESC(max_sample_rate, "samples per second in a thread's ring, 0: no limit (default 100000)");

/* The layout is ABI and must not change.  Kernel and user space write different cache lines. */
static_assert(sizeof(struct vperfctr_sample) == 56);
static_assert(offsetof(struct vperfctr_ring_page, head) == 64);
static_assert(offsetof(struct vperfctr_ring_page, tail) == 128);
static_assert(sizeof(struct vperfctr_ring_page) == 192);

struct vperfctr_buffer {
	struct vperfctr_ring_page *page;
	void *data;
	u32 pid, tid;			/* of the owner: see struct vperfctr_sample */
	u64 dropped;			/* as in the page */
	u64 dropped_before;		/* its value at the last sample */
	u64 woken_tail;			/* the tail at the last wake-up of pollers */
	size_t map_size;
	bool kernel;			/* VPERFCTR_RING_KERNEL */

	/* Throttling: see also ring_shift. */
	unsigned int nr_in_tick;	/* samples in `tick` */
	unsigned long tick;		/* in jiffies */
	cycles_t begun, ended;		/* handling the last overflow of kernel mode */
	bool crowded;			/* it came soon after the one before */
};

static u64 nr_waiting(const struct vperfctr_buffer *ring)
{
	u64 tail = READ_ONCE(ring->page->tail);

	return READ_ONCE(ring->page->head) - tail;
}

/* True if poll() must report samples. */
bool vperfctr_ring_ready(const struct vperfctr_state *st)
{
	/* Pairs with the store-release in add_ring(). */
	const struct vperfctr_buffer *ring = smp_load_acquire(&st->ring);
	u64 nr = ring ? nr_waiting(ring) : 0;

	return nr && (nr >= ring->page->watermark || !READ_ONCE(st->owner));
}

/* ---- writing ------------------------------------------------------------ */

bool vperfctr_ring_has_kernel(const struct vperfctr_state *st)
{
	return st->ring && st->ring->kernel;
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
	struct vperfctr_buffer *ring = st->ring;
	cycles_t now = get_cycles();

	ring->crowded = now - ring->ended < MIN_SPACING * (ring->ended - ring->begun);
	ring->begun = now;
}

void vperfctr_ring_end_kernel(struct vperfctr_state *st)
{
	st->ring->ended = get_cycles();
}

/*
 * Adapt the periods to one more sample.  They grow at once if one tick of the clock has
 * too many samples.  After a tick with at most half of the limit they shrink, one step
 * for each tick since.
 */
static void throttle_samples(struct vperfctr_state *st, struct vperfctr_buffer *ring)
{
	unsigned int rate = READ_ONCE(max_sample_rate);
	unsigned int limit = rate ? max_t(unsigned int, rate / HZ, 1) : UINT_MAX;
	bool grow = vperfctr_ring_counts_kernel(st) && ring->crowded;
	unsigned long now = jiffies;

	if (now != ring->tick) {
		if (ring->nr_in_tick <= max(limit / 2, 1U))
			st->ring_shift -= min_t(unsigned long, st->ring_shift, now - ring->tick);
		ring->tick = now;
		ring->nr_in_tick = 0;
	}
	if ((++ring->nr_in_tick > limit || grow) && st->ring_shift < 31)
		st->ring_shift++;
}

/* Count overflows that make no sample. */
void vperfctr_ring_drop(struct vperfctr_state *st, u64 nr)
{
	struct vperfctr_buffer *ring = st->ring;

	ring->dropped += nr;
	WRITE_ONCE(ring->page->dropped, ring->dropped);
}

static void fill_sample(const struct vperfctr_state *st, struct vperfctr_sample *sample, u64 ip,
			struct perfctr_overflow overflow)
{
	const struct vperfctr_buffer *ring = st->ring;
	unsigned int i, nrctrs = perfctr_nrctrs(&st->cpu_state.control);

	sample->type = VPERFCTR_SAMPLE_OVERFLOW;
	sample->size = ring->page->sample_size;
	/* Only addresses in the kernel have the top bit. */
	sample->flags = !ip ? 0 : ip >> 63 ? VPERFCTR_SAMPLE_KERNEL : VPERFCTR_SAMPLE_USER;
	/* Another CPU may write the last sample of an owner that does not run. */
	sample->cpu = task_cpu(st->owner);
	sample->kind = st->cpu_state.control.kind;
	sample->pid = ring->pid;
	sample->tid = ring->tid;
	sample->ip = ip;
	sample->tsc = get_cycles();
	sample->overflow = overflow.ctrs;
	sample->dropped = ring->dropped - ring->dropped_before;
	for (i = 0; i < ring->page->nrsums; i++)
		sample->sums[i] = i < nrctrs ? st->cpu_state.page->ctr[i].sum : 0;
}

/*
 * Add a sample.
 *
 * Context: the sums are up to date, and no other code changes the state.
 * Return: true if pollers must be woken.
 */
bool vperfctr_ring_add(struct vperfctr_state *st, u64 ip, struct perfctr_overflow overflow)
{
	struct vperfctr_buffer *ring = st->ring;
	struct vperfctr_ring_page *page = ring->page;
	u64 tail, head = page->head;

	throttle_samples(st, ring);
	ring->dropped += overflow.skipped;
	/* Acquire: the consumer of a slot has read it before. */
	if (head - smp_load_acquire(&page->tail) >= page->nrsamples) {
		ring->dropped += hweight32(overflow.ctrs);
		WRITE_ONCE(page->dropped, ring->dropped);
		return false;
	}
	fill_sample(st, ring->data + (head & (page->nrsamples - 1)) * page->sample_size, ip,
		    overflow);
	ring->dropped_before = ring->dropped;
	WRITE_ONCE(page->dropped, ring->dropped);
	/* A reader that sees the new head sees the sample. */
	smp_store_release(&page->head, head + 1);

	/*
	 * Wake pollers once for each tail.  Either the cmpxchg() that moves the tail comes
	 * later, and its caller sees this sample; or the new tail is seen here.
	 */
	smp_mb();
	tail = READ_ONCE(page->tail);
	if (head + 1 - tail < page->watermark || ring->woken_tail == tail)
		return false;
	ring->woken_tail = tail;
	return true;
}

/* ---- reading ------------------------------------------------------------ */

int vperfctr_consume(struct vperfctr_state *st, unsigned long nr)
{
	/* Pairs with the store-release in add_ring(). */
	struct vperfctr_buffer *ring = smp_load_acquire(&st->ring);
	u64 tail;

	if (!ring)
		return -EINVAL;
	do {
		tail = READ_ONCE(ring->page->tail);
		if (nr > READ_ONCE(ring->page->head) - tail)
			return -EINVAL;
	} while (cmpxchg(&ring->page->tail, tail, tail + nr) != tail);
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
 * Set the ids that samples show: those that the caller, who makes the ring, would see.
 *
 * Context: may sleep.  If the owner has ended, no sample will follow.
 */
static void set_ids(struct vperfctr_state *st, struct vperfctr_buffer *ring)
{
	struct pid_namespace *ns = task_active_pid_ns(current);
	struct task_struct *owner;

	rcu_read_lock();
	owner = READ_ONCE(st->owner);
	if (owner) {
		ring->pid = task_tgid_nr_ns(owner, ns);
		ring->tid = task_pid_nr_ns(owner, ns);
	}
	rcu_read_unlock();
}

/* The owner has executed a file.  It is its process's only thread, hence the first one. */
void vperfctr_ring_exec(struct vperfctr_state *st)
{
	if (st->ring)
		st->ring->tid = st->ring->pid;
}

static struct vperfctr_buffer *alloc_ring(const struct vperfctr_ring *req)
{
	struct vperfctr_buffer *ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	struct vperfctr_ring_page *page;

	if (!ring)
		return NULL;
	page = __vmalloc(req->map_size, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	if (!page) {
		kfree(ring);
		return NULL;
	}
	page->size = sizeof(*page);
	page->format = VPERFCTR_RING_FORMAT;
	page->flags = req->flags;
	page->nrsamples = req->nrsamples;
	page->watermark = req->watermark;
	page->nrsums = req->nrsums;
	page->sample_size = req->sample_size;
	page->data = PAGE_SIZE;
	ring->page = page;
	ring->data = (void *)page + PAGE_SIZE;
	ring->map_size = req->map_size;
	ring->woken_tail = U64_MAX;
	ring->kernel = req->flags & VPERFCTR_RING_KERNEL;
	return ring;
}

/* Context: the last reference to the state is gone. */
void vperfctr_ring_free(struct vperfctr_state *st)
{
	struct vperfctr_buffer *ring = st->ring;

	if (!ring)
		return;
	vperfctr_uncharge_ring(st->account, ring->map_size / 1024);
	vfree(ring->page);
	kfree(ring);
}

/*
 * Context: may sleep; the caller holds st->lock.
 * Return: 0 or an error; with -EEXIST, *req has the sizes of the ring that exists.
 */
static int add_ring(struct vperfctr_state *st, struct vperfctr_ring *req)
{
	unsigned int kb = req->map_size / 1024;
	struct vperfctr_buffer *ring;
	int err;

	if (st->ring) {
		req->sample_size = st->ring->page->sample_size;
		req->map_size = st->ring->map_size;
		return -EEXIST;
	}
	err = vperfctr_charge_ring(st->account, kb);
	if (err)
		return err;
	ring = alloc_ring(req);
	if (!ring) {
		vperfctr_uncharge_ring(st->account, kb);
		return -ENOMEM;
	}
	set_ids(st, ring);
	/* A thread that sees the ring sees its contents. */
	smp_store_release(&st->ring, ring);
	return 0;
}

static int copy_request(struct vperfctr_ring *req, const struct vperfctr_ring __user *arg)
{
	int err;

	err = vperfctr_get_struct(req, sizeof(*req), arg, RING_SIZE_VER0);
	if (err)
		return err;
	if (req->flags & ~VPERFCTR_RING_KERNEL)
		return -EINVAL;
	if (!is_power_of_2(req->nrsamples) || req->nrsamples > VPERFCTR_RING_MAX ||
	    !req->watermark || req->watermark > req->nrsamples ||
	    req->nrsums > VPERFCTR_MAX_CTRS)
		return -EINVAL;
	req->sample_size = sizeof(struct vperfctr_sample) + req->nrsums * sizeof(u64);
	req->map_size = PAGE_ALIGN(PAGE_SIZE + (u64)req->nrsamples * req->sample_size);
	return 0;
}

static int put_sizes(const struct vperfctr_ring *req, struct vperfctr_ring __user *arg)
{
	return put_user(req->sample_size, &arg->sample_size) ||
	       put_user(req->map_size, &arg->map_size) ? -EFAULT : 0;
}

int vperfctr_ring(struct vperfctr_state *st, struct vperfctr_ring __user *arg)
{
	struct vperfctr_ring req;
	int err;

	err = vperfctr_check_access(st);
	if (!err)
		err = copy_request(&req, arg);
	if (err)
		return err;
	if (!(perfctr_cpu_info.features & VPERFCTR_FEATURE_PCINT))
		return -EOPNOTSUPP;
	if ((req.flags & VPERFCTR_RING_KERNEL) && !vperfctr_may_count_kernel())
		return -EPERM;
	err = READ_ONCE(st->ring) ? 0 : vperfctr_ring_ration(st->account, req.map_size / 1024);
	if (err)
		return err;
	/* Fail before the ring exists, not after. */
	if (put_sizes(&req, arg))
		return -EFAULT;
	if (mutex_lock_killable(&st->lock))
		return -EINTR;
	err = add_ring(st, &req);
	mutex_unlock(&st->lock);
	if (err == -EEXIST && put_sizes(&req, arg))
		return -EFAULT;
	return err;
}
