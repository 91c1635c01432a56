// SPDX-License-Identifier: GPL-2.0
/*
 * Store buffers: the stores of a CPU may become visible to others later, and in another
 * order, than it has executed them.
 *
 * A CPU's view of the memory matters only while that CPU executes.  So a store changes the
 * memory at once, and the CPU notes what was there before.  When another CPU goes on, a
 * choice decides which of these stores stay in the buffer.  These are taken back, and
 * are made again when their CPU goes on.  A barrier forgets the notes: the stores are
 * visible for good.  So does their age.
 *
 * The order is weaker than that of x86.  A store may pass any other one, unless there is a
 * barrier for stores, a release or an unlock between them.  Loads are in order.
 */
#include "sim.h"

#ifdef __SANITIZE_ADDRESS__
void *__asan_region_is_poisoned(void *p, size_t size);
#else
#define __asan_region_is_poisoned(p, size)	((void)(p), (void)(size), NULL)
#endif

/* The stores that a CPU remembers.  Older ones are visible. */
#define MAX_STORES	8

/* No store stays in the buffer for that many steps. */
#define MAX_AGE		400

/* Once in this many switches between CPUs, a store stays in the buffer. */
#define RARE		2

struct store {
	void *p;
	unsigned int size;
	u64 mask;		/* the bits that it changes; with `add`: what it adds */
	bool add;
	bool fenced;		/* a barrier for stores precedes it */
	u64 step;
	u64 other;		/* the value in the other view: not that of the memory */
};

static struct buffer {
	struct store store[MAX_STORES];
	unsigned int nr;
	bool fence;		/* before the next store */
} buffers[NR_CPUS];

static unsigned int nr_away;	/* stores of CPUs that do not execute, in their buffers */

bool sim_sees_plain_stores;	/* each store is noted, not only those of the interface */

static u64 load(const struct store *s)
{
	u64 value = 0;

	memcpy(&value, s->p, s->size);
	return value;
}

/* Exchange the value in the memory and the other one. */
static void exchange(struct store *s, bool back)
{
	u64 value, now;

	if (__asan_region_is_poisoned(s->p, s->size))
		sim_fail("a store that is still in the buffer of its CPU was to memory that is freed");
	now = load(s);
	if (s->add) {
		value = back ? now - s->mask : now + s->mask;
	} else {
		value = (now & ~s->mask) | (s->other & s->mask);
		s->other = now;
	}
	memcpy(s->p, &value, s->size);
}

static void forget_first(struct buffer *b, unsigned int n)
{
	b->nr -= n;
	memmove(b->store, b->store + n, b->nr * sizeof(b->store[0]));
}

static bool overlaps(const struct store *s, const char *p, unsigned int size)
{
	return (char *)s->p < p + size && p < (char *)s->p + s->size;
}

static void note(void *p, unsigned int size, u64 mask, bool add)
{
	struct buffer *b = &buffers[sim_cpu];
	struct store *s;
	unsigned int i;

	sim_require(!sim_is_own_stack(p), "a store to the stack is noted: its place may be used again before others see it");
	/* One note for each place. */
	for (i = b->nr; i; i--) {
		if (overlaps(&b->store[i - 1], p, size)) {
			forget_first(b, i);
			break;
		}
	}
	if (b->nr == MAX_STORES)
		forget_first(b, 1);
	s = &b->store[b->nr++];
	*s = (struct store) {
		.p = p, .size = size, .mask = mask, .add = add, .fenced = b->fence, .step = sim_steps,
	};
	b->fence = false;
	s->other = load(s);
}

/* This CPU is about to store there. */
void sim_will_store(volatile void *p, size_t size)
{
	if (size > 64) {
		sim_drain();
		return;
	}
	for (; size > 8; size -= 8, p = (char *)p + 8)
		note((void *)p, 8, ~0ULL, false);
	note((void *)p, size, ~0ULL, false);
}

/* This CPU is about to change only these bits, or to add, in one access. */
void sim_will_change(volatile void *p, size_t size, u64 mask)
{
	note((void *)p, size, mask, false);
}

void sim_will_add(volatile void *p, size_t size, u64 n)
{
	note((void *)p, size, n, true);
}

/* All stores of this CPU are visible: a full barrier. */
void sim_drain(void)
{
	buffers[sim_cpu].nr = 0;
	buffers[sim_cpu].fence = false;
}

/* The stores so far are visible before those that follow. */
void sim_order_stores(void)
{
	buffers[sim_cpu].fence = buffers[sim_cpu].nr;
}

/* Where others may see plain stores that are not noted, these would pass the noted ones. */
void sim_write_barrier(void)
{
	if (sim_sees_plain_stores)
		sim_order_stores();
	else
		sim_drain();
}

/* A barrier of each CPU, as a grace period is. */
bool sim_drain_all(void)
{
	bool drained = nr_away;
	unsigned int cpu, i;

	sim_drain();
	if (!drained)
		return false;
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		struct buffer *b = &buffers[cpu];

		for (i = 0; cpu != sim_cpu && i < b->nr; i++)
			exchange(&b->store[i], false);
		b->nr = 0;
	}
	nr_away = 0;
	return true;
}

/*
 * Choose which stores stay in the buffer, and return them as a set of bits: none, the last n,
 * or one and those after it that must not become visible before it.
 */
static unsigned int choose_delayed(const struct buffer *b)
{
	unsigned int i, n = b->nr;
	unsigned int choice = n ? sim_choose(2 * n, RARE) : 0;
	unsigned int delayed = 0;
	bool fenced = false;

	if (choice > n) {
		/* The last one alone is among the first kind. */
		i = choice - n - 1;
		delayed = 1U << i;
		while (++i < n) {
			fenced |= b->store[i].fenced;
			delayed |= fenced << i;
		}
	} else {
		for (i = n - choice; i < n; i++)
			delayed |= 1U << i;
	}
	return delayed;
}

/* Another CPU goes on: take back what stays in the buffer of this one. */
void sim_leave_buffer(void)
{
	struct buffer *b = &buffers[sim_cpu];
	unsigned int i, delayed, kept = 0;
	bool fence = false;

	if (!b->nr)
		return;
	delayed = choose_delayed(b);
	for (i = 0; i < b->nr; i++) {
		if (!(delayed >> i & 1)) {
			fence |= b->store[i].fenced;
			continue;
		}
		b->store[kept] = b->store[i];
		b->store[kept++].fenced |= fence;
		fence = false;
	}
	b->nr = kept;
	if (!kept)
		return;
	nr_away += kept;
	sim_tell("%u stores stay in the buffer", kept);
	for (i = kept; i; i--) {
		b->store[i - 1].step = sim_steps;
		exchange(&b->store[i - 1], true);
	}
}

/* This CPU goes on, and sees its own stores. */
void sim_enter_buffer(void)
{
	struct buffer *b = &buffers[sim_cpu];
	unsigned int i;

	for (i = 0; i < b->nr; i++)
		exchange(&b->store[i], false);
	nr_away -= b->nr;
}

/* Stores of other CPUs reach the memory after some time. */
void sim_age_buffers(void)
{
	unsigned int cpu, i, n;

	if (!nr_away)
		return;
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		struct buffer *b = &buffers[cpu];

		if (cpu == sim_cpu)
			continue;
		for (n = 0; n < b->nr && b->store[n].step + MAX_AGE < sim_steps; n++)
			;
		for (i = 0; i < n; i++)
			exchange(&b->store[i], false);
		nr_away -= n;
		forget_first(b, n);
	}
}
