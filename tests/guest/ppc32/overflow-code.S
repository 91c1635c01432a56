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

	.section .note.GNU-stack, "", @progbits
