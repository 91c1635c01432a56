/* SPDX-License-Identifier: GPL-2.0 */
/* The program of x86/known_moves.S, with as many instructions. */
#include <asm/unistd.h>

	.globl	_start
_start:
	mov	8(%esp), %eax
	movzbl	(%eax), %ecx
	sub	$48, %ecx		/* '0' */
	mov	$1, %esi
	shl	%cl, %esi
	mov	12(%esp), %eax
	movzbl	(%eax), %ecx
	sub	$48, %ecx
	mov	$1, %edi
	shl	%cl, %edi
	mov	$20, %ebp
1:	push	%esi
	mov	$__NR_sched_setaffinity, %eax
	xor	%ebx, %ebx
	mov	$4, %ecx
	mov	%esp, %edx
	int	$0x80
	pop	%ecx
	mov	$1000, %ecx
2:	dec	%ecx
	jnz	2b
	xchg	%esi, %edi
	dec	%ebp
	jnz	1b
	xor	%ebx, %ebx
	mov	$__NR_exit_group, %eax
	int	$0x80

	.section .note.GNU-stack, "", @progbits
