// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Count by perf_event_open(2), where the module cannot count.
 *
 * The events of a handle are one group, which perf_event counts as a whole or not at all.
 * The group is pinned, so perf_event gives it no turns with other groups.  If the counters
 * do not suffice, a read of a pinned group returns nothing, until the group is enabled again.
 * An inherited group cannot be pinned: of a child whose group failed perf_event reports neither
 * time nor counts.  Such a group, and one on CPUs of several kinds, can lose time.  Then the time
 * for which it was enabled differs from the time for which it counted, and a read returns an error.
 *
 * A handle has one such group, or several with the same events, whose counts are added: one for
 * each thread, or for each CPU, or for each thread on each CPU.  The last are for samples:
 * perf_event has no buffer for a thread and its children on all CPUs.  The group of a CPU on
 * which the thread does not run is enabled there, too.  So each such thread has a clock besides,
 * an event that nothing can keep from counting.  The groups of a thread that has lost no time
 * have counted for as long as its clock.
 */
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"
#include "perf-pages.h"
#include "perf.h"

struct __vperfctr_perf {
	unsigned int nrctrs;		/* counters */
	unsigned int nr;		/* all events of a group */
	unsigned int nrgroups;		/* that are open */
	unsigned int nrcpus;		/* groups of a thread, which follow each other */
	unsigned int nrclocks;		/* of threads; 0: they have one group each */
	int *clock;
	int *cpu;			/* of each group, if CPUs are counted, or NULL */
	pid_t tid;			/* the thread that is counted */
	bool suspended, stopped, unlinked;
	bool lost;			/* a group had no counters before it was enabled again */
	uint32_t soft;			/* VPERFCTR_SOFT_* that are counted */
	uint32_t mult, shift;		/* ticks of the TSC to nanoseconds; mult 0: not known */
	/* The place of each counter and software counter in the group. */
	uint8_t place[VPERFCTR_MAX_CTRS], soft_place[VPERFCTR_NR_SOFT];
	int *fd;			/* of all groups; of each, the leader is the first */
	struct __vperfctr_perf_pages *pages;	/* of the caller's events, or NULL */
	/* The time and the counts of each thread or CPU at the last reset, and room for the next. */
	uint64_t *base[2];
	unsigned int current;		/* the index of those of the last reset */
	volatile unsigned int resets;	/* that a signal handler may have made meanwhile */
};

/* The result of a read of the group. */
struct group {
	uint64_t nr, enabled, running;
	uint64_t value[PERF_GROUP_MAX];
};

/* The events of a group, in its order. */
struct layout {
	unsigned int nr;
	const struct __vperfctr_perf_event *event[PERF_GROUP_MAX];
	const struct perf_event_attr *sample;	/* NULL: no event makes samples */
	unsigned int flags;
};

static int perf_open(struct perf_event_attr *attr, pid_t tid, int cpu, int leader)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, tid, cpu, leader, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void fill_attr(struct perf_event_attr *attr, const struct __vperfctr_perf_event *event,
		      const struct layout *layout, bool leader)
{
	const unsigned int flags = layout->flags;

	memset(attr, 0, sizeof(*attr));
	if (layout->sample && event->period) {
		/* The caller's header may be older or newer than this one. */
		memcpy(attr, layout->sample, layout->sample->size < sizeof(*attr) ?
		       layout->sample->size : sizeof(*attr));
		/* One of the events reports what the threads do. */
		if (!leader)
			attr->task = attr->comm = attr->comm_exec = attr->mmap = attr->mmap2 = 0;
		if (!attr->freq)
			attr->sample_period = event->period;
	}
	attr->size = sizeof(*attr);
	attr->type = event->type;
	attr->config = event->config;
	attr->config1 = event->config1;
	attr->exclude_user = !event->user;
	attr->exclude_kernel = !event->kernel;
	attr->exclude_hv = !event->kernel;
	attr->inherit = !!(flags & VPERFCTR_PERF_INHERIT);
	attr->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			    PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (!leader)
		return;
	attr->disabled = 1;
	attr->pinned = !attr->inherit;
	attr->enable_on_exec = !!(flags & VPERFCTR_PERF_EXEC);
}

