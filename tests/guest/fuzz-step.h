/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The steps of fuzz.c.  Each is a call, or an event in the life of the calling process.
 * fuzz.c chooses them at random; tests/vm/fuzz makes the log of a round into a test.
 */
#ifndef GUEST_FUZZ_STEP_H
#define GUEST_FUZZ_STEP_H

#include <signal.h>

#include "common.h"

#define SLOTS		6
#define CPU1_ONLINE	"/sys/devices/system/cpu/cpu1/online"
/* Counters of a step's control: those of two kinds, in tables that follow each other. */
#define CTRS_MAX	(2 * (VPERFCTR_MAX_CTRS + 1))
#define DATA_MAX	(sizeof(struct vperfctr_control) + CTRS_MAX * sizeof(struct vperfctr_ctr))

/* The operations, and the weights of their random choice. */
#define OPERATIONS(X) \
	X(INFO, 2) X(CPUS, 2) X(OPEN, 12) X(CONTROL, 30) X(READ, 14) X(CALL, 14) X(RING, 5) \
	X(STRANGE, 3) X(MMAP, 8) X(MUNMAP, 4) X(MREMAP, 2) X(MPROTECT, 2) X(MADVISE, 2) \
	X(RDPMC, 6) X(CLOSE, 4) X(DUP, 3) X(POLL, 3) X(FILE, 2) X(LOOP, 10) X(FORK, 3) \
	X(EXEC, 2) X(TRACE, 5) X(GO_ON, 4) X(KILL, 3) X(AFFINITY, 4) X(HOTPLUG, 1) X(PERF, 1) \
	X(SLEEP, 3) X(OPEN_CPUS, 2) X(READ_CPUS, 3)

#define AS_ENUM(name, weight)	OP_##name,
enum { OPERATIONS(AS_ENUM) NR_OPS };

/* A step, as a line of the log has it. */
struct step {
	u32 process;		/* 0: the round's first process; else one that it forked */
	u32 op, slot;
	u64 a, b, c;
	u32 len;
	unsigned char data[DATA_MAX];
};

/* Locations of an argument. */
enum { AT_MEMORY, AT_NULL, AT_EDGE, AT_KERNEL, AT_PAGE, AT_ODD, NR_PLACES };

/*
 * Do a step; return 0 or a negative errno.  Call report_wrong() if the module does
 * something that it must never do.
 */
int do_step(struct step *s);

/* Fail the round, in any of its processes, and call step_hooks->wrong(). */
void report_wrong(const char *what, const char *detail);

/*
 * Call `round` in a process group of its own, and return the process's wait status as
 * wait_for() does.  The round's processes are killed when it ends.
 *
 * A watchdog keeps any signal that a step chooses, and any call that blocks, from
 * hanging the caller: a process that is stopped continues, and a round that does no
 * step for the limit is killed and reported as ROUND_HUNG.  The clock is the virtual
 * machine's: with -icount it measures instructions and idle time, not the host's load.
 */
int run_round(void (*round)(void));
#define ROUND_HUNG	256			/* no exit status, and no signal */
#define ROUND_WRONG	257			/* a process called report_wrong() */
extern unsigned int round_limit_ms;		/* until SIGCONT, and then until SIGKILL */

/* True if a round must not end with this status. */
static inline bool round_failed(int status)
{
	return status == ROUND_HUNG || status == ROUND_WRONG || status == 99 ||
	       status == 128 + SIGSEGV || status == 128 + SIGBUS;
}

/* Functions that the user of steps supplies. */
struct step_hooks {
	void (*run_child)(unsigned int process);	/* in a forked process */
	void (*wrong)(const char *format, ...);		/* must not return */
	void (*control_done)(bool any_kind, int err);	/* may be NULL */
};
extern const struct step_hooks *step_hooks;

/* Do all steps of a round, by run_round(). */
int replay_steps(const struct step *steps, unsigned int nr);

/*
 * Make a plain count with a counter that `which` selects.  Return NULL if it is exact, or
 * a description of the error.  The caller must have no state.
 */
const char *why_not_exact(unsigned int which);

#endif /* GUEST_FUZZ_STEP_H */
