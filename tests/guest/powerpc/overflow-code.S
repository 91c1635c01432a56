/* SPDX-License-Identifier: GPL-2.0 */
/* A loop in which the interrupted registers show the place of an overflow: overflow.h. */
	.text

	.globl	marked_loop, marked_loop_dec, marked_loop_jnz, marked_loop_end
	.type	marked_loop, @function
marked_loop:
	mr	9, 3
marked_loop_dec:
	addic.	9, 9, -1
marked_loop_jnz:
	bne	marked_loop_dec
marked_loop_end:
	blr

#ifdef __powerpc64__

/* Execute a loop of 2n instructions with these registers, but for r9, which is n and less. */
	.globl	known_registers, known_registers_dec, known_registers_jnz
	.type	known_registers, @function
known_registers:
	mflr	0
	std	0, 16(1)
	stdu	1, -192(1)
	std	2, 32(1)
	std	13, 40(1)
	std	14, 48(1)
	std	15, 56(1)
	std	16, 64(1)
	std	17, 72(1)
	std	18, 80(1)
	std	19, 88(1)
	std	20, 96(1)
	std	21, 104(1)
	std	22, 112(1)
	std	23, 120(1)
	std	24, 128(1)
	std	25, 136(1)
	std	26, 144(1)
	std	27, 152(1)
	std	28, 160(1)
	std	29, 168(1)
	std	30, 176(1)
	std	31, 184(1)
	bcl	20, 31, 1f
1:	mflr	10
	addis	10, 10, saved_stack-1b@ha
	addi	10, 10, saved_stack-1b@l
	std	1, 0(10)
	mr	9, 4
	ld	0, 256(3)
	mtlr	0
	ld	0, 0(3)
	ld	1, 8(3)
	ld	2, 16(3)
	ld	4, 32(3)
	ld	5, 40(3)
	ld	6, 48(3)
	ld	7, 56(3)
	ld	8, 64(3)
	ld	10, 80(3)
	ld	11, 88(3)
	ld	12, 96(3)
	ld	13, 104(3)
	ld	14, 112(3)
	ld	15, 120(3)
	ld	16, 128(3)
	ld	17, 136(3)
	ld	18, 144(3)
	ld	19, 152(3)
	ld	20, 160(3)
	ld	21, 168(3)
	ld	22, 176(3)
	ld	23, 184(3)
	ld	24, 192(3)
	ld	25, 200(3)
	ld	26, 208(3)
	ld	27, 216(3)
	ld	28, 224(3)
	ld	29, 232(3)
	ld	30, 240(3)
	ld	31, 248(3)
	ld	3, 24(3)
known_registers_dec:
	addic.	9, 9, -1
known_registers_jnz:
	bne	known_registers_dec
	bcl	20, 31, 2f
2:	mflr	10
	addis	10, 10, saved_stack-2b@ha
	addi	10, 10, saved_stack-2b@l
	ld	1, 0(10)
	ld	2, 32(1)
	ld	13, 40(1)
	ld	14, 48(1)
	ld	15, 56(1)
	ld	16, 64(1)
	ld	17, 72(1)
	ld	18, 80(1)
	ld	19, 88(1)
	ld	20, 96(1)
	ld	21, 104(1)
	ld	22, 112(1)
	ld	23, 120(1)
	ld	24, 128(1)
	ld	25, 136(1)
	ld	26, 144(1)
	ld	27, 152(1)
	ld	28, 160(1)
	ld	29, 168(1)
	ld	30, 176(1)
	ld	31, 184(1)
	addi	1, 1, 192
	ld	0, 16(1)
	mtlr	0
	blr

	.local	saved_stack
	.comm	saved_stack, 8, 8

#endif

	.section .note.GNU-stack, "", @progbits