static void free_perf(struct __vperfctr_perf *p)
{
	free(p->fd);
	free(p->clock);
	free(p->cpu);
	free(p->base[0]);
	free(p->base[1]);
	free(p);
}

static void close_events(const struct __vperfctr_perf *p)
{
	unsigned int i = p->nrgroups * p->nr;

	while (i--)
		close(p->fd[i]);
	for (i = p->nrclocks; i--;)
		close(p->clock[i]);
}

void __vperfctr_perf_close(struct __vperfctr_perf *p)
{
	__vperfctr_perf_unmap(p->pages);
	close_events(p);
	free_perf(p);
}

static void place_event(struct __vperfctr_perf *p, struct layout *layout,
			const struct __vperfctr_perf_event *event)
{
	if (event->soft)
		p->soft_place[__builtin_ctz(event->soft)] = (uint8_t)layout->nr;
	else
		p->place[p->nrctrs++] = (uint8_t)layout->nr;
	p->soft |= event->soft;
	layout->event[layout->nr++] = event;
}

/*
 * True if a group needs a second event, which counts nothing.  When a CPU goes offline, its
 * groups lose all events but the first one, which keeps what it has counted.  A group that makes
 * samples is not read for its counts.
 */
static bool needs_witness(const struct layout *layout, const struct vperfctr_perf_place *place)
{
	return place->tid[0] < 0 && layout->nr == 1 && !layout->event[0]->period;
}

/* Order the events.  A group with counters must have one of these as its leader. */
static void lay_out(struct __vperfctr_perf *p, struct layout *layout,
		    const struct __vperfctr_perf_event *event, unsigned int nr,
		    const struct vperfctr_perf_place *place)
{
	static const struct __vperfctr_perf_event witness = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .user = 1,
	};
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!event[i].soft)
			place_event(p, layout, &event[i]);
	for (i = 0; i < nr; i++)
		/* The same software event may be asked for twice. */
		if (event[i].soft && !(event[i].soft & p->soft))
			place_event(p, layout, &event[i]);
	if (needs_witness(layout, place))
		layout->event[layout->nr++] = &witness;
	p->nr = layout->nr;
}

/* Open a group.  All of it is open, or none. */
static int open_group(struct __vperfctr_perf *p, const struct layout *layout, pid_t tid, int cpu)
{
	int *fd = &p->fd[p->nrgroups * p->nr], err;
	struct perf_event_attr attr;
	unsigned int i;

	for (i = 0; i < layout->nr; i++) {
		fill_attr(&attr, layout->event[i], layout, !i);
		fd[i] = perf_open(&attr, tid, cpu, i ? fd[0] : -1);
		if (fd[i] >= 0)
			continue;
		err = fd[i];
		while (i--)
			close(fd[i]);
		return err;
	}
	p->nrgroups++;
	return 0;
}

static int open_clock(struct __vperfctr_perf *p, const struct layout *layout, pid_t tid)
{
	static const struct __vperfctr_perf_event event = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .user = 1,
	};
	struct perf_event_attr attr;
	int fd;

	fill_attr(&attr, &event, layout, true);
	fd = perf_open(&attr, tid, -1, -1);
	if (fd < 0)
		return fd;
	p->clock[p->nrclocks++] = fd;
	return 0;
}

static bool has_clocks(const struct vperfctr_perf_place *place)
{
	return place->tid[0] >= 0 && place->cpu[0] >= 0;
}

static size_t base_size(const struct __vperfctr_perf *p)
{
	return (1 + p->nr) * sizeof(*p->base[0]);
}

/* Return the place in bases of the thread or CPU whose groups begin with this one. */
static uint64_t *base_of(const struct __vperfctr_perf *p, uint64_t *bases, unsigned int first)
{
	return bases + (size_t)(first / p->nrcpus) * (1 + p->nr);
}

