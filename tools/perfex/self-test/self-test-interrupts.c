// SPDX-License-Identifier: GPL-2.0
/* perfex --self-test: overflows, which i-mode counters report by interrupts. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "checks.h"

/*
 * Instructions by which a counter may be stopped late.  Without an interrupt, a counter runs
 * on until the read that follows: after four times as many.
 */
#define LATE	5000

#ifdef __aarch64__
#define CHECKS_LATENESS	false
#else
#define CHECKS_LATENESS	true
#endif

static void require_interrupts(struct self_test *t)
{
	if (!(t->kind[0].features & VPERFCTR_FEATURE_PCINT))
		skip_check(t, "the counters have no overflow interrupts");
}

static void resume_after_overflow(struct self_test *t, struct counting *c)
{
	const int err = vperfctr_iresume(c->v);

	if (err)
		fail_check(t, "counting does not go on after an overflow: %s", strerror(-err));
}

/*
 * Execute instructions until counter 0, whose period this is, has overflowed once.  `before`
 * is a count that it had in this period, or before.  A read would find an overflow that no
 * interrupt has reported, so there must be none in a short period.
 *
 * Return: its count then.
 */
static uint64_t overflow_after(struct self_test *t, struct counting *c, uint64_t period,
			       uint64_t before, uint64_t *mask)
{
	uint64_t after;

	known_loop(period / 2 + 2 * LATE);
	after = read_count(t, c, 0, mask);
	if (!*mask)
		fail_check(t, "period %" PRIu64 ": no overflow was reported after %" PRIu64 " instructions",
			   period, after - before);
	/* QEMU's interrupts of arm64 may be later than all this. */
	if (CHECKS_LATENESS && after - before > period + LATE)
		fail_check(t, "period %" PRIu64 ": counting stopped %" PRIu64 " instructions late: no interrupt came",
			   period, after - before - period);
	return after;
}

static uint64_t overflow_once(struct self_test *t, struct counting *c, uint64_t period,
			      uint64_t *mask)
{
	return overflow_after(t, c, period, read_count(t, c, 0, NULL), mask);
}

/* ---- start values ------------------------------------------------------------------- */

/* Start values with patterns of bits, far from an overflow: the counter must hold them. */
static void try_patterns(struct self_test *t, const struct vperfctr_info *kind,
			 struct vperfctr_ctr ctr)
{
	static const uint64_t patterns[] = {
		UINT64_MAX, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc,
		0xff00ff00ff00ff00, 0xffffffff80000000,
	};
	uint64_t period, count, overflow, cost;
	struct counting c;
	char name[40];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(patterns); i++) {
		period = patterns[i] & kind->max_period;
		/* Not within the loop's reach. */
		if (period < 1U << 28)
			continue;
		init_counting(&c, kind);
		add_counter(&c, ctr, period);
		start_counting(t, &c);
		cost = read_count(t, &c, 0, NULL);
		if (cost > LATE)
			fail_check(t, "%s with period %#" PRIx64 " has counted %" PRIu64 " instructions at once",
				   counter_name(name, sizeof(name), ctr.map), period, cost);
		cost = read_count(t, &c, 0, NULL);
		cost = read_count(t, &c, 0, NULL) - cost;
		count = read_count(t, &c, 0, NULL);
		known_loop(1000);
		count = read_count(t, &c, 0, &overflow) - count - cost;
		stop_counting(&c);
		if (overflow || count < 2000 || count > 2000 + 20)
			fail_check(t, "%s with period %#" PRIx64 " counted %" PRIu64 " of 2000 instructions%s",
				   counter_name(name, sizeof(name), ctr.map), period, count,
				   overflow ? ", and reported an overflow" : "");
	}
}

static enum outcome check_values(struct self_test *t)
{
	const struct vperfctr_info *kind;
	struct counting all;
	unsigned int i;

	require_interrupts(t);
	pin_to_first(t, &kind);
	init_counting(&all, kind);
	add_instructions(t, kind, &all);
	for (i = 0; i < all.nr; i++)
		try_patterns(t, kind, all.ctr[i]);
	return passed(t, "%u counters hold start values with all patterns of bits", all.nr);
}

/* ---- periods -------------------------------------------------------------------------- */

static const uint64_t periods[] = { 1, 2, 31, 32, 127, 128, 1000, 1000000 };

static enum outcome check_periods(struct self_test *t)
{
	const struct vperfctr_info *kind;
	uint64_t mask, count, last;
	struct counting c;
	unsigned int i, j;

