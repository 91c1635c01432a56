/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code of known length: see code.h.  Each path has as many instructions as in
 * x86/service-code.S.  Children share their parent's stack and do not touch it; registers
 * that clone() ignores hold their arguments.
 */
#include <asm/unistd.h>

#define VPERFCTR_OPEN_NR	0xd003
#define VPERFCTR_CONTROL_NR	0xd010
#define VPERFCTR_READ_NR	0xd011

	.text

	.globl	start_child
start_child:
	push	%ebx
	push	%esi
	push	%edi
	mov	16(%esp), %ebx
	mov	20(%esp), %esi
	mov	24(%esp), %edx
	mov	28(%esp), %edi
	xor	%ecx, %ecx
	mov	$__NR_clone, %eax
	int	$0x80
	test	%eax, %eax		/* the child's first instruction */
	jz	1f
	pop	%edi
	pop	%esi
	pop	%ebx
	ret
1:	mov	%esi, %ecx
2:	dec	%ecx
	jnz	2b
	test	%edx, %edx
	jz	4f
	mov	%edi, %ebp
	mov	%edx, %ebx
	xor	%ecx, %ecx		/* FUTEX_WAIT */
	xor	%edx, %edx
	xor	%esi, %esi
	mov	$__NR_futex, %eax
	int	$0x80
	mov	%ebp, %ecx
3:	dec	%ecx
	jnz	3b
4:	xor	%ebx, %ebx
	mov	$__NR_exit, %eax
	int	$0x80

	.globl	fork_chain
fork_chain:
	push	%ebx
	push	%esi
	push	%edi
	mov	16(%esp), %esi
	mov	20(%esp), %edi
	mov	$__NR_fork, %eax
	int	$0x80
	test	%eax, %eax
	jz	1f
	pop	%edi
	pop	%esi
	pop	%ebx
	ret
1:	mov	%edi, %ecx
2:	dec	%ecx
	jnz	2b
	dec	%esi
	jz	3f
	mov	$__NR_fork, %eax
	int	$0x80
	test	%eax, %eax
	jz	1b
	mov	$-1, %ebx
	xor	%ecx, %ecx
	xor	%edx, %edx
	xor	%esi, %esi
	mov	$__NR_wait4, %eax
	int	$0x80
3:	xor	%ebx, %ebx
	mov	$__NR_exit_group, %eax
	int	$0x80

	.globl	stop_for_ever
stop_for_ever:
	mov	4(%esp), %esi
	mov	8(%esp), %edi
	mov	12(%esp), %ebp
1:	mov	%esi, %ebx
	mov	%edi, %ecx
	mov	$19, %edx		/* SIGSTOP */
	mov	$__NR_tgkill, %eax
	int	$0x80
	mov	(%ebp), %ecx
2:	dec	%ecx
	jnz	2b
	jmp	1b

	.globl	start_counted
start_counted:
	push	%ebx
	push	%ebp
	mov	12(%esp), %ebx
	mov	16(%esp), %ebp
	xor	%ecx, %ecx
	mov	$__NR_clone, %eax
	int	$0x80
	test	%eax, %eax
	jz	1f
	pop	%ebp
	pop	%ebx
	ret
1:	mov	(%ebp), %ebx
	mov	$VPERFCTR_OPEN_NR, %ecx
	mov	4(%ebp), %edx
	mov	$__NR_ioctl, %eax
	int	$0x80
	mov	%eax, 24(%ebp)
	mov	%eax, %ebx
	mov	$VPERFCTR_CONTROL_NR, %ecx
	mov	8(%ebp), %edx
	mov	$__NR_ioctl, %eax
	int	$0x80
	mov	%eax, 28(%ebp)		/* counted from here ... */
	mov	12(%ebp), %ebx
	xor	%ecx, %ecx		/* FUTEX_WAIT */
	xor	%edx, %edx
	xor	%esi, %esi
	mov	$__NR_futex, %eax
	int	$0x80
	mov	16(%ebp), %ecx
2:	dec	%ecx
	jnz	2b
	mov	24(%ebp), %ebx
	mov	$VPERFCTR_READ_NR, %ecx
	mov	20(%ebp), %edx
	mov	$__NR_ioctl, %eax
	int	$0x80			/* ... to here */
	mov	%eax, 32(%ebp)
	mov	36(%ebp), %eax
	lock incl (%eax)
	xor	%ebx, %ebx
	mov	$__NR_exit, %eax
	int	$0x80

	.section .note.GNU-stack, "", @progbits
