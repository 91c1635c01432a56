// SPDX-License-Identifier: GPL-2.0
/*
 * Records in the ring: what its threads did that a reader of samples must know.  These are
 * forks, exits, execs, new names, and executable mappings.
 *
 * A record is made where nothing may sleep: in the probes of exec-fork-exit.c, and in a kprobe
 * where the kernel tells perf of a mapping.  There it gets one of the ring's items, which
 * wait in a queue.  A worker finds the paths, which may sleep, and puts the files.  Then it
 * writes the records to the ring.  When the ring is full, it waits for the consumer.  If no
 * item is unused, or there is no room for a path, the record is counted as lost.
 *
 * An exec maps its file before the module can see whether the file gives privileges.  So
 * the thread holds the mappings of an exec back until its end.
 */
#include <linux/atomic.h>
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/ftrace.h>
#include <linux/gfp.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kdev_t.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/processor.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "buffer.h"
#include "compat/file-path.h"
#include "compat/tsc.h"
#include "compat/workqueue.h"
#include "family.h"
#include "kernel-frame.h"
#include "ring.h"
#include "state.h"
#include "thread.h"

struct item {
	struct list_head link;
	bool discarded;			/* not to be written */
	struct file *file;		/* of a mapping, until its path is known; or NULL */
	const char *path;		/* among `paths`; NULL: there is only a name */
	u32 paths_end;			/* see struct vperfctr_records */
	char name[TASK_COMM_LEN];
	struct vperfctr_record rec;	/* without its text and sizes */
};

struct vperfctr_records {
	struct vperfctr_buffer *ring;
	raw_spinlock_t lock;		/* of the lists, also of samplers'; innermost */
	struct list_head unused;
	struct list_head queued;	/* the worker moves the first one to `complete` */
	struct list_head complete;	/* it removes the first one when that is written */
	bool full;			/* the worker waits for room */
	struct irq_work kick;		/* queues `work`, which a trap must not: see lock_lists() */
	struct work_struct work;
	unsigned int nritems;

	/* The worker has these: */
	struct vperfctr_record *out;	/* with room for a path */
	char *paths;			/* of complete records, in their order */
	u32 paths_size, paths_begin, paths_end; /* the size is a power of two */
	bool no_room;			/* a path has found none; others wait for the ring */
	u64 find_at;			/* find no path before, in jiffies: see write_record() */
	struct item items[];
};

/* ---- the probe of mappings ------------------------------------------------ */

/*
 * perf_event_mmap() gets each new mapping and each one whose protection changes.  The
 * kprobe is armed while there is a ring with records, and for some seconds more.  Arming
 * patches the kernel's code, which all CPUs notice.
 */
#define DISARM_LATER	(10 * HZ)

static DEFINE_MUTEX(probe_mutex);
static unsigned int probe_users;	/* under probe_mutex */
static bool probe_exists, probe_is_armed;

static bool has_records(const struct vperfctr_state *st)
{
	return st && st->sampler && st->sampler->ring->records;
}

static void record_mapping(struct vperfctr_state *st, const struct vm_area_struct *vma);

static void __maybe_unused probe_mapping(const struct vm_area_struct *vma)
{
	struct vperfctr_state *st;
	unsigned long flags;

	if (!(vma->vm_flags & VM_EXEC) || vma->vm_mm != current->mm)
		return;
	local_irq_save(flags);
	/*
	 * Not vperfctr_of_current(): a remote call must not run in a trap.  Current has passed
	 * its sched_in, so a call that waits for it runs in an interrupt, which comes later.
	 */
	for (st = vperfctr_of(current); st; st = vperfctr_next_of(st)) {
		if (has_records(st))
			record_mapping(st, vma);
	}
	local_irq_restore(flags);
}

#if defined(CONFIG_HAVE_FUNCTION_ARG_ACCESS_API) && !defined(PERFCTR_FIRST_ARGUMENT)
#define PERFCTR_FIRST_ARGUMENT(regs)	regs_get_kernel_argument(regs, 0)
#endif

