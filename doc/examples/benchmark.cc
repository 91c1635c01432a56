// SPDX-License-Identifier: GPL-2.0
/*
 * Two containers, measured by Google Benchmark: its report has the instructions, too.
 *
 *	c++ -O2 -o benchmark benchmark.cc -lbenchmark -lvperfctr-event -lvperfctr -pthread
 */
#include <list>
#include <vector>
#include <vperfctr/benchmark.hpp>

/* Two thousand instructions. */
static inline void loop()
{
	unsigned long rounds = 1000;

#ifdef __aarch64__
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
#elif defined(__riscv)
	__asm__ volatile("1: addi %0, %0, -1\n\tbnez %0, 1b" : "+r"(rounds));
#elif defined(__powerpc__)
	__asm__ volatile("mtctr %0\n1:\tnop\n\tbdnz 1b" : : "r"(rounds) : "ctr");
#elif defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(rounds) : : "cc");
#else
#error "the loop is not written for this architecture"
#endif
}

template<typename C> static void fill()
{
	C container;

	for (int i = 0; i < 1000; i++)
		container.push_back(i);
	benchmark::DoNotOptimize(container.back());
}

static void known(benchmark::State &state)
{
	vperf::run(state, "instructions:u", loop);
}
BENCHMARK(known);

static void vector(benchmark::State &state)
{
	vperf::run(state, "instructions:u", fill<std::vector<int>>);
}
BENCHMARK(vector);

static void list(benchmark::State &state)
{
	vperf::run(state, "instructions:u", fill<std::list<int>>);
}
BENCHMARK(list);

BENCHMARK_MAIN();
