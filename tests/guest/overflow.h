/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the tests of i-mode counters. */
#ifndef GUEST_OVERFLOW_H
#define GUEST_OVERFLOW_H

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "service.h"

#define OVERFLOW	VPERFCTR_STATUS_OVERFLOW

/* The map and evntsel arguments of the functions below. */
#define IMODE	IMODE_MAP, IMODE_USER

/* The shortest period for code of libc and libcheck, which has atomic operations. */
#ifndef SHORTEST_IN_LIBC
#define SHORTEST_IN_LIBC	SHORTEST_PERIOD
#endif

/* Append an i-mode counter: a-mode counters must be added before. */
static inline void control_add_imode(struct control *control, u32 map, u64 evntsel, u64 period)
{
	struct vperfctr_ctr *ctr = &control->ctr[control->c.nractrs + control->c.nrictrs++];

	control->c.kind = info.kind;

	ctr->map = skip_kept_counters(map);
	ctr->evntsel = evntsel;
	adapt_ctr(ctr);
	ctr->ireset = -period;
}

static inline void handle(int sig, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	if (sigaction(sig, &action, NULL))
		die("sigaction of signal %d: %s", sig, strerror(errno));
}

/* The set of counters that wait for IRESUME. */
static inline u64 overflow_of(int fd)
{
	struct reading r;

	read_state(fd, &r);
	return r.read.overflow;
}

static inline short poll_now(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) < 0 ? -1 : p.revents;
}

/* Execute 2n + 2 instructions (overflow-code.S). */
void marked_loop(unsigned long n);
extern const char marked_loop_dec[], marked_loop_jnz[], marked_loop_end[];

/*
 * Return how many instructions of marked_loop(n) had been executed, from the
 * interrupted registers; -1 if outside the loop.
 */
static inline long place_in_loop(const ucontext_t *uc, unsigned long n)
{
	u64 ip = CONTEXT_IP(uc);
	u64 left = CONTEXT_COUNTER(uc);

	if (ip == (uintptr_t)marked_loop_dec)
		return 2 * (n - left);
	if (ip == (uintptr_t)marked_loop_jnz)
		return 2 * (n - left) - 1;
	return ip == (uintptr_t)marked_loop_end ? 2 * (long)n : -1;
}

/* ---- a handler that checks and counts overflows ---------------------------------------- */

/*
 * The overflows of one state, in memory that stays shared after a fork.  `wrong` is the
 * line of the handler's first check that failed.
 */
struct account {
	int fd;
	u32 signals;
	u32 masks;		/* union of all */
	u32 mask;		/* of the last overflow */
	u32 resumes;		/* how often the handler calls IRESUME */
	u32 wrong;
	/* If not 0, the sum of counter `index` is a multiple of it at each overflow. */
	u64 period;
	unsigned int index;
	/* If not 0, the argument of marked_loop(): */
	unsigned long n;
	u32 elsewhere;		/* overflows outside that loop */
	long place;		/* last place in the loop, or -1 */
	long step;		/* from one place to the next */
	u32 uneven;		/* steps that differ */
};

static volatile struct account *acc;

static inline void account_wrong(u32 line)
{
	if (!acc->wrong)
		acc->wrong = line;
}

static inline void account_place(const ucontext_t *uc)
{
	long place = place_in_loop(uc, acc->n);
	long step = place - acc->place;

	if (place < 0) {
		acc->elsewhere++;
	} else if (acc->place >= 0) {
		if (acc->step && step != acc->step)
			acc->uneven++;
		acc->step = step;
	}
	acc->place = place;
}

static inline void account_sums(u32 mask)
{
	struct reading r;

	read_state(acc->fd, &r);
	if (r.own[1 + acc->index] != acc->period * acc->signals)
		account_wrong(__LINE__);
	if (r.read.overflow != mask || !(r.read.status & OVERFLOW))
		account_wrong(__LINE__);
}

/* A constant number of instructions is counted after its IRESUME. */
__attribute__((unused))
static void on_overflow(int sig, siginfo_t *si, void *context)
{
	u32 mask = si->si_pmc_ovf_mask;

	acc->signals++;
	acc->masks |= mask;
	acc->mask = mask;
	if (si->si_code != SI_PMC_OVF || !mask || si->si_signo != sig || si->si_pmc_ovf_mask_high)
		account_wrong(__LINE__);
	if (acc->n)
		account_place(context);
	if (acc->period)
		account_sums(mask);
	if (!acc->resumes)
		return;
	acc->resumes--;
	if (call(acc->fd, VPERFCTR_IRESUME, NULL))
		account_wrong(__LINE__);
}

/* Open a state for the caller; the handler always calls IRESUME. */
static inline int account_init(void)
{
	if (!acc)
		acc = shared_memory(sizeof(*acc));
	memset((void *)acc, 0, sizeof(*acc));
	acc->resumes = ~0U;
	acc->place = -1;
	acc->fd = open_state(0);
	return acc->fd;
}