#if defined(CONFIG_KPROBES) && defined(PERFCTR_FIRST_ARGUMENT)
/* Record a mapping.  Context: a thread with its mmap_lock, preemption disabled. */
static int probe_perf_event_mmap(struct kprobe *probe, struct pt_regs *regs)
{
	probe_mapping((const struct vm_area_struct *)PERFCTR_FIRST_ARGUMENT(regs));
	return 0;
}

static struct kprobe probe = {
	.symbol_name	= "perf_event_mmap",
	.pre_handler	= probe_perf_event_mmap,
	.flags		= KPROBE_FLAG_DISABLED,
};

static int register_probe(void)
{
	int err = register_kprobe(&probe);

#ifdef MCOUNT_INSN_SIZE
	/*
	 * Some kernels have no kprobe on the instructions that ftrace patches, and on riscv64 a
	 * function begins with them.  Behind them the argument is still in its register.
	 */
	if (err == -EINVAL) {
		probe.addr = NULL;
		probe.offset = MCOUNT_INSN_SIZE;
		err = register_kprobe(&probe);
	}
#endif
	return err;
}

static void unregister_probe(void)
{
	unregister_kprobe(&probe);
}

static int arm_probe(void)
{
	return enable_kprobe(&probe);
}

static void disarm_probe(void)
{
	disable_kprobe(&probe);
}
#else
static int register_probe(void)
{
	return -EOPNOTSUPP;
}

static void unregister_probe(void)
{
}

static int arm_probe(void)
{
	return -EOPNOTSUPP;
}

static void disarm_probe(void)
{
}
#endif

static void disarm_if_unused(struct work_struct *work)
{
	mutex_lock(&probe_mutex);
	if (!probe_users && probe_is_armed) {
		disarm_probe();
		probe_is_armed = false;
	}
	mutex_unlock(&probe_mutex);
}

static DECLARE_DELAYED_WORK(disarm_work, disarm_if_unused);

static int get_probe(void)
{
	int err = 0;

	mutex_lock(&probe_mutex);
	if (!probe_is_armed) {
		/* For example, an administrator has disabled ftrace. */
		err = arm_probe() ? -EOPNOTSUPP : 0;
		probe_is_armed = !err;
	}
	if (!err)
		probe_users++;
	mutex_unlock(&probe_mutex);
	return err;
}

static void put_probe(void)
{
	mutex_lock(&probe_mutex);
	if (!--probe_users)
		mod_delayed_work(system_dfl_wq, &disarm_work, DISARM_LATER);
	mutex_unlock(&probe_mutex);
}

/*
 * Arm the probe, or learn that it cannot be armed, before a ring with records has a cost.  A ring
 * that is made soon finds it armed.
 *
 * Context: may sleep.
 * Return: 0 or -EOPNOTSUPP.
 */
int vperfctr_records_try(void)
{
	int err = get_probe();

	if (!err)
		put_probe();
	return err;
}

/* True if rings can have records on this kernel. */
bool vperfctr_records_exist(void)
{
	return probe_exists;
}

/* ---- making records -------------------------------------------------------- */

static void count_lost(struct vperfctr_buffer *ring)
{
	/* User space cannot write to the page. */
	atomic64_inc((atomic64_t *)&ring->page->lost);
}

/*
 * Lock the lists where a record is made.
 *
 * A kprobe may come by a trap.  Lockdep calls that an NMI, in which waiting for a lock is a
 * defect.  But the trap is only in perf_event_mmap(), which no holder of the lock calls, and
 * holders disable interrupts.
 *
 * Context: interrupts disabled.
 */
static void lock_lists(struct vperfctr_records *records)
	__acquires(&records->lock)
{
	while (!raw_spin_trylock(&records->lock))
		cpu_relax();
}

/*
 * Begin a record of a thread.
 *
 * Context: interrupts disabled; the thread is current, or does not run.
 * Return: an item, for submit_or_hold(); NULL: the record is lost.
 */
