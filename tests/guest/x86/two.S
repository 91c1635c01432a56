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
	mov	$(600000 * LENGTH), %ecx
	call	hot
	mov	$(200000 * LENGTH), %ecx
	call	cold
	mov	$60, %eax		/* exit */
	xor	%edi, %edi
	syscall
	.size	_start, . - _start

	.type	hot, @function
hot:	dec	%ecx			/* hot line */
	jnz	hot
	ret
	.size	hot, . - hot

	.type	cold, @function
cold:	dec	%ecx			/* cold line */
	jnz	cold
	ret
	.size	cold, . - cold

	.section .note.GNU-stack, "", @progbits
