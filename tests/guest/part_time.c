// SPDX-License-Identifier: GPL-2.0
/*
 * usage: part_time	execute a million instructions, sleep for 5 ms, and so on without end
 *
 * A test that waits while such a process runs costs the emulator much less than one that waits
 * beside an endless loop.
 */
#include <time.h>

int main(void)
{
	const struct timespec nap = { 0, 5000000 };

	for (;;) {
		for (int i = 0; i < 300000; i++)
			asm volatile("" : : "r" (i));
		nanosleep(&nap, NULL);
	}
}