static struct item *make_record(const struct vperfctr_sampler *sampler, u16 type)
{
	struct vperfctr_records *records = sampler->ring->records;
	struct item *item;

	lock_lists(records);
	item = list_first_entry_or_null(&records->unused, struct item, link);
	if (item)
		list_del(&item->link);
	raw_spin_unlock(&records->lock);
	if (unlikely(!item)) {
		count_lost(sampler->ring);
		return NULL;
	}
	memset(&item->rec, 0, sizeof(item->rec));
	item->rec.type = type;
	item->rec.pid = sampler->pid;
	item->rec.tid = sampler->tid;
	item->rec.tsc = perfctr_get_tsc();
	item->discarded = false;
	item->path = NULL;
	item->name[0] = '\0';
	return item;
}

/* Queue a record for the ring.  Context: any. */
static void submit(struct vperfctr_records *records, struct item *item)
{
	unsigned long flags;

	local_irq_save(flags);
	lock_lists(records);
	list_add_tail(&item->link, &records->queued);
	raw_spin_unlock(&records->lock);
	local_irq_restore(flags);
	irq_work_queue(&records->kick);
}

/* Submit a record, at the end of an exec if the thread is in one. */
static void submit_or_hold(struct vperfctr_sampler *sampler, struct item *item)
{
	struct vperfctr_records *records = sampler->ring->records;

	if (!current->in_execve) {
		submit(records, item);
		return;
	}
	lock_lists(records);
	list_add_tail(&item->link, &sampler->held);
	raw_spin_unlock(&records->lock);
}

static struct item *take_held(struct vperfctr_sampler *sampler)
{
	struct vperfctr_records *records = sampler->ring->records;
	struct item *item;
	unsigned long flags;

	local_irq_save(flags);
	lock_lists(records);
	item = list_first_entry_or_null(&sampler->held, struct item, link);
	if (item)
		list_del_init(&item->link);
	raw_spin_unlock(&records->lock);
	local_irq_restore(flags);
	return item;
}

/* Record a fork.  Context: interrupts disabled; the child does not run yet. */
void vperfctr_record_fork(const struct vperfctr_state *parent, const struct vperfctr_state *child)
{
	struct item *item;

	if (!has_records(child))
		return;
	item = make_record(child->sampler, VPERFCTR_RECORD_FORK);
	if (!item)
		return;
	item->rec.parent_pid = parent->sampler->pid;
	item->rec.parent_tid = parent->sampler->tid;
	submit(child->sampler->ring->records, item);
}

/* Record a thread's end.  Context: interrupts disabled; it is current, and is ending. */
void vperfctr_record_exit(const struct vperfctr_state *st)
{
	struct item *item;

	if (!has_records(st))
		return;
	item = make_record(st->sampler, VPERFCTR_RECORD_EXIT);
	if (item)
		submit(st->sampler->ring->records, item);
}

/*
 * Discard what an exec that does not come to its end has made.
 *
 * Context: any; the ring exists.
 */
void vperfctr_records_forget(struct vperfctr_sampler *sampler)
{
	struct item *item;

	if (!sampler->ring->records)
		return;
	while ((item = take_held(sampler))) {
		item->discarded = true;
		submit(sampler->ring->records, item);
	}
}

/* Record a name.  An exec gives the new program's name before its mappings are made. */
static void record_name(struct vperfctr_state *st, const char *name)
{
	struct item *item;

	/* An earlier exec may have failed after its mappings. */
	if (current->in_execve)
		vperfctr_records_forget(st->sampler);
	item = make_record(st->sampler, current->in_execve ? VPERFCTR_RECORD_EXEC :
							     VPERFCTR_RECORD_COMM);
	if (!item)
		return;
	strscpy(item->name, name, sizeof(item->name));
	submit_or_hold(st->sampler, item);
}

/* The tracepoint probe of a new name.  A name that another thread gives is not recorded. */
void vperfctr_probe_rename(void *unused, struct task_struct *task, const char *name)
{
	struct vperfctr_state *st;
	unsigned long flags;

	if (task != current)
		return;
	local_irq_save(flags);
	for (st = vperfctr_of_current(); st; st = vperfctr_next_of_current(st)) {
		if (has_records(st))
			record_name(st, name);
	}
	local_irq_restore(flags);
}

