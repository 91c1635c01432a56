/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code of known length: see ../x86/stress-code.S.  A system call clobbers r0, r3 to r12 and CTR.
 * The other registers are kept.
 */
#include <asm/unistd.h>

#include "words.h"

	.text

	.globl	read_loop_read
	.type	read_loop_read, @function
read_loop_read:
	ENTER
	STORE	14, SLOT(1)
	STORE	15, SLOT(2)
	STORE	16, SLOT(3)
	STORE	17, SLOT(4)
	mr	14, 3
	mr	15, 4
	mr	16, 6
	SHIFT_LEFT	17, 7, 1
	addic.	17, 17, -2		/* the loop and what is around it execute 2n + 5 */
	li	0, __NR_ioctl
	beq	4f
	sc
	bso	2f
	mtctr	17
1:	bdnz	1b
	mr	3, 14
	mr	4, 15
	mr	5, 16
	li	0, __NR_ioctl
	sc
	bns	3f
2:	neg	3, 3
3:	LOAD	14, SLOT(1)
	LOAD	15, SLOT(2)
	LOAD	16, SLOT(3)
	LOAD	17, SLOT(4)
	LEAVE
	blr

4:	sc				/* n is 1: without the loop */
	bso	2b
	nop
	mr	3, 14
	mr	4, 15
	mr	5, 16
	li	0, __NR_ioctl
	sc
	bns	3b
	b	2b

	.globl	spawn_tree
	.type	spawn_tree, @function
spawn_tree:
	ENTER
	STORE	14, SLOT(1)
	STORE	15, SLOT(2)
	STORE	16, SLOT(3)
	mr	14, 3
	mr	15, 4
	SHIFT_LEFT	16, 5, 1
	li	0, __NR_fork
	sc
	COMPARE	3, 0
	beq	1f
	LOAD	14, SLOT(1)
	LOAD	15, SLOT(2)
	LOAD	16, SLOT(3)
	LEAVE
	blr

1:	nop
	nop
	nop
2:	mr	3, 14
	li	4, 0
	li	5, 0
	li	6, 0
	li	7, 0
	li	0, __NR_clone
	sc
	COMPARE	3, 0
	beq	leaf
	addic.	15, 15, -1
	bne	2b
3:	li	3, -1
	li	4, 0
	lis	5, 0x4000		/* __WALL */
	li	6, 0
	li	0, __NR_wait4
	sc
	nop
	bns	3b			/* until there are none left */
	li	3, 0
	li	0, __NR_exit_group
	sc

leaf:	mtctr	16
1:	bdnz	1b
	li	3, 0
	li	0, __NR_exit
	sc

	.globl	stop_and_loop
	.type	stop_and_loop, @function
stop_and_loop:
	mr	14, 3
	mr	15, 4
1:	mr	3, 14
	li	4, 19			/* SIGSTOP */
	li	0, __NR_kill
	sc
	mr	16, 15
2:	addic.	16, 16, -1
	bne	2b
	b	1b

	.section .note.GNU-stack, "", @progbits
