/* SPDX-License-Identifier: GPL-2.0 */
/* The interactive report of a terminal. */
#ifndef PERFEX_BROWSE_H
#define PERFEX_BROWSE_H

#include "profile.h"

/* A function of a file. */
struct viewed {
	uint32_t file, name;	/* 0: code without a name */
};

struct view_line {
	char *text;
	struct viewed function;	/* what Enter opens, if */
	bool opens;
};

struct view {
	char *title;
	struct view_line *lines;
	size_t nr;
	size_t at, top;		/* the line of the cursor, and the first one on the screen */
};

/* Samples of a function: with and without what it called. */
struct shares {
	uint64_t all, self;
};

/* The functions of an event, or other rows by --sort.  The caller frees it even on failure. */
int view_list(struct view *v, const struct profile *p, unsigned int event, bool children,
	      const struct reporting *o, struct error *e);
/* The callers, the callees, the lines and the instructions of a function. */
int view_function(struct view *v, struct profile *p, unsigned int event,
		  const struct viewed *function, const struct reporting *o, struct error *e);
void view_free(struct view *v);

/*
 * Show the profile until the user ends it.
 * Return: 0; 1: there is no ncurses, or none for this terminal, and *why says so; -1 with *e
 */
int browse(struct profile *p, const struct reporting *o, const char **why, struct error *e);

/* perfex top by function.  Return: 0, or -1 with *e */
int top_functions(const struct count_options *c, const struct sample_spec *spec, unsigned int ms,
		  const struct reporting *o, FILE *out, struct error *e);

#endif /* PERFEX_BROWSE_H */