static void record_mapping(struct vperfctr_state *st, const struct vm_area_struct *vma)
{
	struct item *item = make_record(st->sampler, VPERFCTR_RECORD_MAP);

	if (!item)
		return;
	item->rec.start = vma->vm_start;
	item->rec.end = vma->vm_end;
	if (vma->vm_file) {
		item->rec.offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
		item->file = get_file(vma->vm_file);
	} else if (vma->vm_ops && vma->vm_ops->name) {
		const char *name = vma->vm_ops->name((struct vm_area_struct *)vma);

		strscpy(item->name, name ?: "", sizeof(item->name));
	}
	submit_or_hold(st->sampler, item);
}

/*
 * Submit the records that an exec has held back, at its end.  If the exec ends the counting, its
 * mappings are discarded: the file may give privileges.
 *
 * Context: interrupts disabled; the thread is current.
 */
void vperfctr_record_exec(const struct vperfctr_state *st, bool ends)
{
	struct vperfctr_sampler *sampler = st->sampler;
	struct item *item;

	if (!has_records(st))
		return;
	while ((item = take_held(sampler))) {
		/* The exec may have changed it. */
		item->rec.tid = sampler->tid;
		item->discarded = ends && item->rec.type == VPERFCTR_RECORD_MAP;
		submit(sampler->ring->records, item);
	}
}

/* ---- writing records ------------------------------------------------------- */

static char *text_of(struct vperfctr_record *rec)
{
	return (char *)(rec + 1);
}

/* Return the first item of a list, or NULL.  Only the worker removes it.  Context: the worker. */
static struct item *first_item(struct vperfctr_records *records, struct list_head *list)
{
	struct item *item;

	raw_spin_lock_irq(&records->lock);
	item = list_first_entry_or_null(list, struct item, link);
	raw_spin_unlock_irq(&records->lock);
	return item;
}

static void move_item(struct vperfctr_records *records, struct item *item, struct list_head *to)
{
	raw_spin_lock_irq(&records->lock);
	list_move_tail(&item->link, to);
	raw_spin_unlock_irq(&records->lock);
}

/*
 * Return room for a path: the place after the last one, or the start of the memory if there
 * is less up to its end.  NULL: there is not that much.  Numbers of bytes wrap.
 */
static char *alloc_path(struct vperfctr_records *records, u32 len)
{
	u32 mask = records->paths_size - 1, at = records->paths_end;

	if ((at & mask) + len > records->paths_size)
		at = (at | mask) + 1;
	if (at + len - records->paths_begin > records->paths_size)
		return NULL;
	records->paths_end = at + len;
	return records->paths + (at & mask);
}

/*
 * Find the path of a record's file, which must not wait for room in the ring: a reader that
 * reads nothing would keep the file open.
 *
 * Return: false if there is no room for the path.
 */
static bool find_path(struct vperfctr_records *records, struct item *item)
{
	const struct inode *inode = perfctr_file_inode(item->file);
	const char *path;
	u32 len;
	char *to;

	/* A reader that reads nothing must not make the worker find paths in vain. */
	if (records->no_room || time_before64(get_jiffies_64(), records->find_at))
		return false;
	path = d_path(perfctr_file_path(item->file), text_of(records->out), PATH_MAX);
	if (IS_ERR(path))
		path = "//toolong";
	len = strlen(path) + 1;
	to = alloc_path(records, len);
	if (!to) {
		records->no_room = true;
		return false;
	}
	memcpy(to, path, len);
	item->path = to;
	item->paths_end = records->paths_end;
	item->rec.major = MAJOR(inode->i_sb->s_dev);
	item->rec.minor = MINOR(inode->i_sb->s_dev);
	item->rec.inode = inode->i_ino;
	return true;
}

/*
 * Complete the records that are queued, up to one whose path has no room before others have been
 * written.  `all`: discard that one, and those that follow it.
 */