static int alloc_events(struct __vperfctr_perf *p, const struct vperfctr_perf_place *place)
{
	const size_t nr = (size_t)place->nrtids * place->nrcpus;

	p->fd = (int *)calloc(nr * p->nr, sizeof(*p->fd));
	p->clock = (int *)calloc(place->nrtids, sizeof(*p->clock));
	p->cpu = place->tid[0] < 0 ? (int *)calloc(nr, sizeof(*p->cpu)) : NULL;
	p->nrcpus = p->cpu ? 1 : place->nrcpus;
	/* A signal handler may reset, so that this must not allocate. */
	p->base[0] = (uint64_t *)calloc(nr / p->nrcpus, base_size(p));
	p->base[1] = (uint64_t *)calloc(nr / p->nrcpus, base_size(p));
	if (!p->fd || !p->clock || !p->base[0] || !p->base[1] || (place->tid[0] < 0 && !p->cpu))
		return -ENOMEM;
	if (p->cpu)
		memcpy(p->cpu, place->cpu, nr * sizeof(*p->cpu));
	return 0;
}

/* Open all groups of all threads that there are. */
static int open_groups(struct __vperfctr_perf *p, const struct layout *layout,
		       const struct vperfctr_perf_place *place)
{
	unsigned int t, c;
	int err = alloc_events(p, place);

	for (t = 0; t < place->nrtids && !err; t++) {
		for (c = 0; c < place->nrcpus && !err; c++)
			err = open_group(p, layout, place->tid[t], place->cpu[c]);
		if (!err && has_clocks(place))
			err = open_clock(p, layout, place->tid[t]);
	}
	return err;
}

/* Find out how perf_event makes nanoseconds of the TSC.  Where it does not, mult remains 0. */
static void read_clock(struct __vperfctr_perf *p)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	const struct perf_event_mmap_page *page;
	int fd = perf_open(&attr, 0, -1, -1);
	void *map;

	if (fd < 0)
		return;
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED) {
		page = (const struct perf_event_mmap_page *)map;
		if (page->cap_user_time) {
			p->mult = page->time_mult;
			p->shift = page->time_shift;
		}
		munmap(map, size);
	}
	close(fd);
}

static uint64_t to_ticks(const struct __vperfctr_perf *p, uint64_t ns)
{
	return (ns / p->mult << p->shift) + (ns % p->mult << p->shift) / p->mult;
}

/* Read a group that nr events have. */
static int read_one(int fd, struct group *g, unsigned int nr)
{
	ssize_t n = read(fd, g, sizeof(*g));

	if (n < 0)
		return -errno;
	/* 0: a pinned group lost its counters. */
	if (!n)
		return -EBUSY;
	return g->nr == nr ? 0 : -EIO;
}

/*
 * Before Linux 6.2, events of the processor and software events have times of their own, which the
 * kernel reads one after the other at each switch.  Events that take turns lose much more.
 */
static uint64_t slack_of(uint64_t ns)
{
	return ns / 64 + 100000;
}

/*
 * Add what a thread or a CPU, whose groups begin with this one, has counted since the start.  Its
 * clock is read first, as it may run on.
 */
static int add_all(const struct __vperfctr_perf *p, unsigned int first, struct group *sum)
{
	struct group g, clock = { .enabled = 0 };
	uint64_t running = 0;
	unsigned int i, k;
	int err = p->nrclocks ? read_one(p->clock[first / p->nrcpus], &clock, 1) : 0;

	for (i = first; i < first + p->nrcpus && !err; i++) {
		err = read_one(p->fd[i * p->nr], &g, p->nr);
		if (err)
			break;
		running += g.running;
		if (!p->nrclocks)
			clock = g;
		for (k = 0; k < p->nr; k++)
			sum->value[k] += g.value[k];
	}
	if (err)
		return err;
	sum->running += clock.running;
	if (!p->nrclocks)
		return clock.enabled != running ? -EBUSY : 0;
	/*
	 * Groups that are enabled before the clock may have counted a moment longer.  A thread that
	 * has run for a moment only must not read 0 where it had no counters at all.
	 */
	return running + slack_of(clock.running) < clock.running || (!running && clock.running) ?
	       -EBUSY : 0;
}

/*
 * Copy the base of a thread or a CPU.  This precedes the read of the counts: a signal handler may
 * reset meanwhile, and counts less a later base would be less than zero.  Two such resets write to
 * the place of the first base.
 */
static void copy_base(const struct __vperfctr_perf *p, unsigned int first, uint64_t *base)
{
	unsigned int resets;

	do {
		resets = p->resets;
		__vperfctr_barrier();
		memcpy(base, base_of(p, p->base[p->current], first), base_size(p));
		__vperfctr_barrier();
	} while (p->resets != resets);
}

