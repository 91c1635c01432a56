// SPDX-License-Identifier: GPL-2.0
/*
 * usage: bench [-e] SIDE [PART]...
 *
 * SIDE is vperfctr or perf_event.  PART is calls, linked (vperfctr only), switches, equal
 * (switches between threads that count the same), overflows, scale, memory (a part of scale),
 * disturbance, disturbance10000 or disturbance100000 (the same beside more threads), or wakeups
 * (a trace of samples_held).  SIDE and PART may both be floor: the kernel's own cost (-e only).
 * -e: in the emulator, where the clock counts instructions.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"

const struct side *side;

/* Each general counter has different events in the two sets. */
const event_code events[2][MAX_N] = { { EVENTS_A }, { EVENTS_B } };

static void measure_part(const char *name)
{
	if (!strcmp(name, "calls"))
		measure_calls();
	else if (!strcmp(name, "linked"))
		measure_linked();
	else if (!strcmp(name, "switches"))
		measure_switches();
	else if (!strcmp(name, "equal"))
		measure_equal_switches();
	else if (!strcmp(name, "overflows"))
		side->overflows();
	else if (!strcmp(name, "scale"))
		measure_scale();
	else if (!strcmp(name, "memory"))
		measure_memory();
	else if (!strcmp(name, "disturbance"))
		measure_disturbance(0);
	else if (!strcmp(name, "disturbance10000"))
		measure_disturbance(10000);
	else if (!strcmp(name, "disturbance100000"))
		measure_disturbance(100000);
	else if (!strcmp(name, "wakeups"))
		trace_wakeups();
	else if (!strcmp(name, "floor"))
		measure_floor();
	else
		die("bench: unknown part '%s'", name);
}

int main(int argc, char **argv)
{
	bool is_emulated = argc > 1 && !strcmp(argv[1], "-e");

	if (is_emulated) {
		argc--;
		argv++;
	}
	if (argc > 1 && !strcmp(argv[1], "vperfctr"))
		side = &vperfctr_side;
	else if (argc > 1 && !strcmp(argv[1], "perf_event"))
		side = &perf_side;
	else if (argc > 1 && !strcmp(argv[1], "floor") && is_emulated)
		side = &floor_side;
	else
		die("usage: bench [-e] vperfctr|perf_event [calls|linked|switches|overflows|scale]...");
	side->check();
	pin(0);
	measure_init(is_emulated);
	for (argv += 2; *argv; argv++)
		measure_part(*argv);
	return 0;
}
