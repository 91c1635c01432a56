/* SPDX-License-Identifier: GPL-2.0 */
/* Fuzzing on the simulated machine: see README.md.  Between fuzz.c and fuzz-host.c. */
#ifndef SIM_FUZZ_H
#define SIM_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/*
 * An input: a header, the bytes that change the schedule, and actions of tasks.  All of
 * its bytes have a meaning, so a mutation gives another valid program.
 */
enum {
	FUZZ_PROCESSOR, FUZZ_CPUS, FUZZ_NMI, FUZZ_FAILURES, FUZZ_RARE, FUZZ_SEED, FUZZ_LIMITS, FUZZ_ROUNDS,
	FUZZ_HEADER
};

#define FUZZ_SCHEDULE	32
#define FUZZ_ACTION	8		/* bytes */
#define FUZZ_MAX_ACTIONS 160
#define FUZZ_BEGIN	(FUZZ_HEADER + FUZZ_SCHEDULE)
#define FUZZ_MAX	(FUZZ_BEGIN + FUZZ_MAX_ACTIONS * FUZZ_ACTION)

/* fuzz.c: run one program on a machine that has just been switched on. */
void fuzz_run(const uint8_t *data, size_t size);

/* fuzz-host.c: all runs so far. */
extern uint64_t fuzz_calls, fuzz_executions;
extern int fuzz_verbose;
#define FUZZ_SINK	(32 * 4096)
extern uint8_t fuzz_sink[FUZZ_SINK];
void fuzz_input(const uint8_t *data, size_t size);
size_t fuzz_mutate(uint8_t *data, size_t size, size_t max, unsigned int seed);
size_t fuzz_cross(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, uint8_t *to, size_t max,
		  unsigned int seed);
void fuzz_end_run(int status);

#endif /* SIM_FUZZ_H */
