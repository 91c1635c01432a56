// SPDX-License-Identifier: GPL-2.0
/* A benchmark of a software event, which no counter counts. */
#include <vperfctr/benchmark.hpp>

static void soft(benchmark::State &state)
{
	vperf::run(state, "page-faults", [] { });
}
BENCHMARK(soft);

BENCHMARK_MAIN();
