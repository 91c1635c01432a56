// SPDX-License-Identifier: GPL-2.0
/*
 * Samples by perf_event.
 *
 * The kernel has a buffer for each CPU, into which the events of all threads there write, with
 * what the threads do: forks, execs, names and mappings.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "perf-count.h"
#include "perf-records.h"

/*
 * Bytes of a buffer, at first and at least.  A user without privileges may lock half a megabyte for
 * each CPU, as kernel.perf_event_mlock_kb says.
 */
#define MOST_BYTES	(4U << 20)
#define LEAST_BYTES	(64U << 10)

struct perf_ring {
	struct perf_event_mmap_page *page;	/* the data begin at the next page */
	int fd;					/* of the event that has it */
	unsigned int watched;			/* the group whose leader says that there is something */
};

struct perf_rings {
	struct perf_ring *ring;
	unsigned int nr;
	size_t page_size, size;			/* of the data */
	struct vperfctr_perf_groups groups;
	int epoll;
	struct perf_records records;
	char record[1 << 16];
};

/* perf_event's name of memory without a file is not that of /proc/PID/maps. */
static const char *describe(struct perf_records *records, struct record_mapping *map,
			    const uint8_t *id, const char *path)
{
	(void)id;
	if (!strcmp(path, "//anon"))
		return "";
	write_file(records->rec, map, path);
	return path;
}

/* ---- open --------------------------------------------------------------------------------- */

static size_t size_with_page(const struct perf_rings *r)
{
	return r->page_size + r->size;
}

static void unmap(struct perf_rings *r)
{
	while (r->nr)
		munmap(r->ring[--r->nr].page, size_with_page(r));
}

/* The leaders of the first groups, those of the first thread or of CPUs, have the buffers. */
static int map_sized(struct perf_rings *r)
{
	const struct vperfctr_perf_groups *groups = &r->groups;
	void *page;
	int fd, err;

	while (r->nr < groups->nrcpus) {
		fd = groups->fd[r->nr * groups->nrevents];
		page = mmap(NULL, size_with_page(r), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (page == MAP_FAILED) {
			err = -errno;
			unmap(r);
			return err;
		}
		r->ring[r->nr++] = (struct perf_ring){ .page = page, .fd = fd };
	}
	return 0;
}

/*
 * As large as the kernel lets the user have it.
 * targets: that have no buffers yet, with this one: it leaves the others as much
 */
static int map(struct perf_rings *r, unsigned int targets)
{
	int err;

	for (r->size = MOST_BYTES;; r->size /= 2) {
		err = map_sized(r);
		if ((err != -EPERM && err != -ENOMEM) || r->size <= LEAST_BYTES)
			break;
	}
	if (err || targets < 2)
		return err;
	unmap(r);
	while (targets > 1 && r->size > LEAST_BYTES) {
		targets = (targets + 1) / 2;
		r->size /= 2;
	}
	return map_sized(r);
}

/* Let all events of a CPU write into its buffer, and find the numbers of their samples. */
static int join(struct perf_rings *r)
{
	const struct vperfctr_perf_groups *groups = &r->groups;
	unsigned int i, nr = groups->nrgroups * groups->nrevents;
	uint64_t id;
	int fd, to;

	for (i = 0; i < nr; i++) {
		fd = groups->fd[i];
		to = r->ring[i / groups->nrevents % r->nr].fd;
		if ((fd != to && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, to)) ||
		    ioctl(fd, PERF_EVENT_IOC_ID, &id))
			return -errno;
		if (perf_records_add_id(&r->records, id, i % groups->nrevents))
			return -ENOMEM;
	}
	return 0;
}

/* The leader of a group whose events write into this buffer. */
static int watched_fd(const struct perf_rings *r, unsigned int ring)
{
	const struct vperfctr_perf_groups *groups = &r->groups;

	return groups->fd[(r->ring[ring].watched * groups->nrcpus + ring) * groups->nrevents];
}

static int watch(const struct perf_rings *r, unsigned int ring)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = ring };

	return epoll_ctl(r->epoll, EPOLL_CTL_ADD, watched_fd(r, ring), &event) ? -errno : 0;
}

static int watch_all(struct perf_rings *r)
{
	unsigned int i;
	int err = 0;

	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll < 0)
		return -errno;
	for (i = 0; i < r->nr && !err; i++)
		err = watch(r, i);
	return err;
}

static int open_rings(struct perf_rings *r, const struct vperfctr *v, unsigned int targets)
{
	int err = vperfctr_perf_descriptors(v, &r->groups);

	if (err)
		return err;
	r->ring = calloc(r->groups.nrcpus, sizeof(*r->ring));
	if (!r->ring)
		return -ENOMEM;
	err = map(r, targets);
	if (!err)
		err = join(r);
	return err ? err : watch_all(r);
}

