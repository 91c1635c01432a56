/* SPDX-License-Identifier: GPL-2.0 */
/* The program of known length: see ../x86/known.S. */
	.globl	_start
_start:
#ifdef WAITS
	mov	x0, #0
	sub	x1, sp, #256
	mov	x2, #1
	mov	x8, #63			/* read */
	svc	#0
#endif
	ldr	w0, [sp]
	mov	w2, w0
1:	mov	w1, #998
	nop
2:	subs	w1, w1, #1
	b.ne	2b
	subs	w2, w2, #1
	b.ne	1b
	mov	x8, #94			/* exit_group */
	svc	#0

	.section .note.GNU-stack, "", @progbits
