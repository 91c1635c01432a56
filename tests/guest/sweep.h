/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the tests that place an overflow at each instruction of the module. */
#ifndef GUEST_SWEEP_H
#define GUEST_SWEEP_H

#include <string.h>

#include "common.h"

/* ---- the trace of the emulator: see ../pmu-model/README.md -------------------------- */

enum { TRACE_OVERFLOWS, TRACE_ALL, TRACE_END, TRACE_TAKE, TRACE_VALUE, TRACE_AIM };

#define PLACE		((1ULL << 48) - 1)
#define COUNTED		(1ULL << 48)
#define OVERFLOWED	(1ULL << 49)

static inline u64 trace(u32 what)
{
	return EMULATOR_TRACES ? rdpmc(0x7fff0200 + what) : 0;
}

/* Let counter 0 overflow at this place, if it is near an overflow there. */
static inline void aim_at(u64 place)
{
#if defined(__x86_64__) || defined(__i386__)
	u32 low = place, high = place >> 32;

	asm volatile("rdpmc" : "+a" (low), "+d" (high) : "c" (0x7fff0200 + TRACE_AIM));
#else
	(void)place;
#endif
}

/* Less than what the emulator takes for near. */
#define NEAR	0x4000

/* ---- the instructions of the module ------------------------------------------------- */

/* The module's code, from its first byte. */
#define MAX_CODE	(256 * 1024)

enum {
	EXECUTED = 1,		/* by some path */
	COUNTABLE = 2,		/* and counted by a counter that can overflow */
	HIT = 4,		/* an overflow was there */
};

/* Shared with the processes in which tests run. */
static struct module {
	u64 start, end;		/* 48 bits of the addresses */
	unsigned char all[2][MAX_CODE];	/* of all paths in i-mode, in a-mode */
	unsigned char here[MAX_CODE];	/* of this test */
} *module;

static inline void find_module(void)
{
	char text[256];
	FILE *file = fopen("/proc/modules", "r");
	u64 start, size;

	module = shared_memory(sizeof(*module));
	while (file && fgets(text, sizeof(text), file)) {
		if (sscanf(text, "vperfctr %llu %*s %*s %*s %llx", &size, &start) == 2) {
			module->start = start & PLACE;
			module->end = module->start + (size < MAX_CODE ? size : MAX_CODE);
		}
	}
	if (!module->start)
		die("the module is not in /proc/modules");
	fclose(file);
}

static inline bool is_module(u64 place)
{
	return place >= module->start && place < module->end;
}

/* Print where this offset in the module is. */
static inline void print_place(u64 offset)
{
	u64 address, best = 0, wanted = module->start + offset;
	char name[128], best_name[128] = "?", text[256];
	FILE *file = fopen("/proc/kallsyms", "r");

	while (file && fgets(text, sizeof(text), file)) {
		if (strstr(text, "[vperfctr]") && sscanf(text, "%llx %*s %127s", &address, name) == 2 &&
		    (address & PLACE) <= wanted && (address & PLACE) >= best) {
			best = address & PLACE;
			memcpy(best_name, name, sizeof(name));
		}
	}
	if (file)
		fclose(file);
	printf("sweep: missed %s+%#llx\n", best_name, wanted - best);
}

/* ---- what an overflow has hit --------------------------------------------------------- */

/* So long that it does not overflow: in a trace it tells how much was counted. */
#define LONG	(1ULL << 29)

/* Where an overflow should be next. */
struct target {
	u64 place;		/* offset in the module */
	u64 period;
};

#define MAX_TARGETS	20000

/* The counter overflows after this many counts in the traced round. */
static inline unsigned int find_targets(struct target *targets, u64 traced)
{
	unsigned int n = 0;
	u64 t, value, offset;

	while ((t = trace(TRACE_TAKE))) {
		value = trace(TRACE_VALUE);
		if (!is_module(t & PLACE))
			continue;
		offset = (t & PLACE) - module->start;
		module->here[offset] |= EXECUTED;
		if (!(t & COUNTED))
			continue;
		value = (value + traced) & ((1ULL << info.pmc_width) - 1);
		/* The counter has just started, or has another control. */
		if (value < info.min_period || value > traced)
			continue;
		if (!(module->here[offset] & COUNTABLE) || !(module->here[offset] & HIT)) {
			module->here[offset] |= COUNTABLE;
			if (n < MAX_TARGETS)
				targets[n++] = (struct target) { offset, value };
		}
	}
	return n;
}

static inline bool take_hits(void)
{
	bool any = false;
	u64 t;

	while ((t = trace(TRACE_TAKE))) {
		if (!(t & OVERFLOWED))
			continue;
		any = true;
		if (is_module(t & PLACE))
			module->here[(t & PLACE) - module->start] |= HIT;
	}
	return any;
}

static inline unsigned int count_places(const unsigned char *places, int mask, int value)
{
	unsigned int i, n = 0;

	for (i = 0; i < MAX_CODE; i++)
		n += (places[i] & mask) == value;
	return n;
}

/* How many instructions no path has hit so far in this mode, this one included. */
static inline unsigned int count_missed(const unsigned char *all)
{
	unsigned int i, n = 0;

	for (i = 0; i < MAX_CODE; i++)
		n += ((all[i] | module->here[i]) & (COUNTABLE | HIT)) == COUNTABLE;
	return n;
}

/* Print the result of this path, and add it to that of all. */
static inline void end_of_path(const char *path, const char *mode, unsigned char *all,
			       unsigned int rounds)
{
	const unsigned char *here = module->here;
	unsigned int countable = count_places(here, COUNTABLE, COUNTABLE);
	unsigned int hit = count_places(here, COUNTABLE | HIT, COUNTABLE | HIT), i;

	for (i = 0; i < MAX_CODE; i++)
		all[i] |= here[i];
	printf("sweep: %-10s %-8s hit %4u of %4u, %4u not counting, %u rounds\n", path, mode, hit,
	       countable, count_places(here, EXECUTED, EXECUTED) - countable, rounds);
	fflush(stdout);
}

/* Print the result of all paths; return true if it is too small. */
static inline bool print_all(const char *name, const unsigned char *all)
{
	unsigned int executed = count_places(all, EXECUTED, EXECUTED);
	unsigned int countable = count_places(all, COUNTABLE, COUNTABLE);
	unsigned int hit = count_places(all, COUNTABLE | HIT, COUNTABLE | HIT), i;

	for (i = 0; i < MAX_CODE; i++) {
		if ((all[i] & (COUNTABLE | HIT)) == COUNTABLE)
			print_place(i);
	}
	if (!EMULATOR_TRACES)
		return false;
	printf("sweep: all paths  %-8s hit %4u of %4u, %4u not counting\n", name, hit, countable,
	       executed - countable);
	/* A sweep that hits little tests little. */
	return 10 * hit < 9 * countable;
}

#endif /* GUEST_SWEEP_H */
