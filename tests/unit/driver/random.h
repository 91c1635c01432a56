/* SPDX-License-Identifier: GPL-2.0 */
/* Random numbers that SEED=N in the environment repeats. */
#ifndef RANDOM_H
#define RANDOM_H

#include "fake-kernel.h"

void random_init(void);		/* says what the seed is */
void random_restart(unsigned int salt);	/* tests are told apart by theirs */
u64 random_u64(void);

/* From 0 to n - 1. */
static inline unsigned int random_below(unsigned int n)
{
	return random_u64() % n;
}

static inline bool one_in(unsigned int n)
{
	return !random_below(n);
}

#endif /* RANDOM_H */
