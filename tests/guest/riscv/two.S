/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program of two functions, with three times as many instructions in hot() as in
 * cold(): 1200001 + 400001, and 7 around them.  It executes no others in user mode.
 * two_long has LENGTH times as many in the functions' loops.
 *
 * One instruction can load only multiples of 4096, so the loops count down by 64.
 */
#include "system-call.h"

#ifndef LENGTH
#define LENGTH 1
#endif

	.globl	_start, hot, cold
	.type	_start, @function
_start:
	lui	a1, 9375 * LENGTH	/* 64 * 600000 */
	jal	hot
	lui	a1, 3125 * LENGTH	/* 64 * 200000 */
	jal	cold
	li	a7, 93			/* exit */
	li	a0, 0
	system_call
	.size	_start, . - _start

	.type	hot, @function
hot:	addi	a1, a1, -64		/* hot line */
	bnez	a1, hot
	ret
	.size	hot, . - hot

	.type	cold, @function
cold:	addi	a1, a1, -64		/* cold line */
	bnez	a1, cold
	ret
	.size	cold, . - cold

	.section .note.GNU-stack, "", @progbits
