/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits of the work on files that may be an attacker's.
 *
 * Libraries read symbols and debugging information, and make names readable.  Some files let
 * them work without end, take all memory, open other files, or access a part of a file that is
 * not there any more.  So a child does this work.  If a file is too much for it, another child
 * begins again, and leaves this file out.
 */
#ifndef PERFEX_WORK_H
#define PERFEX_WORK_H

#include "perfex.h"

/* A file on which is worked. */
struct work {
	dev_t dev;
	ino_t inode;
	uid_t owner;
	uint64_t size;		/* bytes on the disk */
	char path[256];		/* for messages, perhaps its end only */
};

/*
 * Describe an open file, and add what it is worth to what its owner's files may use.
 * Return: false: it was too much before
 */
bool work_allows(struct work *w, int fd, const char *path);

/* Seconds that a place in a file is worth: one of a sample, and an instruction of a function. */
#define WORTH_OF_SAMPLE		0.5e-3
#define WORTH_OF_INSTRUCTION	0.02e-3

/* A place in this file is looked for: that is worth something, too. */
void work_looks(const struct work *w, double worth);

/*
 * From now on, work on this file: all that is used is its owner's.  Libraries can open no files
 * then.  NULL: work on none, without limits.
 * Return: the file until now
 */
const struct work *work_on(const struct work *w);

/*
 * Until work_end_name(), the child may use some megabytes more than now, and a quarter of a second,
 * for any owner: for a function that makes a name readable, and returns when there is no memory.
 */
void work_begin_name(void);
void work_end_name(void);

/*
 * Memory for the work on a file is missing: end this child, as the limit of time does.  libdw
 * would end perfex with a message of its own.
 */
_Noreturn void work_no_memory(void);

/* From now on there is no other child: printed lines cannot be taken back. */
void work_prints(void);

/*
 * Let this child be killed when its parent ends.  parent: as getpid() had it before the fork; it
 * may have ended since.
 */
void work_end_with_parent(pid_t parent);

/*
 * Call fn() in a child.  again: it may be called several times.
 * Return: what it returned, or -1 with *e
 */
int work_in_child(int (*fn)(void *arg, struct error *e), void *arg, bool again, struct error *e);

#endif /* PERFEX_WORK_H */
