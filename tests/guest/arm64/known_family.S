/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The program of known length that forks: see ../x86/known_family.S.  exec clears the
 * registers, so the unused arguments of clone need not be set.
 */
#include <asm/unistd.h>

	.globl	_start
_start:
	ldr	x9, [sp, #16]
	ldrb	w9, [x9]
	sub	w9, w9, #48		/* '0' */
1:	mov	x0, #17			/* SIGCHLD */
	mov	x8, #__NR_clone
	svc	#0
	cbz	x0, 3f
	mov	x0, #-1
	mov	x1, #0
	mov	x2, #0
	mov	x3, #0
	mov	x8, #__NR_wait4
	svc	#0
	subs	w9, w9, #1
	b.ne	1b
2:	mov	x0, #0
	mov	x8, #__NR_exit_group
	svc	#0

3:	nop
	mov	w10, #1000
4:	subs	w10, w10, #1
	b.ne	4b
	b	2b

	.section .note.GNU-stack, "", @progbits
