// SPDX-License-Identifier: GPL-2.0
/* Calls of a library that has no frames: test_perfex_unwind.c takes samples in them. */
void library_outer(void (*call)(void));
void library_inner(void (*call)(void));

__attribute__((noinline, noclone)) void library_inner(void (*call)(void))
{
	volatile char buffer[300] = "";

	call();
	__asm__ volatile("" :: "r" (buffer) : "memory");
}

__attribute__((noinline, noclone)) void library_outer(void (*call)(void))
{
	library_inner(call);
	__asm__ volatile("" ::: "memory");
}