/* Return: one member of the only base.  A processor of 64 bits reads it at once. */
static inline uint64_t load_base(const struct __vperfctr_perf *p, size_t i)
{
	uint64_t base[1 + PERF_GROUP_MAX];

	if (sizeof(long) < sizeof(base[0])) {
		copy_base(p, 0, base);
		return base[i];
	}
	return p->base[p->current][i];
}

/* The same since the last reset. */
static int add_counts(const struct __vperfctr_perf *p, unsigned int first, struct group *sum)
{
	uint64_t base[1 + PERF_GROUP_MAX];
	unsigned int k;
	int err;

	copy_base(p, first, base);
	err = p->lost ? -EBUSY : add_all(p, first, sum);
	sum->running -= base[0];
	for (k = 0; k < p->nr; k++)
		sum->value[k] -= base[1 + k];
	return err;
}

/* Read what all groups have counted since the last reset.  EBUSY: not all was counted. */
static int read_group(const struct __vperfctr_perf *p, struct group *sum)
{
	unsigned int i;
	int err = 0;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < p->nrgroups && !err; i += p->nrcpus)
		err = add_counts(p, i, sum);
	return err;
}

static int enable_all(const int *fd, unsigned int nr, unsigned int step, bool on)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (ioctl(fd[i * step], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0))
			return -errno;
	return 0;
}

/* Start or stop.  Clocks run only while the groups do. */
static int enable_group(const struct __vperfctr_perf *p, bool on)
{
	int err = on ? 0 : enable_all(p->clock, p->nrclocks, 1, on);

	if (!err)
		err = enable_all(p->fd, p->nrgroups, p->nr, on);
	return err || !on ? err : enable_all(p->clock, p->nrclocks, 1, on);
}

/* Start, and see whether the counters suffice. */
static int start(struct __vperfctr_perf *p, unsigned int flags)
{
	struct group g;
	int err;

	if (flags & VPERFCTR_PERF_EXEC)
		return 0;
	err = enable_group(p, true);
	return err ? err : read_group(p, &g);
}

/* own: of the calling thread, which may read its counters. */
static int open_at(struct vperfctr **v, const struct __vperfctr_perf_event *event, unsigned int nr,
		   const struct vperfctr_perf_place *place, unsigned int flags, bool own)
{
	struct layout layout = { .flags = flags, .sample = place->sample };
	struct __vperfctr_perf *p;
	int err;

	*v = NULL;
	if (!nr || nr > 2 * VPERFCTR_MAX_CTRS || !place->nrtids || !place->nrcpus)
		return -EINVAL;
	p = (struct __vperfctr_perf *)calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->tid = place->tid[0] ? place->tid[0] : (pid_t)syscall(SYS_gettid);
	lay_out(p, &layout, event, nr, place);
	err = open_groups(p, &layout, place);
	/*
	 * Before they start: a page that is mapped after the kernel has read the counter is wrong by
	 * 2^48 until the event is next scheduled.  That of an event which is inherited has the
	 * thread's own count only.
	 */
	if (!err && own && !(flags & VPERFCTR_PERF_INHERIT))
		p->pages = __vperfctr_perf_map(p->fd, p->place, p->nrctrs);
	if (!err && !(flags & VPERFCTR_PERF_STOPPED))
		err = start(p, flags);
	if (!err)
		err = __vperfctr_new_handle(v, p->fd[0], 0);
	if (err) {
		__vperfctr_perf_close(p);
		return err;
	}
	p->suspended = flags & VPERFCTR_PERF_STOPPED;
	if (flags & VPERFCTR_PERF_NS)
		p->mult = 1;
	else
		read_clock(p);
	to_handle(*v)->perf = p;
	return 0;
}

int __vperfctr_open_perf_at(struct vperfctr **v, const struct __vperfctr_perf_event *event,
			    unsigned int nr, const struct vperfctr_perf_place *at, size_t size,
			    unsigned int flags)
{
	struct vperfctr_perf_place place;
	int err;

	*v = NULL;
	err = __vperfctr_get_struct(&place, sizeof(place), at, size);
	return err ? err : open_at(v, event, nr, &place, flags, false);
}

