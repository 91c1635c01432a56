/* SPDX-License-Identifier: GPL-2.0 */
/* A loop in which the interrupted registers show the place of an overflow: overflow.h. */
	.text

	.globl	marked_loop, marked_loop_dec, marked_loop_jnz, marked_loop_end
marked_loop:
	mov	4(%esp), %ecx
marked_loop_dec:
	dec	%ecx
marked_loop_jnz:
	jnz	marked_loop_dec
marked_loop_end:
	ret

	.section .note.GNU-stack, "", @progbits
