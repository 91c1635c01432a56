/* SPDX-License-Identifier: GPL-2.0 */
/* The program of x86/known_family.S, with as many instructions. */
#include <asm/unistd.h>

	.globl	_start
_start:
	mov	8(%esp), %eax
	movzbl	(%eax), %ebp
	sub	$48, %ebp		/* '0' */
1:	mov	$__NR_fork, %eax
	int	$0x80
	test	%eax, %eax
	jz	3f
	mov	$-1, %ebx
	xor	%ecx, %ecx
	xor	%edx, %edx
	xor	%esi, %esi
	mov	$__NR_wait4, %eax
	int	$0x80
	dec	%ebp
	jnz	1b
2:	xor	%ebx, %ebx
	mov	$__NR_exit_group, %eax
	int	$0x80

3:	mov	$1000, %ecx
4:	dec	%ecx
	jnz	4b
	jmp	2b

	.section .note.GNU-stack, "", @progbits
