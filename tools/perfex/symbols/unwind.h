/* SPDX-License-Identifier: GPL-2.0 */
/* Calls that are found from registers and a stack, by the tables for exceptions. */
#ifndef PERFEX_UNWIND_H
#define PERFEX_UNWIND_H

#include "perfex.h"

/* A mapping of a process. */
struct code_mapping {
	uint64_t start, end;
	uint64_t offset;	/* of start in the file */
	const char *path;
	const struct file_description *file;
};

/*
 * The mappings of a process at some time.  Those of the same number never change.
 * find: return false if none of them has the address.
 */
struct code_mappings {
	uint32_t number;
	bool (*find)(const struct code_mappings *mappings, uint64_t address,
		     struct code_mapping *found);
	/* The file of a mapping is not there, and calls are missing; or NULL. */
	void (*missing)(const struct code_mappings *mappings, const struct code_mapping *map);
	void *arg;
};

/* Where a thread was: see VPERFCTR_USER_NONE. */
struct thread_state {
	unsigned int mode;
	unsigned int nrregs;
	const void *regs;	/* nrregs words, of any alignment */
	const void *stack;
	size_t stack_size;
};

struct unwinder;

/* Make an unwinder.  Return: NULL: no memory. */
struct unwinder *unwinder_new(void);
void unwinder_free(struct unwinder *u);

/*
 * Find the addresses to which a thread's functions return, the innermost first.  An address
 * that a signal has interrupted is one more than it was, so that the one before it is always
 * in the function that was called.
 * Return: how many there are; they may be fewer than there were calls.
 */
unsigned int unwind(struct unwinder *u, const struct code_mappings *mappings,
		    const struct thread_state *thread, uint64_t *to, unsigned int max);

/* Return: where the thread was. */
uint64_t unwind_start(const struct thread_state *thread);

#endif /* PERFEX_UNWIND_H */
