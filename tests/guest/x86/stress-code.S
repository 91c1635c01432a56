/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code of known length for stress.c: between two reads of a counter, neither the compiler
 * nor the library influences the number of instructions in user mode.
 */
#include <asm/unistd.h>

	.text

/*
 * long read_loop_read(int fd, unsigned int cmd, struct vperfctr_read *before,
 *		       struct vperfctr_read *after, unsigned long n)
 *
 * Execute 2n instructions and a few between the two samples.
 */
	.globl	read_loop_read
read_loop_read:
	mov	%rcx, %r9		/* the system call does not preserve it */
	mov	$__NR_ioctl, %eax
	syscall
	test	%rax, %rax
	jnz	2f
1:	dec	%r8
	jnz	1b
	mov	%r9, %rdx
	mov	$__NR_ioctl, %eax
	syscall
2:	ret

/*
 * long spawn_tree(unsigned long flags, unsigned long leaves, unsigned long n)
 *
 * Fork a process that clones `leaves` times with `flags`.  It waits for the leaves that
 * are processes.  Each leaf executes 2n instructions and a few.
 */
	.globl	spawn_tree
spawn_tree:
	mov	%rdi, %r8		/* registers that the kernel preserves */
	mov	%rsi, %r9
	mov	%rdx, %r10
	mov	$__NR_fork, %eax
	syscall
	test	%rax, %rax
	jz	1f
	ret

1:	push	%r10			/* clone's fifth argument is in r8, fourth in r10 */
	push	%r8
	push	%r9
2:	mov	8(%rsp), %rdi
	xor	%esi, %esi
	xor	%edx, %edx
	xor	%r10d, %r10d
	xor	%r8d, %r8d
	mov	$__NR_clone, %eax
	syscall
	test	%rax, %rax
	jz	leaf
	decq	(%rsp)
	jnz	2b
3:	mov	$-1, %rdi
	xor	%esi, %esi
	mov	$0x40000000, %edx	/* __WALL */
	xor	%r10d, %r10d
	mov	$__NR_wait4, %eax
	syscall
	test	%rax, %rax
	jns	3b			/* until there are none left */
	xor	%edi, %edi
	mov	$__NR_exit_group, %eax
	syscall

leaf:	mov	16(%rsp), %rcx
1:	dec	%rcx
	jnz	1b
	xor	%edi, %edi
	mov	$__NR_exit, %eax
	syscall

/*
 * void stop_and_loop(pid_t self, unsigned long n)
 *
 * Loop forever: SIGSTOP, then 2n instructions and a few.
 */
	.globl	stop_and_loop
stop_and_loop:
	mov	%rdi, %r8
	mov	%rsi, %r9
1:	mov	%r8, %rdi
	mov	$19, %esi		/* SIGSTOP */
	mov	$__NR_kill, %eax
	syscall
	mov	%r9, %rcx
2:	dec	%rcx
	jnz	2b
	jmp	1b

	.section .note.GNU-stack, "", @progbits
