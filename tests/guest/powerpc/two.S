/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program of two functions, with three times as many instructions in hot() as in
 * cold(): 1200001 + 400001, and 7 around them.  It executes no others in user mode.
 * two_long has LENGTH times as many in the functions' loops.
 *
 * One instruction can load only multiples of 65536, so the loops count down by 1024,
 * or by less if they are longer.
 */
#ifndef LENGTH
#define LENGTH 1
#endif

#include "words.h"

	.globl	_start, hot, cold
	.type	_start, @function
_start:
	lis	5, 9375			/* 1024 * 600000 */
	bl	hot
	lis	5, 3125			/* 1024 * 200000 */
	bl	cold
	li	3, 0
	li	0, 1			/* exit */
	sc
	.size	_start, . - _start

	.type	hot, @function
hot:	addic.	5, 5, -1024 / LENGTH	/* hot line */
	bne	hot
	blr
	.size	hot, . - hot

	.type	cold, @function
cold:	addic.	5, 5, -1024 / LENGTH	/* cold line */
	bne	cold
	blr
	.size	cold, . - cold

	.section .note.GNU-stack, "", @progbits
