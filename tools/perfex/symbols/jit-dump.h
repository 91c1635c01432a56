/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files in the jitdump format, jit-PID.dump: the functions that a JIT has made, with their
 * instructions, their lines, and when they were made.
 *
 * A place in such a function is known by where its instruction is in the file.  So functions
 * that were at the same address one after the other are different places.
 */
#ifndef PERFEX_JIT_DUMP_H
#define PERFEX_JIT_DUMP_H

#include "symbols.h"

struct jit_dump;

/* Two clocks at the same time. */
struct clock_pair {
	uint64_t tsc;
	uint64_t monotonic;	/* nanoseconds */
};

/* True if the last part of the path is jit-PID.dump. */
bool is_jit_dump(const char *path);

/*
 * Open the file; the one below the directory of --symfs, if it is there.  pid: the process that
 * has mapped it, in whose root directory it is found while that lives.
 * Return: NULL, with *e: it cannot be read.
 */
struct jit_dump *jit_dump_open(const char *path, const struct file_identity *id, uint32_t pid,
			       struct error *e);
void jit_dump_close(struct jit_dump *d);
const struct work *jit_dump_work(const struct jit_dump *d);
/* Return: the owner of the file. */
uid_t jit_dump_owner(const struct jit_dump *d);

/* Return: a time of the TSC as one of CLOCK_MONOTONIC; UINT64_MAX: clocks has not two pairs. */
uint64_t to_monotonic(uint64_t tsc, const struct clock_pair *clocks, size_t nr);

/*
 * Find the place of an address at a time: in the function that was the last one to be there
 * until then.  clocks: sorted; if there are none, the time is that of the end.
 * Return: the offset in the file; 0: there is none
 */
uint64_t jit_dump_place(struct jit_dump *d, uint64_t address, uint64_t tsc,
			const struct clock_pair *clocks, size_t nrclocks);

/* Find what is at a place.  Return: false: nothing */
bool jit_dump_find(const struct jit_dump *d, uint64_t offset, uint64_t *address,
		   struct place *place);
bool jit_dump_code(struct jit_dump *d, uint64_t offset, struct code *code);

#endif /* PERFEX_JIT_DUMP_H */
