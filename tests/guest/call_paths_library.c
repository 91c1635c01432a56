// SPDX-License-Identifier: GPL-2.0
/* The library that call_paths loads. */
void library_calls(void (*call)(void));

void library_calls(void (*call)(void))
{
	call();
	__asm__ volatile("" ::: "memory");
}
