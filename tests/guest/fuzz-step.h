/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The steps of fuzz.c: one call, or something that happens to who makes them, each.
 * Chance makes them there; a log of them is made into a test by tests/vm/fuzz.
 */
#ifndef GUEST_FUZZ_STEP_H
#define GUEST_FUZZ_STEP_H

#include "common.h"

#define SLOTS		6
#define DATA_MAX	(sizeof(struct vperfctr_control) + \
			 (VPERFCTR_MAX_CTRS + 1) * sizeof(struct vperfctr_ctr))

/* What is done, and how often chance does it. */
#define OPERATIONS(X) \
	X(INFO, 2) X(CPUS, 2) X(OPEN, 12) X(CONTROL, 30) X(READ, 14) X(CALL, 14) X(RING, 5) \
	X(STRANGE, 3) X(MMAP, 8) X(MUNMAP, 4) X(MREMAP, 2) X(MPROTECT, 2) X(MADVISE, 2) \
	X(RDPMC, 6) X(CLOSE, 4) X(DUP, 3) X(POLL, 3) X(FILE, 2) X(LOOP, 10) X(FORK, 3) \
	X(EXEC, 2) X(TRACE, 5) X(GO_ON, 4) X(KILL, 3) X(AFFINITY, 4) X(HOTPLUG, 1) X(PERF, 1) \
	X(SLEEP, 3)

#define AS_ENUM(name, weight)	OP_##name,
enum { OPERATIONS(AS_ENUM) NR_OPS };

/* As a line of the log has it. */
struct step {
	u32 process;		/* of the round: 0, or of those that it forked */
	u32 op, slot;
	u64 a, b, c;
	u32 len;
	unsigned char data[DATA_MAX];
};

/* Where an argument is. */
enum { AT_MEMORY, AT_NULL, AT_EDGE, AT_KERNEL, AT_PAGE, AT_ODD, NR_PLACES };

/* 0 or a negative errno; `wrong` is called for what the module must never do. */
int do_step(struct step *s);

/* In the round's process before its first step, and in each after its last. */
void begin_steps(void);
void end_steps(void);

/* What who makes the steps has to supply. */
struct step_hooks {
	void (*run_child)(unsigned int process);	/* in one that was forked */
	void (*wrong)(const char *format, ...);		/* does not return */
	void (*control_done)(int err);			/* NULL: nobody asks */
};
extern const struct step_hooks *step_hooks;

/*
 * All steps of a round, in processes of its own: 0, or what the first process
 * ended with, as wait_for() has it.
 */
int replay_steps(const struct step *steps, unsigned int nr);

/*
 * Whatever has happened, a plain count (of one counter or another) is exact: NULL.
 * The caller has no state.
 */
const char *why_not_exact(unsigned int which);

#endif /* GUEST_FUZZ_STEP_H */