static void complete_items(struct vperfctr_records *records, bool all)
{
	struct item *item;

	while ((item = first_item(records, &records->queued))) {
		if (item->file && !item->discarded && !find_path(records, item)) {
			if (records->no_room && !all)
				return;
			count_lost(records->ring);
			item->discarded = true;
		}
		if (item->file)
			fput(item->file);
		item->file = NULL;
		move_item(records, item, item->discarded ? &records->unused : &records->complete);
		cond_resched();
	}
}

/* Complete a record from its item. */
static void fill_record(struct vperfctr_record *rec, const struct item *item)
{
	const char *text = item->path ?: item->name;
	size_t len, padded;

	*rec = item->rec;
	rec->size = sizeof(*rec);
	if (rec->type == VPERFCTR_RECORD_FORK || rec->type == VPERFCTR_RECORD_EXIT)
		return;
	len = strlen(text) + 1;
	padded = ALIGN(len, sizeof(u64));
	memcpy(text_of(rec), text, len);
	memset(text_of(rec) + len, 0, padded - len);
	rec->text = sizeof(*rec);
	rec->size += padded;
}

/* After a path for which a ring is too small, no path is found for it for 10 milliseconds. */
#define REST_JIFFIES	(HZ / 100 + 1)

/*
 * Write a record to the ring.
 *
 * Context: the worker.
 * Return: false if there is no room.  Then vperfctr_records_continue() queues the worker.
 */
static bool write_record(struct vperfctr_records *records, const struct item *item)
{
	struct vperfctr_buffer *ring = records->ring;
	struct vperfctr_record *rec = records->out;

	fill_record(rec, item);
	rec->slots = 1;
	if (rec->size > ring->sample_size)
		rec->slots += DIV_ROUND_UP(rec->size - ring->sample_size,
					   ring->sample_size - sizeof(struct vperfctr_more));
	if (rec->slots > ring->page->nrsamples) {
		/* The ring is too small for this record, and may be so for the next one. */
		count_lost(ring);
		records->find_at = get_jiffies_64() + REST_JIFFIES;
		return true;
	}
	if (vperfctr_ring_add_record(ring, rec))
		return true;
	/* From now on, samples leave room for this record. */
	vperfctr_ring_keep_room(ring, rec->slots);
	WRITE_ONCE(records->full, true);
	smp_mb();	/* either the consumer sees `full`, or its room is seen here */
	if (!vperfctr_ring_add_record(ring, rec)) {
		/* The watermark may not be reached: see vperfctr_ring_ready(). */
		wake_up_poll(&ring->st->wait, EPOLLIN | EPOLLRDNORM);
		return false;
	}
	WRITE_ONCE(records->full, false);
	return true;
}

/* Write the records that are complete.  Return: false if the ring has no room for one. */
static bool write_complete(struct vperfctr_records *records)
{
	struct item *item;

	while ((item = first_item(records, &records->complete))) {
		if (!write_record(records, item))
			return false;
		vperfctr_ring_keep_room(records->ring, 0);
		if (item->path) {
			records->paths_begin = item->paths_end;
			records->no_room = false;
		}
		/* The list empties when the record is in the ring: see vperfctr_is_over(). */
		move_item(records, item, &records->unused);
		cond_resched();
	}
	return true;
}

static void write_records(struct work_struct *work)
{
	struct vperfctr_records *records = container_of(work, struct vperfctr_records, work);
	struct vperfctr_state *st = records->ring->st;
	bool is_full = false;

	do {
		complete_items(records, is_full);
		is_full = !write_complete(records);
	} while (first_item(records, &records->queued));
	if (!is_full && vperfctr_is_over(st))
		wake_up_poll(&st->wait, EPOLLHUP | EPOLLIN | EPOLLRDNORM);
}

static void queue_worker(struct irq_work *kick)
{
	struct vperfctr_records *records = container_of(kick, struct vperfctr_records, kick);

	queue_work(system_dfl_wq, &records->work);
}

