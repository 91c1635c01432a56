// SPDX-License-Identifier: LGPL-2.1-or-later
/* The calling thread's counters: handles, and reads without a system call. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"
#include "../lib/mapping.h"

struct vperfctr {
	int fd;						/* first: see struct rvperfctr */
	unsigned int process;				/* see this_process() */
	const void *thread;				/* owner of the page */
	const struct vperfctr_page *page;		/* NULL: the kernel reads */
};

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- identify the process ------------------------------------------------- */

/*
 * The child of a fork has its parent's handles, but cannot read by their pages.  The kernel
 * shows the child a page without counters, or none.  A read must detect this, and getpid()
 * costs too much.  So a word contains the number of the process.  The kernel clears it in
 * a child (MADV_WIPEONFORK), which then gets the next number.
 */
static unsigned int *process_word;
static unsigned int last_process;

/* Return this process's number, or 0 if the kernel does not support this. */
static unsigned int this_process(void)
{
	unsigned int *word = __atomic_load_n(&process_word, __ATOMIC_ACQUIRE), none = 0, next;

	if (!word) {
		unsigned int *old = NULL;

		word = mmap(NULL, page_size(), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (word == MAP_FAILED)
			return 0;
		if (madvise(word, page_size(), MADV_WIPEONFORK)) {
			munmap(word, page_size());
			return 0;
		}
		if (!__atomic_compare_exchange_n(&process_word, &old, word, 0,
						 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			munmap(word, page_size());
			word = old;
		}
	}
	next = __atomic_add_fetch(&last_process, 1, __ATOMIC_RELAXED);
	if (__atomic_compare_exchange_n(word, &none, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return next;
	return none;
}

static inline int is_mapped(const struct vperfctr *v)
{
	return v->page && *(const volatile unsigned int *)process_word == v->process;
}

/* Return the address of the calling thread's control block: unique among living threads. */
static inline const void *this_thread(void)
{
	const void *thread;

#ifdef __x86_64__
	__asm__("mov %%fs:0, %0" : "=r" (thread));
#else
	__asm__("mov %%gs:0, %0" : "=r" (thread));
#endif
	return thread;
}

/* ---- handles ------------------------------------------------------------------- */

static int map_page(struct vperfctr *v)
{
	void *page;

	v->page = NULL;
	v->process = this_process();
	if (!v->process)
		return 0;
	page = mmap(NULL, page_size(), PROT_READ, MAP_SHARED, v->fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	v->page = page;
	v->thread = this_thread();
	return 0;
}

static int open_handle(unsigned int mode, struct vperfctr **handle)
{
	const int creat = mode == VPERFCTR_OPEN_CREAT_EXCL;
	struct vperfctr *v;
	int err;

	if (mode && !creat)
		return -EINVAL;
	v = malloc(sizeof(*v));
	if (!v)
		return -ENOMEM;
	v->fd = __perfctr_state_open(0, creat ? VPERFCTR_OPEN_CREAT : 0);
	err = v->fd < 0 ? v->fd : map_page(v);
	if (!err) {
		*handle = v;
		return 0;
	}
	if (v->fd >= 0) {
		/* Do not leave a state behind that this call has made. */
		if (creat)
			__perfctr_unlink(v->fd);
		close(v->fd);
	}
	free(v);
	return err;
}

struct vperfctr *vperfctr_open_mode(unsigned int mode)
{
	struct vperfctr *v = NULL;

	__perfctr_result(open_handle(mode, &v));
	return v;
}

struct vperfctr *vperfctr_open(void)
{
	return vperfctr_open_mode(VPERFCTR_OPEN_CREAT_EXCL);
}

/* A child inherits the mapping, which keeps the state's file open. */
void vperfctr_close(struct vperfctr *v)
{
	if (!v)
		return;
	if (is_mapped(v) || (v->page && __vperfctr_is_state_mapped(v->page)))
		munmap((void *)v->page, page_size());
	close(v->fd);
	free(v);
}

int vperfctr_info(const struct vperfctr *v, struct perfctr_info *info)
{
	return perfctr_info(v->fd, info);
}

struct perfctr_cpus_info *vperfctr_cpus_info(const struct vperfctr *v)
{
	return perfctr_cpus_info(v->fd);
}

/* ---- control ---------------------------------------------------------------------- */

int vperfctr_control(const struct vperfctr *v, struct vperfctr_control *control)
{
	return _vperfctr_control(v->fd, control);
}

int vperfctr_stop(const struct vperfctr *v)
{
	return __perfctr_result(__perfctr_stop(v->fd));
}

int vperfctr_is_running(const struct vperfctr *v)
{
	int status = __perfctr_read(v->fd, NULL, NULL);

	return status >= 0 && (status & VPERFCTR_STATUS_ATTACHED) &&
	       (status & VPERFCTR_STATUS_ACTIVE);
}

int vperfctr_iresume(const struct vperfctr *v)
{
	return __perfctr_result(__perfctr_iresume(v->fd));
}

int vperfctr_unlink(const struct vperfctr *v)
{
	return __perfctr_result(__perfctr_unlink(v->fd));
}

/* ---- reading ------------------------------------------------------------------------ */

/* The kernel changes the page at a switch of the reading thread: only the compiler can reorder. */
#define barrier()	__asm__ __volatile__("" : : : "memory")

static inline uint64_t rdpmc(uint32_t map)
{
	uint32_t low, high;

	__asm__ __volatile__("rdpmc" : "=a" (low), "=d" (high) : "c" (map));
	return low | (uint64_t)high << 32;
}

static inline uint64_t rdtsc(void)
{
	uint32_t low, high;

	__asm__ __volatile__("rdtsc" : "=a" (low), "=d" (high));
	return low | (uint64_t)high << 32;
}

/*
 * Read counters first ... first + nr - 1, or as many of them as are controlled, and the
 * TSC unless tsc is NULL, all of the same moment.  Returns 0 if the page cannot be used;
 * then the kernel must read.
 */
static inline int read_page(const struct vperfctr *v, unsigned int first, unsigned int nr,
			    __perfctr_ull *tsc, __perfctr_ull *pmc)
{
	const struct vperfctr_page *page = v->page;
	uint32_t seq, cstatus;
	unsigned int i, end;
	uint64_t mask;

	/* RDPMC would read another thread's counters. */
	if (!is_mapped(v) || v->thread != this_thread())
		return 0;
	do {
		barrier();
		seq = page->samplecount;
		barrier();
		cstatus = page->cstatus;
		end = VPERFCTR_CSTATUS_NRCTRS(cstatus);
		if (end > first + nr)
			end = first + nr;
		/*
		 * RDPMC is not allowed, or there are no counters: after an overflow the
		 * page has none.
		 */
		if (nr && !(cstatus & VPERFCTR_CSTATUS_RDPMC) &&
		    ((cstatus & VPERFCTR_CSTATUS_RUNNING) || !end))
			return 0;
		if (tsc)
			*tsc = page->tsc_sum;
		if (!(cstatus & VPERFCTR_CSTATUS_RUNNING)) {
			for (i = first; i < end; i++)
				pmc[i - first] = page->ctr[i].sum;
			barrier();
			continue;
		}
		if (tsc && (cstatus & VPERFCTR_CSTATUS_TSC))
			*tsc += rdtsc() - page->tsc_start;
		mask = page->mask;
		for (i = first; i < end; i++) {
			const struct vperfctr_page_ctr *ctr = &page->ctr[i];

			pmc[i - first] = ctr->sum + ((rdpmc(ctr->map) - ctr->start) & mask);
		}
		barrier();
	} while (page->samplecount != seq);
	return 1;
}

__perfctr_ull vperfctr_read_tsc(const struct vperfctr *v)
{
	struct perfctr_sum_ctrs sum;
	__perfctr_ull tsc;

	if (read_page(v, 0, 0, &tsc, NULL))
		return tsc;
	return __perfctr_read(v->fd, &sum, NULL) < 0 ? 0 : sum.tsc;
}

__perfctr_ull vperfctr_read_pmc(const struct vperfctr *v, unsigned int i)
{
	struct perfctr_sum_ctrs sum;
	__perfctr_ull pmc = 0;

	if (i >= MAX_CTRS)
		return 0;
	if (read_page(v, i, 1, NULL, &pmc))
		return pmc;
	return __perfctr_read(v->fd, &sum, NULL) < 0 ? 0 : sum.pmc[i];
}

/* Counters that are not controlled are not written. */
int vperfctr_read_ctrs(const struct vperfctr *v, struct perfctr_sum_ctrs *sum)
{
	int ret;

	if (read_page(v, 0, MAX_CTRS, &sum->tsc, sum->pmc))
		return 0;
	ret = __perfctr_read(v->fd, sum, NULL);
	return __perfctr_result(ret < 0 ? ret : 0);
}

int vperfctr_read_state(const struct vperfctr *v, struct perfctr_sum_ctrs *sum,
			struct vperfctr_control *control)
{
	int ret = __perfctr_read(v->fd, sum, control);

	return __perfctr_result(ret < 0 ? ret : 0);
}
