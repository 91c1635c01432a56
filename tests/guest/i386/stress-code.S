/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code of known length for stress.c, as in x86/stress-code.S: each path between two system
 * calls has as many instructions as there.
 */
#include <asm/unistd.h>

	.text

/* See x86/stress-code.S. */
	.globl	read_loop_read
read_loop_read:
	push	%ebx
	push	%esi
	push	%edi
	mov	16(%esp), %ebx
	mov	20(%esp), %ecx
	mov	24(%esp), %edx
	mov	28(%esp), %esi
	mov	32(%esp), %edi
	mov	$__NR_ioctl, %eax
	int	$0x80
	test	%eax, %eax
	jnz	2f
1:	dec	%edi
	jnz	1b
	mov	%esi, %edx
	mov	$__NR_ioctl, %eax
	int	$0x80
2:	pop	%edi
	pop	%esi
	pop	%ebx
	ret

/* See x86/stress-code.S. */
	.globl	spawn_tree
spawn_tree:
	push	%ebx
	push	%esi
	push	%edi
	mov	$__NR_fork, %eax
	int	$0x80
	test	%eax, %eax
	jz	1f
	pop	%edi
	pop	%esi
	pop	%ebx
	ret

1:	push	24(%esp)		/* n */
	push	20(%esp)		/* flags */
	push	28(%esp)		/* leaves */
2:	mov	4(%esp), %ebx
	xor	%ecx, %ecx
	xor	%edx, %edx
	xor	%esi, %esi
	xor	%edi, %edi
	mov	$__NR_clone, %eax
	int	$0x80
	test	%eax, %eax
	jz	leaf
	decl	(%esp)
	jnz	2b
3:	mov	$-1, %ebx
	xor	%ecx, %ecx
	mov	$0x40000000, %edx	/* __WALL */
	xor	%esi, %esi
	mov	$__NR_wait4, %eax
	int	$0x80
	test	%eax, %eax
	jns	3b			/* until there are none left */
	xor	%ebx, %ebx
	mov	$__NR_exit_group, %eax
	int	$0x80

leaf:	mov	8(%esp), %ecx
1:	dec	%ecx
	jnz	1b
	xor	%ebx, %ebx
	mov	$__NR_exit, %eax
	int	$0x80

/* See x86/stress-code.S. */
	.globl	stop_and_loop
stop_and_loop:
	mov	4(%esp), %esi
	mov	8(%esp), %edi
1:	mov	%esi, %ebx
	mov	$19, %ecx		/* SIGSTOP */
	mov	$__NR_kill, %eax
	int	$0x80
	mov	%edi, %ecx
2:	dec	%ecx
	jnz	2b
	jmp	1b

	.section .note.GNU-stack, "", @progbits
