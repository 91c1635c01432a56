/* SPDX-License-Identifier: GPL-2.0 */
/* For tests of two kinds of CPUs, of which CPU 0 and CPU 1 are. */
#ifndef TWO_KINDS_H
#define TWO_KINDS_H

#include "service.h"

#define BOTH	3U

/*
 * Return the count of a loop of 1000 rounds, by READ.
 *
 * Where the emulator counts what both CPUs execute, the other one may have had a clock tick
 * meanwhile.  So the least of some measurements is returned.
 */
static inline u64 count_loop(int fd)
{
	int tries = COUNTS_APART ? 1 : 8;
	struct reading before, after;
	u64 count, least = ~0ULL;

	while (tries--) {
		if (read_loop_read(fd, VPERFCTR_READ, init_reading(&before), init_reading(&after),
				   1000))
			die("READ failed");
		count = after.own[1] - before.own[1];
		if (count < least)
			least = count;
	}
	return least;
}

#endif /* TWO_KINDS_H */