static int fail_rings(struct error *e, int err)
{
	switch (err) {
	case -EPERM:
	case -ENOMEM:
		return fail_with(e, "there is no memory for perf_event's samples: raise kernel.perf_event_mlock_kb, or the limit of locked memory (ulimit -l)");
	default:
		return fail_with(e, "perf_event's samples cannot be read: %s", strerror(-err));
	}
}

int perf_rings_open(struct perf_rings **rings, const struct vperfctr *v,
		    const struct perf_count *p, unsigned int targets, struct recording *rec,
		    struct error *e)
{
	struct perf_rings *r = calloc(1, sizeof(*r));
	struct utsname name;
	struct perf_event_attr *attr;
	const char *at;
	int err;

	if (!r)
		return fail_with(e, "out of memory");
	r->page_size = (size_t)sysconf(_SC_PAGESIZE);
	r->epoll = -1;
	r->records.rec = rec;
	r->records.describe = describe;
	r->records.live = true;
	r->records.depth = p->depth;
	for (at = p->names; at && r->records.nrevents < MAX_SAMPLED; r->records.nrevents++) {
		attr = &r->records.events[r->records.nrevents].attr;
		*attr = p->sample;
		if (!attr->freq)
			attr->sample_period = p->period[r->records.nrevents];
		at = strchr(at, ',');
		at += !!at;
	}
	if (!uname(&name))
		perf_records_set_machine(&r->records, name.machine);
	err = open_rings(r, v, targets);
	if (!err) {
		*rings = r;
		return 0;
	}
	perf_rings_close(r);
	return fail_rings(e, err);
}

void perf_rings_close(struct perf_rings *r)
{
	if (!r)
		return;
	unmap(r);
	if (r->epoll >= 0)
		close(r->epoll);
	perf_records_free(&r->records);
	free(r->ring);
	free(r);
}

int perf_rings_fd(const struct perf_rings *r)
{
	return r->epoll;
}

/* ---- read --------------------------------------------------------------------------------- */

static void copy(const struct perf_rings *r, const struct perf_ring *ring, uint64_t at, void *to,
		 size_t len)
{
	const char *data = (const char *)ring->page + r->page_size;
	const size_t from = at & (r->size - 1), first = len < r->size - from ? len : r->size - from;

	memcpy(to, data + from, first);
	memcpy((char *)to + first, data, len - first);
}

static void drain(struct perf_rings *r, const struct perf_ring *ring)
{
	uint64_t at = ring->page->data_tail;
	/* Acquire: read no record before the head that says that it is there. */
	const uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	struct perf_event_header h;

	for (; at < head; at += h.size) {
		copy(r, ring, at, &h, sizeof(h));
		/* The kernel writes whole records. */
		if (h.size < sizeof(h) || h.size > head - at) {
			at = head;
			break;
		}
		copy(r, ring, at + sizeof(h), r->record, h.size - sizeof(h));
		perf_records_convert(&r->records, &h,
				     (struct bytes){ r->record, h.size - sizeof(h) });
	}
	__atomic_store_n(&ring->page->data_tail, at, __ATOMIC_RELEASE);
}

/*
 * An event that has ended is ready all the time: watch that of the next thread, of which the same
 * is found out then.
 */
static void watch_next(const struct perf_rings *r, unsigned int ring)
{
	epoll_ctl(r->epoll, EPOLL_CTL_DEL, watched_fd(r, ring), NULL);
	if ((++r->ring[ring].watched + 1) * r->nr <= r->groups.nrgroups)
		watch(r, ring);
}

static void forget_ended(const struct perf_rings *r)
{
	struct epoll_event events[64];
	int i, n = epoll_wait(r->epoll, events, ARRAY_SIZE(events), 0);

	for (i = 0; i < n; i++)
		if (events[i].events & (EPOLLHUP | EPOLLERR))
			watch_next(r, events[i].data.u32);
}

void perf_rings_drain(struct perf_rings *r)
{
	struct recording *rec = r->records.rec;
	const struct perf_records before = {
		.samples = r->records.samples, .dropped = r->records.dropped,
		.throttled = r->records.throttled,
	};
	const uint64_t lost = perf_records_lost(&r->records);
	unsigned int i;

	forget_ended(r);
	for (i = 0; i < r->nr; i++)
		drain(r, &r->ring[i]);
	rec->nrsamples += r->records.samples - before.samples;
	rec->throttled += r->records.throttled - before.throttled;
	/* A record of a task may be among those that are lost: the kernel counts them together. */
	rec->dropped += r->records.dropped - before.dropped + perf_records_lost(&r->records) - lost;
}
