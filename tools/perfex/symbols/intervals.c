// SPDX-License-Identifier: GPL-2.0
/*
 * Sets of intervals, as treaps: trees that are sorted by the starts, and heaps by random
 * priorities.  The intervals may be an attacker's, who cannot know the priorities.  So a tree of
 * n intervals is about 2 log n deep, in whichever order they come.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "intervals.h"

#define MAX_NODES	(UINT32_MAX / 2)

struct interval {
	uint64_t start, end;
	uint32_t value;
	uint32_t owner;
	uint32_t priority;
	uint32_t below, above;	/* subtrees; of an unused one, below is the next */
};

static uint32_t random_number(struct intervals *t)
{
	while (!t->random)
		if (getrandom(&t->random, sizeof(t->random), GRND_NONBLOCK) < 0)
			t->random = (uint64_t)time(NULL);
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return (uint32_t)(t->random >> 32);
}

/* Return: the number of a node like this one; 0: no memory */
static uint32_t new_node(struct intervals *t, const struct interval *from)
{
	const struct interval copy = *from;
	struct interval *node;
	uint32_t i = t->unused;

	if (i) {
		t->unused = t->node[i].below;
		t->node[i] = copy;
		return i;
	}
	if (t->nr == t->room) {
		t->room = t->room ? t->room * 2 : 64;
		node = t->room > MAX_NODES ? NULL : reallocarray(t->node, t->room, sizeof(*node));
		if (!node) {
			t->room = t->nr;
			return 0;
		}
		t->node = node;
		/* Number 0 is that of no node. */
		if (!t->nr)
			memset(&node[t->nr++], 0, sizeof(*node));
	}
	t->node[t->nr] = copy;
	return t->nr++;
}

/* Return: the node, or a copy of it, that the owner may change; 0: no memory */
static uint32_t own(struct intervals *t, uint32_t i, uint32_t owner)
{
	struct interval copy = t->node[i];

	t->visited++;
	if (copy.owner == owner)
		return i;
	copy.owner = owner;
	return new_node(t, &copy);
}

/* Split a set into those that start before the address, and the others. */
static bool split(struct intervals *t, uint32_t i, uint32_t owner, uint64_t at, uint32_t *below,
		  uint32_t *above)
{
	uint32_t half;

	*below = *above = 0;
	if (!i)
		return true;
	i = own(t, i, owner);
	if (!i)
		return false;
	if (t->node[i].start < at) {
		if (!split(t, t->node[i].above, owner, at, &half, above))
			return false;
		t->node[i].above = half;
		*below = i;
	} else {
		if (!split(t, t->node[i].below, owner, at, below, &half))
			return false;
		t->node[i].below = half;
		*above = i;
	}
	return true;
}

/* All of a are below all of b. */
static bool join(struct intervals *t, uint32_t a, uint32_t b, uint32_t owner, uint32_t *set)
{
	uint32_t part;

	if (!a || !b) {
		*set = a ? a : b;
		return true;
	}
	if (t->node[a].priority > t->node[b].priority) {
		a = own(t, a, owner);
		if (!a || !join(t, t->node[a].above, b, owner, &part))
			return false;
		t->node[a].above = part;
		*set = a;
	} else {
		b = own(t, b, owner);
		if (!b || !join(t, a, t->node[b].below, owner, &part))
			return false;
		t->node[b].below = part;
		*set = b;
	}
	return true;
}

static const struct interval *last_of(struct intervals *t, uint32_t i)
{
	while (i && t->node[i].above) {
		t->visited++;
		i = t->node[i].above;
	}
	return &t->node[i];
}

/* Let the last interval end at the address, if it does not end before. */
static bool cut_last(struct intervals *t, uint32_t *set, uint32_t owner, uint64_t at)
{
	uint32_t i, next;

	if (!*set || last_of(t, *set)->end <= at)
		return true;
	*set = own(t, *set, owner);
	for (i = *set; i && t->node[i].above; i = next) {
		next = own(t, t->node[i].above, owner);
		t->node[i].above = next;
	}
	if (i)
		t->node[i].end = at;
	return i;
}

/* Free the nodes of the owner.  Nodes that other sets may share remain. */
static void drop(struct intervals *t, uint32_t i, uint32_t owner)
{
	if (!i || t->node[i].owner != owner)
		return;
	t->visited++;
	drop(t, t->node[i].below, owner);
	drop(t, t->node[i].above, owner);
	t->node[i].below = t->unused;
	t->unused = i;
}

/* Find the last interval that starts before the address, and the first of the others. */
static void find_neighbours(struct intervals *t, uint32_t set, uint64_t at, uint32_t *before,
			    uint32_t *after)
{
	*before = *after = 0;
	while (set) {
		t->visited++;
		if (t->node[set].start < at) {
			*before = set;
			set = t->node[set].above;
		} else {
			*after = set;
			set = t->node[set].below;
		}
	}
}

