// SPDX-License-Identifier: GPL-2.0
/*
 * A program that lives as long as its standard input, for samples of whole CPUs.  For each
 * byte of it hot() executes 1,500,000 instructions and cold() 500,000, and the program calls
 * the kernel 5000 times.  It answers with the byte.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "turns.h"

/* A frame: a function without one is missing as a caller in chains. */
#define SPIN(turns) do {						\
	unsigned long n = turns;					\
	__asm__ volatile(LOOP : "+r" (n)				\
			 : "r" (__builtin_frame_address(0)) : "cc");	\
} while (0)

static NOT_INLINED void hot(void) { SPIN(750000); }
static NOT_INLINED void cold(void) { SPIN(250000); }

static NOT_INLINED void call_kernel(void)
{
	for (int i = 0; i < 5000; i++)
		syscall(SYS_getppid);
}

int main(void)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) == 1) {
		hot();
		cold();
		call_kernel();
		if (write(STDOUT_FILENO, &byte, 1) != 1)
			return 1;
	}
	return 0;
}
