// SPDX-License-Identifier: GPL-2.0
/*
 * perfex --report --export=folded: a line for each path of calls, as flamegraph.pl and
 * its successors read them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"

/*
 * Return: the space before the number with which a name ends; NULL: there is none.  flamegraph.pl
 * and others would take such a number for the count of another profile, with which to compare.
 */
static const char *space_before_number(const char *name)
{
	const char *space = strrchr(name, ' ');

	return space && space[1 + strspn(space + 1, "0123456789.")] == '\0' ? space : NULL;
}

/*
 * A semicolon in a name would begin a new function.  Some readers take a line that begins with
 * '#' for a comment.
 */
static void print_name(FILE *f, const struct profile *p, const struct tree_node *node, bool first)
{
	char buf[MAX_TREE_NAME];
	const char *name = tree_name(p, node, buf, sizeof(buf)), *space = space_before_number(name);

	if (first && *name == '#')
		putc('_', f);
	for (; *name; name++)
		putc(*name == ';' ? ':' : name == space ? '_' : *name, f);
	/* As stackcollapse-perf.pl --kernel marks them: flamegraph.pl then has a colour for them. */
	if (node->file == FILE_KERNEL && node->name)
		fputs("_[k]", f);
}

/* path: the nodes from the root to this one, which is at `depth`. */
static void print_paths(FILE *f, const struct profile *p, const struct tree *t, uint32_t *path,
			unsigned int depth)
{
	const struct tree_node *node = node_of(t, path[depth]);
	unsigned int i;

	/* The root has no name of its own. */
	for (i = 1; node->self && i <= depth; i++) {
		if (i > 1)
			putc(';', f);
		print_name(f, p, node_of(t, path[i]), i == 1);
	}
	if (node->self)
		fprintf(f, " %" PRIu64 "\n", node->self);
	for (i = 0; i < node->nr; i++) {
		path[depth + 1] = t->order[node->below + i];
		print_paths(f, p, t, path, depth + 1);
	}
}

int export_folded(FILE *f, struct profile *p, const struct reporting *o, struct error *e)
{
	struct tree t;
	uint32_t *path;
	int err;

	(void)o;
	err = tree_make(&t, p, 0, TREE_CALLEES, true, e);
	path = calloc(t.depth + 1, sizeof(*path));
	if (!err && !path)
		err = fail_memory(e);
	if (!err && t.nodes.nr) {
		path[0] = 1;
		print_paths(f, p, &t, path, 0);
	}
	free(path);
	tree_free(&t);
	return err;
}
