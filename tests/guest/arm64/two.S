/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program of two functions, with three times as many instructions in hot() as in
 * cold(): 1200001 + 400001, and 7 around them.  It executes no others in user mode.
 * two_long has LENGTH times as many in the functions' loops.
 */
#ifndef LENGTH
#define LENGTH 1
#endif

	.globl	_start, hot, cold
	.type	_start, @function
_start:
	ldr	w1, =(600000 * LENGTH)
	bl	hot
	ldr	w1, =(200000 * LENGTH)
	bl	cold
	mov	x8, #93			/* exit */
	mov	x0, #0
	svc	#0
	.ltorg
	.size	_start, . - _start

	.type	hot, @function
hot:	subs	w1, w1, #1		/* hot line */
	b.ne	hot
	ret
	.size	hot, . - hot

	.type	cold, @function
cold:	subs	w1, w1, #1		/* cold line */
	b.ne	cold
	ret
	.size	cold, . - cold

	.section .note.GNU-stack, "", @progbits
