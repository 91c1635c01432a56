/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code of known length: see ../x86/stress-code.S.  Nops make the number of instructions
 * the same as there.
 */
#include <asm/unistd.h>

#include "system-call.h"

	.text

	.globl	read_loop_read
read_loop_read:
	mv	t0, a0
	mv	t1, a3
	li	a7, __NR_ioctl
	system_call
	nop
	bnez	a0, 2f
1:	addi	a4, a4, -1
	bnez	a4, 1b
	mv	a2, t1
	mv	a0, t0
	system_call
2:	ret

	.globl	spawn_tree
spawn_tree:
	mv	t0, a0			/* registers that the kernel preserves */
	mv	t1, a1
	mv	t2, a2
	li	a0, 17			/* SIGCHLD */
	li	a1, 0
	li	a2, 0
	li	a3, 0
	li	a4, 0
	li	a7, __NR_clone
	system_call
	nop
	beqz	a0, 1f
	ret

1:	nop
	nop
	nop
2:	mv	a0, t0
	li	a1, 0
	li	a2, 0
	li	a3, 0
	li	a4, 0
	li	a7, __NR_clone
	system_call
	nop
	beqz	a0, leaf
	addi	t1, t1, -1
	bnez	t1, 2b
3:	li	a0, -1
	li	a1, 0
	lui	a2, 0x40000		/* __WALL */
	li	a3, 0
	li	a7, __NR_wait4
	system_call
	nop
	bgez	a0, 3b			/* until there are none left */
	li	a0, 0
	li	a7, __NR_exit_group
	system_call

leaf:	mv	t3, t2
1:	addi	t3, t3, -1
	bnez	t3, 1b
	li	a0, 0
	li	a7, __NR_exit
	system_call

	.globl	stop_and_loop
stop_and_loop:
	mv	t0, a0
	mv	t1, a1
1:	mv	a0, t0
	li	a1, 19			/* SIGSTOP */
	li	a7, __NR_kill
	system_call
	mv	t3, t1
2:	addi	t3, t3, -1
	bnez	t3, 2b
	j	1b

	.section .note.GNU-stack, "", @progbits