int __vperfctr_open_perf(struct vperfctr **v, const struct __vperfctr_perf_event *event,
			 unsigned int nr, pid_t tid, unsigned int flags)
{
	const int any = -1;
	const struct vperfctr_perf_place place = {
		.tid = &tid, .cpu = &any, .nrtids = 1, .nrcpus = 1,
	};
	int err = open_at(v, event, nr, &place, flags, !tid);

	/* As a handle with a page: it belongs to the thread that is counted. */
	if (!err && !tid) {
		__vperfctr_this_process(&to_handle(*v)->mapper);
		(*v)->thread = __vperfctr_thread();
	}
	return err;
}

int vperfctr_perf_descriptors_sized(const struct vperfctr *v, struct vperfctr_perf_groups *groups,
				    size_t size)
{
	const struct __vperfctr_perf *p = to_const_handle(v)->perf;
	struct vperfctr_perf_groups all;

	if (!p)
		return -ENOTTY;
	if (!__vperfctr_is_size(size, __VPERFCTR_SIZE_WITH(struct vperfctr_perf_groups, fd)))
		return -EINVAL;
	memset(&all, 0, sizeof(all));
	all.nrgroups = p->nrgroups;
	all.nrcpus = p->cpu ? p->nrgroups : p->nrcpus;
	all.nrevents = p->nr;
	all.fd = p->fd;
	__vperfctr_put_struct(groups, size, &all, sizeof(all));
	return 0;
}

static bool has_thread(const struct vperfctr_handle *h)
{
	if (h->perf->unlinked)
		return false;
	/*
	 * A handle for another thread is read when that has ended, too.  A child cannot know: its PID
	 * namespace may not show the thread, or show another one by these numbers.
	 */
	if (!h->mapper.pid || __vperfctr_is_child(&h->mapper))
		return true;
	return !syscall(SYS_tgkill, h->mapper.pid, h->perf->tid, 0) || errno != ESRCH;
}

/* True if the handle's thread is another one, which has not ended, as far as the caller knows. */
static bool is_foreign(const struct vperfctr_handle *h)
{
	return h->pub.thread &&
	       (!__vperfctr_is_this_process(&h->mapper) || !__vperfctr_mine(&h->pub)) && has_thread(h);
}

/* Read counters in user mode, if the caller may.  An error must leave what the caller has. */
static bool read_here(const struct vperfctr_handle *h, uint64_t *pmc, unsigned int first,
		      unsigned int nr)
{
	const struct __vperfctr_perf *p = h->perf;
	uint64_t value[VPERFCTR_MAX_CTRS], base[1 + PERF_GROUP_MAX];
	unsigned int i;

	copy_base(p, 0, base);
	if (p->lost || !__vperfctr_mine(&h->pub) ||
	    !__vperfctr_perf_read_pages(p->pages, value, first, nr))
		return false;
	for (i = 0; i < nr; i++)
		pmc[i] = value[i] - base[1 + p->place[first + i]];
	return true;
}

static __attribute__((noinline)) int read_any(const struct vperfctr_handle *h, uint64_t *tsc,
					      uint64_t *pmc, unsigned int first, unsigned int nr)
{
	const struct __vperfctr_perf *p = h->perf;
	struct group g;
	unsigned int i;
	int err;

	if (p->pages && nr && !tsc && read_here(h, pmc, first, nr))
		return 0;
	if (is_foreign(h))
		return -EPERM;
	if (first > p->nrctrs || nr > p->nrctrs - first)
		return -EINVAL;
	if (tsc && !p->mult)
		return -EOPNOTSUPP;
	err = read_group(p, &g);
	if (err)
		return err;
	if (tsc)
		*tsc = to_ticks(p, g.running);
	for (i = 0; i < nr; i++)
		pmc[i] = g.value[p->place[first + i]];
	return 0;
}

