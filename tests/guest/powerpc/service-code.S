/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code of known length: see ../code.h and ../x86/service-code.S.  A system call clobbers r0, r3 to
 * r12 and CTR: see stress-code.S.  Nops make the number of instructions the same as there.
 */
#include <asm/unistd.h>

#include "words.h"

/* _IO() of this architecture sets bit 29. */
#define VPERFCTR_OPEN_NR	0xd003
#define VPERFCTR_CONTROL_NR	0xd010
#define VPERFCTR_READ_NR	0xd011
#define IO_NONE			0x2000

	.text

	.globl	start_child
	.type	start_child, @function
start_child:
	ENTER
	STORE	14, SLOT(1)
	STORE	15, SLOT(2)
	STORE	16, SLOT(3)
	SHIFT_LEFT	14, 4, 1
	mr	15, 5
	SHIFT_LEFT	16, 6, 1
	li	4, 0
	li	5, 0
	li	6, 0
	li	7, 0
	li	0, __NR_clone
	sc
	COMPARE	3, 0			/* the child's first instruction */
	beq	1f
	bns	5f
	neg	3, 3
5:	LOAD	14, SLOT(1)
	LOAD	15, SLOT(2)
	LOAD	16, SLOT(3)
	LEAVE
	blr
1:	mtctr	14
2:	bdnz	2b
	COMPARE	15, 0
	beq	4f
	mr	3, 15
	li	4, 0			/* FUTEX_WAIT */
	li	5, 0
	li	6, 0
	li	0, __NR_futex
	nop
	sc
	mtctr	16
3:	bdnz	3b
4:	li	3, 0
	li	0, __NR_exit
	sc

	.globl	fork_chain
	.type	fork_chain, @function
fork_chain:
	ENTER
	STORE	14, SLOT(1)
	STORE	15, SLOT(2)
	mr	14, 3
	SHIFT_LEFT	15, 4, 1
	li	0, __NR_fork
	sc
	COMPARE	3, 0
	beq	1f
	LOAD	14, SLOT(1)
	LOAD	15, SLOT(2)
	LEAVE
	blr
1:	mtctr	15
2:	bdnz	2b
	addic.	14, 14, -1
	beq	3f
	li	0, __NR_fork
	sc
	COMPARE	3, 0
	beq	1b
	li	3, -1
	li	4, 0
	li	5, 0
	li	6, 0
	li	0, __NR_wait4
	sc
3:	li	3, 0
	li	0, __NR_exit_group
	sc

	.globl	stop_for_ever
	.type	stop_for_ever, @function
stop_for_ever:
	mr	14, 3
	mr	15, 4
	mr	16, 5
1:	mr	3, 14
	mr	4, 15
	li	5, 19			/* SIGSTOP */
	li	0, __NR_tgkill
	sc
	LOAD	17, 0(16)
2:	addic.	17, 17, -1
	bne	2b
	b	1b

	.globl	start_counted
	.type	start_counted, @function
start_counted:
	ENTER
	STORE	14, SLOT(1)
	STORE	15, SLOT(2)
	mr	14, 4
	lis	15, IO_NONE
	li	4, 0
	li	5, 0
	li	6, 0
	li	7, 0
	li	0, __NR_clone
	sc
	COMPARE	3, 0
	beq	1f
	bns	4f
	neg	3, 3
4:	LOAD	14, SLOT(1)
	LOAD	15, SLOT(2)
	LEAVE
	blr
1:	LOAD	3, 0(14)
	ori	4, 15, VPERFCTR_OPEN_NR
	LOAD	5, 1 * WORD(14)
	li	0, __NR_ioctl
	sc
	bns	5f			/* r3 has the positive errno */
	neg	3, 3
5:	STORE	3, 6 * WORD(14)
	ori	4, 15, VPERFCTR_CONTROL_NR
	LOAD	5, 2 * WORD(14)
	li	0, __NR_ioctl
	sc
	STORE	3, 7 * WORD(14)		/* counted from here ... */
	LOAD	3, 3 * WORD(14)
	li	4, 0			/* FUTEX_WAIT */
	li	5, 0
	li	6, 0
	li	0, __NR_futex
	sc
	LOAD	16, 4 * WORD(14)
2:	addic.	16, 16, -1
	bne	2b
	LOAD	3, 6 * WORD(14)
	ori	4, 15, VPERFCTR_READ_NR
	LOAD	5, 5 * WORD(14)
	li	0, __NR_ioctl
	sc				/* ... to here */
	STORE	3, 8 * WORD(14)
	LOAD	4, 9 * WORD(14)
	lwsync
3:	lwarx	5, 0, 4
	addi	5, 5, 1
	stwcx.	5, 0, 4
	bne	3b
	li	3, 0
	li	0, __NR_exit
	sc

	.section .note.GNU-stack, "", @progbits
