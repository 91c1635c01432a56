// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of PAPI_read(): print for 1, 2 and 4 events how many nanoseconds one call takes.  In a
 * virtual machine with icount=N, each instruction, also of the kernel, takes 2^N of them.
 */
#include <err.h>
#include <limits.h>
#include <papi.h>
#include <stdio.h>
#include <time.h>

/* A tick of the clock, which some batches have, is no part of a read. */
#define BATCHES	20
#define READS	50

static const char *const names[] = { "PAPI_TOT_INS", "PAPI_TOT_CYC", "PAPI_BR_INS", "PAPI_BR_MSP" };

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Return the cost of a read, or -1 if the processor lacks an event. */
static long long cost_of(int nr)
{
	int batch, i, set = PAPI_NULL;
	long long values[4], before, took, least = LLONG_MAX;

	if (PAPI_create_eventset(&set) != PAPI_OK)
		errx(1, "there is no event set");
	for (i = 0; i < nr; i++)
		if (PAPI_add_named_event(set, names[i]) != PAPI_OK)
			return -1;
	if (PAPI_start(set) != PAPI_OK)
		return -1;
	/* The first reads fault pages in. */
	for (i = 0; i < 10; i++)
		PAPI_read(set, values);
	for (batch = 0; batch < BATCHES; batch++) {
		before = now();
		for (i = 0; i < READS; i++)
			PAPI_read(set, values);
		took = now() - before;
		if (took < least)
			least = took;
	}
	PAPI_stop(set, values);
	PAPI_cleanup_eventset(set);
	return least / READS;
}

int main(void)
{
	static const int nrs[] = { 1, 2, 4 };
	int i;

	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
		errx(1, "this is another version of PAPI");
	for (i = 0; i < 3; i++)
		printf("read-%d %lld\n", nrs[i], cost_of(nrs[i]));
	return 0;
}
