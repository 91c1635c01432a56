// SPDX-License-Identifier: GPL-2.0
/* A loop of known length: known_loop(n) takes 2n instructions in its loop. */

void known_loop(unsigned long n);

void known_loop(unsigned long n)
{
	__asm__ __volatile__("1: dec %0\n\tjnz 1b" : "+r"(n) : : "cc");
}
