// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Read perf_event's counters in user mode, by RDPMC and the pages of its events, as
 * <linux/perf_event.h> describes.
 *
 * A child of a fork has no mapping of an event.  It would fault, but the table of the mappings is
 * empty there.  The child of a vfork has the table and the thread pointer of its parent, whose
 * events stand still meanwhile: their pages say so.
 */
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"
#include "perf-pages.h"

struct __vperfctr_perf_pages {
	size_t size;		/* of the table, and of each page */
	unsigned int nr;	/* 0 in a child */
	const volatile struct perf_event_mmap_page *page[VPERFCTR_MAX_CTRS];
};

/* On other architectures an event must ask for such reads, or there are none.  A test has its own. */
#ifdef READ_COUNTER
#define HAVE_PERF_READS	1
#elif defined(__x86_64__) || defined(__i386__)
#define HAVE_PERF_READS	1
#define READ_COUNTER	__vperfctr_rdpmc
#else
#define HAVE_PERF_READS	0
#define READ_COUNTER
#endif

void __vperfctr_perf_unmap(struct __vperfctr_perf_pages *pages)
{
	size_t size;

	if (!pages)
		return;
	while (pages->nr)
		munmap((void *)pages->page[--pages->nr], pages->size);
	size = (size_t)sysconf(_SC_PAGESIZE);
	munmap(pages, size);
}

struct __vperfctr_perf_pages *__vperfctr_perf_map(const int *fd, const uint8_t *place,
						  unsigned int nr)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct __vperfctr_perf_pages *pages;
	void *map;

	if (!HAVE_PERF_READS || !nr || nr > VPERFCTR_MAX_CTRS)
		return NULL;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	pages = (struct __vperfctr_perf_pages *)map;
	if (madvise(map, size, MADV_WIPEONFORK))
		goto fail;
	pages->size = size;
	while (pages->nr < nr) {
		map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd[place[pages->nr]], 0);
		if (map == MAP_FAILED)
			goto fail;
		pages->page[pages->nr] = (const volatile struct perf_event_mmap_page *)map;
		pages->nr++;
		if (!pages->page[pages->nr - 1]->cap_user_rdpmc)
			goto fail;
	}
	return pages;

fail:
	__vperfctr_perf_unmap(pages);
	return NULL;
}

/*
 * An event without a counter stands still, has ended, or has lost it; the kernel knows which.  It
 * also knows what is less than zero here: the page is then off by the counter's width, as Linux
 * leaves it where it is mapped after a read.
 */
static inline bool read_page(const volatile struct perf_event_mmap_page *page, uint64_t *value)
{
	uint32_t seq, index;
	unsigned int unused;
	uint64_t count;

	do {
		seq = page->lock;
		__vperfctr_barrier();
		index = page->index;
		if (!index || !page->cap_user_rdpmc)
			return false;
		unused = 64 - page->pmc_width;
		count = page->offset +
			(uint64_t)((int64_t)(READ_COUNTER(index - 1) << unused) >> unused);
		__vperfctr_barrier();
	} while (page->lock != seq);
	*value = count;
	return (int64_t)count >= 0;
}

static inline bool has_all_time(const volatile struct perf_event_mmap_page *leader)
{
	uint32_t seq;
	bool all;

	do {
		seq = leader->lock;
		__vperfctr_barrier();
		all = leader->time_enabled == leader->time_running;
		__vperfctr_barrier();
	} while (leader->lock != seq);
	return all;
}

bool __vperfctr_perf_read_pages(const struct __vperfctr_perf_pages *pages, uint64_t *value,
				unsigned int first, unsigned int nr)
{
	unsigned int i;

	if (first > pages->nr || nr > pages->nr - first)
		return false;
	for (i = 0; i < nr; i++) {
		if (!read_page(pages->page[first + i], &value[i]))
			return false;
	}
	/* The group may have lost time before, on a CPU of another kind.  The leader knows. */
	return has_all_time(pages->page[0]);
}

bool __vperfctr_perf_read_page(const struct __vperfctr_perf_pages *pages, uint64_t *value,
			       unsigned int i)
{
	return i < pages->nr && read_page(pages->page[i], value) && has_all_time(pages->page[0]);
}
