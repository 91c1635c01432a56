/* SPDX-License-Identifier: GPL-2.0 */
/* A loop in which the interrupted registers show the place of an overflow: overflow.h. */
	.text

	.globl	marked_loop, marked_loop_dec, marked_loop_jnz, marked_loop_end
marked_loop:
	mv	t0, a0
marked_loop_dec:
	addi	t0, t0, -1
marked_loop_jnz:
	bnez	t0, marked_loop_dec
marked_loop_end:
	ret

/* Execute a loop of 2n instructions with these registers, but for t0, which is n and less. */
	.globl	known_registers, known_registers_dec, known_registers_jnz
known_registers:
	addi	sp, sp, -128
	sd	ra, 0(sp)
	sd	gp, 8(sp)
	sd	tp, 16(sp)
	sd	s0, 24(sp)
	sd	s1, 32(sp)
	sd	s2, 40(sp)
	sd	s3, 48(sp)
	sd	s4, 56(sp)
	sd	s5, 64(sp)
	sd	s6, 72(sp)
	sd	s7, 80(sp)
	sd	s8, 88(sp)
	sd	s9, 96(sp)
	sd	s10, 104(sp)
	sd	s11, 112(sp)
	lla	t1, saved_stack
	sd	sp, 0(t1)
	mv	t0, a1
	ld	ra, 8(a0)
	ld	sp, 16(a0)
	ld	gp, 24(a0)
	ld	tp, 32(a0)
	ld	t1, 48(a0)
	ld	t2, 56(a0)
	ld	s0, 64(a0)
	ld	s1, 72(a0)
	ld	a1, 88(a0)
	ld	a2, 96(a0)
	ld	a3, 104(a0)
	ld	a4, 112(a0)
	ld	a5, 120(a0)
	ld	a6, 128(a0)
	ld	a7, 136(a0)
	ld	s2, 144(a0)
	ld	s3, 152(a0)
	ld	s4, 160(a0)
	ld	s5, 168(a0)
	ld	s6, 176(a0)
	ld	s7, 184(a0)
	ld	s8, 192(a0)
	ld	s9, 200(a0)
	ld	s10, 208(a0)
	ld	s11, 216(a0)
	ld	t3, 224(a0)
	ld	t4, 232(a0)
	ld	t5, 240(a0)
	ld	t6, 248(a0)
	ld	a0, 80(a0)
known_registers_dec:
	addi	t0, t0, -1
known_registers_jnz:
	bnez	t0, known_registers_dec
	lla	t1, saved_stack
	ld	sp, 0(t1)
	ld	ra, 0(sp)
	ld	gp, 8(sp)
	ld	tp, 16(sp)
	ld	s0, 24(sp)
	ld	s1, 32(sp)
	ld	s2, 40(sp)
	ld	s3, 48(sp)
	ld	s4, 56(sp)
	ld	s5, 64(sp)
	ld	s6, 72(sp)
	ld	s7, 80(sp)
	ld	s8, 88(sp)
	ld	s9, 96(sp)
	ld	s10, 104(sp)
	ld	s11, 112(sp)
	addi	sp, sp, 128
	ret

	.local	saved_stack
	.comm	saved_stack, 8, 8

	.section .note.GNU-stack, "", @progbits
