/* SPDX-License-Identifier: GPL-2.0 */
/* A loop in which the interrupted registers show the place of an overflow: overflow.h. */
	.text

	.globl	marked_loop, marked_loop_dec, marked_loop_jnz, marked_loop_end
marked_loop:
	mov	%rdi, %rcx
marked_loop_dec:
	dec	%rcx
marked_loop_jnz:
	jnz	marked_loop_dec
marked_loop_end:
	ret

/* Execute a loop of 2n instructions with these registers, but for RCX, which is n and less. */
	.globl	known_registers, known_registers_dec, known_registers_jnz
known_registers:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rsp, saved_stack(%rip)
	mov	%rsi, %rcx
	mov	(%rdi), %rax
	mov	8(%rdi), %rdx
	mov	24(%rdi), %rbx
	mov	32(%rdi), %rsi
	mov	48(%rdi), %rbp
	mov	56(%rdi), %rsp
	mov	64(%rdi), %r8
	mov	72(%rdi), %r9
	mov	80(%rdi), %r10
	mov	88(%rdi), %r11
	mov	96(%rdi), %r12
	mov	104(%rdi), %r13
	mov	112(%rdi), %r14
	mov	120(%rdi), %r15
	mov	40(%rdi), %rdi
known_registers_dec:
	dec	%rcx
known_registers_jnz:
	jnz	known_registers_dec
	mov	saved_stack(%rip), %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret

	.local	saved_stack
	.comm	saved_stack, 8, 8

	.section .note.GNU-stack, "", @progbits
