// SPDX-License-Identifier: GPL-2.0
/*
 * Ranges of addresses, as a tree in an array that is sorted by their start: the root of a part
 * of the array is its middle, and knows the largest address of this part.
 */
#include <stdlib.h>

#include "spans.h"

#define FIRST_ROOM	16

bool spans_add(struct spans *s, uint64_t start, uint64_t last, uint32_t number)
{
	struct span *span;
	size_t room;

	if (s->nr == s->room) {
		room = s->room ? s->room * 2 : FIRST_ROOM;
		span = reallocarray(s->span, room, sizeof(*span));
		if (!span)
			return false;
		s->span = span;
		s->room = room;
	}
	s->span[s->nr++] = (struct span){ .start = start, .last = last, .number = number };
	return true;
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static size_t middle_of(size_t from, size_t to)
{
	return from + (to - from) / 2;
}

static uint64_t set_most(struct spans *s, size_t from, size_t to)
{
	size_t middle = middle_of(from, to);
	uint64_t most, other;

	if (from == to)
		return 0;
	most = s->span[middle].last;
	other = set_most(s, from, middle);
	if (other > most)
		most = other;
	other = set_most(s, middle + 1, to);
	if (other > most)
		most = other;
	s->span[middle].most = most;
	return most;
}

void spans_sort(struct spans *s)
{
	if (!s->nr)
		return;
	qsort(s->span, s->nr, sizeof(*s->span), compare_spans);
	set_most(s, 0, s->nr);
}

static void visit(struct spans *s, size_t from, size_t to, uint64_t address,
		  void (*fn)(void *arg, const struct span *span), void *arg)
{
	while (from < to) {
		const size_t middle = middle_of(from, to);
		const struct span *span = &s->span[middle];

		s->visited++;
		if (span->most < address)
			return;
		visit(s, from, middle, address, fn, arg);
		if (span->start > address)
			return;
		if (span->last >= address)
			fn(arg, span);
		from = middle + 1;
	}
}

void spans_at(struct spans *s, uint64_t address, void (*fn)(void *arg, const struct span *span),
	      void *arg)
{
	visit(s, 0, s->nr, address, fn, arg);
}

static void take_first(void *arg, const struct span *span)
{
	uint32_t *first = arg;

	if (span->number < *first)
		*first = span->number;
}

uint32_t spans_first(struct spans *s, uint64_t address)
{
	uint32_t first = UINT32_MAX;

	spans_at(s, address, take_first, &first);
	return first;
}

size_t spans_until(struct spans *s, uint64_t address)
{
	size_t from = 0, to = s->nr, middle;

	while (from < to) {
		middle = middle_of(from, to);
		s->visited++;
		if (s->span[middle].start <= address)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

uint64_t spans_last(struct spans *s, size_t nr)
{
	size_t from = 0, to = s->nr, middle;
	uint64_t last = 0;

	while (from < to) {
		middle = middle_of(from, to);
		s->visited++;
		if (middle >= nr) {
			to = middle;
			continue;
		}
		if (s->span[middle].last > last)
			last = s->span[middle].last;
		/* The part before the middle has a root of its own. */
		if (from < middle && s->span[middle_of(from, middle)].most > last)
			last = s->span[middle_of(from, middle)].most;
		from = middle + 1;
	}
	return last;
}

void spans_free(struct spans *s)
{
	free(s->span);
	*s = (struct spans){ NULL };
}
