/* SPDX-License-Identifier: GPL-2.0 */
/* A loop of known length, for programs that are sampled and have none of the tests' headers. */
#ifndef GUEST_TURNS_H
#define GUEST_TURNS_H

#define NOT_INLINED	__attribute__((noinline, noclone))

/* The code of a loop of %0 turns, with two instructions in each. */
#if defined(__x86_64__) || defined(__i386__)
#define LOOP	"1: dec %0; jnz 1b"
#elif defined(__riscv)
#define LOOP	"1: addi %0, %0, -1; bnez %0, 1b"
#elif defined(__powerpc__)
#define LOOP	"1: addic. %0, %0, -1; bne 1b"
#else
#define LOOP	"1: subs %0, %0, #1; b.ne 1b"
#endif

#endif /* GUEST_TURNS_H */
