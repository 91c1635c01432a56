/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counts in the reports of Google Benchmark.  Link with -lbenchmark -lvperfctr-event
 * -lvperfctr -pthread.
 *
 *	static void parse(benchmark::State &state)
 *	{
 *		vperf::run(state, "instructions:u,cycles:u", [] { parse_a_file(); });
 *	}
 *	BENCHMARK(parse);
 *
 * The report then has columns "instructions:u" and "cycles:u", per iteration.  They include
 * the instructions of the loop around the function, which are two or three, but neither the
 * framework's own nor those that read the counters.  With several threads the columns have the
 * mean of all iterations of all threads.
 *
 * Where nothing can count, or a name is that of a software event, which has no counter, the report
 * has the times, the label "not counted" instead of the counts, and standard error the reason, once.
 */
#ifndef VPERFCTR_BENCHMARK_HPP
#define VPERFCTR_BENCHMARK_HPP

#include <atomic>
#include <benchmark/benchmark.h>
#include <cstdio>
#include <vperfctr/counters.hpp>

namespace vperf {

/* Call f() n times between two reads.  One function, so the reads cost the same each time. */
template<typename F>
__attribute__((noinline)) int counted_pass(struct vperfctr *v, unsigned int nr, uint64_t *before,
					   uint64_t *after, benchmark::IterationCount n, F &f)
{
	int err = vperfctr_read(v, nullptr, before, nr);

	if (err)
		return err;
	for (; n; n--)
		f();
	return vperfctr_read(v, nullptr, after, nr);
}

/* Mark a benchmark that has only its times, and say why, once in a program. */
inline void not_counted(benchmark::State &state, const char *why)
{
	static std::atomic_flag said = ATOMIC_FLAG_INIT;

	state.SetLabel("not counted");
	if (!said.test_and_set())
		std::fprintf(stderr, "%s\n", why);
}

template<typename F> void run_uncounted(benchmark::State &state, const char *why, F &f)
{
	not_counted(state, why);
	while (state.KeepRunning())
		f();
}

inline unsigned int count_names(const char *names)
{
	unsigned int nr = 1;

	for (; *names; names++)
		nr += *names == ',';
	return nr;
}

/*
 * Run all iterations of the benchmark.  Each thread has a handle of its own,
 * vperfctr_thread(), so all benchmarks of a program must count the same names, or call
 * vperfctr_thread_close() in between.
 */
template<typename F> void run(benchmark::State &state, const char *names, F f)
{
	uint64_t before[VPERFCTR_MAX_CTRS], after[VPERFCTR_MAX_CTRS], cost[VPERFCTR_MAX_CTRS];
	struct vperfctr_why why;
	struct vperfctr *v;
	unsigned int nr = 0;

	if (vperfctr_thread(&v, names, 0, &why)) {
		run_uncounted(state, why.text, f);
		return;
	}
	while (vperfctr_counter_name(v, nr))
		nr++;
	if (nr != count_names(names)) {
		const std::string reason = std::string(names) +
					   ": a benchmark cannot count software events";

		run_uncounted(state, reason.c_str(), f);
		return;
	}
	/* In the first pass the dynamic linker may look for functions. */
	int err = counted_pass(v, nr, before, after, 0, f);
	if (!err)
		err = counted_pass(v, nr, before, after, 0, f);
	for (unsigned int i = 0; !err && i < nr; i++)
		cost[i] = after[i] - before[i];
	/* This loop is passed once.  The benchmark has its times even if a read fails. */
	while (state.KeepRunningBatch(state.max_iterations)) {
		if (err)
			for (auto n = state.max_iterations; n; n--)
				f();
		else
			err = counted_pass(v, nr, before, after, state.max_iterations, f);
	}
	if (err) {
		not_counted(state, std::generic_category().message(-err).c_str());
		return;
	}
	for (unsigned int i = 0; i < nr; i++) {
		const uint64_t all = after[i] - before[i];

		state.counters[vperfctr_counter_name(v, i)] = benchmark::Counter(
			static_cast<double>(all > cost[i] ? all - cost[i] : 0),
			benchmark::Counter::kAvgIterations);
	}
}

} /* namespace vperf */

#endif /* VPERFCTR_BENCHMARK_HPP */