int __vperfctr_perf_read(const struct vperfctr_handle *h, uint64_t *tsc, uint64_t *pmc,
			 unsigned int first, unsigned int nr)
{
	const struct __vperfctr_perf *p = h->perf;
	uint64_t value, base;

	/* One counter, as vperfctr_read_pmc() reads it: without the room and the loops for many. */
	if (nr == 1 && !tsc && p->pages && !p->lost && first < p->nrctrs &&
	    __vperfctr_mine(&h->pub)) {
		base = load_base(p, (size_t)1 + p->place[first]);
		__vperfctr_barrier();
		if (__vperfctr_perf_read_page(p->pages, &value, first)) {
			*pmc = value - base;
			return 0;
		}
	}
	return read_any(h, tsc, pmc, first, nr);
}

/* The size of the software counters that perf counts, VPERFCTR_NR_SOFT in version 0.9. */
#define SOFT_SIZE_VER0	96

static void fill_soft(const struct __vperfctr_perf *p, const struct group *g,
		      struct vperfctr_soft *soft)
{
	unsigned int i;

	memset(soft->count, 0, soft->size - offsetof(struct vperfctr_soft, count));
	soft->soft = p->soft;
	for (i = 0; i < VPERFCTR_NR_SOFT; i++)
		if (p->soft >> i & 1)
			soft->count[i].own = g->value[p->soft_place[i]];
}

/* Return VPERFCTR_STATUS_ACTIVE and _SUSPENDED, if they are true of the handle. */
static uint32_t activity_of(const struct __vperfctr_perf *p)
{
	return (p->stopped ? 0 : VPERFCTR_STATUS_ACTIVE) |
	       (p->suspended ? VPERFCTR_STATUS_SUSPENDED : 0);
}

int __vperfctr_perf_read_state(const struct vperfctr_handle *h, struct vperfctr_read *read)
{
	uint64_t *sums = (uint64_t *)(uintptr_t)read->sums;
	uint64_t *children = (uint64_t *)(uintptr_t)read->children;
	struct vperfctr_soft *soft = (struct vperfctr_soft *)(uintptr_t)read->soft;
	const struct __vperfctr_perf *p = h->perf;
	unsigned int i;
	struct group g;
	int err;

	if (read->control)
		return -EOPNOTSUPP;
	err = __vperfctr_check_rest(read, read->size, sizeof(*read));
	if (err)
		return err;
	if (soft && !__vperfctr_is_size(soft->size, SOFT_SIZE_VER0))
		return -EINVAL;
	if (read->flags & ~(VPERFCTR_READ_MEMBERS | VPERFCTR_READ_OWNER))
		return -EINVAL;
	if (read->nrctrs < p->nrctrs) {
		read->nrctrs = p->nrctrs;
		return -EOVERFLOW;
	}
	err = read_group(p, &g);
	if (err)
		return err;
	read->nrctrs = p->nrctrs;
	read->overflow = 0;
	read->children_missed = 0;
	read->status = (has_thread(h) ? VPERFCTR_STATUS_ATTACHED : 0) | activity_of(p);
	if (read->flags & VPERFCTR_READ_OWNER && h->pub.thread && !is_foreign(h) &&
	    read->status & VPERFCTR_STATUS_ATTACHED)
		read->status |= VPERFCTR_STATUS_OWNER;
	if (sums)
		sums[0] = p->mult ? to_ticks(p, g.running) : 0;
	for (i = 0; sums && i < p->nrctrs; i++)
		sums[1 + i] = g.value[p->place[i]];
	if (children)
		memset(children, 0, (1 + p->nrctrs) * sizeof(*children));
	if (soft)
		fill_soft(p, &g, soft);
	return 0;
}

