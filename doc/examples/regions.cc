// SPDX-License-Identifier: GPL-2.0
/*
 * The instructions of a loop, by the C++ header: twice as many rounds are twice as many.
 *
 *	c++ -O2 -o regions regions.cc -lvperfctr-event -lvperfctr
 */
#include <iostream>
#include <vperfctr/counters.hpp>

/* Two instructions a round. */
static inline void loop(unsigned long rounds)
{
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

int main()
{
	try {
		vperf::counters counters("instructions:u,cycles:u");
		vperf::region once(counters), twice(counters);

		once.count([] { loop(1000); });
		twice.count([] { loop(2000); });
		{
			/* This is not counted. */
			vperf::pause pause(counters);
			loop(1000);
		}
		for (unsigned int i = 0; i < counters.size(); i++)
			std::cout << counters.name(i) << ": " << once[i] << " in 1000 rounds, "
				  << twice[i] << " in 2000\n";
	} catch (const vperf::error &e) {
		std::cerr << "regions: " << e.what() << '\n';
		return 1;
	}
}
