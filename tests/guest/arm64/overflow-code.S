/* SPDX-License-Identifier: GPL-2.0 */
/* A loop in which the interrupted registers show the place of an overflow: overflow.h. */
	.text

	.globl	marked_loop, marked_loop_dec, marked_loop_jnz, marked_loop_end
marked_loop:
	mov	x9, x0
marked_loop_dec:
	subs	x9, x9, #1
marked_loop_jnz:
	b.ne	marked_loop_dec
marked_loop_end:
	ret

/* Execute a loop of 2n instructions with these registers, but for X9, which is n and less. */
	.globl	known_registers, known_registers_dec, known_registers_jnz
known_registers:
	stp	x29, x30, [sp, #-96]!
	stp	x19, x20, [sp, #16]
	stp	x21, x22, [sp, #32]
	stp	x23, x24, [sp, #48]
	stp	x25, x26, [sp, #64]
	stp	x27, x28, [sp, #80]
	adrp	x2, saved_stack
	mov	x3, sp
	str	x3, [x2, #:lo12:saved_stack]
	mov	x9, x1
	ldr	x3, [x0, #248]
	mov	sp, x3
	ldr	x30, [x0, #240]
	ldr	x2, [x0, #16]
	ldr	x3, [x0, #24]
	ldr	x4, [x0, #32]
	ldr	x5, [x0, #40]
	ldr	x6, [x0, #48]
	ldr	x7, [x0, #56]
	ldr	x8, [x0, #64]
	ldr	x10, [x0, #80]
	ldr	x11, [x0, #88]
	ldr	x12, [x0, #96]
	ldr	x13, [x0, #104]
	ldr	x14, [x0, #112]
	ldr	x15, [x0, #120]
	ldr	x16, [x0, #128]
	ldr	x17, [x0, #136]
	ldr	x18, [x0, #144]
	ldr	x19, [x0, #152]
	ldr	x20, [x0, #160]
	ldr	x21, [x0, #168]
	ldr	x22, [x0, #176]
	ldr	x23, [x0, #184]
	ldr	x24, [x0, #192]
	ldr	x25, [x0, #200]
	ldr	x26, [x0, #208]
	ldr	x27, [x0, #216]
	ldr	x28, [x0, #224]
	ldr	x29, [x0, #232]
	ldr	x1, [x0, #8]
	ldr	x0, [x0]
known_registers_dec:
	subs	x9, x9, #1
known_registers_jnz:
	b.ne	known_registers_dec
	adrp	x2, saved_stack
	ldr	x3, [x2, #:lo12:saved_stack]
	mov	sp, x3
	ldp	x19, x20, [sp, #16]
	ldp	x21, x22, [sp, #32]
	ldp	x23, x24, [sp, #48]
	ldp	x25, x26, [sp, #64]
	ldp	x27, x28, [sp, #80]
	ldp	x29, x30, [sp], #96
	ret

	.local	saved_stack
	.comm	saved_stack, 8, 8

	.section .note.GNU-stack, "", @progbits