/* Read the counts of each CPU.  That of one that has gone offline cannot be read: -EIO. */
int __vperfctr_perf_read_cpus(const struct vperfctr_handle *h, struct vperfctr_read_cpus *read)
{
	struct vperfctr_cpu *cpu = (struct vperfctr_cpu *)(uintptr_t)read->cpus;
	uint64_t *sums = (uint64_t *)(uintptr_t)read->sums;
	const struct __vperfctr_perf *p = h->perf;
	const bool room = read->nrcpus >= p->nrgroups && read->nrctrs >= p->nrctrs;
	const uint32_t status = activity_of(p);
	unsigned int i, k;
	struct group g;
	int err;

	if (!p->cpu)
		return -ENOTTY;
	err = __vperfctr_check_rest(read, read->size, sizeof(*read));
	if (err)
		return err;
	read->nrcpus = p->nrgroups;
	read->nrctrs = p->nrctrs;
	if (!room)
		return -EOVERFLOW;
	read->status = status;
	for (i = 0; i < p->nrgroups && !err; i++, sums += sums ? 1 + p->nrctrs : 0) {
		memset(&g, 0, sizeof(g));
		err = add_counts(p, i, &g);
		if (cpu)
			cpu[i] = (struct vperfctr_cpu){
				.cpu = (uint32_t)p->cpu[i],
				.status = status == VPERFCTR_STATUS_ACTIVE ?
					  VPERFCTR_CPU_STATUS_COUNTS : 0,
			};
		if (!sums)
			continue;
		sums[0] = p->mult ? to_ticks(p, g.running) : 0;
		for (k = 0; k < p->nrctrs; k++)
			sums[1 + k] = g.value[p->place[k]];
	}
	return err;
}

int vperfctr_perf_cpu_soft(const struct vperfctr *v, unsigned int i, struct vperfctr_soft *soft)
{
	const struct __vperfctr_perf *p = to_const_handle(v)->perf;
	struct group g;
	int err;

	if (!p)
		return -ENOTTY;
	if (!__vperfctr_is_size(soft->size, SOFT_SIZE_VER0))
		return -EINVAL;
	memset(&g, 0, sizeof(g));
	err = p->cpu && i < p->nrgroups ? add_counts(p, i, &g) : -EINVAL;
	if (!err)
		fill_soft(p, &g, soft);
	return err;
}

/* ---- control --------------------------------------------------------------------- */

/* Check what all calls that change the counting need. */
static int may_change(const struct vperfctr_handle *h)
{
	if (is_foreign(h))
		return -EPERM;
	if (!has_thread(h))
		return -ESRCH;
	return 0;
}

/*
 * A group that has lost its counters counts again when it is enabled, and its times then tell
 * nothing of the loss: what it has missed is missing in all counts until a reset.
 */
static void note_loss(struct __vperfctr_perf *p)
{
	struct group g;
	unsigned int i;

	for (i = 0; i < p->nrgroups && !p->lost; i++)
		p->lost = read_one(p->fd[i * p->nr], &g, p->nr) == -EBUSY;
}

int __vperfctr_perf_pause(struct vperfctr_handle *h, bool pause)
{
	int err = may_change(h);

	if (!err && h->perf->stopped)
		err = -EINVAL;
	if (!err && h->perf->suspended && !pause)
		note_loss(h->perf);
	if (!err && h->perf->suspended != pause)
		err = enable_group(h->perf, !pause);
	if (!err)
		h->perf->suspended = pause;
	return err;
}

/* Find the next base of a thread or CPU, whose groups begin with this one. */
static int find_base(const struct __vperfctr_perf *p, uint64_t *bases, unsigned int first)
{
	uint64_t *next = base_of(p, bases, first);
	struct group g;
	unsigned int k;
	int err;

	memset(&g, 0, sizeof(g));
	err = add_all(p, first, &g);
	if (err)
		return err;
	next[0] = g.running;
	for (k = 0; k < p->nr; k++)
		next[1 + k] = g.value[k];
	return 0;
}

int __vperfctr_perf_reset(struct vperfctr_handle *h)
{
	struct __vperfctr_perf *p = h->perf;
	/* If a signal handler resets meanwhile, both write the same, and this one has the last word. */
	const unsigned int next = !p->current;
	int err = may_change(h);
	unsigned int i;

	if (!err && p->stopped)
		err = -EINVAL;
	for (i = 0; i < p->nrgroups && !err; i += p->nrcpus)
		err = find_base(p, p->base[next], i);
	if (err)
		return err;
	p->current = next;
	p->resets++;
	p->lost = false;
	return __vperfctr_perf_pause(h, false);
}

int __vperfctr_perf_stop(struct vperfctr_handle *h, bool unlink)
{
	int err = may_change(h);

	/* As for a state: what has no thread any more is unlinked already. */
	if (unlink && err == -ESRCH)
		return 0;
	if (!err)
		err = enable_group(h->perf, false);
	if (err)
		return err;
	h->perf->stopped = true;
	h->perf->unlinked |= unlink;
	return 0;
}
