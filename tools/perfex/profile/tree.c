// SPDX-License-Identifier: GPL-2.0
/* Make trees of call paths. */
#include <stdlib.h>
#include <string.h>

#include "tree.h"

#define ROOT	1

static bool add_node(struct tree *t, uint32_t *node, uint32_t file, uint32_t name,
		     uint64_t weight)
{
	struct tree_node key = { .parent = *node, .file = file, .name = name };

	*node = hash_table_add(&t->nodes, &key);
	if (*node)
		node_of(t, *node)->weight += weight;
	return *node;
}

/* Add a group's path.  Lines of the same function are one node. */
static bool add_path(struct tree *t, struct profile *p, const struct profile_group *group,
		     enum tree_direction direction, bool comms, uint32_t *frames)
{
	unsigned int i, nr = profile_path(p, group->stack, frames);
	uint32_t node = 0;

	if (!add_node(t, &node, 0, profile_string(p, "all"), group->weight))
		return false;
	if (comms && !add_node(t, &node, 0, thread_of(p, group->thread)->comm ?
			       thread_of(p, group->thread)->comm : profile_string(p, "?"),
			       group->weight))
		return false;
	for (i = 0; i < nr; i++) {
		const struct profile_frame *frame =
			frame_of(p, frames[direction == TREE_CALLERS ? i : nr - 1 - i]);

		if (!add_node(t, &node, frame->file, frame->function, group->weight))
			return false;
		if (direction == TREE_CALLERS && !i)
			node_of(t, node)->self += group->weight;
	}
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
