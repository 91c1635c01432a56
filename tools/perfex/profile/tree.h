/* SPDX-License-Identifier: GPL-2.0 */
/* Paths of calls as a tree: those that begin with the same functions share nodes. */
#ifndef PERFEX_TREE_H
#define PERFEX_TREE_H

#include "profile.h"

struct tree_node {
	uint32_t parent;	/* 0: none */
	uint32_t file;		/* 0: the name is that of threads, or of all */
	uint32_t name;		/* a string; 0: the file's code without symbols */
	uint32_t unused;
	/* after the key */
	uint64_t weight;	/* with all nodes below */
	uint64_t self;
	uint32_t below, nr;	/* in the tree's order */
};

struct tree {
	struct hash_table nodes;	/* 1: the root */
	uint32_t *order;	/* numbers of nodes; those below a node are together */
	unsigned int depth;
	bool full;		/* some paths end before their last nodes */
};

/* A variable for tests. */
extern uint32_t tree_max_nodes;

/* The innermost function is a leaf, or the first one below the root. */
enum tree_direction { TREE_CALLEES, TREE_CALLERS };

/*
 * Make the tree of an event.  comms: names of threads are between the root and their first
 * functions.  The caller frees the tree even on failure.
 */
int tree_make(struct tree *t, struct profile *p, unsigned int event,
	      enum tree_direction direction, bool comms, struct error *e);
void tree_free(struct tree *t);

static inline struct tree_node *node_of(const struct tree *t, uint32_t node)
{
	return &((struct tree_node *)t->nodes.items)[node];
}

/* Return: what to call the node, in buf or not. */
const char *tree_name(const struct profile *p, const struct tree_node *node, char *buf,
		      size_t size);

#endif /* PERFEX_TREE_H */