	require_interrupts(t);
	pin_to_first(t, &kind);
	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		if (periods[i] < kind->min_period)
			continue;	/* the module refuses it */
		init_counting(&c, kind);
		add_counter(&c, counter_for_instructions(t, kind), periods[i]);
		start_counting(t, &c);
		for (j = 0, last = 0; j < 20; j++, last = count) {
			if (j)
				resume_after_overflow(t, &c);
			count = overflow_after(t, &c, periods[i], last, &mask);
			if (count < (j + 1) * periods[i])
				return failed(t, "period %" PRIu64 ": overflow %u was reported after %" PRIu64 " instructions",
					      periods[i], j + 1, count);
		}
		stop_counting(&c);
	}
	return passed(t, "overflows are reported with periods from %" PRIu64 " to %" PRIu64,
		      (uint64_t)kind->min_period, periods[ARRAY_SIZE(periods) - 1]);
}

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* How late the counters are stopped: a figure, which differs between processors. */
static enum outcome check_skid(struct self_test *t)
{
	enum { NR = 101, PERIOD = 10007 };
	const struct vperfctr_info *kind;
	uint64_t skid[NR], last = 0, mask, count, plain;
	struct counting source, c;
	bool has_plain;
	unsigned int i;

	require_interrupts(t);
	pin_to_first(t, &kind);
	init_counting(&source, kind);
	/* A second counter, in a-mode, shows what was executed. */
	has_plain = add_instructions(t, kind, &source) > 1;
	init_counting(&c, kind);
	if (has_plain)
		add_counter(&c, source.ctr[1], 0);
	add_counter(&c, source.ctr[0], PERIOD);
	start_counting(t, &c);
	for (i = 0; i < NR; i++) {
		if (i)
			resume_after_overflow(t, &c);
		plain = overflow_once(t, &c, PERIOD, &mask);
		count = has_plain ? read_count(t, &c, 1, NULL) : plain;
		if (count - last < PERIOD || llabs((long long)(count - plain)) > 20 * (i + 1))
			return failed(t, "overflow %u was reported after %" PRIu64 " instructions, of which another counter counted %" PRIu64 "; the period is %d",
				      i + 1, count, plain, PERIOD);
		skid[i] = count - last - PERIOD;
		last = count;
	}
	stop_counting(&c);
	qsort(skid, NR, sizeof(*skid), compare_numbers);
	return passed(t, "counting stops %" PRIu64 " to %" PRIu64 " instructions after an overflow (median %" PRIu64 ")",
		      skid[0], skid[NR - 1], skid[NR / 2]);
}

static enum outcome check_all_overflow(struct self_test *t)
{
	const struct vperfctr_info *kind;
	uint64_t mask, seen = 0, all;
	struct counting source, c;
	unsigned int i, rounds;

	require_interrupts(t);
	pin_to_first(t, &kind);
	init_counting(&source, kind);
	add_instructions(t, kind, &source);
	init_counting(&c, kind);
	for (i = 0; i < source.nr; i++)
		add_counter(&c, source.ctr[i], 10000);
	all = (1ULL << c.nr) - 1;
	start_counting(t, &c);
	for (rounds = 1; rounds <= 2 * c.nr; rounds++) {
		overflow_once(t, &c, 10000, &mask);
		if (mask & ~all)
			return failed(t, "counters %#" PRIx64 " of %#" PRIx64 " have overflowed", mask, all);
		seen |= mask;
		if (seen == all)
			break;
		resume_after_overflow(t, &c);
	}
	stop_counting(&c);
	if (seen != all)
		return failed(t, "of %u counters with one period, %d have reported overflows", c.nr,
			      __builtin_popcountll(seen));
	return passed(t, "overflows of %u counters at once are reported in %u interrupt%s", c.nr,
		      rounds, rounds > 1 ? "s" : "");
}

/* ---- stops close to an overflow ------------------------------------------------------------ */

/*
 * Start two counters of instructions on the first CPU, of which the second one overflows.
 * Return: false: one counter only can count instructions
 */
static bool start_two(struct self_test *t, struct counting *c, uint64_t period)
{
	const struct vperfctr_info *kind;
	struct counting source;

	pin_to_first(t, &kind);
	init_counting(&source, kind);
	if (add_instructions(t, kind, &source) < 2)
		return false;
	init_counting(c, kind);
	add_counter(c, source.ctr[0], 0);
	add_counter(c, source.ctr[1], period);
	start_counting(t, c);
	return true;
}

/*
 * Suspend the counters right before and after overflows.  Two counters of one event, of
 * which one overflows, must agree always.
 */
static enum outcome check_races(struct self_test *t)
{
	enum { ROUNDS = 2000, PERIOD = 1009 };
	unsigned int i, overflows = 0;
	struct counting c;
	uint64_t a, b, mask;
	unsigned int seed = 1;