/* Return: the node of the set that starts there, which the owner may change; 0: no memory */
static uint32_t own_at(struct intervals *t, uint32_t *set, uint32_t owner, uint64_t start)
{
	uint32_t i = own(t, *set, owner), next;

	*set = i;
	while (i && t->node[i].start != start) {
		const bool below = start < t->node[i].start;

		next = own(t, below ? t->node[i].below : t->node[i].above, owner);
		if (below)
			t->node[i].below = next;
		else
			t->node[i].above = next;
		i = next;
	}
	return i;
}

/*
 * Insert an interval that overlaps none: it becomes the root of the first subtree whose root has a
 * lower priority.  This changes few nodes, while to split and to join changes all of a path, twice.
 */
static uint32_t insert(struct intervals *t, uint32_t set, const struct interval *new)
{
	uint32_t i = set, parent = 0, below, above, node;

	while (i && t->node[i].priority >= new->priority) {
		i = own(t, i, new->owner);
		if (!i)
			return 0;
		if (!parent)
			set = i;
		else if (new->start < t->node[parent].start)
			t->node[parent].below = i;
		else
			t->node[parent].above = i;
		parent = i;
		i = new->start < t->node[i].start ? t->node[i].below : t->node[i].above;
	}
	if (!split(t, i, new->owner, new->start, &below, &above))
		return 0;
	node = new_node(t, new);
	if (!node)
		return 0;
	t->node[node].below = below;
	t->node[node].above = above;
	if (!parent)
		return node;
	if (new->start < t->node[parent].start)
		t->node[parent].below = node;
	else
		t->node[parent].above = node;
	return set;
}

uint32_t intervals_put(struct intervals *t, uint32_t set, uint32_t owner, uint64_t start,
		       uint64_t end, uint32_t value)
{
	struct interval new = { .start = start, .end = end, .value = value, .owner = owner }, last;
	uint32_t below, covered, above, i, rest = 0;

	find_neighbours(t, set, start, &below, &above);
	/* The same place again, or between others, or over one's end or beginning: few nodes change. */
	if (above && t->node[above].start == start && t->node[above].end == end) {
		i = own_at(t, &set, owner, start);
		t->node[i].value = value;
		return i ? set : 0;
	}
	if ((!above || t->node[above].start >= end || t->node[above].end > end) &&
	    (!below || t->node[below].end <= end)) {
		if (below && t->node[below].end > start) {
			i = own_at(t, &set, owner, t->node[below].start);
			if (!i)
				return 0;
			t->node[i].end = start;
		}
		if (above && t->node[above].start < end) {
			i = own_at(t, &set, owner, t->node[above].start);
			if (!i)
				return 0;
			t->node[i].start = end;
		}
		new.priority = random_number(t);
		return insert(t, set, &new);
	}
	if (!split(t, set, owner, start, &below, &above) ||
	    !split(t, above, owner, end, &covered, &above))
		return 0;
	/* Only one of them can reach behind the new one. */
	memset(&last, 0, sizeof(last));
	if (covered || below)
		last = *last_of(t, covered ? covered : below);
	if (last.end > end) {
		last = (struct interval){
			.start = end, .end = last.end, .value = last.value, .owner = owner,
			.priority = random_number(t),
		};
		rest = new_node(t, &last);
		if (!rest)
			return 0;
	}
	drop(t, covered, owner);
	new.priority = random_number(t);
	i = new_node(t, &new);
	if (!i || !cut_last(t, &below, owner, start) || !join(t, below, i, owner, &below) ||
	    !join(t, rest, above, owner, &above) || !join(t, below, above, owner, &set))
		return 0;
	return set;
}

uint32_t intervals_find(struct intervals *t, uint32_t set, uint64_t address)
{
	while (set) {
		const struct interval *i = &t->node[set];

		t->visited++;
		if (address < i->start)
			set = i->below;
		else if (address >= i->end)
			set = i->above;
		else
			return i->value;
	}
	return 0;
}

bool intervals_reserve(struct intervals *t, uint32_t nr)
{
	struct interval *node;

	if (nr >= MAX_NODES)
		return false;
	/* Number 0 is that of no node. */
	node = reallocarray(t->node, (size_t)nr + 1, sizeof(*node));
	if (!node)
		return false;
	t->node = node;
	t->room = nr + 1;
	memset(&node[0], 0, sizeof(*node));
	t->nr = 1;
	return true;
}

void intervals_clear(struct intervals *t)
{
	t->nr = t->room ? 1 : 0;
	t->unused = 0;
}

void intervals_free(struct intervals *t)
{
	free(t->node);
	t->node = NULL;
	t->nr = t->room = t->unused = 0;
}
