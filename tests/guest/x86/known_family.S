/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program of known length that forks argv[1] (one digit) children and waits for each.
 * The children execute the loop of "known".  For the number of instructions see
 * KNOWN_FAMILY_OWN() and KNOWN_FAMILY_CHILDREN() in code.h.
 */
#include <asm/unistd.h>

	.globl	_start
_start:
	mov	16(%rsp), %rax
	movzbl	(%rax), %ebx
	sub	$48, %ebx		/* '0' */
1:	mov	$__NR_fork, %eax
	syscall
	test	%rax, %rax
	jz	3f
	mov	$-1, %rdi
	xor	%esi, %esi
	xor	%edx, %edx
	xor	%r10d, %r10d
	mov	$__NR_wait4, %eax
	syscall
	dec	%ebx
	jnz	1b
2:	xor	%edi, %edi
	mov	$__NR_exit_group, %eax
	syscall

3:	mov	$1000, %ecx
4:	dec	%ecx
	jnz	4b
	jmp	2b

	.section .note.GNU-stack, "", @progbits
