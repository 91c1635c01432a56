/* SPDX-License-Identifier: GPL-2.0 */
/* The program of x86/known.S, with as many instructions. */
#include <asm/unistd.h>

	.globl	_start
_start:
#ifdef WAITS
	xor	%ebx, %ebx
	lea	-256(%esp), %ecx
	mov	$1, %edx
	mov	$__NR_read, %eax
	int	$0x80
#endif
	mov	(%esp), %ebx
	imul	$1000, %ebx, %ecx
1:	dec	%ecx
	jnz	1b
	mov	$__NR_exit_group, %eax
	int	$0x80

	.section .note.GNU-stack, "", @progbits
