/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program of known length that waits in the middle: 4015 instructions in user mode.  It
 * writes a line, waits for one, and ends.
 */
	.globl	_start
_start:
	mov	$1000, %ecx
1:	dec	%ecx
	jnz	1b
	mov	$1, %eax		/* write */
	mov	$1, %edi
	lea	line(%rip), %rsi
	mov	$1, %edx
	syscall
	xor	%eax, %eax		/* read */
	xor	%edi, %edi
	lea	-8(%rsp), %rsi
	mov	$1, %edx
	syscall
	mov	$1000, %ecx
2:	dec	%ecx
	jnz	2b
	xor	%edi, %edi
	mov	$231, %eax		/* exit_group */
	syscall
line:	.ascii	"\n"

	.section .note.GNU-stack, "", @progbits