	require_interrupts(t);
	if (!start_two(t, &c, PERIOD))
		return skipped(t, "one counter only can count instructions");
	for (i = 0; i < ROUNDS; i++) {
		known_loop(1 + (unsigned long)rand_r(&seed) % (PERIOD / 2));
		if (vperfctr_suspend(c.v))
			return failed(t, "counting cannot be suspended");
		a = read_count(t, &c, 0, &mask);
		b = read_count(t, &c, 1, NULL);
		if (llabs((long long)(a - b)) > (long long)(20 + overflows))
			return failed(t, "after %u overflows, one counter has %" PRIu64 " instructions, and one that overflows %" PRIu64,
				      overflows, a, b);
		if (mask) {
			overflows++;
			resume_after_overflow(t, &c);
		}
		if (vperfctr_resume(c.v))
			return failed(t, "counting cannot be resumed");
	}
	stop_counting(&c);
	if (!overflows)
		return failed(t, "no overflow was reported");
	return passed(t, "%d stops around %u overflows lost no count", ROUNDS, overflows);
}

/* ---- a storm ------------------------------------------------------------------------------------ */

/* Samples of kernel and user mode while the thread calls the kernel all the time. */
static enum outcome check_storm(struct self_test *t)
{
	enum { PERIOD = 1000, CALLS = 20000 };
	struct vperfctr_ring ring = { .nrsamples = 16, .watermark = 16 };
	const struct vperfctr_info *kind;
	uint64_t count, nmis, overflows;
	struct counting c;
	unsigned int i;
	int err;

	require_interrupts(t);
	pin_to_first(t, &kind);
	if (!(kind->features & VPERFCTR_FEATURE_KERNEL))
		return skipped(t, "kernel mode may be counted only with CAP_PERFMON");
	init_counting(&c, kind);
	add_counter(&c, counter_for(t, kind, "instructions:uk"), PERIOD);
	c.control.flags |= VPERFCTR_CONTROL_RING;
	err = vperfctr_open(&c.v, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT);
	if (!err)
		err = vperfctr_ring_open(c.v, &ring);
	nmis = nr_of_nmis();
	if (!err)
		err = vperfctr_control(c.v, &c.control);
	if (err)
		return failed(t, "samples cannot be taken: %s", strerror(-err));
	for (i = 0; i < CALLS; i++) {
		known_loop(10);
		sched_yield();
	}
	count = read_count(t, &c, 0, NULL);
	overflows = vperfctr_ring_nr(c.v) + vperfctr_ring_dropped(c.v);
	stop_counting(&c);
	nmis = nr_of_nmis() - nmis;
	if (overflows < count / PERIOD / 2)
		return failed(t, "%" PRIu64 " overflows in %" PRIu64 " instructions with a period of %d",
			      overflows, count, PERIOD);
	if (nmis > overflows + overflows / 2 + 100)
		return failed(t, "%" PRIu64 " NMIs for %" PRIu64 " overflows", nmis, overflows);
	return passed(t, "%" PRIu64 " overflows in %" PRIu64 " instructions, %" PRIu64 " NMIs", overflows,
		      count, nmis);
}

/* ---- reads while an overflow waits ------------------------------------------------------------- */

static enum outcome check_held(struct self_test *t)
{
	uint64_t mask, value, last = 0;
	struct counting c;
	unsigned int i, j;

	require_interrupts(t);
	if (!start_two(t, &c, 50))
		return skipped(t, "one counter only can count instructions");
	for (i = 0; i < 1000; i++) {
		for (j = 0; j < 20; j++, last = value) {
			if (vperfctr_read_pmc(c.v, 0, &value))
				return failed(t, "the counter cannot be read");
			/* A counter that goes back looks as if it had wrapped around. */
			if (value < last || value - last > 100 * LATE)
				return failed(t, "a count changed from %" PRIu64 " to %" PRIu64 " between two reads",
					      last, value);
		}
		overflow_once(t, &c, 50, &mask);
		resume_after_overflow(t, &c);
	}
	stop_counting(&c);
	return passed(t, "counters can be read in user mode at 1000 overflows");
}

const struct check interrupt_checks[] = {
	CHECK("values", "counters hold their start values", check_values),
	CHECK("periods", "overflows are reported with each period", check_periods),
	CHECK("skid", "how late counting stops", check_skid),
	CHECK("all-overflow", "all counters overflow at once", check_all_overflow),
	CHECK("races", "stops close to an overflow lose nothing", check_races),
	CHECK("storm", "samples of kernel mode, as fast as they come", check_storm),
	CHECK("held", "counters can be read while an overflow waits", check_held),
	CHECKS_END
};
