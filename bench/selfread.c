// SPDX-License-Identifier: GPL-2.0
/*
 * A task's reads of its own counters in user mode.  vperfctr: the library's inline
 * functions.  perf_event: the shortest code for a task that is never multiplexed, and
 * the code with the times that show whether it was.  Compiled with a user's options,
 * so that the figures are a user's.
 */
#include <string.h>
#include <vperfctr.h>

#include "bench.h"

/* A clock that counts instructions measures one read exactly; others need an average of many. */
#define BATCH	1000
#define EXACT	(emulated && CLOCK_COUNTS_INSNS)

#define SELF_READ(name, nr, statement)						\
static __attribute__((noinline)) void name##_##nr(void *arg)			\
{										\
	struct meter m = { .batch = EXACT ? 1 : BATCH };			\
	u64 v[MAX_N] = { };							\
	unsigned int k;								\
										\
	while (m.n < REPEATS) {							\
		if (EXACT) {							\
			meter_begin(&m);					\
			statement;						\
			meter_end(&m);						\
		} else {							\
			meter_begin(&m);					\
			for (k = 0; k < BATCH; k++)				\
				statement;					\
			meter_end(&m);						\
		}								\
		asm volatile("" : : "r" (v) : "memory");			\
	}									\
	emit_meter(&m, 0, #name ".n%u", nr);					\
}

/* The instructions counted in an empty region, and how much they vary. */
#define BIAS(name, type, statement)						\
static __attribute__((noinline)) void name(type arg)				\
{										\
	u64 v[2] = { }, low = ~0ULL, high = 0;					\
	unsigned int i;								\
										\
	for (i = 0; i < REPEATS; i++) {						\
		u64 difference;							\
										\
		statement(0);							\
		statement(1);							\
		difference = v[1] - v[0];					\
		if (i && difference < low)					\
			low = difference;					\
		if (i && difference > high)					\
			high = difference;					\
	}									\
	emit("instructions counted", low, "bias", 0);				\
	emit("instructions counted", high - low, "bias.spread", 0);		\
}

/* ---- vperfctr --------------------------------------------------------------- */

#define OURS(n) SELF_READ(selfread, n, vperfctr_read(arg, NULL, v, n))
FOR_EACH_N(OURS)
/* one counter by its own function, and one counter with the TSC */
SELF_READ(selfread_pmc, 1, vperfctr_read_pmc(arg, 0, v))
SELF_READ(selfread_tsc, 1, vperfctr_read(arg, v + 1, v, 1))

/* two handles of one thread, of one counter each */
SELF_READ(selfread_states, 2, (vperfctr_read(((struct vperfctr **)arg)[0], NULL, v, 1),
			       vperfctr_read(((struct vperfctr **)arg)[1], NULL, v + 1, 1)))

/* The same by other compilers: reads.c. */
typedef void timed_reads(struct vperfctr *v, u64 *time, unsigned int repeats);

static __attribute__((unused)) u64 time_of(timed_reads *reads, struct vperfctr *v)
{
	u64 time[REPEATS];

	reads(v, time, REPEATS);
	return median(time + 1, REPEATS - 1);
}

#define READS_BY(by)								\
timed_reads reads_by_##by##_0, reads_by_##by##_1, reads_by_##by##_4;		\
static void measure_##by(struct vperfctr *v, unsigned int n)			\
{										\
	u64 without = time_of(reads_by_##by##_0, v);				\
	u64 with = time_of(n == 1 ? reads_by_##by##_1 : reads_by_##by##_4, v);	\
										\
	emit(unit, figure((double)with - without), "selfread_" #by ".n%u", n);	\
}

#ifdef READS_BY_os
READS_BY(os)
#endif
#ifdef READS_BY_cxx
READS_BY(cxx)
#endif
#ifdef READS_BY_clang
READS_BY(clang)
#endif

static void measure_other_compilers(struct vperfctr *v, unsigned int n)
{
#ifdef READS_BY_os
	measure_os(v, n);
#endif
#ifdef READS_BY_cxx
	measure_cxx(v, n);
#endif
#ifdef READS_BY_clang
	measure_clang(v, n);
#endif
	(void)v;
	(void)n;
}

#define OUR_BIAS(i) vperfctr_read_pmc(arg, 0, &v[i])
BIAS(our_bias, struct vperfctr *, OUR_BIAS)

static void measure_ours(void *arg)
{
	const unsigned int n = *(const unsigned int *)arg;
	struct vperfctr *v;
	struct group g;

	side->open(&g, n, SET_A, false);
	must("vperfctr_open_fd", vperfctr_open_fd(&v, g.fd[0], VPERFCTR_FD_MAP));
	if (!(v->page->cstatus & VPERFCTR_CSTATUS_RDPMC))
		die("the page does not permit RDPMC: see 'rdpmc' in sysfs");
	switch (n) {
	case 1:
		selfread_1(v);
		selfread_pmc_1(v);
		selfread_tsc_1(v);
		our_bias(v);
		measure_other_compilers(v, 1);
		break;
	case 2:
		selfread_2(v);
		break;
	case 4:
		selfread_4(v);
		measure_other_compilers(v, 4);
		break;
	}
}

static void measure_our_states(void *arg)
{
	struct vperfctr *v[2];
	struct group g;
	unsigned int i;

	(void)arg;
	side->open_each(&g, 2, SET_A, false);
	for (i = 0; i < 2; i++) {
		must("vperfctr_open_fd", vperfctr_open_fd(&v[i], g.fd[i], VPERFCTR_FD_MAP));
		if (!(v[i]->page->cstatus & VPERFCTR_CSTATUS_RDPMC))
			die("the page does not permit RDPMC: see 'rdpmc' in sysfs");
	}
	selfread_states_2(v);
}

void vperfctr_self_reads(void)
{
	static unsigned int numbers[] = { 1, 2, 4 };
	unsigned int i;

	for (i = 0; i < 3; i++)
		in_child(measure_ours, &numbers[i]);
	in_child(measure_our_states, NULL);
}

/* ---- perf_event --------------------------------------------------------------- */

#define barrier()	asm volatile("" : : : "memory")

/* The loop of include/uapi/linux/perf_event.h, without the times. */
static inline __attribute__((always_inline)) u64 perf_read(const void *map)
{
	const volatile struct perf_event_mmap_page *page = map;
	u32 seq, index;
	u64 count;

	do {
		seq = page->lock;
		barrier();
		index = page->index;
		count = page->offset;
		if (__builtin_expect(index != 0, 1)) {
			unsigned int unused = 64 - page->pmc_width;

			count += (s64)(read_pmc(index - 1) << unused) >> unused;
		}
		barrier();
	} while (__builtin_expect(page->lock != seq, 0));
	return count;
}

/* With the times, and scaled if the event was not always on the PMU. */
static inline __attribute__((always_inline)) u64 perf_read_times(const void *map)
{
	const volatile struct perf_event_mmap_page *page = map;
	u64 count, enabled, running;
	u32 seq, index;

	do {
		seq = page->lock;
		barrier();
		enabled = page->time_enabled;
		running = page->time_running;
		if (page->cap_user_time && enabled != running) {
			u64 cycles = now();
			u64 quot = cycles >> page->time_shift;
			u64 rem = cycles & (((u64)1 << page->time_shift) - 1);
			u64 delta = page->time_offset + quot * page->time_mult +
				    ((rem * page->time_mult) >> page->time_shift);

			enabled += delta;
			if (page->index)
				running += delta;
		}
		index = page->index;
		count = page->offset;
		if (page->cap_user_rdpmc && index) {
			unsigned int unused = 64 - page->pmc_width;

			count += (s64)(read_pmc(index - 1) << unused) >> unused;
		}
		barrier();
	} while (__builtin_expect(page->lock != seq, 0));
	if (enabled != running && running)
		count = (double)count * enabled / running;
	return count;
}

static inline __attribute__((always_inline)) void perf_read_all(struct group *g, u64 *v,
								unsigned int n)
{
	unsigned int i;

#pragma GCC unroll 4
	for (i = 0; i < n; i++)
		v[i] = perf_read(g->page[i]);
}

static inline __attribute__((always_inline)) void perf_read_all_times(struct group *g, u64 *v,
								      unsigned int n)
{
	unsigned int i;

#pragma GCC unroll 4
	for (i = 0; i < n; i++)
		v[i] = perf_read_times(g->page[i]);
}

#define selfread_1 perf_selfread_1
#define selfread_2 perf_selfread_2
#define selfread_4 perf_selfread_4
#define PERFS(n) SELF_READ(selfread, n, perf_read_all(arg, v, n))
FOR_EACH_N(PERFS)
#define PERFS_TIMES(n) SELF_READ(selfread_times, n, perf_read_all_times(arg, v, n))
FOR_EACH_N(PERFS_TIMES)

#define selfread_states_2 perf_selfread_states_2
SELF_READ(selfread_states, 2, perf_read_all(arg, v, 2))

#define PERF_BIAS(i) (v[i] = perf_read(arg))
BIAS(perf_bias, void *, PERF_BIAS)

static void measure_perf(void *arg)
{
	const unsigned int n = *(const unsigned int *)arg;
	struct group g;

	side->open(&g, n, SET_A, true);
	if (!((struct perf_event_mmap_page *)g.page[0])->index)
		die("the page does not permit RDPMC: see 'rdpmc' in sysfs");
	switch (n) {
	case 1:
		perf_selfread_1(&g);
		selfread_times_1(&g);
		perf_bias(g.page[0]);
		break;
	case 2:
		perf_selfread_2(&g);
		selfread_times_2(&g);
		break;
	case 4:
		perf_selfread_4(&g);
		selfread_times_4(&g);
		break;
	}
}

static void measure_perf_events(void *arg)
{
	struct group g;

	(void)arg;
	side->open_each(&g, 2, SET_A, true);
	perf_selfread_states_2(&g);
}

void perf_self_reads(void)
{
	static unsigned int numbers[] = { 1, 2, 4 };
	unsigned int i;

	for (i = 0; i < 3; i++)
		in_child(measure_perf, &numbers[i]);
	in_child(measure_perf_events, NULL);
}
