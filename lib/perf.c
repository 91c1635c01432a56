// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Count by perf_event_open(2), where the module cannot count.
 *
 * The events of a handle are one group, which perf_event counts as a whole or not at all.
 * The group is pinned, so perf_event gives it no turns with other groups.  If the counters
 * do not suffice, a read of a pinned group returns nothing.  An inherited group cannot be
 * pinned: of a child whose group failed perf_event reports neither time nor counts.  Such a
 * group, and one on CPUs of several kinds, can lose time.  Then the time for which it was
 * enabled differs from the time for which it counted, and a read returns an error.
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
#include "perf.h"

struct __vperfctr_perf {
	unsigned int nrctrs;		/* counters */
	unsigned int nr;		/* all events */
	pid_t tid;			/* the thread that is counted */
	bool suspended, stopped, unlinked;
	uint32_t soft;			/* VPERFCTR_SOFT_* that are counted */
	uint32_t mult, shift;		/* ticks of the TSC to nanoseconds; mult 0: not known */
	/* The place of each counter and software counter in the group. */
	uint8_t place[VPERFCTR_MAX_CTRS], soft_place[VPERFCTR_NR_SOFT];
	int fd[VPERFCTR_PERF_MAX];	/* the group's leader is the first */
	uint64_t base_time, base[VPERFCTR_PERF_MAX];	/* at the last reset */
};

/* The result of a read of the group. */
struct group {
	uint64_t nr, enabled, running;
	uint64_t value[VPERFCTR_PERF_MAX];
};

static int perf_open(struct perf_event_attr *attr, pid_t tid, int leader)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, tid, -1, leader, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void fill_attr(struct perf_event_attr *attr, const struct __vperfctr_perf_event *event,
		      unsigned int flags, bool leader)
{
	memset(attr, 0, sizeof(*attr));
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

static void close_events(const struct __vperfctr_perf *p)
{
	unsigned int i = p->nr;

	while (i--)
		close(p->fd[i]);
}

/* Open one event, as a member of the group. */
static int add_event(struct __vperfctr_perf *p, const struct __vperfctr_perf_event *event,
		     pid_t tid, unsigned int flags)
{
	struct perf_event_attr attr;
	int fd;

	fill_attr(&attr, event, flags, !p->nr);
	fd = perf_open(&attr, tid, p->nr ? p->fd[0] : -1);
	if (fd < 0)
		return fd;
	p->fd[p->nr++] = fd;
	return 0;
}

/* Open all events.  A group with counters must have one of these as its leader. */
static int add_events(struct __vperfctr_perf *p, const struct __vperfctr_perf_event *event,
		      unsigned int nr, pid_t tid, unsigned int flags)
{
	unsigned int i;
	int err;

	for (i = 0; i < nr; i++) {
		if (event[i].soft)
			continue;
		p->place[p->nrctrs++] = (uint8_t)p->nr;
		err = add_event(p, &event[i], tid, flags);
		if (err)
			return err;
	}
	for (i = 0; i < nr; i++) {
		/* The same software event may be asked for twice. */
		if (!event[i].soft || event[i].soft & p->soft)
			continue;
		p->soft |= event[i].soft;
		p->soft_place[__builtin_ctz(event[i].soft)] = (uint8_t)p->nr;
		err = add_event(p, &event[i], tid, flags);
		if (err)
			return err;
	}
	return 0;
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
	int fd = perf_open(&attr, 0, -1);
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

/* Read what the group has counted since the last reset.  EBUSY: not all was counted. */
static int read_group(const struct __vperfctr_perf *p, struct group *g)
{
	ssize_t n = read(p->fd[0], g, sizeof(*g));
	unsigned int i;

	if (n < 0)
		return -errno;
	/* 0: a pinned group lost its counters. */
	if (!n || g->enabled != g->running)
		return -EBUSY;
	if (g->nr != p->nr)
		return -EIO;
	g->running -= p->base_time;
	for (i = 0; i < p->nr; i++)
		g->value[i] -= p->base[i];
	return 0;
}

static int enable_group(const struct __vperfctr_perf *p, bool on)
{
	return ioctl(p->fd[0], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) ? -errno : 0;
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

int __vperfctr_open_perf(struct vperfctr **v, const struct __vperfctr_perf_event *event,
			 unsigned int nr, pid_t tid, unsigned int flags)
{
	struct __vperfctr_perf *p;
	int err;

	*v = NULL;
	if (!nr || nr > 2 * VPERFCTR_MAX_CTRS)
		return -EINVAL;
	p = (struct __vperfctr_perf *)calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->tid = tid ? tid : (pid_t)syscall(SYS_gettid);
	err = add_events(p, event, nr, tid, flags);
	if (!err)
		err = start(p, flags);
	if (!err)
		err = __vperfctr_new_handle(v, p->fd[0], 0);
	if (err) {
		close_events(p);
		free(p);
		return err;
	}
	read_clock(p);
	to_handle(*v)->perf = p;
	/* As a handle with a page: it belongs to the thread that is counted. */
	if (!tid) {
		to_handle(*v)->mapper = getpid();
		(*v)->thread = __vperfctr_thread();
	}
	return 0;
}

void __vperfctr_perf_close(struct __vperfctr_perf *p)
{
	close_events(p);
	free(p);
}

static bool has_thread(const struct vperfctr_handle *h)
{
	/* A handle for another thread is read when that has ended, too. */
	return !h->perf->unlinked &&
	       (!h->mapper || !syscall(SYS_tgkill, h->mapper, h->perf->tid, 0) || errno != ESRCH);
}

/* True if the handle's thread is another one, which has not ended. */
static bool is_foreign(const struct vperfctr_handle *h)
{
	return h->pub.thread && (h->mapper != getpid() || !__vperfctr_mine(&h->pub)) &&
	       has_thread(h);
}

int __vperfctr_perf_read(const struct vperfctr_handle *h, uint64_t *tsc, uint64_t *pmc,
			 unsigned int first, unsigned int nr)
{
	const struct __vperfctr_perf *p = h->perf;
	struct group g;
	unsigned int i;
	int err;

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
	read->status = (has_thread(h) ? VPERFCTR_STATUS_ATTACHED : 0) |
		       (p->stopped ? 0 : VPERFCTR_STATUS_ACTIVE) |
		       (p->suspended ? VPERFCTR_STATUS_SUSPENDED : 0);
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

int __vperfctr_perf_pause(struct vperfctr_handle *h, bool pause)
{
	int err = may_change(h);

	if (!err && h->perf->stopped)
		err = -EINVAL;
	if (!err && h->perf->suspended != pause)
		err = enable_group(h->perf, !pause);
	if (!err)
		h->perf->suspended = pause;
	return err;
}

int __vperfctr_perf_reset(struct vperfctr_handle *h)
{
	struct __vperfctr_perf *p = h->perf;
	int err = may_change(h);
	struct group g;
	unsigned int i;

	if (!err && p->stopped)
		err = -EINVAL;
	if (!err)
		err = read_group(p, &g);
	if (err)
		return err;
	p->base_time += g.running;
	for (i = 0; i < p->nr; i++)
		p->base[i] += g.value[i];
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