/* Start one i-mode counter, and the TSC. */
static inline int try_overflow(int fd, u32 map, u64 evntsel, u64 period, int sig)
{
	struct control control;

	control_init(&control, 1);
	control_add_imode(&control, map, evntsel, period);
	control.c.si_signo = sig;
	return set_control(fd, &control);
}

static inline void start_overflow(u64 period, int sig)
{
	int err;

	if (sig)
		handle(sig, on_overflow);
	err = try_overflow(acc->fd, IMODE, period, sig);
	if (err)
		die("CONTROL with an i-mode counter: %s", strerror(-err));
}

/* Debug kernels execute this many times as much: a period of 1 ended with sum 22,147. */
#define IMODE_SLOWDOWN	20

/* Limit of the instructions in kernel mode from an overflow until counting stops. */
static inline u64 imode_late(void)
{
	return IMODE_LATE * (is_kcsan_kernel() ? 10 * IMODE_SLOWDOWN :
			     is_debug_kernel() ? IMODE_SLOWDOWN : 1);
}

/*
 * Check a state that counts kernel mode too: an overflow has one signal, and the
 * counter stopped in the interrupt's entry.  RESUME reports an overflow that happens in
 * the SUSPEND here.  Return true if there was an overflow.
 */
static inline bool check_kernel_overflow(int fd, u64 period)
{
	struct sums sums;

	assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
	read_sums(fd, &sums);
	if (!(sums.status & OVERFLOW) && sums.pmc[0] >= period) {
		ck_assert_uint_eq(acc->signals, 0);
		assert_ok(call(fd, VPERFCTR_RESUME, NULL));
		sums.status = status_of(fd);
		ck_assert_uint_eq(count_of(fd), sums.pmc[0]);
	}
	ck_assert_uint_eq(acc->wrong, 0);
	if (!(sums.status & OVERFLOW)) {
		ck_assert_msg(!acc->signals && sums.pmc[0] < period,
			      "period %llu: %u signals, sum %llu, no overflow", period,
			      acc->signals, sums.pmc[0]);
		return false;
	}
	ck_assert_msg(acc->signals == 1 && sums.pmc[0] >= period &&
		      sums.pmc[0] < period + imode_late(),
		      "period %llu: %u signals, sum %llu", period, acc->signals, sums.pmc[0]);
	return true;
}

/* ---- rings ------------------------------------------------------------------ */

struct mapped_ring {
	const volatile struct vperfctr_ring_page *page;
	size_t size;
};

static inline int try_ring(int fd, u32 nrsamples, u32 watermark, u32 nrsums,
			   struct vperfctr_ring *req)
{
	memset(req, 0, sizeof(*req));
	req->size = sizeof(*req);
	req->nrsamples = nrsamples;
	req->watermark = watermark;
	req->nrsums = nrsums;
	return call(fd, VPERFCTR_RING, req);
}

/* Return the map_size of a ring whose samples have sums only. */
static inline size_t ring_bytes(u32 nrsamples, u32 nrsums)
{
	const size_t data = nrsamples * (sizeof(struct vperfctr_sample) + 8 * nrsums);

	return PAGE + (data + PAGE - 1) / PAGE * PAGE;
}

static inline void map_ring(int fd, size_t size, struct mapped_ring *ring)
{
	ring->size = size;
	ring->page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, VPERFCTR_RING_OFFSET);
	if (ring->page == MAP_FAILED)
		die("mmap of a ring: %s", strerror(errno));
}

static inline void make_ring_flags(int fd, u32 flags, u32 nrsamples, u32 watermark, u32 nrsums,
				   struct mapped_ring *ring)
{
	struct vperfctr_ring req = {
		.size = sizeof(req), .flags = flags, .nrsamples = nrsamples,
		.watermark = watermark, .nrsums = nrsums,
	};
	int err = call(fd, VPERFCTR_RING, &req);

	if (err)
		die("VPERFCTR_RING: %s", strerror(-err));
	map_ring(fd, req.map_size, ring);
}

static inline void make_ring(int fd, u32 nrsamples, u32 watermark, u32 nrsums,
			     struct mapped_ring *ring)
{
	make_ring_flags(fd, 0, nrsamples, watermark, nrsums, ring);
}

static inline u64 ring_head(const struct mapped_ring *ring)
{
	return load_head(&ring->page->head);
}

static inline const struct vperfctr_sample *ring_sample(const struct mapped_ring *ring, u64 n)
{
	const volatile struct vperfctr_ring_page *page = ring->page;

	return (const void *)((const char *)page + page->data +
			      n % page->nrsamples * page->sample_size);
}

static inline int try_overflow_ring(int fd, u32 map, u64 evntsel, u64 period)
{
	struct control control;

	control_init(&control, 1);
	control_add_imode(&control, map, evntsel, period);
	control.c.flags = VPERFCTR_CONTROL_RING;
	return set_control(fd, &control);
}

#endif /* GUEST_OVERFLOW_H */
