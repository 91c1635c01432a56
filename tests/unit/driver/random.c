// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <time.h>

#include "random.h"

static u64 seed, next;

void random_init(void)
{
	const char *s = getenv("SEED");

	seed = s && *s ? strtoull(s, NULL, 0) : (u64)time(NULL);
	printf("SEED=%llu\n", seed);
	fflush(stdout);
}

void random_restart(unsigned int salt)
{
	next = seed + ((u64)salt << 32);
}

/* splitmix64 */
u64 random_u64(void)
{
	u64 x = next += 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}
