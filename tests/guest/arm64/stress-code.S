/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code of known length: see ../x86/stress-code.S.  Nops make the number of instructions
 * the same as there.
 */
#include <asm/unistd.h>

	.text

	.globl	read_loop_read
read_loop_read:
	mov	x9, x0
	mov	x10, x3
	mov	x8, #__NR_ioctl
	svc	#0
	cmp	x0, #0
	b.ne	2f
1:	subs	x4, x4, #1
	b.ne	1b
	mov	x2, x10
	mov	x0, x9
	svc	#0
2:	ret

	.globl	spawn_tree
spawn_tree:
	mov	x9, x0			/* registers that the kernel preserves */
	mov	x10, x1
	mov	x11, x2
	mov	x0, #17			/* SIGCHLD */
	mov	x1, #0
	mov	x2, #0
	mov	x3, #0
	mov	x4, #0
	mov	x8, #__NR_clone
	svc	#0
	cmp	x0, #0
	b.eq	1f
	ret

1:	nop
	nop
	nop
2:	mov	x0, x9
	mov	x1, #0
	mov	x2, #0
	mov	x3, #0
	mov	x4, #0
	mov	x8, #__NR_clone
	svc	#0
	cmp	x0, #0
	b.eq	leaf
	subs	x10, x10, #1
	b.ne	2b
3:	mov	x0, #-1
	mov	x1, #0
	mov	x2, #0x40000000		/* __WALL */
	mov	x3, #0
	mov	x8, #__NR_wait4
	svc	#0
	cmp	x0, #0
	b.ge	3b			/* until there are none left */
	mov	x0, #0
	mov	x8, #__NR_exit_group
	svc	#0

leaf:	mov	x12, x11
1:	subs	x12, x12, #1
	b.ne	1b
	mov	x0, #0
	mov	x8, #__NR_exit
	svc	#0

	.globl	stop_and_loop
stop_and_loop:
	mov	x9, x0
	mov	x10, x1
1:	mov	x0, x9
	mov	x1, #19			/* SIGSTOP */
	mov	x8, #__NR_kill
	svc	#0
	mov	x12, x10
2:	subs	x12, x12, #1
	b.ne	2b
	b	1b

	.section .note.GNU-stack, "", @progbits
