/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A fake kernel and processor under the library.
 *
 * The linker sends the library's open, ioctl and mmap here.  A state is a
 * memfd, so that its descriptor can be mapped, passed on and read by other
 * processes as a real one can.
 *
 * Counters advance only where a test says so, and the thread is switched out
 * and in where a test says so, which can be at every step of a read.  So every
 * value has one right result: what the model has counted when the read returns.
 *
 * Other threads can have states, too, if they are stopped under ptrace, which
 * is the real one.  What such a thread counts is there as soon as it has a
 * control: 1000 + i, and 3000 for the TSC.
 */
#ifndef FAKE_H
#define FAKE_H

#include <stdbool.h>
#include <vperfctr.h>

enum fake_call {
	FAKE_DEVICE, FAKE_INFO, FAKE_CPUS, FAKE_OPEN, FAKE_CONTROL, FAKE_READ,
	FAKE_SUSPEND, FAKE_RESUME, FAKE_UNLINK, FAKE_IRESUME, FAKE_MMAP, FAKE_RING,
	FAKE_RING_MMAP, FAKE_CONSUME, FAKE_NRCALLS
};

struct fake {
	/* the kernel */
	int fail[FAKE_NRCALLS];		/* errno that the call fails with, or 0 */
	unsigned int calls[FAKE_NRCALLS];
	struct vperfctr_info info;
	uint32_t cpus[4];		/* bits of VPERFCTR_CPUS; FORBIDDEN: inverted */
	uint32_t nrwords;
	uint32_t nrkinds;
	int state_fd;			/* of this thread's state, or -1 */
	bool exec_uncounted;		/* as if it were a set-user-id file that is executed */
	uint32_t status;		/* what READ tells besides, until UNLINK */
	uint64_t exec_tsc;		/* the TSC's sum that START_ON_EXEC gives */
	bool no_events;			/* START_ON_EXEC counts none: the other sums are 0 */
	uint64_t children_missed;
	uint64_t children;		/* their sum of counter i is children + i, and the TSC's children */
	bool replaced;			/* the owner gives itself another control */
	uint32_t replaced_flags;	/* these of the control's flags are others */
	uint32_t page_version;		/* of states that are made */
	uint64_t overflow;		/* waits for IRESUME */
	/* What START_ON_EXEC puts into a ring at once: so many, samples[i % 4] being the i-th. */
	uint64_t nrsamples;
	struct vperfctr_sample samples[4];

	/* the processor */
	uint64_t mask;			/* width of the counters */
	uint64_t reg[VPERFCTR_MAX_CTRS];	/* hardware counter of map base + i */
	uint64_t tsc;
	unsigned int rdpmcs, rdtscs;	/* executed */

	/* the thread */
	uintptr_t thread;		/* which one it is */
	uint64_t counted[VPERFCTR_MAX_CTRS];	/* the truth */
	uint64_t tsc_counted;
	unsigned int steps;		/* that reads have taken */
	void (*on_step)(unsigned int step);
};

extern struct fake fake;

/* What was asked for, also by other processes since fake_reset(). */
struct fake_seen {
	uint32_t open_flags, control_flags;
	unsigned int opens, controls, unlinks, consumes;
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
	struct vperfctr_ring ring;
};

extern struct fake_seen *fake_seen;

/* The live state's page, writable. */
struct vperfctr_page *fake_page(void);

/* Write this sample into the live state's ring, or drop it if there is no room. */
void fake_sample(const struct vperfctr_sample *sample, const uint64_t *sums);

/* Put the fake, and what it is like, in its first state: 4 + 3 counters. */
void fake_reset(void);

/* Control nr counters with the i-th on map base + i, all running. */
void fake_run(unsigned int nr, bool tsc_on);

/* The registers advance by delta, and so does what the thread counts if it is running. */
void fake_count(uint64_t delta);

/*
 * The thread counts delta of everything, is switched out, others use the
 * hardware, and it is switched in again, and
 * counts a third of that.
 */
void fake_switch(uint64_t delta);

/* The same, with other cstatus bits afterwards. */
void fake_switch_to(uint64_t delta, uint32_t cstatus_flags);

#define FAKE_MAP_BASE	3	/* so that an index is not taken for a map */

#endif /* FAKE_H */
