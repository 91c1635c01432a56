/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A fake kernel and processor under the library.
 *
 * The linker redirects the library's open, fopen, ioctl, mmap and ppoll here.  A state is a
 * memfd, so its descriptor can be mapped, passed on and read by other processes, as a
 * real one can.
 *
 * Tests decide when counters advance and when the thread is switched out and in, which
 * can be at every step of a read.  So each value has one correct result: what the model
 * has counted when the read returns.
 *
 * Other threads can have states, too, if they are stopped under a real ptrace.  Their
 * counts appear as soon as they have a control: 1000 + i, and 3000 for the TSC.
 * Software counter i of any control has counted 2000000 + i, and the children's is
 * children + i.
 *
 * CPU n, if it is counted, has counted 1000 * (n + 1) + i at the first read, and 2000000
 * ticks of the TSC; the k-th read of a descriptor returns k times as many.  Two CPUs after
 * each other are a socket.
 */
#ifndef FAKE_H
#define FAKE_H

#include <stdbool.h>
#include <vperfctr.h>

/* The name of a memory file that answers each ioctl by 0. */
#define FAKE_STRANGER	"fake-stranger"

enum fake_call {
	FAKE_DEVICE, FAKE_INFO, FAKE_CPUS, FAKE_OPEN, FAKE_CONTROL, FAKE_READ,
	FAKE_SUSPEND, FAKE_RESUME, FAKE_UNLINK, FAKE_IRESUME, FAKE_MMAP, FAKE_RING,
	FAKE_RING_MMAP, FAKE_CONSUME, FAKE_ATTACH, FAKE_OPEN_CPUS, FAKE_READ_CPUS, FAKE_NRCALLS
};

struct fake {
	/* the kernel */
	int fail[FAKE_NRCALLS];		/* errno that the call fails with, or 0 */
	unsigned int calls[FAKE_NRCALLS];
	unsigned int fail_sums;		/* this read of sums fails; 1: the next one */
	unsigned int busy_tries;	/* that many CONTROLs fail with EBUSY, in all processes */
	struct vperfctr_info info;
	uint32_t cpus[4];		/* bits of VPERFCTR_CPUS; FORBIDDEN: inverted */
	uint32_t nrwords;
	uint32_t nrkinds;
	uint32_t foreign_cpus;		/* CPUs of no kind */
	uint64_t only_kind0;		/* general counters that no other kind has */
	uint32_t affinity;		/* the CPUs on which this thread may run */
	const char *suid_dumpable;	/* fs.suid_dumpable; NULL: this machine's */
	uint32_t offline;		/* CPUs that are, and count nothing */
	uint32_t was_offline;		/* CPUs that are reported so, and have counted */
	uint32_t broken;		/* CPUs that are reported so */
	uint32_t siblings;		/* CPUs whose hyper-thread sibling is online */
	uint32_t rewrites;		/* the cpuset is rewritten at that many changes of affinity */
	int state_fd;			/* of this thread's state, or -1 */
	bool exec_uncounted;		/* as if it were a set-user-id file that is executed */
	uint32_t status;		/* additional status of READ, until UNLINK */
	uint64_t exec_tsc;		/* the TSC's sum that START_ON_EXEC gives */
	bool no_events;			/* START_ON_EXEC counts none: the other sums are 0 */
	/* ATTACH refuses these counters, which others have; INFO of a state tells them. */
	uint64_t used_pmcs, used_fixed;
	uint64_t late_pmcs;		/* an observer takes these before the next CONTROL */
	uint64_t children_missed;
	uint64_t children;		/* their sum of counter i is children + i, and the TSC's children */
	bool replaced;			/* READ shows another control than was given */
	uint32_t replaced_flags;	/* READ inverts these flags of the control */
	uint32_t page_version;		/* of states that are made */
	uint32_t ring_format;		/* of rings that are made */
	bool foreign;			/* the state belongs to another thread */
	uint64_t overflow;		/* waits for IRESUME */
	/* START_ON_EXEC writes that many samples to the ring at once; the i-th is samples[i % 4]. */
	uint64_t nrsamples;
	struct vperfctr_sample samples[4];
	uint64_t nrcalls;		/* of the chain in each sample: 0x1001, 0x1002, ... */
	/* Before these it writes the records, if the ring has VPERFCTR_RING_RECORDS. */
	unsigned int nrrecords;
	struct fake_record {
		uint16_t type;
		uint64_t tsc, start, end;
		uint32_t major, minor;
		uint64_t inode;
		char text[256];
	} records[8];
	uint64_t lost;

	/* the processor */
	uint64_t mask;			/* width of the counters */
	uint64_t reg[VPERFCTR_MAX_CTRS];	/* hardware counter of map base + i */
	uint64_t tsc;
	unsigned int rdpmcs, rdtscs;	/* executed */
	unsigned int early;		/* RDPMC, RDTSC may miss that number of last events */

	/* the thread */
	uintptr_t thread;		/* its number */
	uint64_t counted[VPERFCTR_MAX_CTRS];	/* the correct values */
	uint64_t tsc_counted;
	unsigned int steps;		/* that reads have taken */
	void (*on_step)(unsigned int step);
};

extern struct fake fake;

/* The arguments of calls since fake_reset(), also of calls by other processes. */
struct fake_seen {
	uint32_t open_flags, control_flags;
	uint32_t counted_cpus;		/* the first word of the mask */
	unsigned int tries, opens, controls, unlinks, consumes;
	uint32_t affinity;		/* what a thread has set */
	uint64_t used_pmcs;		/* late_pmcs that were taken */
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
	struct vperfctr_ring ring;
};

extern struct fake_seen *fake_seen;

/* The live state's page, writable. */
struct vperfctr_page *fake_page(void);

/* Write this sample into the live state's ring, or drop it if there is no room. */
void fake_sample(const struct vperfctr_sample *sample, const uint64_t *sums);

/* Reset the fake kernel and processor: 4 general and 3 fixed counters, no state. */
void fake_reset(void);
/* Return an open descriptor of the device, or -1. */
int fake_device_fd(void);

/* Control nr counters with the i-th on map base + i, all running. */
void fake_run(unsigned int nr, bool tsc_on);

/* Advance the registers by delta, and the thread's counts, if it is running. */
void fake_count(uint64_t delta);

/*
 * The thread counts delta of each event and is switched out.  Others use the hardware.
 * The thread is switched in again and counts a third of delta.
 */
void fake_switch(uint64_t delta);

/* The same, with other cstatus bits afterwards. */
void fake_switch_to(uint64_t delta, uint32_t cstatus_flags);

#define FAKE_MAP_BASE	3	/* so that an index is not taken for a map */

#endif /* FAKE_H */