/*
 * Write waiting records, after a consumer has made room.
 *
 * Context: the consumer's change of the tail is ordered before.
 */
void vperfctr_records_continue(struct vperfctr_records *records)
{
	if (READ_ONCE(records->full) && xchg(&records->full, false))
		queue_work(system_dfl_wq, &records->work);
}

/* True if a record waits for room. */
bool vperfctr_records_full(const struct vperfctr_records *records)
{
	return READ_ONCE(records->full);
}

/* True if records wait for the worker. */
bool vperfctr_records_wait(struct vperfctr_records *records)
{
	unsigned long flags;
	bool wait;

	raw_spin_lock_irqsave(&records->lock, flags);
	wait = !list_empty(&records->queued) || !list_empty(&records->complete);
	raw_spin_unlock_irqrestore(&records->lock, flags);
	return wait;
}

/* ---- creation and end ------------------------------------------------------- */

#define MIN_ITEMS	64
#define BYTES_PER_PATH	128

static_assert(MIN_ITEMS * BYTES_PER_PATH >= 2 * PATH_MAX);

/* How many records may wait: those of a burst. */
static unsigned int nr_items(u32 nrsamples)
{
	return clamp_t(unsigned int, nrsamples / 4, MIN_ITEMS, 4096);
}

/* Memory for paths: a power of two that has room for the longest one, wherever it begins. */
static size_t paths_size(u32 nrsamples)
{
	return roundup_pow_of_two(nr_items(nrsamples)) * BYTES_PER_PATH;
}

static size_t items_size(u32 nrsamples)
{
	return sizeof(struct vperfctr_records) + nr_items(nrsamples) * sizeof(struct item) +
	       sizeof(struct vperfctr_record) + PATH_MAX;
}

/* Return how much memory the records of such a ring need. */
size_t vperfctr_records_size(u32 nrsamples)
{
	return items_size(nrsamples) + paths_size(nrsamples);
}

/*
 * Let a ring have records.
 *
 * Context: may sleep.
 * Return: 0; -ENOMEM; -EOPNOTSUPP if the probe cannot be armed.
 */
int vperfctr_records_begin(struct vperfctr_buffer *ring)
{
	u32 nrsamples = ring->page->nrsamples;
	struct vperfctr_records *records;
	unsigned int i;
	int err;

	records = __vmalloc(vperfctr_records_size(nrsamples),
			    GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	if (!records)
		return -ENOMEM;
	records->ring = ring;
	raw_spin_lock_init(&records->lock);
	INIT_LIST_HEAD(&records->unused);
	INIT_LIST_HEAD(&records->queued);
	INIT_LIST_HEAD(&records->complete);
	init_irq_work(&records->kick, queue_worker);
	INIT_WORK(&records->work, write_records);
	records->nritems = nr_items(nrsamples);
	for (i = 0; i < records->nritems; i++)
		list_add_tail(&records->items[i].link, &records->unused);
	records->out = (struct vperfctr_record *)&records->items[records->nritems];
	records->paths = (char *)records + items_size(nrsamples);
	records->paths_size = paths_size(nrsamples);
	err = get_probe();
	if (err) {
		vfree(records);
		return err;
	}
	ring->records = records;
	return 0;
}

/*
 * Free what makes and keeps the records of a ring.
 *
 * Context: may sleep; no thread makes records any more.
 */
void vperfctr_records_end(struct vperfctr_buffer *ring)
{
	struct vperfctr_records *records = ring->records;
	unsigned int i;

	if (!records)
		return;
	put_probe();
	irq_work_sync(&records->kick);
	cancel_work_sync(&records->work);
	for (i = 0; i < records->nritems; i++) {
		if (records->items[i].file)
			fput(records->items[i].file);
	}
	vfree(records);
}

void __init vperfctr_records_init(void)
{
	probe_exists = !register_probe();
}

/* Context: no states exist. */
void vperfctr_records_exit(void)
{
	cancel_delayed_work_sync(&disarm_work);
	if (probe_exists)
		unregister_probe();
}
