/* SPDX-License-Identifier: GPL-2.0 */
/* Reproducible random numbers: the seed is printed, and SEED overrides it. */
#ifndef GUEST_RANDOM_H
#define GUEST_RANDOM_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

static u64 random_state;

static inline void random_init(void)
{
	const char *seed = getenv("SEED");

	random_state = seed ? strtoull(seed, NULL, 0) : (u64)time(NULL) * 1000003 + getpid();
	if (!random_state)
		random_state = 1;
	printf("SEED=%llu\n", random_state);
	fflush(stdout);
}

/* Return 0 to n - 1 (xorshift64). */
static inline u32 random_below(u32 n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % n;
}

#endif /* GUEST_RANDOM_H */
