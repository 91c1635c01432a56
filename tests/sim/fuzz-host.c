// SPDX-License-Identifier: GPL-2.0
/*
 * The surroundings of the simulated machine when it is fuzzed.  Each run begins with the same
 * memory, in the same process: see memory.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "host.h"

#ifdef WITH_ASAN
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	/* The arena is no heap; nothing of the machine can leak from it. */
	return "detect_leaks=0:abort_on_error=1";
}
#endif

uint64_t fuzz_calls, fuzz_executions;
int fuzz_verbose;
uint8_t fuzz_sink[FUZZ_SINK];

/* The machine has failed, and said why. */
void host_exit(int status)
{
	(void)status;
	fflush(stdout);
	fprintf(stderr, "%llu calls of %llu programs\n", (unsigned long long)fuzz_calls,
		(unsigned long long)fuzz_executions);
	abort();
}

void fuzz_input(const uint8_t *data, size_t size)
{
	if (size < FUZZ_BEGIN)
		return;
	host_reset();
	fuzz_executions++;
	fuzz_run(data, size);
}

/* ---- mutations ------------------------------------------------------------------------ */

static uint32_t rng;

static uint32_t random_below(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 17;
	rng ^= rng << 5;
	return ((uint64_t)rng * n) >> 32;
}

static void change_byte(uint8_t *p)
{
	switch (random_below(4)) {
	case 0:
		*p = random_below(256);
		break;
	case 1:
		*p ^= 1U << random_below(8);
		break;
	case 2:
		*p += random_below(2) ? 1 : -1;
		break;
	default:
		*p = random_below(8);
		break;
	}
}

/* Actions stay whole: they are added, removed, copied and moved. */
static size_t mutate_once(uint8_t *data, size_t size, size_t max)
{
	size_t nr = (size - FUZZ_BEGIN) / FUZZ_ACTION, i, k, n;
	uint8_t *actions = data + FUZZ_BEGIN, tmp[FUZZ_ACTION];

	i = nr ? random_below(nr) : 0;
	k = nr ? random_below(nr) : 0;
	n = nr ? 1 + random_below(nr - i < 8 ? nr - i : 8) : 0;
	switch (random_below(12)) {
	case 0:
		change_byte(&data[random_below(FUZZ_HEADER)]);
		break;
	case 1:
		change_byte(&data[FUZZ_HEADER + random_below(FUZZ_SCHEDULE)]);
		break;
	case 2:		/* remove some */
		memmove(actions + i * FUZZ_ACTION, actions + (i + n) * FUZZ_ACTION,
			(nr - i - n) * FUZZ_ACTION);
		size -= n * FUZZ_ACTION;
		break;
	case 3: case 4:	/* a new one */
		if (size + FUZZ_ACTION > max)
			break;
		memmove(actions + (i + 1) * FUZZ_ACTION, actions + i * FUZZ_ACTION, (nr - i) * FUZZ_ACTION);
		for (n = 0; n < FUZZ_ACTION; n++)
			actions[i * FUZZ_ACTION + n] = n < 2 || !random_below(3) ? random_below(256) :
							  random_below(4);
		size += FUZZ_ACTION;
		break;
	case 5:		/* copies */
		if (size + n * FUZZ_ACTION > max)
			break;
		memmove(actions + (i + n) * FUZZ_ACTION, actions + i * FUZZ_ACTION, (nr - i) * FUZZ_ACTION);
		size += n * FUZZ_ACTION;
		break;
	case 6:		/* swap */
		if (!nr)
			break;
		memcpy(tmp, actions + i * FUZZ_ACTION, FUZZ_ACTION);
		memcpy(actions + i * FUZZ_ACTION, actions + k * FUZZ_ACTION, FUZZ_ACTION);
		memcpy(actions + k * FUZZ_ACTION, tmp, FUZZ_ACTION);
		break;
	default:
		if (nr)
			change_byte(&actions[i * FUZZ_ACTION + random_below(FUZZ_ACTION)]);
		break;
	}
	return size;
}

size_t fuzz_mutate(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	unsigned int n;

	rng = seed * 0x9e3779b1U ?: 1;
	max = max < FUZZ_MAX ? max : FUZZ_MAX;
	if (max < FUZZ_BEGIN)
		return size;
	if (size < FUZZ_BEGIN) {
		memset(data + size, 0, FUZZ_BEGIN - size);
		size = FUZZ_BEGIN;
	}
	if (size > max)
		size = max;
	for (n = 1 + random_below(random_below(4) ? 3 : 12); n; n--)
		size = mutate_once(data, size, max);
	return size;
}

/* The header of one, and actions of both. */
size_t fuzz_cross(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, uint8_t *to, size_t max,
		  unsigned int seed)
{
	size_t from, n;

	max = max < FUZZ_MAX ? max : FUZZ_MAX;
	if (na < FUZZ_BEGIN || nb < FUZZ_BEGIN || na > max)
		return 0;
	rng = seed * 0x9e3779b1U ?: 1;
	memcpy(to, a, na);
	na = FUZZ_BEGIN + random_below((na - FUZZ_BEGIN) / FUZZ_ACTION + 1) * FUZZ_ACTION;
	from = FUZZ_BEGIN + random_below((nb - FUZZ_BEGIN) / FUZZ_ACTION + 1) * FUZZ_ACTION;
	n = nb - from;
	if (na + n > max)
		n = max - na;
	memcpy(to + na, b + from, n);
	return na + n;
}
