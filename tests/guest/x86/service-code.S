/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code of known length: see code.h.  Children share their parent's stack and do not touch
 * it; registers that clone() ignores hold their arguments.
 */
#include <asm/unistd.h>

#define VPERFCTR_OPEN_NR	0xd003
#define VPERFCTR_CONTROL_NR	0xd010
#define VPERFCTR_READ_NR	0xd011

	.text

	.globl	start_child
start_child:
	mov	%rsi, %r8
	mov	%rcx, %r10
	xor	%esi, %esi
	mov	$__NR_clone, %eax
	syscall
	test	%rax, %rax		/* the child's first instruction */
	jz	1f
	ret
1:	mov	%r8, %rcx
2:	dec	%rcx
	jnz	2b
	test	%rdx, %rdx
	jz	4f
	mov	%r10, %r9
	mov	%rdx, %rdi
	xor	%esi, %esi		/* FUTEX_WAIT */
	xor	%edx, %edx
	xor	%r10d, %r10d
	mov	$__NR_futex, %eax
	syscall
	mov	%r9, %rcx
3:	dec	%rcx
	jnz	3b
4:	xor	%edi, %edi
	mov	$__NR_exit, %eax
	syscall

	.globl	fork_chain
fork_chain:
	mov	%rdi, %r8
	mov	%rsi, %r9
	mov	$__NR_fork, %eax
	syscall
	test	%rax, %rax
	jz	1f
	ret
1:	mov	%r9, %rcx
2:	dec	%rcx
	jnz	2b
	dec	%r8
	jz	3f
	mov	$__NR_fork, %eax
	syscall
	test	%rax, %rax
	jz	1b
	mov	$-1, %rdi
	xor	%esi, %esi
	xor	%edx, %edx
	xor	%r10d, %r10d
	mov	$__NR_wait4, %eax
	syscall
3:	xor	%edi, %edi
	mov	$__NR_exit_group, %eax
	syscall

	.globl	stop_for_ever
stop_for_ever:
	mov	%rdi, %r8
	mov	%rsi, %r9
	mov	%rdx, %r10
1:	mov	%r8, %rdi
	mov	%r9, %rsi
	mov	$19, %edx		/* SIGSTOP */
	mov	$__NR_tgkill, %eax
	syscall
	mov	(%r10), %rcx
2:	dec	%rcx
	jnz	2b
	jmp	1b

	.globl	start_counted
start_counted:
	mov	%rsi, %r8
	xor	%esi, %esi
	mov	$__NR_clone, %eax
	syscall
	test	%rax, %rax
	jz	1f
	ret
1:	mov	(%r8), %rdi
	mov	$VPERFCTR_OPEN_NR, %esi
	mov	8(%r8), %rdx
	mov	$__NR_ioctl, %eax
	syscall
	mov	%rax, 48(%r8)
	mov	%rax, %rdi
	mov	$VPERFCTR_CONTROL_NR, %esi
	mov	16(%r8), %rdx
	mov	$__NR_ioctl, %eax
	syscall
	mov	%rax, 56(%r8)		/* counted from here ... */
	mov	24(%r8), %rdi
	xor	%esi, %esi		/* FUTEX_WAIT */
	xor	%edx, %edx
	xor	%r10d, %r10d
	mov	$__NR_futex, %eax
	syscall
	mov	32(%r8), %rcx
2:	dec	%rcx
	jnz	2b
	mov	48(%r8), %rdi
	mov	$VPERFCTR_READ_NR, %esi
	mov	40(%r8), %rdx
	mov	$__NR_ioctl, %eax
	syscall				/* ... to here */
	mov	%rax, 64(%r8)
	mov	72(%r8), %rax
	lock incl (%rax)
	xor	%edi, %edi
	mov	$__NR_exit, %eax
	syscall

	.section .note.GNU-stack, "", @progbits
