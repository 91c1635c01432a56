/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program of known length that moves between the CPUs argv[1] and argv[2] (one digit
 * each), twenty times.  It executes KNOWN_MOVES instructions in user mode: see
 * known.h.
 */
#include <asm/unistd.h>

	.globl	_start
_start:
	mov	16(%rsp), %rax
	movzbl	(%rax), %ecx
	sub	$48, %ecx		/* '0' */
	mov	$1, %r12d
	shl	%cl, %r12d
	mov	24(%rsp), %rax
	movzbl	(%rax), %ecx
	sub	$48, %ecx
	mov	$1, %r13d
	shl	%cl, %r13d
	mov	$20, %ebx
1:	push	%r12
	mov	$__NR_sched_setaffinity, %eax
	xor	%edi, %edi
	mov	$8, %esi
	mov	%rsp, %rdx
	syscall
	pop	%rcx
	mov	$1000, %ecx
2:	dec	%ecx
	jnz	2b
	xchg	%r12, %r13
	dec	%ebx
	jnz	1b
	xor	%edi, %edi
	mov	$__NR_exit_group, %eax
	syscall

	.section .note.GNU-stack, "", @progbits
