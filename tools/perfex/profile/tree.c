// SPDX-License-Identifier: GPL-2.0
/* Make trees of call paths. */
#include <stdlib.h>
#include <string.h>

#include "tree.h"

#define ROOT	1

/*
 * A sample may have thousands of functions, most of them inlined, and share none of its nodes with
 * others: they would take 100 KB.
 */
uint32_t tree_max_nodes = 1U << 23;

/*
 * Add the weight to the child of *node that has this name, which becomes *node.  Return: 1; 0:
 * there is no such node, and the tree is full; -1: no memory
 */
static int add_node(struct tree *t, uint32_t *node, uint32_t file, uint32_t name, uint64_t weight)
{
	struct tree_node key = { .parent = *node, .file = file, .name = name };
	const bool full = t->nodes.nr >= tree_max_nodes;
	const uint32_t i = full ? hash_table_find(&t->nodes, &key) : hash_table_add(&t->nodes, &key);

	t->full |= full && !i;
	if (!i)
		return full ? 0 : -1;
	node_of(t, i)->weight += weight;
	*node = i;
	return 1;
}

/*
 * Add a group's path.  Lines of the same function are one node.  In a full tree the path ends at
 * the last node that is there.
 */
static bool add_path(struct tree *t, struct profile *p, const struct profile_group *group,
		     enum tree_direction direction, bool comms, uint32_t *frames)
{
	unsigned int i, nr = profile_path(p, group->stack, frames);
	uint32_t node = 0;
	int added;

	added = add_node(t, &node, 0, profile_string(p, "all"), group->weight);
	if (added > 0 && comms)
		added = add_node(t, &node, 0, thread_of(p, group->thread)->comm ?
				 thread_of(p, group->thread)->comm : profile_string(p, "?"),
				 group->weight);
	for (i = 0; added > 0 && i < nr; i++) {
		const struct profile_frame *frame =
			frame_of(p, frames[direction == TREE_CALLERS ? i : nr - 1 - i]);

		added = add_node(t, &node, frame->file, frame->function, group->weight);
		if (added > 0 && direction == TREE_CALLERS && !i)
			node_of(t, node)->self += group->weight;
	}
	if (added < 0)
		return false;
	if (direction == TREE_CALLEES)
		node_of(t, node)->self += group->weight;
	if (nr + comms + 1 > t->depth)
		t->depth = nr + comms + 1;
	return true;
}

/* By parent, and then the heaviest first. */
static int compare_nodes(const void *a, const void *b, void *arg)
{
	const struct tree *t = arg;
	const struct tree_node *x = node_of(t, *(const uint32_t *)a);
	const struct tree_node *y = node_of(t, *(const uint32_t *)b);

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static int sort_nodes(struct tree *t, struct error *e)
{
	uint32_t i, nr = t->nodes.nr ? t->nodes.nr - 1 : 0;

	t->order = calloc(nr + 1, sizeof(*t->order));
	if (!t->order)
		return fail_memory(e);
	for (i = 0; i < nr; i++)
		t->order[i] = i + 1;
	qsort_r(t->order, nr, sizeof(*t->order), compare_nodes, t);
	for (i = 0; i < nr; i++) {
		struct tree_node *parent = node_of(t, node_of(t, t->order[i])->parent);

		if (!parent->nr++)
			parent->below = i;
	}
	return 0;
}

int tree_make(struct tree *t, struct profile *p, unsigned int event,
	      enum tree_direction direction, bool comms, struct error *e)
{
	uint32_t *frames = malloc(MAX_PATH * sizeof(*frames)), i;
	struct hash_table groups = { 0 };
	int err = frames ? 0 : fail_memory(e);

	*t = (struct tree){
		.nodes = {
			.size = sizeof(struct tree_node), .key = offsetof(struct tree_node, weight),
		},
	};
	if (!err)
		err = profile_group(p, &groups, false, e);
	for (i = 1; !err && i < groups.nr; i++) {
		const struct profile_group *group = (struct profile_group *)groups.items + i;

		if (group->event == event && !add_path(t, p, group, direction, comms, frames))
			err = fail_memory(e);
	}
	hash_table_free(&groups);
	free(frames);
	if (!err && t->full)
		fprintf(stderr, "perfex: there are too many paths of calls for a tree, so some of them are cut short\n");
	return err ? err : sort_nodes(t, e);
}

void tree_free(struct tree *t)
{
	hash_table_free(&t->nodes);
	free(t->order);
	t->order = NULL;
}

const char *tree_name(const struct profile *p, const struct tree_node *node, char *buf,
		      size_t size)
{
	if (node->name)
		return short_name(string_of(p, node->name), buf, size);
	profile_file_label(p, node->file, buf, size);
	return buf;
}
